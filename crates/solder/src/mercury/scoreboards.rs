//! The scoreboards of kernels that do not use their stack pointer.
//!
//! A kernel begins by loading its stack pointer, and the compiler has it wait for that load at the end of the first
//! block of code. When nvlink makes the machine code of an image, it drops the wait if nothing uses the register;
//! the scoreboard of the load is free then, and the loads behind it get other numbers. The instructions stay.
//!
//! Numbers are given out in the order of the code. A load that others overtake takes the first free one from 2 on,
//! one from textures the last free one, everything else the first free one. Where the compiler's number is another
//! than that, it is left alone.

const INSTRUCTION: usize = 16;
const STACK_POINTER: u8 = 1;
/// `LDC`, the load from a constant bank.
const LOAD_CONSTANT: u16 = 0xb82;

/// The part of the operation that is the same for all kinds of operands.
const OPERATION: u16 = 0x1ff;
/// Calls, absolute and relative: what is called has the stack pointer.
const CALLS: [u16; 2] = [0x143, 0x144];
/// Loads from global, local and generic memory, atomics.
const SLOW: [u16; 4] = [0x181, 0x183, 0x180, 0x1a8];
/// Textures and surfaces.
const TEXTURES: std::ops::RangeInclusive<u16> = 0x160..=0x16f;
const SURFACES: [u16; 2] = [0x199, 0x19a];

const COUNT: u8 = 6;
const NONE: u8 = 7;

/// Where an instruction says which scoreboard its result sets, which the reading of its operands, and for which it
/// waits: bits of its upper half.
const SETS_WRITTEN: u32 = 46;
const SETS_READ: u32 = 49;
const WAITS: u32 = 52;
const FIELDS: u64 = 0xfff << SETS_WRITTEN;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Control {
    written: u8,
    read: u8,
    waits: u8,
}

impl Control {
    fn of(upper: u64) -> Self {
        let field = |at: u32, mask: u64| (upper >> at & mask) as u8;
        Self { written: field(SETS_WRITTEN, 7), read: field(SETS_READ, 7), waits: field(WAITS, 0x3f) }
    }

    fn put(self, upper: u64) -> u64 {
        let fields = u64::from(self.written) << SETS_WRITTEN
            | u64::from(self.read) << SETS_READ
            | u64::from(self.waits) << WAITS;
        upper & !FIELDS | fields
    }

    fn sets(self, scoreboard: u8) -> bool {
        self.written == scoreboard || self.read == scoreboard
    }

    fn waits_for(self, scoreboard: u8) -> bool {
        self.waits >> scoreboard & 1 != 0
    }
}

fn operation(instruction: &[u8]) -> u16 {
    u16::from_le_bytes([instruction[0], instruction[1]]) & 0xfff
}

fn upper(instruction: &[u8]) -> u64 {
    instruction[8..].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Whether an instruction names the stack pointer, as far as its operands are registers.
fn mentions_stack_pointer(instruction: &[u8]) -> bool {
    let second_is_register = operation(instruction) >> 9 == 1;
    [2, 3, 8].into_iter().any(|at| instruction[at] == STACK_POINTER)
        || (second_is_register && instruction[4] == STACK_POINTER)
        || CALLS.contains(&(operation(instruction) & OPERATION))
}

/// The scoreboard of a stack pointer that is loaded for nothing.
fn useless(code: &[u8]) -> Option<u8> {
    let mut instructions = code.chunks_exact(INSTRUCTION);
    let first = instructions.next()?;
    let scoreboard = Control::of(upper(first)).written;
    if operation(first) != LOAD_CONSTANT || first[2] != STACK_POINTER || scoreboard >= COUNT {
        return None;
    }
    if instructions.clone().any(mentions_stack_pointer) {
        return None;
    }
    // A load that sets it too keeps it alive.
    let decides = |c: &Control| c.waits_for(scoreboard) || c.sets(scoreboard);
    let decisive = instructions.map(|i| Control::of(upper(i))).find(decides)?;
    decisive.waits_for(scoreboard).then_some(scoreboard)
}

/// The order in which the result of an instruction tries the scoreboards.
fn preferred(operation: u16) -> [u8; COUNT as usize] {
    match operation & OPERATION {
        op if SLOW.contains(&op) => [2, 3, 4, 5, 1, 0],
        op if TEXTURES.contains(&op) || SURFACES.contains(&op) => [5, 4, 3, 2, 1, 0],
        _ => [0, 1, 2, 3, 4, 5],
    }
}

/// New numbers for the compiler's scoreboards.
#[derive(Debug, Default)]
struct Numbers {
    /// By the compiler's number, while something is under way: the new one, `NONE` for the stack pointer's.
    pending: [Option<u8>; COUNT as usize],
    /// What it was last.
    last: [Option<u8>; COUNT as usize],
}

impl Numbers {
    fn wait(&mut self, waits: u8) -> u8 {
        let mut renumbered = 0;
        for old in (0..COUNT).filter(|old| waits >> old & 1 != 0) {
            let index = usize::from(old);
            if let Some(new) = self.pending[index].take() {
                self.last[index] = Some(new);
            }
            // What is not under way on this path is on another.
            let new = self.last[index].unwrap_or(old);
            if new != NONE {
                renumbered |= 1 << new;
            }
        }
        renumbered
    }

    /// The number for what sets `old`; `None` if there is none left.
    fn set(&mut self, old: u8, order: [u8; COUNT as usize]) -> Option<u8> {
        if old >= COUNT {
            return Some(old);
        }
        if let Some(new) = self.pending[usize::from(old)] {
            return Some(new);
        }
        let is_free = |n: &u8| !self.pending.contains(&Some(*n));
        let by_rule = order.into_iter().find(|n| self.pending[usize::from(*n)].is_none()) == Some(old);
        let new = if by_rule { order.into_iter().find(is_free) } else { Some(old).filter(is_free) }?;
        self.pending[usize::from(old)] = Some(new);
        Some(new)
    }
}

/// Renumbers the scoreboards of a kernel whose stack pointer is not used.
pub fn release_stack_pointer(code: &mut [u8]) {
    let Some(scoreboard) = useless(code) else { return };
    let mut numbers = Numbers::default();
    numbers.pending[usize::from(scoreboard)] = Some(NONE);
    let mut renumbered = Vec::with_capacity(code.len() / INSTRUCTION);
    for (index, instruction) in code.chunks_exact(INSTRUCTION).enumerate() {
        let control = Control::of(upper(instruction));
        let waits = numbers.wait(control.waits);
        let read = numbers.set(control.read, preferred(0));
        let written = match index {
            0 => Some(NONE),
            _ => numbers.set(control.written, preferred(operation(instruction))),
        };
        let (Some(read), Some(written)) = (read, written) else { return };
        renumbered.push(Control { written, read, waits }.put(upper(instruction)));
    }
    for (instruction, upper) in code.chunks_exact_mut(INSTRUCTION).zip(renumbered) {
        instruction[8..].copy_from_slice(&upper.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::{Control, INSTRUCTION, release_stack_pointer, upper};

    fn instruction(operation: u16, register: u8, written: u8, read: u8, waits: u8) -> [u8; INSTRUCTION] {
        let mut bytes = [0xff; INSTRUCTION];
        bytes[..2].copy_from_slice(&operation.to_le_bytes());
        bytes[2] = register;
        bytes[8..].copy_from_slice(&Control { written, read, waits }.put(0xff).to_le_bytes());
        bytes
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
            let of = |i: &[u8]| Control::of(upper(i));
            code.chunks_exact(INSTRUCTION).map(of).map(|c| (c.written, c.read, c.waits)).collect()
        };
        let mut branch = code(0x947);
        release_stack_pointer(&mut branch);
        let expected = [(7, 7, 0), (0, 7, 0), (0, 7, 0), (2, 7, 1), (7, 0, 4), (7, 7, 1)];
        assert_eq!(controls(&branch), expected);
        let mut call = code(0x944);
        release_stack_pointer(&mut call);
        assert_eq!(call, code(0x944));
    }
}
