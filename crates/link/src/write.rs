//! Fills the image and writes it where the caller wants it.

use crate::contents::{self, chunks};
use crate::image::{Parts, Place, SectionIndices};
use crate::layout::Layout;
use crate::model::ids::{SectionId, SymbolId};
use crate::model::merged::{Chunk, Kind, Merged, OutputSymbol};
use crate::prefault::pages_of;
use crate::relocate::{Patch, Relocated};
use solder_cubin::info::attr;
use solder_cubin::raw::{self, SectionHeader, Symbol};
use solder_sass::finalize;
use solder_sass::schedule::Family;
use std::cmp::Reverse;
use std::io;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use zerocopy::IntoBytes;

/// A part of the file.
#[derive(Clone, Copy)]
struct Piece<'a> {
    offset: u64,
    size: u64,
    content: Content<'a>,
}

impl Piece<'_> {
    fn end(&self) -> u64 {
        self.offset + self.size
    }
}

#[derive(Clone, Copy)]
enum Content<'a> {
    Bytes(&'a [u8]),
    /// The symbols from this number on.
    Symbols(usize),
    SectionIndices,
    Section(SectionId),
    /// The section headers from this number on.
    Headers(usize),
    /// A section from this offset on.
    Part(SectionId, u64),
}

/// Bytes of the file that are filled before they are written: the file is never in memory as a whole, and what is
/// filled stays in the caches until it is written.
const AT_A_TIME: u64 = 128 << 10;

/// As many are filled if another thread is writing: the system lets one at a time write to a file.
const AT_MOST: u64 = 256 << 10;

/// Where a write of the file begins: the system copies fastest into large pieces of its memory, which lie at such places.
const BLOCK: u64 = 64 << 10;

/// Pieces larger than this are cut.
const LARGE: u64 = AT_A_TIME / 2;

/// Bytes of the file that a thread takes at a time.
const RUN: u64 = 1 << 20;

/// Where the bytes of an image go.
pub trait Destination: Sync {
    /// Whether bytes may come in any order, and from several threads. If not, they come one after the other.
    fn takes_any_order(&self) -> bool;

    /// Takes bytes and their place in the image.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
}

/// An image, laid out and ready to be written.
#[derive(Clone, Copy, Debug)]
pub struct Image<'a, 'data> {
    pub(crate) parts: Parts<'a, 'data>,
    pub(crate) layout: &'a Layout<'a, 'data>,
}

impl Image<'_, '_> {
    /// How many bytes it has.
    pub fn size(&self) -> u64 {
        self.layout.file_size
    }

    /// Writes it; where it can be written in any order, several runs at a time.
    pub fn write_to(&self, destination: &dyn Destination) -> io::Result<()> {
        let (is_written, buffers) = (Mutex::new(()), Mutex::default());
        let list = self.list();
        let writer = Writer { list, is_written: &is_written, buffers: &buffers };
        let runs = list.runs();
        let write = |run: &Run<'_>| writer.write(run, &mut |bytes, at| destination.write_at(bytes, at));
        if runs.len() > 1 && destination.takes_any_order() {
            self.parts.pool.map(&runs, true, write).into_iter().collect()
        } else {
            runs.iter().try_for_each(write)
        }
    }

    /// The bytes. They are filled where they stay, several runs at a time.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(self.size()).unwrap_or_default()];
        self.parts.pool.prefault(pages_of(&bytes));
        let list = self.list();
        let mut rest = &mut bytes[..];
        let mut places = Vec::new();
        for run in list.runs() {
            let (place, after) = rest.split_at_mut((run.range.end - run.range.start) as usize);
            places.push((run, Mutex::new(place)));
            rest = after;
        }
        let is_worth = places.len() > 1;
        self.parts.pool.map(&places, is_worth, |(run, place)| {
            list.fill(run, &mut place.lock().unwrap_or_else(PoisonError::into_inner));
        });
        bytes
    }

    fn list(&self) -> List<'_, '_> {
        List { parts: self.parts, layout: self.layout }
    }
}

/// Bytes of the file that one thread fills and writes: pieces and the zeros between them.
struct Run<'a> {
    range: Range<u64>,
    pieces: Pieces<'a>,
}

enum Pieces<'a> {
    /// Of the list.
    Whole(Range<usize>),
    /// Of a large one.
    Parts(Vec<Piece<'a>>),
}

/// All pieces of the file, in its order: its header, the sections, their headers, segments.
#[derive(Clone, Copy)]
struct List<'a, 'data> {
    parts: Parts<'a, 'data>,
    layout: &'a Layout<'a, 'data>,
}

impl<'a> List<'a, '_> {
    fn len(&self) -> usize {
        self.layout.sections() + 2
    }

    /// Where a piece of the list lies and its size. `None` where a section has no bytes of its own in the file.
    fn place(&self, index: usize) -> Option<(u64, u64)> {
        let layout = self.layout;
        // The null section has no bytes.
        if index == 0 {
            return Some((0, raw::HEADER_SIZE));
        }
        let sections = layout.sections();
        if index < sections {
            let Place { offset, size, in_file } = layout.place(index);
            return in_file.then_some((offset, size));
        }
        if index == sections {
            return Some((layout.header.shoff.get(), raw::SECTION_HEADER_SIZE * sections as u64));
        }
        let size = size_of_val(layout.segments.as_slice()) as u64;
        (size > 0).then_some((layout.header.phoff.get(), size))
    }

    /// A piece of the list.
    fn piece(&self, index: usize) -> Option<Piece<'a>> {
        let layout = self.layout;
        let (offset, size) = self.place(index)?;
        let sections = layout.sections();
        let content = match index {
            0 => Content::Bytes(layout.header.as_bytes()),
            _ if index == sections => Content::Headers(0),
            _ if index > sections => Content::Bytes(layout.segments.as_bytes()),
            1 => Content::Bytes(layout.section_names()),
            2 => Content::Bytes(layout.symbol_names()),
            3 => Content::Symbols(0),
            4 if layout.numbers.indices == SectionIndices::First => Content::SectionIndices,
            // nvlink leaves whatever is in memory where the Mercury view has reserved shared memory.
            _ => Content::Section(layout.numbers.section_order[index - layout.numbers.tables()]),
        };
        Some(Piece { offset, size, content })
    }

    /// The whole file in runs.
    fn runs(&self) -> Vec<Run<'a>> {
        let mut runs = Vec::new();
        let mut run = |range: Range<u64>, pieces| runs.push(Run { range, pieces });
        let (mut start, mut end, mut first) = (0, 0, 0);
        for index in 0..self.len() {
            let Some((offset, size)) = self.place(index) else { continue };
            let whole = if size > LARGE { self.piece(index) } else { None };
            let parts = whole.map(|piece| cut(self.parts, self.layout, piece)).unwrap_or_default();
            if parts.len() > 1 {
                run(start..end, Pieces::Whole(first..index));
                (start, first) = (end, index + 1);
                for parts in parts.chunks((RUN / LARGE) as usize) {
                    end = parts.last().map_or(end, Piece::end);
                    run(start..end, Pieces::Parts(parts.to_vec()));
                    start = end;
                }
                continue;
            }
            end = offset + size;
            if end - start >= RUN {
                run(start..end, Pieces::Whole(first..index + 1));
                (start, first) = (end, index + 1);
            }
        }
        run(start..self.layout.file_size, Pieces::Whole(first..self.len()));
        runs
    }

    /// The pieces of a run, in order.
    fn pieces<'r>(&'r self, run: &'r Run<'a>) -> impl Iterator<Item = Piece<'a>> + 'r {
        let (indices, parts): (_, &[Piece<'a>]) = match &run.pieces {
            Pieces::Whole(indices) => (indices.clone(), &[]),
            Pieces::Parts(parts) => (0..0, parts),
        };
        indices.filter_map(|index| self.piece(index)).chain(parts.iter().copied())
    }

    /// Fills a run in its place, whose bytes are zeros.
    fn fill(&self, run: &Run<'a>, place: &mut [u8]) {
        for piece in self.pieces(run) {
            let start = (piece.offset - run.range.start) as usize;
            fill(self.parts, self.layout, piece.content, &mut place[start..start + piece.size as usize]);
        }
    }
}

/// Writes runs one by one, or several threads one each.
#[derive(Clone, Copy)]
struct Writer<'a, 'data> {
    list: List<'a, 'data>,
    /// Held while bytes are written.
    is_written: &'a Mutex<()>,
    /// What threads fill, kept from one run to the next.
    buffers: &'a Mutex<Vec<Vec<u8>>>,
}

impl<'a> Writer<'a, '_> {
    /// Fills a run and has it written: `put` takes bytes and their place in the file.
    fn write(&self, run: &Run<'a>, put: Put<'_>) -> io::Result<()> {
        let buffers = || self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = buffers().pop().unwrap_or_default();
        let at_most = (run.range.end - run.range.start).min(AT_MOST + BLOCK) as usize;
        let mut filled = Filled { bytes, size: 0, at_most, start: run.range.start };
        let added = self.list.pieces(run).try_for_each(|piece| self.add(piece, &mut filled, put));
        let written = added.and_then(|()| {
            filled.zeros_to(run.range.end);
            filled.write(run.range.end, put)
        });
        buffers().push(filled.bytes);
        written
    }

    /// Adds a piece to what is filled; whole blocks of it are written before it becomes too long.
    fn add(&self, piece: Piece<'_>, filled: &mut Filled, put: Put<'_>) -> io::Result<()> {
        let size = piece.end() - filled.start;
        if size > AT_A_TIME {
            let turn = self.is_written.try_lock();
            if turn.is_ok() || size > AT_MOST {
                filled.write(filled.end() / BLOCK * BLOCK, put)?;
            }
        }
        filled.zeros_to(piece.offset);
        fill(self.list.parts, self.list.layout, piece.content, filled.room(piece.size));
        Ok(())
    }
}

type Put<'a> = &'a mut dyn FnMut(&[u8], u64) -> io::Result<()>;

/// Bytes of the file that are not written yet.
struct Filled {
    /// After the first `size`, whatever was there before.
    bytes: Vec<u8>,
    size: usize,
    /// Mostly there are no more.
    at_most: usize,
    /// Where in the file they begin.
    start: u64,
}

impl Filled {
    fn end(&self) -> u64 {
        self.start + self.size as u64
    }

    /// Room for so many bytes more, to be filled.
    fn room(&mut self, size: u64) -> &mut [u8] {
        let start = self.size;
        self.size += size as usize;
        if self.size > self.bytes.len() {
            let size = self.size.max(self.at_most);
            // Fresh zeros come without being written, and mostly there is nothing to copy.
            let filled = std::mem::replace(&mut self.bytes, vec![0; size]);
            self.bytes[..start].copy_from_slice(&filled[..start]);
        }
        &mut self.bytes[start..self.size]
    }

    fn zeros_to(&mut self, end: u64) {
        self.room(end - self.end()).fill(0);
    }

    /// Writes what lies before an offset of the file.
    fn write(&mut self, end: u64, put: Put<'_>) -> io::Result<()> {
        let size = end.saturating_sub(self.start) as usize;
        if size > 0 {
            put(&self.bytes[..size], self.start)?;
            self.bytes.copy_within(size..self.size, 0);
            (self.start, self.size) = (end, self.size - size);
        }
        Ok(())
    }
}

/// Fills all bytes of a place, whatever they are.
fn fill(parts: Parts<'_, '_>, layout: &Layout<'_, '_>, content: Content<'_>, place: &mut [u8]) {
    match content {
        Content::Bytes(bytes) => place.copy_from_slice(bytes),
        Content::Symbols(first) => fill_symbols(parts, layout, first, place),
        Content::SectionIndices => place.copy_from_slice(&contents::section_indices(parts, &layout.numbers)),
        Content::Section(id) => fill_section(parts, layout, id, place),
        Content::Headers(first) => fill_headers(layout, first, place),
        Content::Part(id, start) => fill_part(parts, layout, id, start, place),
    }
}

/// Cuts a large piece, if it can be.
fn cut<'a>(parts: Parts<'a, '_>, layout: &Layout<'_, '_>, piece: Piece<'a>) -> Vec<Piece<'a>> {
    let Piece { offset, size, content } = piece;
    let evenly = |step: u64| (1..size.div_ceil(step)).map(|part| part * step).collect();
    let cuts: Vec<u64> = match content {
        Content::Bytes(_) | Content::Headers(_) => evenly(LARGE),
        Content::Symbols(_) => evenly(LARGE.next_multiple_of(size_of::<Symbol>() as u64)),
        Content::Section(id) if layout.contents.made(parts, id).is_some() => evenly(LARGE),
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
            Content::Headers(_) => Content::Headers((start / raw::SECTION_HEADER_SIZE) as usize),
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

/// Those of some patches, the last in the section first, that begin from `start` to before `end`.
fn patches_within(patches: &[(u64, Patch)], start: u64, end: u64) -> &[(u64, Patch)] {
    let from = patches.partition_point(|(offset, _)| *offset >= end);
    let to = patches.partition_point(|(offset, _)| *offset >= start);
    &patches[from..to]
}

/// Fills a part of a section of data from `start` on.
fn fill_part(parts: Parts<'_, '_>, layout: &Layout<'_, '_>, id: SectionId, start: u64, place: &mut [u8]) {
    if let Some(bytes) = layout.contents.made(parts, id) {
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

fn fill_section(parts: Parts<'_, '_>, layout: &Layout<'_, '_>, id: SectionId, place: &mut [u8]) {
    if let Some(bytes) = layout.contents.made(parts, id) {
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
        let capsule = section.twin.map_or(&[][..], |twin| capsule(parts.merged, twin));
        let family = Family::of(parts.sm, parts.release);
        finalize::release_stack_pointer(place, capsule, family, |code| jumps(parts.merged, id, code));
    }
    for relocations in [section.rel, section.rela].into_iter().flatten() {
        for (offset, patch) in parts.relocated.patches(relocations) {
            patch.apply(&mut place[*offset as usize..]);
        }
    }
}

/// The bytes of a capsule.
fn capsule<'data>(merged: &Merged<'data>, id: SectionId) -> &'data [u8] {
    chunks(merged, id).first().map_or(&[], |chunk| chunk.data)
}

/// Where the indirect branches of code go, in instructions.
fn jumps(merged: &Merged<'_>, text: SectionId, code: &[u8]) -> Vec<(usize, Vec<usize>)> {
    if !finalize::has_indirect_branches(code) {
        return Vec::new();
    }
    let info = merged.functions.iter().find(|f| f.text == Some(text)).and_then(|f| f.info);
    let records = info.into_iter().flat_map(|info| [merged.info_records(info), merged.code_records(info)]);
    let targets = records.flatten().filter(|record| record.attr == attr::INDIRECT_BRANCH_TARGETS);
    targets.flat_map(|record| finalize::branch_targets(record.value.code_bytes())).collect()
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

/// Fills a part of the section headers from that of number `first` on.
fn fill_headers(layout: &Layout<'_, '_>, first: usize, place: &mut [u8]) {
    for (number, entry) in (first..).zip(place.chunks_exact_mut(size_of::<SectionHeader>())) {
        entry.copy_from_slice(layout.section_header(number).as_bytes());
    }
}

/// Fills a part of the symbol table from the symbol of number `first` on.
fn fill_symbols(parts: Parts<'_, '_>, layout: &Layout<'_, '_>, first: usize, place: &mut [u8]) {
    let numbers = &layout.numbers;
    let merged = parts.merged;
    let mut entries = place.chunks_exact_mut(size_of::<Symbol>());
    if first == 0
        && let Some(entry) = entries.next()
    {
        let null = Symbol { value: (merged.null_value + parts.shared.nameless).into(), ..Symbol::default() };
        entry.copy_from_slice(null.as_bytes());
    }
    for (id, entry) in numbers.symbol_order[first.saturating_sub(1)..].iter().zip(entries) {
        let OutputSymbol { bind, kind, other, size, shared, .. } = parts.merged.symbol(*id);
        let (section, value) = parts.shared.place(merged, *id);
        let is_local = *shared && parts.shared.debug.as_ref().is_some_and(|debug| debug.is_local(*id));
        let bind = if is_local { raw::STB_LOCAL } else { *bind };
        let shndx = section.map_or(0, |section| numbers.in_symbol(section));
        let symbol = Symbol {
            name: numbers.name(merged.symbol_name(*id)).into(),
            info: bind << 4 | kind,
            other: *other,
            shndx: shndx.into(),
            value: value.into(),
            size: (*size).into(),
        };
        entry.copy_from_slice(symbol.as_bytes());
    }
}
