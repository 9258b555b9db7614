//! Where the Mercury instructions of a function lie in its machine code.
//!
//! nvlink makes what the machine code's view says about places from what Mercury's says, with the code of the copy that
//! is linked. Where records of a replaced copy of a function stay, its places are looked up in that code too.

use crate::instruction::{Instruction, SIZE};
use crate::mercury_size;
use crate::operation::{BAR, BSYNC, ERRBAR, LDS, MEMBAR, NOP, UCGABAR, WARPSYNC};
use solder_cubin::mercury::paces;
use std::ops::Range;

/// `@!PT`
const NEVER: u8 = 15;
/// The form of an instruction whose operand is a register.
const OF_REGISTER: u16 = 1;

/// The beginnings of the Mercury instructions of a function.
#[derive(Clone, Debug)]
pub struct Places {
    /// Offsets in Mercury code, ascending, and in the machine code. The last one is where both end.
    starts: Vec<(u64, u64)>,
    /// The same in the machine code: the first machine instruction, or the last where precautions come first.
    mains: Vec<u64>,
}

impl Places {
    /// `None` if the code has an instruction whose length in Mercury is not known.
    pub fn of(code: &[u8], capsule: &[u8]) -> Option<Self> {
        let (mut starts, mut end, mut machine) = (Vec::<(u64, u64)>::new(), 0, 0);
        let mut mains = Vec::new();
        // The first machine instruction that lies where the last Mercury instruction ended.
        let mut first_after = None;
        for pace in paces(capsule, code.len() / SIZE).ok()? {
            let size = pace.size.or_else(|| mercury_size(Instruction::at(code, machine)))?;
            // Delays take no room in Mercury code: the place is that of the instruction after them.
            starts.pop_if(|(start, _)| *start == end);
            mains.truncate(starts.len());
            let is_precaution = |one: Instruction| {
                [MEMBAR, ERRBAR, WARPSYNC].contains(&one.operation())
                    || one.operation() == LDS && one.guard() == NEVER
            };
            let has_precautions = pace.count > 1 && is_precaution(Instruction::at(code, machine));
            let main = if has_precautions { machine + pace.count - 1 } else { machine };
            mains.push((main * SIZE) as u64);
            starts.push((end, (first_after.unwrap_or(machine) * SIZE) as u64));
            if size > 0 {
                first_after = rest_of(code, machine..machine + pace.count, pace.is_fence());
            }
            end += size as u64;
            machine += pace.count;
        }
        Some(Self { starts, mains })
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

    /// Where nvlink has the beginning of a range of code that begins with the Mercury instruction here: just before the main machine
    /// instruction of the next one.
    pub fn begin_of_range(&self, mercury: u64) -> Option<u64> {
        let at = self.starts.binary_search_by_key(&mercury, |(mercury, _)| *mercury).ok()?;
        self.mains.get(at + 1)?.checked_sub(SIZE as u64)
    }
}

/// Of the machine instructions that one Mercury instruction becomes, the first after the main one. nvlink places it and the following ones where
/// the Mercury instruction ends, and precautions before the main one where it begins (mercury/frames-of-expansions).
fn rest_of(code: &[u8], mut machine: Range<usize>, is_fence: bool) -> Option<usize> {
    let operation = |at: usize| Instruction::at(code, at).operation();
    if let Some(barrier) = machine.clone().find(|at| operation(*at) == BAR) {
        machine.start = barrier;
    }
    let end = machine.end;
    let is_of_cluster = machine.clone().any(|at| operation(at) == UCGABAR);
    let is_precaution = |at: &usize| {
        let one = Instruction::at(code, *at);
        match one.operation() {
            LDS => one.guard() == NEVER,
            // The one of a barrier of the cluster is what it begins with.
            WARPSYNC => !is_of_cluster || one.form() == OF_REGISTER,
            // A fence may have a narrower one before it, and a barrier of the cluster begins with one.
            MEMBAR => !is_fence && !is_of_cluster || operation(at + 1) == MEMBAR,
            ERRBAR => !is_fence && !is_of_cluster,
            // 13.0.100, and linkers from 13.2 on, have one before each meeting (mercury/places-after-meetings).
            NOP => at + 1 < end && operation(at + 1) == BSYNC,
            _ => false,
        }
    };
    let mut rest = machine.skip_while(is_precaution);
    rest.next().and(rest.next())
}
