//! What solder does beside linking. nvlink has no subcommands, so they exist only under solder's own name and only
//! as the first word: under any other name, and after any option, the words mean what they mean to nvlink.

mod completions;
mod inspect;
mod man;
mod report;
mod screen;
mod shadow;
mod words;

use std::ffi::OsString;
use words::eprint;

/// A subcommand: the words after its name, and a failure as a finished sentence.
type Command = fn(&[OsString]) -> Result<(), String>;

const COMMANDS: [(&str, Command); 5] = [
    ("completions", completions::run),
    ("inspect", inspect::run),
    ("man", man::run),
    ("report", report::run),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_subcommands_are_completed() {
        assert_eq!(COMMANDS.map(|(name, _)| name), words::NAMES);
    }
}
