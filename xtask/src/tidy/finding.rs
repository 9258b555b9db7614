//! One broken rule, with its place.

use std::fmt;

/// What is checked. The order is that of docs/testing.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// Between modules with the same parent.
    Circle,
    /// Between a parent's own items and the modules in it.
    Parent,
    Layer,
    Unsafe,
    Length,
    Document,
    Case,
    Rule,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Circle => "circles",
            Self::Parent => "circles with a parent",
            Self::Layer => "imports that point up",
            Self::Unsafe => "unsafe code",
            Self::Length => "length",
            Self::Document => "names of files",
            Self::Case => "names of cases",
            Self::Rule => "rules of the reference",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Relative to the root of the repository.
    pub file: String,
    pub line: usize,
    pub check: Check,
    /// The folder's name of the crate that it is in, or nothing.
    pub krate: String,
    pub text: String,
}

impl Finding {
    /// A finding about a place; the crate follows from the path.
    pub fn new(check: Check, file: &str, line: usize, text: String) -> Self {
        let krate = match file.split('/').collect::<Vec<_>>()[..] {
            ["crates", krate, ..] => krate,
            ["xtask", ..] => "xtask",
            _ => "",
        };
        Self { file: file.into(), line, check, krate: krate.into(), text }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.text)
    }
}
