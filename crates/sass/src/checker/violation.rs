//! Why a rewrite is not accepted.

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
