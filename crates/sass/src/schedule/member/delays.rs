//! Delays: instructions that do nothing and take the cycles that do not fit into the stall of another one.
//!
//! A delay follows the instruction that needs it, or comes before a branch. Most are `NOP`s, which let other warps go on. In
//! loops around products of matrices no other warp goes on: there stalls are shorter, and a delay is an addition of the uniform
//! unit that is never executed. Code of sm_100 has delays of its own, which are no longer there when it is scheduled anew.

use crate::flow::Flow;
use crate::instruction::{HELD_DELAY, Instruction, SIZE};
use crate::operation;
use crate::schedule::STALL_AT;
use crate::schedule::instructions::Line;
use std::ops::Range;

/// The longest stall of an instruction that lets other warps go on, and of one that does not.
const LONGEST: i64 = 15;
const LONGEST_HELD: i64 = 11;
const STALL: u128 = 15 << STALL_AT;
const HOLD: u128 = 1 << 109;
/// `NOP`, which sets nothing and waits for nothing.
const NOP: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;
/// A guard that is never true.
const NEVER: u8 = 15;
/// Cycles after which an instruction of fixed latency lets other warps go on, where any may.
const SHORT: u8 = 3;

/// The instructions of a block that are scheduled: all but delays and loads that are never executed.
pub struct Scheduled {
    pub lines: Vec<Line>,
    /// Where each is in the code, and the delays that follow it.
    pub places: Vec<usize>,
    pub delays: Vec<Vec<usize>>,
    /// The cycles that each takes, with the delays that are for it.
    pub given: Vec<i64>,
    /// The delays for nothing that the block begins with.
    pub first_gone: Vec<usize>,
    pub held: Held,
}

/// Where no other warp goes on although an instruction stalls for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    Nowhere,
    /// As the code has it.
    AsBefore,
    /// After stalls that need delays.
    WithDelays,
}

impl Held {
    /// Of a block of code that an assembler has scheduled up to 13.0.
    fn of(lines: &[Line]) -> Self {
        if is_held(lines) { Self::AsBefore } else { Self::Nowhere }
    }

    /// From 13.1 on: of a block with products of matrices.
    pub fn around_matrices(lines: &[Line]) -> Self {
        if lines.iter().any(|line| super::pipes::is_matrix(line.bits)) {
            Self::WithDelays
        } else {
            Self::Nowhere
        }
    }
}

/// Whether an instruction does nothing at all.
pub fn is_delay(bits: Instruction) -> bool {
    let plain = bits.0 & !(STALL | HOLD);
    plain == NOP & !HOLD || bits.is_held_delay()
}

/// `@!PT LDS RZ, [RZ]`: precautions, which are put into scheduled code.
fn is_precaution(bits: Instruction) -> bool {
    bits.operation() == operation::LDS && bits.guard() == NEVER
}

fn is_long(bits: Instruction) -> bool {
    i64::from(bits.stall()) == if bits.holds() { LONGEST_HELD } else { LONGEST }
}

impl Scheduled {
    /// `delays` says which instructions of the code are delays.
    pub fn new(lines: &[Line], range: Range<usize>, delays: &[usize]) -> Self {
        Self::without(lines, range, delays, &[])
    }

    /// The same where those at `gone`, in order, are delays wherever they are.
    pub fn without(lines: &[Line], range: Range<usize>, delays: &[usize], gone: &[usize]) -> Self {
        let is_delay = |at: usize| delays.binary_search(&at).is_ok() && is_delay(lines[at].bits);
        let mut own = Self {
            lines: Vec::with_capacity(range.len()),
            places: Vec::with_capacity(range.len()),
            delays: Vec::with_capacity(range.len()),
            given: Vec::with_capacity(range.len()),
            first_gone: Vec::new(),
            held: Held::of(&lines[range.clone()]),
        };
        let mut before = 0;
        for at in range.clone() {
            let bits = lines[at].bits;
            if is_precaution(bits) {
                continue;
            }
            let stall = i64::from(bits.stall()).max(1);
            let is_first = own.places.is_empty();
            // Assemblers before 13.0 have the short one of several delays first.
            let is_further =
                own.delays.last().is_some_and(|delays| delays.last() == Some(&(at.wrapping_sub(1))));
            let is_gone = gone.binary_search(&at).is_ok();
            if is_gone && is_first {
                own.first_gone.push(at);
                continue;
            }
            if is_delay(at) && !is_first && (is_long(lines[at - 1].bits) || is_further || is_gone) {
                if let (Some(delays), Some(given)) = (own.delays.last_mut(), own.given.last_mut()) {
                    delays.push(at);
                    *given += stall;
                }
                continue;
            }
            if is_delay(at)
                && is_before_branch(lines, at, range.end)
                && let Some(delays) = own.delays.last_mut()
            {
                delays.push(at);
                before += stall;
                continue;
            }
            own.lines.push(lines[at]);
            own.places.push(at);
            own.given.push(before + stall);
            own.delays.push(Vec::new());
        }
        own
    }

    /// What takes the place of each instruction and the delays after it. `None` if a branch that is alone would need some.
    pub fn expanded(&self, new: &[(Instruction, i64)]) -> Option<Vec<Vec<[u8; SIZE]>>> {
        let mut all: Vec<Vec<[u8; SIZE]>> = Vec::with_capacity(new.len());
        for (index, (bits, stall)) in new.iter().enumerate() {
            let (own, mut delays) = self.with_delays(*bits, *stall);
            let is_branch = Flow::of(self.places[index], *bits) != Flow::Next;
            if is_branch && !delays.is_empty() {
                // What comes after a branch is on one of the ways only.
                all.last_mut()?.append(&mut delays);
            }
            all.push(vec![own]);
            all[index].append(&mut delays);
        }
        Some(all)
    }

    fn with_delays(&self, bits: Instruction, stall: i64) -> ([u8; SIZE], Vec<[u8; SIZE]>) {
        let is_held = self.held != Held::Nowhere;
        let (longest, delay) = if is_held { (LONGEST_HELD, HELD_DELAY | HOLD) } else { (LONGEST, NOP) };
        let with = |bits: u128, stall: i64| bits & !STALL | (stall as u128) << STALL_AT;
        let mut own = with(bits.0, stall.min(longest));
        let mut delays = Vec::new();
        let mut left = stall - longest;
        while left > 0 {
            delays.push(with(delay, left.min(longest)));
            left -= longest;
        }
        // Where another warp goes on all the same, that is after the delays.
        if let Some(last) = delays.last_mut().filter(|_| is_held && !bits.holds()) {
            own |= HOLD;
            *last &= !HOLD;
        }
        (own.to_le_bytes(), delays.into_iter().map(u128::to_le_bytes).collect())
    }
}

/// Whether a delay is followed by nothing but delays and a branch that takes the longest time.
fn is_before_branch(lines: &[Line], at: usize, end: usize) -> bool {
    let last = lines[end - 1].bits;
    let is_branch = Flow::of(end - 1, last) != Flow::Next;
    is_branch && is_long(last) && lines[at..end - 1].iter().all(|line| is_delay(line.bits))
}

/// Whether code is within a loop in which no other warp goes on, as can be seen where one would.
fn is_held(lines: &[Line]) -> bool {
    let is_plain = |bits: Instruction| bits.write_scoreboard().is_none() && bits.read_scoreboard().is_none();
    lines.iter().any(|line| {
        let is_fixed = super::pipes::is_plain_arithmetic(line.bits);
        is_fixed && is_plain(line.bits) && line.bits.stall() >= SHORT && line.bits.holds()
    })
}
