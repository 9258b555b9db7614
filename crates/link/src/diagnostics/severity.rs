//! How serious messages are.

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
