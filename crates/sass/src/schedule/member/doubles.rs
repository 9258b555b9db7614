//! Double precision on sm_103: which instructions set scoreboards.
//!
//! sm_100 does double precision arithmetic in a fixed time, sm_103 does not. So each such instruction is a producer there,
//! unless another one says the same: the unit finishes in the order of the instructions, and reads its operands in order.

use super::pipes::{is_double, is_function, loses_latency};
use crate::registers::{File, Registers};
use crate::schedule::instructions::Line;
use std::ops::Range;

/// What waits for an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consumer {
    /// Nothing needs to.
    Nothing,
    /// This instruction of the block.
    At(usize),
    /// Nothing in the block, so that its end does, or something later.
    Later,
}

impl Consumer {
    /// An order in time. What nothing waits for comes last.
    fn place(self) -> usize {
        match self {
            Self::At(at) => at,
            Self::Later | Self::Nothing => usize::MAX,
        }
    }
}

/// An instruction of double precision.
#[derive(Clone, Copy, Debug)]
pub struct Double {
    pub at: usize,
    /// What waits until its results are written, if it sets a scoreboard for that; and until its operands have been read.
    pub results: Consumer,
    pub operands: Consumer,
}

/// The instructions of double precision in a block on sm_103. `None` if that takes too long.
pub fn doubles(lines: &[Line], range: Range<usize>, budget: &mut usize) -> Option<Vec<Double>> {
    let all: Vec<usize> = range.clone().filter(|at| loses_latency(lines[*at].bits)).collect();
    told(lines, range, &all, true, budget)
}

/// Those of a block on sm_100, as assemblers have them from 13.3 on: each tells when its results are written.
pub fn doubles_of_100(lines: &[Line], range: Range<usize>, budget: &mut usize) -> Option<Vec<Double>> {
    let all: Vec<usize> = range.clone().filter(|at| is_double(lines[*at].bits)).collect();
    told(lines, range, &all, false, budget)
}

/// What tells when these instructions of a block are over. With `in_order`, the end of one implies that of those before it.
fn told(
    lines: &[Line],
    range: Range<usize>,
    all: &[usize],
    in_order: bool,
    budget: &mut usize,
) -> Option<Vec<Double>> {
    let is_same_unit = |at: usize, other: usize| is_double(lines[at].bits) == is_double(lines[other].bits);
    let mut users = Vec::with_capacity(all.len());
    // A return waits for everything.
    let returns = range.end.checked_sub(1).filter(|last| in_order && lines[*last].bits.is_return());
    for at in all {
        let user = first(lines, *at, range.end, budget, |own, line| {
            own.writes.meets(&line.reads) || own.writes.meets(&line.writes) && !own.guard.excludes(line.guard)
        })?;
        users.push(match (user, returns) {
            (Consumer::Later, Some(last)) => Consumer::At(last),
            (user, _) => user,
        });
    }
    let mut doubles = Vec::with_capacity(all.len());
    for (index, at) in all.iter().enumerate() {
        let user = users[index];
        // Others whose end implies the end of this one.
        let mut known = usize::MAX;
        for (other, place) in all[index + 1..].iter().zip(&users[index + 1..]) {
            *budget = budget.checked_sub(1)?;
            if *other >= user.place() {
                break;
            }
            if let Consumer::At(place) = *place
                && place <= user.place()
                && is_same_unit(*at, *other)
                && in_order
            {
                known = known.min(place);
            }
        }
        let results = if known == usize::MAX { user } else { Consumer::Nothing };
        // What is not executed together with it does not wait in its stead.
        let waits =
            |place: usize| lines.get(place).is_some_and(|line| !lines[*at].guard.excludes(line.guard));
        let until = if waits(user.place()) { known.min(user.place()) } else { known };
        let operands = operands(lines, *at, range.end.min(until), in_order, budget)?;
        let operands = match operands {
            Consumer::Later if until != usize::MAX => Consumer::Nothing,
            operands => operands,
        };
        doubles.push(Double { at: *at, results, operands });
    }
    // The unit reads in order: who waits for a later one waits for the earlier ones, too.
    for index in (0..doubles.len()).filter(|_| in_order) {
        let Double { operands: Consumer::At(_) | Consumer::Later, .. } = doubles[index] else { continue };
        let place = doubles[index].operands.place();
        let later = doubles[index + 1..].iter().take_while(|other| other.at < place);
        let mut is_known = false;
        for other in later {
            *budget = budget.checked_sub(1)?;
            is_known |= matches!(other.operands, Consumer::At(other) if other <= place)
                && is_same_unit(doubles[index].at, other.at);
        }
        if is_known {
            doubles[index].operands = Consumer::Nothing;
        }
    }
    Some(doubles)
}

/// A function or conversion that needs more scoreboards on sm_103.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    pub at: usize,
    /// Whether it needs one for its results, and for its operands.
    pub results: bool,
    pub operands: bool,
}

/// Functions and conversions of a block that have no scoreboard, because on sm_100 the one of a later exponential was enough, or the
/// other way round: sm_103 does exponentials apart from the others. So one of the others may overwrite what they read, too. `None` if it
/// takes too long.
pub fn uncovered(lines: &[Line], range: Range<usize>, budget: &mut usize) -> Option<Vec<Function>> {
    let all: Vec<usize> = range.clone().filter(|at| is_function(lines[*at].bits)).collect();
    let is_exponential = |at: usize| lines[at].bits.is_exponential();
    if all.iter().all(|at| is_exponential(*at)) || !all.iter().any(|at| is_exponential(*at)) {
        return Some(Vec::new());
    }
    let is_one_unit = |own: &Line, line: &Line| {
        is_function(line.bits) && line.bits.is_exponential() == own.bits.is_exponential()
    };
    let mut users = Vec::with_capacity(all.len());
    for at in &all {
        users.push(first(lines, *at, range.end, budget, |own, line| {
            let is_overwritten = own.writes.meets(&line.writes) && !is_one_unit(own, line);
            (own.writes.meets(&line.reads) || is_overwritten) && !own.guard.excludes(line.guard)
        })?);
    }
    let mut uncovered: Vec<Function> = Vec::new();
    for (index, at) in all.iter().enumerate().rev() {
        let line = &lines[*at];
        let user = users[index].place();
        *budget = budget.checked_sub(all.len() - index)?;
        let others = all[index + 1..].iter().zip(&users[index + 1..]).take_while(|(at, _)| **at < user);
        let others = others.filter(|(other, waits)| {
            is_exponential(**other) == is_exponential(*at)
                && waits.place() <= user
                && **waits != Consumer::Later
        });
        let known = others.map(|(_, waits)| waits.place()).min();
        let has_none = line.bits.write_scoreboard().is_none() && !line.writes.is_empty();
        let mut operands: Registers = line.reads.within(&[File::General]);
        operands.remove(&line.writes);
        let overwritten = first(lines, *at, range.end.min(known.unwrap_or(user)), budget, |own, line| {
            operands.meets(&line.writes) && !own.guard.excludes(line.guard)
        })?;
        let by = overwritten.place();
        let is_late = lines.get(by).is_some_and(|by| is_function(by.bits) && !is_one_unit(line, by));
        // The unit reads in order: who waits for a later one waits for this one, too.
        let is_read = |other: &&Function| other.at < by && is_one_unit(line, &lines[other.at]);
        let is_told = uncovered.iter().filter(is_read).any(|other| other.operands);
        let operands = is_late && !is_told && line.bits.read_scoreboard().is_none();
        let results = has_none && known.is_none();
        if results || operands {
            uncovered.push(Function { at: *at, results, operands });
        }
    }
    Some(uncovered)
}

/// What overwrites the operands of an instruction first.
fn operands(lines: &[Line], at: usize, end: usize, in_order: bool, budget: &mut usize) -> Option<Consumer> {
    let mut registers: Registers = lines[at].reads.within(&[File::General]);
    registers.remove(&lines[at].writes);
    if registers.is_empty() {
        return Some(Consumer::Nothing);
    }
    first(lines, at, end, budget, |own, line| {
        let is_same_unit =
            in_order && loses_latency(line.bits) && is_double(line.bits) == is_double(own.bits);
        !is_same_unit && registers.meets(&line.writes) && !own.guard.excludes(line.guard)
    })
}

fn first(
    lines: &[Line],
    at: usize,
    end: usize,
    budget: &mut usize,
    is_it: impl Fn(&Line, &Line) -> bool,
) -> Option<Consumer> {
    for later in at + 1..end {
        *budget = budget.checked_sub(1)?;
        if is_it(&lines[at], &lines[later]) {
            return Some(Consumer::At(later));
        }
    }
    Some(Consumer::Later)
}
