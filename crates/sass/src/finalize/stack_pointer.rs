//! The load of the stack pointer with which kernels begin.
//!
//! The assembler has the end of the first block of code wait for that load. When nvlink makes the machine code of an image, it
//! drops the wait if nothing uses the register; the scoreboard of the load is free then, and the loads after it get other
//! numbers. The instructions stay (mercury/unused-stack-pointer, mercury/unused-stack-pointer-loops).

use crate::check;
use crate::flow::is_control;
use crate::instruction::{Instruction, SCOREBOARDS, SIZE};
use crate::schedule::member::mark_anew;
use crate::schedule::{self, Control, Family, Hints, NONE, Outcome, put_all, renumber};
use solder_cubin::info;

const STACK_POINTER: u8 = 1;
/// `LDC`, the load from a constant bank.
const LOAD_CONSTANT: u16 = 0xb82;
/// Branches by a table.
const INDIRECT: [u16; 2] = [0x149, 0x158];

/// Whether the first instruction loads the stack pointer and sets a scoreboard.
fn loads_stack_pointer(code: &[u8]) -> bool {
    let first = Instruction::at(code, 0);
    let Control { written, read, waits } = Control::of(first);
    let is_load = first.opcode() == LOAD_CONSTANT && first.byte(2) == STACK_POINTER;
    is_load && written < SCOREBOARDS && read == NONE && waits == 0
}

/// Whether code has branches by a table.
pub fn has_indirect_branches(code: &[u8]) -> bool {
    (0..code.len() / SIZE).any(|at| INDIRECT.contains(&Instruction::at(code, at).operation()))
}

/// The branches of an attribute with their targets, in instructions.
pub fn branch_targets(payload: &[u8]) -> impl Iterator<Item = (usize, Vec<usize>)> + '_ {
    let in_instructions = |at: usize| at / SIZE;
    info::branch_targets(payload).map(move |(branch, targets)| {
        (in_instructions(branch), targets.into_iter().map(in_instructions).collect())
    })
}

/// Schedules a kernel anew whose stack pointer is not used: by the model of the assembler where that gives what the assembler
/// gave, otherwise by renumbering. A wait that is missing is a wrong result now and then, on some device: what is not
/// proven safe is not done.
pub fn release_stack_pointer(
    code: &mut [u8],
    capsule: &[u8],
    family: Family,
    jumps: impl FnOnce(&[u8]) -> Vec<(usize, Vec<usize>)>,
) {
    if !loads_stack_pointer(code) || !schedule::has_unused_stack_pointer(code) {
        return;
    }
    let jumps = jumps(code);
    let hints = Hints::of(capsule, code.len() / SIZE);
    let mut scheduled = code.to_vec();
    let outcome = schedule::without_stack_pointer(&mut scheduled, &jumps, family, &hints);
    mark_anew(code, &mut scheduled, &jumps, family, &[]);
    shorten_load(&mut scheduled);
    if outcome == Outcome::Done && check(code, &scheduled, &jumps).is_ok() {
        code.copy_from_slice(&scheduled);
        return;
    }
    let Some(controls) = renumber::without_stack_pointer(code, family) else { return };
    let mut renumbered = code.to_vec();
    put_all(&mut renumbered, &controls);
    shorten_load(&mut renumbered);
    if check(code, &renumbered, &jumps).is_ok() {
        code.copy_from_slice(&renumbered);
    }
}

/// The load of the stack pointer takes two cycles where it ends a block, as all do that set a scoreboard there: the next block might
/// wait for it at once. Nobody does any more (mercury/unused-stack-pointer-ends).
fn shorten_load(code: &mut [u8]) {
    let first = Instruction::at(code, 0);
    if Control::of(first).written == NONE && first.stall() == 2 {
        code[..SIZE].copy_from_slice(&first.with_stall(1).0.to_le_bytes());
    }
}

/// The code in which the first exit waits for the load of the stack pointer; `None` if it does so already or comes after the
/// first block, or if it is not clear which scoreboards others get then.
///
/// Up to 13.0 the assembler has the end of a block wait for loads that are done by then anyway. Barriers before an exit give the load
/// of the stack pointer the time for that where it had not enough of it. After such an exit its scoreboard is free and may
/// go to others, and nothing waits for it (mercury/exits-scheduled).
pub fn wait_for_stack_pointer(code: &[u8], exit: usize) -> Option<Vec<u8>> {
    if !loads_stack_pointer(code) || (0..exit).any(|at| is_control(Instruction::at(code, at))) {
        return None;
    }
    let mut changed = code.to_vec();
    put_all(&mut changed, &renumber::with_wait(code, exit)?);
    check(code, &changed, &[]).is_ok().then_some(changed)
}

#[cfg(test)]
mod tests {
    /// The target's architecture.
    use super::release_stack_pointer;
    use crate::instruction::{Instruction, SIZE, TRUE};
    use crate::schedule::{Control, Family};

    fn instruction(operation: u16, register: u8, written: u8, read: u8, waits: u8) -> [u8; SIZE] {
        let mut bytes = [0xff; SIZE];
        let always = u16::from(TRUE) << 12;
        bytes[..2].copy_from_slice(&(operation | always).to_le_bytes());
        bytes[2] = register;
        bytes[8..].copy_from_slice(&0x3_f9ff_u64.to_le_bytes());
        Control { written, read, waits }.put(&mut bytes);
        bytes
    }

    fn controls(code: &[u8]) -> Vec<Control> {
        (0..code.len() / SIZE).map(|at| Control::of(Instruction::at(code, at))).collect()
    }

    #[test]
    fn the_wait_at_the_end_of_the_block_goes() {
        let code = |last: u16| {
            [
                instruction(0xb82, 1, 0, 7, 0),
                instruction(0xb82, 2, 1, 7, 0),
                instruction(0x7ac, 4, 1, 7, 0),
                instruction(0x981, 5, 2, 7, 0b10),
                instruction(0x80c, 6, 7, 1, 0b100),
                instruction(last, 0xff, 7, 7, 0b11),
            ]
            .concat()
        };
        let controls = |code: &[u8]| -> Vec<(u8, u8, u8)> {
            controls(code).into_iter().map(|c| (c.written, c.read, c.waits)).collect()
        };
        let mut branch = code(0x947);
        release_stack_pointer(&mut branch, &[], Family::OF_100, |_| Vec::new());
        let expected = [(7, 7, 0), (0, 7, 0), (0, 7, 0), (2, 7, 1), (7, 0, 4), (7, 7, 1)];
        assert_eq!(controls(&branch), expected);
        let mut call = code(0x944);
        release_stack_pointer(&mut call, &[], Family::OF_100, |_| Vec::new());
        assert_eq!(call, code(0x944));
    }

    #[test]
    fn waits_are_for_all_paths() {
        let branch = |target: i64, index: i64| {
            let mut branch = instruction(0x947, 0xff, 7, 7, 0);
            let words = (target - index - 1) * 4;
            branch[2] = words as u8;
            let field = u128::from(words.cast_unsigned() >> 8 & ((1 << 48) - 1)) << 34;
            let bits = u128::from_le_bytes(branch) & !(((1 << 48) - 1) << 34) | field;
            bits.to_le_bytes()
        };
        let code = [
            instruction(0xb82, 1, 0, 7, 0),
            instruction(0xb82, 2, 1, 7, 0),
            instruction(0x80c, 6, 7, 7, 0b11),
            branch(6, 3),
            instruction(0x986, 0xff, 7, 3, 0),
            branch(7, 5),
            instruction(0x986, 0xff, 7, 2, 0),
            instruction(0x80c, 6, 7, 7, 0b1110),
        ]
        .concat();
        let mut renumbered = code.clone();
        release_stack_pointer(&mut renumbered, &[], Family::OF_100, |_| Vec::new());
        let controls = controls(&renumbered);
        assert_eq!(controls[7].waits, 0b1110);
        assert_eq!((controls[4].read, controls[6].read), (3, 2));
    }
}
