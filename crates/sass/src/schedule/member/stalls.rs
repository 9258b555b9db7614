//! The cycles between the instructions of a block.
//!
//! An instruction is issued when the unit that does it is free and when what it uses is there. That says how many cycles each
//! instruction stalls, for both machines. Where the code stalls longer on sm_100 than this says, there are reasons that are
//! not known here, and it does so on sm_103. Where it is less, it takes less than is said here, on sm_103 too.

use super::doubles::{Consumer, Double};
use super::latency::{UNKNOWN, Use, until_end, until_overwritten, until_used, until_used_by_halves};
use super::pipes::{Kind, Member, Pipe, is_conversion, is_double, is_integer_matrix, loses_latency};
use crate::flow::Flow;
use crate::operation::{IMAD_HIGH, IMAD_WIDE, MEMBAR};
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
/// From a counted wait to anything.
const COUNTED_WAIT: u16 = 0x11a;
const AFTER_COUNTED_WAIT: i64 = 4;
/// The forms of products that have what is added to them in registers.
const ADDS_REGISTERS: [u16; 4] = [1, 4, 5, 6];
/// From the uniform unit to an instruction of another one that reads the same uniform register.
const SHARED_UNIFORM: i64 = 2;
/// On sm_120: what is of 64 bits takes so long, and before sums so long; matrices are read for so long.
const LONG: i64 = 2;
const LONG_TO_SUM: i64 = 3;
const READ_BY_MATRICES: i64 = 8;

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
    /// Whether what is not known takes as long as it did, and at the end of the block everything is over.
    is_anew: bool,
    /// Whether what the code took says nothing about what is known, as it is of another machine.
    is_for_107: bool,
    /// Whether nothing takes less than is known, even where it did.
    is_slower: bool,
    /// Instructions that were not there before, in order: what they need is known, and not what they took.
    inserted: &'a [usize],
}

/// Where instructions are issued, as far as this is known.
struct Progress {
    times: Vec<i64>,
    /// The last instruction to write each register, and the last one on each unit.
    writers: Vec<Option<usize>>,
    units: Vec<(Pipe, usize)>,
    meeting: Option<usize>,
    /// The last barrier of the thread block.
    barrier: Option<usize>,
    /// The last product of matrices to read each register.
    readers: Vec<Option<usize>>,
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
        let is_new = |at: usize| self.stalls.inserted.binary_search(&at).is_ok();
        if cycles != UNKNOWN && (self.stalls.is_for_107 || is_new(producer) || is_new(self.at)) {
            return self.not_before(producer, cycles);
        }
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
            is_anew: false,
            is_for_107: false,
            is_slower: false,
            inserted: &[],
        }
    }

    /// The same where these instructions, in order, were not there before.
    pub fn with_inserted(mut self, inserted: &'a [usize]) -> Self {
        self.inserted = inserted;
        self
    }

    /// The cycles from each instruction of the block to the next one, on sm_103, whose unit of double precision takes an instruction
    /// in so many. With `is_slower` nothing takes fewer cycles than it did.
    pub fn on_103(mut self, interval: u32, waits_at_end: bool, is_slower: bool) -> Vec<i64> {
        self.waits_at_end = waits_at_end;
        let least = if is_slower {
            self.before.windows(2).map(|pair| pair[1] - pair[0]).collect()
        } else {
            self.unexplained(Member::Sm100)
        };
        self.distances(Member::Sm103 { interval }, Some(&least))
    }

    /// The same on sm_107. With `is_slower` nothing takes fewer cycles than it did, nor than is known.
    pub fn on_107(mut self, is_slower: bool) -> Vec<i64> {
        let needed = self.distances(Member::Sm100, None);
        let given = self.before.windows(2).map(|pair| pair[1] - pair[0]);
        let least: Vec<i64> = given
            .zip(needed)
            .map(|(given, needed)| if needed < given || is_slower { given } else { 0 })
            .collect();
        self.is_for_107 = true;
        self.is_slower = is_slower;
        self.distances(Member::Sm107, Some(&least))
    }

    /// The same on the machine of the code, where instructions for which `may_be_less` is true may take fewer cycles than they did.
    pub fn again(mut self, member: Member, may_be_less: impl Fn(usize) -> bool) -> Vec<i64> {
        self.ignores_contradicted = true;
        let needed = self.distances(member, None);
        let given = self.before.windows(2).map(|pair| pair[1] - pair[0]);
        let least = given
            .zip(needed)
            .enumerate()
            .map(|(at, (given, needed))| if needed < given && !may_be_less(at) { given } else { 0 });
        self.distances(member, Some(&least.collect::<Vec<_>>()))
    }

    /// The same on the machine of the code, where the instructions at `replaced`, in order, are others now, which `lines` has.
    pub fn with_replaced(mut self, member: Member, lines: &'a [Line], replaced: &'a [usize]) -> Vec<i64> {
        let least = self.unexplained(member);
        self.lines = lines;
        self.inserted = replaced;
        self.distances(member, Some(&least))
    }

    /// The same on the machine of the code, that is of an assembler that knew how other blocks go on: at the end of a block everything is over. With
    /// `is_held` no other warp went on, and cycles that nothing explains go; otherwise they stay, but for instructions for which `may_be_less` is
    /// true. What is not known takes as long as it did.
    pub fn anew(mut self, is_held: bool, member: Member, may_be_less: impl Fn(usize) -> bool) -> Vec<i64> {
        self.is_anew = true;
        let mut least = if is_held { vec![0; self.range.len()] } else { self.unexplained(member) };
        for (_, least) in least.iter_mut().enumerate().filter(|(at, _)| may_be_less(*at)) {
            *least = 0;
        }
        self.distances(member, Some(&least))
    }

    /// The cycles of instructions that take more of them than is known to be needed, and none for the others.
    fn unexplained(&self, member: Member) -> Vec<i64> {
        let given = self.before.windows(2).map(|pair| pair[1] - pair[0]);
        let both = given.zip(self.distances(member, None));
        both.map(|(given, needed)| if needed < given { given } else { 0 }).collect()
    }

    /// The cycles that are needed from each instruction to the next one. Without `least`, each is told with the others as
    /// they are in the code.
    fn distances(&self, member: Member, least: Option<&[i64]>) -> Vec<i64> {
        let mut state = Progress {
            times: vec![0],
            writers: vec![None; Registers::PLACES],
            units: Vec::new(),
            meeting: None,
            barrier: None,
            readers: vec![None; Registers::PLACES],
        };
        let mut distances = Vec::with_capacity(self.range.len());
        for at in self.range.clone() {
            let line = &self.lines[at];
            line.writes.places().for_each(|place| state.writers[place] = Some(at));
            let pipe = Kind::of(line.bits, member).pipe;
            if pipe == Pipe::Tensor {
                line.reads.places().for_each(|place| state.readers[place] = Some(at));
            }
            state.units.retain(|(of, _)| *of != pipe);
            state.units.push((pipe, at));
            if line.operation() == MEETING {
                state.meeting = Some(at);
            }
            if line.operation() == BARRIER {
                state.barrier = Some(at);
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

    /// Whether the results of an instruction come when they come.
    fn is_variable(&self, at: usize, member: Member) -> bool {
        let bits = self.lines[at].bits;
        if loses_latency(bits) {
            member.is_103() || member.is_120()
        } else {
            self.kind(at, member).is_variable() || bits.write_scoreboard().is_some()
        }
    }

    /// The last instruction to write a register, if the result is there after a fixed time.
    fn writer(&self, place: usize, member: Member, state: &Progress) -> Option<usize> {
        state.writers[place].filter(|producer| {
            let bits = self.lines[*producer].bits;
            // From 13.3 on double precision of sm_100 has scoreboards too; its latency is fixed all the same.
            let is_scoreboard = bits.write_scoreboard().is_some()
                && (!matches!(member, Member::Sm100 | Member::Sm107) || !loses_latency(bits));
            let is_fixed = match member {
                Member::Sm100 | Member::Sm107 => true,
                Member::Sm103 { .. } => !loses_latency(bits),
                Member::Sm120 { .. } => !is_double(bits),
            };
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
                let cycles = until_end(self.kind(producer, member), File::at(place));
                if self.is_anew && cycles != UNKNOWN {
                    next.not_before(producer, cycles);
                } else {
                    next.after(producer, cycles);
                }
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
                // What is there at no fixed time overwrites what is.
                if is_write && kinds.0.pipe.is_plain() && self.is_variable(next.at, member) {
                    let file = File::at(place);
                    match until_overwritten(kinds.0, file) {
                        Some(cycles) if loses_latency(line.bits) => {
                            next.not_before(producer, cycles);
                            continue;
                        }
                        Some(cycles) if file == File::General => {
                            next.after(producer, cycles);
                            continue;
                        }
                        _ => {}
                    }
                }
                let is_half = how == Use::Read && self.is_wide_half(producer, next.at, place, member);
                let until = |kinds: (Kind, Kind)| {
                    if is_half {
                        until_used_by_halves(kinds.0, kinds.1)
                    } else {
                        until_used(kinds.0, kinds.1, File::at(place), how)
                    }
                };
                let mut cycles = until(kinds);
                if self.is_for_107 && !self.is_slower {
                    // Where it took less than is known for sm_100, it takes less here, too.
                    let old = [producer, next.at].map(|at| self.kind(at, Member::Sm100));
                    let given = self.before[next.at] - self.before[producer];
                    let known = until((old[0], old[1]));
                    if known != UNKNOWN && known > given {
                        cycles = cycles.min(given);
                    }
                }
                next.after(producer, cycles);
            }
        }
    }

    /// Whether a product of 64 bits has this result before the other half of it, or reads this operand after the factors.
    fn is_wide_half(&self, producer: usize, at: usize, place: usize, member: Member) -> bool {
        let [writer, reader] = [producer, at].map(|at| self.lines[at].bits);
        let is_at = |register: u8| File::General.place(register) == place;
        if [IMAD_WIDE, IMAD_HIGH].contains(&reader.operation()) {
            let is_factor = is_at(reader.byte(3)) || reader.form() == 1 && is_at(reader.byte(4));
            let is_late = !member.is_120() || is_at(reader.byte(8).wrapping_add(1));
            let has_late = ADDS_REGISTERS.contains(&reader.form()) && is_late;
            return writer.operation() != IMAD_WIDE && has_late && !is_factor;
        }
        writer.operation() == IMAD_WIDE && is_at(writer.byte(2))
    }

    /// The unit that does it is free, and what it waits for can be waited for.
    fn units(&self, member: Member, next: &mut Earliest<'_>) {
        let (at, last) = (next.at, next.at - 1);
        let (line, own) = (&self.lines[at], &self.lines[last]);
        let kind = self.kind(at, member);
        if let Some(meeting) = next.state.meeting.filter(|_| line.operation() == BRANCH) {
            next.after(meeting, MEETING_TO_BRANCH);
        }
        if let Some(barrier) = next.state.barrier.filter(|_| !kind.is_arithmetic()) {
            next.after(barrier, AFTER_BARRIER);
        }
        if own.operation() == MEMBAR && kind.pipe == Pipe::Memory {
            next.after(last, AFTER_BARRIER);
        }
        if own.operation() == COUNTED_WAIT {
            next.after(last, AFTER_COUNTED_WAIT);
        }
        let unit = next.state.units.iter().find(|(of, _)| *of == kind.pipe && kind.pipe != Pipe::None);
        if let Some((_, producer)) = unit {
            let producer_kind = self.kind(*producer, member);
            let interval = producer_kind.interval;
            let is_known = self.is_anew && producer_kind.is_matrix;
            if member.is_103() && matches!(kind.pipe, Pipe::Double | Pipe::Matrix) || is_known {
                next.not_before(*producer, interval);
            } else {
                next.after(*producer, interval);
            }
        }
        // What comes when it comes does not overwrite what has just been read.
        let reads_at_once =
            matches!(self.kind(last, member).pipe, Pipe::Double | Pipe::Matrix | Pipe::Tensor);
        let is_variable = !loses_latency(line.bits) && self.is_variable(at, member);
        if is_variable && !reads_at_once && own.reads.meets(&line.writes.within(&[File::General])) {
            next.after(last, SCOREBOARD);
        }
        let last_kind = self.kind(last, member);
        if last_kind.is_long {
            let is_sum = kind.pipe == Pipe::Sum;
            next.after(last, if is_sum { LONG_TO_SUM } else { LONG });
        }
        if member.is_120() && !kind.is_variable() && line.bits.write_scoreboard().is_none() {
            for place in line.writes.within(&[File::General]).places() {
                if let Some(reader) = next.state.readers[place] {
                    next.after(reader, READ_BY_MATRICES);
                }
            }
        }
        // Nor is a uniform register read right after the uniform unit has.
        let is_shared = || own.reads.within(&[File::Uniform]).meets(&line.reads);
        let is_uniform = self.kind(last, member).pipe == Pipe::Uniform;
        if self.is_anew && is_uniform && kind.pipe.is_plain() && is_shared() {
            next.not_before(last, SHARED_UNIFORM);
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
        // Under the opposite predicate it does not come to that.
        let is_other_way = self.lines[last].guard.excludes(self.lines[at].guard);
        let waits = |consumer: Consumer| {
            consumer == Consumer::At(at) && !is_other_way || consumer == Consumer::Later && is_last
        };
        let double = self.double(last).filter(|_| member.is_103());
        // The end of a block waits for the unit, if nothing in the block does.
        let is_left = member.is_103() && is_conversion(bits) && is_last;
        is_left || double.is_some_and(|double| waits(double.results) || waits(double.operands))
    }
}
