//! The cycles between the instructions of a block.
//!
//! An instruction is issued when the unit that does it is free and when what it uses is there. That says how many cycles each
//! instruction stalls, for both machines. Where the code stalls longer on sm_100 than this says, there are reasons that are
//! not known here, and it does so on sm_103. Where it is less, it takes less than is said here, on sm_103 too.

use super::doubles::{Consumer, Double};
use super::latency::{Use, until_end, until_used};
use super::pipes::{Kind, Member, Pipe, is_conversion, is_integer_matrix, loses_latency};
use crate::flow::Flow;
use crate::operation::MEMBAR;
use crate::registers::{File, Registers};
use crate::schedule::instructions::Line;
use std::ops::Range;

/// What sets a scoreboard can be waited for after so many.
const SCOREBOARD: i64 = 2;
/// What control flow takes: `BSYNC` to `BRX`, exits, returns, branches by a register.
const CONTROL: i64 = 5;
const CONTROLS: [u16; 11] = [0x141, 0x142, 0x143, 0x144, 0x146, 0x147, 0x148, 0x149, 0x14d, 0x150, 0x158];
/// From `BSSY` to a branch.
const MEETING: u16 = 0x145;
const BRANCH: u16 = 0x147;
const MEETING_TO_BRANCH: i64 = 4;
/// From `BAR` to what is not plain arithmetic, and from `MEMBAR` to memory.
const BARRIER: u16 = 0x11d;
const AFTER_BARRIER: i64 = 6;

pub struct Stalls<'a> {
    pub lines: &'a [Line],
    pub range: Range<usize>,
    pub doubles: &'a [Double],
    /// When each instruction is issued on sm_100, and the end of the block.
    before: Vec<i64>,
    /// Whether latencies that the code contradicts say nothing.
    ignores_contradicted: bool,
    /// Whether the end of a block waits for double precision that nothing in the block waits for.
    waits_at_end: bool,
}

/// Where instructions are issued, as far as this is known.
struct Progress {
    times: Vec<i64>,
    /// The last instruction to write each register, and the last one on each unit.
    writers: Vec<Option<usize>>,
    units: Vec<(Pipe, usize)>,
    meeting: Option<usize>,
}

/// When an instruction, or the end of the block, can come.
struct Earliest<'a> {
    stalls: &'a Stalls<'a>,
    state: &'a Progress,
    at: usize,
    time: i64,
}

impl Earliest<'_> {
    fn not_before(&mut self, producer: usize, cycles: i64) {
        let time = self.state.times[producer - self.stalls.range.start] + cycles;
        self.time = self.time.max(time);
    }

    /// The same, but no longer than on sm_100.
    fn after(&mut self, producer: usize, cycles: i64) {
        let (start, before) = (self.stalls.range.start, &self.stalls.before);
        let given = before[self.at - start] - before[producer - start];
        if cycles <= given || !self.stalls.ignores_contradicted {
            self.not_before(producer, cycles.min(given));
        }
    }
}

impl<'a> Stalls<'a> {
    pub fn new(lines: &'a [Line], given: &[i64], doubles: &'a [Double]) -> Self {
        let mut before = vec![0];
        for (at, stall) in given.iter().enumerate() {
            before.push(before[at] + stall);
        }
        Self {
            lines,
            range: 0..lines.len(),
            doubles,
            before,
            ignores_contradicted: false,
            waits_at_end: true,
        }
    }

    /// The cycles from each instruction of the block to the next one, on sm_103, whose unit of double precision takes an instruction
    /// in so many.
    pub fn on_103(mut self, interval: u32, waits_at_end: bool) -> Vec<i64> {
        self.waits_at_end = waits_at_end;
        let needed = self.distances(Member::Sm100, None);
        let given = self.before.windows(2).map(|pair| pair[1] - pair[0]);
        let least: Vec<i64> =
            given.zip(needed).map(|(given, needed)| if needed < given { given } else { 0 }).collect();
        self.distances(Member::Sm103 { interval }, Some(&least))
    }

    /// The same on sm_100, where instructions for which `may_be_less` is true may take fewer cycles than they did.
    pub fn on_100(mut self, may_be_less: impl Fn(usize) -> bool) -> Vec<i64> {
        self.ignores_contradicted = true;
        let needed = self.distances(Member::Sm100, None);
        let given = self.before.windows(2).map(|pair| pair[1] - pair[0]);
        let least = given
            .zip(needed)
            .enumerate()
            .map(|(at, (given, needed))| if needed < given && !may_be_less(at) { given } else { 0 });
        self.distances(Member::Sm100, Some(&least.collect::<Vec<_>>()))
    }

    /// The cycles that are needed from each instruction to the next one. Without `least`, each is told with the others as
    /// they are in the code.
    fn distances(&self, member: Member, least: Option<&[i64]>) -> Vec<i64> {
        let mut state = Progress {
            times: vec![0],
            writers: vec![None; Registers::PLACES],
            units: Vec::new(),
            meeting: None,
        };
        let mut distances = Vec::with_capacity(self.range.len());
        for at in self.range.clone() {
            let line = &self.lines[at];
            line.writes.places().for_each(|place| state.writers[place] = Some(at));
            let pipe = Kind::of(line.bits, member).pipe;
            state.units.retain(|(of, _)| *of != pipe);
            state.units.push((pipe, at));
            if line.operation() == MEETING {
                state.meeting = Some(at);
            }
            let index = at - self.range.start;
            let now = state.times[index];
            let mut next = self.next(at + 1, member, &state);
            next = next.max(now + least.map_or(1, |least| least[index].max(1)));
            distances.push(next - now);
            state.times.push(if least.is_some() { next } else { self.before[index + 1] });
        }
        distances
    }

    /// When the instruction can be issued, or the end of the block come.
    fn next(&self, at: usize, member: Member, state: &Progress) -> i64 {
        let last = at - 1;
        let mut next = Earliest { stalls: self, state, at, time: state.times[last - self.range.start] + 1 };
        if CONTROLS.contains(&self.lines[last].operation()) {
            next.after(last, CONTROL);
        }
        if at == self.range.end {
            self.end(member, &mut next);
        } else {
            self.registers(member, &mut next);
            self.units(member, &mut next);
        }
        next.time
    }

    fn kind(&self, at: usize, member: Member) -> Kind {
        Kind::of(self.lines[at].bits, member)
    }

    /// The last instruction to write a register, if the result is there after a fixed time.
    fn writer(&self, place: usize, member: Member, state: &Progress) -> Option<usize> {
        state.writers[place].filter(|producer| {
            let bits = self.lines[*producer].bits;
            // From 13.3 on double precision of sm_100 has scoreboards too; its latency is fixed all the same.
            let is_scoreboard =
                bits.write_scoreboard().is_some() && (member != Member::Sm100 || !loses_latency(bits));
            let is_fixed = member == Member::Sm100 || !loses_latency(bits);
            !is_scoreboard && !self.kind(*producer, member).is_variable() && is_fixed
        })
    }

    /// At the end of the block all results are there, whatever comes then.
    fn end(&self, member: Member, next: &mut Earliest<'_>) {
        let last = self.range.end - 1;
        if Flow::of(last, self.lines[last].bits) == Flow::End {
            return;
        }
        for place in 0..Registers::PLACES {
            if let Some(producer) = self.writer(place, member, next.state) {
                next.after(producer, until_end(self.kind(producer, member), File::at(place)));
            }
        }
        let bits = self.lines[last].bits;
        if bits.write_scoreboard().is_some() || bits.read_scoreboard().is_some() {
            next.after(last, SCOREBOARD);
        }
        if bits.operation() == BARRIER {
            next.after(last, AFTER_BARRIER);
        }
        let is_conversion = member.is_103() && is_conversion(bits);
        if is_conversion || self.is_double_producer(last, member) {
            next.not_before(last, SCOREBOARD);
        }
    }

    /// What the instruction uses is there.
    fn registers(&self, member: Member, next: &mut Earliest<'_>) {
        let line = &self.lines[next.at];
        for (registers, is_write) in [(&line.reads, false), (&line.writes, true)] {
            for place in registers.places() {
                let Some(producer) = self.writer(place, member, next.state) else { continue };
                let how = match is_write {
                    true => Use::Written,
                    false if line.is_guard(place) => Use::Guard,
                    false => Use::Read,
                };
                let kinds = (self.kind(producer, member), self.kind(next.at, member));
                next.after(producer, until_used(kinds.0, kinds.1, File::at(place), how));
            }
        }
    }

    /// The unit that does it is free, and what it waits for can be waited for.
    fn units(&self, member: Member, next: &mut Earliest<'_>) {
        let (at, last) = (next.at, next.at - 1);
        let (line, own) = (&self.lines[at], &self.lines[last]);
        let kind = self.kind(at, member);
        if let Some(meeting) = next.state.meeting.filter(|_| line.operation() == BRANCH) {
            next.after(meeting, MEETING_TO_BRANCH);
        }
        if own.operation() == BARRIER && !matches!(kind.pipe, Pipe::Logic | Pipe::Multiply)
            || own.operation() == MEMBAR && kind.pipe == Pipe::Memory
        {
            next.after(last, AFTER_BARRIER);
        }
        let unit = next.state.units.iter().find(|(of, _)| *of == kind.pipe && kind.pipe != Pipe::None);
        if let Some((_, producer)) = unit {
            let interval = self.kind(*producer, member).interval;
            if member.is_103() && matches!(kind.pipe, Pipe::Double | Pipe::Matrix) {
                next.not_before(*producer, interval);
            } else {
                next.after(*producer, interval);
            }
        }
        // What comes when it comes does not overwrite what has just been read.
        let is_variable = kind.is_variable() || line.bits.write_scoreboard().is_some();
        if is_variable && own.reads.meets(&line.writes) {
            next.after(last, SCOREBOARD);
        }
        if self.waits_for(at, last, member) {
            next.not_before(last, SCOREBOARD);
        }
    }

    fn double(&self, at: usize) -> Option<&Double> {
        self.doubles.binary_search_by_key(&at, |double| double.at).ok().map(|index| &self.doubles[index])
    }

    fn is_double_producer(&self, at: usize, member: Member) -> bool {
        let double = self.double(at).filter(|_| member.is_103());
        double.is_some_and(|d| d.results != Consumer::Nothing || d.operands != Consumer::Nothing)
    }

    /// Whether an instruction waits for a scoreboard that the one before it sets.
    fn waits_for(&self, at: usize, last: usize, member: Member) -> bool {
        let bits = self.lines[last].bits;
        let sets = [bits.write_scoreboard(), bits.read_scoreboard()].into_iter().flatten();
        let mask = sets.fold(0, |mask, number| mask | 1u8 << number);
        if mask & self.lines[at].bits.wait_mask() != 0 {
            return true;
        }
        let is_last = self.waits_at_end && at + 1 == self.range.end && !is_integer_matrix(bits);
        let waits =
            |consumer: Consumer| consumer == Consumer::At(at) || consumer == Consumer::Later && is_last;
        let double = self.double(last).filter(|_| member.is_103());
        // The end of a block waits for the unit, if nothing in the block does.
        let is_left = member.is_103() && is_conversion(bits) && is_last;
        is_left || double.is_some_and(|double| waits(double.results) || waits(double.operands))
    }
}
