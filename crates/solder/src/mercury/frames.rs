//! `.debug_frame` of the machine code.
//!
//! nvlink makes it anew: of every function that stays, its CIE and its FDE, in the order of the inputs.
//! (That of the Mercury view is put together from the inputs like any debug information.)

use std::ops::Range;

/// The length of a 64-bit DWARF entry stands behind this mark.
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

    /// What comes before the instructions, and these without the filling behind.
    pub fn split(&self) -> Option<(&'data [u8], &'data [u8])> {
        let (head, instructions) = self.fde.split_at_checked(INSTRUCTIONS)?;
        let (mut at, mut end) = (0, 0);
        while at < instructions.len() {
            let is_filling = instructions[at] == NOP;
            at += instruction_size(&instructions[at..])?;
            end = if is_filling { end } else { at };
        }
        Some((head, &instructions[..end]))
    }

    /// The instructions for the very beginning of the code, if there are any.
    pub fn at_beginning(&self) -> Option<&'data [u8]> {
        let (_, instructions) = self.split()?;
        let instructions = instructions.strip_prefix(&[ADVANCE_LOC4, 0, 0, 0, 0])?;
        let mut end = 0;
        while instructions.get(end).is_some_and(|op| *op != ADVANCE_LOC4) {
            end += instruction_size(&instructions[end..])?;
        }
        // Without any code behind, nothing is said.
        let goes_on = instructions.get(end + 1..end + 5).is_some_and(|distance| distance != [0; 4]);
        Some(&instructions[..end]).filter(|initial| goes_on && !initial.is_empty())
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
