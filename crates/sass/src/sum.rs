//! Two ways to add two numbers.
//!
//! `IADD3` adds three numbers, `IADD` two. Up to 13.0 assemblers have the first one for two numbers as well, with zero for the third. Later
//! finalizers have the second one on sm_120 and sm_121. It takes a cycle more until most others may use its result.

use crate::flow::Flow;
use crate::idle::is_long;
use crate::instruction::{Instruction, SIZE};
use crate::operands::Operands;
use crate::operands::exact::checked;
use crate::operation::{
    ATOMG, DOUBLE, F2I, F2I_DOUBLE, I2F, I2F_DOUBLE, IMAD_HIGH, IMAD_WIDE, IMNMX, LDC, MUFU, NANOSLEEP, R2UR,
    REDUX,
};
use crate::registers::File;

const IADD3: u16 = 0x010;
const IADD: u128 = 0x035;
/// What makes the sum of two one of 64 bits.
const IS_WIDE: u32 = 73;
const OPERATION: u128 = 0x1ff;
/// The third operand and whether it is negative.
const THIRD: u32 = 64;
const THIRD_NEGATIVE: u32 = 75;
/// With the carry of another sum. The second one that comes in, and the second one that goes out.
const WITH_CARRY: u32 = 74;
const SECOND_IN: u32 = 77;
const SECOND_OUT: u32 = 84;
const FIRST_IN: u32 = 87;
/// Whether operands are subtracted.
const FIRST_NEGATIVE: u32 = 72;
const SECOND_NEGATIVE: u32 = 63;
/// Calls and returns depend on a predicate besides the guard.
const SECOND_PREDICATE: u32 = 87;
const RZ: u64 = 0xff;
/// `PT` and `!PT`.
const TRUE: u64 = 7;
const FALSE: u64 = 15;

/// How soon assemblers from 13.1 on have its result used by plain arithmetic and memory, and its operands written before it.
const USED: u32 = 5;
/// How soon it may use what sums, selections and moves of 64 bits write.
const AFTER_LONG: u32 = 6;
/// The forms of products that have what is added to them in registers.
const ADDS_REGISTERS: [u16; 4] = [1, 4, 5, 6];
/// How soon it may use the lower half of a product of 64 bits, and be added to the upper half of one.
const AFTER_HALF: u32 = 3;
/// How soon what reads its operands late may use it: functions, conversions, `LDC`, `NANOSLEEP` and `REDUX`, 4 cycles in most places that 13.1 made, never fewer.
const USED_LATE: u32 = 4;
const LATE: [u16; 8] = [F2I, I2F, I2F_DOUBLE, F2I_DOUBLE, MUFU, LDC, NANOSLEEP, REDUX];
/// What may overwrite it at once, as 13.1 has it: `MOV`, `SEL`, `IADD3`, `LOP3`, `IMAD` and `IADD`. The later result comes later.
const OVERWRITE: [u16; 6] = [0x002, 0x007, 0x010, 0x012, 0x024, 0x035];
/// How soon double precision and `IMNMX` of 64 bits may use it.
const USED_BY_DOUBLE: u32 = 6;
/// `VOTE`, `FSETP`, `PLOP3`, whose predicates take longer.
const LATER_CARRIES: [u16; 3] = [0x006, 0x00b, 0x01c];
/// How soon these may use its carry, how soon guards and other code may, and how soon anything else may.
const CARRIED: u32 = 5;
/// `SEL`, `ISETP`, `IADD3`, `LEA`, `LOP3`, `PLOP3`, `IMAD`, `IMAD.WIDE`, `IADD`.
const TAKE_CARRIES: [u16; 9] = [0x007, 0x00c, 0x010, 0x011, 0x012, 0x01c, 0x024, 0x025, 0x035];
const CARRIED_TO_GUARD: u32 = 13;
const CARRIED_TO_OTHERS: u32 = 14;
/// How soon anything else may use it, and other code.
const USED_BY_OTHERS: u32 = 7;
/// `MOV` to `VIMNMX`: plain arithmetic of one word, and comparisons; `MOVM` and `STSM`.
const PLAIN: [u16; 23] = [
    0x002, 0x007, 0x008, 0x00b, 0x00c, 0x010, 0x011, 0x012, 0x013, 0x016, 0x019, 0x020, 0x021, 0x023, 0x024,
    0x025, 0x027, 0x035, 0x036, 0x03a, 0x044, 0x045, 0x048,
];
/// Loads, stores and what crosses lanes.
const MEMORY: std::ops::RangeInclusive<u16> = 0x180..=0x18e;

/// `IADD3 R, P, PT, a, b, RZ` as `IADD R, P, a, b`: both have the result a + b, and the same carries.
pub fn of_two(instruction: Instruction) -> Option<Instruction> {
    let field = |at: u32, width: u32| instruction.field(at, width);
    // Nobody has seen a sum of two negative numbers, nor a carry that nothing takes.
    let is_negative = field(FIRST_NEGATIVE, 1) != 0
        && [1, 6].contains(&instruction.form())
        && field(SECOND_NEGATIVE, 1) != 0;
    let is_of_two = instruction.operation() == IADD3
        && !is_negative
        && (field(WITH_CARRY, 1) != 0 || field(FIRST_IN, 4) == FALSE)
        && field(IS_WIDE, 1) == 0
        && field(THIRD, 8) == RZ
        && field(THIRD_NEGATIVE, 1) == 0
        && field(SECOND_IN, 4) == FALSE
        && field(SECOND_OUT, 3) == TRUE;
    let gone = OPERATION | 0xff << THIRD | 0xf << SECOND_IN | 0x7 << SECOND_OUT;
    (is_of_two && mercury(instruction).is_some()).then_some(Instruction(instruction.0 & !gone | IADD))
}

/// What a capsule has of `IADD` of this form: with a register, an immediate or a uniform register.
pub fn mercury(instruction: Instruction) -> Option<[u8; 4]> {
    match (instruction.form(), instruction.field(WITH_CARRY, 1) != 0) {
        (1, false) => Some([0x41, 0x0c, 0x40, 0x04]),
        (4, false) => Some([0x42, 0x0c, 0x42, 0x06]),
        (6, false) => Some([0x41, 0x0c, 0x44, 0x04]),
        (1, true) => Some([0x42, 0x0c, 0x30, 0x14]),
        (4, true) => Some([0x42, 0x0c, 0x32, 0x06]),
        (6, true) => Some([0x42, 0x0c, 0x34, 0x14]),
        _ => None,
    }
}

/// Marks the sums of `VIADD` as signed, as sm_107 has them: the result is the same.
pub fn mark_signed(code: &mut [u8]) {
    const VIADD: u16 = 0x036;
    const SIGNED: u128 = 1 << 74;
    for place in code.as_chunks_mut::<SIZE>().0 {
        let instruction = Instruction(u128::from_le_bytes(*place));
        if instruction.operation() == VIADD {
            *place = (instruction.0 | SIGNED).to_le_bytes();
        }
    }
}

fn cycles(instruction: Instruction) -> u32 {
    if instruction.has_usual_stall() { instruction.stall().max(1).into() } else { 1 }
}

/// Whether the sum at a place may be the other kind of sum, with the cycles that the code has: no operand comes later than it may, nothing
/// uses the result too early. What wrote its result before has more time than it had.
pub fn is_in_time(code: &[u8], at: usize) -> bool {
    let count = code.len() / SIZE;
    let instruction = |at: usize| Instruction::at(code, at);
    let Some(sum) = checked(instruction(at)) else { return false };
    let result = sum.writes.within(&[File::General]);
    let carry = sum.writes.within(&[File::Predicate]);
    let mut distance = 0;
    for before in (0..at).rev() {
        distance += cycles(instruction(before));
        // A return is as slow as a branch: it takes 5 cycles, and what was written came a cycle before it.
        let is_taken = instruction(before).is_call_or_return()
            && instruction(before).is_unconditional()
            && instruction(before).field(SECOND_PREDICATE, 4) == TRUE;
        if distance >= AFTER_LONG || is_taken {
            break;
        }
        let Some(Operands { writes, .. }) = checked(instruction(before)) else { return false };
        let is_carry = writes.within(&[File::Predicate]).meets(&sum.reads);
        let is_long = is_long(instruction(before))
            || instruction(before).is_long_comparison()
            || is_carry && LATER_CARRIES.contains(&instruction(before).operation());
        if is_carry && !is_long && !TAKE_CARRIES.contains(&instruction(before).operation()) {
            return false;
        }
        // The lower half of a product is there before the other one.
        let is_half = instruction(before).operation() == IMAD_WIDE
            && !sum.reads.contains(File::General, u16::from(instruction(before).byte(2)) + 1)
            && !is_carry;
        let needed = match is_long {
            true => AFTER_LONG,
            false if is_half => AFTER_HALF,
            false => USED,
        };
        let is_needed = is_carry || writes.within(&[File::General]).meets(&sum.reads);
        if is_needed && distance < needed && instruction(before).write_scoreboard().is_none() {
            return false;
        }
    }
    let (over, left) = if carry.is_empty() {
        (USED_BY_OTHERS, USED_BY_OTHERS)
    } else {
        (CARRIED_TO_OTHERS, CARRIED_TO_GUARD)
    };
    let mut distance = cycles(instruction(at));
    for after in at + 1..count {
        if distance >= over {
            return true;
        }
        let next = instruction(after);
        let needed = match next.operation() {
            operation if LATE.contains(&operation) => USED_LATE,
            R2UR | ATOMG => USED,
            operation if DOUBLE.contains(&operation) || operation == IMNMX => USED_BY_DOUBLE,
            operation if PLAIN.contains(&operation) || MEMORY.contains(&operation) => USED,
            _ => USED_BY_OTHERS,
        };
        let flow = Flow::of(after, next);
        if next.is_return() {
            let address = u16::from(next.byte(3));
            if [address, address + 1].into_iter().any(|register| result.contains(File::General, register)) {
                return false;
            }
            let predicates = [next.guard() & 7, next.field(SECOND_PREDICATE, 3) as u8];
            let is_guard = predicates.into_iter().any(|one| carry.contains(File::Predicate, one.into()));
            if is_guard && distance < CARRIED_TO_OTHERS {
                return false;
            }
        } else if flow != Flow::End {
            let Some(Operands { reads, writes, guard }) = checked(next) else { return false };
            let carried = if TAKE_CARRIES.contains(&next.operation()) { CARRIED } else { CARRIED_TO_OTHERS };
            if reads.meets(&carry) && distance < carried || guard.meets(&carry) && distance < CARRIED_TO_GUARD
            {
                return false;
            }
            // What is added to the upper half of a product of 64 bits is read later.
            let is_added_late = [IMAD_WIDE, IMAD_HIGH].contains(&next.operation())
                && ADDS_REGISTERS.contains(&next.form())
                && result.contains(File::General, u16::from(next.byte(8)) + 1)
                && [3, 4].iter().all(|at| !result.contains(File::General, next.byte(*at).into()));
            let needed = if is_added_late { AFTER_HALF } else { needed };
            let is_later = OVERWRITE.contains(&next.operation()) && next.set_mask() == 0;
            let is_overwritten = writes.meets(&result) && distance < USED && !is_later
                || writes.meets(&carry) && distance < USED;
            if is_overwritten || reads.meets(&result) && distance < needed {
                return false;
            }
        }
        distance += cycles(next);
        match flow {
            Flow::Next => {}
            Flow::End => return true,
            // `WARPSYNC` that names no other place.
            Flow::Branch(target) if target == after as i64 + 1 => {}
            _ => return distance >= left,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{is_in_time, of_two};
    use crate::instruction::Instruction;

    /// `IADD3 R5, PT, PT, R0, 1, RZ`, `STG.E desc[UR4][R2.64], R5` and `EXIT`.
    const SUM: u128 = 0x07ff_e0ff_0000_0001_0005_7810;
    const STORE: u128 = 0x000f_e200_0c10_1904_0000_0005_0200_7986;
    const EXIT: u128 = 0x000f_ea00_0380_0000_0000_0000_0000_794d;
    /// `LOP3.LUT R0, R0, R1, RZ, 0xc0, !PT`
    const LOGIC: u128 = 0x0780_c0ff_0000_0001_0000_7212;

    fn with(bits: u128, stall: u128) -> u128 {
        bits | 0x000f_c000 << 96 | stall << 105
    }

    #[test]
    fn forms() {
        let pairs: [(u128, u128); 5] = [
            (0x000f_c800_07f1_e0ff_8000_0006_ff0a_7210, 0x000f_c800_0780_0000_8000_0006_ff0a_7235),
            (0x000f_e200_007f_e4ff_8000_0007_ff0b_7210, 0x000f_e200_000e_0400_8000_0007_ff0b_7235),
            (0x002f_e400_07ff_e0ff_0000_0003_0009_7810, 0x002f_e400_078e_0000_0000_0003_0009_7835),
            (0x000f_c800_0fff_e0ff_0000_0004_0505_7c10, 0x000f_c800_0f8e_0000_0000_0004_0505_7c35),
            (0x000f_ca00_07ff_e1ff_0000_00ff_0504_7210, 0x000f_ca00_078e_0100_0000_00ff_0504_7235),
        ];
        for (three, two) in pairs {
            assert_eq!(of_two(Instruction(three)), Some(Instruction(two)));
            assert_eq!(of_two(Instruction(two)), None);
        }
        // Of three numbers, and of constant memory.
        for other in [0x000f_ca00_07ff_e0fe_0000_0003_0009_7810, 0x000f_ca00_07ff_e0ff_0000_e800_0009_7a10] {
            assert_eq!(of_two(Instruction(other)), None, "{other:x}");
        }
    }

    #[test]
    fn times() {
        let is_in_time = |code: &[u128], at: usize| {
            is_in_time(&code.iter().flat_map(|bits| bits.to_le_bytes()).collect::<Vec<_>>(), at)
        };
        assert!(is_in_time(&[with(SUM, 5), STORE, EXIT], 0));
        assert!(!is_in_time(&[with(SUM, 4), STORE, EXIT], 0));
        // An operand is there after 5, too.
        assert!(is_in_time(&[with(LOGIC, 5), with(SUM, 5), STORE, EXIT], 1));
        assert!(!is_in_time(&[with(LOGIC, 4), with(SUM, 5), STORE, EXIT], 1));
        // `LDC R36, c[0][R5 + 0x360]` reads its operands late, `R2UR UR4, R5` as others do.
        let load = 0x000e_e200_0000_0800_0000_d800_0524_7b82;
        let uniform = 0x000f_e200_000e_0000_0000_0000_0504_72ca;
        assert!(is_in_time(&[with(SUM, 4), load, EXIT], 0));
        assert!(!is_in_time(&[with(SUM, 3), load, EXIT], 0));
        assert!(is_in_time(&[with(SUM, 5), uniform, EXIT], 0));
        assert!(!is_in_time(&[with(SUM, 4), uniform, EXIT], 0));
        assert!(is_in_time(&[with(SUM, 5), with(SUM, 5), STORE, EXIT], 0));
        // Plain arithmetic overwrites its result at once; it is not overtaken by `LDC R5, c[0][0x360]`. Code elsewhere finds it.
        assert!(is_in_time(&[with(SUM, 1), with(SUM, 5), STORE, EXIT], 0));
        let load = 0x000e_e200_0000_0800_0000_d800_ff05_7b82;
        assert!(!is_in_time(&[with(SUM, 4), load, EXIT], 0));
        assert!(is_in_time(&[with(SUM, 5), load, EXIT], 0));
        let branch = 0x000f_c000_0383_ffff_ffff_fffc_00fc_7947;
        assert!(!is_in_time(&[with(SUM, 1), branch | 5 << 105], 0));
        assert!(is_in_time(&[with(SUM, 2), branch | 5 << 105], 0));
        // `IADD3 R5, P0, PT, R0, 1, RZ` and `IADD3.X R6, PT, PT, R9, RZ, RZ, P0, !PT`: a carry takes 5, too, and 14 until a return depends on it.
        let carry = SUM & !(7 << 81);
        let with_carry = 0x007f_e4ff_0000_00ff_0906_7210;
        assert!(is_in_time(&[with(carry, 5), with(with_carry, 10), STORE, EXIT], 0));
        assert!(!is_in_time(&[with(carry, 4), with(with_carry, 10), STORE, EXIT], 0));
        assert!(is_in_time(&[with(carry, 5), with(with_carry, 10), STORE, EXIT], 1));
        assert!(!is_in_time(&[with(carry, 4), with(with_carry, 10), STORE, EXIT], 1));
        let returns = |guard: u128| 0x000f_ea00_03c0_0000_0000_0000_1400_0950 | guard << 12;
        assert!(is_in_time(&[with(carry, 9), returns(7)], 0));
        assert!(!is_in_time(&[with(carry, 9), returns(0)], 0));
        // `IMAD.WIDE.U32 R0, P0, R2, R4, RZ`: its lower half comes early, its carry does not.
        let product = |predicate: u128| 0x0780_00ff_0000_0004_0200_7225 | predicate << 81;
        assert!(is_in_time(&[with(product(7), 3), with(SUM, 5), STORE, EXIT], 1));
        assert!(!is_in_time(&[with(product(7), 2), with(SUM, 5), STORE, EXIT], 1));
        assert!(!is_in_time(&[with(product(0), 3), with(with_carry, 10), STORE, EXIT], 1));
    }
}
