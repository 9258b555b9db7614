//! Objects some of whose functions get other code.

use super::lines::{REGISTER_TABLE, is_line_table};
use super::moves::{Change, Image, Moves, move_lines, move_registers};
use crate::model::object::{Object, Role};
use solder_cubin::Section;
use solder_cubin::mercury::{Pace, make_explicit, paces};
use std::borrow::Cow;

/// What an entry begins with that says how many machine instructions the next one takes.
const COUNT_OF_NEXT: u8 = 0x51;

/// The input with those changes that `changes` wants in a function, which it gets with its capsule, and the code they
/// are to be made in; `finish` gets the old and the new code. A function that cannot be changed stays; `None` if they all
/// do.
pub fn rewritten<'data>(
    object: &Object<'data>,
    changes: impl Fn(&Section<'data>, &Section<'data>) -> Option<(Cow<'data, [u8]>, Vec<Change>)>,
    finish: impl Fn(&[u8], &mut [u8]),
) -> Option<Vec<u8>> {
    let finish = |old: &Section<'data>, _: &Section<'data>, new: &mut Moves<'_, 'data>| {
        finish(old.data, new.code_mut());
        Some(())
    };
    let changes = |text: &Section<'data>, capsule: &Section<'data>| {
        changes(text, capsule).filter(|(_, changes)| !changes.is_empty())
    };
    rewritten_with(object, changes, finish, |_, capsule, moves| paced(capsule.data, moves))
}

/// The same, also for functions without a change, where `finish` may find that a function has to stay as it is, and `new_capsule` makes
/// the capsule from the old one.
pub fn rewritten_with<'data>(
    object: &Object<'data>,
    changes: impl Fn(&Section<'data>, &Section<'data>) -> Option<(Cow<'data, [u8]>, Vec<Change>)>,
    finish: impl Fn(&Section<'data>, &Section<'data>, &mut Moves<'_, 'data>) -> Option<()>,
    new_capsule: impl Fn(&Section<'data>, &Section<'data>, &Moves<'_, '_>) -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let twins = object.mercury.as_ref()?;
    let (mut functions, mut capsules) = (Vec::new(), Vec::new());
    for text in object.sections_with(Role::Text) {
        let Some(capsule) = twins.partner(text.index).map(|capsule| object.section(capsule)) else {
            continue;
        };
        let Some((code, changes)) = changes(text, capsule) else { continue };
        let Some(mut moves) = Moves::new(text, &code, changes) else { continue };
        let finished = finish(text, capsule, &mut moves);
        let Some(contents) = finished.and_then(|()| new_capsule(text, capsule, &moves)) else { continue };
        capsules.push((capsule, contents));
        functions.push(moves);
    }
    if functions.is_empty() {
        return None;
    }
    let mut image = Image::of(object);
    for (capsule, contents) in capsules {
        image.put_section(capsule, &contents)?;
    }
    for moves in &functions {
        moves.apply(&mut image)?;
    }
    for table in object.sections_with(Role::Debug).filter(|s| is_line_table(s.name)) {
        move_lines(&functions, table, &mut image)?;
    }
    for table in object.sections_with(Role::Debug).filter(|s| s.name == REGISTER_TABLE) {
        move_registers(&functions, table, &mut image)?;
    }
    Some(image.bytes)
}

/// The capsule for changed code. `None` if it is not about this code.
pub fn paced(capsule: &[u8], moves: &Moves<'_, '_>) -> Option<Vec<u8>> {
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
        // One machine instruction is what a Mercury instruction takes if nothing is said.
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
