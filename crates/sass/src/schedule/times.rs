//! When instructions are issued, as the choice of scoreboards takes it.
//!
//! The stalls of the code are long enough for operands of fixed latency, if nothing waits for a scoreboard. Where something
//! does, instructions after it are late anyway, and part of the stalls is no longer needed: so a stall applies in full only
//! if neither an operand nor the distance from a barrier explains it. What an operand needs is counted from when it was
//! really issued. Nothing is issued before the stalls alone would have it.

use super::instructions::{DELAYED, Line};
use super::latency::{self, Family};
use super::producers::{Barrier, Producer, Producers};
use crate::operation::{self, ATOMG, IMAD, IMAD_WIDE, LD, LDG, LDL, LDS, ST, STG, STL, STS};
use crate::registers::Registers;
use std::ops::Range;

/// What keeps its distance from a barrier, in cycles: that of the stalls, and the one that applies here, to loads and to others.
const STALL_AFTER_BARRIER: i64 = 6;
const LOAD_AFTER_BARRIER: i64 = 3;
const AFTER_BARRIER: i64 = 1;
/// The distance of two barriers.
const BETWEEN_BARRIERS: i64 = 5;

/// How long after a comparison of double precision its predicates are at hand for what does not wait for them, where others have.
const COMPARISON: i64 = 14;

/// How long after a register was written or read something of variable latency may overwrite it.
const OVERWRITE: i64 = 6;
const OVERWRITE_OPERAND: i64 = 2;

/// Accesses of memory, and their distance.
const BETWEEN_ACCESSES: i64 = 4;
const ACCESSES: [u16; 9] = [LD, LDG, LDL, LDS, ST, STG, STL, STS, ATOMG];

/// How far before its consumer another load of what is loaded under a condition is looked for.
const MOST_LOOKED_AT: usize = 1024;

/// Who wrote or read a register last.
#[derive(Clone, Copy)]
struct User {
    at: usize,
    /// When it was issued, by the stalls alone and with all waits.
    stalled: i64,
    issued: i64,
}

/// Predicates of a comparison that is waited for.
#[derive(Clone, Copy)]
struct Compared {
    /// When they are at hand.
    ready: i64,
    /// What waits, and comes as soon as the scoreboard lets it.
    consumer: usize,
}

/// Finds the times of instructions, block by block.
pub struct Times<'a> {
    lines: &'a [Line],
    family: Family,
    /// By place of the register.
    writers: Vec<Option<User>>,
    readers: Vec<Option<User>>,
    compared: Vec<Option<Compared>>,
    used: Vec<usize>,
}

impl<'a> Times<'a> {
    pub fn new(lines: &'a [Line], family: Family) -> Self {
        let nobody = || vec![None; Registers::PLACES];
        let compared = vec![None; Registers::PLACES];
        Self { lines, family, writers: nobody(), readers: nobody(), compared, used: Vec::new() }
    }

    /// Sets the times of a block, in cycles from its start, and when its producers are over. Returns how many cycles the
    /// block takes.
    pub fn set(&mut self, range: Range<usize>, producers: &mut Producers, times: &mut [i64]) -> i64 {
        let mut earliest = vec![0; range.len()];
        let (mut stalled, mut issued, mut stall) = (0, 0, 0);
        let mut barrier = None;
        for at in range.clone() {
            let line = &self.lines[at];
            let (operands, is_operand) = self.operands(at, stalled);
            let (results, is_result) = self.results(at, stalled);
            let keeps = |_: &User| line.keeps_from_barrier();
            let (distance, is_distance) = after_barrier(barrier.filter(keeps), line, stalled);
            let bound = operands.max(results).max(distance);
            let is_explained = is_operand || is_result || is_distance || line.operation() == operation::BAR;
            let least = match at.checked_sub(1).filter(|before| *before >= range.start) {
                Some(before) if is_explained => self.least(before).min(stall),
                Some(before) if latency::is_long(&self.lines[before], self.family) => (stall - 1).max(1),
                Some(before) if line.is_branch() && self.lines[before].operation() == IMAD_WIDE => {
                    stall.max(2)
                }
                _ => stall,
            };
            issued = (issued + least).max(stalled).max(bound).max(earliest[at - range.start]);
            times[at] = issued;
            for producer in producers.of(at) {
                let producer = &mut producers.all[producer];
                producer.ready = issued + producer.latency;
                // A fence waits for barriers in memory, but the time that this takes does not count (older/blackwell-copies).
                let is_uncounted = |consumer: usize| {
                    let is_fence = self.lines[consumer].operation() == operation::MEMBAR;
                    producer.barrier == Some(Barrier::Fence)
                        || producer.barrier.is_some() && is_fence && !self.family.meets_with_copies
                };
                let counts = |consumer: &usize| {
                    !is_uncounted(*consumer) && !self.is_hidden(producer, *consumer, range.start)
                };
                if let Some(consumer) = producer.consumer.filter(counts) {
                    let time = &mut earliest[consumer - range.start];
                    *time = (*time).max(producer.ready).max(issued + producer.wait);
                }
                if let Some(overwritten) = producer.overwritten {
                    let time = &mut earliest[overwritten - range.start];
                    *time = (*time).max(producer.ready);
                }
            }
            let user = User { at, stalled, issued };
            self.note(user);
            self.note_comparison(at, issued, producers);
            if matches!(line.operation(), operation::BAR | operation::MEMBAR) {
                barrier = Some(user);
            }
            stall = match line.bits.stall() {
                _ if line.is_precaution() => 0,
                DELAYED if self.is_delayed(at, range.end, producers) => 1,
                stall => i64::from(stall).max(1),
            };
            stalled += stall;
        }
        for place in self.used.drain(..) {
            self.writers[place] = None;
            self.readers[place] = None;
            self.compared[place] = None;
        }
        // Up to 13.0, what comes after a branch begins a cycle before its stall is over.
        let is_early = self.family.begins_early && self.lines[range.end - 1].is_branch();
        issued + stall - i64::from(is_early)
    }

    /// Whether a result that other threads have from elsewhere does not count: on sm_120 nothing is late for what is loaded under opposite
    /// conditions (mercury/loads-of-either).
    fn is_hidden(&self, producer: &Producer, consumer: usize, first: usize) -> bool {
        let own = &self.lines[producer.at];
        let is_other = |line: &Line| {
            line.bits.write_scoreboard().is_some()
                && line.guard.excludes(own.guard)
                && line.writes.contains_all(&producer.registers)
        };
        let has_registers = !producer.is_about_operands() && !producer.registers.is_empty();
        self.family.machine == latency::Machine::Of120
            && has_registers
            && own.guard.exists()
            && self.lines[first.max(consumer.saturating_sub(MOST_LOOKED_AT))..consumer].iter().any(is_other)
    }

    /// Whether an instruction has got a cycle more in the end, because the next one waits for its scoreboard, for the sake of something else.
    fn is_delayed(&self, at: usize, end: usize, producers: &Producers) -> bool {
        let is_waited = |next: &Line| self.lines[at].bits.set_mask() & next.bits.wait_mask() != 0;
        let is_consumer = |producer: usize| producers.all[producer].consumer == Some(at + 1);
        let is_double = latency::is_double(self.lines[at].operation());
        at + 2 < end && !is_double && is_waited(&self.lines[at + 1]) && !producers.of(at).any(is_consumer)
    }

    /// When the operands of an instruction are ready, and whether one of them explains the stall before it.
    fn operands(&self, at: usize, stalled: i64) -> (i64, bool) {
        let line = &self.lines[at];
        let (mut bound, mut is_explained) = (0, false);
        for place in line.reads.places() {
            if let Some(compared) = self.compared[place].filter(|compared| compared.consumer != at) {
                bound = bound.max(compared.ready);
            }
            let Some(writer) = self.writers[place] else { continue };
            let latency = latency::of_operand(&self.lines[writer.at], line, place, self.family);
            let distance = stalled - writer.stalled;
            is_explained |= distance <= latency;
            bound = bound.max(writer.issued + latency.min(distance));
        }
        (bound, is_explained)
    }

    /// When something of variable latency may overwrite what its results are written to, and whether that explains the stall before
    /// it.
    fn results(&self, at: usize, stalled: i64) -> (i64, bool) {
        let line = &self.lines[at];
        let (mut bound, mut is_explained) = (0, false);
        if line.bits.write_scoreboard().is_none() {
            return (bound, is_explained);
        }
        for place in line.writes.places() {
            if let Some(writer) = self.writers[place] {
                let distance = stalled - writer.stalled;
                is_explained |= distance <= OVERWRITE;
                bound = bound.max(writer.issued + OVERWRITE.min(distance));
            }
            if let Some(reader) = self.readers[place] {
                bound = bound.max(reader.issued + OVERWRITE_OPERAND.min(stalled - reader.stalled));
            }
        }
        (bound, is_explained)
    }

    /// How long an instruction takes at least: an access of memory before another one four cycles, double precision, conversions of
    /// it (on sm_120 not those of integers), and products of integers before another of them, two.
    fn least(&self, at: usize) -> i64 {
        let are_products = [at, at + 1].iter().all(|at| self.lines[*at].operation() == IMAD);
        let are_accesses = [at, at + 1].iter().all(|at| ACCESSES.contains(&self.lines[*at].operation()));
        let operation = self.lines[at].operation();
        let is_of_integers =
            self.family.machine == latency::Machine::Of120 && operation == operation::I2F_DOUBLE;
        let is_conversion = operation::LONG_CONVERSIONS.contains(&operation) && !is_of_integers;
        let is_double = latency::is_double(operation) || is_conversion;
        if are_accesses {
            BETWEEN_ACCESSES
        } else if is_double || are_products {
            2
        } else {
            1
        }
    }

    /// Notes whose results and operands registers are now, as far as these are written and read after a fixed time.
    fn note(&mut self, user: User) {
        let line = &self.lines[user.at];
        if line.bits.read_scoreboard().is_none() {
            for place in line.reads.places() {
                self.used.push(place);
                self.readers[place] = Some(user);
            }
        }
        let is_fixed = line.bits.write_scoreboard().is_none();
        for place in line.writes.places() {
            self.used.push(place);
            self.writers[place] = is_fixed.then_some(user);
            self.compared[place] = None;
        }
    }

    /// Notes the predicates of a comparison of double precision that is waited for: it takes as long as where nothing waits
    /// (older/blackwell-compared).
    fn note_comparison(&mut self, at: usize, issued: i64, producers: &Producers) {
        let line = &self.lines[at];
        if line.operation() != operation::DSETP || self.family.machine == latency::Machine::Of100 {
            return;
        }
        let mut results = producers.of(at).map(|producer| &producers.all[producer]);
        let result = results.find(|producer| !producer.is_about_operands());
        if let Some(consumer) = result.and_then(|result| result.consumer) {
            for place in line.writes.places() {
                self.compared[place] = Some(Compared { ready: issued + COMPARISON, consumer });
            }
        }
    }
}

/// When what keeps its distance from a barrier may be issued, and whether that explains the stall before it.
fn after_barrier(barrier: Option<User>, line: &Line, stalled: i64) -> (i64, bool) {
    let Some(barrier) = barrier else { return (0, false) };
    let distance = stalled - barrier.stalled;
    let least = match line.operation() {
        LD | LDG | LDS => LOAD_AFTER_BARRIER,
        operation::BAR => BETWEEN_BARRIERS,
        _ => AFTER_BARRIER,
    };
    (barrier.issued + least.min(distance), distance <= STALL_AFTER_BARRIER)
}
