//! Sums of two numbers, from 13.1 on (older/blackwell-sums, mercury/other-toolkit).
//!
//! Code of earlier assemblers for sm_120 adds two numbers as it adds three. Later finalizers have an instruction for two, which the capsule
//! stores, and blocks that have some get other cycles. Where the checker does not accept these, a sum for which the cycles of the code are not
//! enough stays as it is, which is always valid.

use super::function::{Function, Jumps, Step, delayed_capsule, other_delays};
use super::moves::Moves;
use crate::instruction::{Instruction, KEPT, SIZE};
use crate::schedule::Family;
use crate::schedule::member::{Delayed, replaced};
use crate::sum::{is_in_time, mercury, of_two};
use crate::{Speed, check_for};
use solder_cubin::mercury::{delays, make_explicit, paces};
use std::ops::Range;

/// Cycles, and whether other warps go on.
const SCHEDULE: u128 = 31 << 105;

/// How many blocks are tried alone where the code as a whole is not accepted.
const MAX_BLOCKS: usize = 64;

/// The function with sums of two numbers; `None` if it stays.
pub fn step(function: &Function<'_, '_>, jumps: &Jumps, family: Family) -> Option<Step> {
    let (all, _) = converted(function, |_| true)?;
    let sums: Vec<usize> = (0..all.len() / SIZE)
        .filter(|at| Instruction::at(&all, *at) != Instruction::at(&function.code, *at))
        .collect();
    let delays = delays(&function.capsule, all.len() / SIZE).ok()?;
    let (moves, mut code) = timed(&function.code, &all, (&sums, &delays), jumps, family)?;
    let is_late = |at: &usize| !is_in_time(&code, moves.index(*at));
    let late: Vec<usize> = sums.into_iter().filter(is_late).collect();
    let (_, capsule) = converted(function, |at| late.binary_search(&at).is_err())?;
    // Cycles and marks are those of the whole.
    let (places, _) = code.as_chunks_mut::<SIZE>();
    for at in late {
        let place = &mut places[moves.index(at)];
        let timing = u128::from_le_bytes(*place) & (SCHEDULE | KEPT);
        let sum = Instruction::at(&function.code, at).0 & !(SCHEDULE | KEPT);
        *place = (sum | timing).to_le_bytes();
    }
    let capsule = if moves.is_in_place() { capsule } else { delayed_capsule(&capsule, &moves)? };
    Some(Step { code, capsule, moves })
}

/// Code with these sums and the cycles that they need, in the blocks for which the checker accepts that, and where its instructions are. `None`
/// if something in it cannot be moved.
fn timed(
    old: &[u8],
    code: &[u8],
    (sums, delays): (&[usize], &[usize]),
    jumps: &Jumps,
    family: Family,
) -> Option<(Moves, Vec<u8>)> {
    let are_in_time = |(moves, new): &(Moves, Vec<u8>), range: &Range<usize>| {
        sums.iter().filter(|at| range.contains(at)).all(|at| is_in_time(new, moves.index(*at)))
    };
    let is_safe = |new: &(Moves, Vec<u8>), range: &Range<usize>| {
        are_in_time(new, range) && check_for(Speed::Sm120, code, &new.1, jumps).is_ok()
    };
    let with = |blocks: &[(Range<usize>, Vec<Delayed>)]| {
        let all: Vec<Delayed> = blocks.iter().flat_map(|(_, block)| block.iter().cloned()).collect();
        let is_in_place = all.iter().all(|one| one.by.len() == 1);
        let (moves, new) = Moves::new(code, other_delays(all))?;
        // Nothing else has to move then.
        if is_in_place { Moves::new(&new, Vec::new()) } else { Some((moves, new)) }
    };
    let blocks = replaced(old, code, jumps, family, sums, delays);
    if let Some(new) = with(&blocks).filter(|new| is_safe(new, &(0..code.len() / SIZE))) {
        return Some(new);
    }
    let as_it_is = || Moves::new(code, Vec::new());
    let (mut timed, mut taken) = (as_it_is()?, Vec::new());
    for block in blocks.into_iter().take(MAX_BLOCKS) {
        taken.push(block);
        match (with(&taken), taken.last()) {
            (Some(new), Some((range, _))) if is_safe(&new, range) => timed = new,
            _ => drop(taken.pop()),
        }
    }
    // None of these sums may stay what it was, whatever the others became.
    let is_whole = taken.iter().all(|(range, _)| are_in_time(&timed, range));
    if is_whole { Some(timed) } else { as_it_is() }
}

/// Code and capsule of a function whose sums of two numbers for which `may_be` is true are the other instruction; `None` if there are none.
pub fn converted(function: &Function<'_, '_>, may_be: impl Fn(usize) -> bool) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut code = function.code.to_vec();
    let length = code.len() / SIZE;
    let mut capsule = Vec::with_capacity(function.capsule.len());
    let (mut at, mut copied) = (0, 0);
    let mut explicit = Vec::new();
    for (index, step) in paces(&function.capsule, length).ok()?.iter().enumerate() {
        let place = at;
        at += step.count;
        if !step.is_derived() || place >= length {
            continue;
        }
        let old = Instruction::at(&function.code, place);
        let Some(new) = of_two(old).filter(|_| may_be(place)) else { continue };
        code[place * SIZE..][..SIZE].copy_from_slice(&new.0.to_le_bytes());
        capsule.extend(&function.capsule[copied..step.at]);
        capsule.extend(mercury(new)?);
        copied = step.at;
        explicit.push(index);
    }
    if explicit.is_empty() {
        return None;
    }
    capsule.extend(&function.capsule[copied..]);
    for index in explicit {
        make_explicit(&mut capsule, index)?;
    }
    Some((code, capsule))
}
