//! Producers: instructions that set a scoreboard, what each is about, and what depends on it.
//!
//! An instruction may be two producers. One is over when its operands have been read: whatever overwrites them depends
//! on it. The other is over when its results are written: whatever uses or overwrites them depends on it. The first such
//! instruction is the consumer.

use super::instructions::{Line, operation};
use super::latency;
use crate::registers::{File, Registers};
use operation::{
    ATOM, ATOM_CAS, ATOM_FLOAT, ATOMG, ATOMG_CAS, ATOMG_FLOAT, ATOMS, ATOMS_CAS, BREV, BSYNC, ERRBAR, EXIT,
    F2I, FCHK, FENCE, FLO, LD, LDG, LDGDEPBAR, LDL, LDS, LDSM, MEMBAR, NOP, POPC, REDG, REDG_FLOAT, SHFL, ST,
    STG, STL, STS, SUST, SYNCS,
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
    /// Whether it is the result of an operation on textures or surfaces.
    pub is_texture: bool,
    /// Whether it stores to a surface, and must be over when the thread exits.
    is_surface: bool,
    /// Predicates that are written by the time the operands have been read.
    predicates: Registers,
    /// Whether the producer before this one is about the operands of the same instruction.
    has_mate: bool,
    /// Whether the last instruction of the block waits for the results of the same instruction.
    pub is_over: bool,
}

/// Operations whose predicate is written early.
const EARLY_PREDICATE: [u16; 6] = [ATOM, ATOM_CAS, ATOM_FLOAT, ATOMG, ATOMG_CAS, ATOMG_FLOAT];

/// Operations that access memory in an order that fences care about.
const MEMORY: [u16; 18] = [
    LD,
    LDG,
    LDL,
    LDS,
    ST,
    STG,
    STL,
    STS,
    ATOM,
    ATOM_CAS,
    ATOMS,
    REDG,
    MEMBAR,
    0x198,
    ATOMG_FLOAT,
    SYNCS,
    ATOMG,
    ATOMG_CAS,
];
const FENCES: [u16; 3] = [MEMBAR, ERRBAR, FENCE];
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
    &[F2I, FCHK, 0x104, 0x106, 0x107, 0x108, 0x110, 0x111, 0x112, 0x113, POPC, FLO, BREV],
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
        let mut held = Held::default();
        for (at, line) in (first..).zip(lines) {
            self.starts.push(self.all.len());
            // What counted waits are about has a scoreboard of its own.
            if line.operation() != LDGDEPBAR {
                self.add_line(at, line, skipped == Some(at), &mut held);
            }
        }
    }

    fn add_line(&mut self, at: usize, line: &Line, is_skipped: bool, held: &mut Held) {
        let files = [File::General, File::Uniform, File::Predicate, File::UniformPredicate];
        let mut results = line.writes.within(&files);
        let is_read = line.bits.read_scoreboard().is_some();
        let is_written = line.bits.write_scoreboard().is_some() && !is_skipped;
        if is_read {
            let files = [File::General, File::Uniform];
            let operands = line.reads.within(if is_texture(line.operation()) { &files } else { &files[..1] });
            let mut producer = Producer::new(at, line, Until::OperandsAreRead, operands);
            if EARLY_PREDICATE.contains(&line.operation()) {
                producer.predicates = results.within(&[File::Predicate]);
                results.remove(&producer.predicates);
            }
            if is_written {
                producer.registers.remove(&results);
            }
            self.all.push(producer);
        }
        if is_written {
            results.insert_from(&held.take(unit(line.operation())));
            let producer = Producer::new(at, line, Until::ResultsAreWritten, results);
            self.all.push(Producer { has_mate: is_read, ..producer });
        } else if !results.is_empty() {
            held.add(unit(line.operation()), &results);
        }
    }

    /// Notes that the last instruction of a block waits for this producer: then the operands of the same instruction have
    /// been read too, and it need not wait for that.
    pub fn end(&mut self, producer: usize) {
        if self.all[producer].has_mate {
            self.all[producer - 1].is_over = true;
        }
    }

    /// To be called after the last block.
    pub fn finish(&mut self) {
        self.starts.push(self.all.len());
    }
}

/// Results that are written without a scoreboard: they are over when a later one of the same unit is.
#[derive(Default)]
struct Held(Vec<(u16, Registers)>);

impl Held {
    fn add(&mut self, unit: u16, results: &Registers) {
        match self.0.iter_mut().find(|(of, _)| *of == unit) {
            Some((_, registers)) => registers.insert_from(results),
            None => self.0.push((unit, *results)),
        }
    }

    fn take(&mut self, unit: u16) -> Registers {
        let at = self.0.iter().position(|(of, _)| *of == unit);
        at.map_or(Registers::default(), |at| self.0.swap_remove(at).1)
    }
}

/// Whether this is an operation on textures or surfaces.
pub fn is_texture(operation: u16) -> bool {
    matches!(operation, 0x160..=0x16f | 0x199 | 0x19a)
}

impl Producer {
    fn new(at: usize, line: &Line, until: Until, registers: Registers) -> Self {
        let operation = line.operation();
        let is_slow = latency::is_slow(operation);
        let is_atomic = EARLY_PREDICATE.contains(&operation);
        let is_fence = FENCES.contains(&operation) && line.bits.opcode() != CLUSTER_ERROR_BARRIER;
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
            is_fence: is_fence || line.invalidates_all(),
            is_strong: is_slow && (line.is_strong_load() || is_atomic),
            is_texture: is_result && is_texture(operation),
            is_surface: operation == SUST && !is_result,
            predicates: Registers::default(),
            has_mate: false,
            is_over: false,
        }
    }

    pub fn is_about_operands(&self) -> bool {
        self.until == Until::OperandsAreRead
    }

    /// Whether a later instruction in the same block that uses its registers need not wait for it all the same.
    fn spares(&self, own: &Line, later: &Line) -> bool {
        if self.is_about_operands() {
            if self.predicates.meets(&later.reads) || self.predicates.meets(&later.writes) {
                return false;
            }
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
    surfaces: Vec<usize>,
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
            surfaces: Vec::new(),
            budget,
        }
    }

    /// Sets the consumers of the producers of a block. `None` if that takes too long.
    pub fn find(
        &mut self,
        lines: &[Line],
        range: std::ops::Range<usize>,
        producers: &mut Producers,
    ) -> Option<()> {
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
                (&mut self.surfaces, line.operation() == EXIT),
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
        if producer.is_surface {
            self.surfaces.push(index);
        }
        let lists = if producer.is_about_operands() { &mut self.until_written } else { &mut self.until_used };
        for place in producer.registers.places() {
            lists[place].push(index);
        }
        for place in producer.predicates.places() {
            self.until_used[place].push(index);
        }
    }

    /// Forgets these producers.
    fn close(&mut self, all: &[Producer], producers: std::ops::Range<usize>) {
        self.fences.clear();
        self.strong.clear();
        self.surfaces.clear();
        for producer in &all[producers] {
            for place in producer.registers.places().chain(producer.predicates.places()) {
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
    meeting: Option<usize>,
    exit: Option<usize>,
}

impl FirstUses {
    pub fn of(lines: &[Line], range: std::ops::Range<usize>) -> Self {
        let mut first = Self {
            writes: vec![None; Registers::PLACES],
            uses: vec![None; Registers::PLACES],
            memory: None,
            meeting: None,
            exit: None,
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
            if line.operation() == BSYNC {
                first.meeting.get_or_insert(at);
            }
            if line.operation() == EXIT {
                first.exit.get_or_insert(at);
            }
        }
        first
    }

    /// The consumer in this block of a producer of another one.
    pub fn consumer(&self, producer: &Producer) -> Option<usize> {
        if producer.is_fence {
            return self.memory;
        }
        let first = |registers: &Registers, of: &[Option<usize>]| {
            registers.places().filter_map(|place| of[place]).min()
        };
        if producer.is_about_operands() {
            let exit = self.exit.filter(|_| producer.is_surface);
            let uses =
                [first(&producer.registers, &self.writes), first(&producer.predicates, &self.uses), exit];
            return uses.into_iter().flatten().min();
        }
        let is_uniform = producer.registers.iter(File::Uniform).next().is_some();
        let meeting = self.meeting.filter(|_| is_uniform);
        [first(&producer.registers, &self.uses), meeting].into_iter().flatten().min()
    }
}
