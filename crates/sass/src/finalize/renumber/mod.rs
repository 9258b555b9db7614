//! The scoreboards of kernels that do not use their stack pointer.
//!
//! A kernel begins by loading its stack pointer, and the compiler has it wait for that load at the end of the first
//! block of code. When nvlink makes the machine code of an image, it drops the wait if nothing uses the register;
//! the scoreboard of the load is free then, and the loads behind it get other numbers. The instructions stay.
//!
//! Numbers are given out in the order of the code. A load that others overtake takes the first free one from 2 on,
//! one from textures the last free one, everything else the first free one. Free is what no other set has that is
//! better kept apart (`pending`); where the compiler's number is another than that, it is left alone. That is what
//! nvlink does where it could be seen, not all that it may do: where the compiler ran out of numbers, it has
//! reasons of its own whom to put together, which are known for the code up to the first branch only
//! (`first_block`), where the stack pointer's is in the way. Whatever the choice, every wait of the compiler, on every path, is
//! still there.

mod exit;
mod first_block;
mod operands;
mod pending;

use crate::schedule::{self, Family, Outcome};
pub use exit::wait_for_stack_pointer;
use first_block::{FirstBlock, first_block, is_slow};
use pending::{Pending, and, bits};
use solder_cubin::info;

pub const INSTRUCTION: usize = 16;
const STACK_POINTER: u8 = 1;
/// `LDC`, the load from a constant bank.
const LOAD_CONSTANT: u16 = 0xb82;

/// The part of the operation that is the same for all kinds of operands.
pub const OPERATION: u16 = 0x1ff;
/// Loads from global, local and generic memory, atomics.
pub const SLOW: [u16; 7] = [0x180, 0x181, 0x183, 0x18a, 0x18b, 0x1a8, 0x1a9];
/// Textures and surfaces.
const TEXTURES: std::ops::RangeInclusive<u16> = 0x160..=0x16f;
const SURFACES: [u16; 2] = [0x199, 0x19a];

/// Instructions that change the flow of control, those among them that go on with the next instruction (where they
/// do not end the thread), and the branch to a fixed place.
pub const CONTROL: std::ops::RangeInclusive<u16> = 0x140..=0x15f;
const STRAIGHT: [u16; 11] = [0x141, 0x142, 0x145, 0x146, WARP_SYNC, 0x14d, 0x155, 0x156, 0x15b, 0x15c, 0x15d];
const BRANCH: u16 = 0x147;
const WARP_SYNC: u16 = 0x148;
/// In the upper half: what follows is done for the warp together.
const COLLECTIVE: u64 = 1 << 22;
/// The branch that has no condition but the one all instructions have: its form, and what stands in some bits of its
/// upper half.
const PLAIN_BRANCH: (u16, u32, u64, u64) = (0x947, 18, 0x3fff, 0xe0);
/// Branches by a table.
const INDIRECT: [u16; 2] = [0x149, 0x158];
pub const EXIT: u16 = 0x14d;
/// The condition that always holds.
const ALWAYS: u8 = 7;

pub const COUNT: u8 = 6;
pub const NONE: u8 = 7;
/// What waits for everything is not the scheduler's; it does not count with it.
pub const EVERYTHING: u8 = 0x3f;

/// Where an instruction says which scoreboard its result sets, which the reading of its operands, and for which it
/// waits: bits of its upper half.
const SETS_WRITTEN: u32 = 46;
const SETS_READ: u32 = 49;
const WAITS: u32 = 52;
const FIELDS: u64 = 0xfff << SETS_WRITTEN;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    pub written: u8,
    pub read: u8,
    pub waits: u8,
}

impl Control {
    pub fn of(upper: u64) -> Self {
        let field = |at: u32, mask: u64| (upper >> at & mask) as u8;
        Self { written: field(SETS_WRITTEN, 7), read: field(SETS_READ, 7), waits: field(WAITS, 0x3f) }
    }

    pub fn put(self, upper: u64) -> u64 {
        let fields = u64::from(self.written) << SETS_WRITTEN
            | u64::from(self.read) << SETS_READ
            | u64::from(self.waits) << WAITS;
        upper & !FIELDS | fields
    }

    pub fn put_into(self, instruction: &mut [u8]) {
        let upper = self.put(upper(instruction));
        instruction[8..].copy_from_slice(&upper.to_le_bytes());
    }

    fn waits_for(self, scoreboard: u8) -> bool {
        self.waits >> scoreboard & 1 != 0
    }

    /// Whether something that waits for these waits for what this sets.
    pub fn waited_by(self, waits: u8) -> bool {
        [self.written, self.read].into_iter().any(|number| number < COUNT && waits >> number & 1 != 0)
    }

    pub fn waited(self) -> impl Iterator<Item = u8> {
        (0..COUNT).filter(move |scoreboard| self.waits_for(*scoreboard))
    }
}

pub fn operation(instruction: &[u8]) -> u16 {
    u16::from_le_bytes([instruction[0], instruction[1]]) & 0xfff
}

pub fn upper(instruction: &[u8]) -> u64 {
    instruction[8..].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Whether an instruction begins something that a warp does together. What it waits for counts as under way up to the
/// end of that, which waits for it again.
pub fn is_collective(instruction: &[u8]) -> bool {
    operation(instruction) & OPERATION == WARP_SYNC && upper(instruction) & COLLECTIVE != 0
}

/// Whether the first instruction loads a stack pointer for nothing.
fn has_useless_stack_pointer(code: &[u8]) -> bool {
    loads_stack_pointer(code) && schedule::has_unused_stack_pointer(code)
}

/// Whether the first instruction loads the stack pointer and sets a scoreboard.
pub fn loads_stack_pointer(code: &[u8]) -> bool {
    code.first_chunk::<INSTRUCTION>().is_some_and(|first| {
        let control = Control::of(upper(first));
        let loads = operation(first) == LOAD_CONSTANT && first[2] == STACK_POINTER;
        loads && control.written < COUNT && control.read == NONE && control.waits == 0
    })
}

/// The order in which the result of an instruction tries the scoreboards.
pub fn preferred(operation: u16) -> [u8; COUNT as usize] {
    match operation & OPERATION {
        op if SLOW.contains(&op) => [2, 3, 4, 5, 1, 0],
        op if TEXTURES.contains(&op) || SURFACES.contains(&op) => [5, 4, 3, 2, 1, 0],
        _ => [0, 1, 2, 3, 4, 5],
    }
}

/// Where control goes from an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Next,
    /// To the next one or to this index.
    Branch(usize),
    Jump(usize),
    End,
    Anywhere,
}

impl Flow {
    pub fn of(index: usize, instruction: &[u8]) -> Self {
        let always = instruction[1] >> 4 == ALWAYS;
        match operation(instruction) & OPERATION {
            BRANCH => {
                let low = u64::from_le_bytes(instruction[..8].first_chunk().copied().unwrap_or_default());
                // Words from the next instruction on: 8 bits here, the others there.
                let high = u128::from(upper(instruction)) << 30 | u128::from(low >> 34);
                let words = (high as i64) << 16 >> 8 | i64::from(instruction[2]);
                let Ok(target) = usize::try_from(index as i64 + 1 + (words >> 2)) else {
                    return Self::Anywhere;
                };
                let plain = operation(instruction) == PLAIN_BRANCH.0
                    && upper(instruction) >> PLAIN_BRANCH.1 & PLAIN_BRANCH.2 == PLAIN_BRANCH.3;
                if always && plain { Self::Jump(target) } else { Self::Branch(target) }
            }
            EXIT if always => Self::End,
            op if STRAIGHT.contains(&op) || !CONTROL.contains(&op) => Self::Next,
            _ => Self::Anywhere,
        }
    }
}

/// Whether code has branches by a table.
pub fn has_indirect_branches(code: &[u8]) -> bool {
    code.chunks_exact(INSTRUCTION).any(|i| INDIRECT.contains(&(operation(i) & OPERATION)))
}

/// The branches of an attribute with their targets, in instructions.
pub fn branch_targets(payload: &[u8]) -> impl Iterator<Item = (usize, Vec<usize>)> + '_ {
    let in_instructions = |at: usize| at / INSTRUCTION;
    info::branch_targets(payload).map(move |(branch, targets)| {
        (in_instructions(branch), targets.into_iter().map(in_instructions).collect())
    })
}

/// Schedules a kernel anew whose stack pointer is not used. Where it has not been scheduled by the known rules, its
/// scoreboards are renumbered as far as their order is known.
pub fn release_stack_pointer(
    code: &mut [u8],
    sm: u16,
    jumps: impl FnOnce(&[u8]) -> Vec<(usize, Vec<usize>)>,
) {
    if !has_useless_stack_pointer(code) {
        return;
    }
    let jumps = jumps(code);
    let mut scheduled = code.to_vec();
    let outcome = schedule::without_stack_pointer(&mut scheduled, &jumps, Family::of(sm));
    if outcome == Outcome::Done && crate::check(code, &scheduled, &jumps).is_ok() {
        code.copy_from_slice(&scheduled);
        return;
    }
    let Some(pending) = Pending::of(code) else { return };
    let first = first_block(code, &pending);
    let Some(numbers) = numbers(code, &pending, first.as_ref()) else { return };
    let controls = renumbered(&pending, &numbers, first.as_ref());
    let mut renumbered = code.to_vec();
    for (instruction, control) in renumbered.chunks_exact_mut(INSTRUCTION).zip(controls) {
        control.put_into(instruction);
    }
    // A wait that is missing is a wrong result now and then, on some device. What is not proven safe is not done.
    if crate::check(code, &renumbered, &jumps).is_ok() {
        code.copy_from_slice(&renumbered);
    }
}

/// The new number of every set, the first of which is that of the stack pointer and has none.
fn numbers(code: &[u8], pending: &Pending, first: Option<&FirstBlock>) -> Option<Vec<u8>> {
    let has_slow = pending.sets.iter().any(|set| is_slow(set, code));
    let mut new = first.map_or_else(|| vec![NONE], |first| first.numbers.clone());
    let is_over = |set: &usize| first.is_some_and(|first| first.is_over(*set));
    for (index, set) in pending.sets.iter().enumerate().skip(new.len()) {
        let written_too = !set.reads && pending.sets[index - 1].instruction == set.instruction;
        let beside = written_too.then_some(index - 1);
        let earlier = |sets: &[u64]| -> Vec<usize> {
            let earlier = bits(sets).take_while(|other| *other < index).chain(beside);
            earlier.filter(|other| !is_over(other)).collect()
        };
        // What is under way with the same number has been put together with this on purpose.
        let under_way: Vec<u64> = and(pending.under_way.row(index), pending.of_number(set.number)).collect();
        let shared =
            earlier(&under_way).into_iter().filter(|other| pending.sets[*other].number == set.number);
        if let Some(number) = shared.filter(|other| *other != 0).map(|other| new[other]).min() {
            new.push(number);
            continue;
        }
        let with_stack_pointer = under_way.first().is_some_and(|word| word & 1 != 0);
        let operation = operation(&code[set.instruction * INSTRUCTION..]);
        let order = preferred(if set.reads { 0 } else { operation });
        let mut conflicts = earlier(pending.conflicts.row(index));
        conflicts.retain(|other| with_stack_pointer || pending.sets[*other].number != set.number);
        let open = first.iter().flat_map(|first| &first.open);
        conflicts.extend(open.filter(|open| open.before.contains(&set.instruction)).map(|open| open.set));
        let taken = |number: u8| conflicts.iter().any(|other| new[*other] == number);
        let was_taken = |number: &u8| conflicts.iter().any(|other| pending.sets[*other].number == *number);
        let elsewhere = earlier(pending.beside.row(index));
        // The last one is kept for loads that others overtake.
        let last = |number: u8| !elsewhere.is_empty() && has_slow && number == COUNT - 1;
        let apart = |number: u8| !last(number) && elsewhere.iter().all(|other| new[*other] != number);
        let was_apart =
            |number: u8| !last(number) && elsewhere.iter().all(|other| pending.sets[*other].number != number);
        let first_of = |may: &dyn Fn(u8) -> bool, better: &dyn Fn(u8) -> bool| {
            let best = order.into_iter().find(|number| may(*number) && better(*number));
            best.or_else(|| order.into_iter().find(|number| may(*number)))
        };
        let free = first_of(&|number| !taken(number), &apart);
        let by_rule = first_of(&|number| !was_taken(&number), &was_apart) == Some(set.number);
        let crowded = (0..COUNT).filter(|number| taken(*number)).count() + 1 >= COUNT.into();
        new.push(match () {
            () if with_stack_pointer && crowded => return None,
            () if with_stack_pointer || by_rule => free?,
            () => Some(set.number).filter(|number| !taken(*number)).or(free)?,
        });
    }
    Some(new)
}

/// What each instruction sets and waits for with new numbers: for whatever may be under way there, on any way, that
/// the compiler has it wait for.
fn renumbered(pending: &Pending, new: &[u8], first: Option<&FirstBlock>) -> Vec<Control> {
    let mut controls = pending.controls.clone();
    for (set, number) in pending.sets.iter().zip(new) {
        let control = &mut controls[set.instruction];
        *(if set.reads { &mut control.read } else { &mut control.written }) = *number;
    }
    let is_over = |set: &usize| first.is_some_and(|first| first.is_over(*set));
    pending.each(|index, before, _| {
        let old = pending.controls[index];
        if old.waits == EVERYTHING {
            return;
        }
        if let Some(waits) = first.and_then(|first| first.waits.get(index)) {
            controls[index].waits = *waits;
            return;
        }
        controls[index].waits = old.waited().fold(0, |waits, number| {
            let ended: Vec<u64> = and(before, pending.of_number(number)).collect();
            let mut ended = bits(&ended).peekable();
            if ended.peek().is_none() {
                return waits | 1 << number;
            }
            let numbers = ended.filter(|set| !is_over(set)).map(|set| new[set]);
            numbers.filter(|number| *number < COUNT).fold(waits, |waits, number| waits | 1 << number)
        });
    });
    if let Some(first) = first {
        for number in 0..COUNT {
            let open: Vec<_> = first.open.iter().filter(|open| new[open.set] == number).collect();
            // Where control may go anywhere, there is no open set.
            let _ = pending.follow(first.waits.len(), |at| {
                let waits = &mut controls[at].waits;
                let is_over = *waits >> number & 1 != 0 && *waits != EVERYTHING;
                if !is_over && open.iter().any(|open| open.waits.contains(&at)) && *waits != EVERYTHING {
                    *waits |= 1 << number;
                    return false;
                }
                !is_over && !open.is_empty()
            });
        }
    }
    // What is under way with this number, for another wait than what is set here, is waited for first.
    let done = first.map_or(0, |first| first.numbers.len());
    for (index, set) in pending.sets.iter().enumerate().skip(done) {
        let meets = bits(pending.under_way.row(index))
            .filter(|other| !is_over(other))
            .any(|other| new[other] == new[index] && pending.sets[other].number != set.number);
        let control = &mut controls[set.instruction];
        if meets && control.waits != EVERYTHING && new[index] < COUNT {
            control.waits |= 1 << new[index];
        }
    }
    controls
}

#[cfg(test)]
mod tests {
    /// The target's architecture.
    const FROM: u16 = 100;
    use super::{ALWAYS, Control, Flow, INSTRUCTION, release_stack_pointer, upper};

    fn instruction(operation: u16, register: u8, written: u8, read: u8, waits: u8) -> [u8; INSTRUCTION] {
        let mut bytes = [0xff; INSTRUCTION];
        let always = u16::from(ALWAYS) << 12;
        bytes[..2].copy_from_slice(&(operation | always).to_le_bytes());
        bytes[2] = register;
        bytes[8..].copy_from_slice(&Control { written, read, waits }.put(0x3_f9ff).to_le_bytes());
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
        release_stack_pointer(&mut branch, FROM, |_| Vec::new());
        let expected = [(7, 7, 0), (0, 7, 0), (0, 7, 0), (2, 7, 1), (7, 0, 4), (7, 7, 1)];
        assert_eq!(controls(&branch), expected);
        let mut call = code(0x944);
        release_stack_pointer(&mut call, FROM, |_| Vec::new());
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
        assert_eq!(Flow::of(5, &code[80..]), Flow::Branch(7));
        let mut renumbered = code.clone();
        release_stack_pointer(&mut renumbered, FROM, |_| Vec::new());
        let controls: Vec<Control> =
            renumbered.chunks_exact(INSTRUCTION).map(|i| Control::of(upper(i))).collect();
        assert_eq!(controls[7].waits, 0b1110);
        assert_eq!((controls[4].read, controls[6].read), (3, 2));
    }
}
