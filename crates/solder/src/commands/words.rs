//! What subcommands share: words, and text for people.

use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::load::{Arena, Looked, look};

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

/// Why something that was printed was not written. It is kept until the command ends: nobody has to look at each line.
static LOST: Mutex<Option<io::Error>> = Mutex::new(None);

/// Prints on standard output.
pub(super) fn print(text: &str) {
    lost_if(io::stdout().write_all(text.as_bytes()));
}

/// That nobody reads it is not a fault; that there is no room for it is one.
fn lost_if(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        LOST.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

/// Has all that was printed written; why some of it was not.
pub(super) fn finish() -> Result<(), String> {
    lost_if(io::stdout().flush());
    match LOST.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(error) => Err(format!("standard output could not be written: {error}")),
        None => Ok(()),
    }
}

/// The name of a file that is standard input, in every subcommand.
pub(super) const STANDARD_INPUT: &str = "-";

/// Opens a file of the command line to look at it.
pub(super) fn open<'data>(path: &Path, arena: &'data Arena) -> io::Result<Looked<'data>> {
    if path != Path::new(STANDARD_INPUT) {
        return look(path, arena);
    }
    let mut data = Vec::new();
    io::stdin().read_to_end(&mut data)?;
    Ok(Looked::of_memory(arena.own(data)))
}

/// What a file of the command line is called in what is printed.
pub(super) fn title(path: &Path) -> Cow<'_, str> {
    if path == Path::new(STANDARD_INPUT) { "standard input".into() } else { path.to_string_lossy() }
}

/// Prints on standard error.
pub(super) fn eprint(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
