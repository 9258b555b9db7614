//! Differences, how they are collected, and how they are shown.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// What a difference is about. The order is the order of the report: what explains the others first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Unreadable,
    Bytes,
    Header,
    SectionList,
    SectionHeader,
    SymbolList,
    Symbol,
    Info,
    Relocation,
    CallGraph,
    Prototype,
    Compat,
    Note,
    Contents,
    Strings,
    Segment,
    Layout,
    Padding,
}

impl Kind {
    /// What one such difference is called in the summary.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Bytes => "bytes",
            Self::Header => "header",
            Self::SectionList => "section list",
            Self::SectionHeader => "section headers",
            Self::SymbolList => "symbol list",
            Self::Symbol => "symbols",
            Self::Info => "nv.info",
            Self::Relocation => "relocations",
            Self::CallGraph => "call graph",
            Self::Prototype => "prototypes",
            Self::Compat => "compat records",
            Self::Note => "notes",
            Self::Contents => "contents",
            Self::Strings => "string tables",
            Self::Segment => "segments",
            Self::Layout => "layout",
            Self::Padding => "padding",
        }
    }
}

/// One difference: a line that can stand alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub kind: Kind,
    /// The section it is about, empty if it is about the file.
    pub place: String,
    pub text: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Two large sections may differ in every row; nobody reads more than this many of them.
const MOST_PER_PLACE: usize = 10_000;

#[derive(Default)]
pub struct Sink {
    found: Vec<Difference>,
    counts: BTreeMap<(Kind, String), usize>,
}

impl Sink {
    pub fn push(&mut self, kind: Kind, place: &str, text: String) {
        let count = self.counts.entry((kind, place.to_owned())).or_default();
        *count += 1;
        if *count <= MOST_PER_PLACE {
            self.found.push(Difference { kind, place: place.to_owned(), text });
        }
    }

    /// A mark to ask later whether anything was found since.
    pub fn len(&self) -> usize {
        self.found.len()
    }

    pub fn finish(mut self) -> Vec<Difference> {
        for ((kind, place), count) in self.counts {
            if let Some(more @ 1..) = count.checked_sub(MOST_PER_PLACE) {
                let text = format!("{place}: … {more} more differences");
                self.found.push(Difference { kind, place, text });
            }
        }
        self.found.sort_by_key(|difference| difference.kind);
        self.found
    }
}

/// The differences as text: a summary, then a line for each, `limit` of them for each section.
pub fn report(differences: &[Difference], limit: Option<usize>) -> String {
    let mut out = String::new();
    let kinds = differences.chunk_by(|x, y| x.kind == y.kind);
    let summary: Vec<String> = kinds.map(|run| format!("{} {}", run[0].kind.as_str(), run.len())).collect();
    let _ = writeln!(out, "{}", summary.join(" · "));
    for run in differences.chunk_by(|x, y| x.kind == y.kind && x.place == y.place) {
        let shown = limit.map_or(run.len(), |limit| limit.min(run.len()));
        for difference in &run[..shown] {
            let _ = writeln!(out, "{difference}");
        }
        if shown < run.len() {
            let _ = writeln!(out, "{}: … {} more", run[0].place, run.len() - shown);
        }
    }
    out
}
