//! Places in code that debug information names, beside line tables and frames: `.debug_info`, `.debug_loc` and `.debug_ranges` of the
//! machine code's view.
//!
//! What they say of a copy of a function that is not linked is led to the one that is: Mercury's places, as they lie in its code.

use super::merger::Merger;
use crate::model::ids::{FileId, SectionId};
use crate::model::merged::{Content, DESCRIBE_CODE, Kind, Reloc, RelocTarget};
use crate::model::symbols::Origin;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use solder_cubin::raw;
use solder_sass::Places;

/// The addends of Mercury's relocations of a section of a file, by place in the section of the machine code's view in the output.
type Addends = HashMap<u64, i64, FixedState>;

impl Merger<'_, '_> {
    /// Leads places in copies that are not linked to those in the copies that are.
    pub(super) fn finish_locations(&mut self) {
        let mut places: HashMap<Origin, Option<Places>, FixedState> = HashMap::default();
        for index in 0..self.out.sections.len() {
            let section = SectionId::at(index);
            let Some(list) = self.locations(section) else { continue };
            let Content::Relocations(entries) = &self.out.section(list).content else { continue };
            let mut addends: HashMap<FileId, Addends, FixedState> = HashMap::default();
            let mut changed = Vec::new();
            for (at, entry) in entries.iter().enumerate() {
                let Some((origin, size)) = self.other_copy(entry) else { continue };
                let of_file = addends.entry(entry.file);
                let of_file = of_file.or_insert_with(|| self.mercury_addends(entry.file, section));
                let Some(place) = of_file.get(&entry.offset).and_then(|at| u64::try_from(*at).ok()) else {
                    continue;
                };
                let places = places.entry(origin).or_insert_with(|| self.places(origin));
                let Some(places) = places else { continue };
                changed.push((at, places.next_in_code(place).unwrap_or(size).cast_signed()));
            }
            let entries = self.out.section_mut(list).relocations_mut();
            for (at, addend) in changed {
                entries[at].addend = addend;
            }
        }
    }

    /// The relocations of a section that names places and is neither a line table nor frames.
    fn locations(&self, section: SectionId) -> Option<SectionId> {
        let out = self.out.section(section);
        let describes_code = DESCRIBE_CODE.contains(&&**self.out.section_name(section));
        out.rela.filter(|_| out.kind == Kind::Debug && !describes_code)
    }

    /// The copy that is linked of the function that an entry names, if it is not the one of the entry's file, and its size.
    fn other_copy(&self, entry: &Reloc) -> Option<(Origin, u64)> {
        let RelocTarget::Symbol(id) = entry.target else { return None };
        let function = self.out.symbol(id);
        let origin = function.origin.filter(|origin| function.is_function() && origin.file != entry.file)?;
        Some((origin, function.size))
    }

    fn mercury_addends(&self, file: FileId, section: SectionId) -> Addends {
        let object = &self.objects[file.index()];
        let name = self.out.section_name(section);
        let of_name = object.cubin.sections.iter().find(|own| own.name == name);
        let base_of = |index: u32| self.out.files[file.index()].sections[index as usize];
        let found = of_name.and_then(|own| {
            let twin = object.mercury.as_ref()?.partner(own.index)?;
            Some((base_of(own.index)?.1, twin))
        });
        let Some((base, twin)) = found else { return Addends::default() };
        let lists = object.cubin.sections.iter();
        let lists = lists.filter(|list| list.sh_type() == raw::SHT_MERC_RELA && list.info() == twin);
        let entries = lists.filter_map(|list| list.relocations().ok());
        let entries = entries.flat_map(|list| list.iter().collect::<Vec<_>>());
        entries.map(|entry| (base.wrapping_add(entry.offset.get()), entry.addend.get())).collect()
    }
}
