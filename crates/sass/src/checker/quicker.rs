//! Instructions that take fewer cycles than before.
//!
//! Some cycles of an instruction are there for results of fixed latency: of itself, or of what comes before it. What comes after it is
//! earlier then, until others take so many cycles more. Nothing of that may come earlier than the results it uses, on any way that
//! leads there.

use super::align::{Alignment, Step};
use crate::flow::{Flow, Jumps, is_control, is_indirect_branch, lists_of, place, sets_meeting};
use crate::idle::{AFTER_BARRIER, LATEST, Speed, is_early, is_quick, longest};
use crate::instruction::Instruction;
use crate::operands::exact::checked;
use crate::operands::is_ordering_producer;
use crate::operation::{
    BRA, BSSY, BSYNC, DOUBLE, DSETP, ENDCOLLECTIVE, EXIT, LDL, LDS, LONG_CONVERSIONS, NOP, SHFL, WARPSYNC,
};

/// How many instructions before may be looked at.
const MAX_PRODUCERS: usize = 256;
/// How many steps back may be looked at, on all ways together.
const MAX_STEPS: usize = 4096;
/// What control takes at least, and until operands have been read.
const LEAST_OF_CONTROL: u8 = 5;
const READ_AFTER: u8 = 2;
/// `RPCMOV`, which moves a register where nothing else is.
const SAVE: u16 = 0x152;
const RESTORE: u16 = 0x153;
/// Control depends on a predicate besides the guard.
const SECOND_PREDICATE: u32 = 87;
const TRUE: u64 = 7;
/// Control that writes no registers.
const WITHOUT_RESULTS: [u16; 4] = [BSYNC, BRA, WARPSYNC, EXIT];

/// The ways that control may take to each step.
pub struct Ways<'a> {
    alignment: &'a Alignment<'a>,
    /// Branches: where each goes and where it is, in order. `None` if some may go anywhere.
    branches: Option<Vec<(usize, usize)>>,
    /// Where threads meet, in order.
    meetings: Vec<usize>,
    speed: Speed,
}

/// The cycles of an instruction in the new code and in the old. A stall that may mean something else is one cycle in the new code, and
/// in the old if it is the same.
fn cycles(step: Step) -> [u32; 2] {
    let timing = |one: Option<Instruction>| one.map(|one| (one.stall(), one.holds()));
    let is_same = timing(step.before) == timing(step.after);
    let of = |one: Instruction, is_old: bool| {
        if one.has_usual_stall() || is_old && !is_same { u32::from(one.stall().max(1)) } else { 1 }
    };
    [step.after.map_or(0, |one| of(one, false)), step.before.map_or(0, |one| of(one, true))]
}

fn sum(a: [u32; 2], b: [u32; 2]) -> [u32; 2] {
    [a[0] + b[0], a[1] + b[1]]
}

impl<'a> Ways<'a> {
    pub fn new(alignment: &'a Alignment<'a>, jumps: &Jumps, speed: Speed) -> Self {
        let (mut branches, mut meetings) = (Some(Vec::new()), Vec::new());
        let lists = lists_of(jumps);
        let mut old = 0;
        for (at, step) in alignment.steps().enumerate() {
            let Some(instruction) = step.before else { continue };
            let entry = |target: i64| alignment.entry(target);
            if sets_meeting(instruction) {
                meetings.extend(place(old, instruction).and_then(entry));
            }
            let targets = match Flow::of(old, instruction) {
                Flow::Branch(target) | Flow::Jump(target) => entry(target).map(|target| vec![target]),
                Flow::Anywhere if is_indirect_branch(instruction) => {
                    let list = lists.get(&old).filter(|list| !list.is_empty());
                    list.and_then(|list| list.iter().map(|target| entry(*target as i64)).collect())
                }
                // What follows a call is not looked at, but what it calls may be in this code.
                Flow::Anywhere | Flow::Call if instruction.is_call_or_return() => {
                    Some(place(old, instruction).and_then(entry).into_iter().collect())
                }
                Flow::Anywhere => None,
                _ => Some(Vec::new()),
            };
            branches = branches.zip(targets).map(|(mut all, targets)| {
                all.extend(targets.into_iter().map(|target| (target, at)));
                all
            });
            old += 1;
        }
        meetings.sort_unstable();
        branches = branches.filter(|_| meet_where_they_are(alignment, &meetings));
        if let Some(branches) = &mut branches {
            branches.sort_unstable();
        }
        Self { alignment, branches, meetings, speed }
    }

    /// Whether nothing depends on the cycles that an instruction does not take any more, of what comes until the code has caught up
    /// with the old one or until all results of fixed latency are there. If control goes elsewhere before, that is not known.
    pub fn is_quicker(&self, at: usize) -> bool {
        let both = |at: usize| {
            let step = (at < self.alignment.len()).then(|| self.alignment.step(at))?;
            step.before.zip(step.after)
        };
        let Some(((before, after), (next, _))) = both(at).zip(both(at + 1)) else { return false };
        let keeps_distance =
            is_control(before) || is_ordering_producer(before) || before.operation() == ENDCOLLECTIVE;
        // Assemblers differ by one.
        let is_little = after.stall() >= 1 && after.stall() + 1 == before.stall();
        if keeps_distance || !is_little || after.stall() < 2 && overwrites_operands(before, next) {
            return false;
        }
        let Some(producers) = self.producers(at) else { return false };
        let own = cycles(self.alignment.step(at));
        let mut later = [0, 0];
        for at in at + 1..self.alignment.len() {
            let step = self.alignment.step(at);
            // What was inserted or is gone is not of interest but for its cycles.
            if let Some((next, _)) = step.before.zip(step.after) {
                let is_early = |(first, distance): &(Instruction, [u32; 2])| {
                    let [new, old] = sum(*distance, later);
                    is_early(*first, next, new, old, Speed::Any)
                };
                if producers.iter().any(is_early) {
                    return false;
                }
            }
            match step.before.map_or(Flow::Next, |before| Flow::of(0, before)) {
                Flow::Next => {}
                Flow::End => return true,
                // What code elsewhere may use is there.
                Flow::Anywhere if step.either().is_return() => {
                    let is_there = |(first, distance): &(Instruction, [u32; 2])| {
                        let [new, old] = sum(*distance, later);
                        new >= old.min(longest_of(*first))
                    };
                    return producers.iter().all(is_there);
                }
                _ => return false,
            }
            later = sum(later, cycles(step));
            // Within several delays the cycles are nothing to go by.
            let is_plain = step.before.zip(step.after).is_some_and(|(before, _)| !before.is_delay());
            let follows = |(before, _): (Instruction, Instruction)| !before.is_delay();
            if is_plain && both(at + 1).is_some_and(follows) && own[0] + later[0] >= own[1] + later[1]
                || later[0] >= LATEST
            {
                return true;
            }
        }
        false
    }

    /// Whether in the whole code nothing comes too early for what it uses, on any way to it, that did not before. What code elsewhere
    /// may use is there when control goes there.
    pub fn is_in_time(&self) -> bool {
        self.branches.is_some() && (0..self.alignment.len()).all(|at| self.comes_in_time(at).unwrap_or(false))
    }

    fn comes_in_time(&self, at: usize) -> Option<bool> {
        let step = self.alignment.step(at);
        let Some((before, after)) = step.before.zip(step.after) else {
            // Barriers before exits are looked at elsewhere; they are not known here.
            return Some(step.after.is_none_or(Instruction::is_delay));
        };
        // With the delays after it, which what branches does not go through.
        let delays = (at + 1..self.alignment.len()).map(|at| self.alignment.step(at));
        let gap = delays.take_while(|step| step.either().is_delay()).map(cycles).fold(cycles(step), sum);
        let is_shorter = after.stall() < before.stall();
        let is_quicker = gap[0] < gap[1];
        if is_shorter && after.stall() == 0 {
            return Some(false);
        }
        let is_less_than =
            |least: u8| is_shorter && after.stall() < least || is_quicker && gap[0] < u32::from(least);
        let keeps_distance = match before.operation() {
            // Nothing here knows what these move.
            ENDCOLLECTIVE | SAVE | RESTORE => is_shorter || is_quicker,
            operation => is_control(before) && operation != BSSY && is_less_than(LEAST_OF_CONTROL),
        };
        if keeps_distance {
            return Some(false);
        }
        let after_it = || (at + 1..self.alignment.len()).filter_map(|at| self.alignment.step(at).after);
        // Double precision comes in order, and writes later than anything reads its operands: assemblers have that, and predicates of plain
        // arithmetic overwritten a cycle later (older/blackwell-double-delays).
        let is_in_order = |next: Instruction| {
            is_double(next) && is_double(before) || next.operation() == DSETP && is_quick(before)
        };
        let is_overwritten = is_less_than(READ_AFTER)
            && before.operation() != NOP
            && !self.speed.reads_at_once(before)
            && [after_it().next(), after_it().find(|next| !next.is_delay())]
                .into_iter()
                .any(|next| next.is_none_or(|next| !is_in_order(next) && overwrites_operands(before, next)));
        if is_overwritten {
            return Some(false);
        }
        let is_left = match Flow::of(0, before) {
            Flow::Call => true,
            Flow::Anywhere => before.is_call_or_return() || !is_indirect_branch(before),
            _ => false,
        };
        let mut left = vec![(at, [0, 0], Covered { waits: after.wait_mask(), units: 0, speed: self.speed })];
        let mut steps = 0;
        while let Some((from, distance, covered)) = left.pop() {
            steps += 1;
            if steps > MAX_STEPS {
                return None;
            }
            let ways = self.before(from);
            // What comes from elsewhere was over there, and is if this takes as long as before.
            let is_over = self.is_over_before(from) || self.speed == Speed::Sm107;
            if ways.is_none() && !is_over && distance[0] < distance[1] {
                return None;
            }
            let ways: Vec<usize> = match ways {
                Some(ways) => ways.collect(),
                None => self.branches_to(from)?.collect(),
            };
            for way in ways {
                let step = self.alignment.step(way);
                let distance = sum(distance, cycles(step));
                let has_results =
                    |one: &Instruction| !one.is_delay() && !WITHOUT_RESULTS.contains(&one.operation());
                let covered = covered.before(step);
                let first = step.before.filter(|one| has_results(one) && !covered.contains(*one));
                if let Some(first) = first {
                    let is_early = if is_left {
                        distance[0] < distance[1].min(longest_of(first))
                    } else {
                        is_early(first, before, distance[0], distance[1], self.speed)
                    };
                    if is_early {
                        return Some(false);
                    }
                }
                if distance[0] < self.speed.latest() {
                    left.push((way, distance, covered));
                }
            }
        }
        Some(true)
    }

    /// Whether everything of other code is over that comes before a step: at the start of the code, and after the call of another function. Who
    /// assembles a function does not know what calls it, nor what comes after its return.
    fn is_over_before(&self, at: usize) -> bool {
        let is_call = |last: usize| {
            let last = self.alignment.step(last).either();
            let is_taken = last.is_unconditional() && last.field(SECOND_PREDICATE, 4) == TRUE;
            last.is_call() && Flow::of(0, last) == Flow::Call && is_taken
        };
        at.checked_sub(1).is_none_or(is_call)
    }

    /// The instructions whose results may not be there yet after a step, and how long before its end they come in both codes. `None`
    /// if these are not known.
    fn producers(&self, at: usize) -> Option<Vec<(Instruction, [u32; 2])>> {
        let mut producers = Vec::new();
        let mut left = vec![(at, [0, 0])];
        let mut steps = 0;
        while let Some((at, distance)) = left.pop() {
            steps += 1;
            if steps > MAX_STEPS {
                return None;
            }
            let step = self.alignment.step(at);
            let distance = sum(distance, cycles(step));
            let has_results =
                |one: &Instruction| !one.is_delay() && !WITHOUT_RESULTS.contains(&one.operation());
            producers.extend(step.before.filter(has_results).map(|instruction| (instruction, distance)));
            if producers.len() + left.len() > MAX_PRODUCERS {
                return None;
            }
            if distance[0] < LATEST {
                left.extend(self.before(at)?.map(|before| (before, distance)));
            }
        }
        Some(producers)
    }

    /// The steps that control may come from to this one. `None` if these are not known.
    pub fn before(&self, at: usize) -> Option<impl Iterator<Item = usize> + use<'_>> {
        self.branches.as_ref()?;
        let last = at.checked_sub(1)?;
        let flow = self.alignment.step(last).before.map_or(Flow::Next, |before| Flow::of(0, before));
        let is_reached = match flow {
            Flow::Next | Flow::Branch(_) => true,
            Flow::Jump(_) | Flow::End => false,
            Flow::Meet if self.meetings.binary_search(&at).is_ok() => true,
            Flow::Anywhere if is_indirect_branch(self.alignment.step(last).either()) => {
                !self.alignment.step(last).either().is_unconditional()
            }
            Flow::Meet | Flow::Call | Flow::Anywhere => return None,
        };
        Some(is_reached.then_some(last).into_iter().chain(self.branches_to(at)?))
    }

    /// Whether control may come to a step from others than the one before it.
    pub fn is_entered(&self, at: usize) -> bool {
        self.branches_to(at).is_none_or(|mut branches| branches.next().is_some())
            || self.meetings.binary_search(&at).is_ok()
    }

    /// The branches that go to a step. `None` if some may go anywhere.
    pub fn branches_to(&self, at: usize) -> Option<impl Iterator<Item = usize> + use<'_>> {
        let branches = self.branches.as_ref()?;
        let first = branches.partition_point(|(target, _)| *target < at);
        let sources = branches[first..].iter().take_while(move |(target, _)| *target == at);
        Some(sources.map(|(_, source)| *source))
    }
}

/// What is over when an instruction comes, whatever the time: units that work in order, once a later operation of theirs was waited for.
#[derive(Clone, Copy)]
struct Covered {
    /// The scoreboards that are waited for from here on.
    waits: u8,
    /// The units, a bit for each.
    units: u8,
    speed: Speed,
}

impl Covered {
    /// The same before a step.
    fn before(mut self, step: Step) -> Self {
        let Some(after) = step.after else { return self };
        let is_over = after.write_scoreboard().is_some_and(|number| self.waits >> number & 1 != 0);
        if is_over && after.is_unconditional() {
            self.units |= unit(after, self.speed);
        }
        self.waits |= after.wait_mask();
        self
    }

    /// Whether an instruction that sets no scoreboard is over.
    fn contains(self, first: Instruction) -> bool {
        first.write_scoreboard().is_none() && self.units & unit(first, self.speed) != 0
    }
}

fn is_double(one: Instruction) -> bool {
    DOUBLE.contains(&one.operation())
}

/// Whose results come in order, as assemblers have it: `LDL`, `LDS`, `SHFL` and double precision; conversions of 64 bits where they are
/// slow (older/blackwell-undelayed).
fn unit(one: Instruction, speed: Speed) -> u8 {
    match one.operation() {
        LDL => 1,
        LDS => 2,
        SHFL => 4,
        // Predicates may come later than registers.
        DSETP if !speed.has_slow_doubles() => 16,
        operation if DOUBLE.contains(&operation) => 8,
        operation if LONG_CONVERSIONS.contains(&operation) && speed.has_slow_doubles() => 32,
        _ => 0,
    }
}

/// How many cycles after an instruction any other may come, be it for its results or for an order.
fn longest_of(first: Instruction) -> u32 {
    let ordered = if is_ordering_producer(first) { AFTER_BARRIER } else { 0 };
    longest(first).max(ordered)
}

/// Whether threads that meet go on after the instruction at which they do.
fn meet_where_they_are(alignment: &Alignment<'_>, meetings: &[usize]) -> bool {
    let is_meeting = |step: Step| step.before.is_some_and(|one| Flow::of(0, one) == Flow::Meet);
    let all = alignment.steps().enumerate();
    all.filter(|(_, step)| is_meeting(*step)).all(|(at, _)| meetings.binary_search(&(at + 1)).is_ok())
}

/// Whether an instruction of variable latency overwrites what the one before it reads.
fn overwrites_operands(first: Instruction, next: Instruction) -> bool {
    let Some((read, written)) = checked(first).zip(checked(next)) else { return true };
    next.write_scoreboard().is_some() && read.reads.meets(&written.writes)
}
