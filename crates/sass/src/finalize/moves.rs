//! Code some of whose instructions are replaced by others, so that those after them move.

use crate::instruction::{Instruction, SIZE};
use std::ops::Range;

/// How an instruction has a place in the code: as a distance in words, a field of this width from this bit on.
struct Distance {
    operations: &'static [u16],
    at: u32,
    width: u32,
    /// From the next instruction on, otherwise from the instruction itself.
    from_next: bool,
    /// The low byte is apart from the others.
    split: bool,
}

/// Branches, calls and collective synchronisation; where threads meet again; the address of a place.
const DISTANCES: [Distance; 3] = [
    Distance {
        operations: &[CALL, 0x147, 0x148, 0x149, 0x158],
        at: 34,
        width: 48,
        from_next: true,
        split: true,
    },
    Distance { operations: &[0x145], at: 34, width: 30, from_next: false, split: false },
    Distance { operations: &[0x14e], at: 26, width: 56, from_next: true, split: false },
];
/// A function that calls itself has one too: how far its beginning is, as a branch has it. It returns to an address, which has
/// relocations (older/blackwell-recursion).
const CALL: u16 = 0x144;
/// Others that have one, in code that calls functions within itself.
const STRANGE: [u16; 2] = [0x14a, 0x14c];
/// Returns have one unless this bit says that they are to an address.
const RETURN: u16 = 0x150;
const ABSOLUTE: u32 = 64 + 21;

/// After the code come at least 8 of these, up to a multiple of 8.
const NOTHING: [u8; SIZE] = [0x18, 0x79, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0x0f, 0x00];
const NOTHINGS: usize = 8;

/// What replaces an instruction.
#[derive(Debug)]
pub struct Change {
    pub at: usize,
    pub by: Vec<[u8; SIZE]>,
    /// What the capsule then has for all of them, if it had nothing for the one.
    pub mercury: Option<[u8; SIZE]>,
    /// Attributes that name this instruction name the one before it then.
    pub belongs_to_last: bool,
}

impl Change {
    pub fn replaced(at: usize, by: Vec<[u8; SIZE]>) -> Self {
        Self { at, by, mercury: None, belongs_to_last: false }
    }

    pub fn removed(at: usize) -> Self {
        Self::replaced(at, Vec::new())
    }

    /// Of an instruction that is the second part of what begins with the one before it.
    pub fn removed_after(at: usize) -> Self {
        Self { belongs_to_last: true, ..Self::removed(at) }
    }
}

/// Where the instructions of a function are after some of them were replaced.
#[derive(Debug)]
pub struct Moves {
    /// In order.
    changes: Vec<Change>,
    /// How far instructions after each of them move.
    shifts: Vec<isize>,
    /// Sizes in bytes.
    old_size: usize,
    new_size: usize,
}

impl Moves {
    /// Makes changes, which are in order, to the code of a function. `None` if something in it cannot be moved.
    pub fn new(old: &[u8], changes: Vec<Change>) -> Option<(Self, Vec<u8>)> {
        if changes.is_empty() {
            let moves = Self { changes, shifts: Vec::new(), old_size: old.len(), new_size: old.len() };
            return Some((moves, old.to_vec()));
        }
        let (instructions, _) = old.as_chunks::<SIZE>();
        let padding = instructions.iter().rev().take_while(|i| **i == NOTHING).count();
        let shifts: Vec<isize> = changes
            .iter()
            .scan(0, |shift, change| {
                *shift += change.by.len().cast_signed() - 1;
                Some(*shift)
            })
            .collect();
        let last = instructions.len() - padding;
        let end = last.checked_add_signed(shifts.last().copied().unwrap_or(0))?;
        let new_size = (end + NOTHINGS).next_multiple_of(NOTHINGS) * SIZE;
        let moves = Self { changes, shifts, old_size: old.len(), new_size };
        let mut code = Vec::with_capacity(new_size);
        let mut changes = moves.changes.iter().peekable();
        for (index, instruction) in instructions[..last].iter().enumerate() {
            let by = changes.next_if(|change| change.at == index).map(|change| &change.by[..]);
            for instruction in by.unwrap_or(std::slice::from_ref(instruction)) {
                code.extend(moves.instruction(index, instruction)?);
            }
        }
        // A change in the padding, or two for one instruction, would have other shifts than these.
        (code.len() == end * SIZE).then_some(())?;
        code.extend(NOTHING.repeat(new_size / SIZE - end));
        Some((moves, code))
    }

    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The number of instructions there were, and are.
    pub fn old_length(&self) -> usize {
        self.old_size / SIZE
    }

    pub fn length(&self) -> usize {
        self.new_size / SIZE
    }

    /// How far the first instruction in the place of this one moves.
    fn shift(&self, at: usize) -> isize {
        let before = self.changes.partition_point(|change| change.at < at);
        before.checked_sub(1).map_or(0, |last| self.shifts[last])
    }

    fn change_at(&self, at: usize) -> Option<&Change> {
        let change = self.changes.binary_search_by_key(&at, |change| change.at).ok()?;
        Some(&self.changes[change])
    }

    /// What the capsule has in the place of an instruction that it had nothing for.
    pub fn mercury(&self, at: usize) -> Option<[u8; SIZE]> {
        self.change_at(at)?.mercury
    }

    /// Whether every instruction is where it was.
    pub fn is_in_place(&self) -> bool {
        self.changes.is_empty()
    }

    /// How many instructions there are more in the place of each that changes.
    pub fn added(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.changes.iter().filter_map(|change| Some((change.at, change.by.len().checked_sub(1)?)))
    }

    /// How many instructions are in the place of a range of them.
    pub fn count(&self, range: Range<usize>) -> Option<usize> {
        let grows = self.shift(range.end) - self.shift(range.start);
        range.len().checked_add_signed(grows).filter(|_| range.end <= self.old_length())
    }

    /// Where a place in the code is now: the first of what is there.
    pub fn place(&self, old: u64) -> u64 {
        let end = self.old_size as u64;
        if old >= end {
            return (old - end).saturating_add(self.new_size as u64);
        }
        let shift = self.shift((old as usize).div_ceil(SIZE));
        old.wrapping_add_signed((shift * SIZE as isize) as i64)
    }

    /// Where the instruction is that an attribute names.
    pub fn place_of_named(&self, old: u64) -> u64 {
        let is_gone = self.change_at((old as usize) / SIZE).is_some_and(|change| change.belongs_to_last);
        self.place(old).saturating_sub(if is_gone { SIZE as u64 } else { 0 })
    }

    /// Where an instruction is that others were inserted before.
    pub fn place_of_last(&self, old: u64) -> u64 {
        let change = self.change_at((old as usize) / SIZE);
        let before = change.map_or(0, |change| change.by.len().saturating_sub(1));
        self.place(old).saturating_add((before * SIZE) as u64)
    }

    /// The same for an index of an instruction.
    pub fn index(&self, old: usize) -> usize {
        old.saturating_add_signed(self.shift(old))
    }

    /// An instruction with the distance that its target is from it now.
    fn instruction(&self, index: usize, old: &[u8; SIZE]) -> Option<[u8; SIZE]> {
        let instruction = Instruction(u128::from_le_bytes(*old));
        let mut bits = instruction.0;
        let operation = instruction.operation();
        if STRANGE.contains(&operation) || (operation == RETURN && bits >> ABSOLUTE & 1 == 0) {
            return None;
        }
        let Some(field) = DISTANCES.iter().find(|field| field.operations.contains(&operation)) else {
            return Some(*old);
        };
        let (low, low_bits) = if field.split { (i64::from(old[2]), 8) } else { (0, 0) };
        let unused = i64::BITS - field.width;
        let words = ((bits >> field.at) as i64) << unused >> unused << low_bits | low;
        let base = ((index + usize::from(field.from_next)) * SIZE) as i64;
        let target = u64::try_from(base.checked_add(words.checked_mul(4)?)?).ok()?;
        if operation == CALL && target != 0 {
            return None;
        }
        // Threads meet at the `BSYNC`, not at what was put before it.
        let is_preceded = !field.from_next && self.mercury(target as usize / SIZE).is_some();
        let place = if is_preceded { self.place_of_last(target) } else { self.place(target) };
        let distance = place.wrapping_sub(self.place(base.cast_unsigned())).cast_signed();
        let words = distance / 4;
        let mask = (1u128 << field.width) - 1;
        bits = bits & !(mask << field.at) | ((words >> low_bits) as u128 & mask) << field.at;
        let mut moved = bits.to_le_bytes();
        if field.split {
            moved[2] = words as u8;
        }
        Some(moved)
    }
}
