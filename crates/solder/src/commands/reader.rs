//! The words of a subcommand: options from a table, values, files.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use crate::near::nearest;

/// An option that a subcommand knows.
pub(super) struct Known {
    name: &'static str,
    /// Other spellings.
    also: &'static [&'static str],
    takes: Takes,
}

#[derive(Clone, Copy)]
enum Takes {
    Nothing,
    /// The next word, or what follows an equals sign.
    Value,
    /// One of these words, which may be left out.
    Choice(&'static [&'static str]),
}

/// An option without a value.
pub(super) const fn flag(name: &'static str) -> Known {
    Known { name, also: &[], takes: Takes::Nothing }
}

/// An option with a value.
pub(super) const fn value(name: &'static str) -> Known {
    Known { name, also: &[], takes: Takes::Value }
}

/// An option that may have one of these values. A next word that is not one of them is not its value.
pub(super) const fn choice(name: &'static str, values: &'static [&'static str]) -> Known {
    Known { name, also: &[], takes: Takes::Choice(values) }
}

impl Known {
    pub(super) const fn also(self, also: &'static [&'static str]) -> Self {
        Self { also, ..self }
    }

    fn is(&self, name: &OsStr) -> bool {
        name == self.name || self.also.iter().any(|other| name == *other)
    }
}

/// A word, with its value if it has one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// The name of an option as the table has it. Every subcommand has `--help`.
    Option(&'static str, Option<OsString>),
    File(OsString),
}

/// Reads words one after the other. `-` is a file, and so is everything after `--`.
pub(super) struct Reader<'a> {
    rest: std::slice::Iter<'a, OsString>,
    known: &'static [Known],
    usage: &'static str,
    only_files: bool,
}

const HELP: &str = "--help";

impl<'a> Reader<'a> {
    pub(super) fn new(words: &'a [OsString], known: &'static [Known], usage: &'static str) -> Self {
        Self { rest: words.iter(), known, usage, only_files: false }
    }

    pub(super) fn next(&mut self) -> Result<Option<Word>, String> {
        let Some(word) = self.rest.next() else { return Ok(None) };
        if self.only_files || word == "-" || !word.as_bytes().starts_with(b"-") {
            return Ok(Some(Word::File(word.clone())));
        }
        if word == "--" {
            self.only_files = true;
            return self.next();
        }
        if word == "-h" || word == HELP {
            return Ok(Some(Word::Option(HELP, None)));
        }
        let (name, joined) = split(word);
        let Some(known) = self.known.iter().find(|known| known.is(name)) else {
            return Err(self.unknown(&name.to_string_lossy()));
        };
        let value = self.value(known, joined)?;
        Ok(Some(Word::Option(known.name, value)))
    }

    fn value(&mut self, known: &Known, joined: Option<&OsStr>) -> Result<Option<OsString>, String> {
        let name = known.name;
        match (known.takes, joined) {
            (Takes::Nothing, None) => Ok(None),
            (Takes::Nothing, Some(_)) => Err(format!("{name} takes no value")),
            (Takes::Value, Some(value)) => Ok(Some(value.into())),
            (Takes::Value, None) => {
                self.rest.next().cloned().map(Some).ok_or(format!("{name} needs a value"))
            }
            (Takes::Choice(values), Some(value)) if values.iter().any(|known| value == *known) => {
                Ok(Some(value.into()))
            }
            (Takes::Choice(values), Some(value)) => {
                Err(format!("{name} takes {}, not '{}'", values.join(", "), value.display()))
            }
            (Takes::Choice(values), None) => {
                let next = self.rest.as_slice().first();
                let is_value = next.is_some_and(|next| values.iter().any(|known| next == known));
                Ok(if is_value { self.rest.next().cloned() } else { None })
            }
        }
    }

    fn unknown(&self, name: &str) -> String {
        let names = self.known.iter().map(|known| known.name).chain([HELP]);
        match nearest(name, names) {
            Some(near) => format!("unknown option '{name}'; did you mean {near}?"),
            None => self.wrong(&format!("unknown option '{name}'")),
        }
    }

    /// A mistake, with the usage after it.
    pub(super) fn wrong(&self, what: &str) -> String {
        format!("{what}\n\n{}", self.usage)
    }
}

/// An option and the value after its equals sign.
fn split(word: &OsStr) -> (&OsStr, Option<&OsStr>) {
    let bytes = word.as_bytes();
    match bytes.iter().position(|&byte| byte == b'=') {
        Some(at) => (OsStr::from_bytes(&bytes[..at]), Some(OsStr::from_bytes(&bytes[at + 1..]))),
        None => (word, None),
    }
}

/// The parts of a list with commas, without those that are empty.
pub(super) fn list(value: &OsStr) -> Vec<String> {
    let value = value.to_string_lossy();
    value.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [Known; 3] =
        [flag("--all"), value("--arch").also(&["-arch"]), choice("--list", &["elf", "ptx"])];

    fn read(words: &[&str]) -> Result<Vec<Word>, String> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let mut reader = Reader::new(&words, &KNOWN, "usage: x\n");
        let mut found = Vec::new();
        while let Some(word) = reader.next()? {
            found.push(word);
        }
        Ok(found)
    }

    fn option(name: &'static str, value: &str) -> Word {
        Word::Option(name, Some(value.into()).filter(|_| !value.is_empty()))
    }

    #[test]
    fn options_values_and_files() {
        let file = |name: &str| Word::File(name.into());
        assert_eq!(
            read(&["--all", "-", "-arch", "90", "--arch=a=b", "--", "--all", "-h"]),
            Ok(vec![
                option("--all", ""),
                file("-"),
                option("--arch", "90"),
                option("--arch", "a=b"),
                file("--all"),
                file("-h"),
            ])
        );
        assert_eq!(
            read(&["--list", "elf", "--list=ptx", "--list", "x", "-h"]),
            Ok(vec![
                option("--list", "elf"),
                option("--list", "ptx"),
                option("--list", ""),
                file("x"),
                option("--help", ""),
            ])
        );
    }

    #[test]
    fn mistakes_are_named() {
        for (words, part) in [
            (&["--arhc", "90"][..], "unknown option '--arhc'; did you mean --arch?"),
            (&["--frobnicate=1"], "unknown option '--frobnicate'\n\nusage: x"),
            (&["--arch"], "--arch needs a value"),
            (&["--all=1"], "--all takes no value"),
            (&["--list=x"], "--list takes elf, ptx, not 'x'"),
        ] {
            assert_eq!(read(words).expect_err("an error").lines().next(), part.lines().next());
        }
    }

    #[test]
    fn lists() {
        assert_eq!(list(OsStr::new("a,,b")), ["a", "b"]);
    }
}
