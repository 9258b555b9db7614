//! The compatibility attributes that a member of Mercury code carries in its header, a copy of the cubin's
//! `.nv.compat` section behind an empty, NUL-terminated options string.
//!
//! nvlink reads them to decide whether the code can be finalized for another number of the same family, and trusts
//! them over the suffix in the member's flags.

/// The attributes that decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Compat {
    accelerated: bool,
    isa_class: u8,
    mercury_major: u8,
}

const ACCELERATED: u8 = 0x09;
const ISA_CLASS: u8 = 0x02;
const MERCURY_VERSION: u8 = 0x07;

/// Classes of instructions that a later architecture of the family also has.
const FORWARD_CLASSES: std::ops::RangeInclusive<u8> = 1..=2;
const NEWEST_MERCURY_MAJOR: u8 = 1;

impl Compat {
    /// Reads the records: format, attribute, and a byte, two bytes, or a size and that many bytes.
    pub(crate) fn parse(options: &[u8]) -> Option<Self> {
        let text = options.iter().position(|&byte| byte == 0)?;
        let mut rest = &options[text + 1..];
        let mut compat = Self::default();
        while let [format, attribute, low, high, more @ ..] = rest {
            match *attribute {
                ACCELERATED => compat.accelerated = *low != 0,
                ISA_CLASS => compat.isa_class = *low,
                MERCURY_VERSION => compat.mercury_major = *high,
                _ => {}
            }
            rest = match *format {
                4 => more.get(usize::from(u16::from_le_bytes([*low, *high]))..).unwrap_or(&[]),
                _ => more,
            };
        }
        Some(compat)
    }

    /// Whether the code can be finalized for a later number of its family.
    pub(crate) fn moves_forward(self) -> bool {
        !self.accelerated
            && FORWARD_CLASSES.contains(&self.isa_class)
            && self.mercury_major <= NEWEST_MERCURY_MAJOR
    }
}
