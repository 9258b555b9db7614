//! Code in which the size of the cluster comes through a general register.
//!
//! `S2UR UR, SR_CgaSize` and `UIMAD UR, UR, n, URZ` become `CS2R.32 R, SR_CgaSize`, `IMAD R, R, n, RZ` and `R2UR UR, R`. The uniform
//! register then has the same value: n times the size, which is one number for all threads. What has to be shown is that nobody
//! misses what was in R, or sees it change:
//!
//! 1. Nothing enters between these instructions, and the load of the constant follows that is all they are for.
//! 2. After them R is written as a whole, on the only way there is, before anything reads it. Otherwise it is saved before them and restored
//!    after them, in a register that nothing else uses.
//! 3. On no way is an access to R under way at the first of them: loads have written it, stores have read it, results of fixed latency are
//!    there, and no operand is kept from it.
//! 4. They take the cycles that each needs from the one before it.
//! 5. What relied on the scoreboard of `S2UR`, as an earlier one does, has its own and is waited for.
//!
//! Everything else is the same, waits for what it waited for, and takes as long.

use super::align::{Alignment, Step};
use super::dataflow;
use super::kept::{REACH, reads_at};
use super::quicker::Ways;
use super::saving::{CS2R, R2UR, RESTORE, SAVE, first_source, result};
use super::violation::{Problem, Violation};
use crate::flow::{Flow, Jumps, is_control, without_place};
use crate::idle::{LATEST, Speed, latency, longest};
use crate::instruction::{CountedWait, Instruction, SIZE};
use crate::operands::{Operands, exact};
use crate::operation::BAR;
use crate::registers::File;
use std::collections::HashSet;

/// The instructions without their registers and the number; their guard is always true.
const S2UR: u128 = 0x0000_8a00_0000_0000_0000_79c3;
const UIMAD: u128 = 0x0f8e_02ff_0000_0000_0000_78a4;
const IMAD: u128 = 0x078e_02ff_0000_0000_0000_7824;
/// The operations that have to do with where it is saved.
const RPCMOV: [u16; 2] = [0x152, 0x153];
const OPERATION_S2UR: u16 = 0x1c3;
const LDCU: u16 = 0x1ac;
/// The zero registers.
const ZERO: u8 = 255;
/// The bytes that registers are in, and the mark of the first one.
const SOURCES: [u32; 3] = [3, 4, 8];
const FIRST_KEPT: u128 = 1 << 122;
/// The bits that say that operands are kept.
const MARKS: u32 = 4;

/// Cycles from saving R to overwriting it, from the size to the product, from that to the uniform register, from there to the load of
/// a constant, and from restoring R to the load. Assemblers from 13.0 on have these.
const SAVED: u32 = 6;
const READ: u32 = 5;
const MULTIPLIED: u32 = 5;
const MOVED: u32 = 14;
const RESTORED: u32 = 12;
/// The result of `CS2R` is not there earlier: what is written before it has that time, too.
const OVERWRITTEN: u32 = 4;
/// Results of plain arithmetic, and of products of 64 bits, take no longer.
const PLAIN: u32 = 9;

/// Operations that write a register as a whole if they write it: moves, selection, integers, logic, shifts, single and half precision,
/// conversions of 32 bits, shuffles, loads of all kinds and special registers.
const WHOLE: [u16; 48] = [
    0x002, 0x003, 0x005, 0x007, 0x008, 0x009, 0x00a, 0x010, 0x011, 0x012, 0x013, 0x014, 0x016, 0x017, 0x019,
    0x01a, 0x01b, 0x020, 0x021, 0x023, 0x024, 0x025, 0x026, 0x027, 0x030, 0x031, 0x032, 0x035, 0x036, 0x03e,
    0x045, 0x046, 0x048, 0x100, 0x101, 0x105, 0x109, 0x119, 0x11c, 0x180, 0x181, 0x182, 0x183, 0x184, 0x189,
    0x028, 0x029, 0x02b,
];
/// Operations from here on take their time, and double precision, matrices and loads and stores of these on some machines.
const FIRST_VARIABLE: u16 = 0x100;
const OTHER_VARIABLE: [std::ops::RangeInclusive<u16>; 4] =
    [0x028..=0x02b, 0x037..=0x03f, 0x044..=0x044, 0x07a..=0x07f];
/// In a list of operations: that its results are written, not only its operands read.
const WRITTEN: u16 = 1 << 15;

/// How many states may be looked at on the ways back from one place.
const MAX_STATES: usize = 1 << 14;

/// An expansion in the steps of both codes.
struct Expansion {
    /// The first instruction of the old code, and its step; what is gone comes before what is new.
    old: usize,
    step: usize,
    /// The steps of what is new.
    first: usize,
    end: usize,
    register: u8,
    uniform: u8,
    is_saved: bool,
}

/// Whether `after`, in which the size of the cluster comes through general registers, may take the place of `before`.
pub fn check_expanded(before: &[u8], after: &[u8], jumps: &Jumps) -> Result<(), Violation> {
    let (alignment, expansions) = align(before, after)?;
    let ways = Ways::new(&alignment, jumps, Speed::Any);
    for expansion in &expansions {
        let refuse = |problem: Problem| Err(Violation { at: expansion.old, problem });
        let is_entered = jumps.iter().any(|(_, targets)| targets.contains(&(expansion.old + 1)));
        if is_entered || !is_in_order(&alignment, expansion) || !is_for_constant(&alignment, expansion) {
            return refuse(Problem::Code);
        }
        let is_free = if expansion.is_saved {
            !uses_saving(before)
        } else {
            is_overwritten(before, expansion.old + 2, expansion.register)
        };
        if !is_free || keeps_operand(&alignment, expansion) {
            return refuse(Problem::Code);
        }
        if !has_its_cycles(&alignment, expansion) || !is_there(&alignment, &ways, expansion) {
            return refuse(Problem::Schedule);
        }
        if !is_quiet(&alignment, &ways, expansion) || !is_waited_for(&alignment, expansion) {
            return refuse(Problem::MissingWait { producer: expansion.old });
        }
    }
    check_covered(&alignment, &ways)?;
    dataflow::check(&alignment, jumps)
}

/// The registers of an instruction, those of barriers exactly.
fn checked(one: Instruction) -> Option<Operands> {
    if one.operation() == BAR { exact::operands(one) } else { exact::checked(one) }
}

/// Both codes as one list of steps. What is not an expansion must be the same.
fn align<'a>(before: &'a [u8], after: &'a [u8]) -> Result<(Alignment<'a>, Vec<Expansion>), Violation> {
    const NOP: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;
    /// No instruction of the new code.
    const NOWHERE: usize = usize::MAX;
    let (old, new) = (before.len() / SIZE, after.len() / SIZE);
    let (mut i, mut j) = (0, 0);
    let (mut steps, mut entries, mut places) = (Vec::new(), Vec::new(), Vec::new());
    let mut expansions = Vec::new();
    while i < old || j < new {
        let refused = Err(Violation { at: i, problem: Problem::Code });
        let one = |code: &[u8], at: usize, count: usize| (at < count).then(|| Instruction::at(code, at));
        let (own, other) = (one(before, i, old), one(after, j, new));
        if let Some((length, register, uniform, is_saved)) = expansion_at(before, i, after, j) {
            let step = steps.len();
            for gone in [i, i + 1] {
                entries.push(steps.len() as u32);
                places.push(if gone == i { j } else { NOWHERE });
                steps.push(Step { before: Some(Instruction::at(before, gone)), after: None });
            }
            let first = steps.len();
            for new in j..j + length {
                steps.push(Step { before: None, after: Some(Instruction::at(after, new)) });
            }
            let end = steps.len();
            expansions.push(Expansion { old: i, step, first, end, register, uniform, is_saved });
            i += 2;
            j += length;
            continue;
        }
        match (own, other) {
            (Some(own), Some(other)) if is_same(own, other) => {}
            (None, Some(other)) if other.0 == NOP => {}
            (Some(own), None) if own.0 == NOP => {}
            _ => return refused,
        }
        if own.is_some() {
            entries.push(steps.len() as u32);
            places.push(j);
        }
        steps.push(Step { before: own, after: other });
        i += usize::from(own.is_some());
        j += usize::from(other.is_some());
    }
    places.push(j);
    let is_whole = before.len().is_multiple_of(SIZE) && after.len().is_multiple_of(SIZE);
    if !is_whole {
        return Err(Violation { at: old, problem: Problem::Code });
    }
    Ok((Alignment::of_steps(before, after, steps, entries, &places)?, expansions))
}

/// Whether an instruction is the same, waits for the same and takes as long, or two cycles in place of one. It may set a scoreboard that it
/// did not, if it is of those that do.
fn is_same(before: Instruction, after: Instruction) -> bool {
    let bits = |one: Instruction| without_place(one).without_schedule();
    let is_kept = |before: Option<u8>, after: Option<u8>, may_be_added: bool| {
        before.is_none() && may_be_added || before == after
    };
    let has_time = before.stall() == after.stall() || before.stall() == 1 && after.stall() == 2;
    bits(before) == bits(after)
        && before.wait_mask() == after.wait_mask()
        && before.holds() == after.holds()
        && has_time
        && is_kept(before.write_scoreboard(), after.write_scoreboard(), before.operation() == OPERATION_S2UR)
        && is_kept(before.read_scoreboard(), after.read_scoreboard(), is_variable(before))
}

/// If the old code asks for the size at one place and the new code does so through a general register at the other: how many instructions that
/// takes, the registers, and whether the general one is saved.
fn expansion_at(before: &[u8], i: usize, after: &[u8], j: usize) -> Option<(usize, u8, u8, bool)> {
    let bits = |code: &[u8], at: usize| Instruction::at(code, at).without_schedule();
    let (first, second) = (Instruction::at(before, i), Instruction::at(before, i + 1));
    let (uniform, number) = (first.byte(2), u128::from(second.field(32, 32)) << 32);
    let is_asked = bits(before, i) == S2UR | result(uniform)
        && bits(before, i + 1) == UIMAD | result(uniform) | first_source(uniform) | number;
    let is_saved = Instruction::at(after, j).operation() == RPCMOV[0];
    let start = j + usize::from(is_saved);
    let register = Instruction::at(after, start).byte(2);
    let mut expected = vec![
        CS2R | result(register),
        IMAD | result(register) | first_source(register) | number,
        R2UR | result(uniform) | first_source(register),
    ];
    if is_saved {
        expected.insert(0, SAVE | u128::from(register) << 32);
        expected.push(RESTORE | result(register));
    }
    let is_that = expected.iter().enumerate().all(|(index, one)| bits(after, j + index) == *one);
    let are_registers = register != ZERO && uniform != ZERO;
    (is_asked && is_that && are_registers).then_some((expected.len(), register, uniform, is_saved))
}

/// Whether what is new sets no scoreboard and takes a number of cycles.
fn is_in_order(alignment: &Alignment<'_>, expansion: &Expansion) -> bool {
    (expansion.first..expansion.end).all(|at| {
        let after = alignment.step(at).after;
        after.is_some_and(|one| one.set_mask() == 0 && one.has_usual_stall() && one.stall() != 0)
    })
}

/// Whether the load of a constant follows.
fn is_for_constant(alignment: &Alignment<'_>, expansion: &Expansion) -> bool {
    let next = (expansion.end < alignment.len()).then(|| alignment.step(expansion.end));
    let load = next.and_then(|next| next.before).filter(|load| load.operation() == LDCU);
    load.and_then(checked).is_some_and(|load| load.reads.contains(File::Uniform, expansion.uniform.into()))
}

/// Whether something else has to do with the register that others are saved in.
fn uses_saving(code: &[u8]) -> bool {
    (0..code.len() / SIZE).any(|at| RPCMOV.contains(&Instruction::at(code, at).operation()))
}

/// Whether a register is written as a whole from a place on before anything else becomes of it, on the only way from there.
fn is_overwritten(code: &[u8], from: usize, register: u8) -> bool {
    for at in from..code.len() / SIZE {
        let one = Instruction::at(code, at);
        // `WARPSYNC` that names no other place goes on.
        let goes_on =
            matches!(Flow::of(at, one), Flow::Next) || Flow::of(at, one) == Flow::Branch(at as i64 + 1);
        let Some(operands) = checked(one).filter(|_| goes_on && !one.is_call_or_return()) else {
            return false;
        };
        if operands.reads.contains(File::General, register.into()) {
            return false;
        }
        if operands.writes.contains(File::General, register.into()) {
            let is_whole = WHOLE.contains(&one.operation()) && one.byte(2) <= register;
            return is_whole && one.is_unconditional();
        }
        // A thread may end here, and others not.
        if is_control(one) && !one.is_unconditional() {
            return false;
        }
    }
    false
}

/// Whether an instruction before may keep the register for a later one, which would not see it change.
fn keeps_operand(alignment: &Alignment<'_>, expansion: &Expansion) -> bool {
    /// An operand is so many registers at most.
    const MAX_OPERAND: u8 = 4;
    let earlier: Vec<Instruction> =
        (0..expansion.step).rev().filter_map(|at| alignment.step(at).after).take(REACH).collect();
    earlier.iter().enumerate().any(|(index, one)| {
        let is_taken = |slot: u32| {
            let mut later = earlier[..index].iter();
            later.any(|later| later.is_unconditional() && reads_at(*later, slot, expansion.register))
        };
        let has = |byte: u32| {
            let after = expansion.register.checked_sub(one.byte(byte));
            after.is_some_and(|after| after < MAX_OPERAND)
        };
        // The first operand is in one place, the others are in two.
        let is_kept = |slot: u32| {
            let bytes = if slot == 0 { &SOURCES[..1] } else { &SOURCES[1..] };
            one.0 & FIRST_KEPT << slot != 0 && bytes.iter().any(|byte| has(*byte))
        };
        (0..MARKS).any(|slot| is_kept(slot) && !is_taken(slot))
    })
}

fn cycles(alignment: &Alignment<'_>, at: usize) -> u32 {
    let cycles = |one: Instruction| if one.has_usual_stall() { u32::from(one.stall().max(1)) } else { 1 };
    alignment.step(at).after.map_or(0, cycles)
}

/// Whether each of the instructions comes late enough after the one before.
fn has_its_cycles(alignment: &Alignment<'_>, expansion: &Expansion) -> bool {
    let times: Vec<u32> = (expansion.first..expansion.end).map(|at| cycles(alignment, at)).collect();
    // What came before has no less time.
    let gone = (expansion.step..expansion.first).filter_map(|at| alignment.step(at).before);
    let old: u32 = gone.map(|one| u32::from(one.stall().max(1))).sum();
    if times.iter().sum::<u32>() < old {
        return false;
    }
    match times[..] {
        [read, multiplied, moved] => read >= READ && multiplied >= MULTIPLIED && moved >= MOVED,
        [saved, read, multiplied, moved, restored] => {
            saved >= SAVED
                && read >= READ
                && multiplied >= MULTIPLIED
                && restored >= RESTORED
                && moved + restored >= MOVED
        }
        _ => false,
    }
}

/// Whether results of fixed latency are in the register when it is saved, and come there before the size does.
fn is_there(alignment: &Alignment<'_>, ways: &Ways<'_>, expansion: &Expansion) -> bool {
    let Some(first) = alignment.step(expansion.first).after else { return false };
    let needed = |producer: Instruction| {
        if expansion.is_saved {
            latency(producer, first, Speed::Any)
        } else {
            longest(producer).saturating_sub(OVERWRITTEN)
        }
    };
    // What restores the register is in time, as was looked at there, and what goes elsewhere has no results.
    let writes = |one: &Instruction| match checked(*one) {
        Some(operands) => {
            one.operation() != RPCMOV[1] && operands.writes.contains(File::General, expansion.register.into())
        }
        None => Flow::of(0, *one) == Flow::Next,
    };
    // What comes from elsewhere is plain arithmetic, if anything.
    let is_slow = |one: Instruction| one.write_scoreboard().is_none() && longest(one) > PLAIN && writes(&one);
    let has_slow = || (0..alignment.len()).filter_map(|at| alignment.step(at).after).any(is_slow);
    let mut left = vec![(expansion.step, 0)];
    let mut states = 0;
    while let Some((at, distance)) = left.pop() {
        states += 1;
        if states > MAX_STATES {
            return false;
        }
        let before: Vec<usize> = if let Some(before) = ways.before(at) {
            before.collect()
        } else {
            let needed = if expansion.is_saved { PLAIN } else { PLAIN - OVERWRITTEN };
            // Where the code begins, and after a call, all is there. Branches may go there too.
            let last = at.checked_sub(1).and_then(|last| alignment.step(last).before);
            let is_over = last.is_none_or(Instruction::is_call);
            if !is_over && (distance < needed || has_slow()) {
                return false;
            }
            let Some(branches) = ways.branches_to(at) else { return false };
            branches.collect()
        };
        for from in before {
            let distance = distance + cycles(alignment, from);
            let producer = alignment.step(from).after.filter(writes);
            let is_early = |one: Instruction| one.write_scoreboard().is_none() && distance < needed(one);
            if producer.is_some_and(is_early) {
                return false;
            }
            if distance < LATEST {
                left.push((from, distance));
            }
        }
    }
    true
}

/// Whether an instruction may read its operands, or write its results, at no fixed time.
fn is_variable(one: Instruction) -> bool {
    let operation = one.operation();
    let is_late = operation >= FIRST_VARIABLE && !is_control(one);
    is_late || OTHER_VARIABLE.iter().any(|range| range.contains(&operation)) || one.set_mask() != 0
}

/// Whether no access to the register is under way when it is overwritten, on any way that leads there.
fn is_quiet(alignment: &Alignment<'_>, ways: &Ways<'_>, expansion: &Expansion) -> bool {
    let register = u16::from(expansion.register);
    let Some(first) = alignment.step(expansion.first).after else { return false };
    let mut seen = HashSet::new();
    // From there on: the scoreboards that are waited for, and the operations for which an instruction is waited for.
    let mut left: Vec<(usize, u8, Vec<u16>)> = vec![(expansion.step, first.wait_mask(), Vec::new())];
    while let Some((at, waited, over)) = left.pop() {
        if seen.len() > MAX_STATES {
            return false;
        }
        let before: Vec<usize> = if let Some(before) = ways.before(at) {
            before.collect()
        } else {
            // Where the code begins all is over, and of what a call has begun. What comes before the call may be under way, if the call does
            // not wait for it.
            let last = at.checked_sub(1);
            if last.and_then(|last| alignment.step(last).before).is_some_and(|last| !last.is_call()) {
                return false;
            }
            let Some(branches) = ways.branches_to(at) else { return false };
            last.into_iter().chain(branches).collect()
        };
        for from in before {
            let (mut waited, mut over) = (waited, over.clone());
            if let Some(one) = alignment.step(from).after {
                let is_over = |number: Option<u8>| number.is_some_and(|number| waited >> number & 1 != 0);
                let [written, read] = [one.write_scoreboard(), one.read_scoreboard()].map(is_over);
                if is_variable(one) {
                    let Some(operands) = checked(one) else { return false };
                    let later = [one.operation(), one.operation() | WRITTEN].map(|one| over.contains(&one));
                    let is_read = operands.reads.contains(File::General, register);
                    let is_written = operands.writes.contains(File::General, register);
                    // A unit finishes operations of one kind in order. An instruction with a scoreboard is over when that is waited for.
                    let has_written = written || one.write_scoreboard().is_none() && later[1];
                    let has_read =
                        read || has_written || one.read_scoreboard().is_none() && later.contains(&true);
                    if is_written && !has_written || is_read && !has_read {
                        return false;
                    }
                    for (is_over, mark) in [(written, WRITTEN), (read, 0)] {
                        if is_over && one.is_unconditional() && !over.contains(&(one.operation() | mark)) {
                            over.push(one.operation() | mark);
                            over.sort_unstable();
                        }
                    }
                }
                waited |= one.wait_mask() | one.counted_wait().map_or(0, CountedWait::ended);
            }
            if seen.insert((from, waited, over.clone())) {
                left.push((from, waited, over));
            }
        }
    }
    true
}

/// Whether what is new waits for what the read of the size has waited for, and not too soon.
fn is_waited_for(alignment: &Alignment<'_>, expansion: &Expansion) -> bool {
    let old = alignment.step(expansion.step).before;
    let Some((old, new)) = old.zip(alignment.step(expansion.first).after) else { return false };
    let last = (0..expansion.step).rev().find_map(|at| alignment.step(at).after);
    let is_too_soon = |last: Instruction| last.stall() == 1 && last.set_mask() & new.wait_mask() != 0;
    old.wait_mask() & !new.wait_mask() == 0 && !last.is_some_and(is_too_soon)
}

/// What is read from special registers without a scoreboard is over when a later one is. If that is gone, it has its own, and is waited for
/// where that was.
fn check_covered(alignment: &Alignment<'_>, ways: &Ways<'_>) -> Result<(), Violation> {
    let has_gone = alignment.steps().any(|step| step.after.is_none());
    for (at, step) in alignment.steps().enumerate() {
        let read = step.before.zip(step.after).filter(|(before, _)| before.operation() == OPERATION_S2UR);
        let Some((before, after)) = read else { continue };
        if before.write_scoreboard().is_some() {
            continue;
        }
        let is_read = |at: &usize| alignment.step(*at).either().operation() == OPERATION_S2UR;
        let Some(next) = (at + 1..alignment.len()).find(is_read) else { continue };
        // Across branches it is not known whose scoreboard covers it.
        let is_plain_way = |at: usize| {
            let flow = alignment.step(at).before.map_or(Flow::Next, |one| Flow::of(0, one));
            flow == Flow::Next && !ways.is_entered(at + 1)
        };
        if has_gone && !(at..next).all(is_plain_way) {
            return Err(Violation { at, problem: Problem::Scoreboard });
        }
        let next = alignment.step(next);
        let is_kept = next.after.is_some();
        // One that is gone has its wait in the first of what is new.
        let new = (at + 1..alignment.len()).find(|at| alignment.step(*at).before.is_none());
        let waits = new.and_then(|new| alignment.step(new).after).map_or(0, Instruction::wait_mask);
        let is_waited_for = after.write_scoreboard().is_some_and(|number| waits >> number & 1 != 0);
        let is_added = after.write_scoreboard().is_some();
        if (is_added || !is_kept) && !is_waited_for {
            return Err(Violation { at, problem: Problem::Scoreboard });
        }
    }
    Ok(())
}
