//! The scoreboards of kernels that do not use their stack pointer.
//!
//! A kernel begins by loading its stack pointer, and the compiler has it wait for that load at the end of the first
//! block of code. When nvlink makes the machine code of an image, it drops the wait if nothing uses the register;
//! the scoreboard of the load is free then, and the loads behind it get other numbers. The instructions stay.
//!
//! Numbers are given out in the order of the code. A load that others overtake takes the first free one from 2 on,
//! one from textures the last free one, everything else the first free one. Where the compiler's number is another
//! than that, it is left alone. That is what nvlink does where it could be seen, not all that it may do. Every wait of
//! the compiler, on every path, is still there.

use hashbrown::HashMap;

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
/// Stores to generic, global, local and shared memory.
const STORES: std::ops::RangeInclusive<u16> = 0x185..=0x188;
/// Textures and surfaces.
const TEXTURES: std::ops::RangeInclusive<u16> = 0x160..=0x16f;
const SURFACES: [u16; 2] = [0x199, 0x19a];

/// Instructions that change the flow of control, those among them that go on with the next instruction (where they
/// do not end the thread), and the branch to a fixed place.
const CONTROL: std::ops::RangeInclusive<u16> = 0x140..=0x15f;
const STRAIGHT: [u16; 9] = [0x141, 0x142, 0x145, 0x146, 0x14d, 0x155, 0x156, 0x15b, 0x15c];
const BRANCH: u16 = 0x147;
/// Branches by a table.
const INDIRECT: [u16; 2] = [0x149, 0x158];
const EXIT: u16 = 0x14d;
/// The condition that always holds.
const ALWAYS: u8 = 7;

const COUNT: u8 = 6;
const NONE: u8 = 7;
/// What waits for everything is not the scheduler's; it does not count with it.
const EVERYTHING: u8 = 0x3f;

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

    fn waited(self) -> impl Iterator<Item = u8> {
        (0..COUNT).filter(move |scoreboard| self.waits_for(*scoreboard))
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
    let form = operation(instruction);
    let operation = form & OPERATION;
    let is = |at: usize| instruction[at] == STACK_POINTER;
    if CONTROL.contains(&operation) {
        return CALLS.contains(&operation) || (INDIRECT.contains(&operation) && is(3));
    }
    [2, 3, 8].into_iter().any(is) || ((form >> 9 == 1 || STORES.contains(&operation)) && is(4))
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
    let decisive = instructions.map(|i| Control::of(upper(i))).find(decides);
    decisive.is_none_or(|c| c.waits_for(scoreboard)).then_some(scoreboard)
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
#[derive(Clone, Debug, Default)]
struct Numbers {
    /// By the compiler's number, while something is under way: the new one, `NONE` for the stack pointer's.
    pending: [Option<u8>; COUNT as usize],
    /// What it was last.
    last: [Option<u8>; COUNT as usize],
}

impl Numbers {
    fn wait(&mut self, control: Control) {
        if control.waits == EVERYTHING {
            return;
        }
        for old in control.waited().map(usize::from) {
            if let Some(new) = self.pending[old].take() {
                self.last[old] = Some(new);
            }
        }
    }

    /// What each of the compiler's numbers was last, as bits.
    fn last(&self) -> [u8; COUNT as usize] {
        std::array::from_fn(|old| match self.last[old] {
            Some(NONE) => 0,
            Some(new) => 1 << new,
            None => 1 << old,
        })
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

/// Where control goes from an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Next,
    /// To the next one or to this index.
    Branch(usize),
    Anywhere,
}

impl Flow {
    fn of(index: usize, instruction: &[u8]) -> Self {
        match operation(instruction) & OPERATION {
            BRANCH => {
                let low = u64::from_le_bytes(instruction[..8].first_chunk().copied().unwrap_or_default());
                // Words from the next instruction on: 8 bits here, the others there.
                let high = u128::from(upper(instruction)) << 30 | u128::from(low >> 34);
                let words = (high as i64) << 16 >> 8 | i64::from(instruction[2]);
                let target = usize::try_from(index as i64 + 1 + (words >> 2));
                target.map_or(Self::Anywhere, Self::Branch)
            }
            op if STRAIGHT.contains(&op) || !CONTROL.contains(&op) => Self::Next,
            _ => Self::Anywhere,
        }
    }
}

/// A set of pairs of the compiler's number and the new one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pairs(u64);

impl Pairs {
    const ROW: u32 = 8;

    fn insert(&mut self, old: u8, new: u8) {
        if old < COUNT && new < COUNT {
            self.0 |= 1 << (u32::from(old) * Self::ROW + u32::from(new));
        }
    }

    /// The new numbers, as bits, of what has this number of the compiler's.
    fn of(self, old: u8) -> u8 {
        (self.0 >> (u32::from(old) * Self::ROW)) as u8
    }

    fn end(&mut self, old: u8) {
        self.0 &= !(0xff << (u32::from(old) * Self::ROW));
    }
}

/// Has the new code wait wherever the compiler's code does, for whatever may be under way there on any path. Where
/// nothing is, it waits for what it was last.
fn complete_waits(code: &[u8], new: &mut [Renumbered]) {
    let old: Vec<Control> = code.chunks_exact(INSTRUCTION).map(|i| Control::of(upper(i))).collect();
    let flow: Vec<Flow> =
        code.chunks_exact(INSTRUCTION).enumerate().map(|(index, i)| Flow::of(index, i)).collect();
    let mut under_way = vec![Pairs::default(); old.len() + 1];
    let mut anywhere = Pairs::default();
    let mut changed = true;
    while changed {
        changed = false;
        let mut merge = |into: &mut Pairs, from: Pairs| {
            changed |= into.0 | from.0 != into.0;
            into.0 |= from.0;
        };
        for (index, (old, new)) in old.iter().zip(new.iter()).enumerate() {
            let mut pairs = Pairs(under_way[index].0 | anywhere.0);
            old.waited().for_each(|n| pairs.end(n));
            pairs.insert(old.written, new.written);
            pairs.insert(old.read, new.read);
            merge(&mut under_way[index + 1], pairs);
            match flow[index] {
                Flow::Next => {}
                Flow::Branch(target) if target < under_way.len() => merge(&mut under_way[target], pairs),
                _ => merge(&mut anywhere, pairs),
            }
        }
    }
    for ((old, new), pairs) in old.iter().zip(new).zip(under_way) {
        let pairs = Pairs(pairs.0 | anywhere.0);
        let waits = old.waited().fold(0, |waits, n| match pairs.of(n) {
            0 => waits | new.last[usize::from(n)],
            under_way => waits | under_way,
        });
        new.waits = if old.waits == EVERYTHING { EVERYTHING } else { waits };
    }
}

/// Renumbers the scoreboards of a kernel whose stack pointer is not used.
pub fn release_stack_pointer(code: &mut [u8]) {
    let renumbered = useless(code).and_then(|scoreboard| renumber(code, scoreboard));
    let Some(mut renumbered) = renumbered else { return };
    complete_waits(code, &mut renumbered);
    for (instruction, new) in code.chunks_exact_mut(INSTRUCTION).zip(renumbered) {
        let Renumbered { written, read, waits, .. } = new;
        let upper = Control { written, read, waits }.put(upper(instruction));
        instruction[8..].copy_from_slice(&upper.to_le_bytes());
    }
}

/// Whether control never goes on to the next instruction: an exit or a branch without a condition.
fn leaves(instruction: &[u8]) -> bool {
    let operation = operation(instruction) & OPERATION;
    instruction[1] >> 4 == ALWAYS && ([BRANCH, EXIT].contains(&operation) || INDIRECT.contains(&operation))
}

/// What an instruction sets and waits for now.
#[derive(Clone, Copy, Debug)]
struct Renumbered {
    written: u8,
    read: u8,
    waits: u8,
    last: [u8; COUNT as usize],
}

fn renumber(code: &[u8], stack_pointer: u8) -> Option<Vec<Renumbered>> {
    let mut numbers = Numbers::default();
    numbers.pending[usize::from(stack_pointer)] = Some(NONE);
    let mut renumbered = Vec::with_capacity(code.len() / INSTRUCTION);
    let mut at_target: HashMap<usize, Numbers, foldhash::fast::FixedState> = HashMap::default();
    let mut at_indirect: Option<Numbers> = None;
    let mut goes_on = true;
    for (index, instruction) in code.chunks_exact(INSTRUCTION).enumerate() {
        // What nothing runs into begins with what was under way at the branch to it.
        let of_branch = at_target.remove(&index).or_else(|| at_indirect.clone());
        if let Some(of_branch) = of_branch.filter(|_| !goes_on) {
            numbers = of_branch;
        }
        goes_on = !leaves(instruction);
        let control = Control::of(upper(instruction));
        numbers.wait(control);
        let read = numbers.set(control.read, preferred(0))?;
        let written = match index {
            0 => NONE,
            _ => numbers.set(control.written, preferred(operation(instruction)))?,
        };
        renumbered.push(Renumbered { written, read, waits: 0, last: numbers.last() });
        if INDIRECT.contains(&(operation(instruction) & OPERATION)) {
            at_indirect = Some(numbers.clone());
        }
        if let Flow::Branch(target) = Flow::of(index, instruction)
            && target > index
        {
            at_target.entry(target).or_insert_with(|| numbers.clone());
        }
    }
    Some(renumbered)
}

#[cfg(test)]
mod tests {
    use super::{Control, Flow, INSTRUCTION, release_stack_pointer, upper};

    fn instruction(operation: u16, register: u8, written: u8, read: u8, waits: u8) -> [u8; INSTRUCTION] {
        let mut bytes = [0xff; INSTRUCTION];
        bytes[..2].copy_from_slice(&operation.to_le_bytes());
        bytes[2] = register;
        bytes[8..].copy_from_slice(&Control { written, read, waits }.put(0x3_ffff).to_le_bytes());
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
        release_stack_pointer(&mut renumbered);
        let controls: Vec<Control> =
            renumbered.chunks_exact(INSTRUCTION).map(|i| Control::of(upper(i))).collect();
        // The wait for what was under way once stays, under its new name.
        assert_eq!(controls[7].waits, 0b1101);
        assert_eq!((controls[4].read, controls[6].read), (3, 2));
    }
}
