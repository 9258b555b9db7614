//! What subcommands share: words, and text for people.

/// The subcommands.
pub(super) const NAMES: [&str; 14] = [
    "cache",
    "completions",
    "diff",
    "doctor",
    "extract",
    "fatbin",
    "help",
    "inspect",
    "link",
    "man",
    "prune",
    "report",
    "shadow",
    "size",
];

/// That nobody reads it is not a fault.
pub(super) fn print(text: &str) {
    use std::io::Write;
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// The same on standard error.
pub(super) fn eprint(text: &str) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(text.as_bytes());
}
