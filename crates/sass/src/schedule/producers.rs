//! Producers: instructions that set a scoreboard, and what each is about.
//!
//! An instruction may be two producers. One is over when its operands have been read: whatever overwrites them depends
//! on it. The other is over when its results are written: whatever uses or overwrites them depends on it. The first such
//! instruction is the consumer, which `consumers` finds.

use super::instructions::Line;
use super::latency;
use super::latency::{Family, Machine};
use crate::instruction::Instruction;
use crate::operation;
use crate::registers::{File, Registers};
use operation::{
    ATOM, ATOM_CAS, ATOM_FLOAT, ATOMG, ATOMG_CAS, ATOMG_FLOAT, ATOMS, ATOMS_CAS, BREV, DADD, DFMA, DMUL,
    DSETP, ERRBAR, F2F_DOUBLE, F2I, F2I_DOUBLE, FCHK, FENCE, FLO, FRND_DOUBLE, I2F_DOUBLE, LDC, LDGMC,
    LDGMC_FLOAT, LDS, LDSM, LONG_CONVERSIONS, MEMBAR, MUFU, POPC, REDG, REDG_FLOAT, S2UR, SHFL, SURED, SUST,
    SUST_FORMATTED, SYNCS, SYNCS_CCTL, SYNCS_EXCH, UBLKCP, UBLKPF, UMEMSETS, USTGR, UTCATOMSWS, UTMACCTL,
    UTMAPF, is_texture,
};

/// What is over when the scoreboard is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    OperandsAreRead,
    ResultsAreWritten,
}

/// What is done with a barrier in memory (older/blackwell-memory-barriers).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Barrier {
    /// `SYNCS.CCTL`: it must be over where something may access shared memory.
    Forgotten,
    /// `SYNCS.EXCH`: it must be over where a barrier is used, or other threads may see what is done.
    Set,
    /// `FENCE`, for copies that go on by themselves: the same, and where a warp acts as one.
    Fence,
}

impl Barrier {
    pub const ALL: [Self; 3] = [Self::Forgotten, Self::Set, Self::Fence];
    pub const COUNT: usize = Self::ALL.len();
}

#[derive(Clone, Debug)]
pub struct Producer {
    pub at: usize,
    pub until: Until,
    /// The operands, or the results.
    pub registers: Registers,
    /// The consumer in its own block.
    pub consumer: Option<usize>,
    /// What overwrites it under the opposite condition, as soon as it is over.
    pub overwritten: Option<usize>,
    pub latency: i64,
    /// How long its consumer in the block waits for it at least.
    pub wait: i64,
    /// When it is over, in cycles from the start of its block.
    pub ready: i64,
    /// The scoreboard.
    pub number: u8,
    /// Whether it is the result of an operation that takes very long.
    pub is_slow: bool,
    /// How much later than it is ready those take it to be that share its scoreboard and are not slow.
    pub delay: i64,
    /// Whether it does not: slow results, and double precision where it has stalls too (sm_100 from 13.3 on).
    pub ignores_delay: bool,
    /// Whether it orders memory: then consumers are what accesses memory, whatever the registers.
    pub is_fence: bool,
    /// Whether it is seen by other threads, so that it must be over before some operations that have no registers.
    pub is_strong: bool,
    /// Whether it is about a barrier in memory, and how others depend on it that have none of its registers.
    pub barrier: Option<Barrier>,
    /// Whether it is the result of an operation on textures or surfaces.
    pub is_texture: bool,
    /// Whether it stores to a surface, and must be over when the thread exits.
    pub is_surface: bool,
    /// Predicates that are written by the time the operands have been read.
    pub predicates: Registers,
    /// Whether the producer before this one is about the operands of the same instruction.
    has_mate: bool,
    /// Whether the last instruction of the block waits for the results of the same instruction.
    pub is_over: bool,
}

/// Operations whose predicate is written early.
const EARLY_PREDICATE: [u16; 6] = [ATOM, ATOM_CAS, ATOM_FLOAT, ATOMG, ATOMG_CAS, ATOMG_FLOAT];

const FENCES: [u16; 2] = [MEMBAR, ERRBAR];
/// `CGAERRBAR`, which shares its operation with `ERRBAR` and is none.
const CLUSTER_ERROR_BARRIER: u16 = 0x5ab;

/// Operations that finish in order, as one unit does them: each is named by the first of its group.
const UNITS: [&[u16]; 8] = [
    &[DFMA, DMUL, DADD, DSETP],
    &[LDS, LDSM, SHFL],
    &[
        F2I,
        FCHK,
        0x104,
        0x106,
        0x107,
        0x108,
        F2F_DOUBLE,
        F2I_DOUBLE,
        I2F_DOUBLE,
        FRND_DOUBLE,
        POPC,
        FLO,
        BREV,
    ],
    &[ATOM, ATOM_CAS, ATOM_FLOAT],
    &[ATOMG, ATOMG_CAS, ATOMG_FLOAT],
    &[ATOMS, ATOMS_CAS],
    &[REDG, REDG_FLOAT],
    &[SYNCS, SYNCS_EXCH],
];

/// The operation that names the unit. Some machines do conversions of 64 bits apart from the others, and sm_103 does exponentials
/// so.
fn unit(bits: Instruction, family: Family) -> u16 {
    let operation = bits.operation();
    if family.machine == Machine::Of103 && bits.is_exponential() {
        return MUFU;
    }
    let is_apart = family.machine != Machine::Of100 || family.converts_long_apart;
    if is_apart && LONG_CONVERSIONS.contains(&operation) {
        return F2F_DOUBLE;
    }
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
    pub fn add(&mut self, lines: &[Line], first: usize, skipped: Option<usize>, family: Family) {
        let mut held = Held::default();
        let mut constants = Constants::default();
        for (at, line) in (first..).zip(lines) {
            let start = self.all.len();
            self.starts.push(start);
            // What counted waits are about has a scoreboard of its own.
            if !line.is_counted() || line.is_awaited {
                self.add_line(at, line, skipped == Some(at), &mut held, family);
            }
            let is_late =
                constants.pass(line) && line.operation() == S2UR && family.machine != Machine::Of120;
            for producer in self.all[start..].iter_mut().filter(|_| is_late) {
                producer.latency += 1;
            }
        }
    }

    fn add_line(&mut self, at: usize, line: &Line, is_skipped: bool, held: &mut Held, family: Family) {
        let files = [File::General, File::Uniform, File::Predicate, File::UniformPredicate];
        let mut results = line.writes.within(&files);
        let is_read = line.bits.read_scoreboard().is_some();
        let is_written = line.bits.write_scoreboard().is_some() && !is_skipped;
        if is_read {
            let files = [File::General, File::Uniform];
            let is_late = reads_uniform_late(line.operation(), family);
            let operands = line.reads.within(if is_late { &files } else { &files[..1] });
            let mut producer = Producer::new(at, line, Until::OperandsAreRead, operands, family);
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
            results.insert_from(&held.take(unit(line.bits, family)));
            let producer = Producer::new(at, line, Until::ResultsAreWritten, results, family);
            self.all.push(Producer { has_mate: is_read, ..producer });
        } else if !results.is_empty() {
            held.add(unit(line.bits, family), &results);
        }
    }

    /// Notes that the last instruction of a block waits for this producer: then the operands of the same instruction have
    /// been read too, and it need not wait for that.
    pub fn end(&mut self, producer: usize) {
        if self.all[producer].has_mate {
            self.all[producer - 1].is_over = true;
        }
    }

    /// Makes the reading of operands take this long, if it is said how long, whatever the operation.
    pub fn read_operands_within(&mut self, cycles: Option<i64>) {
        let Some(cycles) = cycles else { return };
        for producer in self.all.iter_mut().filter(|producer| producer.is_about_operands()) {
            producer.latency = cycles;
        }
    }

    /// To be called after the last block.
    pub fn finish(&mut self) {
        self.starts.push(self.all.len());
    }
}

/// The unit for constants and special registers, in cycles by the stalls. A `S2UR` that does not wait for it takes a cycle more than
/// one that does.
#[derive(Default)]
struct Constants {
    now: i64,
    last: Option<i64>,
}

impl Constants {
    /// How long the unit is busy.
    const BUSY: i64 = 8;

    /// Goes on to the next instruction; returns whether the unit was idle.
    fn pass(&mut self, line: &Line) -> bool {
        let is_idle = self.last.is_none_or(|last| self.now - last >= Self::BUSY);
        if matches!(line.operation(), LDC | S2UR) {
            self.last = Some(self.now);
        }
        self.now += i64::from(line.bits.stall()).max(1);
        is_idle
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

/// Whether this operation may take its time to read uniform registers.
fn reads_uniform_late(operation: u16, family: Family) -> bool {
    let is_copy = family.meets_with_copies && operation::TENSOR_COPIES.contains(&operation);
    let is_prefetch = matches!(operation, UTMAPF | UTMACCTL | UBLKPF);
    let is_tensor_unit = operation::TENSOR_UNIT.contains(&operation);
    let is_surface = matches!(operation, SUST | SUST_FORMATTED);
    let is_late_since_13_1 = matches!(operation, SURED | USTGR | UTCATOMSWS) && !family.waits_at_ends;
    is_texture(operation)
        || matches!(operation, SYNCS_EXCH | UBLKCP | UMEMSETS)
        || is_prefetch
        || is_copy
        || is_tensor_unit
        || is_surface
        || is_late_since_13_1
}

impl Producer {
    fn new(at: usize, line: &Line, until: Until, registers: Registers, family: Family) -> Self {
        let operation = line.operation();
        let is_slow = latency::is_slow(operation);
        let is_stalled = family.machine == Machine::Of100 && latency::is_double(operation);
        let is_atomic = EARLY_PREDICATE.contains(&operation) || matches!(operation, LDGMC | LDGMC_FLOAT);
        let is_fence = FENCES.contains(&operation) && line.bits.opcode() != CLUSTER_ERROR_BARRIER;
        let is_result = until == Until::ResultsAreWritten;
        Self {
            at,
            until,
            registers,
            consumer: None,
            overwritten: None,
            latency: if is_result {
                latency::of_result(line, family)
            } else {
                latency::of_operands(line, family)
            },
            wait: if is_result { latency::of_wait(line, family) } else { 0 },
            ready: 0,
            number: 0,
            is_slow: is_slow && is_result,
            ignores_delay: is_result && (is_slow || is_stalled),
            delay: if is_slow && is_result { latency::delay_of_sharers(line) } else { 0 },
            is_fence: is_fence || line.invalidates_all(),
            is_strong: is_slow && (line.is_strong_load() || is_atomic) || line.is_acquired,
            barrier: match operation {
                SYNCS_CCTL if is_result => Some(Barrier::Forgotten),
                SYNCS_EXCH if is_result => Some(Barrier::Set),
                FENCE if is_result => Some(Barrier::Fence),
                _ => None,
            },
            is_texture: is_result && is_texture(operation),
            is_surface: matches!(operation, SUST | SUST_FORMATTED | SURED) && !is_result,
            predicates: Registers::default(),
            has_mate: false,
            is_over: false,
        }
    }

    /// Whether the result, or what is read, is in uniform registers.
    pub fn is_uniform(&self) -> bool {
        self.registers.iter(File::Uniform).next().is_some()
    }

    pub fn is_about_operands(&self) -> bool {
        self.until == Until::OperandsAreRead
    }
}
