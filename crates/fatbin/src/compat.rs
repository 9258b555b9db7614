//! The compatibility attributes of Mercury code: the records of a cubin's `.nv.compat` section, which a member of a
//! fat binary repeats in its header after an empty, NUL-terminated options string.

use solder_arch::CompatRecord;

const ISA_CLASS: u8 = 0x02;
const TCGEN05: u8 = 0x05;
const LEVEL: u8 = 0x06;
const VERSION: u8 = 0x07;
const ACCELERATED: u8 = 0x09;
const INSTRUCTIONS: u8 = 0x0d;

/// The format of records that hold a counted number of bytes; all others hold two.
const COUNTED: u8 = 4;

/// Reads the records of a section, up to the first that is cut off.
pub fn compat_record(records: &[u8]) -> CompatRecord {
    let mut rest = records;
    let mut compat = CompatRecord::default();
    while let [format, attribute, low, high, more @ ..] = rest {
        match *attribute {
            ISA_CLASS => compat.isa_class = *low,
            TCGEN05 => compat.tcgen05 = *low,
            LEVEL => compat.level = *low,
            VERSION => compat.version = u16::from_le_bytes([*low, *high]),
            INSTRUCTIONS => compat.instructions = u16::from_le_bytes([*low, *high]),
            ACCELERATED => compat.accelerated = *low,
            _ => {}
        }
        rest = match *format {
            COUNTED => more.get(usize::from(u16::from_le_bytes([*low, *high]))..).unwrap_or(&[]),
            _ => more,
        };
    }
    compat
}

/// Reads what comes after the text in a member's options record.
pub(crate) fn behind_text(options: &[u8]) -> Option<CompatRecord> {
    let text = options.iter().position(|&byte| byte == 0)?;
    Some(compat_record(&options[text + 1..]))
}
