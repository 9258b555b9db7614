//! Whether a `NOP` after a synchronisation gives something the time that it needs.
//!
//! Results of fixed latency are ready some cycles after an instruction, and the stalls in between see to that. Where an instruction
//! without effect goes, its cycle goes too.

use crate::flow::{Flow, is_control};
use crate::instruction::{Instruction, SIZE};
use crate::operands::{Operands, exact, is_ordering_producer};
use crate::operation::{
    BAR, BRA, BSSY, BSYNC, CS2R, DOUBLE, DSETP, F2I, F2I_DOUBLE, I2F, I2F_DOUBLE, IADD, IMAD, IMAD_HIGH,
    IMAD_WIDE, MUFU, NANOSLEEP,
};
use crate::registers::{File, Registers};
use std::ops::Range;

/// `@!PT LDS RZ, [RZ]`, which does nothing but wait for asynchronous copies to be seen.
pub const NO_LOAD: u128 = 0x000fe200_00000800_00000000_fffff984;
/// `NOP` of one cycle without waits, as assemblers up to 12.9 have it after `WARPSYNC`, and that of 13.0.100 before `BSYNC` and after
/// `BREAK`. After `WARPSYNC` some have more cycles.
const IDLE: u128 = 0x000fe200_00000000_00000000_00007918;
/// Its condition, its cycles, and whether other warps go on after it.
const VARIABLE: u128 = 15 << 12 | 31 << 105;

/// Whether an instruction only takes time, and is of those that nvlink does without.
pub fn is_idle(instruction: Instruction) -> bool {
    instruction.0 & !VARIABLE == IDLE & !VARIABLE && instruction.stall() != 0
}

/// Whether an instruction is paced as all are in code without optimisation (`ptxas -O0`) of assemblers before 13.3: it waits for
/// scoreboards 0 and 1, the only ones that such code sets, and takes 15 cycles.
pub fn is_unscheduled(instruction: Instruction) -> bool {
    (instruction.wait_mask(), instruction.stall()) == (3, 15)
}

/// The same of an instruction that only takes time.
pub fn is_unscheduled_idle(instruction: Instruction) -> bool {
    const CONDITION: u128 = 15 << 12;
    let plain = |instruction: Instruction| instruction.without_schedule() & !CONDITION;
    is_unscheduled(instruction)
        && instruction.set_mask() == 0
        && plain(instruction) == plain(Instruction(IDLE))
}

/// The machine that code is for, as far as it matters how soon results are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speed {
    /// Any of them: the slowest one is meant.
    Any,
    Sm100,
    /// sm_103 and sm_110: as sm_100, but slow where numbers of 64 bits are converted and in double precision.
    Sm103,
    /// sm_120 and sm_121, which are slow there too.
    Sm120,
    /// Code that is made for sm_107. Its finalizer has everything over at calls and returns, which [`is_fit_for_107`](crate::is_fit_for_107) looks
    /// at: what comes after them may be quicker.
    Sm107,
}

impl Speed {
    /// No result of fixed latency takes longer.
    pub fn latest(self) -> u32 {
        match self {
            Self::Any | Self::Sm103 | Self::Sm120 | Self::Sm107 => LATEST,
            Self::Sm100 => MATRICES_OF_100,
        }
    }

    /// Whether the units are those of sm_100.
    const fn is_like_100(self) -> bool {
        matches!(self, Self::Sm100 | Self::Sm103)
    }

    /// Whether double precision and conversions of 64 bits take a time of their own.
    pub const fn has_slow_doubles(self) -> bool {
        matches!(self, Self::Sm103 | Self::Sm120)
    }

    /// Whether an instruction has read its operands when it is issued: assemblers have them overwritten a cycle later by what sets a
    /// scoreboard. That is so of matrices, and of double precision where it is of fixed latency.
    pub fn reads_at_once(self, instruction: Instruction) -> bool {
        let operation = instruction.operation();
        let is_double =
            self == Self::Sm100 && [DMUL, DFMA].contains(&operation) && instruction.set_mask() == 0;
        FIXED_MATRICES.contains(&operation) || is_double
    }
}

const DMUL: u16 = 0x028;
const DFMA: u16 = 0x02b;
/// No result of fixed latency takes longer: those of products of matrices take 19 or 20, on sm_120 28 or 29.
pub const LATEST: u32 = 30;
/// What is not known takes no longer, unless it is about matrices.
const UNKNOWN: u32 = 20;
/// Results of moves, logic, sums and products in registers, for anything but matrices: assemblers have them used after 4 or 5.
const USUAL: u32 = 6;
/// The same for plain arithmetic, functions and memory: on all machines some are used after 5.
const PLAIN: u32 = 5;
/// The same within one unit, which is the same on all machines: sums, logic and shifts; single precision.
const ONE_UNIT: u32 = 4;
const SUMS: [u16; 4] = [0x010, 0x011, 0x012, 0x019];
const SINGLE: [u16; 3] = [0x020, 0x021, 0x023];
/// The units of sm_100: logic, sums and comparisons; products.
const LOGIC_OF_100: [u16; 13] =
    [0x002, 0x007, 0x008, 0x00b, 0x00c, 0x010, 0x011, 0x012, 0x016, 0x019, 0x01c, 0x045, 0x048];
const PRODUCTS_OF_100: [u16; 5] = [0x020, 0x021, 0x023, 0x024, 0x036];
/// Products of matrices on sm_100.
const MATRICES_OF_100: u32 = 20;
/// `P2R`: assemblers have its result used after 4 or 5.
const P2R: u16 = 0x003;
const PREDICATES_READ: u32 = 8;
/// `IMNMX`, which is of 64 bits.
const MINIMUM: u16 = 0x017;
/// Memory and what crosses lanes, and loads of matrices.
const MEMORY: std::ops::RangeInclusive<u16> = 0x180..=0x18e;
const MATRIX_LOADS: [u16; 2] = [0x03a, 0x03b];
/// The same for matrices and control, and for what overwrites them with variable latency: assemblers have them used after 7, and
/// overwritten by memory and conversions after 6.
const TO_OTHERS: u32 = 7;
/// What `UMOV` writes: assemblers have it used after 2, by double precision too, by memory after 9.
const UNIFORM_MOVED: u32 = 9;
const MOVED_TO_PLAIN: u32 = 2;
/// What the uniform unit writes: for itself, for `UMOV`, for plain arithmetic, for memory, for branches and as guards.
const UNIFORM_TO_UNIFORM: u32 = 4;
const UNIFORM_TO_MOVE: u32 = 7;
const UNIFORM_TO_PLAIN: u32 = 6;
const UNIFORM_TO_MEMORY: u32 = 9;
const UNIFORM_TO_GUARD: u32 = 11;
const UNIFORM_TO_LOAD: u32 = 13;
const UNIFORM_LOAD: u16 = 0x1ac;
/// `VOTEU`, `R2UR`, `S2UR`, `CS2UR` and `CREDUX`, which are of other units.
const OTHER_UNIFORM: [u16; 5] = [0x086, 0x0ca, 0x0c3, 0x0cb, 0x0cc];
/// What `R2UR` writes, without a scoreboard: for these, for plain arithmetic and for memory.
const MADE_UNIFORM: u32 = 13;
const PRMT: u16 = 0x016;
const UMOV: u16 = 0x082;
const R2UR: u16 = 0x0ca;
const UNIFORM: std::ops::RangeInclusive<u16> = 0x080..=0x0ff;
/// What `CS2R` writes: assemblers have it used after 10 by uniform instructions.
const SPECIAL_READ: u32 = 11;
/// Products of 64 bits: assemblers have them used after 8 by double precision and special functions.
const WIDE_PRODUCT: u32 = 9;
/// The lower half of those by sums, and sums by what is added to their upper half: assemblers have both after 3.
const HALF: u32 = 3;
/// The forms of products that have what is added to them in registers.
const ADDS_REGISTERS: [u16; 4] = [1, 4, 5, 6];
/// Carries of sums of 64 bits by such: after 7.
const LONG_CARRY: u32 = 7;
/// `IADD3`, `LEA`, `LOP3` and `IADD`.
const ADDERS: [u16; 4] = [0x010, 0x011, 0x012, IADD];
/// Sums of 64 bits: after 9 by matrices.
const WIDE_SUM: u32 = 10;
/// Conversions, special functions, counts.
const SPECIAL: std::ops::RangeInclusive<u16> = 0x100..=0x113;
/// Those that read their operands late: assemblers have these use results of sums, logic and products after 4.
const READ_LATE: [u16; 5] = [F2I, I2F, MUFU, F2I_DOUBLE, I2F_DOUBLE];
/// What comes after barriers and fences, but plain arithmetic: assemblers have a second barrier after 8 cycles, memory after 6.
pub const AFTER_BARRIER: u32 = 8;
const MEMORY_AFTER_BARRIER: u32 = 6;
/// `S2R`, `LDC`, `LDCU` and `S2UR`, which come as soon after a barrier as memory does.
const CONSTANTS: [u16; 4] = [0x119, 0x182, 0x1ac, 0x1c3];
/// `LDGDEPBAR`, which anything may follow, and `DEPBAR`, which all comes 4 cycles after.
const COUNTED: u16 = 0x1af;
const COUNTED_WAIT: u16 = 0x11a;
const AFTER_COUNTED_WAIT: u32 = 4;
/// From `BSSY` to control: assemblers have 4.
const AFTER_MEETING: u32 = 5;
/// From `BSSY` to `BSYNC`: assemblers have 11.
const MEETING_TO_ITS_END: u32 = 11;
/// `LDGSTS`, which has no results in registers.
const COPY: u16 = 0x1ae;
/// Predicates of comparisons of integers and single precision, and carries: as guards, and where control depends on them.
const PREDICATE: u32 = 13;
/// The same of comparisons of 64 bits, and for uniform instructions.
const LATE_PREDICATE: u32 = 14;
const COMPARES_64_BITS: u32 = 80;
/// Until `DSETP` that sets a scoreboard may overwrite it: assemblers have that after 12.
const OVERWRITTEN_PREDICATE: u32 = 12;
/// The same as operands of selections, comparisons, logic and sums: assemblers have them used after 4 or 5, those of 64 bits after 6.
const OPERAND: u32 = 5;
const LONG_OPERAND: u32 = 6;
const COMPARISONS: [u16; 3] = [0x00b, 0x00c, 0x01c];
/// Predicates of `VOTE`: assemblers have them used after 4 by `SEL`, on sm_120 after 5, and by branches after 13. Those of `DSETP`, where it is of
/// fixed latency, are used after 6 as operands, and after 14 as guards.
const VOTE: u16 = 0x006;
const SEL: u16 = 0x007;
const UNIFORM_FILES: [File; 2] = [File::Uniform, File::UniformPredicate];
const WITH_CARRY: [u16; 4] = [0x010, 0x011, 0x012, IADD];
/// Products of 64 bits, and the high half of such: on all machines assemblers have their carry used after 5.
const PRODUCTS_WITH_CARRY: [u16; 2] = [IMAD_WIDE, IMAD_HIGH];
const TAKE_PREDICATES: [u16; 12] =
    [0x003, 0x007, 0x008, 0x00b, 0x00c, 0x010, 0x011, 0x012, 0x01c, IMAD, IMAD_WIDE, IADD];
const QUICK: [u16; 28] = [
    0x002, 0x005, 0x006, 0x007, 0x008, 0x009, 0x00a, 0x010, 0x011, 0x012, 0x013, 0x016, 0x017, 0x019, 0x020,
    0x021, 0x023, 0x024, 0x025, 0x027, 0x030, 0x031, 0x032, 0x035, 0x036, 0x045, 0x046, 0x048,
];
const MATRICES: std::ops::RangeInclusive<u16> = 0x037..=0x03f;
/// `QMMA` and `OMMA`.
const OTHER_MATRICES: [u16; 2] = [0x07a, 0x07f];
/// `IMMA` and `HMMA`.
const FIXED_MATRICES: [u16; 2] = [0x037, 0x03c];
const SYNCHRONISATION: [u16; 2] = [0x142, 0x148];
/// Calls and returns to an address, which other code follows.
const CALLS: [u16; 3] = [0x943, 0x944, CALL_OF_REGISTER];
const CALL_OF_REGISTER: u16 = 0x343;
const RETURN: u16 = 0x150;
const IS_ABSOLUTE: u32 = 85;

/// An instruction before the gap, and how many cycles before its end it comes: in the new code and in the old.
struct Producer {
    instruction: Instruction,
    cycles: [u32; 2],
    /// What others have read some cycles before the end of the gap, no earlier after it than in the old code.
    read: Registers,
    /// What others have written since, so that what comes after the gap does not use this one's.
    overwritten: Registers,
}

impl Producer {
    /// How many cycles after it an instruction of the old code may come. A result that has been read can be overwritten.
    fn latency(&self, user: Instruction, speed: Speed) -> u32 {
        if let Some((Operands { mut writes, .. }, user)) = operands(self.instruction).zip(operands(user)) {
            writes.remove(&self.overwritten);
            let mut overwritten = user.writes;
            overwritten.remove(&self.read);
            let is_used = writes.meets(&user.reads) || writes.meets(&user.guard);
            if !is_used && !writes.meets(&overwritten) {
                return 0;
            }
        }
        latency(self.instruction, user, speed)
    }

    /// Whether what comes so many cycles after the gap comes too early now, and did not before.
    fn is_early(&self, latency: u32, later: [u32; 2]) -> bool {
        self.cycles[0] + later[0] < latency.min(self.cycles[1] + later[1])
    }
}

/// Whether the second instruction comes too early so many cycles after the first, and did not where it came so many `before`.
pub fn is_early(first: Instruction, second: Instruction, cycles: u32, before: u32, speed: Speed) -> bool {
    if cycles >= before {
        return false;
    }
    let is_arithmetic = QUICK.contains(&second.operation()) && second.set_mask() == 0;
    let is_plain = is_arithmetic && second.is_unconditional();
    let is_memory = MEMORY.contains(&second.operation()) || second.operation() == COPY;
    let has_results = || operands(first).is_none_or(|operands| !operands.writes.is_empty());
    let ordered = match first.operation() {
        COUNTED_WAIT => AFTER_COUNTED_WAIT,
        _ if is_plain => 0,
        BSSY if is_control(second) => AFTER_MEETING,
        COUNTED => 0,
        BAR if (is_arithmetic || is_comparison(second) || is_matrix(second.operation()))
            && !has_results() =>
        {
            0
        }
        BAR if is_memory || CONSTANTS.contains(&second.operation()) => MEMORY_AFTER_BARRIER,
        _ if is_ordering_producer(first) => AFTER_BARRIER,
        _ => 0,
    };
    cycles < latency(first, second, speed).max(ordered)
}

/// Whether something before the instruction at this place may not be ready for something after it, if it is left out and the others take as long
/// as they do.
pub fn is_needed(code: &[u8], at: usize) -> bool {
    let idle = at..at + 1;
    has_early([code, code], [idle.clone(), idle.clone()], [0, time(code, idle)], Speed::Any)
}

/// The same of what is at `idle`, where the others are those of `new`: the ones before end, and the ones after begin, where `gap` does.
/// Without idle instructions, whether any of the others is too early now. What only takes time may be elsewhere.
pub fn is_needed_in(code: &[u8], idle: Range<usize>, new: &[u8], gap: Range<usize>, speed: Speed) -> bool {
    let times = [time(new, gap.clone()), time(code, idle.clone())];
    has_early([code, new], [idle, gap], times, speed)
}

/// The same where the new code and the old take these times between the ones before and the ones after.
fn has_early(codes: [&[u8]; 2], gaps: [Range<usize>; 2], times: [u32; 2], speed: Speed) -> bool {
    let ([code, new], [idle, gap]) = (codes, gaps);
    let is_straight = |at: usize, one: Instruction| {
        SYNCHRONISATION.contains(&one.operation()) || Flow::of(at, one) == Flow::Next
    };
    let goes_on =
        |at: usize, one: Instruction| is_straight(at, one) || matches!(Flow::of(at, one), Flow::Branch(_));
    let mut producers: Vec<Producer> = Vec::new();
    let both = before(code, idle.start).zip(before(new, gap.start));
    for ((_, old, old_distance), (_, new, distance)) in
        both.take_while(|((at, old, _), _)| goes_on(*at, *old))
    {
        if old.operation() != new.operation() {
            return true;
        }
        let distance = distance + times[0];
        if distance >= UNKNOWN {
            break;
        }
        // Synchronisation itself has no results.
        if !SYNCHRONISATION.contains(&old.operation()) {
            let cycles = [distance, old_distance + times[1]];
            let (mut read, mut overwritten) = (Registers::default(), Registers::default());
            for later in &producers {
                let operation = later.instruction.operation();
                let is_exact = QUICK.contains(&operation) || COMPARISONS.contains(&operation);
                if let Some(operands) = operands(later.instruction)
                    && is_exact
                    && later.instruction.set_mask() == 0
                    && later.instruction.is_unconditional()
                {
                    overwritten.insert_from(&operands.writes);
                }
                let is_no_earlier = cycles[0] - later.cycles[0] >= cycles[1].saturating_sub(later.cycles[1]);
                if is_no_earlier
                    && later.cycles[0] >= USUAL
                    && let Some(operands) = operands(later.instruction)
                {
                    read.insert_from(&operands.reads);
                    read.insert_from(&operands.guard);
                }
            }
            producers.push(Producer { instruction: old, cycles, read, overwritten });
        }
    }
    for ((at, old, old_later), (_, new, later)) in after(code, idle.end).zip(after(new, gap.end)) {
        if old.operation() != new.operation() {
            return true;
        }
        if producers.iter().any(|first| first.is_early(first.latency(old, speed), [later, old_later])) {
            return true;
        }
        // What comes after the load of a uniform register uses that one.
        if old.operation() == UNIFORM_LOAD && old.is_unconditional() && old.write_scoreboard().is_some() {
            for first in &mut producers {
                first.overwritten.insert(File::Uniform, old.byte(2), 1);
            }
        }
        let next = [later + cycles(new), old_later + cycles(old)];
        if next[0] >= UNKNOWN {
            break;
        }
        if !is_straight(at, old) {
            let is_used = |first: &Producer| first.is_early(longest(first.instruction), next);
            return leaves(old) && producers.iter().any(is_used);
        }
    }
    false
}

fn cycles(instruction: Instruction) -> u32 {
    u32::from(instruction.stall().max(1))
}

fn time(code: &[u8], range: Range<usize>) -> u32 {
    range.map(|at| cycles(Instruction::at(code, at))).sum()
}

/// The instructions before a place that do something, the last one first, and how many cycles before it each begins.
fn before(code: &[u8], end: usize) -> impl Iterator<Item = (usize, Instruction, u32)> {
    let each = (0..end).rev().scan(0, |distance, at| {
        *distance += cycles(Instruction::at(code, at));
        Some((at, Instruction::at(code, at), *distance))
    });
    each.filter(|(_, instruction, _)| !instruction.is_delay())
}

/// The instructions from a place on that do something, and how many cycles after it each begins.
fn after(code: &[u8], start: usize) -> impl Iterator<Item = (usize, Instruction, u32)> {
    let each = (start..code.len() / SIZE).scan(0, |later, at| {
        let begin = *later;
        *later += cycles(Instruction::at(code, at));
        Some((at, Instruction::at(code, at), begin))
    });
    each.filter(|(_, instruction, _)| !instruction.is_delay())
}

/// Whether the code that comes next is elsewhere and may use anything.
fn leaves(instruction: Instruction) -> bool {
    let is_return = instruction.operation() == RETURN && instruction.field(IS_ABSOLUTE, 1) == 1;
    CALLS.contains(&instruction.opcode()) || is_return
}

/// The registers of an instruction, those of barriers exactly: most have no predicate.
fn operands(instruction: Instruction) -> Option<Operands> {
    match instruction.operation() {
        BAR => exact::operands(instruction),
        operation if leaves(instruction) => {
            let mut operands = Operands::default();
            for file in [File::Predicate, File::UniformPredicate] {
                operands.guard.insert(file, instruction.guard() & 7, 1);
            }
            if operation == RETURN || instruction.opcode() == CALL_OF_REGISTER {
                operands.reads.insert(File::General, instruction.byte(3), 2);
            }
            Some(operands)
        }
        _ => exact::checked(instruction),
    }
}

/// How many cycles after an instruction any other may come.
pub fn longest(first: Instruction) -> u32 {
    if first.write_scoreboard().is_some() {
        return 0;
    }
    let Some(Operands { writes, .. }) = operands(first) else { return UNKNOWN };
    let is_general = writes == writes.within(&[File::General]);
    match first.operation() {
        _ if writes.is_empty() => 0,
        operation if COMPARISONS.contains(&operation) => LATE_PREDICATE,
        UMOV => UNIFORM_MOVED,
        CS2R if is_general => SPECIAL_READ,
        IMAD_WIDE if is_general => WIDE_PRODUCT,
        // Those of one word, which assemblers have from 13.1 on, are there for a return after 7, as other sums are.
        _ if is_general && is_of_long_unit(first) => WIDE_SUM,
        operation if is_general && QUICK.contains(&operation) => TO_OTHERS,
        operation if is_matrix(operation) => LATEST,
        _ => UNKNOWN,
    }
}

/// Whether an operation is one of the uniform unit, whose results are there after a fixed time.
fn is_of_uniform_unit(operation: u16) -> bool {
    UNIFORM.contains(&operation) && operation != UMOV && !OTHER_UNIFORM.contains(&operation)
}

/// How many cycles after the first instruction the second one may come.
pub fn latency(first: Instruction, second: Instruction, speed: Speed) -> u32 {
    if first.write_scoreboard().is_some() || first.operation() == COPY {
        return 0;
    }
    let (Some(producer), Some(consumer)) = (operands(first), operands(second)) else { return UNKNOWN };
    let mut consumer = consumer;
    // The guard of a load or store is no uniform predicate.
    if MEMORY.contains(&second.operation()) {
        consumer.guard.remove_all(File::UniformPredicate);
    }
    // Nor does the uniform unit depend on others.
    if is_of_uniform_unit(second.operation()) || second.operation() == UMOV {
        consumer.guard.remove_all(File::Predicate);
        consumer.reads.remove_all(File::Predicate);
    }
    let mut used = consumer.reads;
    used.insert_from(&consumer.guard);
    let is_only_overwritten = !producer.writes.meets(&used);
    used.insert_from(&consumer.writes);
    if !producer.writes.meets(&used) {
        return 0;
    }
    let met = |files: &[File]| producer.writes.within(files).meets(&used);
    let (operation, user) = (first.operation(), second.operation());
    if (operation, user) == (BSSY, BSYNC) {
        return MEETING_TO_ITS_END;
    }
    let is_plain = QUICK.contains(&user) || COMPARISONS.contains(&user);
    if operation == UMOV {
        let is_soon = is_plain || is_of_uniform_unit(user) || user == UMOV || DOUBLE.contains(&user);
        return if is_soon { MOVED_TO_PLAIN } else { UNIFORM_MOVED };
    }
    if is_of_uniform_unit(operation) && producer.writes == producer.writes.within(&UNIFORM_FILES) {
        return match user {
            _ if producer.writes.meets(&consumer.guard) && UNIFORM.contains(&user) => UNIFORM_TO_GUARD,
            UNIFORM_LOAD => UNIFORM_TO_LOAD,
            UMOV => UNIFORM_TO_MOVE,
            // What it writes comes as late as that.
            R2UR if is_only_overwritten => UNIFORM_TO_LOAD,
            _ if producer.writes.meets(&consumer.guard) => UNKNOWN,
            _ if is_of_uniform_unit(user) => UNIFORM_TO_UNIFORM,
            _ if is_plain => UNIFORM_TO_PLAIN,
            _ if is_control(second) || MEMORY.contains(&user) || MATRIX_LOADS.contains(&user) => {
                UNIFORM_TO_MEMORY
            }
            _ => UNKNOWN,
        };
    }
    if operation == R2UR && producer.writes == producer.writes.within(&UNIFORM_FILES) {
        let is_known = is_of_uniform_unit(user) || is_plain || MEMORY.contains(&user);
        return if is_known { MADE_UNIFORM } else { UNKNOWN };
    }
    let is_carry = (WITH_CARRY.contains(&operation) || PRODUCTS_WITH_CARRY.contains(&operation))
        && !first.is_long_sum()
        && !met(&[File::Uniform, File::UniformPredicate, File::Barrier]);
    if COMPARISONS.contains(&operation) || is_carry && met(&[File::Predicate]) {
        let is_operand = TAKE_PREDICATES.contains(&user) && !producer.writes.meets(&consumer.guard);
        let is_late = first.field(COMPARES_64_BITS, 1) != 0 || UNIFORM.contains(&user);
        let compares_long = COMPARISONS.contains(&operation) && first.field(COMPARES_64_BITS, 1) != 0;
        return match is_operand {
            true if compares_long => LONG_OPERAND,
            true if is_carry && SUMS.contains(&operation) && SUMS.contains(&user) => ONE_UNIT,
            true if PRODUCTS_WITH_CARRY.contains(&operation) => OPERAND,
            true if speed.is_like_100() && LOGIC_OF_100.contains(&user) && operation != IADD => ONE_UNIT,
            true => OPERAND,
            // What comes later overwrites later.
            false if PRODUCTS_WITH_CARRY.contains(&operation) => UNKNOWN,
            false if is_only_overwritten && !compares_long && user == DSETP && second.set_mask() != 0 => {
                OVERWRITTEN_PREDICATE
            }
            false if is_late => LATE_PREDICATE,
            false => PREDICATE,
        };
    }
    let is_predicate = producer.writes == producer.writes.within(&[File::Predicate]);
    let is_guard = producer.writes.meets(&consumer.guard);
    if first.is_long_sum() && met(&[File::Predicate]) && !is_only_overwritten {
        return if second.is_long_sum() && !is_guard { LONG_CARRY } else { UNKNOWN };
    }
    if operation == VOTE && is_predicate {
        return match user {
            SEL if !is_guard && speed == Speed::Sm100 => ONE_UNIT,
            SEL if !is_guard => LONG_OPERAND,
            BRA => PREDICATE,
            _ if is_guard && is_plain => LATE_PREDICATE,
            _ if is_only_overwritten && is_comparison(second) => LATE_PREDICATE,
            _ => UNKNOWN,
        };
    }
    if operation == DSETP && is_predicate && speed == Speed::Sm100 && !is_only_overwritten {
        return match user {
            DSETP if !is_guard => LONG_OPERAND,
            _ if TAKE_PREDICATES.contains(&user) && !is_guard => LONG_OPERAND,
            _ if is_plain || DOUBLE.contains(&user) => LATE_PREDICATE,
            _ => UNKNOWN,
        };
    }
    if is_half(first, second, &producer, &consumer) {
        return HALF;
    }
    let is_double = DOUBLE.contains(&user);
    // Double precision writes later than it reads.
    let is_overwritten = second.set_mask() != 0 && !is_double && producer.writes.meets(&consumer.writes);
    let is_general = met(&[File::General])
        && !met(&[File::Uniform, File::Predicate, File::UniformPredicate, File::Barrier]);
    let is_simple = |one: Instruction| {
        let operation = one.operation();
        let is_among = LOGIC_OF_100.contains(&operation) || PRODUCTS_OF_100.contains(&operation);
        (is_among || operation == IADD) && !is_long(one)
    };
    match is_general && QUICK.contains(&operation) {
        // The later result comes later: assemblers have one register written in two cycles.
        true if is_only_overwritten && second.set_mask() == 0 && is_simple(first) && is_simple(second) => 1,
        true if operation == CS2R && UNIFORM.contains(&user) => SPECIAL_READ,
        true if operation == IMAD_WIDE && (is_double || SPECIAL.contains(&user)) => WIDE_PRODUCT,
        true if is_of_long_unit(first) && is_double => TO_OTHERS,
        true if is_of_long_unit(first) && is_matrix(user) => WIDE_SUM,
        true if is_overwritten && (MEMORY.contains(&user) || SPECIAL.contains(&user)) && !is_long(first) => {
            USUAL
        }
        true if user == NANOSLEEP && is_simple(first) => PLAIN,
        true if is_matrix(user) || is_control(second) || is_overwritten => TO_OTHERS,
        true if is_of_long_unit(first) && is_of_long_unit(second) => ONE_UNIT,
        true if is_long(first) && SUMS.contains(&user) => PLAIN,
        true if is_long(first) || is_double => USUAL,
        true if is_one_unit(operation, user, speed) => ONE_UNIT,
        true if is_simple(first) && READ_LATE.contains(&user) => ONE_UNIT,
        true if is_plain
            || MEMORY.contains(&user)
            || user == COPY
            || MATRIX_LOADS.contains(&user)
            || SPECIAL.contains(&user) =>
        {
            PLAIN
        }
        true => USUAL,
        false if is_general && operation == P2R => PREDICATES_READ,
        false if is_matrix(operation) => speed.latest(),
        false => UNKNOWN,
    }
}

/// Whether a sum uses a product of 64 bits, and only its lower half; or whether such a product uses a sum, and only as what is added to
/// its upper half.
fn is_half(first: Instruction, second: Instruction, producer: &Operands, consumer: &Operands) -> bool {
    let is_sum = |one: Instruction| ADDERS.contains(&one.operation()) && !is_long(one);
    let register = match [first.operation(), second.operation()] {
        [IMAD_WIDE, _] if is_sum(second) => first.byte(2),
        [_, IMAD_WIDE | IMAD_HIGH] if is_sum(first) && ADDS_REGISTERS.contains(&second.form()) => {
            match second.byte(8).checked_add(1) {
                Some(register) => register,
                None => return false,
            }
        }
        _ => return false,
    };
    let is_factor = || [3, 4].iter().any(|at| second.byte(*at) == register);
    let is_read = || consumer.reads.contains(File::General, register.into());
    let mut half = Registers::default();
    half.insert(File::General, register, 1);
    let mut others = producer.writes;
    others.remove(&half);
    let is_other_used =
        [&consumer.reads, &consumer.writes, &consumer.guard].iter().any(|used| others.meets(used));
    producer.writes.meets(&half)
        && is_read()
        && !is_other_used
        && second.set_mask() == 0
        && (is_sum(second) || !is_factor())
}

/// Whether an instruction is plain arithmetic.
pub fn is_quick(instruction: Instruction) -> bool {
    QUICK.contains(&instruction.operation())
}

/// Whether an instruction adds, selects or moves numbers of 64 bits, or is a minimum of such.
pub fn is_long(instruction: Instruction) -> bool {
    instruction.operation() == MINIMUM || is_of_long_unit(instruction)
}

/// The same but for minima, which are of another unit.
fn is_of_long_unit(instruction: Instruction) -> bool {
    instruction.is_long_sum() || instruction.is_long_selection() || instruction.is_long_move()
}

/// Whether an instruction compares, and sets no scoreboard.
fn is_comparison(instruction: Instruction) -> bool {
    COMPARISONS.contains(&instruction.operation()) && instruction.set_mask() == 0
}

/// Whether an operation is a product of matrices.
pub fn is_matrix(operation: u16) -> bool {
    let is_among = MATRICES.contains(&operation) || OTHER_MATRICES.contains(&operation);
    is_among && !MATRIX_LOADS.contains(&operation)
}

/// Whether both operations are of one unit whose results it can use early.
fn is_one_unit(first: u16, second: u16, speed: Speed) -> bool {
    let units: &[&[u16]] = match speed {
        Speed::Any | Speed::Sm120 | Speed::Sm107 => &[&SUMS, &SINGLE],
        Speed::Sm100 | Speed::Sm103 => &[&LOGIC_OF_100, &PRODUCTS_OF_100],
    };
    // Products of integers are of one unit on all machines, and so are permutations.
    let are_products =
        first == IMAD && [IMAD, IMAD_WIDE].contains(&second) || (first, second) == (PRMT, PRMT);
    are_products || units.iter().any(|unit| unit.contains(&first) && unit.contains(&second))
}

#[cfg(test)]
mod tests {
    use super::is_needed;

    /// An instruction, `WARPSYNC`, `NOP`, and a second instruction.
    fn code(first: u128, second: u128) -> Vec<u8> {
        let synchronisation = 0x000fea00_03800000_00000000_00007948;
        let idle = 0x000fe200_00000000_00000000_00007918;
        [first, synchronisation, idle, second].iter().flat_map(|code: &u128| code.to_le_bytes()).collect()
    }

    #[test]
    fn time_that_is_needed() {
        // LOP3 R5, then an IADD3 that reads it or does not; SGXT R5, which is rare.
        let logic = 0x000fe200_078ec0ff_00000004_03057212;
        let reads = 0x000fe200_07ffe0ff_00000001_05067810;
        let other = 0x000fe200_07ffe0ff_00000001_07067810;
        let extends = 0x000fe200_00000004_00000010_0305781b;
        assert!(!is_needed(&code(logic, reads), 2));
        assert!(!is_needed(&code(extends, other), 2));
        assert!(is_needed(&code(extends, reads), 2));
        // RET.ABS.NODEC R20, and to the place that LOP3 or SGXT gives.
        let returns = 0x000fea00_03e00000_00000000_14007950;
        let returns_there = 0x000fea00_03e00000_00000000_05007950;
        assert!(!is_needed(&code(logic, returns), 2));
        assert!(is_needed(&code(logic, returns_there), 2));
        assert!(is_needed(&code(extends, returns_there), 2));
        assert!(is_needed(&code(extends, returns), 2));
        // CALL.ABS R8.
        let calls = 0x000fea00_03c00000_00000000_08007343;
        assert!(!is_needed(&code(logic, calls), 2));
        assert!(is_needed(&code(extends, calls), 2));
        // What has been overwritten is not used, unless that was under a condition.
        let twice = |second: u128| [&extends.to_le_bytes()[..], &code(second, reads)].concat();
        assert!(!is_needed(&twice(logic), 3));
        assert!(is_needed(&twice(logic & !0xf000), 3));
    }
}
