//! Device ELFs (and, as far as the tables go, any ELF of 64 bits).

use solder_cubin::edit::with_section;
use solder_cubin::raw::{self, FileHeader, SectionHeader};
use zerocopy::FromBytes;

use super::{bytes, records};
use crate::corpus::Corpus;
use crate::rng::Rng;

type Fields = &'static [(usize, usize)];

const FILE_HEADER: Fields = &[
    (4, 1),
    (5, 1),
    (7, 1),
    (8, 1),
    (16, 2),
    (18, 2),
    (32, 8),
    (40, 8),
    (48, 4),
    (48, 1),
    (49, 1),
    (50, 1),
    (51, 1),
    (52, 2),
    (54, 2),
    (56, 2),
    (58, 2),
    (60, 2),
    (62, 2),
];
const SECTION_HEADER: Fields =
    &[(0, 4), (4, 4), (8, 8), (8, 4), (16, 8), (24, 8), (32, 8), (40, 4), (44, 4), (48, 8), (56, 8)];
const SYMBOL: Fields = &[(0, 4), (4, 1), (4, 1), (5, 1), (6, 2), (6, 2), (8, 8), (16, 8)];
const REL: Fields = &[(0, 8), (8, 4), (8, 4), (12, 4)];
const RELA: Fields = &[(0, 8), (8, 4), (8, 4), (12, 4), (16, 8)];
const PAIR: Fields = &[(0, 4), (4, 4)];

/// A section as its header has it, wherever that points.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub header_at: usize,
    pub start: usize,
    pub size: usize,
    pub sh_type: u32,
}

/// The sections of a file whose header can be read, however wrong they are.
pub(super) fn sections(file: &[u8]) -> Vec<Place> {
    let Ok((header, _)) = FileHeader::ref_from_prefix(file) else { return Vec::new() };
    let table = header.shoff.get() as usize;
    let place = |index: usize| {
        let header_at = table.checked_add(index * size_of::<SectionHeader>())?;
        let (header, _) = SectionHeader::ref_from_prefix(file.get(header_at..)?).ok()?;
        let start = (header.offset.get() as usize).min(file.len());
        let stored = !raw::takes_no_file_space(header.sh_type.get());
        let size = if stored { (header.size.get() as usize).min(file.len() - start) } else { 0 };
        Some(Place { header_at, start, size, sh_type: header.sh_type.get() })
    };
    (0..usize::from(header.shnum.get())).map_while(place).collect()
}

/// The entries of the tables among the sections: their size and fields.
fn entries(sh_type: u32) -> Option<(usize, Fields)> {
    Some(match sh_type {
        raw::SHT_SYMTAB | raw::SHT_MERC_SYMTAB => (24, SYMBOL),
        raw::SHT_REL => (16, REL),
        raw::SHT_RELA | raw::SHT_MERC_RELA | raw::SHT_CUDA_RESOLVED_RELA | raw::SHT_MERC_RESOLVED_RELA => {
            (24, RELA)
        }
        raw::SHT_CUDA_CALLGRAPH | raw::SHT_CUDA_PROTOTYPE => (8, PAIR),
        _ => return None,
    })
}

pub(super) fn mutate(rng: &mut Rng, file: &mut Vec<u8>, corpus: &Corpus) {
    match rng.below(20) {
        0 => bytes::change_entry(rng, file, (0, 64, 1), FILE_HEADER),
        1..=4 => section_header(rng, file),
        5..=11 => entry(rng, file),
        12..=14 => contents(rng, file),
        15 | 16 => resize(rng, file),
        17 | 18 => take(rng, file, corpus),
        _ => swap(rng, file),
    }
}

pub(super) fn section_header(rng: &mut Rng, file: &mut [u8]) {
    let sections = sections(file);
    let Some(first) = sections.first() else { return };
    bytes::change_entry(rng, file, (first.header_at, 64, sections.len()), SECTION_HEADER);
}

/// A field of a symbol, a relocation, a call or a prototype.
pub(super) fn entry(rng: &mut Rng, file: &mut [u8]) {
    let tables: Vec<Place> =
        sections(file).into_iter().filter(|s| s.size > 0 && entries(s.sh_type).is_some()).collect();
    let Some(table) = rng.pick(&tables) else { return };
    let Some((size, fields)) = entries(table.sh_type) else { return };
    bytes::change_entry(rng, file, (table.start, size, table.size / size), fields);
}

/// The contents of a section: by records where it has some.
fn contents(rng: &mut Rng, file: &mut [u8]) {
    let Some(section) = with_bytes(rng, file) else { return };
    let data = &mut file[section.start..section.start + section.size];
    match section.sh_type {
        raw::SHT_CUDA_INFO | raw::SHT_MERC_INFO | raw::SHT_CUDA_COMPAT => {
            records::change_attribute(rng, data);
        }
        raw::SHT_NOTE => records::change_note(rng, data),
        _ => {
            let width = 1 << rng.below(4);
            let at = rng.below(section.size);
            bytes::change(rng, data, at / width * width, width);
        }
    }
}

fn with_bytes(rng: &mut Rng, file: &[u8]) -> Option<Place> {
    let sections: Vec<Place> = sections(file).into_iter().filter(|s| s.size > 0).collect();
    let special = |s: &&Place| matches!(s.sh_type, 0x7000_0000.. | raw::SHT_NOTE);
    let special: Vec<Place> = sections.iter().filter(special).copied().collect();
    if rng.percent(60) { rng.pick(&special).copied() } else { rng.pick(&sections).copied() }
}

/// More or fewer records, entries or bytes; the rest of the file moves so that it stays whole.
fn resize(rng: &mut Rng, file: &mut Vec<u8>) {
    let sections = sections(file);
    let index = rng.below(sections.len());
    let Some(section) = sections.get(index).filter(|s| s.size > 0) else { return };
    let mut data = file[section.start..section.start + section.size].to_vec();
    let unit = match (entries(section.sh_type), section.sh_type) {
        (Some((size, _)), _) => size,
        (_, raw::SHT_CUDA_INFO | raw::SHT_MERC_INFO | raw::SHT_CUDA_COMPAT) => 4,
        _ => 1 << rng.below(4),
    };
    let units = data.len() / unit;
    let range = rng.range(units);
    let range = range.start * unit..range.end * unit;
    match rng.below(4) {
        0 => drop(data.drain(range)),
        1 => data.truncate(range.start),
        _ => {
            let piece = data[range].to_vec();
            let at = rng.below(units + 1) * unit;
            data.splice(at..at, piece);
        }
    }
    if let Some(changed) = with_section(file, index, &data) {
        *file = changed;
    }
}

/// The contents that another file has for a section of the same type.
fn take(rng: &mut Rng, file: &mut Vec<u8>, corpus: &Corpus) {
    let Some(other) = rng.pick(&corpus.devices) else { return };
    let own = sections(file);
    let theirs = sections(&other.bytes);
    let pairs: Vec<(usize, Place)> = own
        .iter()
        .enumerate()
        .filter(|(_, section)| section.size > 0)
        .flat_map(|(index, section)| {
            let same = theirs.iter().filter(|other| other.sh_type == section.sh_type && other.size > 0);
            same.map(move |other| (index, *other))
        })
        .collect();
    let Some(&(index, from)) = rng.pick(&pairs) else { return };
    let data = &other.bytes[from.start..from.start + from.size];
    if let Some(changed) = with_section(file, index, data) {
        *file = changed;
    }
}

/// Two headers of sections, or two entries of a table, change places; or the one becomes the other.
fn swap(rng: &mut Rng, file: &mut [u8]) {
    let sections = sections(file);
    let Some(first) = sections.first() else { return };
    let (start, size, count) = if rng.percent(50) {
        (first.header_at, size_of::<SectionHeader>(), sections.len())
    } else {
        let tables: Vec<&Place> = sections.iter().filter(|s| entries(s.sh_type).is_some()).collect();
        let Some(table) = rng.pick(&tables) else { return };
        let size = entries(table.sh_type).map_or(8, |(size, _)| size);
        (table.start, size, table.size / size)
    };
    if count == 0 {
        return;
    }
    let (a, b) = (start + rng.below(count) * size, start + rng.below(count) * size);
    if rng.percent(50) {
        file.copy_within(a..a + size, b);
    } else if a != b {
        let (low, high) = (a.min(b), a.max(b));
        let (head, tail) = file.split_at_mut(high);
        head[low..low + size].swap_with_slice(&mut tail[..size]);
    }
}
