//! Capsules of toolkit 12.8 as 13.0 has them.
//!
//! A capsule leaves out the Mercury instructions that can be derived from the machine code. 12.8 and 13.0 do not agree about all of
//! them: some conversions, comparisons, loads and branches that 12.8 stores are derived since, and calls, returns and conversions
//! of small numbers that 12.8 derives are stored since. Observed with 2,200 functions of compiled code and every instruction of the
//! PTX manual that sm_100 and sm_120 share; what has not been seen is not converted (older/blackwell).

use super::{Bits, Entry, FORMAT, HEAD, SHORT, bitmap_of, walk};

/// The head that 12.8 writes has the number of instructions in the word of the format.
const OLDER_FORMAT: u32 = 0x4000_0000;
const FORMAT_BITS: u32 = 0xc000_0000;
/// Section index, format and number of instructions.
const OLDER_HEAD: usize = 8;

const INSTRUCTION: usize = 16;
const OPCODE: u16 = 0xfff;

/// Instructions that both versions derive, by their operation with the kind of its operands.
const DERIVED: [u16; 183] = [
    0x202, 0x207, 0x208, 0x209, 0x20b, 0x20c, 0x20f, 0x210, 0x211, 0x212, 0x213, 0x215, 0x216, 0x219, 0x21a,
    0x21f, 0x220, 0x221, 0x223, 0x224, 0x225, 0x226, 0x227, 0x228, 0x229, 0x22a, 0x22b, 0x230, 0x231, 0x232,
    0x233, 0x234, 0x236, 0x238, 0x23a, 0x23e, 0x240, 0x243, 0x245, 0x246, 0x248, 0x276, 0x287, 0x28c, 0x290,
    0x291, 0x296, 0x299, 0x2a4, 0x2a5, 0x2bd, 0x2bf, 0x2ca, 0x300, 0x301, 0x302, 0x304, 0x305, 0x307, 0x308,
    0x309, 0x311, 0x313, 0x343, 0x381, 0x388, 0x3a1, 0x3aa, 0x3c4, 0x416, 0x419, 0x421, 0x423, 0x424, 0x430,
    0x431, 0x433, 0x434, 0x446, 0x4a4, 0x589, 0x802, 0x803, 0x804, 0x806, 0x807, 0x808, 0x809, 0x80b, 0x80c,
    0x80f, 0x810, 0x811, 0x812, 0x816, 0x819, 0x81a, 0x81c, 0x820, 0x823, 0x824, 0x825, 0x827, 0x831, 0x832,
    0x836, 0x83b, 0x840, 0x846, 0x848, 0x882, 0x883, 0x886, 0x887, 0x88c, 0x890, 0x891, 0x892, 0x896, 0x899,
    0x8a4, 0x8a5, 0x902, 0x906, 0x908, 0x918, 0x941, 0x942, 0x945, 0x946, 0x947, 0x949, 0x94d, 0x95c, 0x95d,
    0x981, 0x984, 0x987, 0x988, 0x989, 0x9af, 0xc02, 0xc07, 0xc08, 0xc09, 0xc0a, 0xc0b, 0xc0c, 0xc10, 0xc11,
    0xc12, 0xc13, 0xc16, 0xc19, 0xc20, 0xc23, 0xc24, 0xc25, 0xc27, 0xc28, 0xc2b, 0xc31, 0xc32, 0xc36, 0xc3e,
    0xc45, 0xc46, 0xc48, 0xc82, 0xd00, 0xd05, 0xd08, 0xd09, 0xe21, 0xe23, 0xe24, 0xe25, 0xe27, 0xe29, 0xe2a,
    0xe2b, 0xe46, 0xf89,
];

/// Which forms of an operation: bits of its third word, and what they are.
type Forms = (u32, u32);
const EVERY_FORM: Forms = (0, 0);
/// What a conversion is made from, as [`small_source`] has it, and the size of its other side.
const BYTE_OF_SOURCE: Forms = (0x3800, 0x2000);
const FROM_64_TO_32: Forms = (0x30_3800, 0x20_1800);
const FROM_32_TO_32: Forms = (0x30_3800, 0x20_1000);
/// Funnel shifts that give the upper half.
const UPPER_HALF: Forms = (0x1_0000, 0x1_0000);

/// Instructions that 12.8 derives and 13.0 stores, and what it stores: logic of uniform registers, absolute calls, returns, dot
/// products with a uniform register, shifts of uniform registers by a number, moves from a uniform register under a condition, and
/// conversions of numbers in the code and of uniform registers.
const STORED_SINCE: [(u16, Forms, [u8; 4]); 9] = [
    (0x292, EVERY_FORM, [0x41, 0x27, 0x10, 0x04]),
    (0x499, EVERY_FORM, [0x42, 0x35, 0x08, 0x06]),
    (0x906, BYTE_OF_SOURCE, [0x41, 0x12, 0x4c, 0x0c]),
    (0x912, FROM_64_TO_32, [0x41, 0x12, 0xcc, 0x0c]),
    (0x943, EVERY_FORM, [0x42, 0x0a, 0x02, 0x0e]),
    (0x950, EVERY_FORM, [0x42, 0x33, 0x00, 0x0e]),
    (0xc26, EVERY_FORM, [0x41, 0x1e, 0x02, 0x04]),
    (0xd02, EVERY_FORM, [0x41, 0x14, 0x04, 0x0a]),
    (0xd07, FROM_32_TO_32, [0x41, 0x12, 0x90, 0x44]),
];

/// Conversions from integers and between floating-point numbers, from registers and uniform registers. 13.0 derives those whose
/// source has 32 or 64 bits, which this bit of the upper half says.
const CONVERSIONS: [u16; 6] = [0x306, 0x310, 0x312, 0xd06, 0xd10, 0xd12];
const WIDE_SOURCE: u8 = 0x10;
/// The class of such instructions in Mercury, and its form in the capsule.
const CONVERSION: (u8, u8, u8) = (0x41, 0x12, 0x0a);
/// What the third byte is for integers of less than 32 bits, where 12.8 derives them: by the operation and the size of the result.
const FROM_SMALL: [(u16, u8, u8); 3] = [(0x306, 1, 0x3c), (0x312, 3, 0x44), (0xd06, 2, 0x42)];

/// What 12.8 stores and 13.0 derives: places where threads meet, addresses of places (`LEPC`), relative calls, comparisons and sums of
/// floating-point numbers, loads from local and shared memory, sums and shifts with uniform registers, and a few more.
const DERIVED_SINCE: [([u8; 4], Forms); 25] = [
    ([0x41, 0x08, 0x04, 0x0c], EVERY_FORM),
    ([0x41, 0x09, 0x00, 0x0a], EVERY_FORM),
    ([0x41, 0x09, 0x04, 0x0a], EVERY_FORM),
    ([0x41, 0x1a, 0x08, 0x0a], EVERY_FORM),
    ([0x41, 0x1f, 0x06, 0x04], EVERY_FORM),
    ([0x41, 0x35, 0x0a, 0x04], UPPER_HALF),
    ([0x41, 0x50, 0x0a, 0x0a], EVERY_FORM),
    ([0x41, 0x50, 0x10, 0x0a], EVERY_FORM),
    ([0x41, 0x52, 0x0a, 0x0a], EVERY_FORM),
    ([0x42, 0x08, 0x00, 0x06], EVERY_FORM),
    ([0x42, 0x0a, 0x0a, 0x0e], EVERY_FORM),
    ([0x42, 0x10, 0x0c, 0x26], EVERY_FORM),
    ([0x42, 0x10, 0x0e, 0x26], EVERY_FORM),
    ([0x42, 0x10, 0x10, 0x32], EVERY_FORM),
    ([0x42, 0x10, 0x12, 0x26], EVERY_FORM),
    ([0x42, 0x10, 0x14, 0x26], EVERY_FORM),
    ([0x42, 0x10, 0x2c, 0x26], EVERY_FORM),
    ([0x42, 0x10, 0x38, 0x14], EVERY_FORM),
    ([0x42, 0x10, 0x3c, 0x14], EVERY_FORM),
    ([0x42, 0x1d, 0x0e, 0x06], EVERY_FORM),
    ([0x42, 0x22, 0x2a, 0x06], EVERY_FORM),
    ([0x42, 0x22, 0x3a, 0x06], EVERY_FORM),
    ([0x42, 0x25, 0x2e, 0x14], EVERY_FORM),
    ([0x42, 0x26, 0x00, 0x12], EVERY_FORM),
    ([0x42, 0x2a, 0x08, 0x14], EVERY_FORM),
];

/// The class of minima and maxima. All of them are derived.
const MINIMA: u8 = 0x42;

/// Whether a capsule has the format of 12.8.
pub fn is_older_capsule(capsule: &[u8]) -> bool {
    older_count(capsule).is_some()
}

fn older_count(capsule: &[u8]) -> Option<usize> {
    let format = u32::from_le_bytes(capsule.get(4..OLDER_HEAD)?.try_into().ok()?);
    (format & FORMAT_BITS == OLDER_FORMAT).then_some((format & !FORMAT_BITS) as usize)
}

/// A capsule of 12.8, which belongs to this machine code, as 13.0 has it. `None` if it is not about that code, or has something
/// that has not been seen.
pub fn from_older(capsule: &[u8], code: &[u8]) -> Option<Vec<u8>> {
    let count = older_count(capsule)?;
    let mut entries = Vec::new();
    let bits = walk(capsule, OLDER_HEAD, count, |entry| entries.push(entry)).ok()?;
    let (derived, body) = converted(capsule, &bits, &entries, code)?;
    let mut out = capsule.get(..4)?.to_vec();
    out.extend(FORMAT.to_le_bytes());
    out.extend(u32::try_from(count).ok()?.to_le_bytes());
    debug_assert_eq!(out.len(), HEAD);
    out.extend(bitmap_of(&derived));
    out.extend(body);
    Some(out)
}

/// `WARPSYNC`, `BSYNC` and `BREAK`: what comes first in the capsule, and the kinds that take two machine instructions by other
/// assemblers than 13.0.88.
const SYNCHRONISATIONS: [(Synchronisation, [u8; 2], &[u8]); 3] = [
    (Synchronisation::Warp, [0x01, 0x47], &[0x6e, 0x70, 0x76, 0x78]),
    (Synchronisation::Meeting, [0x01, 0x09], &[0x02, 0x04]),
    (Synchronisation::Break, [0x01, 0x05], &[0x02]),
];
/// What follows the kind, and what follows that where the instruction has no condition.
const AFTER_KIND: u8 = 0x0a;
const WITHOUT_CONDITION: u8 = 0xf8;

/// A synchronisation that the capsule has in full only because it takes two machine instructions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Synchronisation {
    /// `WARPSYNC` and a `NOP`. 12.8 and 12.9 have it so.
    Warp,
    /// A `NOP` and `BSYNC`. 13.0.100 has it so.
    Meeting,
    /// `BREAK` and a `NOP`, by 13.0.100.
    Break,
}

impl Synchronisation {
    fn of(entry: &[u8]) -> Option<Self> {
        let is_full = entry.len() == INSTRUCTION && entry[3] == AFTER_KIND;
        let is = |(kind, first, kinds): &&(Self, [u8; 2], &[u8])| {
            let has_condition = is_full && entry[4] != WITHOUT_CONDITION;
            is_full
                && entry.starts_with(first)
                && kinds.contains(&entry[2])
                && (*kind == Self::Warp || !has_condition)
        };
        SYNCHRONISATIONS.iter().find(is).map(|(kind, ..)| *kind)
    }
}

/// A machine instruction that nvlink does without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    pub at: usize,
    /// Whether it follows what it belongs to.
    pub is_second: bool,
}

/// The machine instructions that nvlink does without, in synchronisations. `capsule` is of 13.0's format.
pub fn idle(capsule: &[u8]) -> Option<Vec<Idle>> {
    let mut idle = Vec::new();
    let mut entries = Vec::new();
    let bits = super::entries(capsule, |entry| entries.push(entry)).ok()?;
    let mut entries = entries.iter();
    let mut at = 0;
    for is_derived in bits.iter() {
        let mut count = 1;
        if !is_derived {
            let mut entry = entries.next()?;
            count = entry.takes();
            if entry.is_count() {
                count = entry.count(capsule);
                entry = entries.next()?;
            }
            if entry.form == SHORT {
                count = entry.count(capsule);
            }
            // `WARPSYNC` before a barrier may take more: fences between the two are its own then.
            let has_idle = |kind: &Synchronisation| count == 2 || *kind == Synchronisation::Warp && count > 2;
            let kind = Synchronisation::of(&capsule[entry.range.clone()]).filter(has_idle);
            let is_second = kind != Some(Synchronisation::Meeting);
            idle.extend(kind.map(|_| Idle { at: at + usize::from(is_second), is_second }));
        }
        at += count;
    }
    Some(idle)
}

/// The capsule with what 13.0.88 has of synchronisations that take one machine instruction.
pub fn abridged(capsule: &[u8]) -> Option<Vec<u8>> {
    /// What the first byte has in the form of 4 bytes.
    const ABRIDGED: u8 = 0x40;
    let mut list = Vec::new();
    let bits = super::entries(capsule, |entry| list.push(entry)).ok()?;
    let mut list = list.iter();
    let (mut derived, mut body) = (Vec::with_capacity(bits.count), Vec::with_capacity(capsule.len()));
    for is_derived in bits.iter() {
        derived.push(is_derived);
        if is_derived {
            continue;
        }
        let entry = list.next()?;
        let bytes = &capsule[entry.range.clone()];
        match Synchronisation::of(bytes) {
            Some(Synchronisation::Warp) => body.extend([ABRIDGED | bytes[0], bytes[1], bytes[2], bytes[3]]),
            Some(Synchronisation::Meeting | Synchronisation::Break) => *derived.last_mut()? = true,
            None => body.extend(bytes),
        }
        if entry.is_count() {
            body.extend(&capsule[list.next()?.range.clone()]);
        }
    }
    Some([&capsule[..HEAD], &bitmap_of(&derived), &body].concat())
}

/// Which instructions are derived in 13.0's capsule, and its entries.
fn converted(
    capsule: &[u8],
    bits: &Bits<'_>,
    entries: &[Entry],
    code: &[u8],
) -> Option<(Vec<bool>, Vec<u8>)> {
    let mut entries = entries.iter();
    let (mut derived, mut body) = (Vec::with_capacity(bits.count), Vec::with_capacity(capsule.len()));
    let mut at = 0;
    for is_derived in bits.iter() {
        let instruction = code.get(at * INSTRUCTION..).and_then(|rest| rest.get(..INSTRUCTION));
        if is_derived {
            let stored = match in_13(instruction?)? {
                Form::Derived => None,
                Form::Stored(entry) => Some(entry),
            };
            body.extend(stored.iter().flatten());
            derived.push(stored.is_none());
            at += 1;
            continue;
        }
        let mut entry = entries.next()?;
        let mut count = None;
        if entry.is_count() {
            count = Some(entry.count(capsule));
            body.extend(&capsule[entry.range.clone()]);
            entry = entries.next()?;
        }
        let bytes = &capsule[entry.range.clone()];
        let is_derived = count.is_none() && instruction.is_some_and(|code| is_derived_since(bytes, code));
        derived.push(is_derived);
        if !is_derived {
            body.extend(bytes);
        }
        at += if entry.form == SHORT { entry.count(capsule) } else { count.unwrap_or(entry.takes()) };
    }
    (at == code.len() / INSTRUCTION && entries.next().is_none()).then_some((derived, body))
}

/// How 13.0 has an instruction that 12.8 derives.
enum Form {
    Derived,
    Stored([u8; 4]),
}

/// `None` if it is not known.
fn in_13(instruction: &[u8]) -> Option<Form> {
    let opcode = u16::from_le_bytes([instruction[0], instruction[1]]) & OPCODE;
    if CONVERSIONS.contains(&opcode) {
        if is_derived_conversion(instruction) {
            return Some(Form::Derived);
        }
        let size = instruction[10] >> 4 & 3;
        let (.., third) = FROM_SMALL.iter().find(|(of, to, _)| (*of, *to) == (opcode, size))?;
        return Some(Form::Stored([CONVERSION.0, CONVERSION.1, *third, CONVERSION.2]));
    }
    let stored = STORED_SINCE.iter().find(|(of, forms, _)| *of == opcode && is_of(instruction, *forms));
    if let Some((.., entry)) = stored {
        return Some(Form::Stored(*entry));
    }
    DERIVED.binary_search(&opcode).is_ok().then_some(Form::Derived)
}

fn is_of(instruction: &[u8], (mask, value): Forms) -> bool {
    instruction[8..12].iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte)) & mask == value
}

fn is_derived_since(entry: &[u8], instruction: &[u8]) -> bool {
    let Ok(entry) = <[u8; 4]>::try_from(entry) else { return false };
    let opcode = u16::from_le_bytes([instruction[0], instruction[1]]) & OPCODE;
    let is_conversion = (entry[0], entry[1], entry[3]) == CONVERSION && CONVERSIONS.contains(&opcode);
    let is_listed = |(listed, forms): &([u8; 4], Forms)| *listed == entry && is_of(instruction, *forms);
    DERIVED_SINCE.iter().any(is_listed)
        || entry[1] == MINIMA
        || is_conversion && is_derived_conversion(instruction)
}

fn is_derived_conversion(instruction: &[u8]) -> bool {
    instruction[9] & WIDE_SOURCE != 0
}

#[cfg(test)]
mod tests {
    use super::{Idle, abridged, from_older, idle, is_older_capsule};

    fn code(operations: &[u16]) -> Vec<u8> {
        let instruction = |operation: &u16| {
            let mut bytes = [0; 16];
            bytes[..2].copy_from_slice(&operation.to_le_bytes());
            bytes
        };
        operations.iter().flat_map(instruction).collect()
    }

    #[test]
    fn calls_are_stored_and_loads_are_derived() {
        let mut capsule = vec![7, 0, 0, 0, 4, 0, 0, 0x40, 0b0011, 0, 0, 0];
        capsule.extend([0x42, 0x22, 0x3a, 0x06]);
        capsule.extend([0xd0, 0]);
        let code = code(&[0x7943, 0x7202, 0x7984, 0x7947]);
        assert!(is_older_capsule(&capsule));
        let new = from_older(&capsule, &code).expect("a capsule");
        let head = [7, 0, 0, 0, 1, 0, 0, 0xc0, 4, 0, 0, 0, 0b0110, 0, 0, 0];
        assert_eq!(new, [&head[..], &[0x42, 0x0a, 0x02, 0x0e], &[0xd0, 0]].concat());
        assert!(!is_older_capsule(&new));
    }

    #[test]
    fn the_form_of_an_instruction_decides() {
        let capsule = [7, 0, 0, 0, 1, 0, 0, 0x40, 0b0001, 0, 0, 0];
        let converted = |form: [u8; 2]| {
            let mut code = code(&[0x7906]);
            code[9..11].copy_from_slice(&form);
            from_older(&capsule, &code).map(|capsule| capsule[16..].to_vec())
        };
        // A number of 8 bits and one of 16.
        assert_eq!(converted([0x24, 0x20]), Some(vec![0x41, 0x12, 0x4c, 0x0c]));
        assert_eq!(converted([0x0c, 0x20]), Some(Vec::new()));
    }

    #[test]
    fn what_is_not_known_is_not_converted() {
        let capsule = [7, 0, 0, 0, 1, 0, 0, 0x40, 0b0001, 0, 0, 0];
        assert_eq!(from_older(&capsule, &code(&[0x7777])), None);
        assert!(from_older(&capsule, &code(&[0x7202])).is_some());
        assert_eq!(from_older(&capsule, &code(&[0x7202, 0x7202])), None);
        assert_eq!(from_older(&capsule[..9], &code(&[0x7202])), None);
    }

    #[test]
    fn synchronisation_takes_one_instruction() {
        let head = [7, 0, 0, 0, 1, 0, 0, 0xc0, 3, 0, 0, 0, 0b0001, 0, 0, 0];
        let full = [1, 0x47, 0x6e, 0x0a, 0xf8, 0, 0x0c, 0, 0, 0, 0, 0xf8, 0, 0, 0, 0];
        let end = [0xd0, 0];
        let two = [&head[..], &[0x51, 1], &full, &end].concat();
        assert_eq!(idle(&two), Some(vec![Idle { at: 2, is_second: true }]));
        assert_eq!(abridged(&two).as_deref(), Some(&two[..]));
        let one = [&head[..], &full, &end].concat();
        assert_eq!(idle(&one), Some(Vec::new()));
        assert_eq!(abridged(&one), Some([&head[..], &[0x41, 0x47, 0x6e, 0x0a], &end].concat()));
    }

    #[test]
    fn meetings_are_derived() {
        let head = [7, 0, 0, 0, 1, 0, 0, 0xc0, 3, 0, 0, 0];
        let full = [1, 9, 2, 0x0a, 0xf8, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0];
        let end = [0xd0, 0];
        let two = [&head[..], &[0b0001, 0, 0, 0], &[0x51, 1], &full, &end].concat();
        assert_eq!(idle(&two), Some(vec![Idle { at: 1, is_second: false }]));
        let one = [&head[..], &[0b0001, 0, 0, 0], &full, &end].concat();
        assert_eq!(abridged(&one), Some([&head[..], &[0b0011, 0, 0, 0], &end].concat()));
    }
}
