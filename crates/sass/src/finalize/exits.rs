//! What a debugger's link has before every exit.
//!
//! Code that was compiled for a debugger waits before it exits until its memory accesses are done and their errors are
//! known. With `-g`, and where one input has such code, nvlink has all code do so, functions that kernels call too, and
//! whether or not the output is relocatable. (`fences` takes some of it back.)

use super::function::{Function, Step};
use super::moves::Change;
use super::stack_pointer::wait_for_stack_pointer;
use crate::flow::is_control;
use crate::instruction::{Instruction, SCOREBOARDS, SIZE};
use crate::schedule::Control;
use crate::schedule::Family;
use solder_cubin::mercury::paces;
use std::borrow::Cow;

/// `MEMBAR.SC.VC`, `ERRBAR`, `CGAERRBAR`, whatever their condition.
const BARRIERS: [[u8; SIZE]; 3] = [
    [0x92, 0x09, 0, 0, 0, 0, 0, 0, 0x00, 0x50, 0, 0, 0, 0xc0, 0x0f, 0x00],
    [0xab, 0x09, 0, 0, 0, 0, 0, 0, 0x00, 0x00, 0, 0, 0, 0xc0, 0x0f, 0x00],
    [0xab, 0x05, 0, 0, 0, 0, 0, 0, 0x00, 0x00, 0, 0, 0, 0xec, 0x0f, 0x00],
];
/// The exit of Mercury that stands for them and the exit, and where it has its condition and what else it depends on.
const MERCURY: [u8; SIZE] = [0x01, 0x11, 0x00, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const MERCURY_CONDITIONS: [usize; 2] = [4, 11];

const EXIT: u16 = 0x14d;
/// Where an instruction has its condition.
const GUARD: u32 = 12;

/// The function with barriers before its exits; `None` if it has them all.
pub fn step(function: &Function<'_, '_>, family: Family) -> Option<Step> {
    let exits = exits(&function.code, &function.capsule).filter(|exits| !exits.is_empty())?;
    let waiting = family.waits_at_ends.then(|| wait_for_stack_pointer(&function.code, exits[0])).flatten();
    let code = waiting.map_or(Cow::Borrowed(&*function.code), Cow::Owned);
    let changes = exits.into_iter().flat_map(|at| Exit { code: &code, at }.with_barriers()).collect();
    Step::with_changes(&code, &function.capsule, changes, |_| ())
}

/// The exits that are nothing but exits in Mercury's view too.
fn exits(code: &[u8], capsule: &[u8]) -> Option<Vec<usize>> {
    let is_exit = |at: usize| Instruction::at(code, at).operation() == EXIT;
    let length = code.len() / SIZE;
    if !(0..length).any(is_exit) {
        return None;
    }
    let mut exits = Vec::new();
    let mut at = 0;
    for step in paces(capsule, length).ok()? {
        if at > length {
            return None;
        }
        if step.is_derived() && is_exit(at) {
            exits.push(at);
        }
        at = at.checked_add(step.count)?;
    }
    Some(exits)
}

/// The predicate that always holds.
const ALWAYS: u8 = 7;
/// Instructions that set predicates, and where they say which: comparisons, `IADD3` and `PLOP3` two of them, `VOTE`,
/// `LOP3` and `SHFL` one.
const SET_PREDICATES: [(&[u16], &[u32]); 2] =
    [(&[0x00b, 0x00c, 0x010, 0x01c, 0x02a, 0x034], &[81, 84]), (&[0x006, 0x012, 0x189], &[81])];
/// Where an exit has the predicate that it depends on besides its condition.
const SECOND_PREDICATE: u32 = 87;

/// The cycles from the setting of a predicate to where the flow of control depends on it.
const LATENCY: u8 = 13;
/// The cycles that the first two barriers take, the last one and an exit.
const FIRST_BARRIERS: u8 = 1;
const LAST_BARRIER: u8 = 6;
const EXIT_CYCLES: u8 = 5;
/// What sets a scoreboard can be waited for after so many.
const SCOREBOARD_SET: u8 = 2;

/// Where an instruction says how many cycles it takes, and whether another warp may go on.
const CYCLES: u32 = 64 + 41;
const YIELD: u128 = 1 << (64 + 45);
/// Waits of so many cycles are no reason to let another warp go on.
const SHORT: u8 = 3;

/// What every instruction waits for, and how many cycles it takes, in code without optimisation (`ptxas -O0`): up to 13.2, and from 13.3
/// on.
const UNSCHEDULED: [(u8, u8); 2] = [(3, 15), (0, 0)];

/// The same of an instruction.
fn pace(instruction: Instruction) -> (u8, u8) {
    (instruction.wait_mask(), instruction.stall())
}

/// A predicate and whether it is negated, as Mercury writes it.
fn in_mercury(condition: u8) -> u8 {
    const MERCURY_ALWAYS: u8 = 0x1f;
    let predicate = condition & ALWAYS;
    (if predicate == ALWAYS { MERCURY_ALWAYS } else { predicate }) << 3 | condition >> 3
}

fn with_cycles(instruction: Instruction, cycles: u8, yields: bool) -> Instruction {
    let bits = instruction.0 & !(15 << CYCLES | YIELD);
    Instruction(bits | u128::from(cycles) << CYCLES | if yields { YIELD } else { 0 })
}

fn with_waits(instruction: Instruction, waits: u8) -> Instruction {
    let mut bytes = instruction.0.to_le_bytes();
    Control { waits, ..Control::of(instruction) }.put(&mut bytes);
    Instruction(u128::from_le_bytes(bytes))
}

/// An exit in the code of a function.
struct Exit<'a> {
    code: &'a [u8],
    at: usize,
}

impl Exit<'_> {
    fn instruction(&self, at: usize) -> Instruction {
        Instruction::at(self.code, at)
    }

    /// The barriers and the exit, and the instruction before if it takes fewer cycles then.
    fn with_barriers(&self) -> Vec<Change> {
        let mut exit = self.instruction(self.at);
        let condition = exit.guard();
        let [fence, mut report, mut last] = BARRIERS
            .map(|barrier| Instruction(u128::from_le_bytes(barrier) | u128::from(condition) << GUARD));
        // What the condition comes from is waited for by the first one that a scheduler has seen.
        let source = self.source(condition & ALWAYS);
        let number = source.map(|source| Control::of(self.instruction(source)).written);
        let waits = exit.wait_mask() & number.map_or(0, |number| 1u8.wrapping_shl(number.into()));
        report = with_waits(report, report.wait_mask() | waits);
        exit = with_waits(exit, exit.wait_mask() & !waits);
        let mut before = None;
        // In other code the first instruction waits for nothing and takes a cycle at least.
        let own = pace(self.instruction(self.at));
        if UNSCHEDULED.contains(&own) && pace(self.instruction(0)) == own {
            exit = self.instruction(self.at);
            let (waits, cycles) = own;
            [report, last] = [report, last].map(|barrier| with_waits(barrier, waits));
            last = with_cycles(last, cycles, false);
        } else {
            let barrier;
            (before, barrier) = self.cycles_before(source, exit.wait_mask());
            last = with_cycles(last, barrier, true);
            let needed = exit.stall().saturating_sub(FIRST_BARRIERS + barrier).max(EXIT_CYCLES);
            if needed < exit.stall() {
                exit = with_cycles(exit, needed, true);
            }
        }
        let mut mercury = MERCURY;
        let second = exit.field(SECOND_PREDICATE, 4) as u8;
        for (at, condition) in MERCURY_CONDITIONS.into_iter().zip([condition, second]) {
            mercury[at] = in_mercury(condition);
        }
        let by = [fence, report, last, exit].map(|instruction| instruction.0.to_le_bytes()).to_vec();
        let exit = Change { mercury: Some(mercury), ..Change::replaced(self.at, by) };
        before.into_iter().chain([exit]).collect()
    }

    /// The instruction in this block that a predicate comes from.
    fn source(&self, predicate: u8) -> Option<usize> {
        let block = (0..self.at).rev().take_while(|at| !is_control(self.instruction(*at)));
        block.filter(|_| predicate != ALWAYS).find(|at| {
            let instruction = self.instruction(*at);
            let fields = SET_PREDICATES.iter().find(|(of, _)| of.contains(&instruction.operation()));
            let sets = |at: &u32| instruction.field(*at, 3) as u8 == predicate;
            fields.is_some_and(|(_, fields)| fields.iter().any(sets))
        })
    }

    /// The cycles between an instruction and the one before the exit.
    fn cycles_since(&self, source: usize) -> u8 {
        (source..self.at - 1).fold(0, |sum, at| self.instruction(at).stall().saturating_add(sum))
    }

    /// The instruction before the exit, if it need not take as many cycles with barriers after it, and the cycles of the
    /// last one of these. The condition has to be there for the first one, what else the exit depends on for itself.
    fn cycles_before(&self, source: Option<usize>, waits: u8) -> (Option<Change>, u8) {
        let Some(before) = self.at.checked_sub(1) else { return (None, LAST_BARRIER) };
        let instruction = self.instruction(before);
        let old = instruction.stall();
        let control = |at: usize| Control::of(self.instruction(at));
        let fixed = |source: &usize| control(*source).written >= SCOREBOARDS;
        let needed = |source: usize| LATENCY.saturating_sub(self.cycles_since(source));
        let for_condition = source.filter(fixed).map_or(1, needed).max(1);
        let second = self.instruction(self.at).field(SECOND_PREDICATE, 3) as u8;
        let second = self.source(second).filter(fixed);
        let is_scoreboard = control(before).is_waited_by(waits) && old == SCOREBOARD_SET;
        let is_second = second.is_some_and(|second| needed(second) == old);
        let is_free = (is_second || is_scoreboard) && !is_control(instruction);
        let new = if is_free { for_condition.min(old) } else { old };
        let barrier = second.map_or(0, |second| {
            LATENCY
                .saturating_sub(FIRST_BARRIERS)
                .saturating_sub(self.cycles_since(second).saturating_add(new))
        });
        let changed = with_cycles(instruction, new, new < SHORT);
        let change = Change::replaced(before, vec![changed.0.to_le_bytes()]);
        ((new != old).then_some(change), barrier.max(LAST_BARRIER))
    }
}
