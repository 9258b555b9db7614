//! Programs that are started: the assembler, the shell, nvcc.
//!
//! All are started by [`start`]. A program begins with the blocked and ignored signals that this one was started with,
//! whatever this one has set for itself since.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{self, Command, ExitStatus, Output};
use std::sync::atomic::{AtomicI32, Ordering};

use super::groups::{STARTING, enter, leave};
use super::signals::{self, ENDING};

/// The group of processes that a program belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// It leads a group of its own. All of the group ends when a signal ends this program.
    Own,
    /// It belongs to the group of this program, and to its terminal.
    Shared,
}

/// A program that was started.
#[derive(Debug)]
#[must_use]
pub struct Running {
    child: process::Child,
    place: Option<&'static AtomicI32>,
}

/// Starts a program. A signal that would end this one waits until the other is in the table of those that end with it.
pub fn start(command: &mut Command, group: Group) -> io::Result<Running> {
    signals::install();
    let waiting = Waiting::begin();
    begin_as_started(command, waiting.mask);
    if group == Group::Own {
        command.process_group(0);
    }
    let child = command.spawn()?;
    let place = if group == Group::Own { enter(child.id()) } else { None };
    Ok(Running { child, place })
}

/// Puts a program in the place of this one; only an error returns.
pub fn replace(command: &mut Command) -> io::Error {
    let waiting = Waiting::begin();
    begin_as_started(command, waiting.mask);
    command.exec()
}

impl Running {
    pub fn wait(mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait();
        leave(self.place);
        status
    }

    pub fn wait_with_output(self) -> io::Result<Output> {
        let output = self.child.wait_with_output();
        leave(self.place);
        output
    }
}

/// While it lives, signals that end this program wait in this thread, and handlers in other threads wait for this one.
struct Waiting {
    /// The signals that were blocked before.
    mask: libc::sigset_t,
}

impl Waiting {
    #[allow(unsafe_code)]
    fn begin() -> Self {
        STARTING.fetch_add(1, Ordering::SeqCst);
        // SAFETY: the sets live through the calls, and zeros are valid values for them.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            let mut mask: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            for signal in ENDING {
                libc::sigaddset(&raw mut set, signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, &raw mut mask);
            Self { mask }
        }
    }
}

impl Drop for Waiting {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        STARTING.fetch_sub(1, Ordering::SeqCst);
        // SAFETY: the set is the one that the thread had before.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.mask, std::ptr::null_mut());
        }
    }
}

/// Rust's library hands on the mask of the thread that starts a program, and ignored signals stay ignored.
#[allow(unsafe_code)]
fn begin_as_started(command: &mut Command, mask: libc::sigset_t) {
    let restore = move || {
        signals::restore(&mask);
        Ok(())
    };
    // SAFETY: it takes no lock, allocates nothing and calls only what may be called between a fork and the start of the
    // other program.
    unsafe {
        command.pre_exec(restore);
    }
}
