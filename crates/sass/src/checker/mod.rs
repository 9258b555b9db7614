//! The checker: whether code may take the place of other code. What it accepts is said at the top of the crate.
//!
//! 1. [`align`](mod@align): which instruction has become which.
//! 2. What each instruction shows by itself, and the [`delays`] whose order may change.
//! 3. [`dataflow`]: what is under way where, on every path.

mod align;
mod dataflow;
mod delays;
mod expanded;
mod kept;
mod quicker;
mod saving;
mod violation;

use crate::flow::{Flow, Jumps};
use crate::idle::{LATEST, Speed, is_needed_in};
use crate::instruction::{Instruction, KEPT};
use crate::operation::{DOUBLE, MEMBAR};
use crate::shift;
use align::{Alignment, Step, align, is_plain_delay};
pub use expanded::check_expanded;
use quicker::Ways;
use std::cell::OnceCell;
pub use violation::{Problem, Violation};

/// Whether `after` may take the place of `before`: the code of one function, without relocations applied or with the same
/// ones. `jumps` says where indirect branches of the old code go; one that is not listed may go anywhere.
pub fn check(before: &[u8], after: &[u8], jumps: &Jumps) -> Result<(), Violation> {
    check_for(Speed::Any, before, after, jumps)
}

/// The same for code of one machine, whose latencies may be shorter.
pub fn check_for(speed: Speed, before: &[u8], after: &[u8], jumps: &Jumps) -> Result<(), Violation> {
    if before == after {
        return Ok(());
    }
    let alignment = align(before, after, speed)?;
    check_schedule(&alignment, jumps, speed)?;
    dataflow::check(&alignment, jumps)
}

/// What can be seen without following paths: stalls, scoreboards set, and waits that come too soon.
fn check_schedule(alignment: &Alignment<'_>, jumps: &Jumps, speed: Speed) -> Result<(), Violation> {
    let reordered = delays::reordered(alignment, jumps);
    let entered = OnceCell::new();
    let entries = || entered.get_or_init(|| delays::entries(alignment, jumps)).as_deref();
    let ways = OnceCell::new();
    let in_time = OnceCell::new();
    let is_in_time =
        || *in_time.get_or_init(|| ways.get_or_init(|| Ways::new(alignment, jumps, speed)).is_in_time());
    for (at, step) in alignment.steps().enumerate() {
        let violation = |problem: Problem| Err(Violation { at, problem });
        if step.before.is_none()
            && step.after.is_some_and(Instruction::is_delay)
            && kept::is_passed(alignment, at)
        {
            return violation(Problem::Code);
        }
        let Some((before, after)) = step.before.zip(step.after).filter(|(before, after)| before != after)
        else {
            continue;
        };
        if kept::added(before, after) != 0 && !kept::may_keep(alignment, entries(), at) {
            return violation(Problem::Code);
        }
        // Other warps that go on in between, or another instruction, may lose what is kept.
        let is_released = before.holds() && !after.holds();
        let is_lost = is_released && (kept::keeps(after) || kept::is_passed(alignment, at));
        if is_lost || is_other_shift(before, after) && is_kept_over(alignment, at) {
            return violation(Problem::Code);
        }
        let is_slower = after.stall() >= before.stall();
        let is_same = (before.stall(), before.holds()) == (after.stall(), after.holds());
        let is_alike = is_same || before.has_usual_stall() && after.has_usual_stall();
        let is_alike = is_alike
            && (is_slower
                || ways.get_or_init(|| Ways::new(alignment, jumps, speed)).is_quicker(at)
                || is_in_time());
        if !(is_alike || reordered[at] || is_next_to_barrier(alignment, at)) {
            return violation(Problem::Schedule);
        }
        let dropped = before.write_scoreboard().is_some() && after.write_scoreboard().is_none();
        let is_other = before.read_scoreboard().is_some() != after.read_scoreboard().is_some()
            || before.write_scoreboard().is_none() && after.write_scoreboard().is_some();
        if is_other && !gains_scoreboards(before, after)
            || dropped && !(at == 0 && dataflow::drops_stack_pointer(&step))
        {
            return violation(Problem::Scoreboard);
        }
    }
    check_delays(alignment, entries, is_in_time)?;
    let too_soon = |first: Option<Instruction>, second: Option<Instruction>| {
        let Some((first, second)) = first.zip(second).filter(|(first, _)| first.stall() == 1) else {
            return false;
        };
        first.set_mask() & second.wait_mask() != 0
    };
    let (mut last_before, mut last_after) = (None, None);
    for (at, step) in alignment.steps().enumerate() {
        if too_soon(last_after, step.after) && !too_soon(last_before, step.before) {
            return Err(Violation { at, problem: Problem::TooSoon });
        }
        last_before = step.before.or(last_before);
        last_after = step.after.or(last_after);
    }
    Ok(())
}

/// Whether an instruction that may set scoreboards sets more of them. That has something wait longer, and no less: what is counted is looked at
/// elsewhere. Assemblers have these with and without scoreboards: double precision of sm_100, which takes a fixed time, and `MEMBAR`.
fn gains_scoreboards(before: Instruction, after: Instruction) -> bool {
    let may_gain = DOUBLE.contains(&before.operation()) || before.operation() == MEMBAR;
    let keeps = |of: fn(Instruction) -> Option<u8>| of(before).is_none() || of(after).is_some();
    may_gain && keeps(Instruction::write_scoreboard) && keeps(Instruction::read_scoreboard)
}

/// Where delays are gone or new, the instruction before takes the time of those that are gone, or the branch after them does, if that is
/// not too early. Other code may come upon those that are gone only if all of the code is in time.
fn check_delays<'a>(
    alignment: &Alignment<'_>,
    entries: impl Fn() -> Option<&'a [bool]> + Copy,
    is_in_time: impl Fn() -> bool,
) -> Result<(), Violation> {
    let (mut old, mut new) = (0, 0);
    // The cycles of the last instruction of both and of the delays after it; where these begin.
    let (mut times, mut starts) = ([0, 0], [0, 0]);
    let mut last = None;
    let mut is_other = false;
    for (at, step) in alignment.steps().enumerate() {
        let violation = Err(Violation { at, problem: Problem::Schedule });
        if let Some((before, after)) = step.before.zip(step.after) {
            let keeps_time = times[1] >= times[0];
            let branch_takes = || {
                let gained = u32::from(after.stall().saturating_sub(before.stall()));
                matches!(Flow::of(old, before), Flow::Branch(_) | Flow::Jump(_))
                    && times[1] + gained >= times[0]
                    && at.checked_sub(1).is_some_and(|last| !is_entered_before(alignment, entries, last))
                    && !is_needed_in(
                        alignment.before,
                        starts[0]..old,
                        alignment.after,
                        starts[1]..new,
                        Speed::Any,
                    )
            };
            if is_other && !keeps_time && !branch_takes() && !is_in_time() {
                return violation;
            }
            times = [u32::from(before.stall()), u32::from(after.stall())];
            starts = [old + 1, new + 1];
            last = Some(Flow::of(old, before));
            is_other = false;
        } else if let Some(before) = step.before {
            times[0] += u32::from(before.stall().max(1));
            if before.is_held_delay() || is_plain_delay(alignment.before, old) {
                let is_reached = entries().is_none_or(|entered| entered[at]);
                let follows = matches!(last, Some(Flow::Next | Flow::Branch(_)));
                let may_be_reached = || matches!(last, Some(Flow::Jump(_) | Flow::End)) || follows;
                if (is_reached || !follows) && !(may_be_reached() && is_in_time()) {
                    return violation;
                }
                is_other = true;
            }
        } else if let Some(after) = step.after.filter(|after| after.is_delay()) {
            times[1] += u32::from(after.stall());
            if !after.has_usual_stall() {
                return violation;
            }
            is_other = true;
        }
        old += usize::from(step.before.is_some());
        new += usize::from(step.after.is_some());
    }
    Ok(())
}

/// Whether a step, or one of those in the cycles before it in which results may be under way, may be come upon from elsewhere.
fn is_entered_before<'a>(
    alignment: &Alignment<'_>,
    entries: impl Fn() -> Option<&'a [bool]>,
    at: usize,
) -> bool {
    let Some(entered) = entries() else { return true };
    let mut cycles = 0;
    for step in (0..=at).rev() {
        let Step { before, after } = alignment.step(step);
        cycles += after.map_or(0, |after| u32::from(after.stall().max(1)));
        if cycles >= LATEST {
            return false;
        }
        let goes_on = |one: Instruction| matches!(Flow::of(0, one), Flow::Next | Flow::Branch(_));
        if entered[step] || step == 0 || !before.is_none_or(goes_on) {
            return true;
        }
    }
    true
}

/// Whether an instruction became the other form of a shift.
fn is_other_shift(before: Instruction, after: Instruction) -> bool {
    let [before, after] = [before, after].map(|one| one.without_schedule() & !KEPT);
    before != after && shift::low(Instruction(before)) == Some(Instruction(after))
}

/// Whether an instruction before a step keeps operands for it, or for a later one.
fn is_kept_over(alignment: &Alignment<'_>, at: usize) -> bool {
    let before = (0..at).rev().find(|at| alignment.step(*at).after.is_some());
    let keeps = |at: usize| alignment.step(at).after.is_some_and(kept::keeps);
    before.is_some_and(|before| keeps(before) || kept::is_passed(alignment, before))
}

/// Whether a barrier was inserted before or after a step. Barriers before an exit give what comes before it the time that
/// it needs, and the exit itself.
fn is_next_to_barrier(alignment: &Alignment<'_>, at: usize) -> bool {
    let neighbours = [at.checked_sub(1), at.checked_add(1)].into_iter().flatten();
    let is_barrier = |step: Step| step.before.is_none() && !step.after.is_some_and(Instruction::is_delay);
    neighbours.filter(|at| *at < alignment.len()).any(|at| is_barrier(alignment.step(at)))
}

#[cfg(test)]
mod tests {
    use super::{Problem, check};
    use crate::instruction::HELD_DELAY as HELD;

    const STALL: u32 = 105;
    const HOLD: u128 = 1 << 109;
    /// `IADD3 R6, PT, PT, R5, 1, RZ`, `EXIT` and the usual delay; without cycles.
    const SUM: u128 = 0x000f_e000_07ff_e0ff_0000_0001_0506_7810;
    /// `IADD3 R7, PT, PT, R6, 1, RZ`
    const USE: u128 = 0x000f_e000_07ff_e0ff_0000_0001_0607_7810;
    const EXIT: u128 = 0x000f_e000_0380_0000_0000_0000_0000_794d;
    const NOP: u128 = 0x000f_c000_0000_0000_0000_0000_0000_7918;

    fn code(instructions: &[(u128, u128)]) -> Vec<u8> {
        let padding = [(NOP, 0); 8];
        let all = instructions.iter().chain(&padding);
        all.flat_map(|(bits, stall)| (bits | stall << STALL).to_le_bytes()).collect()
    }

    fn problem(before: &[(u128, u128)], after: &[(u128, u128)]) -> Option<Problem> {
        check(&code(before), &code(after), &[]).err().map(|violation| violation.problem)
    }

    #[test]
    fn delays_that_change() {
        let held = [(SUM, 11), (HELD, 9), (USE, 5), (EXIT, 5)];
        let free = SUM & !HOLD;
        assert_eq!(problem(&held, &[(free, 15), (NOP, 5), (USE, 5), (EXIT, 5)]), None);
        // As long as the result takes, and one cycle less, before a delay or after one.
        let early = Some(Problem::Schedule);
        assert_eq!(problem(&held, &[(SUM, 1), (NOP, 3), (USE, 5), (EXIT, 5)]), None);
        assert_eq!(problem(&held, &[(SUM, 1), (NOP, 2), (USE, 5), (EXIT, 5)]), early);
        assert_eq!(problem(&held, &[(SUM, 3), (USE, 5), (EXIT, 5)]), early);
        let after = [(SUM, 11), (HELD, 9), (SUM, 5), (USE, 5), (EXIT, 5)];
        assert_eq!(problem(&after, &[(free, 15), (NOP, 5), (SUM, 3), (USE, 5), (EXIT, 5)]), early);
        assert_eq!(
            problem(&[(SUM, 5), (USE, 5), (EXIT, 5)], &[(SUM, 1), (NOP, 1), (USE, 5), (EXIT, 5)]),
            early
        );
        // Long stalls mean something else where no other warp goes on, and so does none.
        assert_eq!(problem(&held, &[(SUM, 15), (NOP, 5), (USE, 5), (EXIT, 5)]), early);
        assert_eq!(problem(&held, &[(free, 11), (NOP | HOLD, 12), (USE, 5), (EXIT, 5)]), early);
        assert_eq!(problem(&[(free, 0), (EXIT, 5)], &[(SUM, 0), (EXIT, 5)]), early);
    }
}
