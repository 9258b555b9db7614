//! The workaround around synchronisations, from 13.2 on (older/blackwell-workaround).
//!
//! Code of earlier assemblers gets a `NOP` before each `BSYNC` that needs one. The capsule stores such a `BSYNC`, which takes two machine
//! instructions then.

use super::function::{Function, Step};
use super::moves::Change;
use crate::instruction::{Instruction, SIZE};
use crate::unscheduled::{self, Pace};
use crate::workaround::{mercury, needs_nop_after, needs_nop_before};
use solder_cubin::mercury::paces;

/// `NOP` of one cycle that waits for nothing; and as all instructions are in code without optimisation.
const IDLE: [u8; SIZE] = [0x18, 0x79, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xe2, 0x0f, 0];
const UNSCHEDULED: [u8; SIZE] = [0x18, 0x79, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xde, 0x3f, 0];

/// The function with the workaround; `None` if it has it, or if that is not known.
pub fn step(function: &Function<'_, '_>) -> Option<Step> {
    let code = &*function.code;
    let length = code.len() / SIZE;
    let needs = |needs: fn(Instruction) -> bool| (0..length).any(|at| needs(Instruction::at(code, at)));
    if !needs(needs_nop_before) || needs(needs_nop_after) {
        return None;
    }
    let nop = if unscheduled::pace(code) == Some(Pace::Waiting) { UNSCHEDULED } else { IDLE };
    let mut changes = Vec::new();
    let mut at = 0;
    for step in paces(&function.capsule, length).ok()? {
        // What the capsule stores has it already.
        if step.is_derived() && at < length {
            let bsync = Instruction::at(code, at);
            if needs_nop_before(bsync) {
                let by = vec![nop, bsync.0.to_le_bytes()];
                changes.push(Change { mercury: Some(mercury(bsync)?), ..Change::replaced(at, by) });
            }
        }
        at = at.checked_add(step.count)?;
    }
    Step::with_changes(code, &function.capsule, changes, |_| ())
}
