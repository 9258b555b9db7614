//! What solder does beside linking. nvlink has no subcommands, so they exist only under solder's own name and only
//! as the first word: under any other name, and after any option, the words mean what they mean to nvlink.

mod cache;
mod completions;
mod diff;
mod doctor;
mod fatbin;
mod help;
mod inspect;
mod man;
mod prune;
mod reader;
mod report;
mod screen;
mod shadow;
mod words;

pub use fatbin::container;

use std::ffi::OsString;
use words::eprint;

/// A subcommand: the words after its name, and a failure as a finished sentence.
type Command = fn(&[OsString]) -> Result<(), String>;

const COMMANDS: [(&str, Command); 14] = [
    ("cache", cache::run),
    ("completions", completions::run),
    ("diff", diff::run),
    ("doctor", doctor::run),
    ("extract", inspect::extract::run),
    ("fatbin", fatbin::run),
    ("help", print_help),
    ("inspect", inspect::run),
    ("link", link_help),
    ("man", man::run),
    ("prune", prune::run),
    ("report", report::run),
    ("shadow", shadow::run),
    ("size", inspect::size::run),
];

/// The word that may come before the words of a link.
pub const LINK: &str = "link";

/// `solder help`, or that of a command.
fn print_help(words: &[OsString]) -> Result<(), String> {
    let name = words.first().filter(|word| !word.as_encoded_bytes().starts_with(b"-"));
    let Some(name) = name.filter(|name| *name != "help") else {
        words::print(&help::text());
        return Ok(());
    };
    let (_, command) = COMMANDS.iter().find(|(known, _)| name == known).ok_or_else(|| help::unknown(name))?;
    command(&["--help".into()])
}

/// `solder help link`: the options of a link. A link itself is the driver's.
#[allow(clippy::unnecessary_wraps)]
fn link_help(_: &[OsString]) -> Result<(), String> {
    words::print(&crate::options::help("solder", solder_arch::Release::NEWEST));
    Ok(())
}

/// Runs the subcommand that the words begin with, if they do, or says that there is none; the exit code. `None` is a link.
#[cold]
pub fn run(words: &[OsString]) -> Option<u8> {
    let Some((first, rest)) = words.split_first() else { return help::answer(words) };
    if first == LINK {
        return None;
    }
    let Some((name, command)) = COMMANDS.iter().find(|(name, _)| first == name) else {
        return help::answer(words);
    };
    let mut code = 0;
    for reason in [command(rest), words::finish()].into_iter().filter_map(Result::err) {
        eprint(&format!("solder {name}: {reason}\n"));
        code = 1;
    }
    Some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_subcommands_are_completed() {
        assert_eq!(COMMANDS.map(|(name, _)| name), words::NAMES);
    }
}
