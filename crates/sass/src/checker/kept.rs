//! Operands that are kept for the next instruction (`.reuse`).

use super::align::Alignment;
use crate::flow::Flow;
use crate::idle::Speed;
use crate::instruction::{Instruction, KEPT};
use crate::operands::Operands;
use crate::operands::exact::checked;
use crate::operation::{
    BSSY, DMMA, DOUBLE, HMMA, IADD, IMAD_WIDE, ISETP, LONG_CONVERSIONS, MOV, R2UR, STG, STS,
};
use crate::registers::{File, Registers};

/// The places from which operands are kept, and the zero register.
const KEPT_AT: u32 = 122;
const SLOTS: u32 = 3;
/// The places of the factors of products of matrices.
const FACTORS: u32 = 2;
const ZERO: u8 = 255;
/// The form whose second operand is a register in byte 4.
const OF_REGISTERS: u16 = 1;
/// The forms whose second operand is in byte 8, and whose third one is an immediate, a constant or a uniform register.
const OF_SECOND_LAST: [u16; 3] = [2, 3, 7];
/// The forms whose second operand is an immediate or a uniform register.
const OF_OTHERS: [u16; 2] = [4, 6];
/// Of those below, the ones with a third register, in byte 8: `IADD3`, `LEA`, `LOP3`, `PRMT`, `SHF`, `IMAD`.
const OF_THREE: [u16; 6] = [0x010, 0x011, 0x012, 0x016, 0x019, 0x024];
/// Those with two, in bytes 3 and 4: `SEL`, `FSEL`, `FSETP`, `ISETP`, `IADD`.
const OF_TWO: [u16; 5] = [0x007, FSEL, FSETP, ISETP, IADD];
/// Plain arithmetic whose operands are there: `MOV` of 32 bits, `SEL`, `FSEL`, `FSETP`, `ISETP`, `IADD3`, `LEA`, `LOP3`, `PRMT`, `SHF`, `IMAD`, `IMAD.WIDE`, `IADD`, `VIADD`,
/// `R2UR`.
const PLAIN: [u16; 15] =
    [MOV, 0x007, FSEL, FSETP, 0x00c, 0x010, 0x011, 0x012, 0x016, 0x019, 0x024, 0x025, 0x035, 0x036, 0x0ca];
/// What comes in between in the code of assemblers: `HMMA`, `DMMA`, `UMOV`, `UISETP`, `UIADD3`, `BSSY`, `LD`, `LDG`, `LDC`, `LDS`, `STG`, `STS`, `LDCU`; and `VOTE`,
/// in nvlink's. `VOTE` has no general operands, memory takes its operands from elsewhere, and matrices keep theirs apart from those of others.
const PASSED: [u16; 14] =
    [0x006, HMMA, DMMA, 0x082, 0x08c, 0x090, BSSY, 0x180, 0x181, 0x182, 0x184, STG, STS, 0x1ac];
const VIADD: u16 = 0x036;
const FSEL: u16 = 0x008;
const FSETP: u16 = 0x00b;
/// How far what operands are kept for may be, and how far that is in code from which instructions are gone.
pub const REACH: usize = 32;
const REACH_OVER_GONE: usize = 8 * REACH;

/// Whether an instruction keeps operands.
pub fn keeps(instruction: Instruction) -> bool {
    instruction.0 & KEPT != 0
}

/// The operands that an instruction keeps and did not keep before.
pub fn added(before: Instruction, after: Instruction) -> u128 {
    after.0 & KEPT & !before.0
}

/// Whether the next instruction that could take the operands that a step keeps now reads them again: the same register in the same
/// place, which is not written, and no other warp goes on in between. `entered` says which steps branches go to.
pub fn may_keep(alignment: &Alignment<'_>, entered: Option<&[bool]>, at: usize) -> bool {
    let Some((before, own)) = both(alignment, at) else { return false };
    let added = added(before, own) >> KEPT_AT;
    let is_added = |slot: &u32| added >> slot & 1 != 0;
    added >> SLOTS == 0
        && (is_plain(own) || is_product(own) && added >> FACTORS == 0)
        && own.holds()
        && own.has_usual_stall()
        // Another thread may have what is under way at this one.
        && own.is_unconditional()
        && (0..SLOTS).filter(is_added).all(|slot| is_read_again(alignment, entered, at, slot))
}

/// What an instruction has in one of the places for operands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operand {
    Register(u8),
    /// An immediate, a uniform register or no operand.
    Absent,
    /// A number of 64 bits, or what is not looked at.
    Unknown,
}

/// What plain arithmetic or a move has in one of the places.
fn operand(one: Instruction, slot: u32) -> Operand {
    let is_among = |operations: &[u16]| operations.contains(&one.operation());
    // A move has its operand in the second place.
    let has_two = is_among(&OF_TWO) || one.operation() == MOV;
    let is_known = one.form() == OF_REGISTERS || OF_OTHERS.contains(&one.form());
    match (slot, one.operation()) {
        (0, MOV) | (1 | 2, R2UR) => Operand::Absent,
        (0, _) => Operand::Register(one.byte(3)),
        (1, DMMA) => Operand::Register(one.byte(4)),
        (1, _) if one.form() == OF_REGISTERS && (has_two || is_among(&OF_THREE)) => {
            Operand::Register(one.byte(4))
        }
        (1, _) if OF_OTHERS.contains(&one.form()) => Operand::Absent,
        (1, _) if OF_SECOND_LAST.contains(&one.form()) && is_among(&OF_THREE) => {
            Operand::Register(one.byte(8))
        }
        (2, _) if OF_SECOND_LAST.contains(&one.form()) && is_among(&OF_THREE) => Operand::Absent,
        (2, _) if is_known && (is_among(&OF_THREE) || one.operation() == IMAD_WIDE) => {
            Operand::Register(one.byte(8))
        }
        (2, VIADD) => Operand::Absent,
        (2, _) if is_known && has_two => Operand::Absent,
        _ => Operand::Unknown,
    }
}

/// Whether an instruction takes what is kept of a register in one of the places.
pub fn reads_at(one: Instruction, slot: u32, register: u8) -> bool {
    let reads = |operands: Operands| operands.reads.contains(File::General, register.into());
    is_plain(one) && operand(one, slot) == Operand::Register(register) && checked(one).is_some_and(reads)
}

/// Whether the next instruction that could take the operand in this place does, as it is.
fn is_read_again(alignment: &Alignment<'_>, entered: Option<&[bool]>, at: usize, slot: u32) -> bool {
    let Some((_, keeper)) = both(alignment, at) else { return false };
    let (Operand::Register(own), Some(operands)) = (operand(keeper, slot), checked(keeper)) else {
        return false;
    };
    let register = u16::from(own);
    // Of two registers both are kept.
    let mut kept = Registers::default();
    kept.insert(File::General, own, 1 + u16::from(is_pair(keeper, slot)));
    if !operands.reads.contains(File::General, register) || operands.writes.meets(&kept) {
        return false;
    }
    let mut is_second_written = operands.writes.contains(File::General, register + 1);
    let mut left = REACH;
    for later in at + 1..alignment.len().min(at + REACH_OVER_GONE) {
        if entered.is_none_or(|entered| entered[later]) {
            return false;
        }
        if alignment.step(later).after.is_none() {
            continue;
        }
        let Some((_, next)) = both(alignment, later).filter(|_| left > 0) else { return false };
        left -= 1;
        let Some(others) = checked(next) else { return false };
        // It may wait, and so may those in between: in the objects of `cargo xtask realcode` one in ten does, and one in six of these.
        let is_alike = is_plain(next) && is_plain(keeper) || is_product(next) && is_product(keeper);
        if is_alike && operand(next, slot) == Operand::Register(own) {
            let is_whole = if is_pair(next, slot) { !is_second_written } else { !is_pair(keeper, slot) };
            return is_whole && others.reads.contains(File::General, register);
        }
        let is_passed = !takes(keeper, next, slot, alignment.speed)
            && !is_quick_double(next)
            && !next.is_delay()
            && next.holds()
            && next.has_usual_stall()
            && !others.writes.meets(&kept);
        if !is_passed {
            return false;
        }
        is_second_written |= others.writes.contains(File::General, register + 1);
    }
    false
}

/// Whether an instruction may take what another one keeps in a place, or end that it is kept.
fn takes(keeper: Instruction, next: Instruction, slot: u32, speed: Speed) -> bool {
    let is_matrix = |one: Instruction| [HMMA, DMMA].contains(&one.operation());
    if is_matrix(keeper) {
        return is_matrix(next);
    }
    // What is slow takes its operands from elsewhere, as memory does.
    let is_slow = speed.has_slow_doubles()
        && (DOUBLE.contains(&next.operation()) || LONG_CONVERSIONS.contains(&next.operation()));
    if next.is_delay() || PASSED.contains(&next.operation()) || is_slow {
        return false;
    }
    // Registers of even and of odd numbers are kept apart, two are one of each, and the zero register is not among them.
    let has_pair = is_pair(keeper, slot) || is_pair(next, slot);
    let is_other = match (operand(next, slot), operand(keeper, slot)) {
        (Operand::Absent | Operand::Register(ZERO), _) => true,
        (Operand::Register(other), Operand::Register(own)) => !has_pair && (other ^ own) & 1 != 0,
        _ => false,
    };
    !(is_plain(next) && is_other)
}

/// Whether double precision sets no scoreboard, as where it is fast.
fn is_quick_double(one: Instruction) -> bool {
    DOUBLE.contains(&one.operation()) && one.write_scoreboard().is_none()
}

/// Whether an earlier instruction may keep operands over a step, for a later one.
pub fn is_passed(alignment: &Alignment<'_>, at: usize) -> bool {
    let mut between: Vec<Instruction> = alignment.step(at).after.into_iter().collect();
    for earlier in (at.saturating_sub(REACH_OVER_GONE)..at).rev() {
        let Some(keeper) = alignment.step(earlier).after else { continue };
        let is_kept = |slot: &u32| keeper.0 >> (KEPT_AT + slot) & 1 != 0;
        // A move of 64 bits has nothing in the other places.
        let has = |next: &Instruction, slot: u32| slot == 1 || !next.is_long_move();
        let is_taken = |slot: u32| {
            between.iter().any(|next| has(next, slot) && takes(keeper, *next, slot, alignment.speed))
        };
        if (0..=SLOTS).filter(is_kept).any(|slot| !is_taken(slot)) {
            return true;
        }
        between.push(keeper);
        if between.len() > REACH {
            break;
        }
    }
    false
}

/// Whether an operand is two registers: those of comparisons, sums and selections of 64 bits, and what is added to products.
fn is_pair(one: Instruction, slot: u32) -> bool {
    one.operation() == IMAD_WIDE && slot == 2
        || is_product(one)
        || one.is_long_sum()
        || one.is_long_comparison()
        || one.is_long_selection()
}

fn both(alignment: &Alignment<'_>, at: usize) -> Option<(Instruction, Instruction)> {
    let step = (at < alignment.len()).then(|| alignment.step(at))?;
    step.before.zip(step.after)
}

/// Whether it is a product of matrices of double precision, of the shape whose factors are two registers each.
fn is_product(one: Instruction) -> bool {
    const PRODUCT: u16 = 0x23f;
    one.opcode() == PRODUCT
}

/// Whether an instruction takes what is kept for it.
fn is_plain(one: Instruction) -> bool {
    PLAIN.contains(&one.operation())
        && !one.is_long_move()
        && one.set_mask() == 0
        && Flow::of(0, one) == Flow::Next
}
