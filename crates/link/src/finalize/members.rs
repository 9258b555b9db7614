//! Code of sm_100 in links for sm_103.
//!
//! The rules are in `solder_sass::schedule::member`. Here is what moves with the code: delays are instructions, of Mercury
//! too. What is not understood stays as it is, and `wrong_code` finds it.

use super::moves::{Change, INSTRUCTION, Moves};
use super::rewrite::rewritten_with;
use super::scoreboards::branch_targets;
use crate::model::object::{Object, Role};
use solder_cubin::Section;
use solder_cubin::info::{self, attr};
use solder_cubin::mercury::{delays, with_delays};
use solder_sass::schedule::member::{Delayed, delayed, number};

/// The architecture whose code can be made into code for the target, and the target.
const FROM: u16 = 100;
pub const TO: u16 = 103;

/// The input with code for sm_103, as far as it needs other code there; `None` if it does not.
pub fn for_other_member(object: &Object<'_>) -> Option<Vec<u8>> {
    if object.cubin.sm() != FROM {
        return None;
    }
    rewritten_with(
        object,
        |text, capsule| {
            let change = |delayed: Delayed| Change { by: delayed.by, ..Change::removed(delayed.at) };
            let delays = delays(capsule.data, text.data.len() / INSTRUCTION).ok()?;
            let changes: Vec<Change> =
                delayed(text.data, &jumps(object, text), &delays)?.into_iter().map(change).collect();
            (!changes.is_empty()).then(|| (text.data.into(), changes))
        },
        |text, _, moves| {
            let old = jumps(object, text);
            let moved = moved(&old, moves.changes());
            number(text.data, &old, moves.code_mut(), &moved).then_some(())
        },
        |_, capsule, moves| delayed_capsule(capsule.data, moves),
    )
}

/// Where the indirect branches of a function go: each one and its targets, in instructions.
pub fn jumps(object: &Object<'_>, text: &Section<'_>) -> Vec<(usize, Vec<usize>)> {
    let lists = object.sections_with(Role::FunctionInfo).filter(|s| s.info() == text.index);
    let records = lists.flat_map(|list| info::records(list.data).map_while(Result::ok));
    let lists = records.filter(|record| record.attr == attr::INDIRECT_BRANCH_TARGETS);
    lists.flat_map(|record| branch_targets(record.payload)).collect()
}

/// The same in code with delays.
fn moved(jumps: &[(usize, Vec<usize>)], changes: &[Change]) -> Vec<(usize, Vec<usize>)> {
    let ends: Vec<(usize, isize)> = changes
        .iter()
        .scan(0, |added, change| {
            *added += change.by.len().cast_signed() - 1;
            Some((change.at, *added))
        })
        .collect();
    let place = |at: usize| {
        let before = ends.partition_point(|(changed, _)| *changed < at);
        at.saturating_add_signed(before.checked_sub(1).map_or(0, |last| ends[last].1))
    };
    jumps.iter().map(|(at, targets)| (place(*at), targets.iter().map(|at| place(*at)).collect())).collect()
}

fn delayed_capsule(old: &[u8], moves: &Moves<'_, '_>) -> Option<Vec<u8>> {
    let delays: Vec<(usize, usize)> = moves.added().filter(|(_, count)| *count > 0).collect();
    let removed: Vec<usize> =
        moves.changes().iter().filter(|change| change.by.is_empty()).map(|change| change.at).collect();
    with_delays(old, moves.old_length(), &delays, &removed, moves.length())
}
