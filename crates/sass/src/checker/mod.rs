//! The checker: whether code may take the place of other code. What it accepts is said at the top of the crate.
//!
//! 1. [`align`](mod@align): which instruction has become which.
//! 2. What each instruction shows by itself, and the [`delays`] whose order may change.
//! 3. [`dataflow`]: what is under way where, on every path.

mod align;
mod dataflow;
mod delays;
mod violation;

use crate::flow::{Flow, Jumps};
use crate::idle::{LATEST, is_needed_in};
use crate::instruction::Instruction;
use align::{Alignment, Step, align};
use delays::LONG_STALL;
pub use violation::{Problem, Violation};

/// Whether `after` may take the place of `before`: the code of one function, without relocations applied or with the same
/// ones. `jumps` says where indirect branches of the old code go; one that is not listed may go anywhere.
pub fn check(before: &[u8], after: &[u8], jumps: &Jumps) -> Result<(), Violation> {
    if before == after {
        return Ok(());
    }
    let alignment = align(before, after)?;
    check_schedule(&alignment, jumps)?;
    dataflow::check(&alignment, jumps)
}

/// What can be seen without following paths: stalls, scoreboards set, and waits that come too soon.
fn check_schedule(alignment: &Alignment<'_>, jumps: &Jumps) -> Result<(), Violation> {
    let reordered = delays::reordered(alignment, jumps);
    for (at, step) in alignment.steps().enumerate() {
        let violation = |problem: Problem| Err(Violation { at, problem });
        let Some((before, after)) = step.before.zip(step.after).filter(|(before, after)| before != after)
        else {
            continue;
        };
        let is_slower = after.stall() >= before.stall();
        // Which warp goes on does not matter, but what long stalls mean depends on it.
        let is_usual = |one: Instruction| !one.holds() || (1..LONG_STALL).contains(&one.stall());
        let is_same = (before.stall(), before.holds()) == (after.stall(), after.holds());
        let is_alike = is_same || is_usual(before) && is_usual(after);
        let is_alike = is_alike && (is_slower || is_quicker(alignment, jumps, at));
        if !(is_alike || reordered[at] || is_next_to_barrier(alignment, at)) {
            return violation(Problem::Schedule);
        }
        let dropped = before.write_scoreboard().is_some() && after.write_scoreboard().is_none();
        if before.read_scoreboard().is_some() != after.read_scoreboard().is_some()
            || before.write_scoreboard().is_none() && after.write_scoreboard().is_some()
            || dropped && !(at == 0 && dataflow::drops_stack_pointer(&step))
        {
            return violation(Problem::Scoreboard);
        }
    }
    check_delays(alignment)?;
    let too_soon = |first: Option<Instruction>, second: Option<Instruction>| {
        let Some((first, second)) = first.zip(second).filter(|(first, _)| first.stall() == 1) else {
            return false;
        };
        sets(first) & second.wait_mask() != 0
    };
    let mut last: Option<Step> = None;
    for (at, step) in alignment.steps().enumerate() {
        if let Some(last) = last
            && too_soon(last.after, step.after)
            && !too_soon(last.before, step.before)
        {
            return Err(Violation { at, problem: Problem::TooSoon });
        }
        last = Some(step);
    }
    Ok(())
}

/// Where delays are gone, the instruction before takes their time, or the branch after them does, if that is not too early.
fn check_delays(alignment: &Alignment<'_>) -> Result<(), Violation> {
    let stall = |one: Option<Instruction>| one.map_or(0, |one| u32::from(one.stall()));
    let (mut old, mut new) = (0, 0);
    // The cycles of the last instruction of both and of the delays after it; where these begin.
    let (mut times, mut starts) = ([0, 0], [0, 0]);
    let mut is_gone = false;
    for (at, step) in alignment.steps().enumerate() {
        if let Some((before, after)) = step.before.zip(step.after) {
            let keeps_time = times[1] >= times[0];
            let branch_takes = || {
                let gained = stall(step.after).saturating_sub(stall(step.before));
                matches!(Flow::of(old, before), Flow::Branch(_) | Flow::Jump(_))
                    && times[1] + gained >= times[0]
                    && !is_needed_in(alignment.before, starts[0]..old, alignment.after, starts[1]..new)
            };
            if is_gone && !keeps_time && !branch_takes() {
                return Err(Violation { at, problem: Problem::Schedule });
            }
            times = [stall(Some(before)), stall(Some(after))];
            starts = [old + 1, new + 1];
            is_gone = false;
        } else {
            times[0] += stall(step.before);
            times[1] += stall(step.after);
            is_gone |= step.before.is_some_and(Instruction::is_held_delay);
        }
        old += usize::from(step.before.is_some());
        new += usize::from(step.after.is_some());
    }
    Ok(())
}

/// The scoreboards that an instruction sets.
fn sets(instruction: Instruction) -> u8 {
    let numbers = [instruction.write_scoreboard(), instruction.read_scoreboard()];
    numbers.into_iter().flatten().fold(0, |mask, number| mask | 1 << number)
}

/// Whether an instruction takes one cycle and not two because the next one no longer waits for it, and nothing depends on the
/// other cycle. Where the code may be entered shortly before, that is not known.
fn is_quicker(alignment: &Alignment<'_>, jumps: &Jumps, at: usize) -> bool {
    let both = |at: usize| {
        let step = (at < alignment.len()).then(|| alignment.step(at))?;
        step.before.zip(step.after)
    };
    let Some(((before, after), (next_before, next_after))) = both(at).zip(both(at + 1)) else { return false };
    let was_waited_for = sets(before) & next_before.wait_mask() != 0;
    let is_waited_for = sets(after) & next_after.wait_mask() != 0;
    if (before.stall(), after.stall()) != (2, 1) || !was_waited_for || is_waited_for {
        return false;
    }
    let Some(entered) = delays::entries(alignment, jumps) else { return false };
    let mut cycles = 0;
    for step in (0..=at).rev() {
        cycles += alignment.step(step).after.map_or(0, |after| u32::from(after.stall().max(1)));
        if cycles >= LATEST {
            break;
        }
        if entered[step] || step == 0 {
            return false;
        }
    }
    let (mut old, mut new) = (0, 0);
    for step in alignment.steps().take(at + 1) {
        old += usize::from(step.before.is_some());
        new += usize::from(step.after.is_some());
    }
    !is_needed_in(alignment.before, old..old, alignment.after, new..new)
}

/// Whether a barrier was inserted before or after a step. Barriers before an exit give what comes before it the time that
/// it needs, and the exit itself.
fn is_next_to_barrier(alignment: &Alignment<'_>, at: usize) -> bool {
    let neighbours = [at.checked_sub(1), at.checked_add(1)].into_iter().flatten();
    neighbours.filter(|at| *at < alignment.len()).any(|at| alignment.step(at).before.is_none())
}
