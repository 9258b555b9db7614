//! A workaround around synchronisations: a `NOP` before every `BSYNC` and after every `BREAK`, as assemblers have it from 13.2 on and 13.0.100.

use crate::instruction::{Instruction, SIZE};
use crate::operation::{BSYNC, NOP};

const BREAK: u16 = 0x142;

/// Whether all such instructions of some code have it. Code without any has it, too.
pub fn has_workaround(code: &[u8]) -> bool {
    let count = code.len() / SIZE;
    let operation = |at: usize| (at < count).then(|| Instruction::at(code, at).operation());
    (0..count).all(|at| match Instruction::at(code, at).operation() {
        BSYNC => at.checked_sub(1).and_then(operation) == Some(NOP),
        BREAK => operation(at + 1) == Some(NOP),
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use super::has_workaround;

    #[test]
    fn where_it_is_needed() {
        let code =
            |opcodes: &[u128]| -> Vec<u8> { opcodes.iter().flat_map(|bits| bits.to_le_bytes()).collect() };
        assert!(has_workaround(&code(&[0x794d])));
        assert!(has_workaround(&code(&[0x7918, 0x7941, 0x7942, 0x7918])));
        assert!(!has_workaround(&code(&[0x7941, 0x7918])));
        assert!(!has_workaround(&code(&[0x7918, 0x7942])));
    }
}
