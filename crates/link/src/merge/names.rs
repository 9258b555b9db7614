//! The names that the merge gives. They are written down one after the other, and entered into the string tables, each
//! once, while later files are merged. Until then a name is known by its number.

use super::draft::NamePlace;
use super::merger::Merger;
use crate::model::ids::SectionId;
use solder_cubin::raw::{self, Symbol};

impl Merger<'_, '_> {
    /// Gives the name that the parts make together. While files are merged, the answer is its number.
    pub(super) fn name(&mut self, place: NamePlace, parts: &[&[u8]]) -> [u32; 2] {
        if let Some(draft) = &mut self.draft {
            return [draft.add(place, parts); 2];
        }
        place.enter(&mut self.out.names, &parts.concat())
    }

    /// Section names are in both string tables; where, in `.shstrtab` and in `.strtab`.
    pub(super) fn name_section(&mut self, parts: &[&[u8]]) -> [u32; 2] {
        self.name(NamePlace::Both, parts)
    }

    /// Whether the sections of no other strong function can be called as those of this one.
    pub(super) fn is_named_alone(&self, text: &[u8], function: &[u8], raw: &Symbol) -> bool {
        raw.bind() == raw::STB_GLOBAL
            && !self.settings.mercury()
            && text.strip_prefix(b".text.") == Some(function)
    }

    /// Where in `.strtab` a name is.
    pub(super) fn name_symbol(&mut self, name: &[u8]) -> u32 {
        self.name(NamePlace::Symbols, &[name])[1]
    }

    /// Looks for a section: nvlink makes what it does not find, and removes it in the end as it is empty. Its name stays.
    pub(super) fn name_only(&mut self, parts: &[&[u8]]) {
        let [name, _] = self.name(NamePlace::BothIfMissing, parts);
        self.looked_for.push((name, SectionId::at(self.out.sections.len())));
    }
}
