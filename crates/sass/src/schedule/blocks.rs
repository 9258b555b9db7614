//! The blocks of a function and where control goes from each.
//!
//! A block is left only after its last instruction and entered only at its first. Blocks are numbered in the order of
//! the code. Calls, `BSYNC` (with the `NOP` before it that is a workaround) and `WARPSYNC.COLLECTIVE` are blocks of their own, some begin with `WARPSYNC.ALL`, and the `NOP`s
//! at the end are in no block.

use super::instructions::Line;
use super::latency::Family;
use crate::flow::{Flow, Jumps};
use crate::operation;
use std::collections::HashMap;
use std::ops::Range;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Its instructions.
    pub range: Range<usize>,
    pub successors: Vec<usize>,
    pub predecessors: Vec<usize>,
}

impl Block {
    pub fn last(&self) -> usize {
        self.range.end - 1
    }
}

/// How control leaves an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Exit {
    Next,
    /// The next instruction, in a block of its own.
    Split,
    Branch(usize),
    Jump(usize),
    Targets(Vec<usize>),
    End,
}

impl Exit {
    /// `None` if it is not known where control goes.
    fn of(at: usize, line: &Line, count: usize, jumps: &HashMap<usize, &Vec<usize>>) -> Option<Self> {
        let inside = |place: i64| usize::try_from(place).ok().filter(|place| *place < count);
        Some(match (line.operation(), Flow::of(at, line.bits)) {
            (operation::WARPSYNC, _) if !line.begins_collective() => Self::Next,
            (operation::WARPSYNC | operation::ENDCOLLECTIVE | operation::BSYNC, _)
            | (operation::BPT | operation::EXIT, Flow::Next)
            | (_, Flow::Call) => Self::Split,
            (operation::BRX | operation::BRXU, _) => {
                let targets = *jumps.get(&at)?;
                if !line.bits.is_unconditional() || targets.iter().any(|target| *target >= count) {
                    return None;
                }
                Self::Targets(targets.clone())
            }
            (_, Flow::Anywhere) if line.bits.is_return() && line.bits.is_unconditional() => Self::End,
            (_, Flow::Branch(place)) => Self::Branch(inside(place)?),
            (_, Flow::Jump(place)) => Self::Jump(inside(place)?),
            (_, Flow::End) => Self::End,
            (_, Flow::Next) => Self::Next,
            (_, Flow::Meet | Flow::Anywhere) => return None,
        })
    }

    fn targets(&self) -> &[usize] {
        match self {
            Self::Branch(target) | Self::Jump(target) => std::slice::from_ref(target),
            Self::Targets(targets) => targets,
            Self::Next | Self::Split | Self::End => &[],
        }
    }

    fn goes_on(&self) -> bool {
        matches!(self, Self::Next | Self::Split | Self::Branch(_))
    }
}

/// The blocks of the code, or `None` if it is not known where control goes.
pub fn blocks(lines: &[Line], jumps: &Jumps, family: Family) -> Option<Vec<Block>> {
    let end = lines.iter().rposition(|line| line.operation() != operation::NOP)? + 1;
    let jumps = jumps.iter().map(|(at, targets)| (*at, targets)).collect();
    let exits = lines[..end].iter().enumerate().map(|(at, line)| Exit::of(at, line, lines.len(), &jumps));
    let exits: Vec<Exit> = exits.collect::<Option<_>>()?;
    let mut is_start = vec![false; lines.len() + 1];
    is_start[0] = true;
    for (at, exit) in exits.iter().enumerate() {
        let is_call = Flow::of(at, lines[at].bits) == Flow::Call;
        is_start[at] |= lines[at].begins_collective() || is_call;
        if lines[at].operation() == operation::BSYNC {
            let has_workaround = at > 0 && lines[at - 1].operation() == operation::NOP;
            is_start[at - usize::from(has_workaround && family.works_around)] = true;
        }
        is_start[at + 1] |= *exit != Exit::Next;
        is_start[at] |= begins_at_meeting(lines, at);
        exit.targets().iter().for_each(|target| is_start[*target] = true);
    }
    let starts: Vec<usize> = (0..end).filter(|at| is_start[*at]).collect();
    let ends = starts[1..].iter().copied().chain([end]);
    let block = |(start, end): (&usize, usize)| Block { range: *start..end, ..Block::default() };
    let mut blocks: Vec<Block> = starts.iter().zip(ends).map(block).collect();
    for index in 0..blocks.len() {
        let exit = &exits[blocks[index].last()];
        let next = (exit.goes_on() && index + 1 < blocks.len()).then_some(index + 1);
        let targets = exit.targets().iter().filter_map(|target| starts.binary_search(target).ok());
        for successor in next.into_iter().chain(targets) {
            // Predecessors come in order, so that this one would be the last.
            if blocks[successor].predecessors.last() != Some(&index) {
                blocks[successor].predecessors.push(index);
                blocks[index].successors.push(successor);
            }
        }
    }
    Some(blocks)
}

/// Whether a block ends before a `WARPSYNC.ALL`, though no branch leads there. The instruction before then takes as many
/// cycles as the last one of a block.
fn begins_at_meeting(lines: &[Line], at: usize) -> bool {
    const END_OF_PRODUCER: u8 = 2;
    const END: u8 = 7;
    let Some(before) = at.checked_sub(1).map(|before| &lines[before]) else { return false };
    let end = if before.sets_scoreboard() { END_OF_PRODUCER } else { END };
    lines[at].is_meeting_of_all() && before.bits.stall() >= end
}

#[cfg(test)]
mod tests {
    use super::blocks;
    use crate::instruction::SIZE;
    use crate::schedule::Family;
    use crate::schedule::instructions::Line;

    const COPY: u128 = 0x0f00_0000_0008_0004_7202;
    const BRANCH_OVER_ONE: u128 = 0x0380_0000_0000_0000_0004_0947;
    const BRANCH_TO_ITSELF: u128 = 0x0383_ffff_ffff_fffc_00fc_7947;
    const MEET: u128 = 0x0380_0200_0000_0000_0000_7941;
    const EXIT: u128 = 0x0380_0000_0000_0000_0000_794d;
    const NOP: u128 = 0x7918;

    #[test]
    fn edges() {
        let code = [COPY, BRANCH_OVER_ONE, COPY, COPY, MEET, EXIT, BRANCH_TO_ITSELF, NOP, NOP];
        let bytes: Vec<u8> = code.iter().flat_map(|bits| bits.to_le_bytes()).collect();
        assert_eq!(bytes.len(), code.len() * SIZE);
        let lines = Line::all(&bytes).expect("known operations");
        let blocks = blocks(&lines, &[], Family::OF_100).expect("known branches");
        let ranges: Vec<_> = blocks.iter().map(|block| block.range.clone()).collect();
        assert_eq!(ranges, [0..2, 2..3, 3..4, 4..5, 5..6, 6..7]);
        let successors: Vec<_> = blocks.iter().map(|block| block.successors.clone()).collect();
        assert_eq!(successors, [vec![1, 2], vec![2], vec![3], vec![4], vec![], vec![5]]);
        assert_eq!(blocks[2].predecessors, [0, 1]);
    }
}
