//! `solder help`, and what solder says to a command line that is neither a command nor a link.

use std::ffi::OsString;
use std::fmt::Write;

use super::words::{NAMES, eprint};
use crate::near;
use crate::options::TABLE;

/// One line for each command, in the order in which a newcomer meets them.
const COMMANDS: [(&str, &str); 14] = [
    ("link", "link device code, with all options of nvlink; this word may be left out"),
    ("inspect", "show what is inside cubins, fat binaries, objects, archives and libraries"),
    ("extract", "write the cubins, PTX and LTO IR inside such files into files of their own"),
    ("prune", "remove device code that is not wanted from such files, shared libraries too"),
    ("fatbin", "put cubins and PTX together into a fat binary, as fatbinary does"),
    ("size", "show where the bytes are: by architecture, file, section, kernel, family of kernels"),
    ("diff", "say how two cubins differ"),
    ("report", "compare the reports of two links: what grew, what came, what went"),
    ("shadow", "make a CUDA toolkit whose nvlink is solder, for nvcc, make and CMake; or remove it"),
    ("doctor", "look at this machine: toolkits, compilers, shadows, what is wrong and what helps"),
    ("cache", "show, shorten or empty the folder in which compiled IR and assembled PTX are kept"),
    ("man", "print the manual page"),
    ("completions", "print completions for bash, zsh or fish"),
    ("help", "print this, or with the name of a command its own help"),
];

/// The short help.
pub fn text() -> String {
    let mut text = format!(
        "solder {}, an open device linker for CUDA\n\n\
         usage: solder -arch=sm_90 a.o b.o -o linked.cubin\n       solder COMMAND ...\n\n",
        env!("CARGO_PKG_VERSION")
    );
    for (name, what) in COMMANDS.iter().filter(|(name, _)| NAMES.contains(name)) {
        let _ = writeln!(text, "  {name:<12} {what}");
    }
    text + "\nA link that fails: add --explain. All options of a link: solder --help, or solder man.\n"
}

/// Answers a command line that begins with a word that is neither a command nor an input, and has no option of a link.
pub fn answer(words: &[OsString]) -> Option<u8> {
    let Some(first) = words.first() else {
        eprint(&text());
        return Some(1);
    };
    let is_link = looks_like_input(first) || words.iter().any(is_link_option);
    if is_link {
        return None;
    }
    eprint(&format!("solder: {}\n", unknown(first)));
    Some(1)
}

/// That there is no such command.
pub fn unknown(word: &OsString) -> String {
    let word = word.to_string_lossy();
    match near::nearest(&word, NAMES.into_iter()) {
        Some(near) => format!("there is no command '{word}'; did you mean '{near}'?"),
        None => format!("there is no command '{word}'; 'solder help' lists them all"),
    }
}

/// A word with a dash is an option, and one with a dot or a slash, or that names a file, an input.
fn looks_like_input(word: &OsString) -> bool {
    let bytes = word.as_encoded_bytes();
    bytes.is_empty() || bytes[0] == b'-' || bytes.iter().any(|byte| b"./".contains(byte)) || exists(word)
}

fn exists(word: &OsString) -> bool {
    std::path::Path::new(word).exists()
}

/// Whether a word is an option of a link, by its whole name.
fn is_link_option(word: &OsString) -> bool {
    let word = word.to_string_lossy();
    let name = word.split('=').next().unwrap_or_default();
    TABLE.iter().any(|row| {
        let long = name.strip_prefix("--").is_some_and(|name| name == row.long);
        let short = name.strip_prefix('-').is_some_and(|name| Some(name) == row.short);
        long || short
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_listed() {
        for name in NAMES {
            assert!(COMMANDS.iter().any(|(known, _)| *known == name), "{name}");
        }
    }
}
