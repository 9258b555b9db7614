//! What stays for tools: the symbols of shared variables in links with debug information, the relocations that a
//! link with `-preserve-relocs` resolved and the symbols they name.

use super::merger::{Merger, New};
use super::settings::Settings;
use crate::model::ids::{FileId, SectionId, SymbolId};
use crate::model::merged::{Kind, SharedObject};
use crate::model::object::{Object, Role};
use crate::model::symbols::Symbols;
use crate::references::DeadReferences;
use crate::shared;
use bstr::BStr;
use solder_cubin::raw;

/// The things that some code refers to, by entity, if shared variables keep their symbols: those that nothing refers
/// to do not.
pub(super) fn referenced(
    settings: &Settings<'_>,
    objects: &[Object<'_>],
    symbols: &Symbols<'_>,
) -> Vec<bool> {
    if settings.relocatable || !settings.shows_shared() {
        return Vec::new();
    }
    let mut found = vec![false; symbols.entities.len()];
    for (file, object) in objects.iter().enumerate() {
        let file = FileId::at(file);
        for section in object.sections_with(Role::Relocations) {
            let owner = object.text_owner(section.info());
            if owner.is_none_or(|owner| !symbols.is_definition(file, owner)) {
                continue;
            }
            let Ok(entries) = section.relocations() else { continue };
            for entity in entries.iter().filter_map(|e| symbols.entity(file, e.symbol.get())) {
                found[entity.index()] = true;
            }
        }
    }
    found
}

impl Merger<'_, '_> {
    /// Whether a shared variable has a symbol in the output; `dynamic`: extern arrays have.
    pub(super) fn shows(&self, object: &SharedObject, dynamic: bool) -> bool {
        if self.settings.relocatable {
            return true;
        }
        let entity = self.out.symbol(object.symbol).entity;
        let referenced = || entity.is_some_and(|e| self.referenced.get(e.index()).is_some_and(|r| *r));
        if object.dynamic {
            // Of extern arrays, not the beginnings that a relocatable link made.
            (self.settings.keeps_shared_symbols || dynamic) && !self.is_internal(object.symbol)
        } else {
            self.settings.shows_shared() && (object.owner.is_some() || referenced())
        }
    }

    fn is_internal(&self, symbol: SymbolId) -> bool {
        self.out.symbol(symbol).other & 3 == raw::STV_INTERNAL
    }

    /// Drops the shared variables that have no symbol in the output. `-preserve-relocs` alone marks the others as
    /// internal.
    pub(super) fn hide_shared(&mut self) {
        if self.settings.relocatable {
            return;
        }
        if self.has_shared_symbols {
            self.out.symbols.iter_mut().filter(|s| s.shared).for_each(|s| s.dropped = true);
        }
        let internal = self.settings.preserves_relocs && !self.settings.keeps_shared_symbols;
        // The place of an extern array, nowhere, is told by its value, unless the reserved part is added to it.
        self.out.common_shared = internal && {
            let references = DeadReferences::new(self.objects, self.symbols, &self.out);
            shared::has_common(&self.out, &self.out.calls, &|id| references.contains(id))
        };
        let dynamic = self.out.common_shared && self.settings.reserves_shared && !self.settings.mercury();
        for object in self.out.shared.clone() {
            if self.shows(&object, dynamic) && !self.out.symbol(object.symbol).name.is_empty() {
                let symbol = self.out.symbol_mut(object.symbol);
                symbol.dropped = false;
                let visibility = if internal { raw::STV_INTERNAL } else { 0 };
                symbol.other |= visibility;
                symbol.mercury_other |= visibility;
            }
        }
    }

    /// The section for the relocations of `target` that the link resolves.
    pub(super) fn create_resolved(&mut self, target: SectionId, name: &[u8]) {
        // Found by name: functions of one name have one together.
        if let Some(section) = self.resolved_by_name.get(BStr::new(name)) {
            self.out.resolved.insert(target, *section);
            return;
        }
        let section = self.create(&New {
            kind: Kind::Resolved,
            name: &[b".nv.resolvedrela", name],
            sh_type: raw::SHT_CUDA_RESOLVED_RELA,
            flags: raw::SHF_INFO_LINK,
            align: 8,
            entsize: size_of::<raw::Rela>() as u64,
        });
        self.out.section_mut(section).of = Some(target);
        self.out.resolved.insert(target, section);
        self.resolved_by_name.insert(name.into(), section);
    }
}
