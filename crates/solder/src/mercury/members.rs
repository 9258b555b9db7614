//! Code of sm_100 in links for sm_103.
//!
//! The rules are in `solder_sass::schedule::member`. Here is what moves with the code: delays are instructions, of Mercury
//! too. What is not understood stays as it is, and `wrong_code` finds it.

use super::moves::{Change, Moves};
use super::rewrite::rewritten_with;
use crate::object::Object;
use solder_cubin::mercury::with_delays;
use solder_sass::schedule::member::{Delayed, delayed, number};

/// The architecture whose code can be made into code for the target, and the target.
const FROM: u16 = 100;
pub const TO: u16 = 103;

/// The input with code for sm_103, as far as it needs other code there; `None` if it does not.
pub fn for_other_member(object: &Object<'_>) -> Option<Vec<u8>> {
    if object.cubin.sm() != FROM {
        return None;
    }
    rewritten_with(
        object,
        |text, _| {
            let change = |delayed: Delayed| Change { at: delayed.at, by: delayed.by, mercury: None };
            let changes = delayed(text.data, &[])?.into_iter().map(change).collect();
            Some((text.data.into(), changes))
        },
        |old, new| number(old, new, &[]).then_some(()),
        capsule,
    )
}

fn capsule(old: &[u8], moves: &Moves<'_, '_>) -> Option<Vec<u8>> {
    let delays: Vec<(usize, usize)> = moves.added().filter(|(_, count)| *count > 0).collect();
    with_delays(old, moves.old_length(), &delays, moves.length())
}
