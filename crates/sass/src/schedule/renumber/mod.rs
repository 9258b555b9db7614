//! Renumbering: a narrower rule for code that the model does not give back as it came.
//!
//! The model of [`schedule`](super) is used where, run on the code of the assembler, it gives the scoreboards of the
//! assembler. Elsewhere it misses something, and what it would make of the whole function is worth nothing. Most of these
//! functions can still be had equal to nvlink's: the assembler's schedule is taken for what it is, and only what the change
//! makes necessary is chosen anew. (Of 45,180 kernels of `cargo xtask realcode`, on five architectures, 673 are equal to nvlink's by this
//! alone; [`first_block`] has a part in 61 of them.)
//!
//! Numbers are given out in the order of the code. A load that others overtake takes the first free one from 2 on, one from
//! textures the last free one, everything else the first free one. Free is what no other set has that is better kept
//! apart ([`pending`]); where the assembler's number is not the one that this rule gives for the assembler's code, it stays. Every wait of
//! the assembler, on every path, stays too, with the new numbers. The result has not been proven safe.

mod first_block;
mod pending;
mod preferred;

use super::latency::Family;
use super::{Control, NONE};
use crate::instruction::{Instruction, SCOREBOARDS, SIZE};
use first_block::{FirstBlock, first_block};
use pending::{EVERYTHING, Pending, and, bits};
use preferred::preferred;

/// The schedule without the scoreboard of the first instruction, which loads a stack pointer that nothing uses.
pub fn without_stack_pointer(code: &[u8], family: Family) -> Option<Vec<Control>> {
    let pending = Pending::of(code)?;
    let first = first_block(code, &pending, family);
    let numbers = first.as_ref().map_or_else(|| vec![NONE], |first| first.numbers.clone());
    let renumbering = Renumbering { code, old: &pending, new: &pending, first: first.as_ref() };
    Some(renumbering.controls(&renumbering.numbers(numbers)?))
}

/// The schedule if one instruction waits for the load of the stack pointer, which is the first one; `None` if it does so
/// already.
pub fn with_wait(code: &[u8], at: usize) -> Option<Vec<Control>> {
    let old = Pending::of(code)?;
    let number = old.sets.first()?.number;
    let mut is_under_way = false;
    old.each(|index, before, _| is_under_way |= index == at && before[0] & 1 != 0);
    let mut control = *old.controls.get(at)?;
    if !is_under_way || control.waits >> number & 1 != 0 {
        return None;
    }
    control.waits |= 1 << number;
    let mut changed = code.to_vec();
    control.put(changed.as_chunks_mut::<SIZE>().0.get_mut(at)?);
    let new = Pending::of(&changed)?;
    let renumbering = Renumbering { code, old: &old, new: &new, first: None };
    Some(renumbering.controls(&renumbering.numbers(vec![number])?))
}

/// Code whose scoreboards are numbered anew.
struct Renumbering<'a> {
    code: &'a [u8],
    /// What is under way where by the waits of the assembler, and by those that the code is to have. Both have the same sets.
    old: &'a Pending,
    new: &'a Pending,
    first: Option<&'a FirstBlock>,
}

impl Renumbering<'_> {
    /// Whether a set is over at the end of the first block, though the assembler has it under way.
    fn is_over(&self, set: usize) -> bool {
        self.first.is_some_and(|first| first.is_over(set))
    }

    /// The number of every set, from those of the first ones on. What got its number by the rule gets it by the rule again.
    fn numbers(&self, mut numbers: Vec<u8>) -> Option<Vec<u8>> {
        let sets = &self.old.sets;
        let is_dropped = numbers.first() == Some(&NONE);
        for (index, set) in sets.iter().enumerate().skip(numbers.len()) {
            let written_too = !set.reads && sets[index - 1].instruction == set.instruction;
            let beside = written_too.then_some(index - 1);
            let earlier = |row: &[u64]| -> Vec<usize> {
                let earlier = bits(row).take_while(|other| *other < index).chain(beside);
                earlier.filter(|other| !self.is_over(*other)).collect()
            };
            // What is under way with the same number has been put together with this on purpose.
            let together: Vec<u64> =
                and(self.new.under_way.row(index), self.old.of_number(set.number)).collect();
            let shared = earlier(&together).into_iter().filter(|other| sets[*other].number == set.number);
            if let Some(number) =
                shared.map(|other| numbers[other]).filter(|number| *number < SCOREBOARDS).min()
            {
                numbers.push(number);
                continue;
            }
            let is_with_dropped = is_dropped && together.first().is_some_and(|word| word & 1 != 0);
            let is_apart = |other: &usize| is_with_dropped || sets[*other].number != set.number;
            let conflicts = |pending: &Pending| -> Vec<usize> {
                earlier(pending.conflicts.row(index)).into_iter().filter(is_apart).collect()
            };
            let (before, now) = (conflicts(self.old), conflicts(self.new));
            let is_taken = |number: u8| now.iter().any(|other| numbers[*other] == number);
            let was_taken = |number: u8| before.iter().any(|other| sets[*other].number == number);
            let operation = Instruction::at(self.code, set.instruction).operation();
            let order = preferred(if set.reads { 0 } else { operation });
            let free = order.into_iter().find(|number| !is_taken(*number));
            let by_rule = order.into_iter().find(|number| !was_taken(*number)) == Some(set.number);
            let kept = Some(set.number).filter(|number| !is_with_dropped && !by_rule && !is_taken(*number));
            numbers.push(kept.or(free)?);
        }
        Some(numbers)
    }

    /// What each instruction sets and waits for with these numbers: for whatever the assembler has it wait for, on any path,
    /// that is still under way.
    fn controls(&self, numbers: &[u8]) -> Vec<Control> {
        let mut controls = self.new.controls.clone();
        for (set, number) in self.old.sets.iter().zip(numbers) {
            let control = &mut controls[set.instruction];
            *(if set.reads { &mut control.read } else { &mut control.written }) = *number;
        }
        // By instruction: the scoreboards that it waited for, and the sets that were under way with each.
        let mut ended: Vec<Vec<(u8, Vec<u64>)>> = vec![Vec::new(); controls.len()];
        self.old.each(|index, before, _| {
            let of = |number: u8| (number, and(before, self.old.of_number(number)).collect());
            ended[index] = self.old.controls[index].waited().map(of).collect();
        });
        self.new.each(|index, before, _| {
            let old_waits = self.old.controls[index].waits;
            let new_waits = self.new.controls[index].waits;
            if old_waits == EVERYTHING || new_waits == EVERYTHING {
                return;
            }
            if let Some(waits) = self.first.and_then(|first| first.waits.get(index)) {
                controls[index].waits = *waits;
                return;
            }
            // What is waited for only now.
            let mut waits = new_waits & !old_waits;
            for (number, sets) in &ended[index] {
                if sets.iter().all(|word| *word == 0) {
                    waits |= 1 << number;
                }
                let left: Vec<u64> = and(before, sets).collect();
                let left = bits(&left).filter(|set| !self.is_over(*set)).map(|set| numbers[set]);
                waits |= left.filter(|number| *number < SCOREBOARDS).fold(0, |waits, n| waits | 1 << n);
            }
            controls[index].waits = waits;
        });
        self.wait_before_reuse(numbers, &mut controls);
        controls
    }

    /// What is under way with a number, for another wait than what is set now, is waited for first.
    fn wait_before_reuse(&self, numbers: &[u8], controls: &mut [Control]) {
        let sets = &self.old.sets;
        let done = self.first.map_or(0, |first| first.numbers.len());
        for (index, set) in sets.iter().enumerate().skip(done) {
            let meets = bits(self.new.under_way.row(index))
                .filter(|other| !self.is_over(*other))
                .any(|other| numbers[other] == numbers[index] && sets[other].number != set.number);
            let control = &mut controls[set.instruction];
            if meets && control.waits != EVERYTHING && numbers[index] < SCOREBOARDS {
                control.waits |= 1 << numbers[index];
            }
        }
    }
}
