//! The notes, and the one among them that a linker writes about itself.

use crate::list::Entry;
use crate::words;
use bstr::BStr;
use solder_cubin::note::{self, Note};
use solder_cubin::{Cubin, string_at};

const TKINFO: &str = ".note.nv.tkinfo";

/// The linkers' own entries: the first notes of `.note.nv.tkinfo`, where they are to be left out.
#[derive(Default)]
pub struct Linker {
    sections: Option<(usize, usize)>,
    /// Their sizes; zero unless both files have one.
    sizes: (usize, usize),
    /// They have other sizes, and no other file names and options that would explain it.
    pub is_longer: bool,
}

impl Linker {
    pub fn of(a: &Cubin, b: &Cubin, ignore: bool) -> Self {
        let find = |cubin: &Cubin| {
            let section = cubin.section(TKINFO)?;
            let size = linker_entry(section.data)?;
            Some((section.index as usize, size, given(&section.data[..size])))
        };
        match (find(a), find(b)) {
            (Some((x, in_a, given_a)), Some((y, in_b, given_b))) if ignore => Self {
                sections: Some((x, y)),
                sizes: (in_a, in_b),
                is_longer: in_a != in_b && given_a == given_b,
            },
            _ => Self::default(),
        }
    }

    /// How many bytes to leave out at the beginning of these two sections.
    pub fn skip(&self, x: usize, y: usize) -> (usize, usize) {
        if self.sections == Some((x, y)) { self.sizes } else { (0, 0) }
    }

    /// Whether their lengths move what follows.
    pub fn shift(&self) -> bool {
        self.sizes.0 != self.sizes.1
    }
}

/// The size of the linkers' notes at the beginning: the link's own and, in a chain of links, those of the
/// links before. The output of the assembler, which a link of whole programs may hand on unchanged, has
/// no such entry: its first note is used.
fn linker_entry(data: &[u8]) -> Option<usize> {
    let of_linker = |note: &Note<'_>| {
        note.owner == note::OWNER
            && note.kind == note::TYPE_TKINFO
            && tool(note).is_none_or(|tool| tool != "ptxas")
    };
    let size =
        |note: Note<'_>| 12 + note.owner.len().next_multiple_of(4) + note.desc.len().next_multiple_of(4);
    let sizes: Vec<usize> = note::notes(data).take_while(of_linker).map(size).collect();
    (!sizes.is_empty()).then(|| sizes.iter().sum::<usize>().min(data.len()))
}

/// The lengths of what the user gave: the names of the outputs and the command lines.
fn given(data: &[u8]) -> Vec<Option<usize>> {
    let lengths = |note: Note<'_>| [1, 5].map(|at| text(&note, at).map(|text| text.len()));
    note::notes(data).flat_map(lengths).collect()
}

fn word(desc: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(desc.get(4 * at..4 * at + 4)?.try_into().ok()?))
}

fn text<'data>(note: &Note<'data>, at: usize) -> Option<&'data BStr> {
    string_at(note.desc.get(24..)?, word(note.desc, at)?)
}

fn tool<'data>(note: &Note<'data>) -> Option<&'data BStr> {
    text(note, 2)
}

pub fn entries(data: &[u8]) -> Vec<Entry> {
    note::notes(data).map(|note| entry(&note)).collect()
}

fn entry(note: &Note) -> Entry {
    let owner = String::from_utf8_lossy(note.owner).trim_end_matches('\0').to_owned();
    let quoted = |at| text(note, at).map_or_else(|| "unreadable".to_owned(), |text| format!("{text:?}"));
    match (note.kind, tool(note)) {
        (note::TYPE_TKINFO, Some(tool)) => Entry {
            key: format!("tkinfo of '{tool}'"),
            fields: vec![
                ("owner", owner),
                ("note version", word(note.desc, 0).unwrap_or(0).to_string()),
                ("object", quoted(1)),
                ("version", quoted(3)),
                ("build", quoted(4)),
                ("command line", quoted(5)),
            ],
        },
        (note::TYPE_CUINFO, _) if note.desc.len() == 8 => {
            let half = |at: usize| u16::from_le_bytes([note.desc[at], note.desc[at + 1]]).to_string();
            Entry {
                key: "cuinfo".to_owned(),
                fields: vec![
                    ("owner", owner),
                    ("note version", half(0)),
                    ("virtual architecture", half(2)),
                    ("toolkit", word(note.desc, 1).unwrap_or(0).to_string()),
                ],
            }
        }
        _ => Entry {
            key: format!("note of type {}", note.kind),
            fields: vec![("owner", owner), ("descriptor", words::hex(note.desc))],
        },
    }
}
