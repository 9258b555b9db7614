//! Operands that are kept for the next instruction (`.reuse`).

use super::align::Alignment;
use crate::flow::Flow;
use crate::instruction::{Instruction, KEPT};
use crate::operands::exact::checked;
use crate::registers::File;

/// The places from which operands are kept, and the zero register.
const KEPT_AT: u32 = 122;
const SLOTS: u32 = 3;
const ZERO: u8 = 255;
/// The form whose second operand is a register in byte 4.
const OF_REGISTERS: u16 = 1;
/// Of those below, the ones with a third register, in byte 8: `IADD3`, `LEA`, `LOP3`, `PRMT`, `SHF`, `IMAD`.
const OF_THREE: [u16; 6] = [0x010, 0x011, 0x012, 0x016, 0x019, 0x024];
/// Plain arithmetic whose first operand is there: `SEL`, `ISETP`, `IADD3`, `LEA`, `LOP3`, `PRMT`, `SHF`, `IMAD`, `IMAD.WIDE`, `VIADD`,
/// `R2UR`.
const PLAIN: [u16; 11] = [0x007, 0x00c, 0x010, 0x011, 0x012, 0x016, 0x019, 0x024, 0x025, 0x036, 0x0ca];
/// What comes in between in the code of assemblers: `HMMA`, `UMOV`, `UIADD3`, `LD`, `LDG`, `LDC`, `LDS`, `LDCU`; and `VOTE`, in nvlink's. `VOTE`
/// has no general operands, and matrices keep theirs apart from those of others.
const PASSED: [u16; 9] = [0x006, HMMA, 0x082, 0x090, 0x180, 0x181, 0x182, 0x184, 0x1ac];
const HMMA: u16 = 0x03c;
const MOV: u16 = 0x002;
const R2UR: u16 = 0x0ca;
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
/// place, which is not written, and no other warp goes on in between. `entered` says which steps branches go to.
pub fn may_keep(alignment: &Alignment<'_>, entered: Option<&[bool]>, at: usize) -> bool {
    let Some((before, own)) = both(alignment, at) else { return false };
    let added = added(before, own) >> KEPT_AT;
    let is_added = |slot: &u32| added >> slot & 1 != 0;
    added >> SLOTS == 0
        && is_plain(own)
        && own.stall() != 0
        && own.holds()
        && (0..SLOTS).filter(is_added).all(|slot| is_read_again(alignment, entered, at, slot))
}

/// The register that plain arithmetic has in one of the places.
fn operand(one: Instruction, slot: u32) -> Option<u8> {
    let has_registers = one.form() == OF_REGISTERS && OF_THREE.contains(&one.operation());
    match slot {
        0 => Some(one.byte(3)),
        1 if has_registers => Some(one.byte(4)),
        2 if has_registers => Some(one.byte(8)),
        _ => None,
    }
}

/// Whether the next instruction that could take the operand in this place does, as it is.
fn is_read_again(alignment: &Alignment<'_>, entered: Option<&[bool]>, at: usize, slot: u32) -> bool {
    let Some((_, keeper)) = both(alignment, at) else { return false };
    let Some((own, operands)) = operand(keeper, slot).zip(checked(keeper)) else { return false };
    let register = u16::from(own);
    if !operands.reads.contains(File::General, register) || operands.writes.contains(File::General, register)
    {
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
        if is_plain(next) && operand(next, slot) == Some(own) {
            return others.reads.contains(File::General, register);
        }
        if next.wait_mask() != 0 {
            return false;
        }
        // Registers of even and of odd numbers are kept apart, and the zero register is not among them.
        let is_other = match operand(next, slot) {
            Some(other) => other == ZERO || (other ^ own) & 1 != 0,
            None => next.operation() == R2UR,
        };
        // A move has its operand in the second place.
        let is_move = slot != 1 && next.operation() == MOV && next.set_mask() == 0;
        let is_passed = (PASSED.contains(&next.operation()) || is_plain(next) && is_other || is_move)
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
    let mut has_matrix = false;
    for earlier in (at.saturating_sub(REACH)..at).rev() {
        // The next one that is no memory or control takes them, and the next product of matrices those of another.
        has_matrix |= own.is_some_and(|own| own.operation() == HMMA);
        if own.is_some_and(|own| !own.is_delay() && !PASSED.contains(&own.operation())) {
            return false;
        }
        let Some(after) = alignment.step(earlier).after else { continue };
        if keeps(after) && !(has_matrix && after.operation() == HMMA) {
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
