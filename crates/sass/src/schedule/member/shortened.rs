//! Code from which instructions without effect go, for the same machine.
//!
//! The cycle of such an instruction goes with it. nvlink schedules the block anew: the instruction before takes what the next one needs, and what
//! comes too early later on is put off by the instruction just before it (older/blackwell-warps).

use super::delays::{Held, Scheduled, is_delay};
use super::marks::{Marks, is_arithmetic};
use super::pipes::{Member, is_matrix};
use super::stalls::Stalls;
use super::{Delayed, HOLD, STALL_AT, changes};
use crate::flow::Jumps;
use crate::instruction::{Instruction, KEPT, SIZE};
use crate::schedule::{Code, Family, Hints, waits_at_once};
use std::ops::Range;

const STALL: u128 = 15 << STALL_AT;
/// Stalls from here on may mean something else.
const LONG: i64 = 12;
const SHORTER: i64 = LONG - 1;
/// The longest stall, and a delay without cycles.
const LONGEST: i64 = 15;
const NOP: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;
/// What an instruction takes that the next one waits for.
const HASTY: i64 = 2;

/// An instruction that takes other cycles, and where it is.
pub type Retimed = (usize, [u8; SIZE]);

/// Has instructions take other cycles.
pub fn put(code: &mut [u8], changed: &[Retimed]) {
    let (places, _) = code.as_chunks_mut::<SIZE>();
    for (at, bits) in changed {
        places[*at] = *bits;
    }
}

/// The blocks that have some of the instructions at `idle`, in order, and what takes other cycles when these are gone. Blocks that are
/// not understood are not among them.
pub fn shortened(
    code: &[u8],
    jumps: &Jumps,
    family: Family,
    idle: &[usize],
) -> Vec<(Range<usize>, Vec<Retimed>)> {
    let is_idle = |at: usize| idle.binary_search(&at).is_ok();
    let Some(Code { lines, blocks, .. }) = Code::new(code, jumps, family, Hints::NONE) else {
        return Vec::new();
    };
    let mut changed = Vec::new();
    for block in blocks.iter().filter(|block| block.range.clone().any(is_idle)) {
        let is_other_delay = |at: &usize| is_delay(lines[*at].bits) && !is_idle(*at);
        let delays: Vec<usize> = block.range.clone().filter(is_other_delay).collect();
        let all = Scheduled::new(&lines, block.range.clone(), &delays);
        // One of a cycle is an instruction as others are: 12.8 has one where a clock is read.
        if all.places.iter().any(|at| is_other_delay(at) && lines[*at].bits.stall() != 1) {
            continue;
        }
        let mut own = Vec::with_capacity(all.lines.len());
        let mut given: Vec<i64> = Vec::with_capacity(all.lines.len());
        let mut before_idle = vec![false; all.lines.len()];
        for (index, line) in all.lines.iter().enumerate() {
            if let Some(last) = given.last_mut().filter(|_| is_idle(all.places[index])) {
                *last += all.given[index];
                before_idle[own.len() - 1] = true;
            } else {
                own.push(*line);
                given.push(all.given[index]);
            }
        }
        let mut needed =
            Stalls::new(&own, &given, &[]).again(Member::of(family), |at| before_idle[at]).into_iter();
        let is_gone = |index: usize| index > 0 && is_idle(all.places[index]);
        let stalls: Vec<i64> = (0..all.lines.len())
            .map(|index| if is_gone(index) { 0 } else { needed.next().unwrap_or_default() })
            .collect();
        let delays: Option<Vec<Vec<Retimed>>> =
            (0..stalls.len()).map(|index| delays_for(&all, index, stalls[index])).collect();
        if let Some(delays) = delays {
            let mut own = retimed(&all, &stalls, &[], Member::of(family), SHORTER);
            own.extend(delays.into_iter().flatten());
            changed.push((block.range.clone(), own));
        }
    }
    changed
}

/// The blocks of code with other waits than `old` in which an instruction is no longer waited for by the next one, or is now, and what
/// takes other cycles there. The instructions are the same.
pub fn rewaited(old: &[u8], code: &[u8], jumps: &Jumps, family: Family) -> Vec<(Range<usize>, Vec<Retimed>)> {
    let is_other = |at: usize| waits_at_once(old, at + 1) != waits_at_once(code, at + 1);
    let others: Vec<usize> = (0..(code.len() / SIZE).saturating_sub(1)).filter(|at| is_other(*at)).collect();
    if others.is_empty() {
        return Vec::new();
    }
    let mut waiting = code.to_vec();
    let (places, _) = waiting.as_chunks_mut::<SIZE>();
    for (at, place) in places.iter_mut().enumerate() {
        let bits = u128::from_le_bytes(*place) & !STALL | Instruction::at(old, at).0 & STALL;
        *place = bits.to_le_bytes();
    }
    let Some(Code { lines, blocks, .. }) = Code::new(&waiting, jumps, family, Hints::NONE) else {
        return Vec::new();
    };
    let is_among = |at: usize| others.binary_search(&at).is_ok();
    let mut changed = Vec::new();
    for range in blocks.iter().map(|block| block.range.clone()).filter(|range| range.clone().any(is_among)) {
        let delays: Vec<usize> = range.clone().filter(|at| is_delay(lines[*at].bits)).collect();
        let own = Scheduled::new(&lines, range.clone(), &delays);
        let may_be_less = |index: usize| is_among(own.places[index]) && own.given[index] == HASTY;
        let stalls = Stalls::new(&own.lines, &own.given, &[]).again(Member::of(family), may_be_less);
        changed.extend(retimed_with_delays(&own, &stalls, family, SHORTER).map(|block| (range, block)));
    }
    changed
}

/// The blocks that have some of the instructions at `inserted`, in order, which others have given way to, and what takes other cycles
/// there: the ones just before them may take fewer.
pub fn expanded(
    code: &[u8],
    jumps: &Jumps,
    family: Family,
    inserted: &[usize],
) -> Vec<(Range<usize>, Vec<Retimed>)> {
    let Some(Code { lines, blocks, .. }) = Code::new(code, jumps, family, Hints::NONE) else {
        return Vec::new();
    };
    let is_among = |at: usize| inserted.binary_search(&at).is_ok();
    let mut changed = Vec::new();
    for range in blocks.iter().map(|block| block.range.clone()).filter(|range| range.clone().any(is_among)) {
        let delays: Vec<usize> = range.clone().filter(|at| is_delay(lines[*at].bits)).collect();
        let own = Scheduled::new(&lines, range.clone(), &delays);
        let is_inserted = |index: usize| own.places.get(index).is_some_and(|at| is_among(*at));
        let new: Vec<usize> = (0..own.places.len()).filter(|index| is_inserted(*index)).collect();
        let may_be_less = |index: usize| !is_inserted(index) && is_inserted(index + 1);
        let stalls = Stalls::new(&own.lines, &own.given, &[])
            .with_inserted(&new)
            .again(Member::of(family), may_be_less);
        changed.extend(retimed_with_delays(&own, &stalls, family, SHORTER).map(|block| (range, block)));
    }
    changed
}

/// The blocks that have some of the instructions at `replaced`, in order, which are others in `new` than in `old`, and what takes other cycles
/// there. `delays` says which instructions are delays, in order.
pub fn replaced(
    old: &[u8],
    new: &[u8],
    jumps: &Jumps,
    family: Family,
    replaced: &[usize],
    delays: &[usize],
) -> Vec<(Range<usize>, Vec<Delayed>)> {
    let both = [old, new].map(|code| Code::new(code, jumps, family, Hints::NONE));
    let [Some(old), Some(code)] = both else { return Vec::new() };
    let is_among = |at: &usize| replaced.binary_search(at).is_ok();
    let mut changed = Vec::new();
    // Nobody looks at how long products of matrices read what others overwrite.
    let has_matrices =
        |range: &Range<usize>| old.lines[range.clone()].iter().any(|line| is_matrix(line.bits));
    let ranges = old.blocks.iter().map(|block| block.range.clone());
    for range in ranges.filter(|range| range.clone().any(|at| is_among(&at)) && !has_matrices(range)) {
        let own_delays: Vec<usize> = range.clone().filter(|at| is_delay(old.lines[*at].bits)).collect();
        let [before, own] = [&old, &code].map(|code| Scheduled::new(&code.lines, range.clone(), &own_delays));
        let others: Vec<usize> =
            own.places.iter().enumerate().filter(|(_, at)| is_among(at)).map(|(index, _)| index).collect();
        let stalls = Stalls::new(&before.lines, &before.given, &[]).with_replaced(
            Member::of(family),
            &own.lines,
            &others,
        );
        let retimed = retimed_with_delays(&own, &stalls, family, LONGEST).map(delayed);
        let are_known = own_delays.iter().all(|at| delays.binary_search(at).is_ok());
        let block = retimed.or_else(|| anew(&own, &stalls, family, new).filter(|_| are_known));
        changed.extend(block.map(|block| (range, block)));
    }
    changed
}

fn delayed(retimed: Vec<Retimed>) -> Vec<Delayed> {
    let mut delayed: Vec<Delayed> =
        retimed.into_iter().map(|(at, bits)| Delayed { at, by: vec![bits] }).collect();
    delayed.sort_unstable_by_key(|change| change.at);
    delayed
}

/// What changes in a block whose instructions take other cycles, where there are more delays then, or fewer. `None` if others do not go on.
fn anew(block: &Scheduled, stalls: &[i64], family: Family, code: &[u8]) -> Option<Vec<Delayed>> {
    if block.held != Held::Nowhere {
        return None;
    }
    let bits: Vec<Instruction> = block.lines.iter().map(|line| line.bits).collect();
    let marks = Marks::new(block, &bits, stalls, Member::of(family));
    let mut changed = changes(block, &marks.put(), stalls, code)?;
    changed.sort_unstable_by_key(|change| change.at);
    Some(changed)
}

/// What takes other cycles in a block, delays included; `None` if there would be more or fewer of these.
fn retimed_with_delays(
    block: &Scheduled,
    stalls: &[i64],
    family: Family,
    longest: i64,
) -> Option<Vec<Retimed>> {
    let delays = (0..stalls.len()).map(|index| delays_for(block, index, stalls[index]));
    let delays: Vec<Vec<Retimed>> = delays.collect::<Option<_>>()?;
    let mut changed = retimed(block, stalls, &[], Member::of(family), longest);
    changed.extend(delays.into_iter().flatten());
    Some(changed)
}

/// The delays after an instruction, where it takes other cycles with them; `None` if there are more or fewer then. The short one is last.
fn delays_for(block: &Scheduled, index: usize, stall: i64) -> Option<Vec<Retimed>> {
    let (at, delays) = (block.places[index], &block.delays[index]);
    if delays.is_empty() || stall == block.given[index] {
        return Some(Vec::new());
    }
    let own = block.lines[index].bits;
    let is_behind = delays.iter().enumerate().all(|(index, delay)| *delay == at + 1 + index);
    let left = stall - LONGEST;
    let count = usize::try_from(left).ok()?.div_ceil(LONGEST as usize);
    if i64::from(own.stall()) != LONGEST || own.holds() || !is_behind || count != delays.len() {
        return None;
    }
    let delay = |(index, at): (usize, &usize)| {
        let stall = (left - index as i64 * LONGEST).min(LONGEST);
        (*at, (NOP | (stall as u128) << STALL_AT).to_le_bytes())
    };
    Some(delays.iter().enumerate().map(delay).collect())
}

/// Says anew after which instructions other warps go on, in blocks of code some of whose instructions take other cycles than in `old`.
/// `gone_on` says after which ones another went on before, at one that is gone.
pub fn mark_anew(old: &[u8], code: &mut [u8], jumps: &Jumps, family: Family, gone_on: &[usize]) {
    let stall = |code: &[u8], at: usize| Instruction::at(code, at).stall();
    let changed: Vec<usize> =
        (0..code.len() / SIZE).filter(|at| stall(old, *at) != stall(code, *at)).collect();
    if changed.is_empty() {
        return;
    }
    let Some(Code { lines, blocks, .. }) = Code::new(old, jumps, family, Hints::NONE) else { return };
    let changed_before = |at: usize| changed.partition_point(|changed| *changed < at);
    let has_changed = |range: &Range<usize>| changed_before(range.start) < changed_before(range.end);
    for range in blocks.iter().map(|block| &block.range).filter(|range| has_changed(range)) {
        let block = Scheduled::new(&lines, range.clone(), &[]);
        let new_stall = |(at, given): (&usize, &i64)| {
            if changed.binary_search(at).is_ok() { stall(code, *at).into() } else { *given }
        };
        let stalls: Vec<i64> = block.places.iter().zip(&block.given).map(new_stall).collect();
        let (instructions, _) = code.as_chunks_mut::<SIZE>();
        let gone_on: Vec<usize> =
            (0..stalls.len()).filter(|index| gone_on.contains(&block.places[*index])).collect();
        for (at, retimed) in retimed(&block, &stalls, &gone_on, Member::of(family), SHORTER) {
            let marks = u128::from_le_bytes(retimed) & (STALL | HOLD);
            let bits = u128::from_le_bytes(instructions[at]) & !(STALL | HOLD) | marks;
            instructions[at] = bits.to_le_bytes();
        }
    }
}

/// The instructions of a block with their stalls, if these are no longer than `longest`. After which of them other warps go on is said anew.
fn retimed(
    block: &Scheduled,
    stalls: &[i64],
    gone_on: &[usize],
    member: Member,
    longest: i64,
) -> Vec<Retimed> {
    let bits: Vec<Instruction> = block.lines.iter().map(|line| line.bits).collect();
    let marks = Marks { gone_on, ..Marks::new(block, &bits, stalls, member) };
    let mut retimed = Vec::new();
    for (index, (marked, holds)) in marks.put().into_iter().enumerate() {
        let (old, stall) = (bits[index], stalls[index]);
        // What is kept by operations that the marks do not know stays so while no other warp goes on.
        let kept = if holds && !is_arithmetic(old, member) { old.0 & KEPT } else { 0 };
        let marked = Instruction(marked.0 | kept);
        let is_same = stall == i64::from(old.stall()) && holds == old.holds() && marked == old;
        let is_usual = (1..LONG).contains(&stall) || (LONG..=longest).contains(&stall) && !holds;
        if !is_same && old.stall() != 0 && is_usual {
            let hold = if holds { HOLD } else { 0 };
            let new = marked.0 & !(STALL | HOLD) | (stall as u128) << STALL_AT | hold;
            retimed.push((block.places[index], new.to_le_bytes()));
        }
    }
    retimed
}
