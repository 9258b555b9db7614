//! Code of sm_100 in links for sm_103, and of both in links for sm_107.
//!
//! The rules are in [`schedule::member`](crate::schedule::member). Here is what moves with the code: delays are
//! instructions, of Mercury too. What is not understood stays as it is, and the caller refuses it.

use super::function::{Function, Jumps, Step, delayed_capsule, other_delays};
use super::moves::Moves;
use super::object::Object;
use super::sums;
use crate::instruction::{Instruction, SIZE};
use crate::schedule::member::{
    delayed, for_107, has_slow_code, loses_latency, number, number_107, without_double_scoreboards,
};
use crate::schedule::{Control, Family};
use crate::{Speed, check_for, is_fit_for_107, sum};
use solder_arch::Release;
use solder_cubin::mercury::delays;

/// The architecture whose code can be made into code for the target, and the target.
const FROM: u16 = 100;
const TO: u16 = 103;

/// The machine on which more results take longer.
const SM_107: u16 = 107;

/// Whether code for one architecture is made into code for sm_107.
pub fn applies_107(from: u16, to: u16) -> bool {
    [FROM, TO].contains(&from) && to == SM_107
}

/// The function as sm_107 needs it: other sums, stalls and scoreboards. Where that cannot be shown to be right, nothing takes fewer cycles
/// than it did and scoreboards stay. `None` if it is not understood (mercury/from-every-target, mercury/containers).
pub fn step_107(object: &Object<'_, '_>, function: &Function<'_, '_>, release: &Release) -> Option<Step> {
    let (mut base, capsule) = sums::converted(function, |_| true)
        .unwrap_or_else(|| (function.code.to_vec(), function.capsule.to_vec()));
    sum::mark_signed(&mut base);
    let delays = delays(&capsule, base.len() / SIZE).ok()?;
    let jumps = function.jumps(object);
    let [from, to] = [object.cubin.sm(), SM_107].map(|sm| Family::of(sm, release));
    for is_slower in [false, true] {
        // Double precision is of fixed latency there, as on sm_100.
        let known = if is_slower { base.clone() } else { without_double_scoreboards(&base) };
        if !is_slower && object.cubin.sm() != FROM && has_slow_code(&base) {
            continue;
        }
        let Some(changed) = for_107(&known, &jumps, &delays, is_slower) else { continue };
        let Some((moves, mut code)) = Moves::new(&known, other_delays(changed)) else { continue };
        let index = |at: &usize| moves.index(*at);
        let moved: Jumps =
            jumps.iter().map(|(at, targets)| (index(at), targets.iter().map(index).collect())).collect();
        if !is_slower {
            number_107((&base, &jumps), &mut code, &moved, from, to);
        }
        if check_for(Speed::Sm107, &known, &code, &jumps).is_ok() && is_fit_for_107(&code) {
            return Some(Step { code, capsule: delayed_capsule(&capsule, &moves)?, moves });
        }
    }
    None
}

/// Whether code for one architecture is made into code for the other.
pub fn applies(from: u16, to: u16) -> bool {
    (from, to) == (FROM, TO)
}

/// The function as sm_103 needs it; `None` if it is that already, or is not understood. Where fewer cycles cannot be shown to be enough,
/// nothing takes fewer than it did (mercury/slower-on-other-member).
pub fn step(object: &Object<'_, '_>, function: &Function<'_, '_>, release: &Release) -> Option<Step> {
    [false, true].into_iter().find_map(|is_slower| timed_anew(object, function, release, is_slower))
}

/// The same of code without optimisation, where every instruction waits for scoreboards 0 and 1 and takes 15 cycles: double precision and products of
/// matrices set them too, and nothing moves (mercury/unscheduled-of-other-member).
pub fn step_waiting(function: &Function<'_, '_>) -> Option<Step> {
    let old = &*function.code;
    let (moves, mut code) = Moves::new(old, Vec::new())?;
    for (at, place) in code.as_chunks_mut::<SIZE>().0.iter_mut().enumerate() {
        let instruction = Instruction::at(old, at);
        if loses_latency(instruction) {
            *place = instruction.with_stall(15).without_hold().0.to_le_bytes();
            Control { written: 0, read: 1, waits: 3 }.put(place);
        }
    }
    (code != old).then(|| Step { code, capsule: function.capsule.to_vec(), moves })
}

/// Code without optimisation as sm_107 needs it: other sums. Its pace is not the linker's choice.
pub fn step_107_unscheduled(function: &Function<'_, '_>) -> Option<Step> {
    let (mut code, capsule) = sums::converted(function, |_| true)
        .unwrap_or_else(|| (function.code.to_vec(), function.capsule.to_vec()));
    sum::mark_signed(&mut code);
    let (moves, _) = Moves::new(&function.code, Vec::new())?;
    (code != *function.code).then_some(Step { code, capsule, moves })
}

fn timed_anew(
    object: &Object<'_, '_>,
    function: &Function<'_, '_>,
    release: &Release,
    is_slower: bool,
) -> Option<Step> {
    let delays = delays(&function.capsule, function.code.len() / SIZE).ok()?;
    let jumps = function.jumps(object);
    let delayed = delayed(&function.code, &jumps, &delays, release, is_slower)?;
    if delayed.is_empty() {
        return None;
    }
    let (moves, mut code) = Moves::new(&function.code, other_delays(delayed))?;
    let index = |at: &usize| moves.index(*at);
    let moved: Jumps =
        jumps.iter().map(|(at, targets)| (index(at), targets.iter().map(index).collect())).collect();
    if !number((&function.code, &jumps), &mut code, &moved, release) {
        return None;
    }
    let capsule = delayed_capsule(&function.capsule, &moves)?;
    Some(Step { code, capsule, moves })
}
