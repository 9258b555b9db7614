//! When instructions are issued, as the choice of scoreboards takes it.
//!
//! The stalls of the code are long enough for operands of fixed latency, if nothing waits for a scoreboard. Where something
//! does, instructions after it are late anyway, and part of the stalls is no longer needed: so a stall applies in full only
//! if neither an operand nor the distance from a barrier explains it. What an operand needs is counted from when it was
//! really issued. Nothing is issued before the stalls alone would have it.

use super::instructions::Line;
use super::latency;
use super::producers::Producers;
use crate::operation::{self, IMAD, LD, LDG, LDS};
use crate::registers::Registers;
use std::ops::Range;

/// What keeps its distance from a barrier, in cycles: that of the stalls, and the one that applies here, to loads and to others.
const STALL_AFTER_BARRIER: i64 = 6;
const LOAD_AFTER_BARRIER: i64 = 3;
const AFTER_BARRIER: i64 = 2;

/// Who wrote a register last.
#[derive(Clone, Copy)]
struct Writer {
    at: usize,
    /// When it was issued, by the stalls alone and with all waits.
    stalled: i64,
    issued: i64,
}

/// Finds the times of instructions, block by block.
pub struct Times<'a> {
    lines: &'a [Line],
    writers: Vec<Option<Writer>>,
    written: Vec<usize>,
}

impl<'a> Times<'a> {
    pub fn new(lines: &'a [Line]) -> Self {
        Self { lines, writers: vec![None; Registers::PLACES], written: Vec::new() }
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
            let keeps = |_: &Writer| line.keeps_from_barrier();
            let (distance, is_distance) = after_barrier(barrier.filter(keeps), line, stalled);
            let bound = operands.max(distance);
            let is_explained = is_operand || is_distance || line.operation() == operation::BAR;
            let least = if is_explained && at > range.start { self.least(at - 1).min(stall) } else { stall };
            issued = (issued + least).max(stalled).max(bound).max(earliest[at - range.start]);
            times[at] = issued;
            for producer in producers.of(at) {
                let producer = &mut producers.all[producer];
                producer.ready = issued + producer.latency;
                if let Some(consumer) = producer.consumer {
                    let time = &mut earliest[consumer - range.start];
                    *time = producer.ready.max(*time);
                }
            }
            let writer = Writer { at, stalled, issued };
            self.write(writer);
            if matches!(line.operation(), operation::BAR | operation::MEMBAR) {
                barrier = Some(writer);
            }
            stall = if line.is_precaution() { 0 } else { i64::from(line.bits.stall()).max(1) };
            stalled += stall;
        }
        for place in self.written.drain(..) {
            self.writers[place] = None;
        }
        issued + stall
    }

    /// When the operands of an instruction are ready, and whether one of them explains the stall before it.
    fn operands(&self, at: usize, stalled: i64) -> (i64, bool) {
        let line = &self.lines[at];
        let (mut bound, mut is_explained) = (0, false);
        for place in line.reads.places() {
            let Some(writer) = self.writers[place] else { continue };
            let latency = latency::of_operand(&self.lines[writer.at], line, place);
            let distance = stalled - writer.stalled;
            is_explained |= distance <= latency;
            bound = bound.max(writer.issued + latency.min(distance));
        }
        (bound, is_explained)
    }

    /// How long an instruction takes at least: double precision, and products of integers before another of them, two cycles.
    fn least(&self, at: usize) -> i64 {
        let are_products = [at, at + 1].iter().all(|at| self.lines[*at].operation() == IMAD);
        if latency::is_double(self.lines[at].operation()) || are_products { 2 } else { 1 }
    }

    fn write(&mut self, writer: Writer) {
        let line = &self.lines[writer.at];
        let is_fixed = line.bits.write_scoreboard().is_none();
        for place in line.writes.places() {
            self.written.push(place);
            self.writers[place] = is_fixed.then_some(writer);
        }
    }
}

/// When what keeps its distance from a barrier may be issued, and whether that explains the stall before it.
fn after_barrier(barrier: Option<Writer>, line: &Line, stalled: i64) -> (i64, bool) {
    let Some(barrier) = barrier else { return (0, false) };
    let distance = stalled - barrier.stalled;
    let is_load = matches!(line.operation(), LD | LDG | LDS);
    let least = if is_load { LOAD_AFTER_BARRIER } else { AFTER_BARRIER };
    (barrier.issued + least.min(distance), distance <= STALL_AFTER_BARRIER)
}
