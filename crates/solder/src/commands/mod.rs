//! What solder does beside linking. nvlink has no subcommands, so they exist only under solder's own name and only
//! as the first word: under any other name, and behind any option, the words mean what they mean to nvlink.

mod completions;
mod inspect;
mod man;
mod shadow;

use std::ffi::{OsStr, OsString};

/// A subcommand: the words behind its name, and a failure as a finished sentence.
type Command = fn(&[OsString]) -> Result<(), String>;

const COMMANDS: [(&str, Command); 4] = [
    ("completions", completions::run),
    ("inspect", inspect::run),
    ("man", man::run),
    ("shadow", shadow::run),
];

/// Runs the subcommand that the words begin with, if they do; the exit code.
pub fn run(words: &[OsString]) -> Option<u8> {
    let (first, rest) = words.split_first()?;
    let (name, command) = COMMANDS.iter().find(|(name, _)| first == name)?;
    Some(match command(rest) {
        Ok(()) => 0,
        Err(reason) => {
            eprint(&format!("solder {name}: {reason}\n"));
            1
        }
    })
}

/// Takes `--name VALUE` or `--name=VALUE` out of the words, if the next is one.
fn value_of(
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

/// That nobody reads it is no fault.
fn print(text: &str) {
    use std::io::Write;
    let _ = std::io::stdout().write_all(text.as_bytes());
}

fn eprint(text: &str) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(text.as_bytes());
}
