//! Hands what is left to read of files to other threads, and puts it where it belongs.

use super::merger::Merger;
use super::names::{Draft, Tables};
use super::reading::{Malformed, Source, Unread};
use crate::diagnostics::Stop;
use crate::model::ids::{FileId, SectionId};
use crate::model::merged::{InfoRecord, OutputSection, Reloc};
use crate::pool::Pool;

/// What goes to sections that files before the present ones made, or for which there was something already.
#[derive(Default)]
struct Late<'data> {
    attributes: Vec<(SectionId, Vec<InfoRecord<'data>>)>,
    relocations: Vec<(SectionId, Vec<Reloc>)>,
}

/// Puts what was read into the sections that the same files made, from number `first` on; what goes to
/// others comes back. Where attributes are malformed, the first that are.
fn take<'data>(
    sections: &mut [OutputSection<'data>],
    first: usize,
    read: &mut [Unread<'data>],
    names: &Tables,
    pool: &Pool,
) -> Result<Late<'data>, (Source, Malformed)> {
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
    pub(super) fn hand_over(&mut self, old: Option<Draft>) -> Unread<'data> {
        let first = self.unread.first;
        let maps = self.out.files[first..].iter_mut().map(std::mem::take).collect();
        let next = Unread {
            first: self.out.files.len(),
            first_section: self.out.sections.len(),
            attributes: Vec::with_capacity(self.unread.attributes.len()),
            relocations: Vec::with_capacity(self.unread.relocations.len()),
            ..Unread::default()
        };
        let names = self.naming.hand_over(old);
        Unread { maps, names, ..std::mem::replace(&mut self.unread, next) }
    }

    /// Puts what was read, in the order of the files, where it belongs, and tells sections where their names are.
    pub(super) fn take_back(&mut self, read: &mut [Unread<'data>], names: &Tables) -> Result<(), Stop> {
        read.sort_unstable_by_key(|part| part.first);
        let maps = read.iter_mut().flat_map(|part| std::mem::take(&mut part.maps));
        self.out.files = maps.collect();
        if self.has_replaced {
            for part in &mut *read {
                let counts = |from: &Source| !self.is_replaced(self.out.section(from.out).of, from.file);
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

    /// Puts what came to sections of earlier files after what these had.
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
