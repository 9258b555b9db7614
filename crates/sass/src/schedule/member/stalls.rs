//! The cycles between the instructions of a block.
//!
//! An instruction is issued when the unit that does it is free and when what it uses is there. That says how many cycles each
//! instruction stalls, for both machines. Where the code stalls longer on sm_100 than this says, there are reasons that are
//! not known here, and it does so on sm_103. Where it is less, it takes less than is said here, on sm_103 too.

use super::doubles::{Consumer, Double};
use super::latency::{Use, until_end, until_used};
use super::pipes::{Kind, Member, Pipe, is_conversion, is_double};
use crate::registers::{File, Registers};
use crate::schedule::instructions::Line;
use std::ops::Range;

/// What sets a scoreboard can be waited for after so many.
const SCOREBOARD: i64 = 2;
/// What control flow takes: `BSYNC` to `BRX`, exits, returns, branches by a register.
const CONTROL: i64 = 5;
const CONTROLS: [u16; 11] =
    [0x141, 0x142, 0x143, 0x144, 0x146, 0x147, 0x148, 0x149, 0x14d, 0x150, 0x158];
/// From `BSSY` to a branch.
const MEETING: u16 = 0x145;
const BRANCH: u16 = 0x147;
const MEETING_TO_BRANCH: i64 = 4;

pub struct Stalls<'a> {
    pub lines: &'a [Line],
    pub range: Range<usize>,
    pub doubles: &'a [Double],
    /// When each instruction is issued on sm_100, and the end of the block.
    before: Vec<i64>,
}

/// Where instructions are issued, as far as this is known.
struct Times {
    times: Vec<i64>,
    /// The last instruction to write each register, and the last one on each unit.
    writers: Vec<Option<usize>>,
    units: Vec<(Pipe, usize)>,
    meeting: Option<usize>,
}

impl<'a> Stalls<'a> {
    pub fn new(lines: &'a [Line], range: Range<usize>, doubles: &'a [Double]) -> Self {
        let mut before = vec![0];
        for at in range.clone() {
            before.push(before[at - range.start] + i64::from(lines[at].bits.stall()).max(1));
        }
        Self { lines, range, doubles, before }
    }

    /// The cycles from each instruction of the block to the next one, on sm_103.
    pub fn on_103(&self) -> Vec<i64> {
        let needed = self.distances(Member::Sm100, None);
        let given = self.before.windows(2).map(|pair| pair[1] - pair[0]);
        let least: Vec<i64> =
            given.zip(needed).map(|(given, needed)| if needed < given { given } else { 0 }).collect();
        self.distances(Member::Sm103, Some(&least))
    }

    /// The cycles that are needed from each instruction to the next one. Without `least`, each is told with the others as
    /// they are in the code.
    fn distances(&self, member: Member, least: Option<&[i64]>) -> Vec<i64> {
        let mut state = Times {
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
    fn next(&self, at: usize, member: Member, state: &Times) -> i64 {
        let start = self.range.start;
        let last = at - 1;
        let own = &self.lines[last];
        let mut next = state.times[last - start] + 1;
        let mut after = |producer: usize, latency: i64| {
            let given = self.before[at - start] - self.before[producer - start];
            next = next.max(state.times[producer - start] + latency.min(given));
        };
        if CONTROLS.contains(&own.operation()) {
            after(last, CONTROL);
        }
        let is_fixed = |producer: usize| {
            let bits = self.lines[producer].bits;
            let kind = Kind::of(bits, member);
            let is_scoreboard = bits.write_scoreboard().is_some();
            let is_variable = matches!(kind.pipe, Pipe::Memory | Pipe::Special | Pipe::Constant);
            !is_scoreboard && !is_variable && (member == Member::Sm100 || !is_double(bits))
        };
        let kind = |at: usize| Kind::of(self.lines[at].bits, member);
        if at == self.range.end {
            for (place, producer) in state.writers.iter().enumerate() {
                if let Some(producer) = producer.filter(|producer| is_fixed(*producer)) {
                    after(producer, until_end(kind(producer), file(place)));
                }
            }
            let sets = self.is_double_producer(last, member) || member == Member::Sm103 && is_conversion(own.bits);
            return if sets { next.max(state.times[last - start] + SCOREBOARD) } else { next };
        }
        let line = &self.lines[at];
        let guard = line.bits.guard() & 7;
        for (registers, is_write) in [(&line.reads, false), (&line.writes, true)] {
            for place in registers.places() {
                let Some(producer) = state.writers[place].filter(|producer| is_fixed(*producer)) else {
                    continue;
                };
                let is_guard = file(place) == File::Predicate && place == GUARDS + usize::from(guard);
                let how = match (is_write, is_guard) {
                    (true, _) => Use::Written,
                    (false, true) => Use::Guard,
                    (false, false) => Use::Read,
                };
                after(producer, until_used(kind(producer), kind(at), file(place), how));
            }
        }
        if line.operation() == BRANCH
            && let Some(meeting) = state.meeting
        {
            after(meeting, MEETING_TO_BRANCH);
        }
        let pipe = kind(at).pipe;
        if let Some((_, producer)) = state.units.iter().find(|(of, _)| *of == pipe && pipe != Pipe::None) {
            let interval = kind(*producer).interval;
            let is_other = member == Member::Sm103 && pipe == Pipe::Double;
            if is_other {
                next = next.max(state.times[*producer - start] + interval);
            } else {
                after(*producer, interval);
            }
        }
        if self.waits_for(at, last, member) {
            next = next.max(state.times[last - start] + SCOREBOARD);
        }
        next
    }

    fn double(&self, at: usize) -> Option<&Double> {
        self.doubles.binary_search_by_key(&at, |double| double.at).ok().map(|index| &self.doubles[index])
    }

    fn is_double_producer(&self, at: usize, member: Member) -> bool {
        let double = self.double(at).filter(|_| member == Member::Sm103);
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
        let is_last = at + 1 == self.range.end;
        let waits = |consumer: Consumer| consumer == Consumer::At(at) || consumer == Consumer::Later && is_last;
        let double = self.double(last).filter(|_| member == Member::Sm103);
        // The end of a block waits for the unit, if nothing in the block does.
        let is_left = member == Member::Sm103 && is_conversion(bits) && is_last;
        is_left || double.is_some_and(|double| waits(double.results) || waits(double.operands))
    }
}

/// Where predicates are among all registers.
const GUARDS: usize = 512;

fn file(place: usize) -> File {
    match place {
        0..256 => File::General,
        256..GUARDS => File::Uniform,
        GUARDS..520 => File::Predicate,
        520..528 => File::UniformPredicate,
        _ => File::Barrier,
    }
}
