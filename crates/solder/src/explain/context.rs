//! What explanations are drawn from, and how they are written.

use std::cell::OnceCell;
use std::path::Path;

use super::names::Index;
use super::references::References;
use crate::diagnostics::{Note, Printer, Sink, Stop};
use crate::load::{Arena, Survey};
use crate::options::Options;
use solder_link::model::object::Object;
use solder_link::pool::Pool;
use solder_link::view::View;

/// What the link is asked to tell.
#[derive(Clone, Copy)]
pub struct Explain<'a, 'data> {
    pub options: &'a Options,
    pub survey: &'a Survey<'data>,
    pub printer: &'a Printer,
    pub pool: &'a Pool,
}

impl Explain<'_, '_> {
    /// Reports go to standard output, apart from the messages.
    pub fn print(&self, text: &str) {
        self.options.console.out(text.as_bytes());
    }
}

/// Writes a report to a file; `-` is standard output.
pub fn write(options: &Options, file: &Path, text: &str, sink: &Sink) -> Result<(), Stop> {
    if file == Path::new("-") {
        options.console.out(text.as_bytes());
        return Ok(());
    }
    crate::output::write_output(file, text.as_bytes(), sink)
}

/// What explanations are drawn from; indices are made when the first message asks for them.
pub struct Context<'a, 'data> {
    pub options: &'a Options,
    pub survey: &'a Survey<'data>,
    pub objects: &'a [Object<'data>],
    pub view: Option<View<'a, 'data>>,
    pub names: OnceCell<Index<'a>>,
    pub references: OnceCell<References<'a>>,
    /// For what is read again.
    pub arena: Arena,
}

impl<'a, 'data> Context<'a, 'data> {
    pub fn new(
        explain: Explain<'a, 'data>,
        objects: &'a [Object<'data>],
        view: Option<View<'a, 'data>>,
    ) -> Self {
        let Explain { options, survey, .. } = explain;
        let (names, references) = (OnceCell::new(), OnceCell::new());
        Self { options, survey, objects, view, names, references, arena: Arena::default() }
    }
}

/// Things told at once by one thread.
const PART: usize = 512;

/// What `tell` says of the items, some at a time.
pub fn in_parts<T: Sync>(
    pool: &Pool,
    items: &[T],
    tell: impl Fn(&[T]) -> String + Send + Sync,
) -> Vec<String> {
    let parts: Vec<&[T]> = items.chunks(PART).collect();
    pool.map(&parts, parts.len() >= 4, |part| tell(part))
}

/// `1 byte`, `2 bytes`.
pub fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The first `most` lines, then how many were left out.
pub fn capped(mut notes: Vec<Note>, most: usize, what: &str) -> Vec<Note> {
    let rest = notes.len().saturating_sub(most);
    // One line that says that one is missing would take its place.
    if rest > 1 {
        let kind = notes[0].kind;
        notes.truncate(most);
        notes.push(Note::new(kind, format!("and {rest} more {what}")));
    }
    notes
}
