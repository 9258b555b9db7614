//! What the assembler says in a capsule about how it has scheduled a function.
//!
//! ptxas schedules functions whose name has `cutlass` in it in a way of its own at `-O3`, and writes down how, in remarks: how long
//! operands are read, in which loops the schedule follows other rules, and which batch every instruction of these loops is in.
//! nvlink follows them (mercury/remarks-schedule). Other topics are not known here. Where a loop does not follow the rules it keeps the
//! schedule it has, as every block does that is not understood.

use solder_cubin::mercury::{Remark, Scope, remarks};
use std::ops::Range;

/// Of the whole function: until operands have been read, in cycles.
const OPERANDS: u16 = 4;
/// Of the whole function: that it is scheduled so. 12.9 has another number for it, so that nvlink takes nothing from its remarks
/// (older/blackwell-remarks).
const APPLIES: u16 = 31;
/// Of a loop: that its instructions form batches.
const BATCHED: u16 = 3;
/// Of an instruction in a loop: the batch that it belongs to.
const BATCH: u16 = 11;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// How long reading operands takes, whatever the operation.
    pub operands: Option<i64>,
    /// The loops that the assembler has scheduled by rules of their own.
    pub loops: Vec<Range<usize>>,
    /// Those of them whose instructions form batches.
    batched: Vec<Range<usize>>,
    /// The batches of their instructions, by where these are, in order.
    batches: Vec<(usize, u8)>,
}

impl Hints {
    /// Nothing is said.
    pub const NONE: &'static Self =
        &Self { operands: None, loops: Vec::new(), batched: Vec::new(), batches: Vec::new() };

    /// Those of a function with this many machine instructions. What cannot be read says nothing.
    pub fn of(capsule: &[u8], machine: usize) -> Self {
        let mut hints = Self::default();
        let (mut begin, mut batched) = (None, None);
        let mut applies = false;
        for Remark { at, topic, scope, value } in remarks(capsule, machine).unwrap_or_default() {
            match scope {
                Some(Scope::Function) if topic == OPERANDS => hints.operands = Some(value.into()),
                Some(Scope::Function) if topic == APPLIES => applies = true,
                Some(Scope::Instruction) if topic == BATCH => hints.batches.push((at, value)),
                Some(Scope::End) if topic == BATCHED => {
                    hints.batched.extend(batched.take().map(|begin| begin..at));
                }
                Some(Scope::Begin) if topic == BATCHED => batched = Some(at),
                Some(Scope::Begin) => begin = begin.or(Some(at)),
                Some(Scope::End) => hints.loops.extend(begin.take().map(|begin| begin..at)),
                _ => {}
            }
        }
        if applies { hints } else { Self::default() }
    }

    /// The batch of an instruction, if the assembler says so.
    pub fn batch(&self, at: usize) -> Option<u8> {
        let count = self.batches.partition_point(|(first, _)| *first <= at);
        self.batches[..count].last().map(|(_, batch)| *batch)
    }

    /// Whether an instruction is in a loop with batches.
    pub fn is_batched(&self, at: usize) -> bool {
        self.batched.iter().any(|range| range.contains(&at))
    }
}
