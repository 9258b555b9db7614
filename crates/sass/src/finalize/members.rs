//! Code of sm_100 in links for sm_103.
//!
//! The rules are in [`schedule::member`](crate::schedule::member). Here is what moves with the code: delays are
//! instructions, of Mercury too. What is not understood stays as it is, and the caller refuses it.

use super::function::{Function, Jumps, Step};
use super::moves::{Change, Moves};
use super::object::Object;
use crate::instruction::SIZE;
use crate::schedule::member::{Delayed, delayed, number};
use solder_arch::Release;
use solder_cubin::mercury::{delays, with_delays};

/// The architecture whose code can be made into code for the target, and the target.
const FROM: u16 = 100;
const TO: u16 = 103;

/// Whether code for one architecture is made into code for the other.
pub fn applies(from: u16, to: u16) -> bool {
    (from, to) == (FROM, TO)
}

/// The function as sm_103 needs it; `None` if it is that already.
pub fn step(object: &Object<'_, '_>, function: &Function<'_, '_>, release: &Release) -> Option<Step> {
    let delays = delays(&function.capsule, function.code.len() / SIZE).ok()?;
    let jumps = function.jumps(object);
    let delayed = delayed(&function.code, &jumps, &delays, release)?;
    if delayed.is_empty() {
        return None;
    }
    let (moves, mut code) = Moves::new(&function.code, changes(delayed))?;
    let index = |at: &usize| moves.index(*at);
    let moved: Jumps =
        jumps.iter().map(|(at, targets)| (index(at), targets.iter().map(index).collect())).collect();
    if !number((&function.code, &jumps), &mut code, &moved, release) {
        return None;
    }
    let capsule = delayed_capsule(&function.capsule, &moves)?;
    Some(Step { code, capsule, moves })
}

pub fn changes(delayed: Vec<Delayed>) -> Vec<Change> {
    delayed.into_iter().map(|delayed| Change::replaced(delayed.at, delayed.by)).collect()
}

/// The capsule of code with other delays.
pub fn delayed_capsule(old: &[u8], moves: &Moves) -> Option<Vec<u8>> {
    let delays: Vec<(usize, usize)> = moves.added().filter(|(_, count)| *count > 0).collect();
    let removed: Vec<usize> =
        moves.changes().iter().filter(|change| change.by.is_empty()).map(|change| change.at).collect();
    with_delays(old, moves.old_length(), &delays, &removed, moves.length())
}
