//! What is under way where in a kernel, by the scoreboards and waits that it has.

use crate::flow::{is_control, place};
use crate::instruction::{Instruction, SCOREBOARDS, SIZE, TRUE};
use crate::schedule::Control;
use std::ops::Range;

/// The largest number of bits that a matrix may have. A kernel that needs more keeps its scoreboards.
const LARGEST: usize = 1 << 28;

/// What waits for everything has not been scheduled, and is left alone.
pub const EVERYTHING: u8 = (1 << SCOREBOARDS) - 1;

/// Rows of bits.
#[derive(Debug)]
pub struct Matrix {
    words: Vec<u64>,
    row: usize,
}

impl Matrix {
    fn new(rows: usize, columns: usize) -> Option<Self> {
        let fits = rows.checked_mul(columns).is_some_and(|bits| bits <= LARGEST);
        let row = columns.div_ceil(64);
        fits.then(|| Self { words: vec![0; rows * row], row })
    }

    pub fn row(&self, row: usize) -> &[u64] {
        &self.words[row * self.row..][..self.row]
    }

    fn row_mut(&mut self, row: usize) -> &mut [u64] {
        &mut self.words[row * self.row..][..self.row]
    }
}

pub fn bits(row: &[u64]) -> impl Iterator<Item = usize> + '_ {
    row.iter().enumerate().flat_map(|(index, word)| {
        let mut rest = *word;
        std::iter::from_fn(move || {
            let bit = rest.trailing_zeros();
            rest &= rest.wrapping_sub(1);
            (bit < u64::BITS).then_some(index * 64 + bit as usize)
        })
    })
}

pub fn and<'a>(a: &'a [u64], b: &'a [u64]) -> impl Iterator<Item = u64> + 'a {
    a.iter().zip(b).map(|(a, b)| a & b)
}

fn add(into: &mut [u64], from: impl IntoIterator<Item = u64>) -> bool {
    let mut changed = false;
    for (into, from) in into.iter_mut().zip(from) {
        changed |= *into | from != *into;
        *into |= from;
    }
    changed
}

fn insert(row: &mut [u64], bit: usize) {
    row[bit / 64] |= 1 << (bit % 64);
}

/// A place where a scoreboard is set.
#[derive(Clone, Copy, Debug)]
pub struct Set {
    pub instruction: usize,
    pub number: u8,
    /// By what the instruction reads, otherwise by what it writes.
    pub reads: bool,
}

/// Where control goes at the end of a block.
#[derive(Debug)]
struct Block {
    range: Range<usize>,
    next: Vec<usize>,
    anywhere: bool,
}

/// The sets of a kernel and how they meet.
#[derive(Debug)]
pub struct Pending {
    pub sets: Vec<Set>,
    pub controls: Vec<Control>,
    /// The instructions that begin something collective.
    collective: Vec<bool>,
    blocks: Vec<Block>,
    /// By number: the sets of it.
    of_number: Matrix,
    /// By block: what may be under way at its beginning.
    entry: Matrix,
    /// By set: what may be under way when it happens.
    pub under_way: Matrix,
    /// By set: those that are better not given its number.
    pub conflicts: Matrix,
}

impl Pending {
    /// `None` if the code is too large.
    pub fn of(code: &[u8]) -> Option<Self> {
        let instructions: Vec<Instruction> =
            (0..code.len() / SIZE).map(|at| Instruction::at(code, at)).collect();
        let controls: Vec<Control> = instructions.iter().map(|i| Control::of(*i)).collect();
        let mut sets = Vec::new();
        for (instruction, control) in controls.iter().enumerate() {
            let both = [(control.read, true), (control.written, false)];
            let real = both.into_iter().filter(|(number, _)| *number < SCOREBOARDS);
            sets.extend(real.map(|(number, reads)| Set { instruction, number, reads }));
        }
        if instructions.is_empty() {
            return None;
        }
        let blocks = blocks(&instructions);
        let mut of_number = Matrix::new(SCOREBOARDS.into(), sets.len())?;
        for (index, set) in sets.iter().enumerate() {
            insert(of_number.row_mut(set.number.into()), index);
        }
        let mut pending = Self {
            of_number,
            entry: Matrix::new(blocks.len(), sets.len())?,
            under_way: Matrix::new(sets.len(), sets.len())?,
            conflicts: Matrix::new(sets.len(), sets.len())?,
            sets,
            controls,
            collective: instructions.iter().map(|i| is_collective(*i)).collect(),
            blocks,
        };
        pending.reach()?;
        pending.find_conflicts()?;
        Some(pending)
    }

    /// The instructions up to the first branch.
    pub fn first_block(&self) -> Range<usize> {
        self.blocks[0].range.clone()
    }

    pub fn of_number(&self, number: u8) -> &[u64] {
        self.of_number.row(number.into())
    }

    /// Ends in `row` what a wait is for. What waits for everything has not been scheduled and ends
    /// nothing.
    fn wait(&self, row: &mut [u64], index: usize) {
        let control = self.controls[index];
        if control.waits == EVERYTHING || self.collective[index] {
            return;
        }
        for number in control.waited() {
            row.iter_mut().zip(self.of_number(number)).for_each(|(row, of_number)| *row &= !of_number);
        }
    }

    /// Calls back for each instruction of a block with what may be under way before it and after its waits.
    fn walk(&self, block: usize, mut visit: impl FnMut(usize, &[u64], &[u64])) -> Vec<u64> {
        let mut row = self.entry.row(block).to_vec();
        let range = self.blocks[block].range.clone();
        let mut set = self.sets.partition_point(|set| set.instruction < range.start);
        for index in range {
            let before = row.clone();
            self.wait(&mut row, index);
            visit(index, &before, &row);
            while self.sets.get(set).is_some_and(|set| set.instruction == index) {
                insert(&mut row, set);
                set += 1;
            }
        }
        row
    }

    /// Calls back for each instruction.
    pub fn each(&self, mut visit: impl FnMut(usize, &[u64], &[u64])) {
        for block in 0..self.blocks.len() {
            self.walk(block, &mut visit);
        }
    }

    fn reach(&mut self) -> Option<()> {
        let mut anywhere = Matrix::new(1, self.sets.len())?;
        let mut changed = true;
        while changed {
            changed = false;
            for block in 0..self.blocks.len() {
                add(self.entry.row_mut(block), anywhere.row(0).iter().copied());
                let out = self.walk(block, |_, _, _| ());
                for &next in &self.blocks[block].next {
                    changed |= add(self.entry.row_mut(next), out.iter().copied());
                }
                if self.blocks[block].anywhere {
                    changed |= add(anywhere.row_mut(0), out.iter().copied());
                }
            }
        }
        Some(())
    }

    /// By set: the ones before it from whose instructions the code goes on to its instruction.
    fn leading(&self) -> Option<Matrix> {
        let mut entry = Matrix::new(self.blocks.len(), self.sets.len())?;
        let mut leading = Matrix::new(self.sets.len(), self.sets.len())?;
        let mut set = 0;
        for (index, block) in self.blocks.iter().enumerate() {
            let mut row = entry.row(index).to_vec();
            while self.sets.get(set).is_some_and(|set| set.instruction < block.range.end) {
                add(leading.row_mut(set), row.iter().copied());
                insert(&mut row, set);
                set += 1;
            }
            for &next in block.next.iter().filter(|next| **next > index) {
                add(entry.row_mut(next), row.iter().copied());
            }
        }
        Some(leading)
    }

    /// Two sets are better apart if one of them is under way where the other is waited for alone, or where the other
    /// happens; and if one wait is for both, on different ways to it.
    fn find_conflicts(&mut self) -> Option<()> {
        let leading = self.leading()?;
        let mut conflicts = Matrix::new(self.sets.len(), self.sets.len())?;
        let mut under_way = Matrix::new(self.sets.len(), self.sets.len())?;
        let mut next = 0;
        self.each(|index, before, after| {
            let ended: Vec<u64> = before.iter().zip(after).map(|(before, after)| before & !after).collect();
            if ended.iter().any(|word| *word != 0) {
                for set in bits(after) {
                    add(conflicts.row_mut(set), ended.iter().copied());
                }
                for set in bits(&ended) {
                    let apart = ended.iter().zip(leading.row(set)).map(|(ended, leading)| ended & !leading);
                    add(conflicts.row_mut(set), after.iter().copied());
                    add(conflicts.row_mut(set), apart);
                }
            }
            while self.sets.get(next).is_some_and(|set| set.instruction == index) {
                add(conflicts.row_mut(next), after.iter().copied());
                add(under_way.row_mut(next), after.iter().copied());
                next += 1;
            }
        });
        self.conflicts = conflicts;
        self.under_way = under_way;
        Some(())
    }
}

/// `BSYNC`, `BREAK`, `BSSY` and others that go on with the next instruction, or end the thread.
const STRAIGHT: [u16; 11] = [0x141, 0x142, 0x145, 0x146, WARP_SYNC, EXIT, 0x155, 0x156, 0x15b, 0x15c, 0x15d];
const BRANCH: u16 = 0x147;
const WARP_SYNC: u16 = 0x148;
const EXIT: u16 = 0x14d;

/// Whether an instruction begins something that a warp does together. What it waits for is under way up to the end of that, which
/// waits for it again.
fn is_collective(instruction: Instruction) -> bool {
    instruction.operation() == WARP_SYNC && instruction.field(64 + 22, 1) != 0
}

/// Where control goes from an instruction. This is the assembler's view: threads that part meet again, so that a `BSYNC` goes on
/// with the next instruction, where the checker ([`crate::flow`]) has to take it for any meeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Next,
    /// To the next one or to this index.
    Branch(usize),
    Jump(usize),
    End,
    Anywhere,
}

impl Flow {
    fn of(index: usize, instruction: Instruction) -> Self {
        match instruction.operation() {
            BRANCH => {
                let Some(target) = place(index, instruction).and_then(|at| usize::try_from(at).ok()) else {
                    return Self::Anywhere;
                };
                let is_plain = instruction.opcode() == 0x947 && instruction.field(82, 14) == 0xe0;
                if instruction.guard() == TRUE && is_plain {
                    Self::Jump(target)
                } else {
                    Self::Branch(target)
                }
            }
            EXIT if instruction.guard() == TRUE => Self::End,
            operation if STRAIGHT.contains(&operation) || !is_control(instruction) => Self::Next,
            _ => Self::Anywhere,
        }
    }
}

/// The blocks of code between branches and their targets.
fn blocks(instructions: &[Instruction]) -> Vec<Block> {
    let flow: Vec<Flow> = instructions.iter().enumerate().map(|(index, i)| Flow::of(index, *i)).collect();
    let mut begins = vec![false; flow.len() + 1];
    begins[0] = true;
    for (index, flow) in flow.iter().enumerate().filter(|(_, flow)| **flow != Flow::Next) {
        begins[index + 1] = true;
        if let Flow::Branch(target) | Flow::Jump(target) = flow
            && let Some(begin) = begins.get_mut(*target)
        {
            *begin = true;
        }
    }
    let starts: Vec<usize> = (0..flow.len()).filter(|index| begins[*index]).collect();
    let block_at = |index: usize| starts.binary_search(&index).ok();
    let mut blocks = Vec::with_capacity(starts.len());
    for (index, &start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(flow.len());
        let (straight, target, anywhere) = match flow[end - 1] {
            Flow::Next => (true, None, false),
            Flow::Branch(target) => (true, Some(target), false),
            Flow::Jump(target) => (false, Some(target), false),
            Flow::End => (false, None, false),
            Flow::Anywhere => (true, None, true),
        };
        let lost = target.is_some_and(|target| block_at(target).is_none());
        let next = straight.then_some(end).into_iter().chain(target).filter_map(block_at).collect();
        blocks.push(Block { range: start..end, next, anywhere: anywhere || lost });
    }
    blocks
}
