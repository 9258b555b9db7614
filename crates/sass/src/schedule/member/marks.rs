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

/// An instruction whose operands are kept for no one if the next instruction comes much later, or is of no fixed latency.
pub fn without_kept(line: &Line, next: Option<&Line>, stall: i64) -> Instruction {
    let is_lost = stall >= LONG || is_double(line.bits) || next.is_none_or(|next| is_double(next.bits));
    if is_lost { Instruction(line.bits.0 & !KEPT) } else { line.bits }
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
