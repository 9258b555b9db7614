//! The schedule of machine code of sm_100 and later: which scoreboard each instruction sets, and what each waits for.
//!
//! Instructions whose latency is not fixed are **producers**: they set one of six scoreboards until their operands have
//! been read, or another one until their results are written, or both. An instruction that overwrites the operands, or uses
//! the results, is a **consumer** and waits for the scoreboard first. Assemblers choose the numbers and the waits; so does
//! the linker, when it makes the final code and some producer no longer applies. This module makes the same choices, as they
//! have been observed, from nothing but the instructions, their stalls, and which of the two scoreboards each sets:
//!
//! 1. [`blocks`]: the code falls into blocks, which are scheduled one after the other in an order of their own ([`order`]).
//! 2. [`producers`]: each producer is about some registers, and has at most one consumer in each block ([`consumers`]).
//! 3. [`latency`]: each producer takes a number of cycles. With the stalls, this says when instructions are issued ([`times`])
//!    and when producers are over, in cycles from the start of the block.
//! 4. [`numbers`]: producers under way on the same scoreboard are a group. A new producer joins a group with the same
//!    consumer, or takes a free scoreboard, or shares the one where that costs the least time.
//! 5. [`waits`]: a consumer waits for the whole group. The end of a block waits for what is over by then; what is not goes on
//!    into the blocks that follow. At the start of a loop there are waits for what the end of the loop leaves under way.
//!
//! What is not known (an operation, where a branch goes) makes all of it `None`; what is returned has not been proven safe,
//! which [`check`](crate::check) can do.

mod blocks;
mod clusters;
mod consumers;
mod delays;
mod hints;
mod instructions;
mod latency;
pub mod member;
mod numbers;
mod order;
mod producers;
pub(crate) mod renumber;
mod times;
mod waits;

pub use crate::flow::Jumps;
use crate::instruction::{Instruction, SCOREBOARDS, SIZE};
use crate::operation::{FENCE, LDGDEPBAR, MEMBAR, UTMACMDFLUSH};
pub use crate::stack_pointer::has_unused_stack_pointer;
use blocks::{Block, blocks};
pub use clusters::{Expansion, expansions};
pub use delays::order_delays;
pub use hints::Hints;
use instructions::{DELAYED, Line, number_guards};
pub use latency::{Family, Machine};
use numbers::{COUNTED, RESERVED};
use std::ops::Range;
use waits::Schedule;

/// No scoreboard.
pub const NONE: u8 = 7;
/// Functions with more instructions are not looked at.
const MAX_INSTRUCTIONS: usize = 1 << 18;
/// How many blocks may keep their schedule because it is not understood.
const MAX_KEPT: usize = 64;
/// How often blocks may be found whose schedule is not understood.
const MAX_ROUNDS: usize = 16;
/// How many times producers may be looked at: for each instruction, and in any case.
const BUDGET: (usize, usize) = (1 << 8, 1 << 20);

/// The scoreboards and waits of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// The scoreboard until the results are written, or [`NONE`].
    pub written: u8,
    /// The scoreboard until the operands are read, or [`NONE`].
    pub read: u8,
    /// A bit for each scoreboard to wait for.
    pub waits: u8,
}

const STALL_AT: u32 = 105;
const WRITTEN: u32 = 110;
const READ: u32 = 113;
const WAITS: u32 = 116;

impl Control {
    pub fn of(instruction: Instruction) -> Self {
        Self {
            written: instruction.field(WRITTEN, 3) as u8,
            read: instruction.field(READ, 3) as u8,
            waits: instruction.wait_mask(),
        }
    }

    /// The scoreboards that the instruction waits for.
    pub fn waited(self) -> impl Iterator<Item = u8> {
        (0..SCOREBOARDS).filter(move |number| self.waits >> number & 1 != 0)
    }

    /// A bit for each scoreboard that the instruction sets.
    pub fn sets(self) -> u8 {
        let sets = [self.written, self.read].into_iter().filter(|number| *number < SCOREBOARDS);
        sets.fold(0, |mask, number| mask | 1u8 << number)
    }

    /// Whether something that waits for these waits for what this sets.
    pub fn is_waited_by(self, waits: u8) -> bool {
        self.sets() & waits != 0
    }

    /// Makes these the scoreboards and waits of an instruction.
    pub fn put(self, place: &mut [u8; SIZE]) {
        let fields = u128::from(self.written) << WRITTEN
            | u128::from(self.read) << READ
            | u128::from(self.waits) << WAITS;
        let instruction = Instruction(u128::from_le_bytes(*place)).without_scoreboards() | fields;
        *place = instruction.to_le_bytes();
    }
}

/// The schedule of the code of one function. `jumps` says where indirect branches go. With `is_first_dropped`, the first
/// instruction is not a producer any more.
pub fn controls(
    code: &[u8],
    jumps: &Jumps,
    family: Family,
    hints: &Hints,
    is_first_dropped: bool,
) -> Option<Vec<Control>> {
    Code::new(code, jumps, family, hints)?.controls(is_first_dropped, &[])
}

/// What led to the schedule of one instruction, for those who look for a difference.
#[derive(Clone, Debug)]
pub struct Step {
    /// The first instruction of its block.
    pub block: usize,
    /// The position of its block in the order in which blocks are scheduled.
    pub turn: usize,
    /// When it is issued, in cycles from the start of its block.
    pub time: i64,
    pub control: Control,
    /// For each scoreboard it sets: when it is over, and its consumer in the block.
    pub producers: Vec<(i64, Option<usize>)>,
}

/// The schedule as [`controls`] makes it, with its reasons.
pub fn steps(
    code: &[u8],
    jumps: &Jumps,
    family: Family,
    hints: &Hints,
    is_first_dropped: bool,
) -> Option<Vec<Step>> {
    let code = Code::new(code, jumps, family, hints)?;
    let schedule = code.schedule(is_first_dropped, &[])?;
    let mut turns = vec![0; code.blocks.len()];
    order::order(&code.blocks).into_iter().enumerate().for_each(|(turn, block)| turns[block] = turn);
    let step = |(block, turn): (&Block, usize), at: usize| Step {
        block: block.range.start,
        turn,
        time: schedule.time(at),
        control: control(&schedule, at),
        producers: schedule.producers.all[schedule.producers.of(at)]
            .iter()
            .map(|producer| (producer.ready, producer.consumer))
            .collect(),
    };
    let mut blocks: Vec<(&Block, usize)> = code.blocks.iter().zip(turns).collect();
    blocks.sort_unstable_by_key(|(block, _)| block.range.start);
    Some(blocks.iter().flat_map(|block| block.0.range.clone().map(|at| step(*block, at))).collect())
}

/// Code that is understood.
struct Code<'a> {
    family: Family,
    hints: &'a Hints,
    lines: Vec<Line>,
    blocks: Vec<Block>,
    /// Whether an assembler before 13.0 has scheduled it.
    is_of_older: bool,
}

impl<'a> Code<'a> {
    fn new(code: &[u8], jumps: &Jumps, family: Family, hints: &'a Hints) -> Option<Self> {
        if !code.len().is_multiple_of(SIZE) || code.len() / SIZE > MAX_INSTRUCTIONS {
            return None;
        }
        let mut lines = Line::all(code)?;
        let blocks = blocks(&lines, jumps, family)?;
        for block in &blocks {
            number_guards(&mut lines[block.range.clone()]);
        }
        Some(Self { family, hints, lines, blocks, is_of_older: false })
    }

    /// `kept` has the first instructions of blocks that keep their scoreboards and waits.
    fn schedule<'s>(&'s self, is_first_dropped: bool, kept: &'s [usize]) -> Option<Schedule<'s>> {
        let budget = self.lines.len().saturating_mul(BUDGET.0).max(BUDGET.1);
        let skipped = is_first_dropped.then_some(0);
        let mut schedule =
            Schedule::new(&self.lines, &self.blocks, self.family, self.hints, skipped, budget)?;
        schedule.kept = kept;
        schedule.run()?;
        schedule.keep_full_waits(self.is_of_older);
        Some(schedule)
    }

    fn controls(&self, is_first_dropped: bool, kept: &[usize]) -> Option<Vec<Control>> {
        let schedule = self.schedule(is_first_dropped, kept)?;
        Some((0..self.lines.len()).map(|at| control(&schedule, at)).collect())
    }

    /// The first instructions of the blocks whose schedule is not understood: they keep it. `None` if there are too many of them, or if
    /// one may not.
    fn unexplained(&self, may_keep: impl Fn(Range<usize>) -> bool) -> Option<Vec<usize>> {
        let mut kept = Vec::new();
        loop {
            let Some(block) = self.first_other_block(&self.controls(false, &kept)?) else {
                return Some(kept);
            };
            let is_possible = !block.contains(&0) && !kept.contains(&block.start) && kept.len() <= MAX_KEPT;
            if !is_possible || !may_keep(block.clone()) {
                return None;
            }
            kept.push(block.start);
        }
    }

    /// The same for large code: all blocks at once whose schedule is not understood, until the others go with them. `None` if that
    /// takes too long.
    fn all_unexplained(&self) -> Option<Vec<usize>> {
        let mut kept = Vec::new();
        for _ in 0..MAX_ROUNDS {
            let controls = self.controls(false, &kept)?;
            let differs = |at: usize| Control::of(self.lines[at].bits) != controls[at];
            let blocks = self.blocks.iter().map(|block| block.range.clone());
            let others = blocks.filter(|block| !kept.contains(&block.start) && block.clone().any(differs));
            let others: Vec<usize> = others.map(|block| block.start).collect();
            if others.is_empty() {
                return Some(kept);
            }
            kept.extend(others);
        }
        None
    }

    /// Schedules the code without the scoreboard of its first instruction. Nothing is done if it is not known which blocks are kept.
    fn put_without_first(&self, kept: Option<Vec<usize>>, code: &mut [u8]) -> Outcome {
        let Some(found) = kept.and_then(|kept| self.controls(true, &kept)) else { return Outcome::Unknown };
        put_all(code, &found);
        delay_waits(code);
        Outcome::Done
    }

    /// The first block, in the order in which they are scheduled, that has another schedule than this.
    fn first_other_block(&self, controls: &[Control]) -> Option<Range<usize>> {
        let differs = |at: usize| Control::of(self.lines[at].bits) != controls[at];
        if !(0..self.lines.len()).any(differs) {
            return None;
        }
        let blocks = order::order(&self.blocks).into_iter().map(|block| self.blocks[block].range.clone());
        let other = blocks.into_iter().find(|block| block.clone().any(differs));
        other.or(Some(0..self.lines.len()))
    }

    /// The first block, in the order in which they are scheduled, in which only waits are others than these, if all scoreboards up
    /// to it are the same and no rule of 13.0 is the reason: then it is the rules here that are at fault (older/blackwell-waits).
    /// `inserted` are the instructions, in order, that the assembler did not have.
    fn first_block_of_other_waits(&self, controls: &[Control], inserted: &[usize]) -> Option<Range<usize>> {
        let is_inserted = |at: usize| inserted.binary_search(&at).is_ok();
        let order = order::order(&self.blocks);
        let mut turns = vec![0; order.len()];
        order.iter().enumerate().for_each(|(turn, block)| turns[*block] = turn);
        for (turn, index) in order.iter().enumerate() {
            let Block { range: block, predecessors, .. } = &self.blocks[*index];
            // Where the rules for loops do not explain everything, the end of a block may depend on them.
            let is_head = predecessors.iter().any(|before| turns[*before] >= turn);
            let waits = |at: usize| Control::of(self.lines[at].bits).waits;
            let has_other_waits = |at: usize| waits(at) != controls[at].waits;
            let has_other_numbers = |at: usize| {
                let waits = controls[at].waits;
                Control { waits, ..Control::of(self.lines[at].bits) } != controls[at]
            };
            let follows_meeting =
                block.start.checked_sub(1).is_some_and(|last| self.lines[last].begins_collective());
            // 12.9 has it wait for what has the number that it is given, and 13.0 has not, unless it is the number of slow results that
            // outlive their block.
            let shares = |at: usize| {
                let sets = self.lines[at].bits.set_mask() & !(1 << RESERVED);
                waits(at) & !controls[at].waits & sets != 0
            };
            let is_by_rule = |at: usize| {
                let line = &self.lines[at];
                let is_last = at + 1 == block.end && !is_head;
                has_other_numbers(at)
                    || has_other_waits(at)
                        && (is_last || line.ends_collective() || follows_meeting || shares(at))
            };
            // What was inserted takes time, so that other things are over at the end.
            let is_later = block.clone().any(is_inserted)
                && block.clone().any(|at| has_other_waits(at) && (is_inserted(at) || at + 1 == block.end));
            if is_later || block.clone().any(is_by_rule) {
                return None;
            }
            if block.clone().any(has_other_waits) {
                return Some(block.clone());
            }
        }
        None
    }
}

fn control(schedule: &Schedule<'_>, at: usize) -> Control {
    let mut control = Control { written: NONE, read: NONE, waits: schedule.waits[at] };
    match schedule.lines[at].operation() {
        LDGDEPBAR => control.written = COUNTED,
        UTMACMDFLUSH => control.read = COUNTED,
        _ => {}
    }
    for producer in schedule.producers.of(at) {
        let producer = &schedule.producers.all[producer];
        let place = if producer.is_about_operands() { &mut control.read } else { &mut control.written };
        *place = producer.number;
    }
    control
}

/// What has become of code whose load of the stack pointer is to be no producer any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The code has been scheduled anew.
    Done,
    /// The function needs its stack pointer, or its load is not a plain producer: the code is as it was.
    NotApplicable,
    /// The code has not been scheduled as it would be here, so that nothing can be said: the code is as it was.
    Unknown,
}

/// Gives code that an assembler before 13.0 has scheduled the scoreboards and waits that 13.0 gives it. The code is as it was if it is
/// not understood. With `keeps_waits`, blocks keep their waits where only these would be others and no rule says why.
/// `inserted` are the instructions, in order, that the assembler did not have.
pub fn anew(
    code: &mut [u8],
    jumps: &Jumps,
    family: Family,
    hints: &Hints,
    keeps_waits: bool,
    inserted: &[usize],
) {
    let understood = Code::new(code, jumps, family, hints).map(|code| Code { is_of_older: true, ..code });
    let Some(understood) = understood else { return };
    let mut kept = Vec::new();
    let found = loop {
        let Some(found) = understood.controls(false, &kept) else { return };
        let other = understood.first_block_of_other_waits(&found, inserted).filter(|_| keeps_waits);
        match other.filter(|block| !kept.contains(&block.start) && kept.len() <= MAX_KEPT) {
            Some(block) => kept.push(block.start),
            None => break found,
        }
    };
    put_all(code, &found);
    delay_waits(code);
}

/// Gives code from whose `whole` the instructions at `removed`, in order, are gone the scoreboards and waits that it has at its new
/// times. Blocks whose schedule is not understood keep it; the others are scheduled with these as they are.
pub fn shortened(whole: (&[u8], &Jumps), removed: &[usize], code: (&mut [u8], &Jumps), family: Family) {
    let (code, jumps) = code;
    let removed_before = |at: usize| removed.partition_point(|removed| *removed < at);
    let Some(whole) = Code::new(whole.0, whole.1, family, Hints::NONE) else { return };
    let Some(kept) = whole.all_unexplained() else { return };
    let kept: Vec<usize> = kept.into_iter().map(|at| at - removed_before(at)).collect();
    let found =
        Code::new(code, jumps, family, Hints::NONE).and_then(|understood| understood.controls(false, &kept));
    if let Some(found) = found {
        put_all(code, &found);
        delay_waits(code);
    }
}

/// Schedules code anew without the scoreboard of its first instruction, if that loads the stack pointer and nothing uses
/// it.
pub fn without_stack_pointer(code: &mut [u8], jumps: &Jumps, family: Family, hints: &Hints) -> Outcome {
    if !is_applicable(code) {
        return Outcome::NotApplicable;
    }
    let Some(understood) = Code::new(code, jumps, family, hints) else { return Outcome::Unknown };
    let kept = understood.unexplained(|block| !has(&[MEMBAR, FENCE], code, block));
    understood.put_without_first(kept, code)
}

/// The same for code from whose `whole` the instructions at `removed`, in order, are gone. Blocks with a `FENCE` do not keep
/// their schedule (mercury/scoreboards-barriers), those with a `MEMBAR` do.
pub fn shortened_without_stack_pointer(
    whole: &[u8],
    removed: &[usize],
    code: &mut [u8],
    family: Family,
) -> Outcome {
    if !is_applicable(code) {
        return Outcome::NotApplicable;
    }
    let removed_before = |at: usize| removed.partition_point(|removed| *removed < at);
    let may_keep = |block: Range<usize>| !has(&[FENCE], whole, block);
    let kept = Code::new(whole, &[], family, Hints::NONE).and_then(|whole| whole.unexplained(may_keep));
    let kept = kept.map(|kept| kept.into_iter().map(|at| at - removed_before(at)).collect());
    let Some(understood) = Code::new(code, &[], family, Hints::NONE) else { return Outcome::Unknown };
    understood.put_without_first(kept, code)
}

/// Whether a block has one of these fences. Instructions beside it may be gone, so that the rest is not what the assembler scheduled.
fn has(fences: &[u16], code: &[u8], mut block: Range<usize>) -> bool {
    block.any(|at| fences.contains(&Instruction::at(code, at).operation()))
}

/// Whether the load of an unused stack pointer is a plain producer.
fn is_applicable(code: &[u8]) -> bool {
    let Control { written, read, waits } = Control::of(Instruction::at(code, 0));
    written < NONE && read == NONE && waits == 0 && has_unused_stack_pointer(code)
}

/// Makes these the scoreboards and waits of code.
pub(crate) fn put_all(code: &mut [u8], controls: &[Control]) {
    let (instructions, _) = code.as_chunks_mut::<SIZE>();
    for (place, control) in instructions.iter_mut().zip(controls) {
        control.put(place);
    }
}

/// Nothing waits for a scoreboard one cycle after it was set.
fn delay_waits(code: &mut [u8]) {
    for at in 1..code.len() / SIZE {
        let first = Instruction::at(code, at - 1);
        if first.stall() == 1 && waits_at_once(code, at) {
            code[(at - 1) * SIZE..][..SIZE].copy_from_slice(&first.with_stall(DELAYED).0.to_le_bytes());
        }
    }
}

/// The instructions that take two cycles because in `old` code the next one waits for them, and need not in code with other waits. What
/// ends a block takes two in any case.
pub fn hasty(old: &[u8], code: &[u8], jumps: &Jumps, family: Family) -> Vec<usize> {
    let understood = Code::new(code, jumps, family, Hints::NONE);
    let begins_block = |at: usize| {
        understood.as_ref().is_some_and(|code| code.blocks.iter().any(|block| block.range.start == at))
    };
    let is_delayed = |at: &usize| {
        let next = at + 1;
        let was_waited_for = || {
            Instruction::at(code, *at).stall() == 2 && waits_at_once(old, next) && !waits_at_once(code, next)
        };
        was_waited_for() && !begins_block(next)
    };
    (0..(code.len() / SIZE).saturating_sub(1)).filter(is_delayed).collect()
}

/// Makes an instruction take one cycle.
pub fn hasten(code: &mut [u8], at: usize) {
    let quick = Instruction::at(code, at).with_stall(1);
    code[at * SIZE..][..SIZE].copy_from_slice(&quick.0.to_le_bytes());
}

/// Whether an instruction waits for the one before it.
fn waits_at_once(code: &[u8], at: usize) -> bool {
    Instruction::at(code, at - 1).set_mask() & Instruction::at(code, at).wait_mask() != 0
}

#[cfg(test)]
mod tests;
