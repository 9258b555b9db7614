//! Capsule Mercury, the second form of the code in objects for sm_100 and later.
//!
//! Every `.text.F` has a `.nv.capmerc.text.F`, and a parallel set of sections and symbols
//! (`.nv.merc.*`) describes the same program in terms of Mercury code. A capsule stores only those
//! Mercury instructions that cannot be derived from the machine code beside it, so an offset in
//! Mercury code is not an offset in the capsule.

mod older;

use bstr::BString;
pub use older::{Idle, abridged, from_older, idle, is_older_capsule};
use std::ops::Range;

/// What precedes the name of a text section in the name of its capsule.
pub const CAPSULE_PREFIX: &[u8] = b".nv.capmerc";
/// What precedes the name of any other section of the Mercury view.
pub const PREFIX: &[u8] = b".nv.merc";

/// Names that differ between the two views: Mercury's and that of the machine code.
type Pair = (&'static [u8], &'static [u8]);

/// The user's constants.
pub const CONSTANT_USER: Pair = (b".nv.constant.user", b".nv.constant3");
/// The addresses that position-independent code loads.
pub const CONSTANT_ADDRESSES: Pair = (b".nv.constant.pic", b".nv.constant4");
pub const CONSTANT_OPTIMIZER: Pair = (b".nv.constant.optimizer.", b".nv.constant2.");
pub const CONSTANT_IMAGES: Pair = (b".nv.constant.entry_image_header_indices.", b".nv.constant0.");

/// The name that the machine code's view has for a section, where it is another than Mercury's.
pub fn code_name(name: &[u8]) -> Option<BString> {
    let (stem, of): (&[u8], _) = match name.strip_prefix(b".rela") {
        Some(of) => (b".rela", of),
        None => (b"", name),
    };
    if let Some((_, code)) = [CONSTANT_USER, CONSTANT_ADDRESSES].into_iter().find(|(name, _)| *name == of) {
        return Some([stem, code].concat().into());
    }
    let renamed = [CONSTANT_OPTIMIZER, CONSTANT_IMAGES]
        .into_iter()
        .find_map(|(mercury, code)| Some([stem, code, of.strip_prefix(mercury)?].concat()))?;
    Some(renamed.into())
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
    /// The first of eight, one for each byte of an address.
    pub const BYTE_0: u32 = 0x10010;
    pub const UNIFIED: u32 = 0x10032;
    /// Likewise, of the unified address of a function.
    pub const UNIFIED_BYTE_0: u32 = 0x10034;
    /// The address of a function in `.debug_frame`.
    pub const FRAME_64: u32 = 0x1003d;
    pub const UNIFIED_32_LO: u32 = 0x1003e;
    pub const UNIFIED_32_HI: u32 = 0x1003f;
}

/// Section index, format, number of instructions.
const HEAD: usize = 12;

/// Instructions that load from a constant bank have these second and fourth bytes; the third tells which they are.
const LOAD_CONSTANT: (u8, u8) = (0x22, 0x06);
const UNIFORM: u8 = 0x08;
const FIXED: u8 = 0x0e;
const BANK: usize = 12;

/// The banks of the compiler's constants, of the program's, of addresses in position-independent code, and of the handles of textures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bank {
    Compiler = 0x41,
    Program = 0x42,
    Addresses = 0x47,
    Handles = 0x49,
}

impl Bank {
    pub const ALL: [Self; 4] = [Self::Compiler, Self::Program, Self::Addresses, Self::Handles];
}

/// A load from one of these banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    pub bank: Bank,
    /// Into a uniform register. Relocations of these have a type of their own.
    pub uniform: bool,
    /// Where the operand is in the capsule, a word.
    pub operand: u64,
}

/// Why a capsule cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// It ends within its head or within an instruction.
    Cut,
    Format,
    /// A first byte that no instruction has.
    Instruction,
    /// It has more or fewer instructions than its bitmap says.
    Count,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Cut => "it ends within an instruction",
            Self::Format => "its format is unknown",
            Self::Instruction => "an instruction of unknown form",
            Self::Count => "the number of its instructions is not that of its bitmap",
        })
    }
}

const FORMAT: u32 = 0xc000_0001;
/// An entry of a capsule: where it lies, the high and the low half of its first byte.
struct Entry {
    range: Range<usize>,
    form: u8,
    units: u8,
}

impl Entry {
    /// Whether it says how many machine instructions the next one takes, and is none itself.
    fn is_count(&self) -> bool {
        (self.form, self.units) == (SHORT, 1)
    }

    /// The number of machine instructions that an entry of the short form names.
    fn count(&self, capsule: &[u8]) -> usize {
        usize::from(u16::from_le_bytes([capsule[self.range.start], capsule[self.range.start + 1]]) >> COUNT)
    }

    /// How many machine instructions an instruction takes for which nothing is said.
    fn takes(&self) -> usize {
        usize::from(self.form != REMARK)
    }
}

/// The form of entries that hold nothing but a number of machine instructions.
const SHORT: u8 = 5;
/// The form of remarks about the code, which take a bit of the bitmap and no machine instruction. The assembler writes
/// them for functions whose name has `cutlass` in it (mercury/remarks).
const REMARK: u8 = 3;
/// Where a remark has its topic, in bits of two bytes.
const TOPIC: u32 = 3;
/// Mercury instructions are as many times this long as the low half of the first byte says, abridged or not.
const MERCURY_UNIT: usize = 16;
/// Where that number begins.
const COUNT: u32 = 7;

/// Walks the entries of a capsule; its bitmap.
///
/// After its head and a bitmap, a capsule has the instructions that are not derived, for each of them the bitmap
/// has a zero. Their first byte tells the length: 16 bytes times the low half where the high half is 0 or 3, 4 or 2 bytes
/// for the two abridged forms. The shorter one, with a low half of 1, has no bit.
fn entries(capsule: &[u8], each: impl FnMut(Entry)) -> Result<Bits<'_>, Damage> {
    let word = |at: usize| {
        let bytes = capsule.get(at..at + 4).ok_or(Damage::Cut)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    };
    if word(4)? != FORMAT {
        return Err(Damage::Format);
    }
    walk(capsule, HEAD, word(8)? as usize, each)
}

/// The same for a capsule with a head of this length, which has so many instructions.
fn walk(capsule: &[u8], head: usize, count: usize, mut each: impl FnMut(Entry)) -> Result<Bits<'_>, Damage> {
    let bitmap =
        capsule.get(head..).and_then(|rest| rest.get(..count.div_ceil(32) * 4)).ok_or(Damage::Cut)?;
    let ones: u32 = bitmap.iter().map(|byte| byte.count_ones()).sum();
    let mut expected = count.checked_sub(ones as usize).ok_or(Damage::Count)?;
    let mut at = head + bitmap.len();
    while at < capsule.len() {
        let (form, units) = (capsule[at] >> 4 & 7, capsule[at] & 15);
        let length = match form {
            0 | REMARK if units > 0 => 16 * usize::from(units),
            4 => 4,
            SHORT => 2,
            _ => return Err(Damage::Instruction),
        };
        let entry = Entry { range: at..at + length, form, units };
        at += length;
        if at > capsule.len() {
            return Err(Damage::Cut);
        }
        if !entry.is_count() {
            expected = expected.checked_sub(1).ok_or(Damage::Count)?;
        }
        each(entry);
    }
    if expected == 0 { Ok(Bits { bitmap, count }) } else { Err(Damage::Count) }
}

/// The bitmap that says which instructions are derived.
fn bitmap_of(derived: &[bool]) -> Vec<u8> {
    let mut bitmap = vec![0; derived.len().div_ceil(32) * 4];
    for (bit, _) in derived.iter().enumerate().filter(|(_, derived)| **derived) {
        bitmap[bit / 8] |= 1 << (bit % 8);
    }
    bitmap
}

struct Bits<'data> {
    bitmap: &'data [u8],
    count: usize,
}

impl Bits<'_> {
    fn iter(&self) -> impl Iterator<Item = bool> {
        (0..self.count).map(|bit| self.bitmap[bit / 8] >> (bit % 8) & 1 != 0)
    }
}

/// The loads of a capsule that relocations may belong to, in the order of the code. Loads from the program's
/// constants and of handles by an index do not count: the index has the place in it.
pub fn loads(capsule: &[u8]) -> Result<Vec<Load>, Damage> {
    let mut loads = Vec::new();
    entries(capsule, |entry| loads.extend(load(&capsule[entry.range.clone()], entry.range.end)))?;
    Ok(loads)
}

/// The load that an entry is, which ends at this place.
fn load(instruction: &[u8], end: usize) -> Option<Load> {
    if instruction.len() <= 16 || (instruction[1], instruction[3]) != LOAD_CONSTANT {
        return None;
    }
    let bank = Bank::ALL.into_iter().find(|bank| *bank as u8 == instruction[BANK])?;
    let by_index = !matches!(instruction[2], UNIFORM | FIXED);
    let load = Load { bank, uniform: instruction[2] == UNIFORM, operand: end as u64 - 4 };
    (bank == Bank::Compiler || !by_index).then_some(load)
}

/// The same in code of so many machine instructions, each with those that it became.
pub fn loads_in_code(capsule: &[u8], machine: usize) -> Result<Vec<(Range<usize>, Load)>, Damage> {
    let (mut loads, mut at) = (Vec::new(), 0);
    for pace in paces(capsule, machine)? {
        let begin =
            pace.at + pace.entry.as_ref().filter(|entry| entry.start == pace.at).map_or(0, Range::len);
        let end = begin + 16 * usize::from(capsule.get(begin).map_or(0, |byte| byte & 15));
        let instruction = capsule.get(begin..end).filter(|_| pace.size.is_some_and(|size| size > 0));
        let found = instruction.and_then(|instruction| load(instruction, end));
        loads.extend(found.map(|load| (at..at + pace.count, load)));
        at += pace.count;
    }
    Ok(loads)
}

/// The machine instructions that load handles by an index, in code of so many.
pub fn indexed_handles(capsule: &[u8], machine: usize) -> Result<Vec<usize>, Damage> {
    let (mut found, mut at) = (Vec::new(), 0);
    for pace in paces(capsule, machine)? {
        let count = pace.entry.filter(|entry| entry.start == pace.at).map_or(0, |entry| entry.len());
        let instruction = capsule.get(pace.at + count..).unwrap_or_default();
        let is_load = pace.size.is_some_and(|size| size > 16) && instruction.len() > BANK;
        if is_load
            && (instruction[1], instruction[3]) == LOAD_CONSTANT
            && instruction[BANK] == Bank::Handles as u8
            && !matches!(instruction[2], UNIFORM | FIXED)
        {
            found.push(at);
        }
        at += pace.count;
    }
    Ok(found)
}

/// What the assembler notes about how it has scheduled the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The machine instruction that it is written before.
    pub at: usize,
    /// What it is about.
    pub topic: u16,
    pub scope: Option<Scope>,
    pub value: u8,
}

/// The code that a remark is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Function,
    /// From here on, until a remark of the same topic that ends it.
    Begin,
    End,
    Instruction,
}

impl Scope {
    fn of(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Function,
            2 => Self::Begin,
            3 => Self::End,
            4 => Self::Instruction,
            _ => return None,
        })
    }
}

/// The remarks of a capsule, in the order of the code, which has this many machine instructions. Those about the whole function
/// come first: a capsule that begins with something else has none.
pub fn remarks(capsule: &[u8], machine: usize) -> Result<Vec<Remark>, Damage> {
    let word = |at: usize| capsule.get(at..).and_then(|rest| rest.first_chunk::<4>());
    let count = word(8).map(|bytes| u32::from_le_bytes(*bytes) as usize).ok_or(Damage::Cut)?;
    let first = capsule.get(HEAD + count.div_ceil(32) * 4).ok_or(Damage::Cut)?;
    if first >> 4 & 7 != REMARK {
        return Ok(Vec::new());
    }
    let (mut found, mut at) = (Vec::new(), 0);
    for pace in paces(capsule, machine)? {
        if let Some([first, _, _, low, high, scope, _, value]) =
            capsule.get(pace.at..).and_then(|rest| rest.first_chunk::<8>())
            && !pace.is_derived()
            && first >> 4 & 7 == REMARK
        {
            let topic = u16::from_le_bytes([*low, *high]) >> TOPIC;
            found.push(Remark { at, topic, scope: Scope::of(*scope), value: *value });
        }
        at += pace.count;
    }
    Ok(found)
}

/// How many machine instructions a Mercury instruction takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pace {
    pub count: usize,
    /// Where what the capsule has of it begins, or would begin.
    pub at: usize,
    /// Where the capsule says so, if it is not one.
    pub entry: Option<Range<usize>>,
    /// Its length in Mercury code; `None` if the capsule leaves it out.
    pub size: Option<usize>,
    /// What it does, where the capsule has the instruction.
    class: Option<u8>,
}

impl Pace {
    /// Of the instructions on barriers in shared memory.
    const BARRIERS: u8 = 0x1b;
    const FENCES: u8 = 0x49;

    /// Whether the capsule has nothing of it.
    pub fn is_derived(&self) -> bool {
        self.entry.is_none() && self.class.is_none()
    }

    pub fn is_about_barriers(&self) -> bool {
        self.class == Some(Self::BARRIERS)
    }

    pub fn is_fence(&self) -> bool {
        self.class == Some(Self::FENCES)
    }

    /// An entry that begins like `first` and says another number.
    pub fn entry(first: u8, count: usize) -> Option<[u8; 2]> {
        let count = u16::try_from(count).ok().filter(|count| *count < 1 << (u16::BITS - COUNT))?;
        Some((count << COUNT | u16::from(first & 0x7f)).to_le_bytes())
    }
}

/// Takes the instruction of this number for one that the capsule has.
pub fn make_explicit(capsule: &mut [u8], instruction: usize) -> Option<()> {
    *capsule.get_mut(HEAD + instruction / 8)? &= !(1 << (instruction % 8));
    Some(())
}

/// The first byte of a delay's entry, but for the number of instructions.
const DELAY: u8 = 0x50;

/// Whether a Mercury instruction is a delay.
fn is_delay(capsule: &[u8], step: &Pace) -> bool {
    let is_delay = |entry: &Range<usize>| capsule[entry.start] & 0x7f == DELAY;
    step.count == 1 && step.class.is_none() && step.entry.as_ref().is_some_and(is_delay)
}

/// The machine instructions that are delays. `machine` is the number of machine instructions.
pub fn delays(capsule: &[u8], machine: usize) -> Result<Vec<usize>, Damage> {
    let (mut all, mut at) = (Vec::new(), 0);
    for step in &paces(capsule, machine)? {
        if is_delay(capsule, step) {
            all.push(at);
        }
        at += step.count;
    }
    Ok(all)
}

/// A capsule for code that has delays after some of its instructions, and some delays no more. `delays` says after which machine
/// instruction, and how many; `removed` which are gone, in order; the code had `machine` instructions and has `length` now.
/// Each delay is a Mercury instruction of its own. `None` if a delay would be within a Mercury instruction, or if what is
/// gone was none.
pub fn with_delays(
    capsule: &[u8],
    machine: usize,
    delays: &[(usize, usize)],
    removed: &[usize],
    length: usize,
) -> Option<Vec<u8>> {
    let mut removed = removed.iter().peekable();
    let steps = paces(capsule, machine).ok()?;
    let derived: Vec<bool> = entries(capsule, |_| ()).ok()?.iter().collect();
    let mut delays = delays.iter().peekable();
    let (mut bits, mut body) = (Vec::new(), Vec::new());
    let (mut end, mut added, mut gone) = (0, 0, 0);
    for (index, step) in steps.iter().enumerate() {
        let next = steps.get(index + 1).map_or(capsule.len(), |next| next.at);
        // Remarks take no instruction.
        if step.count > 0 && removed.next_if(|at| **at == end).is_some() {
            (is_delay(capsule, step) && index + 1 < steps.len()).then_some(())?;
            end += 1;
            gone += 1;
            continue;
        }
        bits.push(derived[index]);
        if index + 1 == steps.len() {
            let entry = step.entry.clone()?;
            body.extend(&capsule[step.at..entry.start]);
            body.extend(Pace::entry(capsule[entry.start], length.checked_sub(end + added - gone)?)?);
            body.extend(&capsule[entry.end..]);
            break;
        }
        body.extend(&capsule[step.at..next]);
        end += step.count;
        // Delays come after remarks.
        if steps.get(index + 1).is_some_and(|next| next.count == 0) {
            continue;
        }
        while let Some((at, count)) = delays.next_if(|(at, _)| *at < end) {
            (at + 1 == end).then_some(())?;
            added += count;
            bits.extend(std::iter::repeat_n(false, *count));
            for _ in 0..*count {
                body.extend(Pace::entry(DELAY, 1)?);
            }
        }
    }
    (delays.next().is_none() && removed.next().is_none()).then_some(())?;
    let mut out = capsule.get(..HEAD - 4)?.to_vec();
    out.extend(u32::try_from(bits.len()).ok()?.to_le_bytes());
    out.extend(bitmap_of(&bits));
    out.extend(body);
    Some(out)
}

/// The Mercury instructions in the order of the code, which has this many of the machine. The last one stands for
/// what is after the code.
pub fn paces(capsule: &[u8], machine: usize) -> Result<Vec<Pace>, Damage> {
    let mut list = Vec::new();
    let bits = entries(capsule, |entry| list.push(entry))?;
    let remarks = list.iter().filter(|entry| entry.form == REMARK).count();
    if bits.count > machine.saturating_add(remarks) {
        return Err(Damage::Count);
    }
    let mut entries = list.into_iter().peekable();
    let mut paces = Vec::with_capacity(bits.count);
    for derived in bits.iter() {
        let at = entries.peek().map_or(capsule.len(), |entry| entry.range.start);
        let mut pace = Pace { count: 1, at, entry: None, size: None, class: None };
        if !derived {
            let mut entry = entries.next().ok_or(Damage::Count)?;
            if entry.is_count() {
                (pace.count, pace.entry) = (entry.count(capsule), Some(entry.range));
                entry = entries.next().ok_or(Damage::Count)?;
            }
            // Delays and what comes after the code take no room.
            pace.size = Some(if entry.form == SHORT { 0 } else { MERCURY_UNIT * usize::from(entry.units) });
            match entry.form {
                SHORT => (pace.count, pace.entry) = (entry.count(capsule), Some(entry.range)),
                REMARK => (pace.count, pace.class) = (0, Some(capsule[entry.range.start + 1])),
                _ => pace.class = Some(capsule[entry.range.start + 1]),
            }
        }
        paces.push(pace);
    }
    if entries.next().is_none() { Ok(paces) } else { Err(Damage::Count) }
}

#[cfg(test)]
mod tests {
    use super::{
        Bank, Damage, Load, Pace, Remark, Scope, code_name, delays, loads, paces, remarks, with_delays,
    };

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
        assert_eq!(loads(&bytes), Ok(vec![expected]));
        assert_eq!(loads(&bytes[..70]), Err(Damage::Cut));
        assert_eq!(loads(&bytes[..84]), Err(Damage::Count));
        bytes[7] = 0;
        assert_eq!(loads(&bytes), Err(Damage::Format));
    }

    #[test]
    fn how_many_machine_instructions() {
        let mut bytes = vec![7, 0, 0, 0, 1, 0, 0, 0xc0, 4, 0, 0, 0, 0b0010, 0, 0, 0];
        bytes.extend([0x42, Pace::BARRIERS, 0, 0]);
        bytes.extend([0xd1, 4]);
        bytes.extend([1, 0x49, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend([0x50, 7]);
        let pace = |count, at, entry, size, class| Pace { count, at, entry, size, class };
        let expected = [
            pace(1, 16, None, Some(32), Some(Pace::BARRIERS)),
            pace(1, 20, None, None, None),
            pace(9, 20, Some(20..22), Some(16), Some(0x49)),
            pace(14, 38, Some(38..40), Some(0), None),
        ];
        assert_eq!(paces(&bytes, 25).as_deref(), Ok(&expected[..]));
        assert_eq!(paces(&bytes, 3), Err(Damage::Count));
        assert_eq!((Pace::entry(0xd1, 4), Pace::entry(0x50, 11)), (Some([0x51, 2]), Some([0xd0, 5])));
        assert_eq!(Pace::entry(0x50, 512), None);
    }

    #[test]
    fn delays_are_instructions() {
        // Two derived instructions, one with a count, and what comes after the code.
        let mut bytes = vec![7, 0, 0, 0, 1, 0, 0, 0xc0, 4, 0, 0, 0, 0b0011, 0, 0, 0];
        bytes.extend([0xd1, 0]);
        bytes.extend([1, 0x49, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend([0x50, 6]);
        let longer = with_delays(&bytes, 15, &[(0, 2)], &[], 17).expect("a capsule");
        assert_eq!(longer[8..16], [6, 0, 0, 0, 0b1001, 0, 0, 0]);
        assert_eq!(longer[16..20], [0xd0, 0, 0xd0, 0]);
        assert_eq!(longer[20..], bytes[16..]);
        assert_eq!(delays(&longer, 17), Ok(vec![1, 2]));
        let again = with_delays(&longer, 17, &[], &[1, 2], 15);
        assert_eq!(again.as_deref(), Some(&bytes[..]));
        assert_eq!(with_delays(&longer, 17, &[], &[0], 16), None);
        assert_eq!(with_delays(&bytes, 15, &[], &[], 15).as_deref(), Some(&bytes[..]));
        // After the code there is nothing to delay.
        assert_eq!(with_delays(&bytes, 15, &[(9, 1)], &[], 16), None);
    }

    #[test]
    fn remarks_are_written_before_instructions() {
        let remark = |topic: u16, scope: u8, value: u8| {
            let [low, high] = (topic << 3).to_le_bytes();
            [0x31, 2, 0, low, high, scope, 1, value, 0, 0, 0, 0, 0, 0, 0, 0]
        };
        // A remark, a derived instruction, two remarks, and what comes after the code.
        let mut bytes = vec![7, 0, 0, 0, 1, 0, 0, 0xc0, 5, 0, 0, 0, 0b0_0010, 0, 0, 0];
        bytes.extend(remark(4, 1, 23));
        bytes.extend(remark(41, 3, 1));
        bytes.extend(remark(11, 9, 2));
        bytes.extend([0xd0, 0]);
        let expected = [
            Remark { at: 0, topic: 4, scope: Some(Scope::Function), value: 23 },
            Remark { at: 1, topic: 41, scope: Some(Scope::End), value: 1 },
            Remark { at: 1, topic: 11, scope: None, value: 2 },
        ];
        assert_eq!(remarks(&bytes, 2), Ok(expected.to_vec()));
        for length in 0..bytes.len() {
            let _ = remarks(&bytes[..length], 2);
        }
    }

    #[test]
    fn names_of_both_views() {
        assert_eq!(code_name(b".rela.nv.constant.user").unwrap(), ".rela.nv.constant3");
        assert_eq!(code_name(b".nv.constant.optimizer.\xff").unwrap(), b".nv.constant2.\xff");
        assert_eq!(code_name(b".rel.nv.constant.user"), None);
        assert_eq!(code_name(b".text.f"), None);
    }
}
