//! Code of toolkits 12.8 and 12.9, finalized as 13.0 does it.
//!
//! nvlink finalizes all code by its own rules. For objects of its own toolkit these are the assembler's; for older ones this is what
//! becomes of a function, in relocatable links too (older/blackwell, older/blackwell-delays, older/blackwell-warps):
//!
//! 1. a capsule of 12.8 gets 13.0's form;
//! 2. the `NOP` after every `WARPSYNC` goes;
//! 3. the short one of several delays comes last;
//! 4. scoreboards and waits are chosen anew.
//!
//! What the checker does not accept stays as the assembler made it, which is always valid.

use super::members::jumps;
use super::moves::{Change, Moves};
use super::rewrite::{paced, rewritten_with};
use crate::notes;
use crate::object::{Object, Role};
use solder_cubin::Section;
use solder_cubin::mercury::{abridged, from_older, idle, is_older_capsule};
use solder_sass::schedule::{Family, anew, order_delays};
use solder_sass::{check, check_with};
use std::borrow::Cow;

/// `NOP` as it follows `WARPSYNC`: one cycle, without waits.
const IDLE: u128 = 0x000fe200_00000000_00000000_00007918;
const INSTRUCTION: usize = 16;

/// The input with its code as 13.0 finalizes it; `None` if it is of 13.0.
pub fn as_current(object: &Object<'_>) -> Option<Vec<u8>> {
    object.mercury.as_ref()?;
    notes::other_toolkit(object)?;
    rewritten_with(
        object,
        |text, capsule| {
            let capsule = current(capsule.data, text)?;
            let changes = needless(text, &capsule).into_iter().map(Change::removed_after).collect();
            Some((text.data.into(), changes))
        },
        |text, capsule, code| {
            let removed = needless(text, &current(capsule.data, text)?);
            let place = |at: &usize| at - removed.partition_point(|removed| removed < at);
            let jumps = jumps(object, text);
            let moved: Vec<(usize, Vec<usize>)> =
                jumps.iter().map(|(at, targets)| (place(at), targets.iter().map(place).collect())).collect();
            let is_safe = |code: &[u8]| check_with(text.data, code, &jumps).is_ok();
            take(code, is_safe, order_delays);
            take(code, is_safe, |code| anew(code, &moved, Family::of(object.cubin.sm())));
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

/// The instructions that 13.0 does without, if the function can be changed and is then the same.
fn needless(text: &Section<'_>, capsule: &[u8]) -> Vec<usize> {
    let is_idle = |at: &usize| {
        let instruction = text.data.get(at * INSTRUCTION..).and_then(|rest| rest.first_chunk());
        instruction.is_some_and(|instruction| u128::from_le_bytes(*instruction) == IDLE)
    };
    let idle: Vec<usize> = idle(capsule).into_iter().flatten().filter(is_idle).collect();
    let moved = Moves::new(text, text.data, idle.iter().copied().map(Change::removed_after).collect());
    let is_same = moved.is_some_and(|mut moved| check(text.data, moved.code_mut()).is_ok());
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
