//! Machine code of sm_100 and later: how it is scheduled, and a checker that proves a rewrite of it safe.
//!
//! Instructions whose latency is not fixed set scoreboards, and others wait for them. A linker that makes the final code
//! may number the scoreboards anew, drop waits that nothing needs and leave out precautions. [`check`] looks at code before
//! and after such a rewrite and accepts it only if
//!
//! 1. the instructions are the same, but for scoreboards, wait masks and longer stalls; precautions may be missing and
//!    barriers may come before exits (`checker/align.rs` lists both), delays may have another order, and branches go to the
//!    corresponding places;
//! 2. on every path, whatever the old code had waited for is over in the new code too before an instruction that depends
//!    on it;
//! 3. counted waits (`DEPBAR`) count the same producers;
//! 4. no instruction waits for a scoreboard one cycle after it was set, if it did not before.
//!
//! [`check_expanded`] does so for the one rewrite that has other instructions: what the size of the cluster comes through.
//!
//! It shares nothing with the code that rewrites but for what instructions are and which registers they use: [`schedule`], which chooses scoreboards and
//! waits as the linker does, has no part in what is accepted. What it does not know (an operation, where an indirect branch without a list of targets goes) it
//! takes to be the worst, so that it refuses rather than accepts.

mod checker;
mod cluster_size;
mod expansion;
pub mod finalize;
mod fit;
mod fit_107;
pub mod flow;
mod idle;
pub mod instruction;
pub mod operands;
mod operation;
mod places;
pub mod registers;
pub mod schedule;
mod shift;
mod stack_pointer;
mod sum;
mod table;
mod times;
mod unscheduled;
mod workaround;

pub use checker::{Problem, Violation, check, check_expanded, check_for};
pub use expansion::mercury_size;
pub use fit::is_fit_for_103;
pub use fit_107::is_fit_for_107;
pub use idle::Speed;
pub use places::Places;
pub use workaround::{has_workaround, needs_second_workaround};
