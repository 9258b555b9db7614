//! Machine code of sm_100 and later: how it is scheduled, and a checker that proves a rewrite of it safe.
//!
//! Instructions whose latency is not fixed set scoreboards, and others wait for them. A linker that makes the final code
//! may number the scoreboards anew, drop waits that nothing needs and leave out precautions. [`check`] looks at code before
//! and after such a rewrite and accepts it only if
//!
//! 1. the instructions are the same, but for scoreboards, wait masks and longer stalls; precautions may be missing and
//!    barriers may come before exits ([`align`](self) lists both), delays may have another order, and branches go to the
//!    corresponding places;
//! 2. on every path, whatever the old code had waited for is over in the new code too before an instruction that depends
//!    on it;
//! 3. counted waits (`DEPBAR`) count the same producers;
//! 4. no instruction waits for a scoreboard one cycle after it was set, if it did not before.
//!
//! It shares nothing with the code that rewrites but for what instructions are and which registers they use: [`schedule`], which chooses scoreboards and
//! waits as the linker does, has no part in what is accepted. What it does not know (an operation, where an indirect branch without a list of targets goes) it
//! takes to be the worst, so that it refuses rather than accepts.

mod align;
mod dataflow;
mod delays;
mod expansion;
pub mod finalize;
mod fit;
pub mod flow;
mod idle;
pub mod instruction;
pub mod operands;
mod places;
pub mod registers;
pub mod schedule;
mod table;

use align::{Alignment, Step, align};
use delays::LONG_STALL;
pub use expansion::mercury_size;
pub use fit::is_fit_for_103;
pub use idle::is_needed as is_idle_needed;
use instruction::Instruction;
pub use places::Places;
use schedule::Jumps;
use std::fmt;

/// Why a rewrite is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The instruction, counted in the old code (in the steps of both codes where they differ in length).
    pub at: usize,
    pub problem: Problem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// Something else than scoreboards and waits differs.
    Code,
    /// A branch does not go to the corresponding place.
    Target,
    /// The instruction takes fewer cycles, or lets other warps run differently.
    Schedule,
    /// The instruction sets a scoreboard where it set none, or sets none any more.
    Scoreboard,
    /// The instruction depends on this one, which the old code had waited for and the new code has not.
    MissingWait { producer: usize },
    /// A counted wait does not count the same producers.
    CountedWait,
    /// The instruction waits for a scoreboard that was set one cycle before.
    TooSoon,
    /// The code is too large to be followed.
    TooLarge,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at;
        match self.problem {
            Problem::Code => write!(f, "instruction {at} is another one"),
            Problem::Target => write!(f, "instruction {at} names another place"),
            Problem::Schedule => write!(f, "instruction {at} takes fewer cycles"),
            Problem::Scoreboard => write!(f, "instruction {at} sets another kind of scoreboard"),
            Problem::MissingWait { producer } => {
                write!(f, "instruction {at} depends on instruction {producer}, which may not be done")
            }
            Problem::CountedWait => write!(f, "instruction {at} counts other producers"),
            Problem::TooSoon => write!(f, "instruction {at} waits for a scoreboard set one cycle before"),
            Problem::TooLarge => write!(f, "the code is too large to be followed"),
        }
    }
}

impl std::error::Error for Violation {}

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
fn check_schedule(alignment: &Alignment<'_>, jumps: &schedule::Jumps) -> Result<(), Violation> {
    let reordered = delays::reordered(alignment, jumps);
    for (at, step) in alignment.steps().enumerate() {
        let violation = |problem: Problem| Err(Violation { at, problem });
        let Some((before, after)) = step.before.zip(step.after).filter(|(before, after)| before != after)
        else {
            continue;
        };
        let is_slower = after.stall() >= before.stall();
        // Which warp goes on is no matter, but what long stalls mean depends on it.
        let is_alike = after.holds() == before.holds() || after.stall() < LONG_STALL;
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
