//! Sums of two numbers, from 13.1 on (mercury/other-toolkit).
//!
//! Code of earlier assemblers for sm_120 adds two numbers as it adds three. Later finalizers have an instruction for two, which the capsule
//! stores. Where the cycles of the code are not enough for that, nvlink has others; here the sum stays as it is, which is always valid.

use super::function::{Function, Step};
use super::moves::Moves;
use crate::instruction::{Instruction, SIZE};
use crate::sum::{is_in_time, is_without_carry, mercury, of_two};
use solder_cubin::mercury::{make_explicit, paces};

/// The function with sums of two numbers; `None` if it stays.
pub fn step(function: &Function<'_, '_>) -> Option<Step> {
    let may_be =
        |at: usize| is_without_carry(Instruction::at(&function.code, at)) && is_in_time(&function.code, at);
    let (code, capsule) = converted(function, may_be)?;
    let (moves, _) = Moves::new(&function.code, Vec::new())?;
    Some(Step { code, capsule, moves })
}

/// Code and capsule of a function whose sums of two numbers for which `may_be` is true are the other instruction; `None` if there are none.
pub fn converted(function: &Function<'_, '_>, may_be: impl Fn(usize) -> bool) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut code = function.code.to_vec();
    let length = code.len() / SIZE;
    let mut capsule = Vec::with_capacity(function.capsule.len());
    let (mut at, mut copied) = (0, 0);
    let mut explicit = Vec::new();
    for (index, step) in paces(&function.capsule, length).ok()?.iter().enumerate() {
        let place = at;
        at += step.count;
        if !step.is_derived() || place >= length {
            continue;
        }
        let old = Instruction::at(&function.code, place);
        let Some(new) = of_two(old).filter(|_| may_be(place)) else { continue };
        code[place * SIZE..][..SIZE].copy_from_slice(&new.0.to_le_bytes());
        capsule.extend(&function.capsule[copied..step.at]);
        capsule.extend(mercury(new)?);
        copied = step.at;
        explicit.push(index);
    }
    if explicit.is_empty() {
        return None;
    }
    capsule.extend(&function.capsule[copied..]);
    for index in explicit {
        make_explicit(&mut capsule, index)?;
    }
    Some((code, capsule))
}
