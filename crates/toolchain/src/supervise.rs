//! What must not outlive the program: the caller looks after it.

use std::any::Any;
use std::fmt;
use std::io;
use std::path::Path;
use std::process::{Command, Output};

/// Runs other programs, and is told of temporary files. A caller that handles signals ends the programs and removes the
/// files when one ends it; [`Unsupervised`] does neither.
pub trait Supervisor: Sync + fmt::Debug {
    /// Starts a program, whose streams the command says, and waits for its end.
    fn run(&self, command: &mut Command) -> io::Result<Output>;

    /// A file that may be there as long as the guard lives.
    fn temporary_file(&self, path: &Path) -> Guard;

    /// A folder that may be there as long as the guard lives, and is to be removed if it is empty after its files.
    fn temporary_folder(&self, path: &Path) -> Guard;
}

/// Holds whatever the supervisor looks after something with. Dropping it ends that.
#[must_use]
pub struct Guard {
    _held: Option<Box<dyn Any>>,
}

impl Guard {
    /// A guard that holds a value.
    pub fn new(held: impl Any) -> Self {
        Self { _held: Some(Box::new(held)) }
    }

    /// A guard of nothing.
    pub fn none() -> Self {
        Self { _held: None }
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Guard")
    }
}

/// Nobody looks after anything: files are removed and processes waited for in the ordinary course only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unsupervised;

impl Supervisor for Unsupervised {
    fn run(&self, command: &mut Command) -> io::Result<Output> {
        command.spawn()?.wait_with_output()
    }

    fn temporary_file(&self, _: &Path) -> Guard {
        Guard::none()
    }

    fn temporary_folder(&self, _: &Path) -> Guard {
        Guard::none()
    }
}
