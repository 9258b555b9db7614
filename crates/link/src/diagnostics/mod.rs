//! What the linker reports: one table of messages, and the sink that hands them on and counts the errors among them.
//!
//! The text of a message is nvlink's, to the letter. How it is shown is the caller's choice.

mod messages;
mod text;

use std::borrow::Borrow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use messages::{Message, Row, TABLE};
pub use text::{Field, Hex, Text};

use crate::observer::Observer;

/// How serious a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is wrong.
    Info,
    /// The link goes on.
    Warning,
    /// The link comes to the end of a phase.
    Error,
    /// The link ends at once.
    Fatal,
}

impl Severity {
    /// The word as it is in a message, padded to the column of the colon.
    pub fn padded(self) -> &'static str {
        match self {
            Self::Info => "info    ",
            Self::Warning => "warning ",
            Self::Error => "error   ",
            Self::Fatal => "fatal   ",
        }
    }

    /// The word.
    pub fn name(self) -> &'static str {
        self.padded().trim_end()
    }
}

/// A message of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// After the switches that change severities.
    pub severity: Severity,
    /// What is reported, with its values.
    pub message: Message,
}

impl Diagnostic {
    /// A stable name of the message, for programs.
    pub fn code(&self) -> &'static str {
        self.message.row().code
    }

    /// The text, as nvlink words it.
    pub fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        self.message.write_text(&mut text);
        text
    }

    /// The values in the text, by name.
    pub fn fields(&self) -> Vec<(&'static str, Vec<u8>)> {
        self.message.fields()
    }
}

impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.severity.name(), String::from_utf8_lossy(&self.text()))
    }
}

/// The link ends here; the reason has been reported.
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

    /// The status with which nvlink ends in such a case.
    pub fn exit_code(self) -> u8 {
        self.exit_code
    }
}

/// Which messages are reported, and how severe they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// `-Werror`.
    pub warnings_are_errors: bool,
    /// `-disable-infos`, which in nvlink removes the warnings and keeps the infos.
    pub no_warnings: bool,
}

/// Hands messages to an observer and counts the errors among them. Shared by reference between threads; phases that
/// work in parallel collect their messages and report them in input order.
#[derive(Clone)]
pub struct Sink<'a> {
    switches: Switches,
    errors: Arc<AtomicUsize>,
    observer: &'a dyn Observer,
}

impl std::fmt::Debug for Sink<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sink")
            .field("switches", &self.switches)
            .field("errors", &self.errors)
            .finish_non_exhaustive()
    }
}

impl<'a> Sink<'a> {
    /// A sink that has not met an error.
    pub fn new(switches: Switches, observer: &'a dyn Observer) -> Self {
        Self { switches, errors: Arc::default(), observer }
    }

    /// The same sink, errors included, with another observer.
    pub fn observed_by<'new>(&self, observer: &'new dyn Observer) -> Sink<'new> {
        Sink { switches: self.switches, errors: Arc::clone(&self.errors), observer }
    }

    /// Who gets the messages.
    pub fn observer(&self) -> &'a dyn Observer {
        self.observer
    }

    /// A phase of the link begins.
    pub fn phase(&self, name: &'static str) {
        self.observer.phase(name);
    }

    /// The phase has this many tasks that take their time.
    pub fn expect(&self, tasks: usize) {
        self.observer.expect(tasks);
    }

    /// Does such a task.
    pub fn during<T>(&self, task: impl FnOnce() -> String, work: impl FnOnce() -> T) -> T {
        if !self.observer.follows_tasks() {
            return work();
        }
        let task = task();
        self.observer.begin(&task);
        let result = work();
        self.observer.end(&task);
        result
    }

    /// Reports a message, if the switches let it through, and counts it if it is an error.
    pub fn report(&self, message: impl Borrow<Message>) {
        let message = message.borrow();
        let Some(severity) = self.effective(message.row().severity) else { return };
        if severity >= Severity::Error {
            self.errors.fetch_add(1, Ordering::Relaxed);
        }
        self.observer.message(severity, message);
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

    /// Text that is not a message of the linker: a call graph, the assembler's own lines.
    pub fn write(&self, bytes: &[u8]) {
        self.observer.text(bytes);
    }

    /// The severity after the switches: `None` is silence.
    fn effective(&self, severity: Severity) -> Option<Severity> {
        match severity {
            Severity::Warning if self.switches.no_warnings => None,
            Severity::Warning if self.switches.warnings_are_errors => Some(Severity::Error),
            other => Some(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::Collector;

    fn reported(switches: Switches) -> (Result<(), Stop>, Vec<Severity>) {
        let collector = Collector::default();
        let sink = Sink::new(switches, &collector);
        sink.report(Message::ArchNotFound { target: "sm_90".into(), file: "a.o".into() });
        let checked = sink.check();
        (checked, collector.into_diagnostics().iter().map(|diagnostic| diagnostic.severity).collect())
    }

    #[test]
    fn warnings_as_errors_are_counted() {
        let switches = Switches { warnings_are_errors: true, no_warnings: false };
        assert_eq!(reported(switches), (Err(Stop::ERRORS), vec![Severity::Error]));
    }

    #[test]
    fn silenced_warnings_are_not_errors() {
        let switches = Switches { warnings_are_errors: true, no_warnings: true };
        assert_eq!(reported(switches), (Ok(()), Vec::new()));
    }

    #[test]
    fn a_diagnostic_has_code_text_and_fields() {
        let message = Message::UnknownOption { word: "bogus".into() };
        let diagnostic = Diagnostic { severity: Severity::Fatal, message };
        assert_eq!(diagnostic.to_string(), "fatal: Unknown option 'bogus'");
        assert_eq!(diagnostic.fields(), [("word", b"bogus".to_vec())]);
    }
}
