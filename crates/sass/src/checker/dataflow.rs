//! What is under way where, in both codes at once.
//!
//! An instruction that sets a scoreboard is a producer. Its set is under way from then on until something waits for the
//! scoreboard. Along every path, each set is under way in both codes, or over in both, or over in one of them only. The
//! bad case is `LATE`: over in the old code, under way in the new one. At no instruction that depends on its producer may
//! a set be late. Paths are followed forward, block by block, until nothing changes; where paths meet, all that may be is
//! kept. As old and new code are followed along the same path, a path that never happens can only make the checker refuse.

use super::align::{Alignment, Step, is_let_go};
use super::saving::{restores, saves};
use super::violation::{Problem, Violation};
use crate::flow::{Flow, Jumps, has_other_place, is_indirect_branch, lists_of, place, sets_meeting};
use crate::instruction::{CountedWait, Instruction, SCOREBOARDS};
use crate::operands::exact::{self, checked};
use crate::operands::{Operands, is_ordering, is_ordering_producer, uses_general};
use crate::operation::{BAR, DMMA, DOUBLE, LONG_CONVERSIONS, PREEXIT, TENSOR_COPIES, UCGABAR};
use crate::registers::{File, Registers};
use crate::stack_pointer::mentions_stack_pointer;
use std::collections::HashMap;
use std::ops::Range;

/// Under way in both codes; over in the old code only; over in the new code only.
const BOTH: u8 = 1;
const LATE: u8 = 2;
const EARLY: u8 = 4;

/// The mask that waits for all scoreboards.
const EVERYTHING: u8 = (1 << SCOREBOARDS) - 1;

/// A guard: what its negation adds, and the predicate that is always true.
const OPPOSITE: u8 = 8;
const ALWAYS: u8 = 7;
/// `LD`, `LDG`, `LDL` and `LDS`; below this, operations are plain arithmetic.
const GUARDED_LOADS: [u16; 4] = [0x180, 0x181, 0x183, LDS];
const FIRST_OF_OTHERS: u16 = 0x04c;
const LDC: u16 = 0x182;

/// A bound on the work: sets that are looked at, for each step of the code.
const WORK_PER_STEP: usize = 256;

const STACK_POINTER: u8 = 1;
/// `LDGDEPBAR`, `B2R`.
const CARE_FOR_RESULTS: [u16; 2] = [0x1af, 0x11c];
/// `DEPBAR`, `LDGDEPBAR`: they begin or end the counting of copies to shared memory, and care for nothing that is about registers
/// alone. Assemblers let loads, matrices and what is read be under way there.
const COUNT_COPIES: [u16; 2] = [0x11a, 0x1af];
/// What forgets global memory that is in a cache, and what takes the result of a barrier, do not care for `LDSM`, `S2R`, `LDC`, `LDS`,
/// `LDCU` and `S2UR`.
const CCTL: u16 = 0x18f;
const B2R: u16 = 0x11c;
const OTHER_MEMORY: [u16; 6] = [0x03b, 0x119, 0x182, 0x184, 0x1ac, 0x1c3];
/// `MEMBAR`, `ERRBAR`, `ACQBULK`, `BPT`, `NANOSLEEP`, `SYNCS`, `FENCE`, `UCGABAR_ARV` and `UCGABAR_WAIT`: in the objects of `cargo xtask
/// realcode` assemblers let `S2R`, `LDC`, `LDCU` and `S2UR` be under way there, and the reading of operands of `ST`, `STG` and `STS`.
const FENCES: [u16; 9] = [MEMBAR, ERRBAR, ACQBULK, BPT, NANOSLEEP, SYNCS_ARRIVE, SYNCS, 0x1c6, UCGABAR];
const CONSTANTS: [u16; 4] = [0x119, 0x182, 0x1ac, 0x1c3];
/// The same, `BMOV` and `SHFL`, which are about registers alone.
const NO_ACCESSES: [u16; 6] = [0x119, 0x182, 0x1ac, 0x1c3, BMOV, SHFL];
const STORES: [u16; 3] = [ST, STG, STS];
/// That a load or a store has read its registers is in the way of no fence, of nothing that forgets the cache, and of no trap: what is
/// ordered is the access. Assemblers from 13.1 on let it be under way.
const CARE_FOR_ACCESSES: [u16; 6] = [MEMBAR, ERRBAR, CCTL, BPT, NANOSLEEP, UCGABAR];
const ACCESSES: [u16; 7] = [LD, LDG, LDL, ST, STG, STL, STS];
const STL: u16 = 0x187;
/// At `MEMBAR` the reading of operands of `SYNCS` too, and at `PREEXIT`, which lets other grids begin, `LDS` and what `STS` reads.
const MEMBAR: u16 = 0x192;
const SYNCS: u16 = 0x1b2;
/// The results of `LDSM` may be under way at `MEMBAR`, those of constants and special registers at `UBLKCP` and `SYNCS`:
/// the objects of `cargo xtask realcode` have these, or nvlink makes them so.
const LDSM: u16 = 0x03b;
const ERRBAR: u16 = 0x1ab;
const STS: u16 = 0x188;
const LDS: u16 = 0x184;
/// Reads of special registers into uniform ones, `LDL`, `LDS` and `SHFL`, which are over in order.
const IN_ORDER: [u16; 4] = [S2UR, LDL, LDS, SHFL];

/// Whether what an instruction does is over in order with what others of its unit do: double precision, its matrices and conversions of 64 bits
/// too, where some of them have no scoreboard.
fn is_in_order(one: Instruction) -> bool {
    let operation = one.operation();
    IN_ORDER.contains(&operation)
        || DOUBLE.contains(&operation)
        || LONG_CONVERSIONS.contains(&operation)
        || operation == DMMA
}

fn is_of_one_unit(one: Instruction, other: Instruction) -> bool {
    let operations = [one.operation(), other.operation()];
    let are_among = |unit: &[u16]| operations.iter().all(|operation| unit.contains(operation));
    operations[0] == operations[1] || are_among(&DOUBLE) || are_among(&LONG_CONVERSIONS)
}

const S2UR: u16 = 0x1c3;
const STG: u16 = 0x186;
const LDL: u16 = 0x183;
/// What else assemblers let be under way at instructions that order others: the instruction, the operation of the producer, and whether
/// it is the reading of its operands.
const PASSED: [(u16, u16, bool); 14] = [
    (MEMBAR, SYNCS, true),
    (MEMBAR, ATOM, true),
    (MEMBAR, SHFL, true),
    (PREEXIT, STS, true),
    (PREEXIT, LDS, true),
    (PREEXIT, LDS, false),
    (PREEXIT, LDC, false),
    (CCTL, LD, false),
    (BPT, LDG, false),
    (SYNCS_ARRIVE, UBLKCP, true),
    (SYNCS_ARRIVE, UTMALDG, true),
    (UBLKCP, UBLKCP, true),
    (UTMACMDFLUSH, UBLKCP, true),
    (UTMACMDFLUSH, UBLKRED, true),
];
/// Copies that have read their operands, which are all uniform registers, when the scoreboard says so: assemblers from 13.1 on let that be under
/// way at what uses other registers.
const COPIES: [u16; 3] = [UTMALDG, UBLKCP, UBLKRED];
const UTMALDG: u16 = 0x1b4;
const UTMACMDFLUSH: u16 = 0x1b7;
const UBLKCP: u16 = 0x1ba;
const UBLKRED: u16 = 0x1bb;
const SYNCS_ARRIVE: u16 = 0x1a7;
const LD: u16 = 0x180;
const ACQBULK: u16 = 0x02e;
const BPT: u16 = 0x15c;
const NANOSLEEP: u16 = 0x15d;
const ATOM: u16 = 0x18a;
const SHFL: u16 = 0x189;
const ST: u16 = 0x185;
const LDG: u16 = 0x181;
/// `BMOV` of a barrier into a register has read the barrier, and has it ready for another `BSSY`, when it is issued: in the objects of `cargo
/// xtask realcode` assemblers have `BSSY` of the same barrier after it 500 times, without a wait.
const BMOV: u16 = 0x155;
/// `LDGSTS` has read its predicate when it is issued: in the objects of `cargo xtask realcode` assemblers have it overwritten by the next
/// instruction a thousand times, without a wait.
const LDGSTS: u16 = 0x1ae;
/// `LD`, `LDG`, `LDS`, `LDSM`, `STG`, `STS` and `ATOMS` have read their uniform registers when they are issued: in the objects of `cargo xtask
/// realcode`, and of generated kernels with `ATOMS` (61 places for sm_100, sm_107 and sm_120), assemblers have each overwritten one cycle later,
/// without a wait for what is read. So does double precision, which sets that scoreboard where it is slow
/// (older/blackwell-double-delays). Of others that was not seen.
const READ_UNIFORM_AT_ONCE: [u16; 7] = [0x03b, 0x180, 0x181, 0x184, 0x186, 0x188, 0x18c];

/// `LDC R1` of 32 bits, which the code of a kernel begins with.
fn loads_stack_pointer(instruction: Instruction) -> bool {
    let is_load = instruction.opcode() == 0xb82 && instruction.field(73, 3) == 4;
    is_load && instruction.byte(2) == STACK_POINTER && instruction.is_unconditional()
}

/// Whether nothing can wait any more for the load of the stack pointer, which the code begins with.
pub fn drops_stack_pointer(first: &Step) -> bool {
    let Some((before, after)) = first.before.zip(first.after) else { return false };
    loads_stack_pointer(before) && before.write_scoreboard().is_some() && after.write_scoreboard().is_none()
}

/// Nothing need wait for the load of a stack pointer that nothing uses.
fn check_stack_pointer(alignment: &Alignment<'_>) -> Result<(), Violation> {
    for (at, step) in alignment.steps().enumerate().skip(1) {
        let Some(instruction) = step.after else { continue };
        // The table has textures and matrices with all the registers that they may use: R0 and three more are asked for exactly.
        let may_use = uses_general(instruction, STACK_POINTER).is_none_or(|uses| uses);
        if instruction.is_call_or_return() || may_use && mentions_stack_pointer(instruction) {
            return Err(Violation { at, problem: Problem::MissingWait { producer: 0 } });
        }
    }
    Ok(())
}

/// A place where a scoreboard is set.
#[derive(Clone, Copy, Debug)]
struct Set {
    /// `None` for what a caller or a called function may have left under way.
    step: Option<u32>,
    /// The scoreboard in the old code and in the new one; no number if it sets none.
    before: Option<u8>,
    after: Option<u8>,
    /// In both codes: the scoreboards that end the set, a bit for each. Operands have been read where results are written.
    ended_by: (u8, u8),
    /// By the reading of operands, otherwise by the writing of results.
    reads: bool,
}

impl Set {
    fn is_ended(self, mask: u8, by: u8) -> bool {
        if self.step.is_none() { mask & by == by } else { mask & by != 0 }
    }
}

/// The sets that may be under way, in order, and in which codes.
type State = Vec<(u32, u8)>;

/// Adds what may be under way to a state; whether that is more.
fn merge(into: &mut State, from: &[(u32, u8)]) -> bool {
    let mut changed = false;
    let mut at = 0;
    for &(set, status) in from {
        at += into[at..].partition_point(|entry| entry.0 < set);
        if let Some(entry) = into.get_mut(at).filter(|entry| entry.0 == set) {
            changed |= entry.1 | status != entry.1;
            entry.1 |= status;
        } else {
            into.insert(at, (set, status));
            changed = true;
        }
    }
    changed
}

fn add(state: &mut State, set: u32) {
    merge(state, &[(set, BOTH)]);
}

/// The status of a set after waits in the two codes.
fn after_wait(status: u8, waits_before: bool, waits_after: bool) -> u8 {
    match (waits_before, waits_after) {
        (false, false) => status,
        (true, true) => 0,
        (true, false) => (status & LATE) | if status & BOTH != 0 { LATE } else { 0 },
        (false, true) => (status & EARLY) | if status & BOTH != 0 { EARLY } else { 0 },
    }
}

/// A run of steps that is entered at its beginning only.
#[derive(Debug)]
struct Block {
    start: u32,
    end: u32,
    next: [Option<u32>; 2],
    /// Where the indirect branch at its end goes, if that is known.
    targets: Vec<u32>,
    /// Control may go on where threads meet, or anywhere.
    meets: bool,
    anywhere: bool,
}

/// What a set is in the way of while it is under way.
#[derive(Clone, Debug)]
enum Hazards {
    NotAskedFor,
    Everything,
    Registers(Box<InTheWay>),
}

#[derive(Clone, Debug, Default)]
struct InTheWay {
    /// Registers that may not be read or written.
    results: Registers,
    /// Registers that may not be written.
    sources: Registers,
    /// Another set; if that is over, the sources have been read.
    reader: Option<u32>,
    /// Registers of earlier instructions that may not be written.
    read_earlier: Registers,
    /// Other sets; while one is not over, registers of its producer may not be written.
    earlier: Vec<(u32, Registers)>,
}

struct Analysis<'a> {
    alignment: &'a Alignment<'a>,
    sets: Vec<Set>,
    /// By set.
    hazards: Vec<Hazards>,
    /// The sets for what a caller or a called function may have left under way, if there are any: one for each scoreboard.
    foreign: Range<u32>,
    blocks: Vec<Block>,
    /// The blocks where threads meet.
    meetings: Vec<u32>,
    /// The scoreboards on which the old code itself may have something under way where each block begins: a bit for each.
    own: Vec<u8>,
    work: usize,
}

/// Checks that no set is late where something depends on its producer. `jumps` says where indirect branches of the old code go.
pub fn check(alignment: &Alignment<'_>, jumps: &Jumps) -> Result<(), Violation> {
    let mut sets = Vec::new();
    let counted = alignment.steps().filter_map(|step| step.before?.counted_wait()?.counted());
    let counted = counted.fold(0, |all, number| all | 1 << number);
    for (index, step) in alignment.steps().enumerate() {
        let of = |scoreboard: fn(Instruction) -> Option<u8>| {
            (step.before.and_then(scoreboard), step.after.and_then(scoreboard))
        };
        let bit = |number: Option<u8>| number.map_or(0, |number| 1 << number);
        let written = of(Instruction::write_scoreboard);
        let kinds = [(of(Instruction::read_scoreboard), true), (written, false)];
        // What was removed sets nothing any more; nobody may have counted it.
        if let (Some(removed), None) = (step.before, step.after)
            && removed.set_mask() & counted != 0
        {
            return Err(Violation { at: index, problem: Problem::CountedWait });
        }
        if step.after.is_none() || index == 0 && drops_stack_pointer(&step) {
            continue;
        }
        for ((before, after), reads) in kinds.into_iter().filter(|((b, a), _)| b.is_some() || a.is_some()) {
            let ended_by = (bit(before) | bit(written.0), bit(after) | bit(written.1));
            sets.push(Set { step: Some(index as u32), before, after, ended_by, reads });
        }
    }
    let calls = alignment.steps().any(|step| step.either().is_call_or_return());
    let first = sets.len() as u32;
    for number in (0..SCOREBOARDS).filter(|_| calls) {
        // Code that does not know the number of something can only mean it if it waits for all of them. Then the new code has waited
        // for each, be it one after the other.
        let ended_by = (EVERYTHING, 1 << number);
        sets.push(Set { step: None, before: None, after: None, ended_by, reads: false });
    }
    let foreign = first..sets.len() as u32;
    if alignment.len() > 0 && drops_stack_pointer(&alignment.step(0)) {
        check_stack_pointer(alignment)?;
    }
    let (blocks, meetings) = blocks(alignment, jumps);
    let hazards = vec![Hazards::NotAskedFor; sets.len()];
    let own = if calls { own(alignment, &blocks, &meetings) } else { vec![0; blocks.len()] };
    Analysis { alignment, sets, hazards, foreign, blocks, meetings, own, work: 0 }.run()
}

impl Analysis<'_> {
    fn run(&mut self) -> Result<(), Violation> {
        let mut entries: Vec<State> = vec![State::new(); self.blocks.len()];
        let mut is_waiting = vec![true; self.blocks.len()];
        // All that may be under way at an indirect branch, and where threads meet.
        let (mut anywhere, mut meeting) = (State::new(), State::new());
        // Nothing is under way where a kernel begins. Other functions return.
        let returns = self.alignment.steps().any(|step| step.either().is_return());
        if let Some(first) = entries.first_mut().filter(|_| returns) {
            self.foreign(first);
        }
        let mut changed = true;
        while changed {
            changed = false;
            for index in 0..self.blocks.len() {
                if !std::mem::replace(&mut is_waiting[index], false) {
                    continue;
                }
                let out = self.walk(index, entries[index].clone())?;
                let block = &self.blocks[index];
                let mut reach = |next: usize, state: &State| {
                    if merge(&mut entries[next], state) {
                        is_waiting[next] = true;
                        changed = true;
                    }
                };
                for next in block.next.iter().flatten().chain(&block.targets) {
                    reach(*next as usize, &out);
                }
                if block.meets && merge(&mut meeting, &out) {
                    self.meetings.iter().for_each(|next| reach(*next as usize, &meeting));
                }
                if block.anywhere && merge(&mut anywhere, &out) {
                    (0..self.blocks.len()).for_each(|next| reach(next, &anywhere));
                    self.work += self.blocks.len() * anywhere.len();
                }
                self.work += self.blocks[index].targets.len() * out.len();
            }
        }
        Ok(())
    }

    /// Adds what code outside may have left under way.
    fn foreign(&self, state: &mut State) {
        for set in self.foreign.clone() {
            add(state, set);
        }
    }

    /// What may be under way at the end of a block.
    fn walk(&mut self, block: usize, mut state: State) -> Result<State, Violation> {
        let range = self.blocks[block].start as usize..self.blocks[block].end as usize;
        let mut set =
            self.sets.partition_point(|set| set.step.is_some_and(|step| (step as usize) < range.start));
        let mut own = self.own[block];
        for at in range {
            let step = self.alignment.step(at);
            let (mut before, after) = (ended(step.before), ended(step.after));
            // It may have waited for any of them.
            before |= let_go(step).unwrap_or_default();
            // Code that has something of its own under way on all scoreboards does not say that it means what is not.
            let means_all = own != EVERYTHING;
            own = own_after(own, step.before);
            self.work += 1;
            if before | after != 0 {
                self.work += state.len();
                state.retain_mut(|(set, status)| {
                    let set = self.sets[*set as usize];
                    let is_meant = set.step.is_some() || means_all;
                    *status = after_wait(
                        *status,
                        is_meant && set.is_ended(before, set.ended_by.0),
                        set.is_ended(after, set.ended_by.1),
                    );
                    *status != 0
                });
            }
            self.check_counted(at, &state)?;
            self.check_late(at, &state)?;
            while self.sets.get(set).is_some_and(|set| set.step == Some(at as u32)) {
                add(&mut state, set as u32);
                set += 1;
            }
            if step.either().is_call_or_return() {
                self.foreign(&mut state);
            }
        }
        self.work += state.len();
        let bound = WORK_PER_STEP.saturating_mul(self.alignment.len());
        if self.work > bound {
            return Err(Violation { at: 0, problem: Problem::TooLarge });
        }
        Ok(state)
    }

    /// A wait that lets some of a scoreboard's sets be under way, of those that finish in order: what it counts must be
    /// the same in both codes.
    fn check_counted(&self, at: usize, state: &State) -> Result<(), Violation> {
        let counted = |instruction: Option<Instruction>| instruction?.counted_wait()?.counted();
        let step = self.alignment.step(at);
        let (before, after) = (counted(step.before), counted(step.after));
        if before.is_none() && after.is_none() || let_go(step).is_some() {
            return Ok(());
        }
        let is_other = |(set, status): &(u32, u8)| {
            let set = self.sets[*set as usize];
            let counts = (before.is_some() && set.before == before, after.is_some() && set.after == after);
            counts.0 != counts.1 || counts.0 && status & LATE != 0
        };
        if before.is_none() || after.is_none() || state.iter().any(is_other) {
            return Err(Violation { at, problem: Problem::CountedWait });
        }
        Ok(())
    }

    fn check_late(&mut self, at: usize, state: &State) -> Result<(), Violation> {
        // What was removed is not an instruction any more.
        let Some(instruction) = self.alignment.step(at).after else { return Ok(()) };
        // Code outside may wait for what is under way there by its number.
        let is_renumbered = |(set, status): &&(u32, u8)| {
            let set = self.sets[*set as usize];
            status & BOTH != 0 && set.before != set.after
        };
        if let Some((set, _)) = state.iter().find(is_renumbered).filter(|_| instruction.is_call_or_return()) {
            let producer = self.sets[*set as usize].step.unwrap_or_default() as usize;
            return Err(Violation { at, problem: Problem::MissingWait { producer } });
        }
        let mut operands = None;
        for (index, _) in state.iter().filter(|(_, status)| status & LATE != 0) {
            let set = self.sets[*index as usize];
            let operands = operands.get_or_insert_with(|| checked(instruction));
            // What begins to count copies to shared memory, or takes the result of a barrier, does not care for what was read.
            let is_ordered = is_ordering(instruction)
                && !(set.reads && CARE_FOR_RESULTS.contains(&instruction.operation()))
                && !(COUNT_COPIES.contains(&instruction.operation()) && self.is_about_registers(set))
                && !([CCTL, B2R].contains(&instruction.operation()) && self.is_of_other_memory(set))
                && !(CARE_FOR_ACCESSES.contains(&instruction.operation())
                    && self.is_reading_of_access(instruction, set))
                && !(FENCES.contains(&instruction.operation()) && self.is_no_access(set))
                && !(TENSOR_COPIES.contains(&instruction.operation()) && self.is_of_constants(set))
                && !self.is_passed(instruction, set)
                && !self.is_saved_for_size(at);
            if is_ordered || self.depends(at, operands.as_ref(), *index as usize, state) {
                let producer = set.step.unwrap_or_default() as usize;
                return Err(Violation { at, problem: Problem::MissingWait { producer } });
            }
        }
        Ok(())
    }

    /// Whether nothing but the registers of its producer depends on a set.
    fn is_about_registers(&self, set: Set) -> bool {
        let producer = set.step.map(|step| self.alignment.step(step as usize).either());
        producer.is_some_and(|producer| !is_ordering_producer(producer) && checked(producer).is_some())
    }

    /// Whether a set is about the results of something that reads no global memory: constants, shared memory, special registers.
    fn is_of_other_memory(&self, set: Set) -> bool {
        let producer = set.step.map(|step| self.alignment.step(step as usize).either().operation());
        !set.reads && producer.is_some_and(|operation| OTHER_MEMORY.contains(&operation))
    }

    /// Whether a set is about what constants and special registers are: copies by the tensor unit order other memory (mercury/copies-of-tensors).
    fn is_of_constants(&self, set: Set) -> bool {
        let producer = set.step.map(|step| self.alignment.step(step as usize).either().operation());
        !set.reads && producer.is_some_and(|operation| CONSTANTS.contains(&operation))
    }

    /// Whether a set is about no access to memory that a fence orders: what constants and special registers are, and that a store has
    /// its operands.
    fn is_no_access(&self, set: Set) -> bool {
        let producer = set.step.map(|step| self.alignment.step(step as usize).either().operation());
        let operations = if set.reads { &STORES[..] } else { &NO_ACCESSES[..] };
        producer.is_some_and(|operation| operations.contains(&operation))
    }

    /// Whether a set is about the operands of a plain load or store.
    fn is_reading_of_access(&self, instruction: Instruction, set: Set) -> bool {
        let producer = set.step.map(|step| self.alignment.step(step as usize).either());
        let is_load = |producer: Instruction| [LD, LDG].contains(&producer.operation());
        let is_acquired = |producer: Instruction| {
            instruction.operation() == CCTL && is_load(producer) && is_strong(producer)
        };
        set.reads && producer.is_some_and(|one| ACCESSES.contains(&one.operation()) && !is_acquired(one))
    }

    /// Whether assemblers let a set be under way at an instruction that orders others.
    fn is_passed(&self, instruction: Instruction, set: Set) -> bool {
        let Some(step) = set.step else { return false };
        let producer = self.alignment.step(step as usize).either();
        // What forgets the cache comes after loads that say that others' values are there.
        let is_acquired = instruction.operation() == CCTL && is_strong(producer);
        let producer = producer.operation();
        let is_passed = PASSED.contains(&(instruction.operation(), producer, set.reads)) && !is_acquired;
        is_passed
            || match (instruction.operation(), producer) {
                (MEMBAR | ERRBAR, LDSM) => !set.reads,
                (UBLKCP | SYNCS_ARRIVE, operation) => !set.reads && CONSTANTS.contains(&operation),
                _ => false,
            }
    }

    /// Whether a step saves a general register, or restores it, that the size of the cluster comes through. It cares for that register
    /// alone.
    fn is_saved_for_size(&self, at: usize) -> bool {
        let after = |at: usize| {
            let step = (at < self.alignment.len()).then(|| self.alignment.step(at));
            step.and_then(|step| step.after)
        };
        let is_pair = |first: usize, is: fn(Instruction, Instruction) -> bool| {
            after(first).zip(after(first + 1)).is_some_and(|(first, second)| is(first, second))
        };
        is_pair(at, saves) || at.checked_sub(1).is_some_and(|last| is_pair(last, restores))
    }

    /// Whether registers of an instruction need a set to be over.
    fn depends(&mut self, at: usize, consumer: Option<&Operands>, set: usize, state: &State) -> bool {
        if matches!(self.hazards[set], Hazards::NotAskedFor) {
            let registers = self.registers_of(self.sets[set]);
            self.hazards[set] =
                registers.map_or(Hazards::Everything, |registers| Hazards::Registers(Box::new(registers)));
        }
        let (Some(consumer), Hazards::Registers(hazards)) = (consumer, &self.hazards[set]) else {
            return true;
        };
        let InTheWay { results, sources, reader, read_earlier, earlier } = &**hazards;
        if read_earlier.meets(&consumer.writes) && !self.reads_before(at, self.sets[set]) {
            return true;
        }
        if results.meets(&consumer.reads) || results.meets(&consumer.guard) {
            return true;
        }
        if results.meets(&consumer.writes) && !self.is_of_other_threads(at, self.sets[set]) {
            return true;
        }
        let is_reading = |reader: &u32| {
            let entry = state.binary_search_by_key(reader, |entry| entry.0);
            entry.is_ok_and(|entry| state[entry].1 & (BOTH | LATE) != 0)
        };
        let is_read = sources.meets(&consumer.writes) && reader.as_ref().is_none_or(is_reading);
        let is_read_earlier =
            || earlier.iter().any(|(set, reads)| reads.meets(&consumer.writes) && is_reading(set));
        (is_read || is_read_earlier()) && !self.reads_before(at, self.sets[set])
    }

    /// Whether a step is executed by other threads than the producer of a set of results that comes before it: under the opposite
    /// condition, which nothing writes in between. What came to the producer late would have been refused there.
    fn is_of_other_threads(&self, at: usize, set: Set) -> bool {
        let Some(producer) = set.step.map(|step| step as usize).filter(|step| !set.reads && *step < at)
        else {
            return false;
        };
        let block = self.blocks.partition_point(|block| block.start as usize <= at) - 1;
        let [first, last] = [producer, at].map(|at| self.alignment.step(at).either());
        // Others may have a uniform predicate for a guard.
        let is_plain = last.operation() < FIRST_OF_OTHERS || last.operation() == LDC;
        let is_known = GUARDED_LOADS.contains(&first.operation()) && is_plain;
        let is_opposite = first.guard() ^ last.guard() == OPPOSITE && first.guard() & 7 != ALWAYS;
        let keeps_guard = |step: usize| {
            let writes = checked(self.alignment.step(step).either()).map(|operands| operands.writes);
            writes.is_some_and(|writes| !writes.contains(File::Predicate, (first.guard() & 7).into()))
        };
        is_known
            && is_opposite
            && producer >= self.blocks[block].start as usize
            && (producer..at).all(keeps_guard)
    }

    /// Whether a step comes after the producer of a set in the order of one unit, which has read the operands of that one then: `LDS` after
    /// loads from shared memory and stores, `LDL` after `LDG`, and double precision after double precision.
    /// Assemblers have them overwritten without a wait; operands of `DMMA` by another one, too, where their counted waits let the first be
    /// under way (older/blackwell-counted-waits).
    fn reads_before(&self, at: usize, set: Set) -> bool {
        let Some(step) = set.step else { return false };
        match [step as usize, at].map(|at| self.alignment.step(at).either().operation()) {
            [LDS | STG, LDS] | [LDG, LDL] | [DMMA, DMMA] => true,
            [first, last] => DOUBLE.contains(&first) && DOUBLE.contains(&last),
        }
    }

    /// What a set is in the way of; `None` if that is everything.
    fn registers_of(&self, set: Set) -> Option<InTheWay> {
        let step = set.step? as usize;
        let producer = self.alignment.step(step).either();
        if set.reads && COPIES.contains(&producer.operation()) {
            let mut sources = Registers::default();
            sources.insert(File::Uniform, 0, u16::from(u8::MAX));
            sources.insert(File::UniformPredicate, 0, u16::from(u8::MAX));
            return Some(InTheWay { sources, ..InTheWay::default() });
        }
        // That a barrier has read its registers says nothing of other threads.
        let has_general = |operands: Operands| !operands.reads.within(&[File::General]).is_empty();
        let is_read =
            set.reads && producer.operation() == BAR && exact::operands(producer).is_some_and(has_general);
        let mut operands = checked(producer).filter(|_| is_read || !is_ordering_producer(producer))?;
        if producer.operation() == BMOV {
            operands.writes.remove_all(File::Barrier);
            operands.reads.remove_all(File::Barrier);
        }
        let mut sources = operands.reads;
        if READ_UNIFORM_AT_ONCE.contains(&producer.operation()) || DOUBLE.contains(&producer.operation()) {
            sources.remove_all(File::Uniform);
        }
        if producer.operation() == LDGSTS {
            sources.remove_all(File::Predicate);
        }
        let (covered, earlier) =
            if is_in_order(producer) { self.covered(step, set.reads)? } else { Default::default() };
        if set.reads {
            sources.insert_from(&covered.reads);
            return Some(InTheWay { sources, earlier, ..InTheWay::default() });
        }
        let mut results = operands.writes;
        results.insert_from(&covered.writes);
        if producer.read_scoreboard().is_some() {
            return Some(InTheWay { results, read_earlier: covered.reads, ..InTheWay::default() });
        }
        let reader = self.later_reader(step, &operands);
        Some(InTheWay { results, sources, reader, read_earlier: covered.reads, ..InTheWay::default() })
    }

    /// What earlier instructions of this kind read and write that have no scoreboard for it: it is over when that of this step is. What those read
    /// that have one for their results is apart, with the sets of these. `None` if that is not known.
    fn covered(&self, step: usize, reads: bool) -> Option<(Operands, Vec<(u32, Registers)>)> {
        let last = self.alignment.step(step).either();
        let (mut covered, mut overwritten) = (Operands::default(), Registers::default());
        let mut with_sets = Vec::new();
        for at in (0..step).rev() {
            let earlier = self.alignment.step(at);
            let one = earlier.either();
            let is_alike = is_of_one_unit(one, last);
            let sets = |of: fn(Instruction) -> Option<u8>| {
                [earlier.before, earlier.after].into_iter().flatten().any(|one| of(one).is_some())
            };
            let is_read = sets(Instruction::read_scoreboard);
            let is_written = sets(Instruction::write_scoreboard);
            let is_over = if reads { is_read } else { is_written };
            let goes_on = matches!(Flow::of(0, one), Flow::Next | Flow::Branch(_));
            if !goes_on || is_alike && is_over {
                break;
            }
            if !is_alike {
                if let Some(operands) = checked(one).filter(|_| one.is_unconditional()) {
                    overwritten.insert_from(&operands.writes);
                }
                continue;
            }
            let mut operands = checked(one)?;
            // One that other threads execute tells nothing of it.
            if !last.is_unconditional() && one.guard() != last.guard() {
                continue;
            }
            operands.writes.remove(&overwritten);
            covered.writes.insert_from(&operands.writes);
            // The others have read their operands soon.
            if !IN_ORDER.contains(&one.operation()) {
                continue;
            }
            operands.reads.remove(&overwritten);
            let operands = operands.reads.within(&[File::General]);
            if is_written {
                with_sets.push((self.first_set(at), operands));
            } else if !is_read {
                covered.reads.insert_from(&operands);
            }
        }
        Some((covered, with_sets))
    }

    /// The first set of a step.
    fn first_set(&self, at: usize) -> u32 {
        self.sets.partition_point(|set| set.step.is_some_and(|step| (step as usize) < at)) as u32
    }

    /// The set of a later instruction that tells that a producer has read its operands: one of the same operation, or a `STG` after
    /// `LDS`, since these read their operands in order. Until then nothing overwrites them, and the same threads execute it or it reads
    /// the same. (Assemblers have registers overwritten that only such an `LDS` has read, with no other wait than for the `STG`.)
    fn later_reader(&self, producer: usize, operands: &Operands) -> Option<u32> {
        let first = self.alignment.step(producer).either();
        let mut is_other_guard = false;
        for at in producer + 1..self.alignment.len() {
            let step = self.alignment.step(at);
            let next = step.either();
            // `WARPSYNC` that names no other place; waits have no registers.
            if Flow::of(0, next) == Flow::Branch(1) || next.counted_wait().is_some() {
                continue;
            }
            let others = checked(next).filter(|_| Flow::of(0, next) == Flow::Next)?;
            let is_same =
                next.operation() == first.operation() && next.is_exponential() == first.is_exponential();
            let is_in_order = is_same || (first.operation(), next.operation()) == (LDS, STG);
            let is_alike = is_in_order && step.before.is_some() && step.after.is_some();
            let is_executed = next.is_unconditional() || next.guard() == first.guard() && !is_other_guard;
            // Assemblers leave it to the last one that reads some registers, whatever its guard.
            let has_all = || is_same && others.reads.contains_all(&operands.reads);
            if is_alike && next.read_scoreboard().is_some() && (is_executed || has_all()) {
                return Some(self.first_set(at));
            }
            if others.writes.meets(&operands.reads) {
                return None;
            }
            is_other_guard |= others.writes.meets(&operands.guard);
        }
        None
    }
}

/// The scoreboards that an instruction ends: a bit for each.
fn ended(instruction: Option<Instruction>) -> u8 {
    instruction.map_or(0, |i| i.wait_mask() | i.counted_wait().map_or(0, CountedWait::ended))
}

/// The scoreboard of a counted wait that is none any more, as a bit.
fn let_go(step: Step) -> Option<u8> {
    let (before, after) = step.before.zip(step.after)?;
    let (number, _) = before.counted_wait()?.counter?;
    is_let_go(before, after).then_some(1 << number)
}

/// The scoreboards that code has something under way on after an instruction of it.
fn own_after(own: u8, instruction: Option<Instruction>) -> u8 {
    own & !ended(instruction) | instruction.map_or(0, Instruction::set_mask)
}

/// Whether a load or store is ordered with those of other threads.
fn is_strong(one: Instruction) -> bool {
    matches!(one.field(77, 4), 5..=7 | 10)
}

/// The scoreboards on which the old code itself may have something under way where each block begins.
fn own(alignment: &Alignment<'_>, blocks: &[Block], meetings: &[u32]) -> Vec<u8> {
    let mut own = vec![0; blocks.len()];
    // What may be left by code that may go anywhere.
    let mut anywhere = 0;
    let mut left: Vec<usize> = (0..blocks.len()).rev().collect();
    let mut is_left = vec![true; blocks.len()];
    while let Some(index) = left.pop() {
        is_left[index] = false;
        let block = &blocks[index];
        let steps = (block.start..block.end).map(|at| alignment.step(at as usize).before);
        let out = steps.fold(own[index], own_after);
        let mut add = |next: usize| {
            if out & !own[next] != 0 {
                own[next] |= out;
                if !std::mem::replace(&mut is_left[next], true) {
                    left.push(next);
                }
            }
        };
        let met = if block.meets { meetings } else { &[] };
        block.next.iter().flatten().chain(&block.targets).chain(met).for_each(|next| add(*next as usize));
        if block.anywhere && out & !anywhere != 0 {
            anywhere |= out;
            (0..blocks.len()).for_each(add);
        }
    }
    own
}

/// A step that control may leave to another one than the next.
struct Exit {
    at: usize,
    flow: Flow,
    /// The steps that an indirect branch goes to; none if that is not known.
    targets: Vec<u32>,
    /// Whether it returns to another function.
    leaves: bool,
}

impl Exit {
    fn is_lost(&self, alignment: &Alignment<'_>) -> bool {
        match self.flow {
            Flow::Anywhere => self.targets.is_empty() && !self.leaves,
            Flow::Branch(target) | Flow::Jump(target) => alignment.entry(target).is_none(),
            _ => false,
        }
    }
}

/// The steps that an indirect branch of the old code goes to. It has a list of its targets, all of them in the code;
/// otherwise there are none, and it goes anywhere.
fn targets(
    alignment: &Alignment<'_>,
    at: usize,
    instruction: Instruction,
    jumps: &HashMap<usize, &[usize]>,
) -> Vec<u32> {
    if !is_indirect_branch(instruction) {
        return Vec::new();
    }
    let list = jumps.get(&alignment.old_index(at)).copied().unwrap_or_default();
    let step = |target: &usize| alignment.entry(*target as i64).map(|step| step as u32);
    list.iter().map(step).collect::<Option<_>>().unwrap_or_default()
}

/// The blocks, and those at which threads meet.
fn blocks(alignment: &Alignment<'_>, jumps: &Jumps) -> (Vec<Block>, Vec<u32>) {
    let count = alignment.len();
    let jumps = lists_of(jumps);
    // The steps that do not just go on with the next one.
    let mut exits: Vec<Exit> = Vec::new();
    let mut meetings = Vec::new();
    // Code that calls nothing returns to an address of other code.
    let calls = alignment.steps().any(|step| step.either().is_call());
    let leaves =
        |instruction: Instruction| !calls && instruction.is_return() && !has_other_place(0, instruction);
    for (at, step) in alignment.steps().enumerate() {
        let Some(instruction) = step.before else { continue };
        if Flow::of(0, instruction) != Flow::Next {
            let flow = Flow::of(alignment.old_index(at), instruction);
            let targets = targets(alignment, at, instruction, &jumps);
            exits.push(Exit { at, flow, targets, leaves: leaves(instruction) });
        }
        if sets_meeting(instruction) {
            let meeting = place(alignment.old_index(at), instruction);
            meetings.extend(meeting.and_then(|target| alignment.entry(target)));
        }
    }
    meetings.sort_unstable();
    meetings.dedup();
    let goes_anywhere = exits.iter().any(|exit| exit.is_lost(alignment));
    let mut starts: Vec<u32> = if goes_anywhere { (0..count as u32).collect() } else { vec![0] };
    for exit in &exits {
        starts.push(exit.at as u32 + 1);
        starts.extend(&exit.targets);
        if let Flow::Branch(target) | Flow::Jump(target) = exit.flow {
            starts.extend(alignment.entry(target).map(|target| target as u32));
        }
    }
    starts.extend(meetings.iter().map(|meeting| *meeting as u32));
    starts.sort_unstable();
    starts.dedup();
    starts.retain(|start| (*start as usize) < count);
    let block_at = |at: usize| starts.binary_search(&(at as u32)).ok().map(|block| block as u32);
    let mut exits = exits.into_iter().peekable();
    let mut blocks = Vec::with_capacity(starts.len());
    for (index, &start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).map_or(count, |end| *end as usize);
        let exit = exits.next_if(|exit| exit.at + 1 == end);
        let anywhere = exit.as_ref().is_some_and(|exit| exit.is_lost(alignment));
        let (flow, targets) = exit.map_or((Flow::Next, Vec::new()), |exit| (exit.flow, exit.targets));
        let next = block_at(end);
        let to = |target: i64| alignment.entry(target).and_then(block_at);
        let next = match flow {
            Flow::Next | Flow::Call | Flow::Meet | Flow::Anywhere => [next, None],
            Flow::Branch(target) => [next, to(target)],
            Flow::Jump(target) => [to(target), None],
            Flow::End => [None, None],
        };
        let targets = targets.into_iter().filter_map(|target| block_at(target as usize)).collect();
        let meets = flow == Flow::Meet && meetings.binary_search(&end).is_err();
        blocks.push(Block { start, end: end as u32, next, targets, meets, anywhere });
    }
    (blocks, meetings.into_iter().filter_map(block_at).collect())
}
