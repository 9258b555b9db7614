//! Where a link prints: the standard streams, or memory, where several links run at the same time.

use std::io::{self, IsTerminal, Write};
use std::mem::take;
use std::sync::{Arc, Mutex, PoisonError};

/// What was printed.
#[derive(Debug, Default)]
struct Kept {
    out: Vec<u8>,
    err: Vec<u8>,
}

/// The two streams of a link.
#[derive(Clone, Debug, Default)]
pub struct Console(Option<Arc<Mutex<Kept>>>);

impl Console {
    /// One that keeps what is printed.
    pub fn in_memory() -> Self {
        Self(Some(Arc::default()))
    }

    fn print(&self, to: impl FnOnce(&mut Kept), stream: impl FnOnce() -> io::Result<()>) {
        match &self.0 {
            Some(kept) => to(&mut kept.lock().unwrap_or_else(PoisonError::into_inner)),
            // A closed stream is not a reason to fail.
            None => drop(stream()),
        }
    }

    /// Prints on standard output.
    pub fn out(&self, bytes: &[u8]) {
        self.print(|kept| kept.out.extend_from_slice(bytes), || io::stdout().write_all(bytes));
    }

    /// Prints on standard error.
    pub fn err(&self, bytes: &[u8]) {
        self.print(|kept| kept.err.extend_from_slice(bytes), || io::stderr().write_all(bytes));
    }

    /// Whether somebody reads standard error as it is written.
    pub fn is_terminal(&self) -> bool {
        self.0.is_none() && io::stderr().is_terminal()
    }

    /// What was kept so far: standard output, and standard error.
    pub fn take(&self) -> (Vec<u8>, Vec<u8>) {
        let Some(kept) = &self.0 else { return Default::default() };
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        (take(&mut kept.out), take(&mut kept.err))
    }
}
