//! Operands that are kept for the next instruction (`.reuse`).

use super::align::Alignment;
use crate::flow::Flow;
use crate::instruction::{Instruction, KEPT};
use crate::operands::exact::checked;
use crate::registers::File;

/// The first operand, which is in byte 3.
const FIRST: u128 = 1 << 122;
const BYTE: u32 = 3;
const ZERO: u8 = 255;
/// Plain arithmetic whose first operand is there: `SEL`, `ISETP`, `IADD3`, `LEA`, `LOP3`, `PRMT`, `SHF`, `IMAD`, `IMAD.WIDE`, `VIADD`,
/// `R2UR`.
const PLAIN: [u16; 11] = [0x007, 0x00c, 0x010, 0x011, 0x012, 0x016, 0x019, 0x024, 0x025, 0x036, 0x0ca];
/// What comes in between in the code of assemblers: `UMOV`, `UIADD3`, `LD`, `LDG`, `LDC`, `LDS`, `LDCU`.
const PASSED: [u16; 7] = [0x082, 0x090, 0x180, 0x181, 0x182, 0x184, 0x1ac];
const REACH: usize = 16;

/// Whether an instruction keeps operands.
pub fn keeps(instruction: Instruction) -> bool {
    instruction.0 & KEPT != 0
}

/// The operands that an instruction keeps and did not keep before.
pub fn added(before: Instruction, after: Instruction) -> u128 {
    after.0 & KEPT & !before.0
}

/// Whether the next instruction that could take the operands that a step keeps now reads them again: the same register in the same
/// place, which is not written, and no other warp goes on in between. This is known of the first operand. `entered` says which steps
/// branches go to.
pub fn may_keep(alignment: &Alignment<'_>, entered: Option<&[bool]>, at: usize) -> bool {
    let Some((before, own)) = both(alignment, at) else { return false };
    let Some(operands) = checked(own) else { return false };
    let register = u16::from(own.byte(BYTE));
    let is_kept = operands.reads.contains(File::General, register)
        && !operands.writes.contains(File::General, register)
        && own.stall() != 0
        && own.holds();
    if added(before, own) != FIRST || !is_plain(own) || !is_kept {
        return false;
    }
    for later in at + 1..alignment.len().min(at + REACH) {
        if entered.is_none_or(|entered| entered[later]) {
            return false;
        }
        if alignment.step(later).after.is_none() {
            continue;
        }
        let Some((_, next)) = both(alignment, later) else { return false };
        let Some(others) = checked(next) else { return false };
        // It may wait itself: in the objects of `cargo xtask realcode` one in twelve does.
        if is_plain(next) && next.byte(BYTE) == own.byte(BYTE) {
            return others.reads.contains(File::General, register);
        }
        if next.wait_mask() != 0 {
            return false;
        }
        // Registers of even and of odd numbers are kept apart, and the zero register is not among them.
        let is_other = next.byte(BYTE) == ZERO || (next.byte(BYTE) ^ own.byte(BYTE)) & 1 != 0;
        let is_passed = (PASSED.contains(&next.operation()) || is_plain(next) && is_other)
            && next.holds()
            && next.stall() != 0
            && !others.writes.contains(File::General, register);
        if !is_passed {
            return false;
        }
    }
    false
}

/// Whether an earlier instruction may keep operands over a step, for a later one.
pub fn is_passed(alignment: &Alignment<'_>, at: usize) -> bool {
    let mut own = alignment.step(at).after;
    for earlier in (at.saturating_sub(REACH)..at).rev() {
        // The next one that is no memory or control takes them.
        if own.is_some_and(|own| !own.is_delay() && !PASSED.contains(&own.operation())) {
            return false;
        }
        let Some(after) = alignment.step(earlier).after else { continue };
        if keeps(after) {
            return true;
        }
        own = Some(after);
    }
    false
}

fn both(alignment: &Alignment<'_>, at: usize) -> Option<(Instruction, Instruction)> {
    let step = (at < alignment.len()).then(|| alignment.step(at))?;
    step.before.zip(step.after)
}

/// Whether an instruction takes what is kept for it.
pub fn is_plain(one: Instruction) -> bool {
    PLAIN.contains(&one.operation()) && one.set_mask() == 0 && Flow::of(0, one) == Flow::Next
}
