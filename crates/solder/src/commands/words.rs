//! What subcommands share: words, and text for people.

use std::ffi::{OsStr, OsString};

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

/// Takes `--name VALUE` or `--name=VALUE` out of the words, if the next is one.
pub(super) fn value_of(
    name: &str,
    word: &OsStr,
    rest: &mut std::slice::Iter<'_, OsString>,
) -> Result<Option<OsString>, String> {
    use std::os::unix::ffi::OsStrExt;
    if word == name {
        return rest.next().cloned().map(Some).ok_or(format!("{name} needs a value"));
    }
    let joined = word.as_bytes().strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
    Ok(joined.map(|value| OsStr::from_bytes(value).to_owned()))
}

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
