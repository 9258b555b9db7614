//! What the assembler says in a capsule about how it has scheduled a function.
//!
//! ptxas schedules functions whose name has `cutlass` in it in a way of its own at `-O3`, and writes down how, in remarks: how long
//! operands are read, in which loops the schedule follows other rules, and for every instruction of these loops some more.
//! nvlink follows them (mercury/remarks-schedule). Only the first is known here. Where a loop does not follow the rules of other
//! code it keeps the schedule it has, as every block does that is not understood.

use solder_cubin::mercury::{Remark, Scope, remarks};
use std::ops::Range;

/// Of the whole function: until operands have been read, in cycles.
const OPERANDS: u16 = 4;
/// Of the whole function: that it is scheduled so. 12.9 has another number for it, so that nvlink takes nothing from its remarks
/// (older/blackwell-remarks).
const APPLIES: u16 = 31;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// How long reading operands takes, whatever the operation.
    pub operands: Option<i64>,
    /// The loops that the assembler has scheduled by rules of their own.
    pub loops: Vec<Range<usize>>,
}

impl Hints {
    /// Nothing is said.
    pub const NONE: &'static Self = &Self { operands: None, loops: Vec::new() };

    /// Those of a function with this many machine instructions. What cannot be read says nothing.
    pub fn of(capsule: &[u8], machine: usize) -> Self {
        let mut hints = Self::default();
        let mut begin = None;
        let mut applies = false;
        for Remark { at, topic, scope, value } in remarks(capsule, machine).unwrap_or_default() {
            match scope {
                Some(Scope::Function) if topic == OPERANDS => hints.operands = Some(value.into()),
                Some(Scope::Function) if topic == APPLIES => applies = true,
                Some(Scope::Begin) => begin = begin.or(Some(at)),
                Some(Scope::End) => hints.loops.extend(begin.take().map(|begin| begin..at)),
                _ => {}
            }
        }
        if applies { hints } else { Self::default() }
    }
}
