//! Fills the image and puts it where the user wants it.

mod file;

pub use file::{WriteError, write_file};

use crate::contents::{self, chunks};
use crate::ids::{SectionId, SymbolId};
use crate::layout::{Layout, Parts};
use crate::mercury;
use crate::merge::{Chunk, Kind, Merged, OutputSymbol};
use crate::parallel;
use crate::relocate::{Patch, Relocated};
use solder_cubin::raw::{self, Symbol};
use std::cmp::Reverse;
use std::io::{self, Write};
use std::iter::Peekable;
use zerocopy::IntoBytes;

/// A part of the file.
#[derive(Clone, Copy)]
struct Piece<'a> {
    offset: u64,
    size: u64,
    content: Content<'a>,
}

#[derive(Clone, Copy)]
enum Content<'a> {
    Bytes(&'a [u8]),
    /// The symbols from this number on.
    Symbols(usize),
    SectionIndices,
    Section(SectionId),
    /// A section from this offset on.
    Part(SectionId, u64),
}

/// Bytes of the file that are filled before they are written. Each of two buffers of this size is filled, in parallel,
/// while the other is written, so that the file is never in memory as a whole and the buffers stay in the caches.
const AT_A_TIME: u64 = 128 << 10;

/// Where a write of the file begins: the system copies fastest into large pieces of its memory, which lie at such places.
const BLOCK: u64 = 64 << 10;

/// Pieces larger than this are cut.
const LARGE: u64 = AT_A_TIME / 2;

/// Writes the output file. `when_read` is called when all inputs have been read for the last time, beside the last write.
pub fn image(
    parts: Parts<'_, '_>,
    layout: &Layout<'_>,
    out: &mut (dyn Write + Send),
    when_read: impl FnOnce() + Send,
) -> io::Result<()> {
    let whole = pieces(parts, layout);
    let mut pieces = Cut { whole, parts, layout, rest: Vec::new().into_iter() }.peekable();
    let buffer = || Vec::with_capacity(layout.file_size.min(AT_A_TIME + BLOCK) as usize);
    let (mut filled, mut empty) = (Vec::new(), buffer());
    let mut start = 0;
    let mut written = Ok(());
    loop {
        let group = next_group(&mut pieces);
        if group.is_empty() {
            break;
        }
        let end = group.last().map_or(start, |piece| piece.offset + piece.size);
        // What does not fill the last block of the file goes into the next buffer.
        let rest = (start % BLOCK).min(filled.len() as u64) as usize;
        let (whole, rest) = filled.split_at(filled.len() - rest);
        empty.resize(rest.len() + (end - start) as usize, 0);
        empty[..rest.len()].copy_from_slice(rest);
        let fill = || fill(parts, layout, &group, start, &mut empty[rest.len()..]);
        (written, ()) = parallel::join(|| written.and_then(|()| out.write_all(whole)), fill);
        std::mem::swap(&mut filled, &mut empty);
        if empty.capacity() == 0 {
            empty = buffer();
        }
        start = end;
    }
    written?;
    filled.resize(filled.len() + (layout.file_size - start) as usize, 0);
    let (written, ()) = parallel::join(|| out.write_all(&filled), when_read);
    written
}

/// All parts of the file, in its order.
fn pieces<'a>(parts: Parts<'a, '_>, layout: &'a Layout<'_>) -> impl Iterator<Item = Piece<'a>> {
    let bytes = |offset: u64, bytes: &'a [u8]| Piece {
        offset,
        size: bytes.len() as u64,
        content: Content::Bytes(bytes),
    };
    let in_section = |index: usize, content: Content<'a>| {
        let header = &layout.headers[index];
        Piece { offset: header.offset.get(), size: header.size.get(), content }
    };
    let tables = [
        bytes(0, layout.header.as_bytes()),
        in_section(1, Content::Bytes(layout.section_names(parts.merged))),
        in_section(2, Content::Bytes(parts.merged.names.as_bytes())),
        in_section(3, Content::Symbols(0)),
    ];
    let indices = layout.numbers.many_sections.then(|| in_section(4, Content::SectionIndices));
    let first = layout.numbers.tables();
    let sections = layout.numbers.section_order.iter().enumerate().filter_map(move |(index, id)| {
        // nvlink leaves whatever is in memory where the Mercury view has reserved shared memory.
        let empty = raw::takes_no_file_space(layout.headers[first + index].sh_type.get());
        let in_file = !empty && mercury::shares_bytes(parts.merged, *id).is_none();
        in_file.then(|| in_section(first + index, Content::Section(*id)))
    });
    let headers = bytes(layout.header.shoff.get(), layout.headers.as_bytes());
    let segments = bytes(layout.header.phoff.get(), layout.segments.as_bytes());
    let segments = Some(segments).filter(|_| !layout.segments.is_empty());
    tables.into_iter().chain(indices).chain(sections).chain([headers]).chain(segments)
}

/// The pieces of the file, the large ones in parts.
struct Cut<'a, 'data, I> {
    whole: I,
    parts: Parts<'a, 'data>,
    layout: &'a Layout<'data>,
    /// What is left of the current piece.
    rest: std::vec::IntoIter<Piece<'a>>,
}

impl<'a, I: Iterator<Item = Piece<'a>>> Iterator for Cut<'a, '_, I> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        if let Some(part) = self.rest.next() {
            return Some(part);
        }
        let piece = self.whole.next()?;
        if piece.size <= LARGE {
            return Some(piece);
        }
        self.rest = cut(self.parts, self.layout, piece).into_iter();
        self.rest.next()
    }
}

/// Cuts a large piece, if it can be.
fn cut<'a>(parts: Parts<'a, '_>, layout: &Layout<'_>, piece: Piece<'a>) -> Vec<Piece<'a>> {
    let Piece { offset, size, content } = piece;
    let evenly = |step: u64| (1..size.div_ceil(step)).map(|part| part * step).collect();
    let cuts: Vec<u64> = match content {
        Content::Bytes(_) => evenly(LARGE),
        Content::Symbols(_) => evenly(LARGE.next_multiple_of(size_of::<Symbol>() as u64)),
        Content::Section(id) if layout.contents.made(id).is_some() => evenly(LARGE),
        Content::Section(id) if contents::is_relocations(parts, id) => {
            evenly(LARGE.next_multiple_of(contents::entry_size(parts.merged.section(id)) as u64))
        }
        Content::Section(id) => cuts_of_section(parts.merged, parts.relocated, id),
        Content::SectionIndices | Content::Part(..) => Vec::new(),
    };
    let ends: Vec<u64> = cuts.iter().copied().chain([size]).collect();
    let whole = cuts.is_empty();
    let starts = [0].into_iter().chain(cuts);
    let part = |(start, end)| {
        let content = match content {
            _ if whole => content,
            Content::Bytes(bytes) => Content::Bytes(&bytes[start as usize..end as usize]),
            Content::Symbols(_) => Content::Symbols(start as usize / size_of::<Symbol>()),
            Content::Section(id) => Content::Part(id, start),
            Content::SectionIndices | Content::Part(..) => content,
        };
        Piece { offset: offset + start, size: end - start, content }
    };
    starts.zip(ends).map(part).collect()
}

/// Where a section of data is cut: between two pieces of the inputs, where no patch lies across. One whose patches are
/// out of order stays whole, since a part would have to look at all of them.
fn cuts_of_section(merged: &Merged<'_>, relocated: &Relocated, id: SectionId) -> Vec<u64> {
    let section = merged.section(id);
    let lists = || [section.rel, section.rela].into_iter().flatten().map(|list| relocated.patches(list));
    let ordered = lists().all(|patches| patches.is_sorted_by_key(|(offset, _)| Reverse(*offset)));
    if section.function.is_some() || section.kind == Kind::Capsule || !ordered {
        return Vec::new();
    }
    let crossed = |cut: u64| {
        let near = |patches| patches_within(patches, cut.saturating_sub(Patch::LONGEST), cut);
        lists().flat_map(near).any(|(offset, patch)| cut < offset + patch.size() as u64)
    };
    let (mut cuts, mut last, mut end) = (Vec::new(), 0, 0);
    for chunk in chunks(merged, id) {
        if chunk.offset < end {
            return Vec::new();
        }
        if chunk.offset - last >= LARGE && !crossed(chunk.offset) {
            cuts.push(chunk.offset);
            last = chunk.offset;
        }
        end = chunk.offset + chunk.data.len() as u64;
    }
    cuts
}

/// Those of some patches, of which the last in the section comes first, that begin from `start` to before `end`.
fn patches_within(patches: &[(u64, Patch)], start: u64, end: u64) -> &[(u64, Patch)] {
    let from = patches.partition_point(|(offset, _)| *offset >= end);
    let to = patches.partition_point(|(offset, _)| *offset >= start);
    &patches[from..to]
}

/// The next pieces that are filled together; none at the end.
fn next_group<'a>(pieces: &mut Peekable<impl Iterator<Item = Piece<'a>>>) -> Vec<Piece<'a>> {
    let mut group: Vec<Piece<'a>> = Vec::new();
    let start = pieces.peek().map_or(0, |piece| piece.offset);
    while let Some(piece) =
        pieces.next_if(|piece| group.is_empty() || piece.offset + piece.size - start <= AT_A_TIME)
    {
        group.push(piece);
    }
    group
}

/// Fills a buffer, whatever it holds, with the bytes of the file from `start` on.
fn fill(parts: Parts<'_, '_>, layout: &Layout<'_>, pieces: &[Piece<'_>], start: u64, buffer: &mut [u8]) {
    let mut rest = buffer;
    let mut position = start;
    let mut places = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let (gap, tail) = std::mem::take(&mut rest).split_at_mut((piece.offset - position) as usize);
        gap.fill(0);
        let (place, tail) = tail.split_at_mut(piece.size as usize);
        places.push((piece.content, place));
        (rest, position) = (tail, piece.offset + piece.size);
    }
    parallel::for_each(places, |(content, place)| match content {
        Content::Bytes(bytes) => place.copy_from_slice(bytes),
        Content::Symbols(first) => fill_symbols(parts, layout, first, place),
        Content::SectionIndices => fill_section_indices(parts, layout, place),
        Content::Section(id) => fill_section(parts, layout, id, place),
        Content::Part(id, start) => fill_part(parts, layout, id, start, place),
    });
}

/// Fills a part of a section of data from `start` on.
fn fill_part(parts: Parts<'_, '_>, layout: &Layout<'_>, id: SectionId, start: u64, place: &mut [u8]) {
    if let Some(bytes) = layout.contents.made(id) {
        place.copy_from_slice(&bytes[start as usize..][..place.len()]);
        return;
    }
    if contents::is_relocations(parts, id) {
        contents::fill_relocations(parts, &layout.numbers, id, start, place);
        return;
    }
    let end = start + place.len() as u64;
    place.fill(0);
    let chunks = chunks(parts.merged, id);
    let from = chunks.partition_point(|chunk| chunk.offset < start);
    for chunk in chunks[from..].iter().take_while(|chunk| chunk.offset < end) {
        place[(chunk.offset - start) as usize..][..chunk.data.len()].copy_from_slice(chunk.data);
    }
    let section = parts.merged.section(id);
    for relocations in [section.rel, section.rela].into_iter().flatten() {
        for (offset, patch) in patches_within(parts.relocated.patches(relocations), start, end) {
            patch.apply(&mut place[(*offset - start) as usize..]);
        }
    }
}

fn fill_section(parts: Parts<'_, '_>, layout: &Layout<'_>, id: SectionId, place: &mut [u8]) {
    if let Some(bytes) = layout.contents.made(id) {
        place.copy_from_slice(bytes);
        return;
    }
    if contents::is_relocations(parts, id) {
        contents::fill_relocations(parts, &layout.numbers, id, 0, place);
        return;
    }
    if contents::is_attributes(parts.merged.section(id)) {
        contents::fill_attributes(parts, &layout.numbers, id, place);
        return;
    }
    let chunks = chunks(parts.merged, id);
    if !covers(chunks, place.len()) {
        place.fill(0);
    }
    for chunk in chunks {
        let start = chunk.offset as usize;
        place[start..start + chunk.data.len()].copy_from_slice(chunk.data);
    }
    let section = parts.merged.section(id);
    if section.kind == Kind::Capsule
        && let (Some(text), Some(place)) = (section.of, place.first_chunk_mut::<4>())
    {
        *place = layout.numbers.section(text).to_le_bytes();
    }
    let kernel = |f: SymbolId| parts.merged.symbol(f).other & raw::STO_ENTRY != 0;
    let finalized = parts.is_mercury() && !parts.relocatable && !parts.debug;
    if finalized && section.function.is_some_and(kernel) {
        mercury::release_stack_pointer(place);
    }
    for relocations in [section.rel, section.rela].into_iter().flatten() {
        for (offset, patch) in parts.relocated.patches(relocations) {
            patch.apply(&mut place[*offset as usize..]);
        }
    }
}

/// Whether chunks lie side by side and fill a section of this size.
fn covers(chunks: &[Chunk<'_>], size: usize) -> bool {
    let mut end = 0;
    for chunk in chunks {
        if chunk.offset != end {
            return false;
        }
        end += chunk.data.len() as u64;
    }
    end == size as u64
}

/// Fills a part of the symbol table from the symbol of number `first` on.
fn fill_symbols(parts: Parts<'_, '_>, layout: &Layout<'_>, first: usize, place: &mut [u8]) {
    let numbers = &layout.numbers;
    let merged = parts.merged;
    let mut entries = place.chunks_exact_mut(size_of::<Symbol>());
    if first == 0
        && let Some(entry) = entries.next()
    {
        let null = Symbol { value: merged.null_value.into(), ..Symbol::default() };
        entry.copy_from_slice(null.as_bytes());
    }
    for (id, entry) in numbers.symbol_order[first.saturating_sub(1)..].iter().zip(entries) {
        let OutputSymbol { name_offset, bind, kind, other, section, value, size, shared, .. } =
            parts.merged.symbol(*id);
        let (section, value) = match &parts.shared.debug {
            Some(debug) if *shared => debug.place(merged, *id),
            _ => (*section, *value),
        };
        let shndx = section.map_or(0, |section| numbers.section(section));
        let shndx = if stands_in_symbol(shndx) { shndx as u16 } else { raw::SHN_XINDEX };
        let symbol = Symbol {
            name: (*name_offset).into(),
            info: bind << 4 | kind,
            other: *other,
            shndx: shndx.into(),
            value: value.into(),
            size: (*size).into(),
        };
        entry.copy_from_slice(symbol.as_bytes());
    }
}

/// The section of every symbol, for symbol tables that cannot hold it. Where they can, nvlink leaves the
/// number that the section had at its creation.
fn fill_section_indices(parts: Parts<'_, '_>, layout: &Layout<'_>, place: &mut [u8]) {
    let (null, entries) = place.split_at_mut(size_of::<u32>());
    null.fill(0);
    let entries = entries.chunks_exact_mut(size_of::<u32>());
    for (id, entry) in layout.numbers.symbol_order.iter().zip(entries) {
        let section = parts.merged.symbol(*id).section.map_or(0, |section| {
            let number = layout.numbers.section(section);
            if stands_in_symbol(number) { created_as(parts.merged, layout, section) } else { number }
        });
        entry.copy_from_slice(&section.to_le_bytes());
    }
}

/// Whether a symbol itself says its section. nvlink takes section 0xfff2 for the mark of tentative definitions and
/// leaves it there.
fn stands_in_symbol(number: u32) -> bool {
    number < u32::from(raw::SHN_LORESERVE) || number == u32::from(raw::SHN_COMMON)
}

/// The number that nvlink gave a section when it made it, those that it removed again counted.
fn created_as(merged: &Merged<'_>, layout: &Layout<'_>, section: SectionId) -> u32 {
    let removed = merged.removed.partition_point(|before| *before <= section);
    section.number() + layout.numbers.tables() as u32 + removed as u32
}
