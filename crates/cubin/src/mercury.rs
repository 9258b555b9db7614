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

/// Instructions that load from a constant bank have these second and fourth bytes; the third tells which they are.
const LOAD_CONSTANT: (u8, u8) = (0x22, 0x06);
const UNIFORM: u8 = 0x08;
const FIXED: u8 = 0x0e;
const BANK: usize = 12;

/// The banks of the compiler's constants, of the program's, and of the handles of textures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bank {
    Compiler = 0x41,
    Program = 0x42,
    Handles = 0x49,
}

/// A load from one of these banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    pub bank: Bank,
    /// Into a uniform register. Relocations of these have a type of their own.
    pub uniform: bool,
    /// Where the operand stands in the capsule, a word.
    pub operand: u64,
}

/// The loads of a capsule that relocations may belong to, in the order of the code; `None` if the capsule does not
/// hold together. Loads from the program's constants by an index do not count: the index has the place in it.
///
/// Behind its head and a bitmap, a capsule has the instructions that are not derived. Their first byte tells the
/// length: 16 bytes times the low half where the high half is 0, 4 or 2 bytes for the two abridged forms.
pub fn loads(capsule: &[u8]) -> Option<Vec<Load>> {
    let count = capsule.get(8..HEAD)?;
    let count = u32::from_le_bytes([count[0], count[1], count[2], count[3]]) as usize;
    let mut at = HEAD.checked_add(count.div_ceil(32).checked_mul(4)?)?;
    let mut loads = Vec::new();
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
        if length > 16 && (instruction[1], instruction[3]) == LOAD_CONSTANT {
            let banks = [Bank::Compiler, Bank::Program, Bank::Handles];
            let bank = banks.into_iter().find(|bank| *bank as u8 == instruction[BANK]);
            let by_index = !matches!(instruction[2], UNIFORM | FIXED);
            let bank = bank.filter(|bank| *bank != Bank::Program || !by_index);
            let uniform = instruction[2] == UNIFORM;
            loads.extend(bank.map(|bank| Load { bank, uniform, operand: at as u64 - 4 }));
        }
    }
    Some(loads)
}

#[cfg(test)]
mod tests {
    use super::{Bank, Load, code_name, loads};

    #[test]
    fn places_of_loads() {
        let mut bytes = vec![7, 0, 0, 0, 1, 0, 0, 0xc0, 5, 0, 0, 0, 0b0001, 0, 0, 0];
        let load = |bank: u8| {
            let mut load = [0; 32];
            (load[0], load[1], load[2], load[3], load[12]) = (2, 0x22, 0x08, 0x06, bank);
            load
        };
        bytes.extend(load(0x40));
        bytes.extend([0x42, 0, 0, 0]);
        bytes.extend(load(0x42));
        bytes.extend([0xd0, 4]);
        let expected = Load { bank: Bank::Program, uniform: true, operand: 80 };
        assert_eq!(loads(&bytes), Some(vec![expected]));
        assert_eq!(loads(&bytes[..70]), None);
    }

    #[test]
    fn names_of_both_views() {
        assert_eq!(code_name(".rela.nv.constant.user").as_deref(), Some(".rela.nv.constant3"));
        assert_eq!(code_name(".nv.constant.optimizer.f").as_deref(), Some(".nv.constant2.f"));
        assert_eq!(code_name(".rel.nv.constant.user"), None);
        assert_eq!(code_name(".text.f"), None);
    }
}
