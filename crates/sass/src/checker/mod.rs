//! The checker: whether code may take the place of other code. What it accepts is said at the top of the crate.
//!
//! 1. [`align`](mod@align): which instruction has become which.
//! 2. What each instruction shows by itself, and the [`delays`] whose order may change.
//! 3. [`dataflow`]: what is under way where, on every path.

mod align;
mod dataflow;
mod delays;
mod violation;

use crate::flow::Jumps;
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
        let is_usual = |one: Instruction| one.stall() < LONG_STALL || !one.holds();
        let is_same = (before.stall(), before.holds()) == (after.stall(), after.holds());
        let is_alike = is_same || is_usual(before) && is_usual(after);
        if !(is_slower && is_alike || reordered[at] || is_next_to_barrier(alignment, at)) {
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
    let too_soon = |first: Option<Instruction>, second: Option<Instruction>| {
        let Some((first, second)) = first.zip(second).filter(|(first, _)| first.stall() == 1) else {
            return false;
        };
        let sets = [first.write_scoreboard(), first.read_scoreboard()].into_iter().flatten();
        sets.fold(0, |mask, number| mask | 1u8 << number) & second.wait_mask() != 0
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

/// Whether a barrier was inserted before or after a step. Barriers before an exit give what comes before it the time that
/// it needs, and the exit itself.
fn is_next_to_barrier(alignment: &Alignment<'_>, at: usize) -> bool {
    let neighbours = [at.checked_sub(1), at.checked_add(1)].into_iter().flatten();
    neighbours.filter(|at| *at < alignment.len()).any(|at| alignment.step(at).before.is_none())
}
