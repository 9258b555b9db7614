//! Delays whose order a rewrite may change: where control goes through all of them, it does not matter which takes how long.

use super::align::Alignment;
use crate::flow::{Jumps, lists_of, place};

/// Indirect branches, which may go to any place.
const INDIRECT: [u16; 2] = [0x149, 0x158];

/// By step: whether it is one of several delays that together take as long as before, and is reached through the first of them only.
/// (Returns come to what follows a call, and delays follow what they delay.)
pub fn reordered(alignment: &Alignment<'_>, jumps: &Jumps) -> Vec<bool> {
    let mut reordered = vec![false; alignment.len()];
    let is_same = |at: usize| {
        let step = alignment.step(at);
        step.before.zip(step.after).is_some_and(|(before, after)| before == after)
    };
    let both = |at: usize| alignment.step(at).before.zip(alignment.step(at).after);
    let is_one = |at: usize| both(at).is_some_and(|(before, after)| before.is_delay() && after.is_delay());
    let mut entered = None;
    let mut at = 0;
    while at < alignment.len() {
        let begin = at;
        while at < alignment.len() && is_one(at) {
            at += 1;
        }
        let run = begin..at;
        at += usize::from(run.is_empty());
        if run.clone().all(is_same) {
            continue;
        }
        let cycles = run.clone().filter_map(both).fold((0, 0), |(old, new), (before, after)| {
            (old + u32::from(before.stall()), new + u32::from(after.stall()))
        });
        let is_usual = |at: usize| both(at).is_some_and(|(_, new)| new.has_usual_stall());
        let entered = entered.get_or_insert_with(|| entries(alignment, jumps));
        let is_entered = |at: usize| entered.as_ref().is_none_or(|entered| entered[at]);
        if cycles.1 >= cycles.0 && run.clone().all(is_usual) && !run.clone().skip(1).any(is_entered) {
            reordered[run].fill(true);
        }
    }
    reordered
}

/// By step: whether a branch goes there; `None` if branches may go anywhere.
pub fn entries(alignment: &Alignment<'_>, jumps: &Jumps) -> Option<Vec<bool>> {
    let mut entered = vec![false; alignment.len()];
    let lists = lists_of(jumps);
    let mut old = 0;
    for step in alignment.steps() {
        let Some(instruction) = step.before else { continue };
        if INDIRECT.contains(&instruction.operation()) {
            let targets = lists.get(&old).filter(|targets| !targets.is_empty())?;
            for target in *targets {
                entered[alignment.entry(i64::try_from(*target).ok()?)?] = true;
            }
        } else if let Some(target) = place(old, instruction).and_then(|target| alignment.entry(target)) {
            entered[target] = true;
        }
        old += 1;
    }
    Some(entered)
}
