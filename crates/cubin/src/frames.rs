//! `.debug_frame`: a CIE and an FDE for each function, in 64-bit DWARF.

use std::ops::Range;

/// The length of a 64-bit DWARF entry follows this mark.
const LENGTH_64: [u8; 4] = [0xff; 4];
/// Length and its mark; then comes the CIE pointer, then the address.
const CIE_POINTER: usize = 12;
const ADDRESS: usize = 20;
const CODE_RANGE: usize = 28;
const INSTRUCTIONS: usize = 36;
const CIE_ID: u64 = u64::MAX;

/// The call frame instructions that occur: nothing, going on, and those about registers.
const NOP: u8 = 0x00;
const ADVANCE_LOC4: u8 = 0x04;
const OFFSET_EXTENDED: u8 = 0x05;
const RESTORE_EXTENDED: u8 = 0x06;
const REGISTER: u8 = 0x09;
const DEF_CFA: u8 = 0x0c;
const EXPRESSION: u8 = 0x10;

/// The size of the first instruction; `None` if it is not one of those.
fn instruction_size(instructions: &[u8]) -> Option<usize> {
    // The end of a number of as many bytes as have their upper bit set.
    let number = |at: usize| {
        let more = instructions.get(at..)?.iter().position(|byte| byte & 0x80 == 0)?;
        Some(at + more + 1)
    };
    let size = match *instructions.first()? {
        NOP => 1,
        ADVANCE_LOC4 => 5,
        RESTORE_EXTENDED => number(1)?,
        OFFSET_EXTENDED | REGISTER | DEF_CFA => number(number(1)?)?,
        EXPRESSION => {
            let length = number(1)?;
            length + 1 + usize::from(*instructions.get(length).filter(|byte| **byte & 0x80 == 0)?)
        }
        _ => return None,
    };
    (size <= instructions.len()).then_some(size)
}

/// What a frame says of one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'data> {
    pub at: u64,
    pub instructions: &'data [u8],
}

/// One FDE of an input and the CIE before it.
#[derive(Clone, Debug)]
pub struct Frame<'data> {
    pub cie: &'data [u8],
    pub fde: &'data [u8],
    /// Where the FDE lies in its section.
    pub range: Range<u64>,
}

impl<'data> Frame<'data> {
    /// Offset in the FDE of the pointer to the CIE.
    pub const POINTER: u64 = CIE_POINTER as u64;
    /// Offset in the FDE of the function's address.
    pub const ADDRESS: u64 = ADDRESS as u64;
    /// Offset in the FDE of the field that says how much code it is about.
    pub const CODE_RANGE: usize = CODE_RANGE;
    /// Offset in the CIE of the number that places are counted in.
    pub const CODE_ALIGNMENT: usize = 22;
    /// What that number is for machine code.
    pub const WORD: u8 = 4;
    /// The instruction that goes on by so many words.
    pub const ADVANCE: u8 = ADVANCE_LOC4;
    /// What the size of an FDE is a multiple of.
    pub const ALIGN: usize = 8;
    /// An FDE that says nothing.
    pub const EMPTY: [u8; 40] = {
        let mut bytes = [0; 40];
        let mark = LENGTH_64.len();
        bytes.split_at_mut(mark).0.copy_from_slice(&LENGTH_64);
        bytes[mark] = bytes.len() as u8 - CIE_POINTER as u8;
        bytes
    };

    /// The field that says how much code it is about.
    pub fn range_of_code(&self) -> &'data [u8] {
        self.fde.get(CODE_RANGE..CODE_RANGE + 8).unwrap_or_default()
    }

    /// What comes before the instructions.
    pub fn head(&self) -> Option<&'data [u8]> {
        self.fde.get(..INSTRUCTIONS)
    }

    /// Whether places in it count bytes, as in Mercury's, and not words of machine code.
    pub fn counts_bytes(&self) -> bool {
        self.cie.get(Self::CODE_ALIGNMENT).is_some_and(|factor| *factor == 1)
    }

    /// What it says of each place, in its order. What is said again of a place holds instead of what was said before, even
    /// if that is nothing but filling, or the end. `None` if an instruction is of another kind than those that occur.
    pub fn events(&self) -> Option<Vec<Event<'data>>> {
        let instructions = self.fde.get(INSTRUCTIONS..)?;
        let (mut at, mut events) = (0u32, Vec::<Event<'data>>::new());
        let mut next = 0;
        while next < instructions.len() {
            let (start, mut end) = (next, next);
            while let Some(op) = instructions.get(next).filter(|op| **op != ADVANCE_LOC4) {
                next += instruction_size(&instructions[next..])?;
                end = if *op == NOP { end } else { next };
            }
            if next > start {
                events.push(Event { at: at.into(), instructions: &instructions[start..end] });
            }
            if next < instructions.len() {
                // Mercury's go back, too.
                let distance = instructions.get(next + 1..next + 5)?.iter().rev();
                at = at.wrapping_add(distance.fold(0, |value, byte| value << 8 | u32::from(*byte)));
                next += 5;
                if next == instructions.len() {
                    events.push(Event { at: at.into(), instructions: &[] });
                }
            }
        }
        Some(events)
    }

    /// Offset in the section of the field that holds the function's address.
    pub fn address(&self) -> u64 {
        self.range.start + ADDRESS as u64
    }
}

/// The frames of a `.debug_frame` section. Ends at the first entry that cannot be read.
#[derive(Clone, Debug)]
pub struct Frames<'data> {
    data: &'data [u8],
    at: usize,
    cie: &'data [u8],
}

impl<'data> Frames<'data> {
    pub fn of(data: &'data [u8]) -> Self {
        Self { data, at: 0, cie: &[] }
    }
}

impl<'data> Iterator for Frames<'data> {
    type Item = Frame<'data>;

    fn next(&mut self) -> Option<Frame<'data>> {
        loop {
            let rest = self.data.get(self.at..)?;
            let length = u64::from_le_bytes(rest.get(4..CIE_POINTER)?.try_into().ok()?);
            let length = usize::try_from(length).ok()?.checked_add(CIE_POINTER)?;
            let entry = rest.get(..length).filter(|e| e[..4] == LENGTH_64)?;
            let pointer = u64::from_le_bytes(entry.get(CIE_POINTER..ADDRESS)?.try_into().ok()?);
            let start = self.at as u64;
            self.at += length;
            if pointer == CIE_ID {
                self.cie = entry;
            } else {
                return Some(Frame { cie: self.cie, fde: entry, range: start..start + length as u64 });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Event, Frames};

    fn frame(instructions: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0xff, 0xff, 0xff, 0xff];
        bytes.extend((24 + instructions.len() as u64).to_le_bytes());
        bytes.extend([0; 24]);
        bytes.extend(instructions);
        bytes
    }

    #[test]
    fn one_group_for_each_place() {
        let bytes = frame(&[4, 16, 0, 0, 0, 4, 16, 0, 0, 0, 12, 1, 0, 4, 0xf0, 0xff, 0xff, 0xff, 0, 0]);
        let events = Frames::of(&bytes).next().and_then(|frame| frame.events());
        let expected = [Event { at: 32, instructions: &[12, 1, 0] }, Event { at: 16, instructions: &[] }];
        assert_eq!(events.as_deref(), Some(&expected[..]));
    }

    #[test]
    fn damaged_instructions() {
        for instructions in [&[4, 1, 2][..], &[0x2f], &[12, 0x80], &[16, 1, 9]] {
            let bytes = frame(instructions);
            assert_eq!(Frames::of(&bytes).next().and_then(|frame| frame.events()), None);
        }
    }
}
