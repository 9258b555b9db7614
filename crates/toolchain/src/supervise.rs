//! What must not outlive the program: the caller looks after it.

use std::any::Any;
use std::fmt;
use std::io;
use std::path::Path;
use std::process::{Child, Command};

/// Starts processes, and is told of temporary files. A program that handles signals ends the processes and removes the
/// files when one ends it; [`Unsupervised`] does neither.
pub trait Supervisor: Sync + fmt::Debug {
    /// Starts a process. It is looked after as long as the guard lives.
    fn start(&self, command: &mut Command) -> io::Result<(Child, Guard)>;

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
    fn start(&self, command: &mut Command) -> io::Result<(Child, Guard)> {
        command.spawn().map(|child| (child, Guard::none()))
    }

    fn temporary_file(&self, _: &Path) -> Guard {
        Guard::none()
    }

    fn temporary_folder(&self, _: &Path) -> Guard {
        Guard::none()
    }
}
