//! What the linker says: one table of messages, and the sink that prints and counts them.
//!
//! The text is nvlink's, to the letter, with the name that the linker was invoked by in front.

mod messages;
mod text;

use std::borrow::Borrow;
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use messages::{Message, Row, TABLE};
pub use text::{Field, Hex, Text};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Info,
    Warning,
    Error,
    Fatal,
}

impl Severity {
    /// The word as it stands in a message, padded to the column of the colon.
    fn padded(self) -> &'static str {
        match self {
            Self::Info => "info    ",
            Self::Warning => "warning ",
            Self::Error => "error   ",
            Self::Fatal => "fatal   ",
        }
    }
}

/// The run ends here; what there was to say has been said.
///
/// It is the error type of every phase: `return Err(sink.fatal(Message::…))`, `sink.check()?`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Stop {
    exit_code: u8,
}

impl Stop {
    /// After a `fatal` message.
    pub const FATAL: Self = Self { exit_code: 1 };
    /// After `error` messages that let the run come to the end of a phase.
    pub const ERRORS: Self = Self { exit_code: 255 };

    pub fn exit_code(self) -> u8 {
        self.exit_code
    }
}

/// How messages are printed; all of it follows from the options.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The name in front of every message.
    pub tool: Text,
    /// `-report-arch`: the target named behind every message.
    pub report_arch: Option<Text>,
    /// `-Werror`.
    pub warnings_are_errors: bool,
    /// `-disable-infos`, which in nvlink takes away the warnings and leaves the infos.
    pub no_warnings: bool,
}

enum Output {
    Stderr,
    Memory(Vec<u8>),
}

/// Prints messages and counts the errors among them. Shared by reference between threads; phases that
/// work in parallel collect their messages and report them in input order.
pub struct Sink {
    settings: Settings,
    errors: AtomicUsize,
    output: Mutex<Output>,
}

impl Sink {
    /// A sink on standard error.
    pub fn new(settings: Settings) -> Self {
        Self { settings, errors: AtomicUsize::new(0), output: Mutex::new(Output::Stderr) }
    }

    /// A sink that keeps the text, for tests and for callers of the library.
    pub fn in_memory(settings: Settings) -> Self {
        Self { settings, errors: AtomicUsize::new(0), output: Mutex::new(Output::Memory(Vec::new())) }
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Prints the message, if the settings let it through, and counts it if it is an error.
    pub fn report(&self, message: impl Borrow<Message>) {
        let message = message.borrow();
        let Some(severity) = self.effective(message.row().severity) else { return };
        if severity >= Severity::Error {
            self.errors.fetch_add(1, Ordering::Relaxed);
        }
        let mut line = Vec::with_capacity(120);
        line.extend_from_slice(self.settings.tool.as_bytes());
        line.push(b' ');
        line.extend_from_slice(severity.padded().as_bytes());
        line.extend_from_slice(b": ");
        message.write_text(&mut line);
        if let Some(arch) = &self.settings.report_arch {
            line.extend_from_slice(b" (target: ");
            line.extend_from_slice(arch.as_bytes());
            line.push(b')');
        }
        line.push(b'\n');
        self.write(&line);
    }

    /// Reports a message that ends the run, and gives the value to leave with.
    pub fn fatal(&self, message: impl Borrow<Message>) -> Stop {
        let message = message.borrow();
        debug_assert_eq!(message.row().severity, Severity::Fatal, "{}", message.row().code);
        self.report(message);
        Stop::FATAL
    }

    /// Number of errors so far, promoted warnings included.
    pub fn errors(&self) -> usize {
        self.errors.load(Ordering::Relaxed)
    }

    /// Leaves with the exit code of errors if there were any.
    pub fn check(&self) -> Result<(), Stop> {
        if self.errors() == 0 { Ok(()) } else { Err(Stop::ERRORS) }
    }

    /// Text on standard error that is no message of the linker: a call graph, a command that is run,
    /// the assembler's own lines.
    pub fn write(&self, bytes: &[u8]) {
        let mut output = self.output.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match &mut *output {
            // A closed standard error is no reason to fail.
            Output::Stderr => drop(std::io::stderr().write_all(bytes)),
            Output::Memory(text) => text.extend_from_slice(bytes),
        }
    }

    /// What an in-memory sink holds; empty for one on standard error.
    pub fn into_text(self) -> Vec<u8> {
        match self.output.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
            Output::Stderr => Vec::new(),
            Output::Memory(text) => text,
        }
    }

    /// The severity after the switches: `None` is silence.
    fn effective(&self, severity: Severity) -> Option<Severity> {
        match severity {
            Severity::Warning if self.settings.no_warnings => None,
            Severity::Warning if self.settings.warnings_are_errors => Some(Severity::Error),
            other => Some(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings { tool: "nvlink".into(), ..Settings::default() }
    }

    #[test]
    fn fatal_line() {
        let sink = Sink::in_memory(settings());
        let stop = sink.fatal(Message::UnknownOption { word: "bogus".into() });
        assert_eq!(stop.exit_code(), 1);
        assert_eq!(sink.into_text(), b"nvlink fatal   : Unknown option 'bogus'\n");
    }

    #[test]
    fn warnings_as_errors_count() {
        let sink = Sink::in_memory(Settings {
            warnings_are_errors: true,
            report_arch: Some("sm_90".into()),
            ..settings()
        });
        sink.report(Message::ArchNotFound { target: "sm_90".into(), file: "a.o".into() });
        assert_eq!(sink.check(), Err(Stop::ERRORS));
        assert_eq!(
            sink.into_text(),
            b"nvlink error   : SM Arch ('sm_90') not found in 'a.o' (target: sm_90)\n"
        );
    }

    #[test]
    fn silenced_warnings_are_no_errors() {
        let sink = Sink::in_memory(Settings { warnings_are_errors: true, no_warnings: true, ..settings() });
        sink.report(Message::ArchNotFound { target: "sm_90".into(), file: "a.o".into() });
        assert_eq!(sink.check(), Ok(()));
        assert_eq!(sink.into_text(), b"");
    }
}
