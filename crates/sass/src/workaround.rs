//! A workaround around synchronisations, as assemblers have it from 13.2 on and 13.0.100: a `NOP` before a `BSYNC` that threads are sure to reach
//! (`.RECONVERGENT`, `.RELIABLE`), and after such a `BREAK`.

use crate::instruction::{Instruction, SIZE};
use crate::operation::{BREAK, BSYNC, NOP, PREEXIT};

/// The byte that says who reaches it, and what it says of all threads that went apart, and of those that did so and are still there.
const KIND: u32 = 9;
const RELIABLE: u8 = 1;
const RECONVERGENT: u8 = 2;

/// Whether an instruction needs a `NOP` before it.
pub fn needs_nop_before(instruction: Instruction) -> bool {
    instruction.operation() == BSYNC && instruction.byte(KIND) & (RELIABLE | RECONVERGENT) != 0
}

/// Whether an instruction needs a `NOP` after it.
pub fn needs_nop_after(instruction: Instruction) -> bool {
    instruction.operation() == BREAK && instruction.byte(KIND) & RECONVERGENT != 0
}

/// What a capsule has for a `BSYNC` and the `NOP` before it; `None` if that is not known.
pub fn mercury(bsync: Instruction) -> Option<[u8; SIZE]> {
    let (kind, is_reconvergent) = match bsync.byte(KIND) & (RELIABLE | RECONVERGENT) {
        RECONVERGENT => (2, 1),
        RELIABLE => (4, 0),
        _ => return None,
    };
    let barrier = bsync.byte(2) & 15;
    let known = bsync.is_unconditional() && needs_nop_before(bsync);
    known.then_some([1, 9, kind, 0x0a, 0xf8, 0, is_reconvergent, 0, 0, 0, barrier * 2, 0, 0, 0, 0, 0])
}

/// Whether all such instructions of some code have it. Code without any has it, too.
pub fn has_workaround(code: &[u8]) -> bool {
    let count = code.len() / SIZE;
    let is_nop = |at: usize| at < count && Instruction::at(code, at).operation() == NOP;
    (0..count).all(|at| {
        let instruction = Instruction::at(code, at);
        (!needs_nop_before(instruction) || at.checked_sub(1).is_some_and(is_nop))
            && (!needs_nop_after(instruction) || is_nop(at + 1))
    })
}

/// Whether some code lets dependent grids start (`griddepcontrol.launch_dependents`): from 13.4 on such code needs a second
/// workaround, which an attribute asks of the driver.
pub fn needs_second_workaround(code: &[u8]) -> bool {
    (0..code.len() / SIZE).any(|at| Instruction::at(code, at).operation() == PREEXIT)
}

#[cfg(test)]
mod tests {
    use super::{has_workaround, mercury};
    use crate::instruction::Instruction;

    #[test]
    fn where_it_is_needed() {
        const RECONVERGENT: u128 = 2 << 72;
        let code =
            |opcodes: &[u128]| -> Vec<u8> { opcodes.iter().flat_map(|bits| bits.to_le_bytes()).collect() };
        assert!(has_workaround(&code(&[0x794d])));
        assert!(has_workaround(&code(&[0x7918, 0x7941 | RECONVERGENT, 0x7942 | RECONVERGENT, 0x7918])));
        assert!(!has_workaround(&code(&[0x7941 | RECONVERGENT, 0x7918])));
        assert!(!has_workaround(&code(&[0x7918, 0x7942 | RECONVERGENT])));
        assert!(has_workaround(&code(&[0x7941, 0x7942])));
    }

    #[test]
    fn what_the_capsule_has() {
        let of = |kind: u128| mercury(Instruction(0x6_7941 | kind << 72 | 0x380 << 80));
        assert_eq!(of(2), Some([1, 9, 2, 10, 0xf8, 0, 1, 0, 0, 0, 12, 0, 0, 0, 0, 0]));
        assert_eq!(of(1), Some([1, 9, 4, 10, 0xf8, 0, 0, 0, 0, 0, 12, 0, 0, 0, 0, 0]));
        assert_eq!(of(0), None);
    }
}
