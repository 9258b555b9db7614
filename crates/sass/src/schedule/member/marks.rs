//! After which instructions other warps may go on, and which operands are kept for the next one.

use super::pipes::{Kind, Member, is_double};
use crate::instruction::Instruction;
use crate::schedule::instructions::Line;
use std::ops::Range;

/// Stalls of so many cycles have others go on in any case, and those of so many unless an operand is kept.
const LONG: i64 = 12;
const SHORT: i64 = 3;
/// Where nothing has gone on for so many cycles, two are enough.
const PATIENCE: i64 = 10;
const TWO: i64 = 2;

const KEPT_AT: u32 = 122;
const KEPT: u128 = 0xf << KEPT_AT;

/// The operands that an instruction keeps for the next one.
fn kept(bits: Instruction) -> u64 {
    bits.field(KEPT_AT, 4)
}

/// Where the operands stand that can be kept.
const SLOTS: [u32; 3] = [3, 4, 8];
/// How far what they are kept for may be.
const REACH: usize = 8;

/// An instruction of a block without what it keeps for no one: for what comes much later, or is of no fixed latency.
pub fn without_kept(lines: &[Line], at: usize, end: usize, stalls: &[i64]) -> Instruction {
    let bits = lines[at].bits;
    let mut kept = kept(bits);
    for (slot, byte) in SLOTS.into_iter().enumerate() {
        let is_user = |later: &usize| lines[*later].bits.byte(byte) == bits.byte(byte);
        let user = (at + 1..end.min(at + REACH)).find(is_user);
        let is_late = stalls.iter().take(user.map_or(1, |user| user - at)).any(|stall| *stall >= LONG);
        if is_double(bits) || is_late || user.is_some_and(|user| is_double(lines[user].bits)) {
            kept &= !(1 << slot);
        }
    }
    Instruction(bits.0 & !KEPT | u128::from(kept) << KEPT_AT)
}

/// Whether each instruction of a block lets no other warp go on.
pub fn holds(lines: &[Line], range: Range<usize>, new: &[Instruction], stalls: &[i64]) -> Vec<bool> {
    let (mut old_since, mut since) = (0, 0);
    let mut holds = Vec::with_capacity(range.len());
    for (index, line) in lines[range].iter().enumerate() {
        let old_stall = i64::from(line.bits.stall());
        let expected = predicted(line.bits, Member::Sm100, old_stall, old_since);
        let is_expected = expected == line.bits.holds();
        let predicted = predicted(new[index], Member::Sm103, stalls[index], since);
        let hold = if is_expected || stalls[index] >= LONG { predicted } else { line.bits.holds() };
        old_since = if line.bits.holds() { old_since + old_stall } else { 0 };
        since = if hold { since + stalls[index] } else { 0 };
        holds.push(hold);
    }
    holds
}

fn predicted(bits: Instruction, member: Member, stall: i64, since: i64) -> bool {
    let sets = bits.write_scoreboard().is_some() || bits.read_scoreboard().is_some();
    let is_fixed = Kind::of(bits, member).is_fixed() && !(member == Member::Sm103 && is_double(bits));
    if stall >= LONG {
        return false;
    }
    if sets || !is_fixed || kept(bits) != 0 {
        return true;
    }
    stall < SHORT && !(stall == TWO && since >= PATIENCE)
}
