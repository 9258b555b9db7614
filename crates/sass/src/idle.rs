//! Whether a `NOP` after a synchronisation gives something the time that it needs.
//!
//! Results of fixed latency are ready some cycles after an instruction, and the stalls in between see to that. Where an instruction
//! without effect goes, its cycle goes too.

use crate::flow::{Flow, is_control};
use crate::instruction::{Instruction, SIZE};
use crate::operands::{Operands, exact, is_ordering_producer};
use crate::operation::{BAR, CS2R, DOUBLE, IADD, IMAD_WIDE};
use crate::registers::File;
use std::ops::Range;

/// `NOP` of one cycle without waits, as assemblers up to 12.9 have it after `WARPSYNC`, and that of 13.0.100 before `BSYNC` and after
/// `BREAK`. After `WARPSYNC` some have more cycles.
const IDLE: u128 = 0x000fe200_00000000_00000000_00007918;
/// Its condition, its cycles, and whether other warps go on after it.
const VARIABLE: u128 = 15 << 12 | 31 << 105;

/// Whether an instruction only takes time, and is of those that nvlink does without.
pub fn is_idle(instruction: Instruction) -> bool {
    instruction.0 & !VARIABLE == IDLE & !VARIABLE && instruction.stall() != 0
}

/// No result of fixed latency takes longer: those of products of matrices take 19 or 20.
pub const LATEST: u32 = 20;
/// Results of moves, logic, sums and products in registers, for anything but matrices: assemblers have them used after 4 or 5.
const USUAL: u32 = 6;
/// The same for matrices and control, and for what overwrites them with variable latency: assemblers have them used after 7.
const TO_OTHERS: u32 = 7;
/// What `UMOV` writes: assemblers have it used after 2, by memory after 9.
const UNIFORM_MOVED: u32 = 9;
const UMOV: u16 = 0x082;
const UNIFORM: std::ops::RangeInclusive<u16> = 0x080..=0x0ff;
/// What `CS2R` writes: assemblers have it used after 10 by uniform instructions.
const SPECIAL_READ: u32 = 11;
/// Products of 64 bits: assemblers have them used after 8 by double precision and special functions.
const WIDE_PRODUCT: u32 = 9;
/// Sums of 64 bits: after 9 by double precision and matrices.
const WIDE_SUM: u32 = 10;
const IS_WIDE: u32 = 73;
/// Conversions, special functions, counts.
const SPECIAL: std::ops::RangeInclusive<u16> = 0x100..=0x113;
/// What comes after barriers and fences, but plain arithmetic: assemblers have a second barrier after 8 cycles, memory after 6.
const AFTER_BARRIER: u32 = 8;
/// Predicates of comparisons of integers and single precision, and carries: as guards, and where control depends on them.
const PREDICATE: u32 = 13;
/// The same of comparisons of 64 bits, and for uniform instructions.
const LATE_PREDICATE: u32 = 14;
const COMPARES_64_BITS: u32 = 80;
/// The same as operands of selections, comparisons, logic and sums: assemblers have them used after 4 or 5.
const OPERAND: u32 = 6;
const COMPARISONS: [u16; 2] = [0x00b, 0x00c];
const WITH_CARRY: [u16; 3] = [0x010, 0x011, 0x012];
const TAKE_PREDICATES: [u16; 10] = [0x003, 0x007, 0x008, 0x00b, 0x00c, 0x010, 0x011, 0x012, 0x01c, 0x024];
const QUICK: [u16; 28] = [
    0x002, 0x005, 0x006, 0x007, 0x008, 0x009, 0x00a, 0x010, 0x011, 0x012, 0x013, 0x016, 0x017, 0x019, 0x020,
    0x021, 0x023, 0x024, 0x025, 0x027, 0x030, 0x031, 0x032, 0x035, 0x036, 0x045, 0x046, 0x048,
];
const MATRICES: std::ops::RangeInclusive<u16> = 0x037..=0x03f;
/// `QMMA` and `OMMA`.
const OTHER_MATRICES: [u16; 2] = [0x07a, 0x07f];
const SYNCHRONISATION: [u16; 2] = [0x142, 0x148];
/// Calls of a place and returns to an address, which other code follows.
const CALLS: [u16; 2] = [0x943, 0x944];
const RETURN: u16 = 0x150;
const IS_ABSOLUTE: u32 = 85;

/// An instruction before the gap, and how many cycles before its end it comes: in the new code and in the old.
struct Producer {
    instruction: Instruction,
    cycles: [u32; 2],
}

impl Producer {
    /// Whether what comes so many cycles after the gap comes too early now, and did not before.
    fn is_early(&self, latency: u32, later: [u32; 2]) -> bool {
        self.cycles[0] + later[0] < latency.min(self.cycles[1] + later[1])
    }
}

/// Whether the second instruction comes too early so many cycles after the first, and did not where it came so many `before`.
pub fn is_early(first: Instruction, second: Instruction, cycles: u32, before: u32) -> bool {
    let is_plain = QUICK.contains(&second.operation()) && second.set_mask() == 0 && second.is_unconditional();
    let ordered = if is_ordering_producer(first) && !is_plain { AFTER_BARRIER } else { 0 };
    cycles < before && cycles < latency(first, second).max(ordered)
}

/// Whether something before the instruction at this place may not be ready for something after it, if it is left out and the others take as long
/// as they do.
pub fn is_needed(code: &[u8], at: usize) -> bool {
    let idle = at..at + 1;
    has_early(code, idle.clone(), code, idle.clone(), [0, time(code, idle)])
}

/// The same of what is at `idle`, where the others are those of `new`: the ones before end, and the ones after begin, where `gap` does.
/// Without idle instructions, whether any of the others is too early now. What only takes time may be elsewhere.
pub fn is_needed_in(code: &[u8], idle: Range<usize>, new: &[u8], gap: Range<usize>) -> bool {
    let times = [time(new, gap.clone()), time(code, idle.clone())];
    has_early(code, idle, new, gap, times)
}

/// The same where the new code and the old take these times between the ones before and the ones after.
fn has_early(code: &[u8], idle: Range<usize>, new: &[u8], gap: Range<usize>, times: [u32; 2]) -> bool {
    let is_straight = |at: usize, one: Instruction| {
        SYNCHRONISATION.contains(&one.operation()) || Flow::of(at, one) == Flow::Next
    };
    let goes_on =
        |at: usize, one: Instruction| is_straight(at, one) || matches!(Flow::of(at, one), Flow::Branch(_));
    let mut producers = Vec::new();
    let both = before(code, idle.start).zip(before(new, gap.start));
    for ((_, old, old_distance), (_, new, distance)) in
        both.take_while(|((at, old, _), _)| goes_on(*at, *old))
    {
        if old.operation() != new.operation() {
            return true;
        }
        let distance = distance + times[0];
        if distance >= LATEST {
            break;
        }
        // Synchronisation itself has no results.
        if !SYNCHRONISATION.contains(&old.operation()) {
            producers.push(Producer { instruction: old, cycles: [distance, old_distance + times[1]] });
        }
    }
    for ((at, old, old_later), (_, new, later)) in after(code, idle.end).zip(after(new, gap.end)) {
        if old.operation() != new.operation() {
            return true;
        }
        if producers.iter().any(|first| first.is_early(latency(first.instruction, old), [later, old_later])) {
            return true;
        }
        let next = [later + cycles(new), old_later + cycles(old)];
        if next[0] >= LATEST {
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
            if operation == RETURN {
                operands.reads.insert(File::General, instruction.byte(3), 2);
            }
            Some(operands)
        }
        _ => exact::checked(instruction),
    }
}

/// How many cycles after an instruction any other may come.
fn longest(first: Instruction) -> u32 {
    if first.write_scoreboard().is_some() {
        return 0;
    }
    let Some(Operands { writes, .. }) = operands(first) else { return LATEST };
    let is_general = writes == writes.within(&[File::General]);
    match first.operation() {
        _ if writes.is_empty() => 0,
        operation if COMPARISONS.contains(&operation) => LATE_PREDICATE,
        UMOV => UNIFORM_MOVED,
        CS2R if is_general => SPECIAL_READ,
        IMAD_WIDE if is_general => WIDE_PRODUCT,
        IADD if is_general => WIDE_SUM,
        operation if is_general && QUICK.contains(&operation) => TO_OTHERS,
        _ => LATEST,
    }
}

/// How many cycles after the first instruction the second one may come.
fn latency(first: Instruction, second: Instruction) -> u32 {
    if first.write_scoreboard().is_some() {
        return 0;
    }
    let (Some(producer), Some(consumer)) = (operands(first), operands(second)) else { return LATEST };
    let mut used = consumer.reads;
    used.insert_from(&consumer.writes);
    used.insert_from(&consumer.guard);
    if !producer.writes.meets(&used) {
        return 0;
    }
    let met = |files: &[File]| producer.writes.within(files).meets(&used);
    let (operation, user) = (first.operation(), second.operation());
    if operation == UMOV {
        return UNIFORM_MOVED;
    }
    let is_carry =
        WITH_CARRY.contains(&operation) && !met(&[File::Uniform, File::UniformPredicate, File::Barrier]);
    if COMPARISONS.contains(&operation) || is_carry && met(&[File::Predicate]) {
        let is_operand = TAKE_PREDICATES.contains(&user) && !producer.writes.meets(&consumer.guard);
        let is_late = first.field(COMPARES_64_BITS, 1) != 0 || UNIFORM.contains(&user);
        return match is_operand {
            true => OPERAND,
            false if is_late => LATE_PREDICATE,
            false => PREDICATE,
        };
    }
    let is_matrix = MATRICES.contains(&user) || OTHER_MATRICES.contains(&user);
    let is_double = DOUBLE.contains(&user);
    let is_overwritten = second.set_mask() != 0 && producer.writes.meets(&consumer.writes);
    let is_general = met(&[File::General])
        && !met(&[File::Uniform, File::Predicate, File::UniformPredicate, File::Barrier]);
    match is_general && QUICK.contains(&operation) {
        true if operation == CS2R && UNIFORM.contains(&user) => SPECIAL_READ,
        true if operation == IMAD_WIDE && (is_double || SPECIAL.contains(&user)) => WIDE_PRODUCT,
        true if operation == IADD && first.field(IS_WIDE, 1) != 0 && (is_double || is_matrix) => WIDE_SUM,
        true if is_matrix || is_control(second) || is_overwritten => TO_OTHERS,
        true => USUAL,
        false => LATEST,
    }
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
    }
}
