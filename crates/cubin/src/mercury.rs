//! Capsule Mercury, the second form of the code in objects for sm_100 and later.
//!
//! Every `.text.F` has a `.nv.capmerc.text.F`, and a parallel set of sections and symbols
//! (`.nv.merc.*`) describes the same program in terms of Mercury code. A capsule stores only those
//! Mercury instructions that cannot be derived from the machine code beside it, so an offset in
//! Mercury code is no offset in the capsule.

/// What stands before the name of a text section in the name of its capsule.
pub const CAPSULE_PREFIX: &str = ".nv.capmerc";
/// What stands before the name of any other section of the Mercury view.
pub const PREFIX: &str = ".nv.merc";

/// Names that differ between the two views: Mercury's and that of the machine code.
pub const CONSTANT_USER: (&str, &str) = (".nv.constant.user", ".nv.constant3");
pub const CONSTANT_OPTIMIZER: (&str, &str) = (".nv.constant.optimizer.", ".nv.constant2.");
pub const CONSTANT_IMAGES: (&str, &str) = (".nv.constant.entry_image_header_indices.", ".nv.constant0.");

/// The name that the machine code's view has for a section, where it is another than Mercury's.
pub fn code_name(name: &str) -> Option<String> {
    let (stem, of) = match name.strip_prefix(".rela") {
        Some(of) => (".rela", of),
        None => ("", name),
    };
    if of == CONSTANT_USER.0 {
        return Some([stem, CONSTANT_USER.1].concat());
    }
    let renamed = [CONSTANT_OPTIMIZER, CONSTANT_IMAGES]
        .into_iter()
        .find_map(|(mercury, code)| Some([stem, code, of.strip_prefix(mercury)?].concat()))?;
    Some(renamed)
}

/// The relocation types of the Mercury view that a link knows apart.
pub mod reloc {
    pub const GENERIC_64: u32 = 0x10001;
    pub const ABS_64: u32 = 0x10002;
    pub const ABS_32: u32 = 0x10003;
    pub const ABS_16: u32 = 0x10004;
    pub const ABS_32_LO: u32 = 0x10005;
    pub const ABS_32_HI: u32 = 0x10006;
    pub const OFFSET_32: u32 = 0x10008;
    pub const TEX_HEADER_INDEX: u32 = 0x1000b;
    pub const SAMP_HEADER_INDEX: u32 = 0x1000c;
    pub const SURF_HEADER_INDEX: u32 = 0x1000d;
    pub const UNUSED_CLEAR_64: u32 = 0x1000e;
    pub const UNIFIED: u32 = 0x10032;
    /// The address of a function in `.debug_frame`.
    pub const FRAME_64: u32 = 0x1003d;
    pub const UNIFIED_32_LO: u32 = 0x1003e;
    pub const UNIFIED_32_HI: u32 = 0x1003f;

    /// The type that a kept relocation has in the output.
    pub fn kept_as(r_type: u32) -> u32 {
        match r_type {
            UNIFIED => ABS_64,
            UNIFIED_32_LO => ABS_32_LO,
            UNIFIED_32_HI => ABS_32_HI,
            other => other,
        }
    }
}

/// Section index, format, number of instructions.
const HEAD: usize = 12;

/// The instruction that loads from a constant bank at a fixed place, and where it says which bank.
const LOAD_CONSTANT: u8 = 0x22;
const BANK: usize = 12;
/// The banks of the compiler's constants, of the program's, and of the handles of textures.
const RELOCATED_BANKS: [u8; 3] = [0x41, 0x42, 0x49];

/// Where the operands stand, words, of the instructions of a capsule that load constants whose place a link
/// decides, in the order of the code; `None` if the capsule does not hold together.
///
/// Behind its head and a bitmap, a capsule has the instructions that are not derived. Their first byte tells the
/// length: 16 bytes times the low half where the high half is 0, 4 or 2 bytes for the two abridged forms.
pub fn constant_operands(capsule: &[u8]) -> Option<Vec<u64>> {
    let count = capsule.get(8..HEAD)?;
    let count = u32::from_le_bytes([count[0], count[1], count[2], count[3]]) as usize;
    let mut at = HEAD.checked_add(count.div_ceil(32).checked_mul(4)?)?;
    let mut operands = Vec::new();
    while at < capsule.len() {
        let head = capsule[at] & 0x7f;
        let length = match (head >> 4, usize::from(head & 15)) {
            (0, units) if units > 0 => 16 * units,
            (4, _) => 4,
            (5, _) => 2,
            _ => return None,
        };
        let instruction = capsule.get(at..at + length)?;
        at += length;
        if length > 16 && instruction[1] == LOAD_CONSTANT && RELOCATED_BANKS.contains(&instruction[BANK]) {
            operands.push(at as u64 - 4);
        }
    }
    Some(operands)
}

#[cfg(test)]
mod tests {
    use super::{code_name, constant_operands};

    #[test]
    fn operands_of_loads() {
        let mut bytes = vec![7, 0, 0, 0, 1, 0, 0, 0xc0, 5, 0, 0, 0, 0b0001, 0, 0, 0];
        let load = |bank: u8| {
            let mut load = [0; 32];
            (load[0], load[1], load[12]) = (2, 0x22, bank);
            load
        };
        bytes.extend(load(0x40));
        bytes.extend([0x42, 0, 0, 0]);
        bytes.extend(load(0x42));
        bytes.extend([0xd0, 4]);
        assert_eq!(constant_operands(&bytes), Some(vec![80]));
        assert_eq!(constant_operands(&bytes[..70]), None);
    }

    #[test]
    fn names_of_both_views() {
        assert_eq!(code_name(".rela.nv.constant.user").as_deref(), Some(".rela.nv.constant3"));
        assert_eq!(code_name(".nv.constant.optimizer.f").as_deref(), Some(".nv.constant2.f"));
        assert_eq!(code_name(".rel.nv.constant.user"), None);
        assert_eq!(code_name(".text.f"), None);
    }
}
