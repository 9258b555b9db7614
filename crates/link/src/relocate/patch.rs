//! What becomes of a relocation, and how bytes change by it.

use crate::model::ids::SymbolId;
use crate::model::merged::Merged;
use solder_cubin::bits::Bits;
use solder_cubin::{raw, reloc};

/// A change to the bytes of an output section.
#[derive(Clone, Copy, Debug)]
pub enum Patch {
    /// The field of a relocation type.
    Field { r_type: u32, value: u64, bank: u8 },
    /// Bits of an instruction.
    Instruction { field: Bits, value: u64 },
    /// This many bytes of a value.
    Bytes { value: u64, count: u8 },
}

/// What becomes of a relocation.
pub enum Outcome {
    Keep,
    KeepWith(Patch),
    Patch(Patch),
    Drop,
    Wrong(&'static str),
}

/// Whether `st_other` of an object's symbol says that it is a constant.
pub fn is_constant(other: u8) -> bool {
    other & 0xe0 == raw::STO_CONSTANT
}

/// The unified function and data tables that only a driver has.
pub fn is_unified_table(merged: &Merged<'_>, id: SymbolId) -> bool {
    let name = merged.symbol(id).name;
    name.starts_with(b"__UFT") || name.starts_with(b"__UDT")
}

impl Patch {
    /// The most that one changes: an instruction.
    pub const LONGEST: u64 = 16;

    /// How many bytes it reads and changes.
    pub fn size(self) -> usize {
        match self {
            Self::Bytes { count, .. } => usize::from(count),
            Self::Instruction { field, .. } => field.bytes(),
            Self::Field { r_type, .. } => {
                reloc::kind_of(r_type).map_or(0, |kind| kind.field.bytes().max(kind.bank.bytes()))
            }
        }
    }

    /// Writes the value at the beginning of `place`, which layout and `relocate` made long enough.
    pub fn apply(self, place: &mut [u8]) {
        match self {
            Self::Bytes { value, count } => {
                place[..usize::from(count)].copy_from_slice(&value.to_le_bytes()[..usize::from(count)]);
            }
            Self::Instruction { field, value } => {
                field.insert(place, value);
            }
            Self::Field { r_type, value, bank } => {
                let Some(kind) = reloc::kind_of(r_type) else { return };
                if !kind.field.is_empty() {
                    kind.field.insert(place, kind.value.extract(value));
                }
                if !kind.bank.is_empty() {
                    kind.bank.insert(place, u64::from(bank));
                }
            }
        }
    }
}
