//! Producers: instructions that set a scoreboard, what each is about, and what depends on it.
//!
//! An instruction may be two producers. One is over when its operands have been read: whatever overwrites them depends
//! on it. The other is over when its results are written: whatever uses or overwrites them depends on it. The first such
//! instruction is the consumer.

use super::instructions::{Line, operation};
use super::latency;
use crate::registers::{File, Registers};
use operation::{
    ATOM, ATOM_CAS, ATOM_FLOAT, ATOMG, ATOMG_CAS, ATOMG_FLOAT, ATOMS, ATOMS_CAS, BREV, BSYNC, CCTL, CCTLL, ERRBAR, F2I,
    FENCE, FLO, LD, LDG, LDL, LDS, LDSM, MEMBAR, NOP, POPC, REDG, REDG_FLOAT, SHFL, ST, STG, STL, STS, SYNCS,
};

/// What is over when the scoreboard is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    OperandsAreRead,
    ResultsAreWritten,
}

#[derive(Clone, Debug)]
pub struct Producer {
    pub at: usize,
    pub until: Until,
    /// The operands, or the results.
    pub registers: Registers,
    /// The consumer in its own block.
    pub consumer: Option<usize>,
    pub latency: i64,
    /// When it is over, in cycles from the start of its block.
    pub ready: i64,
    /// The scoreboard.
    pub number: u8,
    /// Whether it is the result of an operation that takes very long.
    pub is_slow: bool,
    /// Whether it orders memory: then consumers are what accesses memory, whatever the registers.
    is_fence: bool,
    /// Whether it is seen by other threads, so that it must be over before some operations that have no registers.
    is_strong: bool,
}

/// Operations that access memory in an order that fences care about.
const MEMORY: [u16; 18] = [
    LD, LDG, LDL, LDS, ST, STG, STL, STS, ATOM, ATOM_CAS, ATOMS, REDG, MEMBAR, 0x198, ATOMG_FLOAT, SYNCS, ATOMG, ATOMG_CAS,
];
const FENCES: [u16; 5] = [CCTL, CCTLL, MEMBAR, ERRBAR, FENCE];
/// `CGAERRBAR`, which shares its operation with `ERRBAR` and is none.
const CLUSTER_ERROR_BARRIER: u16 = 0x5ab;

/// Operations that read their operands in the order of the instructions: the first, and those that may overwrite what it
/// reads without waiting.
const IN_ORDER: [(u16, &[u16]); 9] = [
    (LD, &[LD]),
    (LDG, &[LDG]),
    (LDL, &[LDL]),
    (LDS, &[LDS, SHFL, LDSM]),
    (LDSM, &[LDS]),
    (ST, &[LDS, SHFL, LDSM]),
    (STG, &[LDS, SHFL, LDSM]),
    (STL, &[LDS, SHFL, LDSM]),
    (STS, &[LDS, SHFL, LDSM]),
];

/// Operations that finish in order, as one unit does them: each is named by the first of its group.
const UNITS: [&[u16]; 7] = [
    &[LDS, LDSM, SHFL],
    &[F2I, 0x104, 0x106, 0x107, 0x108, 0x110, 0x111, 0x112, 0x113, POPC, FLO, BREV],
    &[ATOM, ATOM_CAS, ATOM_FLOAT],
    &[ATOMG, ATOMG_CAS, ATOMG_FLOAT],
    &[ATOMS, ATOMS_CAS],
    &[REDG, REDG_FLOAT],
    &[SYNCS, 0x1b2],
];

/// The operation that stands for the unit.
fn unit(operation: u16) -> u16 {
    UNITS.iter().find(|unit| unit.contains(&operation)).map_or(operation, |unit| unit[0])
}

/// The producers of a function, in the order of the code.
#[derive(Debug, Default)]
pub struct Producers {
    pub all: Vec<Producer>,
    /// The first producer of each instruction, and one more for the end.
    starts: Vec<usize>,
}

impl Producers {
    /// The indices of the producers that an instruction is.
    pub fn of(&self, at: usize) -> std::ops::Range<usize> {
        match self.starts.get(at..at + 2) {
            Some([start, end]) => *start..*end,
            _ => 0..0,
        }
    }

    /// Those of a range of instructions.
    pub fn within(&self, range: std::ops::Range<usize>) -> &[Producer] {
        let end = self.starts.get(range.end).copied().unwrap_or(self.all.len());
        self.starts.get(range.start).and_then(|start| self.all.get(*start..end)).unwrap_or_default()
    }

    /// Adds those of the next block. `skipped` is an instruction whose results nothing waits for.
    pub fn add(&mut self, lines: &[Line], first: usize, skipped: Option<usize>) {
        // Results that are written without a scoreboard: they are over when a later one of the same unit is.
        let mut held: Vec<(u16, Registers)> = Vec::new();
        let files = [File::General, File::Uniform, File::Predicate, File::UniformPredicate];
        for (at, line) in (first..).zip(lines) {
            self.starts.push(self.all.len());
            let results = line.writes.within(&files);
            let unit = unit(line.operation());
            let is_written = line.bits.write_scoreboard().is_some() && skipped != Some(at);
            if line.bits.read_scoreboard().is_some() {
                let mut operands = line.reads.within(&[File::General]);
                if is_written {
                    operands.remove(&results);
                }
                self.all.push(Producer::new(at, line, Until::OperandsAreRead, operands));
            }
            let earlier = held.iter().position(|(of, _)| *of == unit);
            if is_written {
                let mut registers = results;
                if let Some(earlier) = earlier {
                    registers.insert_from(&held.swap_remove(earlier).1);
                }
                self.all.push(Producer::new(at, line, Until::ResultsAreWritten, registers));
            } else if let Some(earlier) = earlier {
                held[earlier].1.insert_from(&results);
            } else if !results.is_empty() {
                held.push((unit, results));
            }
        }
    }

    /// To be called after the last block.
    pub fn finish(&mut self) {
        self.starts.push(self.all.len());
    }
}

impl Producer {
    fn new(at: usize, line: &Line, until: Until, registers: Registers) -> Self {
        let operation = line.operation();
        let is_slow = latency::is_slow(operation);
        let is_atomic = matches!(operation, ATOM | ATOM_CAS | ATOMG | ATOMG_CAS | ATOMG_FLOAT);
        let is_result = until == Until::ResultsAreWritten;
        Self {
            at,
            until,
            registers,
            consumer: None,
            latency: if is_result { latency::of_result(line) } else { latency::of_operands(line) },
            ready: 0,
            number: 0,
            is_slow: is_slow && is_result,
            is_fence: FENCES.contains(&operation) && line.bits.opcode() != CLUSTER_ERROR_BARRIER,
            is_strong: is_slow && (line.is_strong_load() || is_atomic),
        }
    }

    pub fn is_about_operands(&self) -> bool {
        self.until == Until::OperandsAreRead
    }

    /// Whether a later instruction in the same block that uses its registers need not wait for it all the same.
    fn spares(&self, own: &Line, later: &Line) -> bool {
        if self.is_about_operands() {
            let in_order = IN_ORDER.iter().find(|(first, _)| *first == own.operation());
            if in_order.is_some_and(|(_, others)| others.contains(&later.operation())) {
                return true;
            }
        }
        let is_read = !self.is_about_operands() && self.registers.meets(&later.reads);
        !is_read && own.guard.excludes(later.guard)
    }
}

/// Finds the consumer of each producer within its own block, in one pass over the block.
pub struct Consumers {
    /// Producers by register: those that a write ends, and those that any use ends.
    until_written: Vec<Vec<usize>>,
    until_used: Vec<Vec<usize>>,
    fences: Vec<usize>,
    strong: Vec<usize>,
    /// How many more times a producer may be looked at.
    budget: usize,
}

impl Consumers {
    pub fn new(budget: usize) -> Self {
        let empty = || vec![Vec::new(); Registers::PLACES];
        Self {
            until_written: empty(),
            until_used: empty(),
            fences: Vec::new(),
            strong: Vec::new(),
            budget,
        }
    }

    /// Sets the consumers of the producers of a block. `None` if that takes too long.
    pub fn find(&mut self, lines: &[Line], range: std::ops::Range<usize>, producers: &mut Producers) -> Option<()> {
        for at in range.clone() {
            let line = &lines[at];
            let all = &mut producers.all;
            let ends = |all: &mut Vec<Producer>, index: usize| {
                let producer = &all[index];
                if producer.consumer.is_none() && !producer.spares(&lines[producer.at], line) {
                    all[index].consumer = Some(at);
                }
                all[index].consumer.is_none()
            };
            for place in line.writes.places() {
                self.budget = self.budget.checked_sub(self.until_written[place].len())?;
                self.until_written[place].retain(|index| ends(all, *index));
                self.budget = self.budget.checked_sub(self.until_used[place].len())?;
                self.until_used[place].retain(|index| ends(all, *index));
            }
            for place in line.reads.places() {
                self.budget = self.budget.checked_sub(self.until_used[place].len())?;
                self.until_used[place].retain(|index| ends(all, *index));
            }
            for (list, is_end) in [
                (&mut self.fences, MEMORY.contains(&line.operation())),
                (&mut self.strong, ends_strong(line)),
            ] {
                if is_end {
                    for index in list.drain(..) {
                        all[index].consumer.get_or_insert(at);
                    }
                }
            }
            for index in producers.of(at) {
                self.open(index, &producers.all[index]);
            }
        }
        self.close(&producers.all, producers.of(range.start).start..producers.of(range.end - 1).end);
        Some(())
    }

    fn open(&mut self, index: usize, producer: &Producer) {
        if producer.is_fence {
            self.fences.push(index);
            return;
        }
        if producer.is_strong && !producer.is_about_operands() {
            self.strong.push(index);
        }
        let lists = if producer.is_about_operands() { &mut self.until_written } else { &mut self.until_used };
        for place in producer.registers.places() {
            lists[place].push(index);
        }
    }

    /// Forgets these producers.
    fn close(&mut self, all: &[Producer], producers: std::ops::Range<usize>) {
        self.fences.clear();
        self.strong.clear();
        for producer in &all[producers] {
            for place in producer.registers.places() {
                self.until_written[place].clear();
                self.until_used[place].clear();
            }
        }
    }
}

/// What comes after the loads and atomics that other threads see.
fn ends_strong(line: &Line) -> bool {
    line.operation() == NOP || line.invalidates_all()
}

/// Where a block first uses each register: what it needs to know about producers of other blocks.
#[derive(Debug)]
pub struct FirstUses {
    writes: Vec<Option<usize>>,
    uses: Vec<Option<usize>>,
    memory: Option<usize>,
    end_of_strong: Option<usize>,
    meeting: Option<usize>,
}

impl FirstUses {
    pub fn of(lines: &[Line], range: std::ops::Range<usize>) -> Self {
        let mut first = Self {
            writes: vec![None; Registers::PLACES],
            uses: vec![None; Registers::PLACES],
            memory: None,
            end_of_strong: None,
            meeting: None,
        };
        for at in range {
            let line = &lines[at];
            for place in line.writes.places() {
                first.writes[place].get_or_insert(at);
                first.uses[place].get_or_insert(at);
            }
            for place in line.reads.places() {
                first.uses[place].get_or_insert(at);
            }
            if MEMORY.contains(&line.operation()) {
                first.memory.get_or_insert(at);
            }
            if ends_strong(line) {
                first.end_of_strong.get_or_insert(at);
            }
            if line.operation() == BSYNC {
                first.meeting.get_or_insert(at);
            }
        }
        first
    }

    /// The consumer in this block of a producer of another one.
    pub fn consumer(&self, producer: &Producer) -> Option<usize> {
        if producer.is_fence {
            return self.memory;
        }
        let first = |of: &[Option<usize>]| producer.registers.places().filter_map(|place| of[place]).min();
        if producer.is_about_operands() {
            return first(&self.writes);
        }
        let is_uniform = producer.registers.iter(File::Uniform).next().is_some();
        let meeting = self.meeting.filter(|_| is_uniform);
        let strong = self.end_of_strong.filter(|_| producer.is_strong);
        [first(&self.uses), meeting, strong].into_iter().flatten().min()
    }
}
