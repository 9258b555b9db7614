//! Whether code uses its stack pointer, the general register 1. Kernels begin with a load of it.

use crate::instruction::{Instruction, SIZE};
use crate::operands::exact::operands;
use crate::operation::LDC;
use crate::registers::File;

const STACK_POINTER: u16 = 1;

/// Whether the first instruction loads the stack pointer and nothing else in the function uses it: no instruction names it,
/// and there are no calls and no returns.
pub fn has_unused_stack_pointer(code: &[u8]) -> bool {
    let first = Instruction::at(code, 0);
    let is_load = first.operation() == LDC && u16::from(first.byte(2)) == STACK_POINTER;
    is_load
        && first.is_unconditional()
        && (1..code.len() / SIZE).all(|at| !mentions_stack_pointer(Instruction::at(code, at)))
}

/// Whether an instruction may use the stack pointer.
pub fn mentions_stack_pointer(instruction: Instruction) -> bool {
    if instruction.is_call_or_return() {
        return true;
    }
    let Some(operands) = operands(instruction) else { return true };
    [operands.reads, operands.writes].iter().any(|set| set.contains(File::General, STACK_POINTER))
}
