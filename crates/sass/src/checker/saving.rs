//! The instructions through which the size of a cluster comes in a general register, and those that save that register.

use crate::instruction::Instruction;

/// Without their registers; their guard is always true.
pub const CS2R: u128 = 0x0000_8a00_0000_0000_0000_7805;
pub const R2UR: u128 = 0x000e_0000_0000_0000_0000_72ca;
pub const SAVE: u128 = 0x0000_0000_0000_0000_0000_7352;
pub const RESTORE: u128 = 0x0000_0000_0000_0000_0000_7353;

/// A register as the result of an instruction.
pub fn result(register: u8) -> u128 {
    u128::from(register) << 16
}

/// A register as its first operand.
pub fn first_source(register: u8) -> u128 {
    u128::from(register) << 24
}

/// Whether the first of two instructions saves a general register before the second reads the size into it.
pub fn saves(first: Instruction, second: Instruction) -> bool {
    let register = first.byte(4);
    first.without_schedule() == SAVE | u128::from(register) << 32
        && second.without_schedule() == CS2R | result(register)
}

/// Whether the second of two instructions restores the register that the first has moved the size from.
pub fn restores(first: Instruction, second: Instruction) -> bool {
    let register = second.byte(2);
    let moved = first.without_schedule();
    second.without_schedule() == RESTORE | result(register)
        && moved == R2UR | result(first.byte(2)) | first_source(register)
}
