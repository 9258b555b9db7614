//! Consumers: the first instruction that depends on a producer, in its own block or in a later one.

use super::instructions::Line;
use super::latency::{Family, Machine};
use super::producers::{Barrier, Producer, Producers};
use crate::operation;
use crate::registers::Registers;
use operation::{
    ATOM, ATOM_CAS, ATOMG, ATOMG_CAS, ATOMG_FLOAT, ATOMS, ATOMS_CAS, BAR, BPT, BREAK, BRX, BSYNC, DADD, DFMA,
    DMUL, DOUBLE, DSETP, ELECT, EXIT, F2I, FENCE, IMMA, LD, LDC, LDG, LDL, LDS, LDSM, MEMBAR, NOP, REDG,
    REDUX, SHFL, ST, STG, STL, STS, SYNCS, SYNCS_CCTL, SYNCS_EXCH, UBLKCP, WARPSYNC, YIELD,
};

/// Operations that access memory in an order that fences care about.
const MEMORY: [u16; 22] = [
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
    FENCE,
    SYNCS_CCTL,
    SYNCS_EXCH,
    UBLKCP,
];

/// Operations that read their operands in the order of the instructions: the first, and those that may overwrite what it
/// reads without waiting.
const IN_ORDER: [(u16, &[u16]); 16] = [
    (F2I, &[F2I]),
    (IMMA, &[IMMA]),
    (DMUL, &DOUBLE),
    (DADD, &DOUBLE),
    (DSETP, &DOUBLE),
    (DFMA, &DOUBLE),
    (LD, &[LD]),
    (LDG, &[LDG, LDL]),
    (LDL, &[LDL]),
    (ATOMG, &[LDG]),
    (LDS, &[LDS, SHFL, LDSM]),
    (LDSM, &[LDS]),
    (ST, &[LDS, SHFL, LDSM]),
    (STG, &[LDS, SHFL, LDSM]),
    (STL, &[LDS, SHFL, LDSM]),
    (STS, &[LDS, SHFL, LDSM]),
];

/// Whether a later instruction in the same block that uses the registers of a producer need not wait for it all the same.
/// `is_apart` says whether a counted wait comes between them: then the order of reading says nothing.
fn is_spared(producer: &Producer, own: &Line, later: &Line, is_apart: bool, family: Family) -> bool {
    if producer.is_about_operands() {
        if producer.predicates.meets(&later.reads) || producer.predicates.meets(&later.writes) {
            return false;
        }
        let in_order = IN_ORDER.iter().find(|(first, _)| *first == own.operation());
        let is_in_order = in_order.is_some_and(|(_, others)| others.contains(&later.operation()));
        // Double precision has scoreboards on sm_100 from 13.3 on, beside its stalls.
        let is_waited = family.machine == Machine::Of100 && DOUBLE.contains(&later.operation());
        if is_in_order && !is_apart && !is_waited {
            return true;
        }
    }
    let is_read = !producer.is_about_operands() && producer.registers.meets(&later.reads);
    let is_one_unit = [own, later].iter().all(|line| DOUBLE.contains(&line.operation()));
    (!is_read || is_one_unit || family.exempts_opposite_reads) && own.guard.excludes(later.guard)
}

/// Whether a result is over, as times are counted, before a later instruction overwrites it, although that does not wait for it.
/// Loads of one kind finish in order, but for those of constants.
fn is_overwritten(producer: &Producer, own: &Line, later: &Line) -> bool {
    let finishes_before = own.operation() == later.operation() && own.operation() != LDC;
    !producer.is_about_operands()
        && !producer.is_slow
        && !finishes_before
        && later.bits.write_scoreboard().is_some()
        && producer.registers.meets(&later.writes)
}

/// Finds the consumer of each producer within its own block, in one pass over the block.
pub struct Consumers {
    /// Producers by register: those that a write ends, and those that any use ends.
    until_written: Vec<Vec<usize>>,
    until_used: Vec<Vec<usize>>,
    fences: Vec<usize>,
    strong: Vec<usize>,
    surfaces: Vec<usize>,
    /// By kind of [`Barrier`].
    barriers: [Vec<usize>; Barrier::COUNT],
    uniform: Vec<usize>,
    family: Family,
    /// How many more times a producer may be looked at.
    budget: usize,
}

impl Consumers {
    pub fn new(budget: usize, family: Family) -> Self {
        let empty = || vec![Vec::new(); Registers::PLACES];
        Self {
            until_written: empty(),
            until_used: empty(),
            fences: Vec::new(),
            strong: Vec::new(),
            surfaces: Vec::new(),
            barriers: Default::default(),
            uniform: Vec::new(),
            family,
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
        let first = producers.of(range.start).start;
        let mut counted = None;
        for at in range.clone() {
            let line = &lines[at];
            if line.bits.counted_wait().is_some() {
                counted = Some(at);
            }
            let all = &mut producers.all;
            let ends = |all: &mut Vec<Producer>, index: usize| {
                let producer = &mut all[index];
                let own = &lines[producer.at];
                let is_apart = counted > Some(producer.at);
                if producer.consumer.is_none() {
                    if !is_spared(producer, own, line, is_apart, self.family) {
                        producer.consumer = Some(at);
                    } else if is_overwritten(producer, own, line) {
                        producer.overwritten.get_or_insert(at);
                    }
                }
                producer.consumer.is_none()
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
            if at > range.start && lines[at - 1].is_awaited {
                for index in producers.of(at - 1) {
                    producers.all[index].consumer.get_or_insert(at);
                }
            }
            let all = &mut producers.all;
            let [forgotten, set, fence] = &mut self.barriers;
            for (list, is_end) in [
                (&mut self.fences, MEMORY.contains(&line.operation())),
                (&mut self.strong, line.ends_strong() && !(at > range.start && is_filler(lines, at))),
                (&mut self.surfaces, line.operation() == EXIT),
                (forgotten, is_end_of(Barrier::Forgotten, line, self.family)),
                (set, is_end_of(Barrier::Set, line, self.family)),
                (fence, is_end_of(Barrier::Fence, line, self.family)),
                (&mut self.uniform, is_meeting(line, self.family)),
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
        join_stores(lines, counted, &mut producers.all[first..]);
        // A return waits for everything.
        if lines[range.end - 1].bits.is_return() {
            let own = producers.of(range.start).start..producers.of(range.end - 1).end;
            for producer in &mut producers.all[own] {
                producer.consumer.get_or_insert(range.end - 1);
            }
        }
        self.close(&producers.all, producers.of(range.start).start..producers.of(range.end - 1).end);
        Some(())
    }

    fn open(&mut self, index: usize, producer: &Producer) {
        if let Some(kind) = producer.barrier {
            self.barriers[kind as usize].push(index);
        }
        if producer.is_uniform() && !producer.is_surface {
            self.uniform.push(index);
        }
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
        self.barriers.iter_mut().for_each(Vec::clear);
        self.uniform.clear();
        for producer in &all[producers] {
            for place in producer.registers.places().chain(producer.predicates.places()) {
                self.until_written[place].clear();
                self.until_used[place].clear();
            }
        }
    }
}

/// What waits after a counted wait for one store to shared memory before it to have read its operands waits for all of them
/// (older/blackwell-copies).
fn join_stores(lines: &[Line], counted: Option<usize>, producers: &mut [Producer]) {
    let Some(counted) = counted else { return };
    let is_joined = |producer: &Producer| {
        producer.is_about_operands()
            && lines[producer.at].operation() == STS
            && producer.at < counted
            && producer.consumer.is_none_or(|consumer| consumer > counted)
    };
    let consumer = producers.iter().filter(|producer| is_joined(producer)).filter_map(|p| p.consumer).min();
    for producer in producers.iter_mut().filter(|producer| is_joined(producer)) {
        producer.consumer = consumer;
    }
}

/// Whether an instruction within a block makes threads meet or part, so that uniform registers must be there.
fn is_meeting(line: &Line, family: Family) -> bool {
    matches!(line.operation(), WARPSYNC | YIELD | EXIT | BREAK | BRX | BPT) && family.meets_with_uniform
}

/// Whether an instruction waits for what was done with barriers in memory (older/blackwell-memory-barriers).
fn is_end_of(kind: Barrier, line: &Line, family: Family) -> bool {
    let is_access = match (kind, line.operation()) {
        (_, SYNCS | SYNCS_CCTL)
        | (Barrier::Forgotten | Barrier::Fence, SYNCS_EXCH)
        | (Barrier::Forgotten, FENCE | LD | LDS | ST | STS | ATOM | ATOM_CAS | ATOMS | ATOMS_CAS)
        | (Barrier::Fence, SHFL | REDUX | ELECT) => true,
        (Barrier::Forgotten, _) => false,
        (Barrier::Set | Barrier::Fence, _) => line.is_strong_access(),
    };
    let is_meeting = match line.operation() {
        BAR => true,
        MEMBAR => kind != Barrier::Fence && (family.meets_with_copies || line.bits.stall() != 0),
        _ => false,
    };
    (is_access || line.is_copy()) && !line.is_precaution() || is_meeting
}

/// Whether an instruction makes the stall of the one before longer, which is the longest there is.
pub fn is_filler(lines: &[Line], at: usize) -> bool {
    lines[at].operation() == NOP && lines[at - 1].bits.stall() == LONGEST_STALL
}

const LONGEST_STALL: u8 = 15;

/// What blocks use, whichever of them it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    reads: Registers,
    writes: Registers,
    has_memory: bool,
    /// Whether something ends each kind of [`Barrier`].
    ends: [bool; Barrier::COUNT],
    has_exit: bool,
}

impl Uses {
    /// Adds what a block uses.
    pub fn add(&mut self, lines: &[Line], family: Family) {
        for line in lines {
            self.reads.insert_from(&line.reads);
            self.writes.insert_from(&line.writes);
            self.has_memory |= MEMORY.contains(&line.operation());
            for (ends, kind) in self.ends.iter_mut().zip(Barrier::ALL) {
                *ends |= is_end_of(kind, line, family);
            }
            self.has_exit |= line.operation() == EXIT;
        }
    }

    /// Adds what others use. Returns whether that is more than before.
    pub fn join(&mut self, other: &Self) -> bool {
        let before = self.clone();
        self.reads.insert_from(&other.reads);
        self.writes.insert_from(&other.writes);
        self.has_memory |= other.has_memory;
        self.ends = Barrier::ALL.map(|kind| self.ends[kind as usize] || other.ends[kind as usize]);
        self.has_exit |= other.has_exit;
        *self != before
    }

    /// Whether something there depends on a producer of another block. That threads meet does not matter.
    pub fn has_consumer(&self, producer: &Producer) -> bool {
        let is_used = |registers: &Registers| registers.meets(&self.reads) || registers.meets(&self.writes);
        if producer.is_fence {
            self.has_memory
        } else if producer.is_about_operands() {
            producer.registers.meets(&self.writes)
                || is_used(&producer.predicates)
                || producer.is_surface && self.has_exit
        } else {
            is_used(&producer.registers) || producer.barrier.is_some_and(|kind| self.ends[kind as usize])
        }
    }
}

/// Where a block first uses each register: what it needs to know about producers of other blocks.
#[derive(Debug)]
pub struct FirstUses {
    writes: Vec<Option<usize>>,
    uses: Vec<Option<usize>>,
    memory: Option<usize>,
    /// What ends each kind of [`Barrier`].
    ends: [Option<usize>; Barrier::COUNT],
    meeting: Option<usize>,
    exit: Option<usize>,
}

impl FirstUses {
    pub fn of(lines: &[Line], range: std::ops::Range<usize>, family: Family) -> Self {
        let mut first = Self {
            writes: vec![None; Registers::PLACES],
            uses: vec![None; Registers::PLACES],
            memory: None,
            ends: [None; Barrier::COUNT],
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
            for (end, kind) in first.ends.iter_mut().zip(Barrier::ALL) {
                if is_end_of(kind, line, family) {
                    end.get_or_insert(at);
                }
            }
            if line.operation() == BSYNC || is_meeting(line, family) {
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
            let meeting = self.meeting.filter(|_| producer.is_uniform() && !producer.is_surface);
            let uses = [
                first(&producer.registers, &self.writes),
                first(&producer.predicates, &self.uses),
                exit,
                meeting,
            ];
            return uses.into_iter().flatten().min();
        }
        let meeting = self.meeting.filter(|_| producer.is_uniform());
        let end = producer.barrier.and_then(|kind| self.ends[kind as usize]);
        [first(&producer.registers, &self.uses), meeting, end].into_iter().flatten().min()
    }
}
