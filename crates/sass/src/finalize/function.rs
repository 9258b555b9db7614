//! A function on its way through the steps of finalizing.

use super::moves::{Change, Moves};
use super::object::Object;
use crate::schedule::member::Delayed;
use solder_cubin::Section;
use solder_cubin::mercury::{Pace, make_explicit, paces, with_delays};
use solder_cubin::raw;
use std::borrow::Cow;

/// What an entry begins with that says how many machine instructions the next one takes.
const COUNT_OF_NEXT: u8 = 0x51;

/// Where indirect branches go: each one and its targets, in instructions.
pub type Jumps = Vec<(usize, Vec<usize>)>;

/// Code and capsule of a function, as the steps so far have made them.
#[derive(Debug)]
pub struct Function<'a, 'data> {
    pub text: &'a Section<'data>,
    pub capsule_section: &'a Section<'data>,
    pub is_kernel: bool,
    pub code: Cow<'data, [u8]>,
    pub capsule: Cow<'data, [u8]>,
    /// One for each step that changed it.
    moves: Vec<Moves>,
}

/// What a step makes of a function.
#[derive(Debug)]
pub struct Step {
    pub code: Vec<u8>,
    pub capsule: Vec<u8>,
    pub moves: Moves,
}

impl Step {
    /// Code with changes, and the capsule that goes with it. `finish` gets the new code. `None` if there is nothing to change or
    /// the function cannot be changed.
    pub fn with_changes(
        code: &[u8],
        capsule: &[u8],
        changes: Vec<Change>,
        finish: impl FnOnce(&mut [u8]),
    ) -> Option<Self> {
        if changes.is_empty() {
            return None;
        }
        let (moves, mut code) = Moves::new(code, changes)?;
        finish(&mut code);
        let capsule = paced(capsule, &moves)?;
        Some(Self { code, capsule, moves })
    }
}

impl<'a, 'data> Function<'a, 'data> {
    pub fn new(object: &Object<'a, 'data>, text: &'a Section<'data>, capsule: &'a Section<'data>) -> Self {
        let is_kernel = object.owner(text).is_some_and(|(_, owner)| owner.other & raw::STO_ENTRY != 0);
        let (code, contents) = (text.data.into(), capsule.data.into());
        Self { text, capsule_section: capsule, is_kernel, code, capsule: contents, moves: Vec::new() }
    }

    pub fn take(&mut self, step: Option<Step>) {
        if let Some(Step { code, capsule, moves }) = step {
            self.code = code.into();
            self.capsule = capsule.into();
            self.moves.push(moves);
        }
    }

    pub fn is_changed(&self) -> bool {
        !self.moves.is_empty()
    }

    /// Where its indirect branches go now.
    pub fn jumps(&self, object: &Object<'_, '_>) -> Jumps {
        let index = |at: usize| self.place_of_named(at as u64) as usize / crate::instruction::SIZE;
        let jumps = object.jumps(self.text.index);
        jumps.map(|(branch, targets)| (index(branch), targets.into_iter().map(index).collect())).collect()
    }

    /// Where a place in the code of the input is now.
    pub fn place(&self, old: u64) -> u64 {
        self.moves.iter().fold(old, |place, moves| moves.place(place))
    }

    /// Where the instruction is that an attribute names.
    pub fn place_of_named(&self, old: u64) -> u64 {
        self.moves.iter().fold(old, |place, moves| moves.place_of_named(place))
    }

    /// Where an instruction is that others may have been inserted before.
    pub fn place_of_last(&self, old: u64) -> u64 {
        self.moves.iter().fold(old, |place, moves| moves.place_of_last(place))
    }
}

/// The capsule for changed code. `None` if it is not about this code.
pub fn paced(capsule: &[u8], moves: &Moves) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(capsule.len());
    let (mut at, mut copied) = (0, 0);
    let steps = paces(capsule, moves.old_length()).ok()?;
    let (last, steps) = steps.split_last()?;
    let mut explicit = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let first = at;
        at += step.count;
        let count = moves.count(first..at)?;
        if count == step.count {
            continue;
        }
        out.extend(&capsule[copied..step.at]);
        if step.is_derived() {
            out.extend(Pace::entry(COUNT_OF_NEXT, count)?);
            out.extend(moves.mercury(first)?);
            explicit.push(index);
            copied = step.at;
            continue;
        }
        let entry = step.entry.clone()?;
        copied = entry.end;
        // One machine instruction is what a Mercury instruction takes if the capsule has no entry for it.
        if count != 1 {
            out.extend(Pace::entry(capsule[entry.start], count)?);
        }
    }
    let entry = last.entry.clone()?;
    out.extend(&capsule[copied..entry.start]);
    out.extend(Pace::entry(capsule[entry.start], moves.length().checked_sub(moves.count(0..at)?)?)?);
    out.extend(&capsule[entry.end..]);
    for instruction in explicit {
        make_explicit(&mut out, instruction)?;
    }
    (at + last.count == moves.old_length()).then_some(out)
}

/// What changes where instructions give way to others, with other delays.
pub fn other_delays(delayed: Vec<Delayed>) -> Vec<Change> {
    delayed.into_iter().map(|delayed| Change::replaced(delayed.at, delayed.by)).collect()
}

/// The capsule of code with other delays.
pub fn delayed_capsule(old: &[u8], moves: &Moves) -> Option<Vec<u8>> {
    let delays: Vec<(usize, usize)> = moves.added().filter(|(_, count)| *count > 0).collect();
    let removed: Vec<usize> =
        moves.changes().iter().filter(|change| change.by.is_empty()).map(|change| change.at).collect();
    with_delays(old, moves.old_length(), &delays, &removed, moves.length())
}
