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

/// The stored instructions of a capsule.
#[derive(Clone, Debug, Default)]
pub struct Capsule {
    /// Number of the machine instruction and where the stored one ends, ascending.
    stored: Vec<(u32, u32)>,
}

/// Section index, format, number of instructions.
const HEAD: usize = 12;

/// The size of a machine instruction.
const INSTRUCTION: usize = 16;

/// Whether a machine instruction has no counterpart in Mercury: it was inserted around memory barriers.
/// Such instructions have no stall count at all, or are loads that never happen.
fn is_inserted(instruction: &[u8]) -> bool {
    const NEVER_LDS: [u8; 2] = [0x84, 0xf9];
    const STALL_AND_YIELD: u8 = 0x3e;
    instruction[..2] == NEVER_LDS || instruction[13] & STALL_AND_YIELD == 0
}

impl Capsule {
    /// Reads the structure of a capsule; `None` if it does not hold together.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| {
            let word = bytes.get(at..at + 4)?;
            Some(u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        };
        let count = word(8)? as usize;
        let derived = bytes.get(HEAD..HEAD.checked_add(count.div_ceil(32).checked_mul(4)?)?)?;
        let mut at = HEAD + derived.len();
        let mut stored = Vec::new();
        for i in 0..count {
            if derived[i / 8] >> (i % 8) & 1 != 0 {
                continue;
            }
            let head = bytes.get(at)? & 0x7f;
            let units = usize::from(head & 15);
            let length = match head >> 4 {
                0 if units > 0 => {
                    stored.push((i as u32, (at + 16 * units) as u32));
                    16 * units
                }
                4 => 4,
                5 => 2,
                _ => return None,
            };
            at = at.checked_add(length).filter(|end| *end <= bytes.len())?;
        }
        Some(Self { stored })
    }

    /// Where the operand, a word, of the instruction stands that becomes machine code at `offset` of
    /// `code`; `None` if the instruction is derived.
    pub fn operand(&self, code: &[u8], offset: u64) -> Option<u64> {
        let before = code.get(..usize::try_from(offset).ok()?)?;
        let index = before.chunks_exact(INSTRUCTION).filter(|i| !is_inserted(i)).count() as u32;
        let at = self.stored.binary_search_by_key(&index, |(index, _)| *index).ok()?;
        Some(u64::from(self.stored[at].1) - 4)
    }
}

#[cfg(test)]
mod tests {
    use super::Capsule;

    #[test]
    fn offsets_of_stored_instructions() {
        let mut bytes = vec![7, 0, 0, 0, 1, 0, 0, 0xc0, 4, 0, 0, 0, 0b0001, 0, 0, 0];
        bytes.extend([0x02; 32]);
        bytes.extend([0x42, 0, 0, 0]);
        bytes.extend([0x01; 16]);
        let capsule = Capsule::parse(&bytes).unwrap();
        let mut code = [2; 96];
        code[29] = 0;
        assert_eq!(capsule.operand(&code, 0), None);
        assert_eq!(capsule.operand(&code, 32), Some(44));
        assert_eq!(capsule.operand(&code, 48), None);
        assert_eq!(capsule.operand(&code, 64), Some(64));
        assert_eq!(capsule.operand(&code, 80), None);
        assert_eq!(capsule.operand(&code, 112), None);
        assert!(Capsule::parse(&bytes[..60]).is_none());
    }
}
