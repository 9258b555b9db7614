//! The sink that hands messages on and counts the errors among them.

use std::borrow::Borrow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::messages::Message;
use super::severity::Severity;

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
    /// A compiler was asked about itself and has answered: nothing is linked, and nothing is wrong.
    pub const ANSWERED: Self = Self { exit_code: 0 };
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

/// The switches as they are now: nvlink's assembler, which runs in its process, changes them.
#[derive(Debug)]
struct Current {
    warnings_are_errors: AtomicBool,
    no_warnings: AtomicBool,
}

impl Current {
    fn new(switches: Switches) -> Self {
        let Switches { warnings_are_errors, no_warnings } = switches;
        Self { warnings_are_errors: warnings_are_errors.into(), no_warnings: no_warnings.into() }
    }

    fn set(&self, switches: Switches) {
        self.warnings_are_errors.store(switches.warnings_are_errors, Ordering::Relaxed);
        self.no_warnings.store(switches.no_warnings, Ordering::Relaxed);
    }

    fn get(&self) -> Switches {
        Switches {
            warnings_are_errors: self.warnings_are_errors.load(Ordering::Relaxed),
            no_warnings: self.no_warnings.load(Ordering::Relaxed),
        }
    }
}

/// Hands messages to a receiver and counts the errors among them. Shared by reference between threads; phases that
/// work in parallel collect their messages and report them in input order.
#[derive(Clone)]
pub struct Sink<'a> {
    switches: Arc<Current>,
    errors: Arc<AtomicUsize>,
    receiver: &'a dyn Receiver,
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
    pub fn new(switches: Switches, receiver: &'a dyn Receiver) -> Self {
        Self { switches: Arc::new(Current::new(switches)), errors: Arc::default(), receiver }
    }

    /// The same sink, errors and switches included, with another receiver.
    pub fn received_by<'new>(&self, receiver: &'new dyn Receiver) -> Sink<'new> {
        Sink { switches: Arc::clone(&self.switches), errors: Arc::clone(&self.errors), receiver }
    }

    /// From here on other switches hold.
    pub fn switch(&self, switches: Switches) {
        self.switches.set(switches);
    }

    /// A phase of the link begins.
    pub fn phase(&self, name: &'static str) {
        self.receiver.phase(name);
    }

    /// The phase has this many tasks that take their time.
    pub fn expect(&self, tasks: usize) {
        self.receiver.expect(tasks);
    }

    /// Does such a task.
    pub fn during<T>(&self, task: impl FnOnce() -> String, work: impl FnOnce() -> T) -> T {
        if !self.receiver.follows_tasks() {
            return work();
        }
        let task = task();
        self.receiver.begin(&task);
        let result = work();
        self.receiver.end(&task);
        result
    }

    /// Tells that a result was there from an earlier link.
    pub fn kept(&self, what: &str) {
        self.receiver.kept(what);
    }

    /// Reports a message, if the switches let it through, and counts it if it is an error.
    pub fn report(&self, message: impl Borrow<Message>) {
        let message = message.borrow();
        let Some(severity) = self.effective(message.row().severity) else { return };
        if severity >= Severity::Error {
            self.errors.fetch_add(1, Ordering::Relaxed);
        }
        self.receiver.message(severity, message);
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
        self.receiver.text(bytes);
    }

    /// The answer of a compiler that was asked about itself. It is what the link was started for.
    pub fn answer(&self, bytes: &[u8]) -> Stop {
        self.receiver.answer(bytes);
        Stop::ANSWERED
    }

    /// The severity after the switches: `None` is silence.
    fn effective(&self, severity: Severity) -> Option<Severity> {
        let Severity::Warning = severity else { return Some(severity) };
        match self.switches.get() {
            Switches { no_warnings: true, .. } => None,
            Switches { warnings_are_errors: true, .. } => Some(Severity::Error),
            Switches { .. } => Some(Severity::Warning),
        }
    }
}

/// Takes what a link reports. Every method but the first may be left as it is.
pub trait Receiver: Sync {
    /// A message, with its severity after the switches.
    fn message(&self, severity: Severity, message: &Message);

    /// Text that is not a message of the linker.
    fn text(&self, _text: &[u8]) {}

    /// The answer of a compiler that was asked about itself.
    fn answer(&self, _text: &[u8]) {}

    /// A phase begins.
    fn phase(&self, _name: &'static str) {}

    /// The phase has this many tasks that take their time.
    fn expect(&self, _tasks: usize) {}

    /// Whether [`Receiver::begin`] and [`Receiver::end`] are of use.
    fn follows_tasks(&self) -> bool {
        false
    }

    /// Such a task begins.
    fn begin(&self, _task: &str) {}

    /// Such a task ends.
    fn end(&self, _task: &str) {}

    /// What a task was to make was there from an earlier link.
    fn kept(&self, _what: &str) {}
}

/// Keeps the messages of a link.
#[derive(Debug, Default)]
pub struct Collector(Mutex<Vec<Diagnostic>>);

impl Collector {
    /// The messages, in their order.
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Receiver for Collector {
    fn message(&self, severity: Severity, message: &Message) {
        let mut diagnostics = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        diagnostics.push(Diagnostic { severity, message: message.clone() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn switches_change_for_what_follows() {
        let collector = Collector::default();
        let sink = Sink::new(Switches::default(), &collector);
        let other = sink.received_by(&collector);
        let message = Message::ArchNotFound { target: "sm_90".into(), file: "a.o".into() };
        sink.report(&message);
        other.switch(Switches { warnings_are_errors: true, no_warnings: false });
        sink.report(&message);
        other.switch(Switches { warnings_are_errors: true, no_warnings: true });
        sink.report(&message);
        assert_eq!(sink.errors(), 1);
        let severities: Vec<_> = collector.into_diagnostics().iter().map(|said| said.severity).collect();
        assert_eq!(severities, [Severity::Warning, Severity::Error]);
    }

    #[test]
    fn a_diagnostic_has_code_text_and_fields() {
        let message = Message::UnknownOption { word: "bogus".into() };
        let diagnostic = Diagnostic { severity: Severity::Fatal, message };
        assert_eq!(diagnostic.to_string(), "fatal: Unknown option 'bogus'");
        assert_eq!(diagnostic.fields(), [("word", b"bogus".to_vec())]);
    }
}
