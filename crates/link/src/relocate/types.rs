//! What a relocation type asks of the linker, in either view of the code.

use super::patch::Patch;
use solder_cubin::mercury::reloc as mercury;
use solder_cubin::reloc::{self, Kind};

/// A relocation type of one of the two views.
#[derive(Clone, Copy, Debug)]
pub enum Type {
    /// Of machine code: a field of an instruction or of data.
    Code(u32, &'static Kind),
    /// Of Mercury code: whole bytes.
    Mercury(u32),
}

impl Type {
    /// The type with this number; `None` for one that no tool writes.
    pub fn of(r_type: u32, is_mercury: bool) -> Option<Self> {
        if is_mercury {
            return Some(Self::Mercury(r_type));
        }
        reloc::kind_of(r_type).map(|kind| Self::Code(r_type, kind))
    }

    /// How many bytes the type clears if its function is dead. It does nothing else.
    pub fn clears(self) -> Option<u8> {
        match self {
            Self::Code(reloc::R_CUDA_UNUSED_CLEAR32, _) => Some(4),
            Self::Code(reloc::R_CUDA_UNUSED_CLEAR64, _) | Self::Mercury(mercury::UNUSED_CLEAR_64) => Some(8),
            _ => None,
        }
    }

    /// Whether the linker writes the place of a constant or of a texture's handle. The other types are for the driver,
    /// which alone knows generic addresses, handles and descriptors.
    pub fn takes_constants(self) -> bool {
        match self {
            Self::Code(0 | reloc::R_CUDA_YIELD_OPCODE9_0 | reloc::R_CUDA_YIELD_CLEAR_PRED4_87, _) => true,
            Self::Code(_, kind) => !kind.field.is_empty() || self.clears().is_some(),
            Self::Mercury(r_type) => r_type != mercury::GENERIC_64,
        }
    }

    /// Whether the linker writes the place of a shared variable.
    pub fn takes_shared(self) -> bool {
        matches!(self, Self::Mercury(_)) || self.takes_constants()
    }

    /// Whether the type has a field for the number of a constant bank.
    pub fn names_bank(self) -> bool {
        matches!(self, Self::Code(_, kind) if !kind.bank.is_empty())
    }

    /// How many bytes an offset in debug information takes; 0 for a type that is not such an offset.
    pub fn offset_size(self) -> u8 {
        match self {
            Self::Code(reloc::R_CUDA_32, _) => 4,
            Self::Code(reloc::R_CUDA_64, _) => 8,
            _ => 0,
        }
    }

    /// The change that writes a value.
    pub fn patch(self, value: u64, bank: u8) -> Patch {
        match self {
            Self::Code(r_type, _) => Patch::Field { r_type, value, bank },
            Self::Mercury(mercury::ABS_64) => Patch::Bytes { value, count: 8 },
            Self::Mercury(_) => Patch::Bytes { value, count: 4 },
        }
    }
}

/// The type that a kept relocation has in an image. Unified addresses are plain ones there.
pub fn kept_as(r_type: u32) -> u32 {
    const R_CUDA_UNIFIED: u32 = 102;
    const PLAIN: [u32; 12] = [2, 1, 76, 77, 78, 79, 80, 81, 82, 83, 56, 57];
    const LAST_BYTE: u32 = mercury::UNIFIED_BYTE_0 + 7;
    match r_type {
        mercury::UNIFIED_BYTE_0..=LAST_BYTE => r_type - mercury::UNIFIED_BYTE_0 + mercury::BYTE_0,
        mercury::UNIFIED => mercury::ABS_64,
        mercury::UNIFIED_32_LO => mercury::ABS_32_LO,
        mercury::UNIFIED_32_HI => mercury::ABS_32_HI,
        _ => {
            let plain = r_type.checked_sub(R_CUDA_UNIFIED).and_then(|at| PLAIN.get(at as usize));
            plain.copied().unwrap_or(r_type)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Type, kept_as};
    use solder_cubin::reloc::kind_of;

    /// The plain type of a unified one has the same bits in the same place.
    #[test]
    fn unified_types_become_plain_ones() {
        for unified in 102..=113 {
            let (from, to) = (kind_of(unified).unwrap(), kind_of(kept_as(unified)).unwrap());
            assert!(from.name.starts_with("R_CUDA_UNIFIED"), "{}", from.name);
            assert!(!to.name.contains("UNIFIED"), "{}", to.name);
            assert_eq!((from.value, from.field), (to.value, to.field), "{} and {}", from.name, to.name);
        }
        assert_eq!([101, 114].map(kept_as), [101, 114]);
    }

    #[test]
    fn only_known_types_are_types_of_machine_code() {
        assert!(Type::of(117, false).is_some());
        assert!(Type::of(118, false).is_none());
        assert!(Type::of(0x10001, false).is_none());
    }

    /// Handles, generic addresses and descriptors are the driver's.
    #[test]
    fn what_the_driver_knows_is_not_resolved() {
        let takes = |name: &str| {
            let number = (0..118).find(|n| kind_of(*n).is_some_and(|k| k.name == name)).unwrap();
            Type::of(number, false).unwrap().takes_constants()
        };
        for name in ["R_CUDA_G64", "R_CUDA_TEX_HEADER_INDEX", "R_CUDA_FUNC_DESC_64", "R_CUDA_PCREL_IMM24_26"]
        {
            assert!(!takes(name), "{name}");
        }
        for name in ["R_CUDA_32", "R_CUDA_ABS32_LO_32", "R_CUDA_CONST_FIELD19_40", "R_CUDA_YIELD_OPCODE9_0"] {
            assert!(takes(name), "{name}");
        }
    }
}
