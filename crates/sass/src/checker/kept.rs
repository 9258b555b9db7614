//! Operands that are kept for the next instruction (`.reuse`).

use super::align::Alignment;
use crate::flow::Flow;
use crate::instruction::{Instruction, KEPT};
use crate::operands::exact::checked;
use crate::registers::File;

/// The first operand, which is in byte 3.
const FIRST: u128 = 1 << 122;
const BYTE: u32 = 3;
/// Plain arithmetic whose first operand is there: `SEL`, `ISETP`, `IADD3`, `LEA`, `LOP3`, `PRMT`, `SHF`, `IMAD`, `VIADD`.
const PLAIN: [u16; 9] = [0x007, 0x00c, 0x010, 0x011, 0x012, 0x016, 0x019, 0x024, 0x036];

/// Whether an instruction keeps operands.
pub fn keeps(instruction: Instruction) -> bool {
    instruction.0 & KEPT != 0
}

/// The operands that an instruction keeps and did not keep before.
pub fn added(before: Instruction, after: Instruction) -> u128 {
    after.0 & KEPT & !before.0
}

/// Whether the next instruction reads the operands again that a step keeps now: the same register in the same place, which is not
/// written, and no other warp goes on in between. This is known of the first operand. `entered` says which steps branches go to.
pub fn may_keep(alignment: &Alignment<'_>, entered: Option<&[bool]>, at: usize) -> bool {
    let new = |at: usize| {
        let step = (at < alignment.len()).then(|| alignment.step(at))?;
        step.before.and(step.after)
    };
    let later = (at + 1..alignment.len()).find(|at| alignment.step(*at).after.is_some());
    let is_entered = |at: usize| entered.is_none_or(|entered| entered[at]);
    let Some(((own, before), next)) =
        new(at).zip(alignment.step(at).before).zip(later.filter(|later| !(at + 1..=*later).any(is_entered)))
    else {
        return false;
    };
    let Some(next) = new(next) else { return false };
    let is_plain = |one: Instruction| {
        PLAIN.contains(&one.operation()) && one.set_mask() == 0 && Flow::of(0, one) == Flow::Next
    };
    let Some((operands, others)) = checked(own).zip(checked(next)) else { return false };
    let register = u16::from(own.byte(BYTE));
    let is_there = operands.reads.contains(File::General, register)
        && others.reads.contains(File::General, register)
        && !operands.writes.contains(File::General, register);
    let is_next = next.byte(BYTE) == own.byte(BYTE) && own.stall() != 0;
    added(before, own) == FIRST && own.holds() && is_plain(own) && is_plain(next) && is_there && is_next
}
