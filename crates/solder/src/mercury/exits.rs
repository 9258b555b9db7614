//! What a debugger's link puts in front of every exit.
//!
//! Code that was compiled for a debugger waits before it exits until its memory accesses are done and their errors are
//! known. With `-g`, and where one input has such code, nvlink has all code do so, functions that kernels call too, and
//! whether or not the output is relocatable. (`fences` takes some of it back.)

use super::moves::{Change, INSTRUCTION, operation};
use super::rewrite::rewritten;
use crate::object::Object;
use solder_cubin::info;
use solder_cubin::mercury::paces;

const EXIT: u16 = 0x14d;
/// `MEMBAR.SC.VC`, `ERRBAR`, `CGAERRBAR`, whatever their condition.
const BARRIERS: [[u8; INSTRUCTION]; 3] = [
    [0x92, 0x09, 0, 0, 0, 0, 0, 0, 0x00, 0x50, 0, 0, 0, 0xc0, 0x0f, 0x00],
    [0xab, 0x09, 0, 0, 0, 0, 0, 0, 0x00, 0x00, 0, 0, 0, 0xc0, 0x0f, 0x00],
    [0xab, 0x05, 0, 0, 0, 0, 0, 0, 0x00, 0x00, 0, 0, 0, 0xec, 0x0f, 0x00],
];
/// The exit of Mercury that stands for them and the exit, and where it has its condition.
const MERCURY: [u8; INSTRUCTION] = [0x01, 0x11, 0x00, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0xf8, 0, 0, 0, 0];
const MERCURY_CONDITION: usize = 4;

/// What Mercury's view says of a whole object.
const INFO: &str = ".nv.merc.nv.info";

/// Whether an input makes the link one for a debugger, whatever the options say: it has functions that were compiled so.
pub fn is_for_debugger(object: &Object<'_>) -> bool {
    let is_mark = |record: info::Record<'_>| record.attr == info::attr::GEN_ERRBAR_AT_EXIT;
    let mut lists = object.cubin.sections.iter().filter(|s| s.name == INFO);
    object.mercury.is_some() && lists.any(|list| info::records(list.data).map_while(Result::ok).any(is_mark))
}

/// The input with barriers before its exits; `None` if it has them all.
pub fn with_barriers(object: &Object<'_>) -> Option<Vec<u8>> {
    rewritten(object, |text, capsule| exits(text.data, capsule.data))
}

/// The exits that are nothing but exits in Mercury's view too.
fn exits(code: &[u8], capsule: &[u8]) -> Option<Vec<Change>> {
    let is_exit = |i: &[u8]| operation(i) == EXIT;
    if !code.chunks_exact(INSTRUCTION).any(is_exit) {
        return None;
    }
    let mut changes = Vec::new();
    let mut at = 0;
    for step in paces(capsule, code.len() / INSTRUCTION).ok()? {
        let instruction = code.get(at * INSTRUCTION..)?.first_chunk::<INSTRUCTION>();
        changes.extend(instruction.filter(|i| step.is_derived() && is_exit(*i)).map(|i| with_barrier(at, i)));
        at = at.checked_add(step.count)?;
    }
    Some(changes)
}

fn with_barrier(at: usize, exit: &[u8; INSTRUCTION]) -> Change {
    /// The predicate that always holds, here and there.
    const ALWAYS: (u8, u8) = (7, 0x1f);
    let condition = exit[1] >> 4;
    let conditional = |mut barrier: [u8; INSTRUCTION]| {
        barrier[1] |= condition << 4;
        barrier
    };
    let predicate = if condition & 7 == ALWAYS.0 { ALWAYS.1 } else { condition & 7 };
    let mut mercury = MERCURY;
    mercury[MERCURY_CONDITION] = predicate << 3 | condition >> 3;
    Change { at, by: BARRIERS.map(conditional).into_iter().chain([*exit]).collect(), mercury: Some(mercury) }
}
