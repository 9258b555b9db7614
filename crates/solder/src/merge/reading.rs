//! What is read of a file when it is merged: most of its attributes and the relocations of its code. They depend on
//! nothing that later files change, so that they are read beside the merge of those.

use super::info::Malformed;
use super::names::Draft;
use super::relocations::CONSTANTS_SIZE;
use super::{FileMap, InfoRecord, Merger, Reloc, RelocTarget, Settings};
use crate::diagnostics::Stop;
use crate::ids::{FileId, SectionId};
use crate::object::{Object, Role};
use crate::resolve::Symbols;
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

/// The attributes of a section; `None` until they are read.
pub(super) type Attributes<'data> = Option<Result<Vec<InfoRecord<'data>>, Malformed>>;

/// Files that have been merged, and what is left to read of them.
#[derive(Default)]
pub(super) struct Left<'data> {
    /// The first of the files.
    pub first: usize,
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

impl<'data> Merger<'_, 'data> {
    /// What is left of the files that have been merged, for another thread to read. Their maps come back with it.
    pub(super) fn hand_over(&mut self) -> Left<'data> {
        let first = self.left.first;
        let maps = self.out.files[first..].iter_mut().map(std::mem::take).collect();
        let next = Left {
            first: self.out.files.len(),
            attributes: Vec::with_capacity(self.left.attributes.len()),
            relocations: Vec::with_capacity(self.left.relocations.len()),
            ..Left::default()
        };
        let names = self.draft.as_mut().map(Draft::hand_over).unwrap_or_default();
        Left { maps, names, ..std::mem::replace(&mut self.left, next) }
    }

    /// Puts what was read, in the order of the files, where it belongs.
    pub(super) fn take_back(&mut self, read: &mut [Left<'data>]) -> Result<(), Stop> {
        read.sort_unstable_by_key(|part| part.first);
        let maps = read.iter_mut().flat_map(|part| std::mem::take(&mut part.maps));
        self.out.files = maps.collect();
        self.take_attributes(read)?;
        for (from, mut list) in read.iter_mut().flat_map(|part| std::mem::take(&mut part.relocations)) {
            let of = self.out.section(from.out).of;
            if self.is_replaced(of, from.file) {
                continue;
            }
            let entries = self.out.section_mut(from.out).relocations_mut();
            if entries.is_empty() {
                *entries = list;
            } else {
                entries.append(&mut list);
            }
        }
        Ok(())
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
