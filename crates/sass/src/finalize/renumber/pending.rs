//! What is under way where in a kernel: the dataflow behind scoreboards.

use super::{COUNT, Control, EVERYTHING, Flow, INSTRUCTION, is_collective, upper};
use std::ops::Range;

/// The largest number of bits that a matrix may have. A kernel that needs more keeps its scoreboards.
const LARGEST: usize = 1 << 28;

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

fn pairs_of(items: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    items.iter().enumerate().flat_map(|(index, one)| items[index + 1..].iter().map(|other| (*one, *other)))
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
    /// By set: earlier ones that are over where it is, but under way on another way to where it is still under way.
    /// Numbers are better not the same.
    pub beside: Matrix,
}

impl Pending {
    /// `None` if the code is too large.
    pub fn of(code: &[u8]) -> Option<Self> {
        let controls: Vec<Control> = code.chunks_exact(INSTRUCTION).map(|i| Control::of(upper(i))).collect();
        let mut sets = Vec::new();
        for (instruction, control) in controls.iter().enumerate() {
            let both = [(control.read, true), (control.written, false)];
            let real = both.into_iter().filter(|(number, _)| *number < COUNT);
            sets.extend(real.map(|(number, reads)| Set { instruction, number, reads }));
        }
        if code.len() < INSTRUCTION {
            return None;
        }
        let blocks = blocks(code);
        let mut of_number = Matrix::new(COUNT.into(), sets.len())?;
        for (index, set) in sets.iter().enumerate() {
            insert(of_number.row_mut(set.number.into()), index);
        }
        let mut pending = Self {
            of_number,
            entry: Matrix::new(blocks.len(), sets.len())?,
            under_way: Matrix::new(sets.len(), sets.len())?,
            conflicts: Matrix::new(sets.len(), sets.len())?,
            beside: Matrix::new(sets.len(), sets.len())?,
            sets,
            controls,
            collective: code.chunks_exact(INSTRUCTION).map(is_collective).collect(),
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

    /// Calls back for the instructions from one on, wherever control goes, as long as it says to go on. `None` if
    /// control may go anywhere.
    pub fn follow(&self, from: usize, mut goes_on: impl FnMut(usize) -> bool) -> Option<()> {
        let block_of = |at: usize| self.blocks.partition_point(|block| block.range.end <= at);
        let mut reached = vec![false; self.blocks.len()];
        let mut left = Vec::new();
        let mut walk = |block: usize, range: Range<usize>, left: &mut Vec<usize>| {
            for at in range {
                if !goes_on(at) {
                    return Some(());
                }
            }
            left.extend(&self.blocks[block].next);
            (!self.blocks[block].anywhere).then_some(())
        };
        let before = block_of(from.checked_sub(1)?);
        match self.blocks.get(before)? {
            block if block.range.end > from => walk(before, from..block.range.end, &mut left)?,
            block if block.anywhere => return None,
            block => left.extend(&block.next),
        }
        while let Some(block) = left.pop() {
            if !std::mem::replace(&mut reached[block], true) {
                walk(block, self.blocks[block].range.clone(), &mut left)?;
            }
        }
        Some(())
    }

    pub fn of_number(&self, number: u8) -> &[u64] {
        self.of_number.row(number.into())
    }

    /// Ends in `row` what a wait is for. What waits for everything is not the scheduler's and does not count.
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

    /// By set: those that lead to it, are over where it is, and come with it into a later block on another way.
    fn find_beside(&self, leading: &Matrix) -> Option<Matrix> {
        let mut beside = Matrix::new(self.sets.len(), self.sets.len())?;
        let mut before = vec![Vec::new(); self.blocks.len()];
        for (index, block) in self.blocks.iter().enumerate() {
            block.next.iter().for_each(|next| before[*next].push(index));
        }
        let pairs: usize = before.iter().map(|before| before.len() * before.len()).sum();
        let words = self.sets.len().saturating_mul(self.sets.len() / 64 + 1);
        if pairs.saturating_mul(words) > LARGEST {
            return Some(beside);
        }
        let ends: Vec<Vec<u64>> =
            (0..self.blocks.len()).map(|block| self.walk(block, |_, _, _| ())).collect();
        for (one, other) in before.iter().flat_map(|before| pairs_of(before)) {
            let only = |a: usize, b: usize| ends[a].iter().zip(&ends[b]).map(|(a, b)| a & !b);
            for (a, b) in [(one, other), (other, one)] {
                let here: Vec<u64> = only(a, b).collect();
                bits(&here).for_each(|set| {
                    let there: Vec<u64> = only(b, a).collect();
                    add(beside.row_mut(set), and(&there, leading.row(set)));
                });
            }
        }
        Some(beside)
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
        self.beside = self.find_beside(&leading)?;
        self.under_way = under_way;
        Some(())
    }
}

/// The blocks of code between branches and their targets.
fn blocks(code: &[u8]) -> Vec<Block> {
    let flow: Vec<Flow> =
        code.chunks_exact(INSTRUCTION).enumerate().map(|(index, i)| Flow::of(index, i)).collect();
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
