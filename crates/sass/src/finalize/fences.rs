//! What the assembler puts before fences in case of other functions.
//!
//! Compiling one file of many, the assembler does not know what runs before and after a function. So it has every
//! fence preceded by loads of shared memory without effect, in case an asynchronous copy is under way, and wide
//! fences by one of the thread block, in case barriers in memory are in use. A kernel that calls nothing is all there is:
//! nvlink leaves the loads out if it makes no such copies, the fences if it has no such barriers, and the code gets
//! shorter. So it is with the fence that code for a debugger has before every exit, in case addresses were translated in
//! another function. The capsule says for each Mercury instruction how many of
//! the machine it takes.

use super::function::{Function, Step};
use super::moves::Change;
use crate::instruction::{Instruction, SIZE};
use crate::schedule::member::mark_anew;
use crate::schedule::{Control, Family, NONE, Outcome, shortened_without_stack_pointer};
use solder_cubin::mercury::{Pace, paces};

/// The load without effect.
const LOAD: [u8; SIZE] = [0x84, 0xf9, 0xff, 0xff, 0, 0, 0, 0, 0x00, 0x08, 0, 0, 0, 0xe2, 0x0f, 0x00];
/// The additional fence, whatever its condition and its schedule: the assembler of 13.0 leaves it unscheduled, later ones give it
/// a scoreboard, for which the wide fence waits (mercury/fences-of-clusters).
const NARROW: u128 = 0x8000_0000_0000_0000_0992;
const GUARD: u128 = 0xf000;
/// The fence of a debugger's code before errors are reported.
const TRANSLATED: [u8; SIZE] = [0x92, 0x09, 0, 0, 0, 0, 0, 0, 0x00, 0x50, 0, 0, 0, 0xc0, 0x0f, 0x00];
const CONDITION: u8 = 0xf0;

const FENCE: u16 = 0x192;
/// `ERRBAR`
const REPORT: u16 = 0x1ab;
const CALLS: [u16; 2] = [0x143, 0x144];
/// `LDGSTS`
const ASYNCHRONOUS_COPY: u16 = 0x1ae;
/// `SUST` with a format and without, `SURED`
const SURFACE_WRITES: [u16; 3] = [0x19b, 0x19d, 0x19f];
/// `SYNCS` and `USYNCS`
const BARRIERS: [u16; 4] = [0x1a7, 0x1b1, 0x1b2, 0x1bf];

/// A kernel without what it has in case of other functions; `None` if it has none of it.
pub fn step(function: &Function<'_, '_>, family: Family, is_scheduled: bool) -> Option<Step> {
    let (whole, capsule) = (&*function.code, &*function.capsule);
    let removed = function.is_kernel.then(|| needless(whole, capsule)).flatten()?;
    let changes = removed.iter().copied().map(Change::removed).collect();
    Step::with_changes(whole, capsule, changes, |code| {
        take_over_waits(whole, &removed, code);
        if is_scheduled {
            schedule_anew(whole, &removed, code, family);
        }
    })
}

/// Has wide fences wait for what the narrow ones before them waited for, and no more for these. The wait stays if something
/// else needs it.
fn take_over_waits(whole: &[u8], removed: &[usize], code: &mut [u8]) {
    let mut quick = code.to_vec();
    let mut changed = false;
    for (before, at) in removed.iter().enumerate() {
        let narrow = Control::of(Instruction::at(whole, *at));
        if Instruction::at(whole, *at).operation() != FENCE || (narrow.read, narrow.waits) == (NONE, 0) {
            continue;
        }
        changed = true;
        let place = (at - before) * SIZE..(at - before + 1) * SIZE;
        for (code, needless) in [(&mut *code, 0), (&mut quick[..], narrow.sets())] {
            let Some(wide) = code.get_mut(place.clone()).and_then(|wide| wide.first_chunk_mut()) else {
                continue;
            };
            let mut control = Control::of(Instruction(u128::from_le_bytes(*wide)));
            control.waits = control.waits & !needless | narrow.waits;
            control.put(wide);
        }
    }
    if changed && crate::check(whole, &quick, &[]).is_ok() {
        code.copy_from_slice(&quick);
    }
}

/// Schedules a kernel without its precautions and, if that is not used, without the load of its stack pointer. What is not
/// scheduled here is still to be renumbered.
fn schedule_anew(whole: &[u8], removed: &[usize], code: &mut [u8], family: Family) {
    let mut scheduled = code.to_vec();
    let outcome = shortened_without_stack_pointer(whole, removed, &mut scheduled, family);
    mark_anew(code, &mut scheduled, &[], family, &[]);
    if outcome == Outcome::Done && crate::check(whole, &scheduled, &[]).is_ok() {
        code.copy_from_slice(&scheduled);
    }
}

/// The instructions of a kernel that it can do without.
fn needless(code: &[u8], capsule: &[u8]) -> Option<Vec<usize>> {
    let length = code.len() / SIZE;
    let operation = |at: usize| Instruction::at(code, at).operation();
    if !(0..length).any(|at| operation(at) == FENCE) {
        return None;
    }
    let uses = |operations: &[u16]| (0..length).any(|at| operations.contains(&operation(at)));
    if uses(&CALLS) {
        return None;
    }
    let copies = uses(&[ASYNCHRONOUS_COPY]);
    // Errors of these are still to be waited for at the end (mercury/exits-of-surfaces).
    let writes_surfaces = uses(&SURFACE_WRITES);
    let steps = paces(capsule, length).ok()?;
    let has_barriers = uses(&BARRIERS) || steps.iter().any(Pace::is_about_barriers);
    // A fence that the program has before another one is a Mercury instruction of its own.
    let begins = first_instructions(&steps, length);
    let is_narrow =
        |at: usize| Instruction::at(code, at).without_schedule() & !GUARD == NARROW && !begins[at + 1];
    let is =
        |i: &[u8], fence: &[u8]| i[1] & !CONDITION == fence[1] && i[0] == fence[0] && i[2..] == fence[2..];
    let removed = (0..length).filter(|&at| {
        let instruction = &code[at * SIZE..][..SIZE];
        let before = |what: u16| at + 1 < length && operation(at + 1) == what;
        (!copies && instruction == LOAD)
            || (!has_barriers && before(FENCE) && is_narrow(at))
            || (!writes_surfaces && before(REPORT) && is(instruction, &TRANSLATED))
    });
    Some(removed.collect())
}

/// Whether each machine instruction is the first of a Mercury instruction.
fn first_instructions(steps: &[Pace], length: usize) -> Vec<bool> {
    let mut begins = vec![false; length];
    let mut at = 0;
    for step in steps {
        if let Some(first) = begins.get_mut(at) {
            *first = true;
        }
        at += step.count;
    }
    begins
}
