//! Where the Mercury instructions of a function lie in its machine code.
//!
//! nvlink makes what the machine code's view says about places from what Mercury's says, with the code of the copy that
//! is linked. Where records of a replaced copy of a function stay, its places are looked up in that code too.

use crate::instruction::{Instruction, SIZE};
use crate::mercury_size;
use solder_cubin::mercury::paces;

/// The beginnings of the Mercury instructions of a function.
#[derive(Clone, Debug)]
pub struct Places {
    /// Offsets in Mercury code, ascending, and in the machine code. The last one is where both end.
    starts: Vec<(u64, u64)>,
}

impl Places {
    /// `None` if the code has an instruction whose length in Mercury is not known.
    pub fn of(code: &[u8], capsule: &[u8]) -> Option<Self> {
        let (mut starts, mut end, mut machine) = (Vec::<(u64, u64)>::new(), 0, 0);
        for pace in paces(capsule, code.len() / SIZE).ok()? {
            let size = pace.size.or_else(|| mercury_size(Instruction::at(code, machine)))?;
            // Delays take no room in Mercury code: the place is that of the instruction after them.
            starts.pop_if(|(start, _)| *start == end);
            starts.push((end, (machine * SIZE) as u64));
            end += size as u64;
            machine += pace.count;
        }
        Some(Self { starts })
    }

    /// The place in the machine code of the first Mercury instruction that begins here or later.
    pub fn next_in_code(&self, mercury: u64) -> Option<u64> {
        let (_, instructions) = self.starts.split_last()?;
        let at = instructions.partition_point(|(start, _)| *start < mercury);
        Some(instructions.get(at)?.1)
    }

    /// The place in the machine code of the Mercury instruction that begins here, or of the end.
    pub fn in_code(&self, mercury: u64) -> Option<u64> {
        let at = self.starts.binary_search_by_key(&mercury, |(mercury, _)| *mercury).ok()?;
        Some(self.starts[at].1)
    }
}
