//! What is read of a file when it is merged: most of its attributes and the relocations of its code. They depend on
//! nothing that later files change, so that they are read beside the merge of those.

use super::info::Malformed;
use super::names::{Draft, Tables};
use super::relocations::CONSTANTS_SIZE;
use super::{FileMap, InfoRecord, Merger, OutputSection, Reloc, RelocTarget, Settings};
use crate::diagnostics::Stop;
use crate::model::ids::{FileId, SectionId};
use crate::model::object::{Object, Role};
use crate::model::symbols::Symbols;
use crate::pool::Pool;
use solder_cubin::Section;
use solder_cubin::raw;

/// What reading takes beside the map of a file.
#[derive(Clone, Copy)]
pub(super) struct Reading<'a, 'data> {
    pub settings: Settings<'data>,
    pub objects: &'a [Object<'data>],
    pub symbols: &'a Symbols<'data>,
}

/// A section that goes to an output section.
#[derive(Clone, Copy)]
pub(super) struct From {
    pub out: SectionId,
    pub file: FileId,
    pub section: u32,
}

/// The attributes of a section, last one first; `None` until they are read.
pub(super) type Attributes<'data> = Option<Result<Vec<InfoRecord<'data>>, Malformed>>;

/// Files that have been merged, and what is left to read of them.
#[derive(Default)]
pub(super) struct Left<'data> {
    /// The first of the files, and the first section that they made.
    pub first: usize,
    first_section: usize,
    pub maps: Vec<FileMap>,
    pub names: Draft,
    pub attributes: Vec<(From, Attributes<'data>)>,
    pub relocations: Vec<(From, Vec<Reloc>)>,
}

/// As many sections are worth handing to another thread.
const MANY: usize = 256;

impl Left<'_> {
    pub fn is_much(&self) -> bool {
        self.attributes.len() + self.relocations.len() >= MANY
    }
}

impl<'data> Reading<'_, 'data> {
    /// Reads all that is left.
    pub fn read(&self, left: &mut Left<'data>) {
        let map = |from: &From| &left.maps[from.file.index() - left.first];
        let mut gathered = Vec::new();
        for (from, records) in left.attributes.iter_mut().filter(|(_, records)| records.is_none()) {
            *records = Some(self.attributes(*from, map(from), &mut gathered));
        }
        // They come out reversed.
        for list in left.attributes.iter_mut().filter_map(|(_, records)| records.as_mut()?.as_mut().ok()) {
            list.reverse();
        }
        for (from, list) in &mut left.relocations {
            *list = self.relocations(*from, map(from));
        }
    }

    fn relocations(&self, from: From, map: &FileMap) -> Vec<Reloc> {
        let file = from.file;
        let object = &self.objects[file.index()];
        let section = object.section(from.section);
        let of = object.section(section.info());
        let Ok(entries) = section.relocations() else { return Vec::new() };
        let read = |entry: raw::Rela| {
            let target = self.refers_to(file, map, of, entry.symbol.get())?;
            let (offset, r_type) = (entry.offset.get(), entry.r_type.get());
            Some(Reloc { offset, target, r_type, addend: self.addend(file, map, &entry), file })
        };
        let mut list = Vec::with_capacity(entries.len());
        list.extend(entries.iter().filter_map(read));
        list
    }

    /// The addend of an entry: a section symbol stands for the beginning of what its file has of the section.
    pub fn addend(&self, file: FileId, map: &FileMap, entry: &raw::Rela) -> i64 {
        let addend = entry.addend.get();
        let raw = self.objects[file.index()].symbol(entry.symbol.get());
        if raw.kind() != raw::STT_SECTION {
            return addend;
        }
        match map.sections.get(usize::from(raw.shndx.get())) {
            Some(Some((_, chunk))) => addend.wrapping_add(*chunk as i64),
            _ => addend,
        }
    }

    /// What a relocation in the section `of` of code refers to; `None` leaves it out without a trace. That of another
    /// section may refer to less than this.
    pub fn refers_to(
        &self,
        file: FileId,
        map: &FileMap,
        of: &Section<'_>,
        symbol: u32,
    ) -> Option<RelocTarget> {
        if symbol == 0 {
            return Some(RelocTarget::Nothing);
        }
        let object = &self.objects[file.index()];
        let raw = object.symbol(symbol);
        let defined = raw.is_defined() && raw.shndx.get() != raw::SHN_COMMON;
        if raw.bind() == raw::STB_LOCAL && !raw.is_defined() {
            // A label of the compiler that is nowhere.
            if raw.kind() == raw::STT_NOTYPE {
                return Some(RelocTarget::Nothing);
            }
            if object.names[symbol as usize] == CONSTANTS_SIZE {
                return Some(RelocTarget::ConstantsSize);
            }
        }
        if let Some(out) = map.symbols[symbol as usize] {
            return Some(RelocTarget::Symbol(out));
        }
        if defined && object.role(u32::from(raw.shndx.get())) == Role::KernelShared {
            return Some(RelocTarget::Nowhere);
        }
        let never_counted = object.role(of.index) == Role::Constant
            && raw.bind() == raw::STB_WEAK
            && defined
            && !self.symbols.accepted(file, symbol);
        (!never_counted).then_some(RelocTarget::Dead)
    }
}

/// What goes to sections that files before the present ones made, or for which there was something already.
#[derive(Default)]
struct Late<'data> {
    attributes: Vec<(SectionId, Vec<InfoRecord<'data>>)>,
    relocations: Vec<(SectionId, Vec<Reloc>)>,
}

/// Puts what was read into the sections that the same files made, of which the first has the number `first`; what goes to
/// others comes back. Where attributes are malformed, the first that are.
fn take<'data>(
    sections: &mut [OutputSection<'data>],
    first: usize,
    read: &mut [Left<'data>],
    names: &Tables,
    pool: &Pool,
) -> Result<Late<'data>, (From, Malformed)> {
    if read.len() > 1 {
        let (left, right) = read.split_at_mut(read.len() / 2);
        let start = right[0].first_section;
        let (of_left, of_right) = sections.split_at_mut(start - first);
        let (early, late) = pool
            .join(|| take(of_left, first, left, names, pool), || take(of_right, start, right, names, pool));
        let (mut early, late) = (early?, late?);
        early.attributes.extend(late.attributes);
        early.relocations.extend(late.relocations);
        return Ok(early);
    }
    let mut late = Late::default();
    for section in &mut *sections {
        section.name = names.of_section(section.name);
    }
    let Some(part) = read.first_mut() else { return Ok(late) };
    let place = |out: SectionId| out.index().checked_sub(first);
    for (from, list) in std::mem::take(&mut part.attributes) {
        let list = list.unwrap_or(Ok(Vec::new())).map_err(|bad| (from, bad))?;
        match place(from.out).map(|place| sections[place].records_mut()) {
            Some(records) if records.capacity() == 0 => *records = list,
            _ => late.attributes.push((from.out, list)),
        }
    }
    for (from, list) in std::mem::take(&mut part.relocations) {
        match place(from.out).map(|place| sections[place].relocations_mut()) {
            Some(entries) if entries.capacity() == 0 => *entries = list,
            _ => late.relocations.push((from.out, list)),
        }
    }
    Ok(late)
}

impl<'data> Merger<'_, 'data> {
    /// What is left of the files that have been merged, for another thread to read. Their maps come back with it.
    pub(super) fn hand_over(&mut self, old: Option<Draft>) -> Left<'data> {
        let first = self.left.first;
        let maps = self.out.files[first..].iter_mut().map(std::mem::take).collect();
        let next = Left {
            first: self.out.files.len(),
            first_section: self.out.sections.len(),
            attributes: Vec::with_capacity(self.left.attributes.len()),
            relocations: Vec::with_capacity(self.left.relocations.len()),
            ..Left::default()
        };
        let names = self.draft.as_mut().map(|draft| draft.hand_over(old)).unwrap_or_default();
        Left { maps, names, ..std::mem::replace(&mut self.left, next) }
    }

    /// Puts what was read, in the order of the files, where it belongs, and tells sections where their names are.
    pub(super) fn take_back(&mut self, read: &mut [Left<'data>], names: &Tables) -> Result<(), Stop> {
        read.sort_unstable_by_key(|part| part.first);
        let maps = read.iter_mut().flat_map(|part| std::mem::take(&mut part.maps));
        self.out.files = maps.collect();
        if self.has_replaced {
            for part in &mut *read {
                let counts = |from: &From| !self.is_replaced(self.out.section(from.out).of, from.file);
                part.attributes.retain(|(from, _)| counts(from));
                part.relocations.retain(|(from, _)| counts(from));
            }
        }
        let late = take(&mut self.out.sections, 0, read, names, self.pool).map_err(|(from, bad)| {
            let section = self.objects[from.file.index()].section(from.section);
            self.malformed(from.file, section, bad)
        })?;
        self.take_late(late);
        Ok(())
    }

    /// Puts what came to sections of earlier files behind what these had.
    fn take_late(&mut self, late: Late<'data>) {
        let info = self.out.well_known.info;
        let (of_module, others): (Vec<_>, Vec<_>) =
            late.attributes.into_iter().partition(|(out, _)| Some(*out) == info);
        if let Some(info) = info {
            let first = std::mem::take(self.out.section_mut(info).records_mut());
            let mut all =
                Vec::with_capacity(of_module.iter().map(|(_, list)| list.len()).sum::<usize>() + first.len());
            all.extend(of_module.into_iter().rev().flat_map(|(_, list)| list));
            all.extend(first);
            *self.out.section_mut(info).records_mut() = all;
        }
        for (out, mut list) in others {
            let records = self.out.section_mut(out).records_mut();
            list.append(records);
            *records = list;
        }
        for (out, mut list) in late.relocations {
            self.out.section_mut(out).relocations_mut().append(&mut list);
        }
    }

    /// Whether another copy has taken the place of the function whose code, in a section of the output, a file had.
    pub(super) fn is_replaced(&self, text: Option<SectionId>, file: FileId) -> bool {
        if !self.has_replaced {
            return false;
        }
        let function = text.and_then(|text| self.out.section(text).function);
        let origin = function.and_then(|function| self.out.symbol(function).origin);
        origin.is_some_and(|origin| origin.file != file)
    }
}
