//! The two logs of a session.

use solder_link::{Diagnostic, Message, Severity};

/// Text that grows.
#[derive(Clone, Debug, Default)]
pub struct Log(Vec<u8>);

impl Log {
    /// What a caller fetches: the text and a NUL, also of an empty log, whose size is said to be 0.
    pub fn with_nul(&self) -> Vec<u8> {
        let mut text = self.0.clone();
        text.push(0);
        text
    }

    /// The size that a caller is told: that of the text and its NUL, or 0 if there is no text.
    pub fn size(&self) -> usize {
        if self.0.is_empty() { 0 } else { self.0.len() + 1 }
    }

    /// A line, made of parts. Names need not be UTF-8.
    pub fn line(&mut self, parts: &[&[u8]]) {
        for part in parts {
            self.0.extend_from_slice(part);
        }
        self.0.push(b'\n');
    }

    /// Text as it is.
    pub fn text(&mut self, text: &[u8]) {
        self.0.extend_from_slice(text);
    }

    /// A message of the linker, as nvJitLink prints it.
    pub fn message(&mut self, diagnostic: &Diagnostic) {
        let severity = diagnostic.severity;
        self.text(severity.padded().as_bytes());
        self.text(b": ");
        // Names may hold ends of lines.
        for (at, line) in diagnostic.text().split(|&byte| byte == b'\n').enumerate() {
            self.text(if at > 0 { b"\n        . " } else { b"" });
            self.text(line);
        }
        self.text(b"\n");
    }
}

/// The logs: errors, and everything else.
#[derive(Clone, Debug, Default)]
pub struct Logs {
    pub error: Log,
    pub info: Log,
}

impl Logs {
    /// Puts messages of the linker into the log that they belong to.
    pub fn messages(&mut self, diagnostics: &[Diagnostic]) {
        // These come with an input. The library does not report them.
        let is_of_link = |diagnostic: &&Diagnostic| {
            !matches!(
                diagnostic.message,
                Message::Expected64Bit { .. }
                    | Message::OutputLimited { .. }
                    | Message::ExtensibleWithOthers { .. }
            )
        };
        for diagnostic in diagnostics.iter().filter(is_of_link) {
            let log = if diagnostic.severity >= Severity::Error { &mut self.error } else { &mut self.info };
            log.message(diagnostic);
        }
    }
}
