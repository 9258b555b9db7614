//! The exit that waits for the load of the stack pointer.
//!
//! The compiler has the end of a block wait for loads that are done by then anyway. Barriers before an exit give the load
//! of the stack pointer the time for that where it had not enough of it. Behind such an exit its scoreboard is free
//! and may get to others, and nothing waits for it.

use super::pending::{Pending, and, bits};
use super::{
    CONTROL, COUNT, Control, EVERYTHING, INSTRUCTION, OPERATION, loads_stack_pointer, operation, preferred,
};

/// The code in which the first exit waits for the stack pointer's load; `None` if it does so already or comes after
/// the first block, or if it is not clear which scoreboards others get then.
pub fn wait_for_stack_pointer(code: &[u8], exit: usize) -> Option<Vec<u8>> {
    let mut block = code.chunks_exact(INSTRUCTION).take(exit);
    if !loads_stack_pointer(code) || block.any(|i| CONTROL.contains(&(operation(i) & OPERATION))) {
        return None;
    }
    let old = Pending::of(code)?;
    let number = old.sets.first()?.number;
    let mut is_under_way = false;
    old.each(|index, before, _| is_under_way |= index == exit && before[0] & 1 != 0);
    let mut control = old.controls[exit];
    if !is_under_way || control.waits >> number & 1 != 0 {
        return None;
    }
    control.waits |= 1 << number;
    let mut changed = code.to_vec();
    put(&mut changed, exit, control);
    let new = Pending::of(&changed)?;
    let numbers = numbers(&changed, &old, &new)?;
    for (at, control) in controls(&old, &new, &numbers).into_iter().enumerate() {
        put(&mut changed, at, control);
    }
    crate::check(code, &changed, &[]).is_ok().then_some(changed)
}

fn put(code: &mut [u8], at: usize, control: Control) {
    control.put_into(&mut code[at * INSTRUCTION..][..INSTRUCTION]);
}

/// The number of every set, given what is under way where now. What got its number by the rule gets it by the rule again.
fn numbers(code: &[u8], old: &Pending, new: &Pending) -> Option<Vec<u8>> {
    let mut numbers = vec![old.sets.first()?.number];
    for (index, set) in old.sets.iter().enumerate().skip(1) {
        let written_too = !set.reads && old.sets[index - 1].instruction == set.instruction;
        let beside = written_too.then_some(index - 1);
        let earlier = |sets: &[u64]| -> Vec<usize> {
            bits(sets).take_while(|other| *other < index).chain(beside).collect()
        };
        let under_way: Vec<u64> = and(new.under_way.row(index), old.of_number(set.number)).collect();
        let shared = earlier(&under_way).into_iter().filter(|other| old.sets[*other].number == set.number);
        if let Some(number) = shared.map(|other| numbers[other]).min() {
            numbers.push(number);
            continue;
        }
        let order = preferred(if set.reads { 0 } else { operation(&code[set.instruction * INSTRUCTION..]) });
        let differs = |other: &usize| old.sets[*other].number != set.number;
        let conflicts = |pending: &Pending| -> Vec<usize> {
            earlier(pending.conflicts.row(index)).into_iter().filter(differs).collect()
        };
        let (before, now) = (conflicts(old), earlier(new.conflicts.row(index)));
        let taken = |number: u8| now.iter().any(|other| differs(other) && numbers[*other] == number);
        let was_taken = |number: u8| before.iter().any(|other| old.sets[*other].number == number);
        let by_rule = order.into_iter().find(|number| !was_taken(*number)) == Some(set.number);
        let number = if by_rule { order.into_iter().find(|n| !taken(*n)) } else { Some(set.number) };
        numbers.push(number.filter(|number| !taken(*number))?);
    }
    Some(numbers)
}

/// What each instruction sets and waits for with these numbers: for whatever it waited for that is under way still.
fn controls(old: &Pending, new: &Pending, numbers: &[u8]) -> Vec<Control> {
    let mut controls = new.controls.clone();
    for (set, number) in old.sets.iter().zip(numbers) {
        let control = &mut controls[set.instruction];
        *(if set.reads { &mut control.read } else { &mut control.written }) = *number;
    }
    // By instruction and number: the sets that it waited for.
    let mut ended: Vec<Vec<(u8, Vec<u64>)>> = vec![Vec::new(); controls.len()];
    old.each(|index, before, _| {
        let of = |number: u8| (number, and(before, old.of_number(number)).collect::<Vec<u64>>());
        ended[index] = old.controls[index].waited().map(of).collect();
    });
    new.each(|index, before, _| {
        let old_waits = old.controls[index].waits;
        if new.controls[index].waits == EVERYTHING {
            return;
        }
        // The stack pointer's load, where it is waited for only now.
        let mut waits = new.controls[index].waits & !old_waits;
        for (number, sets) in &ended[index] {
            if sets.iter().all(|word| *word == 0) {
                waits |= 1 << number;
            }
            let left: Vec<u64> = and(before, sets).collect();
            waits = bits(&left).map(|set| numbers[set]).filter(|n| *n < COUNT).fold(waits, |w, n| w | 1 << n);
        }
        controls[index].waits = waits;
    });
    for (index, set) in old.sets.iter().enumerate() {
        let meets = bits(new.under_way.row(index))
            .any(|other| numbers[other] == numbers[index] && old.sets[other].number != set.number);
        let control = &mut controls[set.instruction];
        if meets && control.waits != EVERYTHING {
            control.waits |= 1 << numbers[index];
        }
    }
    controls
}
