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
const CIE_ID: u64 = u64::MAX;

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
