//! Code of sm_100 for sm_103.
//!
//! sm_103 has the instructions of sm_100, but does double precision and conversions of 64 bits slowly: one such instruction in
//! 64 cycles, and not in a fixed time; and exponentials twice as fast. When nvlink links code of sm_100 for it, the order of
//! instructions stays, and stalls, scoreboards and waits are chosen anew for such blocks of code. Stalls that do not
//! fit into an instruction become `NOP`s after it.
//!
//! 1. [`doubles`]: instructions of double precision set scoreboards.
//! 2. [`stalls`]: how many cycles each instruction takes.
//! 3. [`marks`]: flags that depend on them.
//!
//! The scoreboards get their numbers when the code is in its new place ([`number`]).

mod doubles;
mod latency;
mod marks;
mod pipes;
mod stalls;

use super::blocks::Jumps;
use super::instructions::operation::NOP as NOP_OPERATION;
use super::{Code, Control, Family, NONE, put_all};
use crate::instruction::{Instruction, SIZE};
use crate::is_fit_for_103;
use doubles::{Consumer, doubles};
use marks::Marks;
use stalls::Stalls;

/// The longest stall of an instruction.
const LONGEST: i64 = 15;
const STALL_AT: u32 = 105;
const HOLD: u128 = 1 << 109;
/// `NOP`, which sets nothing and waits for nothing.
const NOP: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;
/// How often instructions may be looked at.
const BUDGET: usize = 1 << 24;

/// An instruction that gives way to others: itself, changed, and delays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delayed {
    pub at: usize,
    pub by: Vec<[u8; SIZE]>,
}

/// Whether code of sm_100 has instructions that sm_103 does slowly.
pub fn has_slow_code(code: &[u8]) -> bool {
    instructions(code)
        .any(|bits| pipes::is_double(bits) || pipes::is_conversion(bits) || pipes::is_unknown(bits))
}

/// Whether it has instructions of double precision, which need scoreboards on sm_103.
fn has_doubles(code: &[u8]) -> bool {
    instructions(code).any(pipes::is_double)
}

fn instructions(code: &[u8]) -> impl Iterator<Item = Instruction> + '_ {
    (0..code.len() / SIZE).map(|at| Instruction::at(code, at))
}

/// What changes in the code of a function of sm_100. The scoreboards of double precision have no numbers yet. `None` if
/// nothing changes, or if the code is not understood.
pub fn delayed(code: &[u8], jumps: &Jumps) -> Option<Vec<Delayed>> {
    if !instructions(code).any(pipes::differs) || instructions(code).any(pipes::is_unknown) {
        return None;
    }
    let Code { lines, blocks, .. } = Code::new(code, jumps, Family::Of100)?;
    let mut budget = BUDGET;
    let mut changed = Vec::new();
    for block in
        blocks.iter().filter(|block| lines[block.range.clone()].iter().any(|line| pipes::differs(line.bits)))
    {
        let range = block.range.clone();
        let doubles = doubles(&lines, range.clone(), &mut budget)?;
        let stalls = Stalls::new(&lines, range.clone(), &doubles).on_103();
        let mut new: Vec<Instruction> = lines[range.clone()].iter().map(|line| line.bits).collect();
        for double in &doubles {
            let number = |consumer: Consumer| if consumer == Consumer::Nothing { NONE } else { 0 };
            let control = Control {
                written: number(double.results),
                read: number(double.operands),
                ..Control::of(lines[double.at].bits)
            };
            let place = &mut new[double.at - range.start];
            let mut bytes = place.0.to_le_bytes();
            control.put(&mut bytes);
            *place = Instruction(u128::from_le_bytes(bytes));
        }
        let marked = Marks { lines: &lines, range: range.clone(), new: &new, stalls: &stalls }.put();
        for at in range.clone() {
            let index = at - range.start;
            // What takes no cycles does not concern the scheduler.
            let is_scheduled = lines[at].bits.stall() != 0;
            let (bits, holds) = marked[index];
            let by = with_delays(bits, if is_scheduled { stalls[index] } else { 0 }, holds);
            if by.len() > 1 || by[0] != lines[at].bits.0.to_le_bytes() {
                changed.push(Delayed { at, by });
            }
        }
    }
    Some(changed)
}

/// An instruction that takes so many cycles, and the delays that it needs for that.
fn with_delays(bits: Instruction, mut stall: i64, holds: bool) -> Vec<[u8; SIZE]> {
    let mut by = Vec::new();
    let mut next = bits.0 & !HOLD | if holds { HOLD } else { 0 };
    loop {
        let cycles = stall.min(LONGEST);
        let bits = next & !(15 << STALL_AT) | (cycles as u128) << STALL_AT;
        by.push(bits.to_le_bytes());
        stall -= cycles;
        next = NOP;
        if stall <= 0 {
            return by;
        }
    }
}

/// Gives numbers to the scoreboards of code for sm_103 that was made from code of sm_100. Whether that could be done so that
/// nothing comes too early: everything waits for what it waited for, and for double precision.
pub fn number(old: &[u8], old_jumps: &Jumps, code: &mut [u8], jumps: &Jumps) -> bool {
    let is_known = Code::new(old, old_jumps, Family::Of100)
        .is_some_and(|old| old.controls(false).is_some_and(|found| old.has(&found)));
    // Without double precision there are the same scoreboards as before, and they may stay as they are.
    if is_known || has_doubles(old) {
        let found = Code::new(code, jumps, Family::Of103).and_then(|code| code.controls(false));
        let Some(found) = found else { return false };
        put_all(code, &found);
        delay_waits(code);
    }
    is_fit_for_103(code) && keeps_waits(old, old_jumps, code)
}

/// Whether the new code waits for all that the old code waits for, as the checker has it: the new scoreboards and waits, but for
/// those of double precision, would do in the old code.
fn keeps_waits(old: &[u8], jumps: &Jumps, code: &[u8]) -> bool {
    let mut restored = old.to_vec();
    let (places, _) = restored.as_chunks_mut::<SIZE>();
    let end =
        places.iter().rposition(|bits| Instruction(u128::from_le_bytes(*bits)).operation() != NOP_OPERATION);
    let mut at = 0;
    let Some(end) = end else { return false };
    for (index, place) in places.iter_mut().enumerate().take(end + 1) {
        let before = Instruction::at(old, index);
        let after = Instruction::at(code, at);
        if before.operation() != after.operation() {
            return false;
        }
        let none_if = |is_none: bool, number: u8| if is_none { NONE } else { number };
        let control = Control::of(after);
        let control = Control {
            written: none_if(before.write_scoreboard().is_none(), control.written),
            read: none_if(before.read_scoreboard().is_none(), control.read),
            waits: control.waits,
        };
        control.put(place);
        if before.stall() == 1 && after.stall() > 1 {
            let bits = u128::from_le_bytes(*place) & !(15 << STALL_AT) | 2 << STALL_AT;
            *place = bits.to_le_bytes();
        }
        at += 1;
        // Delays that are new.
        let is_delay = |at: usize| Instruction::at(code, at).operation() == NOP_OPERATION;
        let is_delayed = Instruction::at(old, index + 1).operation() == NOP_OPERATION;
        while index < end && !is_delayed && is_delay(at) {
            at += 1;
        }
    }
    crate::check(old, &restored, jumps).is_ok()
}

/// Nothing waits for a scoreboard one cycle after it was set.
fn delay_waits(code: &mut [u8]) {
    let (instructions, _) = code.as_chunks_mut::<SIZE>();
    for at in 1..instructions.len() {
        let [first, second] = [at - 1, at].map(|at| Instruction(u128::from_le_bytes(instructions[at])));
        let sets = [first.write_scoreboard(), first.read_scoreboard()].into_iter().flatten();
        let mask = sets.fold(0, |mask, number| mask | 1u8 << number);
        if first.stall() == 1 && mask & second.wait_mask() != 0 {
            let bits = first.0 & !(15 << STALL_AT) | 2 << STALL_AT;
            instructions[at - 1] = bits.to_le_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{delayed, number};
    use crate::instruction::{Instruction, SIZE};
    use crate::is_fit_for_103;

    fn with(bits: u128, stall: u128) -> u128 {
        bits | stall << 105 | 0x3f << 110
    }

    /// `DADD R8, R4, R8`, `DADD R4, R8, R8`, `EXIT` as sm_100 has them, and what comes after.
    fn code() -> Vec<u8> {
        let first = with(0x0800_0000_0008_0408_7229, 8);
        let second = with(0x0800_0000_0008_0804_7229, 11);
        let exit = with(0x0380_0000_0000_0000_0000_794d, 5) | 1 << 109;
        [first, second, exit].iter().flat_map(|bits| bits.to_le_bytes()).collect()
    }

    #[test]
    fn double_precision_is_delayed_and_waited_for() {
        let old = code();
        let changes = delayed(&old, &[]).expect("known code");
        let lengths: Vec<_> = changes.iter().map(|change| (change.at, change.by.len())).collect();
        assert_eq!(lengths, [(0, 5), (1, 1)]);
        let stalls = changes[0].by.iter().map(|bits| Instruction(u128::from_le_bytes(*bits)).stall());
        assert_eq!(stalls.collect::<Vec<_>>(), [15, 15, 15, 15, 4]);
        let by = changes.iter().flat_map(|change| change.by.concat());
        let mut new: Vec<u8> = by.chain(old[2 * SIZE..].iter().copied()).collect();
        assert!(!is_fit_for_103(&new));
        assert!(number(&old, &[], &mut new, &[]) && is_fit_for_103(&new));
        assert_eq!(Instruction::at(&new, 5).wait_mask(), 1);
    }

    #[test]
    fn other_code_stays() {
        assert_eq!(delayed(&code()[2 * SIZE..], &[]), None);
        // IMMA
        let mut matrices = code();
        matrices[0] = 0x37;
        assert_eq!(delayed(&matrices, &[]), None);
    }
}
