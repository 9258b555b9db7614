//! Fills the image and puts it where the user wants it.

mod file;

pub use file::{WriteError, write_file};

use crate::contents::chunks;
use crate::ids::SectionId;
use crate::layout::{Layout, Parts};
use crate::mercury;
use crate::merge::{Kind, Merged, OutputSymbol};
use crate::parallel;
use solder_cubin::raw::{self, Symbol};
use zerocopy::IntoBytes;

/// The output file as bytes. Every section has its own part of the image, filled in parallel.
pub fn image(parts: Parts<'_, '_>, layout: &Layout<'_>) -> Vec<u8> {
    let mut image = vec![0; layout.file_size as usize];
    let sections = layout.numbers.section_order.len();
    let mut rest: &mut [u8] = &mut image;
    let mut position = 0;
    let mut take = |offset: u64, size: u64| {
        let (_, tail) = std::mem::take(&mut rest).split_at_mut((offset - position) as usize);
        let (place, tail) = tail.split_at_mut(size as usize);
        rest = tail;
        position = offset + size;
        place
    };
    take(0, raw::HEADER_SIZE).copy_from_slice(layout.header.as_bytes());
    let mut table = |index: usize| {
        let header = &layout.headers[index];
        take(header.offset.get(), header.size.get())
    };
    table(1).copy_from_slice(&layout.section_names);
    table(2).copy_from_slice(parts.merged.names.as_bytes());
    fill_symbols(parts, layout, table(3));
    if layout.numbers.many_sections {
        fill_section_indices(parts, layout, table(4));
    }
    let mut places: Vec<(SectionId, &mut [u8])> = Vec::with_capacity(sections);
    for (id, header) in layout.numbers.section_order.iter().zip(&layout.headers[layout.numbers.tables()..]) {
        // nvlink leaves whatever is in memory where the Mercury view has reserved shared memory.
        let empty = raw::takes_no_file_space(header.sh_type.get());
        if !empty && mercury::shares_bytes(parts.merged, *id).is_none() {
            places.push((*id, take(header.offset.get(), header.size.get())));
        }
    }
    let headers = layout.headers.as_bytes();
    take(layout.header.shoff.get(), headers.len() as u64).copy_from_slice(headers);
    let segments = layout.segments.as_bytes();
    if !segments.is_empty() {
        take(layout.header.phoff.get(), segments.len() as u64).copy_from_slice(segments);
    }
    parallel::for_each(places, |(id, place)| fill_section(parts, layout, id, place));
    image
}

fn fill_section(parts: Parts<'_, '_>, layout: &Layout<'_>, id: SectionId, place: &mut [u8]) {
    if let Some(bytes) = &layout.contents.made[id.index()] {
        place.copy_from_slice(bytes);
        return;
    }
    for chunk in chunks(parts.merged, id) {
        let start = chunk.offset as usize;
        place[start..start + chunk.data.len()].copy_from_slice(chunk.data);
    }
    let section = parts.merged.section(id);
    if section.kind == Kind::Capsule
        && let (Some(text), Some(place)) = (section.of, place.first_chunk_mut::<4>())
    {
        *place = layout.numbers.section(text).to_le_bytes();
    }
    for relocations in [section.rel, section.rela].into_iter().flatten() {
        for (offset, patch) in &parts.relocated.patches[relocations.index()] {
            patch.apply(&mut place[*offset as usize..]);
        }
    }
}

fn fill_symbols(parts: Parts<'_, '_>, layout: &Layout<'_>, place: &mut [u8]) {
    let numbers = &layout.numbers;
    let merged = parts.merged;
    let null = Symbol { value: merged.null_value.into(), ..Symbol::default() };
    place[..size_of::<Symbol>()].copy_from_slice(null.as_bytes());
    let entries = place.chunks_exact_mut(size_of::<Symbol>()).skip(1);
    for (id, entry) in numbers.symbol_order.iter().zip(entries) {
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
    let entries = place.chunks_exact_mut(size_of::<u32>()).skip(1);
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
    section.0 + layout.numbers.tables() as u32 + removed as u32
}
