//! Code of other assemblers than that of 13.0.88, finalized as nvlink does it.
//!
//! nvlink finalizes all code by its own rules. For objects of its own toolkit these are the assembler's; for those of 12.8 and 12.9 this
//! is what becomes of a function, in relocatable links too (older/blackwell, older/blackwell-delays, older/blackwell-warps):
//!
//! 1. a capsule of 12.8 gets 13.0's form;
//! 2. the `NOP` after every `WARPSYNC` goes;
//! 3. the short one of several delays comes last;
//! 4. scoreboards and waits are chosen anew.
//!
//! 13.0.100 has a `NOP` before every `BSYNC` and after every `BREAK`, and an attribute that says so. Both go
//! (findings, Mercury).
//!
//! What the checker does not accept stays as the assembler made it, which is always valid.

use super::members::jumps;
use super::moves::{Change, Moves};
use super::rewrite::{paced, rewritten_with};
use crate::model::object::{Object, Role};
use crate::notes;
use solder_arch::Release;
use solder_cubin::Section;
use solder_cubin::info::{self, attr};
use solder_cubin::mercury::{Idle, abridged, from_older, idle, is_older_capsule};
use solder_sass::instruction::Instruction;
use solder_sass::schedule::{Family, anew, order_delays};
use solder_sass::{check, is_idle_needed};
use std::borrow::Cow;

/// The `NOP` of these: one cycle, without waits.
const IDLE: u128 = 0x000fe200_00000000_00000000_00007918;
const INSTRUCTION: usize = 16;

/// The input with its code as 13.0.88 finalizes it; `None` if it is that already.
pub fn as_current(object: &Object<'_>, release: &Release) -> Option<Vec<u8>> {
    object.mercury.as_ref()?;
    let is_older = notes::is_of_other_toolkit(object, release);
    if !is_older && !has_workaround(object) {
        return None;
    }
    rewritten_with(
        object,
        |text, capsule| {
            let capsule = current(capsule.data, text)?;
            let idle = needless(text, &capsule);
            (is_older || !idle.is_empty()).then(|| (timed(text.data, &idle), changes(&idle)))
        },
        |text, capsule, moves| {
            if !is_older {
                return Some(());
            }
            let removed = needless(text, &current(capsule.data, text)?);
            let place = |at: &usize| at - removed.partition_point(|removed| removed.at < *at);
            let jumps = jumps(object, text);
            let moved: Vec<(usize, Vec<usize>)> =
                jumps.iter().map(|(at, targets)| (place(at), targets.iter().map(place).collect())).collect();
            let is_safe = |code: &[u8]| check(text.data, code, &jumps).is_ok();
            take(moves.code_mut(), is_safe, order_delays);
            take(moves.code_mut(), is_safe, |code| anew(code, &moved, Family::of(object.cubin.sm())));
            Some(())
        },
        |text, capsule, moves| {
            let capsule = current(capsule.data, text)?;
            if moves.is_in_place() {
                return Some(capsule.into_owned());
            }
            abridged(&paced(&capsule, moves)?)
        },
    )
}

/// A function of an object whose capsule could not be brought into 13.0's form.
pub fn not_converted<'a>(object: &'a Object<'_>) -> Option<&'a str> {
    let twins = object.mercury.as_ref()?;
    object.sections_with(Role::Text).find_map(|text| {
        let capsule = object.section(twins.partner(text.index)?);
        let owner = object.text_owner(text.index)?;
        is_older_capsule(capsule.data).then_some(object.names[owner as usize])
    })
}

/// The capsule of a function in 13.0's form.
fn current<'a>(capsule: &'a [u8], text: &Section<'_>) -> Option<Cow<'a, [u8]>> {
    if is_older_capsule(capsule) {
        from_older(capsule, text.data).map(Cow::Owned)
    } else {
        Some(capsule.into())
    }
}

/// The code whose synchronisations take a cycle more where something depends on the one that goes.
fn timed<'a>(code: &'a [u8], idle: &[Idle]) -> Cow<'a, [u8]> {
    /// The stall of an instruction, and the longest one that is changed here.
    const STALL: u32 = 105;
    const LONGEST: u8 = 10;
    let mut timed = Cow::Borrowed(code);
    for idle in idle.iter().filter(|idle| idle.is_second && is_idle_needed(code, idle.at)) {
        let Some(last) = idle.at.checked_sub(1) else { continue };
        let place = &mut timed.to_mut()[last * INSTRUCTION..];
        let Some(place) = place.first_chunk_mut::<INSTRUCTION>() else { continue };
        let instruction = Instruction(u128::from_le_bytes(*place));
        if instruction.stall() <= LONGEST {
            *place = (instruction.0 + (1 << STALL)).to_le_bytes();
        }
    }
    timed
}

/// Whether the assembler says of some function that it has the workaround.
fn has_workaround(object: &Object<'_>) -> bool {
    let mut lists = object.sections_with(Role::FunctionInfo);
    lists.any(|list| info::records(list.data).flatten().any(|record| record.attr == attr::NVSAL_SW_WAR))
}

fn changes(idle: &[Idle]) -> Vec<Change> {
    let change = |idle: &Idle| {
        if idle.is_second { Change::removed_after(idle.at) } else { Change::removed(idle.at) }
    };
    idle.iter().map(change).collect()
}

/// The instructions that nvlink does without, if the function can be changed and is then the same.
fn needless(text: &Section<'_>, capsule: &[u8]) -> Vec<Idle> {
    let is_idle = |idle: &Idle| {
        let instruction = text.data.get(idle.at * INSTRUCTION..).and_then(|rest| rest.first_chunk());
        instruction.is_some_and(|instruction| u128::from_le_bytes(*instruction) == IDLE)
    };
    let idle: Vec<Idle> = idle(capsule).into_iter().flatten().filter(is_idle).collect();
    let moved = Moves::new(text, &timed(text.data, &idle), changes(&idle));
    let is_same = moved.is_some_and(|mut moved| check(text.data, moved.code_mut(), &[]).is_ok());
    if is_same { idle } else { Vec::new() }
}

/// Makes a change to code if the checker accepts the result.
fn take(code: &mut [u8], is_safe: impl Fn(&[u8]) -> bool, change: impl Fn(&mut [u8])) {
    let mut changed = code.to_vec();
    change(&mut changed);
    if changed != code && is_safe(&changed) {
        code.copy_from_slice(&changed);
    }
}
