//! The program headers.

use super::order::{alignment, of_classes};
use crate::image::{Numbers, Parts, Place};
use crate::model::ids::SectionId;
use solder_cubin::raw::{self, ProgramHeader};
use std::ops::RangeInclusive;

pub(super) fn segment(p_type: u32, flags: u32, offset: u64, filesz: u64, memsz: u64) -> ProgramHeader {
    ProgramHeader {
        p_type: p_type.into(),
        flags: flags.into(),
        offset: offset.into(),
        vaddr: 0.into(),
        paddr: 0.into(),
        filesz: filesz.into(),
        memsz: memsz.into(),
        align: 8.into(),
    }
}

/// The program headers: the table itself, code with constants, data, and the table once more.
pub(super) fn segments(
    parts: Parts<'_, '_>,
    numbers: &Numbers,
    places: &[Place],
    phoff: u64,
) -> Vec<ProgramHeader> {
    let mut loads = Vec::new();
    let code = &places[of_classes(numbers, parts, &(4..=5))];
    if let (Some(first), Some(last)) = (code.first(), code.last()) {
        let size = last.offset + last.size - first.offset;
        loads.push(segment(raw::PT_LOAD, raw::PF_R | raw::PF_X, first.offset, size, size));
    }
    loads.extend(data_segment(parts, numbers, places, &(6..=7), raw::PF_R | raw::PF_W));
    let size = raw::PROGRAM_HEADER_SIZE * (loads.len() as u64 + 2);
    let mut all = vec![segment(raw::PT_PHDR, raw::PF_R | raw::PF_X, phoff, size, size)];
    all.append(&mut loads);
    all.push(segment(raw::PT_LOAD, raw::PF_R | raw::PF_X, phoff, size, size));
    all
}

/// The segment of the sections of some classes, which may end with some that are nowhere but in memory.
pub(super) fn data_segment(
    parts: Parts<'_, '_>,
    numbers: &Numbers,
    places: &[Place],
    classes: &RangeInclusive<u8>,
    flags: u32,
) -> Option<ProgramHeader> {
    let range = of_classes(numbers, parts, classes);
    let data = || numbers.section_order[range.clone()].iter().zip(&places[range.clone()]);
    let nobits = |id: SectionId| parts.merged.section(id).sh_type == raw::SHT_NOBITS;
    let (_, first) = data().next()?;
    let (last_id, last) = data().next_back()?;
    let start = first.offset;
    let end = last.offset + if nobits(*last_id) { 0 } else { last.size };
    // After the bytes of the file, laid out as if from 0.
    let mut memory = 0;
    for (id, place) in data().filter(|(id, _)| nobits(**id)) {
        memory = u64::next_multiple_of(memory, alignment(parts, *id).max(1)) + place.size;
    }
    Some(segment(raw::PT_LOAD, flags, start, end - start, end - start + memory))
}
