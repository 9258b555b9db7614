//! What any code of the inputs refers to, functions that were removed included.

use crate::model::ids::{FileId, SymbolId};
use crate::model::merged::Merged;
use crate::model::object::{Object, Role};
use crate::model::symbols::Symbols;
use std::cell::OnceCell;

/// Variables that any code of the inputs refers to: removed functions included, discarded copies left
/// out. Looked up only for shared ones that no kernel reaches and for textures in a link with one kernel.
#[derive(Debug)]
pub struct DeadReferences<'a, 'data> {
    objects: &'a [Object<'data>],
    symbols: &'a Symbols<'data>,
    merged: &'a Merged<'data>,
    found: OnceCell<Vec<bool>>,
}

impl<'a, 'data> DeadReferences<'a, 'data> {
    pub fn new(objects: &'a [Object<'data>], symbols: &'a Symbols<'data>, merged: &'a Merged<'data>) -> Self {
        Self { objects, symbols, merged, found: OnceCell::new() }
    }

    pub fn contains(&self, id: SymbolId) -> bool {
        self.found.get_or_init(|| self.find())[id.index()]
    }

    fn find(&self) -> Vec<bool> {
        let mut found = vec![false; self.merged.symbols.len()];
        for (file, (object, map)) in self.objects.iter().zip(&self.merged.files).enumerate() {
            let file = FileId::at(file);
            for section in object.sections_with(Role::Relocations) {
                let owner = object.text_owner(section.info());
                if owner.is_none_or(|owner| !self.symbols.is_definition(file, owner)) {
                    continue;
                }
                let Ok(entries) = section.relocations() else { continue };
                for symbol in entries.iter().filter_map(|e| map.symbols[e.symbol.get() as usize]) {
                    found[symbol.index()] = true;
                }
            }
        }
        found
    }
}
