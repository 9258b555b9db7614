//! What the schedule depends on in each instruction: operation, registers, guard.

use crate::instruction::{Instruction, TRUE};
use crate::operands::Operands;
use crate::operands::exact::operands;
use crate::operation;
use crate::registers::{File, Registers};
use crate::table::is_shared_uniform;
use operation::{
    ATOM, ATOM_CAS, ATOM_FLOAT, ATOMG, ATOMG_CAS, ATOMG_FLOAT, BRA, BRX, BRXU, BSYNC, CCTL, EXIT, LD, LDG,
    LDL, LDS, NOP, REDG, REDG_FLOAT, ST, STG, WARPSYNC,
};

const MEETING_OF_ALL: u16 = 0x948;
/// From this stall on a `NOP` passes the time.
const PASSES_TIME: u8 = 3;

/// The stall of what is waited for at once.
pub const DELAYED: u8 = 2;

/// Operations whose guard is a uniform predicate, in ranges.
const UNIFORM_GUARD: [(u16, u16); 14] = [
    (0x04c, 0x05e),
    (0x080, 0x085),
    (0x087, 0x0c9),
    (0x0cb, 0x0cb),
    (0x177, 0x178),
    (0x1ac, 0x1ac),
    (0x1b2, 0x1b2),
    (0x1b4, 0x1bc),
    (0x1bf, 0x1bf),
    (0x1c3, 0x1c3),
    (0x1c7, 0x1c7),
    (0x1c9, 0x1cb),
    (0x1ce, 0x1ce),
    (0x1e3, 0x1ee),
];

/// Whether the instruction is one of the uniform unit.
fn is_uniform(bits: Instruction) -> bool {
    let operation = bits.operation();
    UNIFORM_GUARD.iter().any(|(first, last)| (*first..=*last).contains(&operation)) || is_shared_uniform(bits)
}

#[derive(Clone, Copy, Debug)]
pub struct Line {
    pub bits: Instruction,
    pub reads: Registers,
    pub writes: Registers,
    pub guard: Guard,
    /// Whether what comes next waits for it: `MEMBAR`, and what forgets the description of a tensor, to the `UTMACMDFLUSH` after it
    /// (mercury/tensor-descriptions).
    pub is_awaited: bool,
    /// Whether it is a load of shared memory that acquires: what comes next says so, and waits for it (mercury/acquire-loads-of-shared,
    /// older/blackwell-meetings-after-loads).
    pub is_acquired: bool,
}

/// The predicate that an instruction depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// As in the instruction: 8 is set where it is negated.
    predicate: u8,
    is_uniform: bool,
    /// How often the predicate has been written in the block before.
    version: u32,
}

impl Guard {
    pub fn exists(self) -> bool {
        self.predicate != TRUE
    }

    fn file(self) -> File {
        if self.is_uniform { File::UniformPredicate } else { File::Predicate }
    }

    /// Whether one of the two instructions is not executed if the other is.
    pub fn excludes(self, other: Self) -> bool {
        self.exists() && other.exists() && Self { predicate: self.predicate ^ 8, ..self } == other
    }
}

impl Line {
    /// `None` if it is not known what the instruction does.
    fn of(bits: Instruction) -> Option<Self> {
        let Operands { mut reads, writes, .. } =
            if bits.is_call_or_return() { call(bits) } else { operands(bits)? };
        let guard = Guard { predicate: bits.guard(), is_uniform: is_uniform(bits), version: 0 };
        reads.insert(guard.file(), guard.predicate & 7, 1);
        let is_awaited = matches!(bits.operation(), operation::MEMBAR | operation::FORGET_TENSOR);
        Some(Self { bits, reads, writes, guard, is_awaited, is_acquired: false })
    }

    pub fn all(code: &[u8]) -> Option<Vec<Self>> {
        let own = (0..code.len() / crate::instruction::SIZE).map(|at| Self::of(Instruction::at(code, at)));
        let mut lines: Vec<Self> = own.collect::<Option<_>>()?;
        for at in 1..lines.len() {
            let is_flush = lines[at].operation() == operation::UTMACMDFLUSH;
            lines[at].is_awaited |= is_flush && lines[at - 1].bits.forgets_tensor();
            let next = lines.get(at + 1).map(Self::operation);
            let acquires = lines[at].ends_strong() && next != Some(BSYNC);
            let load = lines[at - 1];
            let is_waited = load.bits.set_mask() & lines[at].bits.wait_mask() != 0;
            lines[at - 1].is_acquired = acquires && load.operation() == LDS && is_waited;
        }
        Some(lines)
    }

    pub fn operation(&self) -> u16 {
        self.bits.operation()
    }

    pub fn is_uniform(&self) -> bool {
        self.guard.is_uniform
    }

    /// Whether the predicate at this place is the guard.
    pub fn is_guard(&self, place: usize) -> bool {
        self.guard.exists() && self.guard.file().place(self.guard.predicate & 7) == place
    }

    /// What comes after the loads and atomics that other threads see. A `NOP` that takes longer only passes the time.
    pub fn ends_strong(&self) -> bool {
        self.operation() == NOP && self.bits.stall() < PASSES_TIME || self.invalidates_all()
    }

    /// Whether control may go elsewhere.
    pub fn is_branch(&self) -> bool {
        matches!(self.operation(), BRA | EXIT | BRX | BRXU)
    }

    /// `WARPSYNC.COLLECTIVE`: the threads go on as one from here to `ENDCOLLECTIVE`.
    pub fn begins_collective(&self) -> bool {
        self.operation() == WARPSYNC && self.bits.field(84, 3) == 4
    }

    /// Whether this is what counted waits are about: copies that go on by themselves.
    pub fn is_counted(&self) -> bool {
        matches!(self.operation(), operation::LDGDEPBAR | operation::UTMACMDFLUSH)
    }

    /// `WARPSYNC.ALL`: all threads of the warp meet.
    pub fn is_meeting_of_all(&self) -> bool {
        self.bits.opcode() == MEETING_OF_ALL
    }

    /// Whether it is a producer.
    pub fn sets_scoreboard(&self) -> bool {
        self.bits.write_scoreboard().is_some() || self.bits.read_scoreboard().is_some()
    }

    /// Whether it has to keep its distance from a barrier before it: another barrier, memory, control, and what is of no fixed latency.
    pub fn keeps_from_barrier(&self) -> bool {
        const MEMORY: std::ops::RangeInclusive<u16> = LD..=operation::LDGDEPBAR;
        let operation = self.operation();
        let is_control = self.is_branch() || matches!(operation, operation::BSSY | operation::BSYNC);
        let is_slow = MEMORY.contains(&operation) || operation::DOUBLE.contains(&operation);
        operation == operation::BAR || is_control || is_slow || self.sets_scoreboard()
    }

    pub fn ends_collective(&self) -> bool {
        self.operation() == operation::ENDCOLLECTIVE
    }

    /// Whether this is put in beside a barrier for memory when the schedule has been made, so that it takes no time there.
    pub fn is_precaution(&self) -> bool {
        let is_never_done = !self.is_uniform() && self.bits.guard() == TRUE | 8;
        is_never_done && self.operation() == operation::LDS
            || self.operation() == operation::ERRBAR
            || self.operation() == operation::MEMBAR && self.bits.stall() == 0
    }

    /// Whether it is a load that is ordered with those of other threads (`.STRONG`).
    pub fn is_strong_load(&self) -> bool {
        matches!(self.operation(), LD | LDG | LDL) && self.is_strong()
    }

    /// Whether it accesses memory in an order that other threads see.
    pub fn is_strong_access(&self) -> bool {
        let is_atomic = matches!(
            self.operation(),
            ATOM | ATOM_CAS | ATOM_FLOAT | ATOMG | ATOMG_CAS | ATOMG_FLOAT | REDG | REDG_FLOAT
        );
        (is_atomic || matches!(self.operation(), LD | LDG | ST | STG)) && self.is_strong()
    }

    fn is_strong(&self) -> bool {
        matches!(self.bits.field(77, 4), 5..=7 | 10)
    }

    /// Whether it copies to shared memory and goes on by itself: `LDGSTS`, and `UTMALDG` to `UBLKCP`.
    pub fn is_copy(&self) -> bool {
        let is_of_tensors = operation::TENSOR_COPIES.contains(&self.operation()) && !self.is_counted();
        self.operation() == operation::LDGSTS || is_of_tensors
    }

    /// `CCTL.IVALL`: forgets what is in the cache.
    pub fn invalidates_all(&self) -> bool {
        self.operation() == CCTL && self.bits.field(87, 4) == 4
    }
}

/// Calls and returns: what is at the other end is waited for in any case. A return has its address in two registers.
fn call(bits: Instruction) -> Operands {
    let mut operands = Operands::default();
    if bits.is_return() {
        operands.reads.insert(File::General, bits.byte(3), 2);
    }
    operands
}

/// Counts the writes of guard predicates within each block.
pub fn number_guards(lines: &mut [Line]) {
    let mut written = [[0; 8]; 2];
    for line in lines {
        line.guard.version =
            written[usize::from(line.guard.is_uniform)][usize::from(line.guard.predicate & 7)];
        for (counts, file) in written.iter_mut().zip([File::Predicate, File::UniformPredicate]) {
            for predicate in line.writes.iter(file) {
                counts[usize::from(predicate)] += 1;
            }
        }
    }
}
