//! How messages are shown: as text, as nvlink prints it, or as JSON, at once or with what explains them.

mod held;
mod lock;
mod progress;

use std::sync::Mutex;
use std::time::Duration;

pub use held::{Format, Note};
pub use progress::{Progress, Show};
pub use solder_link::diagnostics::{
    Demangled, Hex, Message, Receiver, Severity, Sink, Stop, Switches, TABLE, Text, Value,
};

use crate::console::Console;
use held::{Event, Printed};
use lock::lock;

/// How messages are printed; all of it follows from the options.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The name before every message.
    pub tool: Text,
    /// `-report-arch`: the target, named after every message.
    pub report_arch: Option<Text>,
    /// `-Werror` and `-disable-infos`.
    pub switches: Switches,
    /// `--explain`: notes follow the messages, and repeated warnings are folded.
    pub explain: bool,
    /// `--error-format`.
    pub format: Format,
    /// `--color`.
    pub color: Color,
}

/// Whether severities have a colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Automatic,
    Always,
    Never,
}

impl Color {
    fn is_on(self, console: &Console) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Automatic => {
                let is_set = |name, value: &str| {
                    std::env::var_os(name).is_some_and(|found| {
                        if value.is_empty() { !found.is_empty() } else { found == value }
                    })
                };
                console.is_terminal() && !is_set("NO_COLOR", "") && !is_set("TERM", "dumb")
            }
        }
    }
}

/// The colour of a severity, for a terminal.
fn color_of(severity: Severity) -> &'static [u8] {
    match severity {
        Severity::Info => b"\x1b[36m",
        Severity::Warning => b"\x1b[33m",
        Severity::Error | Severity::Fatal => b"\x1b[1;31m",
    }
}

impl Settings {
    /// Whether messages wait for what explains them.
    pub fn holds(&self) -> bool {
        self.explain || self.format == Format::Json
    }
}

/// Prints messages on standard error.
pub struct Printer {
    settings: Settings,
    console: Console,
    /// What waits for [`Printer::release`].
    held: Mutex<Vec<Event>>,
    /// The errors, if somebody is going to write what became of a link that failed.
    errors: Option<Mutex<Vec<String>>>,
    progress: Option<Progress>,
}

impl Printer {
    /// A printer on the standard error of a console.
    pub fn new(settings: Settings, console: &Console) -> Self {
        Self { settings, console: console.clone(), held: Mutex::default(), errors: None, progress: None }
    }

    /// A printer that keeps the text, for tests.
    pub fn in_memory(settings: Settings) -> Self {
        Self::new(settings, &Console::in_memory())
    }

    /// The same, with a clock.
    #[must_use]
    pub fn with_progress(mut self, show: Show, timed: bool) -> Self {
        // Lines for programs are not mixed with others.
        let show = if self.settings.format == Format::Json { Show::Never } else { show };
        self.progress = Progress::new(show, timed, &self.settings.tool.to_string(), &self.console);
        self
    }

    /// The same, with a memory for errors.
    #[must_use]
    pub fn with_errors(mut self, keeps: bool) -> Self {
        self.errors = keeps.then(Mutex::default);
        self
    }

    /// The errors so far, to be written once: `None` afterwards, and if nobody asked for them.
    pub fn take_errors(&self) -> Option<Vec<String>> {
        let errors = std::mem::take(&mut *lock(self.errors.as_ref()?));
        (!errors.is_empty()).then_some(errors)
    }

    /// The sink that prints here.
    pub fn sink(&self) -> Sink<'_> {
        Sink::new(self.settings.switches, self)
    }

    /// The phases so far, with the time they took.
    pub fn phases(&self) -> Vec<(&'static str, Duration)> {
        self.progress.as_ref().map(Progress::phases).unwrap_or_default()
    }

    fn line(&self, severity: Severity, message: &Message) -> Vec<u8> {
        let mut line = Vec::with_capacity(120);
        line.extend_from_slice(self.settings.tool.as_bytes());
        line.push(b' ');
        let color = self.settings.color.is_on(&self.console);
        if color {
            line.extend_from_slice(color_of(severity));
        }
        line.extend_from_slice(severity.padded().as_bytes());
        if color {
            line.extend_from_slice(b"\x1b[0m");
        }
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

    fn print(&self, bytes: &[u8]) {
        let _paused = self.progress.as_ref().map(Progress::pause);
        self.console.err(bytes);
    }

    /// The text of a printer in memory.
    pub fn into_text(self) -> Vec<u8> {
        self.release(&|_| Vec::new());
        self.console.take().1
    }
}

impl Receiver for Printer {
    fn message(&self, severity: Severity, message: &Message) {
        if let Some(errors) = self.errors.as_ref().filter(|_| severity >= Severity::Error) {
            let mut text = Vec::new();
            message.write_text(&mut text);
            lock(errors).push(String::from_utf8_lossy(&text).into_owned());
        }
        if self.settings.holds() {
            lock(&self.held).push(Event::Message(severity, message.clone()));
        } else {
            self.print(&self.line(severity, message));
        }
    }

    fn text(&self, text: &[u8]) {
        if self.settings.holds() && !text.is_empty() {
            lock(&self.held).push(Event::Text(text.to_vec()));
        } else {
            self.print(text);
        }
    }

    fn answer(&self, text: &[u8]) {
        self.console.out(text);
    }

    fn phase(&self, name: &'static str) {
        if let Some(progress) = &self.progress {
            progress.phase(name);
        }
    }

    fn expect(&self, tasks: usize) {
        if let Some(progress) = &self.progress {
            progress.expect(tasks);
        }
    }

    fn follows_tasks(&self) -> bool {
        self.progress.is_some()
    }

    fn begin(&self, task: &str) {
        if let Some(progress) = &self.progress {
            progress.begin(task);
        }
    }

    fn end(&self, task: &str) {
        if let Some(progress) = &self.progress {
            progress.end(task);
        }
    }

    fn kept(&self, what: &str) {
        if let Some(progress) = &self.progress {
            progress.kept(what);
        }
    }
}

/// What nobody explained is still printed.
impl Drop for Printer {
    fn drop(&mut self) {
        self.release(&|_| Vec::new());
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
        let printer = Printer::in_memory(settings());
        let stop = printer.sink().fatal(Message::UnknownOption { word: "bogus".into() });
        assert_eq!(stop.exit_code(), 1);
        assert_eq!(printer.into_text(), b"nvlink fatal   : Unknown option 'bogus'\n");
    }

    #[test]
    fn warnings_as_errors_count() {
        let printer = Printer::in_memory(Settings {
            switches: Switches { warnings_are_errors: true, no_warnings: false },
            report_arch: Some("sm_90".into()),
            ..settings()
        });
        let sink = printer.sink();
        sink.report(Message::ArchNotFound { target: "sm_90".into(), file: "a.o".into() });
        assert_eq!(sink.check(), Err(Stop::ERRORS));
        drop(sink);
        assert_eq!(
            printer.into_text(),
            b"nvlink error   : SM Arch ('sm_90') not found in 'a.o' (target: sm_90)\n"
        );
    }

    fn not_found(file: &str) -> Message {
        Message::ArchNotFound { target: "sm_90".into(), file: file.into() }
    }

    #[test]
    fn warnings_are_folded_under_explain() {
        let printer = Printer::in_memory(Settings { explain: true, ..settings() });
        for file in ["a.o", "b.o", "c.o", "b.o"] {
            printer.sink().report(not_found(file));
        }
        printer.sink().write(b"text\n");
        printer.sink().report(Message::MergeFailed);
        printer.sink().report(Message::MergeFailed);
        printer.release(&|_| vec![Note::new("hint", "why")]);
        let expected = "nvlink warning : SM Arch ('sm_90') not found in 'a.o'\n    why\n    \
                        said 4 times, also of 'b.o', 'c.o'\ntext\n\
                        nvlink fatal   : merge_elf failed\n    why\n\
                        nvlink fatal   : merge_elf failed\n    why\n";
        assert_eq!(String::from_utf8_lossy(&printer.into_text()), expected);
    }

    #[test]
    fn json_has_one_object_a_line() {
        let printer = Printer::in_memory(Settings { format: Format::Json, ..settings() });
        printer.sink().report(not_found("a\"b.o"));
        printer.sink().write(b"two\nlines\n");
        let expected = r#"{"tool":"nvlink","severity":"warning","code":"arch-not-found","message":"SM Arch ('sm_90') not found in 'a\"b.o'","fields":{"target":"sm_90","file":"a\"b.o"},"notes":[]}
{"tool":"nvlink","severity":"info","code":"output","message":"two\nlines","fields":{},"notes":[]}
"#;
        assert_eq!(String::from_utf8_lossy(&printer.into_text()), expected);
    }
}
