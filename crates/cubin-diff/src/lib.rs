//! Says how two cubins differ, in the words of the format: names instead of indices, records instead
//! of bytes, and what explains the most first.
//!
//! Nothing is left out. Everything a cubin can say is compared by meaning; whatever bytes are then
//! still unequal (a name stored twice, padding that is not zero) are reported as bytes.

mod bytes;
mod contents;
mod header;
mod info;
mod layout;
mod list;
mod note;
mod sink;
mod table;
mod view;
mod words;

use sink::Sink;
use solder_cubin::raw::ELF_MAGIC;
use solder_cubin::{Cubin, Error};
use view::{Both, View};

pub use sink::{Difference, Kind, report};

/// What to compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Leave out the linker's own entry in `.note.nv.tkinfo` and what its length shifts.
    pub ignore_tkinfo: bool,
}

/// The differences between two files, most important first; none if the files are equal.
pub fn diff(a: &[u8], b: &[u8], options: &Options) -> Vec<Difference> {
    if a == b {
        return Vec::new();
    }
    let mut sink = Sink::default();
    match (Cubin::parse(a), Cubin::parse(b)) {
        (Ok(a), Ok(b)) => cubins(&mut sink, &View::new(a), &View::new(b), *options),
        (first, second) => {
            unreadable(&mut sink, "A", a, first.err());
            unreadable(&mut sink, "B", b, second.err());
            bytes::whole_files(&mut sink, a, b);
        }
    }
    sink.finish()
}

/// Says why a file is compared as bytes only. Files that are no device code at all are read well
/// enough that way; a device ELF that cannot be read is not.
fn unreadable(sink: &mut Sink, side: &str, bytes: &[u8], error: Option<Error>) {
    let Some(error) = error else { return };
    let kind = match error {
        Error::NotElf | Error::NotDevice => Kind::Bytes,
        Error::TooShort if !bytes.starts_with(&ELF_MAGIC) => Kind::Bytes,
        _ => Kind::Unreadable,
    };
    sink.push(kind, "", format!("{side} cannot be read as a cubin ({error}): comparing bytes"));
}

fn cubins(sink: &mut Sink, a: &View, b: &View, options: Options) {
    let both = Both::new(a, b, options.ignore_tkinfo);
    header::file(sink, &both);
    let pairs = header::section_list(sink, &both);
    for &pair in &pairs {
        header::section(sink, &both, pair);
        contents::compare(sink, &both, pair);
    }
    layout::compare(sink, &both);
}
