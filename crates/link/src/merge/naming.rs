//! Gives names to what the merge makes.

use super::merger::Merger;
use super::names::NamePlace;
use crate::model::graph::CallGraph;
use crate::model::ids::{FileId, SectionId, SymbolId};
use crate::model::symbols::{Origin, UNIFIED_TABLES};
use crate::{shared, textures};
use solder_cubin::raw::{self, Symbol};
use solder_cubin::strings::Table;

impl Merger<'_, '_> {
    /// Gives the name that the parts make together. While files are merged, the answer is its number.
    pub(super) fn name(&mut self, place: NamePlace, parts: &[&[u8]]) -> [u32; 2] {
        if let Some(draft) = &mut self.naming.draft {
            return [draft.add(place, parts); 2];
        }
        place.enter(&mut self.out.names.tables, &parts.concat())
    }

    /// Section names are in both string tables; where, in `.shstrtab` and in `.strtab`.
    pub(super) fn name_section(&mut self, parts: &[&[u8]]) -> [u32; 2] {
        self.name(NamePlace::Both, parts)
    }

    /// Whether the sections of no other strong function can be called as those of this one.
    pub(super) fn is_named_alone(&self, text: &[u8], function: &[u8], raw: &Symbol) -> bool {
        raw.bind() == raw::STB_GLOBAL
            && !self.settings.mercury()
            && !self.settings.keeps_removed_names
            && text.strip_prefix(b".text.") == Some(function)
    }

    /// Where in `.strtab` a name is.
    pub(super) fn name_symbol(&mut self, name: &[u8]) -> u32 {
        self.name(NamePlace::Symbols, &[name])[1]
    }

    /// Names the prototypes that a file is the first to mention.
    pub(super) fn name_prototypes_of(&mut self, file: FileId, graph: &CallGraph<'_>) {
        let first = self.out.names.of_prototypes.len();
        let files = graph.prototype_files[first..].iter();
        for (text, _) in graph.prototypes[first..].iter().zip(files.take_while(|of| **of == file)) {
            let place = if text.is_empty() { NamePlace::Nameless } else { NamePlace::Symbols };
            let [_, name] = self.name(place, &[text]);
            self.out.names.of_prototypes.push(name);
        }
    }

    /// Names what nvlink makes for handles of textures and removes again.
    pub(super) fn name_handles(&mut self) {
        let references = textures::references(&self.out);
        if !references.is_empty() {
            self.name_section(&[b".nv.constant0"]);
        }
        for id in references {
            self.name(NamePlace::Symbols, &[b"$NVLINKBINDLESSOFF_", self.out.symbol(id).name]);
        }
    }

    /// Names what nvlink makes for extern shared arrays and removes again.
    pub(super) fn name_extern_shared(&mut self) {
        let has_dynamic = self.out.shared.iter().any(|object| object.dynamic);
        if has_dynamic
            && !self.settings.keeps_shared_symbols
            && shared::reaches_dynamic(&self.out, &self.out.calls)
        {
            self.name_symbol(b"externsharedinstance");
        }
    }

    /// Names what nvlink makes to pack constants and removes again.
    pub(super) fn name_packing(&mut self) {
        if self.settings.packs_by_size && self.out.packed {
            self.name_section(&[b"TEMP_USER_DATA"]);
            if self.settings.shares_packed {
                self.name_section(&[b"TEMP_MERGED_CONSTANTS"]);
            }
        }
    }

    /// Looks for a section: nvlink makes what it does not find, or so many sections, and removes them in the end as they are
    /// empty. The name of the first stays.
    pub(super) fn name_only(&mut self, parts: &[&[u8]], count: usize) {
        let [name, _] = self.name(NamePlace::BothIfMissing, parts);
        self.naming.looked_for.push((name, SectionId::at(self.out.sections.len()), count));
    }

    /// Gives the global symbols their names, which come after all others and differ from one another as those of entities
    /// do. Notes on the way what is in no section.
    pub(super) fn name_globals(&mut self) {
        let Self { out, symbols, objects, .. } = self;
        for (index, symbol) in out.symbols.iter().enumerate() {
            if let (Some(_), None) = (symbol.entity, symbol.section) {
                out.unplaced.push(SymbolId::at(index));
            }
            let is_removed =
                symbol.dropped && (symbol.shared || out.packed || symbol.other & 3 == raw::STV_INTERNAL);
            if !symbol.among_globals || is_removed {
                continue;
            }
            // Whichever input mentions it, the name is the same.
            let first = || symbol.entity.map(|entity| symbols.get(entity).first);
            out.names.of_symbols[index] = match symbol.origin.or_else(first) {
                Some(Origin { file, symbol: index }) => {
                    out.names.tables.add_distinct(symbol.name, objects[file.index()].hashes[index as usize])
                }
                None => out.names.tables.add(Table::Symbols, symbol.name),
            };
        }
        if !self.settings.relocatable {
            for id in &out.unplaced {
                let symbol = &mut out.symbols[id.index()];
                symbol.dropped |= UNIFIED_TABLES.contains(&&**symbol.name);
            }
        }
    }
}
