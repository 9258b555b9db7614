//! Through which general register the size of the cluster comes, where code of 12.8 and 12.9 has it in a uniform register at once
//! (older/blackwell-clusters).
//!
//! nvlink takes the highest register whose first access in the rest of the block is an unconditional write. If there is none, it saves
//! the lowest register whose last access in the block before is a read, or R2.

use super::instructions::Line;
use super::{Code, Control, DELAYED, Family, Hints, Machine, NONE};
use crate::cluster_size::{ClusterSize, Times};
use crate::flow::Jumps;
use crate::instruction::{Instruction, SCOREBOARDS, SIZE};
use crate::operation::S2UR;
use crate::registers::File;
use std::ops::Range;

const REGISTERS: usize = 255;
/// What is saved where nothing has been read.
const USUAL: u8 = 2;
/// What asks for the size: a read and a product.
const PAIR: usize = 2;

/// What takes the place of two instructions that ask for the size of the cluster.
#[derive(Clone, Debug)]
pub struct Expansion {
    pub at: usize,
    pub by: Vec<[u8; SIZE]>,
    /// Instructions before them that set another scoreboard then.
    pub others: Vec<(usize, [u8; SIZE])>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Written,
    MayBeWritten,
}

/// The accesses of an instruction to general registers, in order.
fn accesses(line: &Line) -> impl Iterator<Item = (u8, Access)> + '_ {
    let written = if line.bits.is_unconditional() { Access::Written } else { Access::MayBeWritten };
    let all = [(&line.reads, Access::Read), (&line.writes, written)];
    all.into_iter()
        .flat_map(|(set, access)| set.iter(File::General).map(move |register| (register as u8, access)))
}

/// What takes the place of everything that asks for the size of the cluster. Nothing if the code is not understood. Each has further ways, which wait
/// for more.
pub fn expansions(code: &[u8], jumps: &Jumps, family: Family) -> Vec<Vec<Expansion>> {
    let Some(Code { lines, blocks, .. }) = Code::new(code, jumps, family, Hints::NONE) else {
        return Vec::new();
    };
    blocks.iter().flat_map(|block| of_block(&lines, block.range.clone(), family)).collect()
}

fn of_block(lines: &[Line], block: Range<usize>, family: Family) -> Vec<Vec<Expansion>> {
    let times = if family.machine == Machine::Of120 { Times::OF_120 } else { Times::OF_100 };
    let mut last = [None; REGISTERS];
    let mut found = Vec::new();
    for at in block.clone() {
        accesses(&lines[at]).for_each(|(register, access)| last[usize::from(register)] = Some(access));
        let pair = lines.get(at + 1).filter(|_| at + 1 < block.end);
        let Some((size, second)) =
            pair.and_then(|next| Some((ClusterSize::of(lines[at].bits, next.bits)?, next)))
        else {
            continue;
        };
        let free = free_register(&lines[at + PAIR..block.end]);
        let register = free.unwrap_or_else(|| {
            let read = last.iter().position(|access| *access == Some(Access::Read));
            read.map_or(USUAL, |register| register as u8)
        });
        last[usize::from(register)] = Some(Access::Written);
        let own = Control::of(lines[at].bits);
        let number = idle_number(lines, block.start..at, own.written);
        let mut others = uncovered(lines, block.clone(), at, number);
        others.extend(readers(lines, block.start..at, register, number));
        let added = if others.is_empty() { 0 } else { 1 << number };
        let gone = if own.written < NONE { 1 << own.written } else { 0 };
        let waits = lines[at].bits.wait_mask() | under_way(lines, block.start..at, register) | added;
        let all = waits | second.bits.wait_mask();
        let least = waits | all & !gone;
        let others_waits = anywhere(lines, register);
        let way = |(waits, is_later): (u8, bool)| {
            let mut others = others.clone();
            others.extend(delayed(lines, &others, at, waits, is_later));
            let by = size.through(register, free.is_none(), waits, times);
            let by = by.into_iter().map(|bits| bits.0.to_le_bytes()).collect();
            Expansion { at, by, others }
        };
        let waits = [least, all, least | others_waits, all | others_waits];
        let ways = waits.into_iter().flat_map(|waits| [(waits, false), (waits, true)]);
        // Where a register is saved, what was written just before may need another cycle.
        found.push(ways.filter(|(_, is_later)| free.is_none() || !is_later).map(way).collect());
    }
    found
}

/// A scoreboard that nothing in the block has set and not waited for: this one, or another.
fn idle_number(lines: &[Line], before: Range<usize>, number: u8) -> u8 {
    let busy = before.fold(0, |mask, at| mask & !lines[at].bits.wait_mask() | lines[at].bits.set_mask());
    let all = std::iter::once(number).chain(0..SCOREBOARDS);
    all.filter(|number| *number < NONE).find(|number| busy >> number & 1 == 0).unwrap_or(0)
}

/// The highest register that is written before anything else becomes of it.
fn free_register(rest: &[Line]) -> Option<u8> {
    let mut first = [None; REGISTERS];
    for (register, access) in rest.iter().flat_map(accesses) {
        first[usize::from(register)].get_or_insert(access);
    }
    first.iter().rposition(|access| *access == Some(Access::Written)).map(|register| register as u8)
}

/// Special registers that are read without a scoreboard because that of the read at `gone` was enough: they get this one, unless that
/// of a later one is enough.
fn uncovered(lines: &[Line], block: Range<usize>, gone: usize, number: u8) -> Vec<(usize, [u8; SIZE])> {
    let user = |at: usize| {
        let results = lines[at].writes;
        let uses = |later: &usize| {
            let Line { reads, writes, .. } = &lines[*later];
            reads.meets(&results) || writes.meets(&results)
        };
        (at + 1..block.end).find(uses).unwrap_or(block.end)
    };
    let is_read = |at: &usize| lines[*at].operation() == S2UR;
    let is_held = |at: &usize| lines[*at].bits.write_scoreboard().is_none() && user(*at) > gone;
    let held = (block.start..gone).rev().filter(is_read).take_while(is_held);
    let mut found = Vec::new();
    let mut first_user = None;
    for at in held {
        let own = user(at);
        if first_user.is_none_or(|first| own < first) {
            first_user = Some(own);
            found.push((at, with_scoreboards(lines[at].bits, number, None)));
        }
    }
    found
}

/// What reads a register and says nothing of when it has, since nothing overwrote it: it gets this scoreboard.
fn readers(lines: &[Line], before: Range<usize>, register: u8, number: u8) -> Vec<(usize, [u8; SIZE])> {
    let is_reader = |at: &usize| {
        let line = &lines[*at];
        let control = Control::of(line.bits);
        line.reads.contains(File::General, register.into())
            && is_late(line)
            && control.read == NONE
            && !is_over(lines, *at + 1..before.end, control.written)
    };
    // Those of one kind read in order.
    let is_last = |at: &usize| {
        let is_same = |later: &usize| lines[*later].operation() == lines[*at].operation();
        let tells = |later: &usize| is_reader(later) || lines[*later].bits.read_scoreboard().is_some();
        !(at + 1..before.end).filter(is_same).any(|later| tells(&later))
    };
    let all = before.clone().filter(is_reader).filter(is_last);
    all.map(|at| (at, with_scoreboards(lines[at].bits, NONE, Some(number)))).collect()
}

/// The instruction before a place, if that waits for it or is to be later: it takes two cycles then.
fn delayed(
    lines: &[Line],
    others: &[(usize, [u8; SIZE])],
    at: usize,
    waits: u8,
    is_later: bool,
) -> Option<(usize, [u8; SIZE])> {
    let last = at.checked_sub(1)?;
    let changed = others.iter().rev().find(|(other, _)| *other == last);
    let bits = changed.map_or(lines[last].bits, |(_, bits)| Instruction(u128::from_le_bytes(*bits)));
    let is_waited_for = bits.stall() == 1 && (is_later || bits.set_mask() & waits != 0);
    is_waited_for.then(|| (last, bits.with_stall(DELAYED).0.to_le_bytes()))
}

/// Whether an instruction may take its time to read its operands.
fn is_late(line: &Line) -> bool {
    const FIRST: u16 = 0x100;
    const CONTROL: Range<u16> = 0x118..0x160;
    line.operation() >= FIRST && !CONTROL.contains(&line.operation()) || line.sets_scoreboard()
}

/// Whether something waits for a scoreboard.
fn is_over(lines: &[Line], mut range: Range<usize>, number: u8) -> bool {
    number < NONE && range.any(|at| lines[at].bits.wait_mask() >> number & 1 != 0)
}

/// The scoreboards of instructions that use a register and may be under way.
fn under_way(lines: &[Line], before: Range<usize>, register: u8) -> u8 {
    let mut mask = 0;
    let mut readers = Vec::new();
    for at in before {
        let line = &lines[at];
        let uses = [&line.reads, &line.writes].map(|set| set.contains(File::General, register.into()));
        mask &= !line.bits.wait_mask();
        if uses.contains(&true) {
            mask |= line.bits.set_mask();
            readers.push(line.operation());
        } else if let Some(number) =
            line.bits.read_scoreboard().filter(|_| readers.contains(&line.operation()))
        {
            // Those of one kind read in order.
            mask |= 1 << number;
        }
    }
    mask
}

/// The scoreboards of all instructions that use a register.
fn anywhere(lines: &[Line], register: u8) -> u8 {
    let uses = |line: &&Line| {
        [&line.reads, &line.writes].iter().any(|set| set.contains(File::General, register.into()))
    };
    lines.iter().filter(uses).fold(0, |mask, line| mask | line.bits.set_mask())
}

fn with_scoreboards(bits: Instruction, written: u8, read: Option<u8>) -> [u8; SIZE] {
    let old = Control::of(bits);
    let written = if read.is_some() { old.written } else { written };
    let mut bytes = bits.0.to_le_bytes();
    Control { written, read: read.unwrap_or(old.read), ..old }.put(&mut bytes);
    bytes
}
