//! The scoreboards of the code up to the first branch, given out as the assembler does it.
//!
//! In the order of the code, each set takes the number of those that the same instruction waits for, otherwise the
//! first free one. If none is free, it shares the one that costs least: how long the later of both is still under
//! way where the earlier wait is. For that, instructions take their time, and those that wait take as long as what
//! they wait for. What is waited for in later blocks only has no wait here: loads that others overtake have the last
//! number for themselves then, reading of operands shares one number, and everything else takes the first that costs
//! nothing, but never the last number if the kernel has such loads. The last instruction of the block waits for what
//! is ready by then.
//!
//! That the rules hold for a kernel is seen by giving out what it has with its stack pointer.

use super::pending::{EVERYTHING, Pending, Set};
use super::preferred::preferred;
use crate::instruction::{Instruction, SCOREBOARDS, SIZE};
use crate::registers::File;
use crate::schedule::NONE;
use crate::schedule::instructions::Line;
use crate::schedule::latency::{self, Family};
use std::ops::Range;

const COUNT: usize = SCOREBOARDS as usize;
/// Scoreboard of loads that nothing in the block waits for.
const LAST: u8 = SCOREBOARDS - 1;
/// When what nothing in the block waits for is needed.
const LATER: i64 = 100_000;
/// How long it takes at the end of the block until operands have been read.
const READ_AT_END: i64 = 12;

/// How much more the assembler's choice may cost than the best one here: latencies are not known exactly. (Without it the
/// device runtime library is not as nvlink has it: mercury/device-runtime.)
const TOLERANCE: i64 = 4;

/// How many pairs of sets and instructions are looked at.
const LARGEST: usize = 1 << 24;

const EXIT: u16 = 0x14d;
/// Memory that is read and written in order: what comes later does not overwrite what an earlier instruction has
/// not read yet.
const SHARED: [u16; 2] = [0x184, 0x188];
const GLOBAL: [u16; 10] = [0x180, 0x181, 0x183, 0x185, 0x186, 0x187, 0x18a, 0x18b, 0x1a8, 0x1a9];

/// A set of the block.
struct Event {
    instruction: usize,
    reads: bool,
    slow: bool,
    operation: u16,
    /// What waits for it, if that is before the first branch.
    consumer: Option<usize>,
    latency: i64,
    ready: i64,
}

/// The scoreboards of the first block without the stack pointer's.
pub struct FirstBlock {
    /// By set of the block; the stack pointer has none.
    pub numbers: Vec<u8>,
    /// By instruction: what it waits for.
    pub waits: Vec<u8>,
    /// By set of the block: whether it is over at the end of the block.
    over: Vec<bool>,
}

impl FirstBlock {
    pub fn is_over(&self, set: usize) -> bool {
        self.over.get(set) == Some(&true)
    }
}

/// `None` where the rules do not give what the assembler has, or where something that the assembler waits for in the block is
/// to be waited for later.
pub fn first_block(code: &[u8], pending: &Pending, family: Family) -> Option<FirstBlock> {
    let ends = ends(code, pending)?;
    let end = *ends.last()?;
    if pending.sets.len().saturating_mul(pending.controls.len()) > LARGEST {
        return None;
    }
    let sets: Vec<Set> = pending.sets.iter().take_while(|set| set.instruction < end).copied().collect();
    let lines = Line::all(&code[..end * SIZE])?;
    let (events, times) = events(&lines, &sets, family);
    let has_slow = pending.sets.iter().any(|set| is_slow(set, Instruction::at(code, set.instruction)));
    let blocks = Blocks { events: &events, times: &times, ends: &ends, has_slow };
    let had = blocks.give_out(0, Some(&sets));
    let old = &pending.controls[..end];
    let same = sets.iter().zip(&had.numbers).all(|(set, number)| set.number == *number);
    let as_before =
        old.iter().zip(&had.waits).all(|(old, waits)| old.waits == EVERYTHING || *waits == old.waits);
    if !same || !as_before {
        return None;
    }
    let mut new = blocks.give_out(1, None);
    if had.until.iter().zip(&new.until).skip(1).any(|(had, new)| had.is_some() && new.is_none()) {
        return None;
    }
    for (waits, control) in new.waits.iter_mut().zip(old) {
        if control.waits == EVERYTHING {
            *waits = EVERYTHING;
        }
    }
    let over = new.until.iter().map(Option::is_some).collect();
    Some(FirstBlock { numbers: new.numbers, waits: new.waits, over })
}

/// The ends of the blocks up to the first branch that the stack pointer's load is under way in: a conditional exit ends
/// one, too.
fn ends(code: &[u8], pending: &Pending) -> Option<Vec<usize>> {
    let end = pending.first_block().end;
    let number = pending.sets.first()?.number;
    let exits = (0..end).filter(|at| Instruction::at(code, *at).operation() == EXIT);
    let mut ends: Vec<usize> = exits.map(|at| at + 1).chain([end]).collect();
    ends.dedup();
    let waits = |index: &usize| pending.controls[*index].waits >> number & 1 != 0;
    if let Some(wait) = (1..end).find(waits) {
        ends.truncate(ends.partition_point(|end| *end <= wait) + 1);
    }
    Some(ends)
}

/// The sets with what waits for them, and when each instruction is issued.
fn events(lines: &[Line], sets: &[Set], family: Family) -> (Vec<Event>, Vec<i64>) {
    let mut events = Vec::with_capacity(sets.len());
    let mut waits = vec![Vec::new(); lines.len()];
    for (index, set) in sets.iter().enumerate() {
        let line = &lines[set.instruction];
        let consumer = (set.instruction + 1..lines.len()).find(|at| waits_for(*set, line, &lines[*at]));
        if let Some(consumer) = consumer {
            waits[consumer].push(index);
        }
        events.push(Event {
            instruction: set.instruction,
            reads: set.reads,
            slow: is_slow(set, line.bits),
            operation: line.operation(),
            consumer,
            latency: if set.reads {
                latency::of_operands(line, family)
            } else {
                latency::of_result(line, family)
            },
            ready: 0,
        });
    }
    let mut times = Vec::with_capacity(lines.len());
    let (mut now, mut next) = (0, 0);
    for (index, line) in lines.iter().enumerate() {
        now = waits[index].iter().map(|event: &usize| events[*event].ready).fold(now, i64::max);
        times.push(now);
        while let Some(event) = events.get_mut(next).filter(|event| event.instruction == index) {
            event.ready = now + event.latency;
            next += 1;
        }
        now += i64::from(line.bits.stall().max(1));
    }
    (events, times)
}

/// Whether an instruction has to wait for a set of an earlier one.
fn waits_for(set: Set, earlier: &Line, later: &Line) -> bool {
    if set.reads {
        let overwritten = later.writes.within(&[File::General]).meets(&earlier.reads);
        overwritten && !in_order(earlier.operation(), later.operation())
    } else {
        later.writes.meets(&earlier.writes) || later.reads.meets(&earlier.writes)
    }
}

/// Whether a set is the result of a load that others overtake.
fn is_slow(set: &Set, instruction: Instruction) -> bool {
    !set.reads && latency::is_slow(instruction.operation())
}

fn in_order(earlier: u16, later: u16) -> bool {
    [&SHARED[..], &GLOBAL[..]].iter().any(|memory| memory.contains(&earlier) && memory.contains(&later))
}

/// What has been given out: numbers and ends by set, waits by instruction.
struct Given {
    numbers: Vec<u8>,
    until: Vec<Option<usize>>,
    waits: Vec<u8>,
}

/// What is under way with one number, and the first wait for it.
#[derive(Clone, Default)]
struct Group {
    members: Vec<usize>,
    until: Option<usize>,
}

struct Blocks<'a> {
    events: &'a [Event],
    times: &'a [i64],
    ends: &'a [usize],
    /// Whether the kernel has loads that others overtake, here or later.
    has_slow: bool,
}

impl Blocks<'_> {
    /// Follows the assembler where its choice costs hardly more than the best one.
    fn give_out(&self, from: usize, assembler: Option<&[Set]>) -> Given {
        let (count, end) = (self.events.len(), self.ends.last().copied().unwrap_or_default());
        let mut given = Given { numbers: vec![NONE; count], until: vec![None; count], waits: vec![0; end] };
        let mut groups: [Group; COUNT] = Default::default();
        let mut next = from;
        for (index, &end) in self.ends.iter().enumerate() {
            let block = index.checked_sub(1).map_or(0, |before| self.ends[before])..end;
            for group in &mut groups {
                group.until = group.members.iter().filter_map(|member| self.consumer(*member, &block)).min();
            }
            let reserved = self.is_last_reserved(&block);
            while self.events.get(next).is_some_and(|event| event.instruction < end) {
                given.end(&mut groups, self.events[next].instruction);
                let had = assembler.map(|sets| sets[next].number);
                let number = self.choose(next, &groups, &block, reserved, had);
                given.numbers[next] = number;
                let group = &mut groups[usize::from(number)];
                group.members.push(next);
                group.until = group.until.into_iter().chain(self.consumer(next, &block)).min();
                next += 1;
            }
            given.end(&mut groups, end);
            self.end_what_is_ready(&mut given, &mut groups, &block);
        }
        given
    }

    /// What waits for a set in a block.
    fn consumer(&self, event: usize, block: &Range<usize>) -> Option<usize> {
        self.events[event].consumer.filter(|consumer| block.contains(consumer))
    }

    /// Whether a block has loads that others overtake and that it does not wait for.
    fn is_last_reserved(&self, block: &Range<usize>) -> bool {
        self.events.iter().enumerate().any(|(index, event)| {
            event.slow && block.contains(&event.instruction) && self.consumer(index, block).is_none()
        })
    }

    /// The last instruction of a block waits for what the block has begun and is ready by then.
    fn end_what_is_ready(&self, given: &mut Given, groups: &mut [Group; COUNT], block: &Range<usize>) {
        let last = block.end - 1;
        let now = self.times[last];
        let is_ready = |member: &usize| {
            let event = &self.events[*member];
            let read = self.times[event.instruction] + READ_AT_END;
            let ready = if event.reads { read } else { event.ready };
            !event.slow && block.contains(&event.instruction) && ready <= now
        };
        for (number, group) in groups.iter_mut().enumerate() {
            if !group.members.is_empty() && group.members.iter().all(is_ready) {
                given.waits[last] |= 1 << number;
                for member in std::mem::take(group).members {
                    given.until[member] = Some(last);
                }
            }
        }
    }

    fn choose(
        &self,
        index: usize,
        groups: &[Group; COUNT],
        block: &Range<usize>,
        reserved: bool,
        had: Option<u8>,
    ) -> u8 {
        let event = &self.events[index];
        let consumer = self.consumer(index, block);
        if event.slow && consumer.is_none() {
            return LAST;
        }
        let group = |number: u8| &groups[usize::from(number)];
        let together = |number: &u8| {
            let group = group(*number);
            !group.members.is_empty()
                && match consumer {
                    Some(_) => group.until == consumer && !(reserved && *number == LAST),
                    None => event.reads && self.is_only_read_later(group, block),
                }
        };
        if let Some(number) = (0..SCOREBOARDS).find(together) {
            return number;
        }
        let order = preferred(if event.reads { 0 } else { event.operation });
        let order = if event.slow { &order[..4] } else { &order[..] };
        let without_last = reserved || (self.has_slow && consumer.is_none());
        let candidates: Vec<u8> =
            order.iter().copied().filter(|number| !(without_last && *number == LAST)).collect();
        let free = candidates.iter().copied().find(|number| group(*number).members.is_empty());
        if let Some(number) = free {
            return number;
        }
        let cost = |number: &u8| self.cost(event, consumer, group(*number));
        let best = candidates.iter().copied().min_by_key(cost).unwrap_or(LAST);
        let hardly_more = |had: &u8| candidates.contains(had) && cost(had) <= cost(&best) + TOLERANCE;
        had.filter(hardly_more).unwrap_or(best)
    }

    /// Whether a group has operands of this block that are overwritten later, and nothing else.
    fn is_only_read_later(&self, group: &Group, block: &Range<usize>) -> bool {
        let is_here = |member: &usize| block.contains(&self.events[*member].instruction);
        let is_read = |member: &usize| self.events[*member].reads && self.consumer(*member, block).is_none();
        group.members.iter().all(is_read) && group.members.iter().any(is_here)
    }

    fn time(&self, instruction: Option<usize>) -> i64 {
        instruction.map_or(self.times.last().copied().unwrap_or_default() + LATER, |index| self.times[index])
    }

    /// How long a wait for both is too early.
    fn cost(&self, event: &Event, consumer: Option<usize>, group: &Group) -> i64 {
        let place = |wait: Option<usize>| wait.unwrap_or(usize::MAX);
        if place(group.until) <= place(consumer) {
            let cost = event.ready - self.time(group.until);
            return if consumer.is_none() { cost.max(0) } else { cost };
        }
        let ready = group.members.iter().map(|member| self.events[*member].ready).max();
        ready.unwrap_or_default() - self.time(consumer)
    }
}

impl Given {
    /// Ends what is waited for at an instruction or before it.
    fn end(&mut self, groups: &mut [Group; COUNT], at: usize) {
        for (number, group) in groups.iter_mut().enumerate() {
            if let Some(until) = group.until.filter(|until| *until <= at && *until < self.waits.len()) {
                self.waits[until] |= 1 << number;
                for member in std::mem::take(group).members {
                    self.until[member] = Some(until);
                }
            }
        }
    }
}
