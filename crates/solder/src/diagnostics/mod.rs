//! What the linker says: one table of messages, and the sink that prints and counts them.
//!
//! The text is nvlink's, to the letter, with the name that the linker was invoked by in front.

mod held;
mod messages;
mod progress;
mod text;

use std::borrow::Borrow;
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub use held::{Format, Note};
pub use messages::{Message, Row, TABLE};
pub use progress::{Progress, Show};
pub use text::{Field, Hex, Text};

use held::{Event, Printed};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Info,
    Warning,
    Error,
    Fatal,
}

impl Severity {
    /// The word as it stands in a message, padded to the column of the colon.
    pub(crate) fn padded(self) -> &'static str {
        match self {
            Self::Info => "info    ",
            Self::Warning => "warning ",
            Self::Error => "error   ",
            Self::Fatal => "fatal   ",
        }
    }

    fn name(self) -> &'static str {
        self.padded().trim_end()
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
    /// `--explain`: notes follow the messages, and repeated warnings are folded.
    pub explain: bool,
    /// `--error-format`.
    pub format: Format,
}

impl Settings {
    /// Whether messages wait for what explains them.
    pub fn holds(&self) -> bool {
        self.explain || self.format == Format::Json
    }
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
    /// What waits for [`Sink::release`].
    held: Mutex<Vec<Event>>,
    progress: Option<Progress>,
}

impl Sink {
    /// A sink on standard error.
    pub fn new(settings: Settings) -> Self {
        Self::on(settings, Output::Stderr)
    }

    /// A sink that keeps the text, for tests and for callers of the library.
    pub fn in_memory(settings: Settings) -> Self {
        Self::on(settings, Output::Memory(Vec::new()))
    }

    fn on(settings: Settings, output: Output) -> Self {
        let held = Mutex::default();
        Self { settings, errors: AtomicUsize::new(0), output: Mutex::new(output), held, progress: None }
    }

    /// The same sink, with a clock.
    #[must_use]
    pub fn with_progress(mut self, show: Show, timed: bool) -> Self {
        // Lines for programs are not mixed with others.
        let show = if self.settings.format == Format::Json { Show::Never } else { show };
        self.progress = Progress::new(show, timed, &self.settings.tool.to_string());
        self
    }

    /// A phase of the link begins.
    pub fn phase(&self, name: &'static str) {
        if let Some(progress) = &self.progress {
            progress.phase(name);
        }
    }

    /// The phase has this many tasks that take their time.
    pub fn expect(&self, tasks: usize) {
        if let Some(progress) = &self.progress {
            progress.expect(tasks);
        }
    }

    /// Does such a task.
    pub fn during<T>(&self, task: impl FnOnce() -> String, work: impl FnOnce() -> T) -> T {
        let Some(progress) = &self.progress else { return work() };
        let task = task();
        progress.begin(&task);
        let result = work();
        progress.end(&task);
        result
    }

    /// The phases so far, with the time they took.
    pub fn phases(&self) -> Vec<(&'static str, Duration)> {
        self.progress.as_ref().map(Progress::phases).unwrap_or_default()
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
        if self.settings.holds() {
            lock(&self.held).push(Event::Message(severity, message.clone()));
        } else {
            self.print(&self.line(severity, message));
        }
    }

    fn line(&self, severity: Severity, message: &Message) -> Vec<u8> {
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
        line
    }

    /// Prints what was held back so far, each message with the notes that `explain` has for it.
    pub fn release(&self, explain: &dyn Fn(&Message) -> Vec<Note>) {
        let events = std::mem::take(&mut *lock(&self.held));
        if events.is_empty() {
            return;
        }
        let Settings { tool, report_arch, format, .. } = &self.settings;
        let mut out = Vec::new();
        let printed = if *format == Format::Json { held::unfolded(events) } else { held::fold(events) };
        for printed in printed {
            match (printed, *format) {
                (Printed::Text(text), Format::Text) => out.extend_from_slice(&text),
                (Printed::Text(text), Format::Json) => out.extend(held::json_text(&text, tool).bytes()),
                (Printed::Group(group), Format::Json) => {
                    let notes = explain(&group.first);
                    let line = held::json(group.severity, &group.first, &notes, tool, report_arch.as_ref());
                    out.extend_from_slice(line.as_bytes());
                }
                (Printed::Group(group), Format::Text) => {
                    out.extend(self.line(group.severity, &group.first));
                    for note in explain(&group.first).into_iter().chain(group.repetition()) {
                        out.extend_from_slice(format!("    {}\n", note.text).as_bytes());
                    }
                }
            }
        }
        self.print(&out);
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
        if self.settings.holds() && !bytes.is_empty() {
            lock(&self.held).push(Event::Text(bytes.to_vec()));
        } else {
            self.print(bytes);
        }
    }

    fn print(&self, bytes: &[u8]) {
        let _paused = self.progress.as_ref().map(Progress::pause);
        match &mut *lock(&self.output) {
            // A closed standard error is no reason to fail.
            Output::Stderr => drop(std::io::stderr().write_all(bytes)),
            Output::Memory(text) => text.extend_from_slice(bytes),
        }
    }

    /// What an in-memory sink holds; empty for one on standard error.
    pub fn into_text(self) -> Vec<u8> {
        self.release(&|_| Vec::new());
        match &mut *lock(&self.output) {
            Output::Stderr => Vec::new(),
            Output::Memory(text) => std::mem::take(text),
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

/// What nobody explained is still said.
impl Drop for Sink {
    fn drop(&mut self) {
        self.release(&|_| Vec::new());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
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

    fn not_found(file: &str) -> Message {
        Message::ArchNotFound { target: "sm_90".into(), file: file.into() }
    }

    #[test]
    fn warnings_are_folded_under_explain() {
        let sink = Sink::in_memory(Settings { explain: true, ..settings() });
        for file in ["a.o", "b.o", "c.o", "b.o"] {
            sink.report(not_found(file));
        }
        sink.write(b"text\n");
        sink.report(Message::MergeFailed);
        sink.report(Message::MergeFailed);
        sink.release(&|_| vec![Note::new("hint", "why")]);
        let expected = "nvlink warning : SM Arch ('sm_90') not found in 'a.o'\n    why\n    \
                        said 4 times, also of 'b.o', 'c.o'\ntext\n\
                        nvlink fatal   : merge_elf failed\n    why\n\
                        nvlink fatal   : merge_elf failed\n    why\n";
        assert_eq!(String::from_utf8_lossy(&sink.into_text()), expected);
    }

    #[test]
    fn json_has_one_object_a_line() {
        let sink = Sink::in_memory(Settings { format: Format::Json, ..settings() });
        sink.report(not_found("a\"b.o"));
        sink.write(b"two\nlines\n");
        let expected = r#"{"tool":"nvlink","severity":"warning","code":"arch-not-found","message":"SM Arch ('sm_90') not found in 'a\"b.o'","fields":{"target":"sm_90","file":"a\"b.o"},"notes":[]}
{"tool":"nvlink","severity":"info","code":"output","message":"two\nlines","fields":{},"notes":[]}
"#;
        assert_eq!(String::from_utf8_lossy(&sink.into_text()), expected);
    }
}
