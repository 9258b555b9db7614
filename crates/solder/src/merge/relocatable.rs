//! What a relocatable link does with shared memory: nothing is placed, the variables stay as they are, and the
//! sections say how much there is. And the symbols that only objects have.

use super::constants::Place;
use super::{Content, Kind, Merger, OutputSymbol, RelocTarget};
use crate::ids::{SectionId, SymbolId};
use crate::resolve::Origin;
use solder_cubin::raw::{self, Symbol};

/// The alignment of dynamic shared memory.
const DYNAMIC_ALIGN: u64 = 16;

/// The symbol for the beginning of dynamic shared memory in one kernel.
const INSTANCE: &str = "externsharedinstance";

impl<'data> Merger<'_, 'data> {
    /// The symbol of the parameters, which only objects have.
    pub(super) fn parameter_symbol(&mut self, origin: Origin, raw: &Symbol) {
        if !self.settings.shows_hidden() {
            return;
        }
        let index = raw.shndx.get();
        let place = self.out.files[origin.file.index()].sections[usize::from(index)];
        // A discarded copy of a kernel leaves its symbol in the parameters of the copy that counts.
        let name = self.objects[origin.file.index()].section(u32::from(index)).name;
        let of_other_copy = || match self.constants_by_name.get(name) {
            Some(Place::Section(section)) => Some((*section, 0)),
            _ => None,
        };
        let Some((section, base)) = place.or_else(of_other_copy) else { return };
        let mut symbol = self.hidden_symbol(origin);
        symbol.section = Some(section);
        symbol.value = base.wrapping_add(raw.value.get());
        self.show_hidden(&mut symbol, raw);
        let id = self.push_symbol(symbol);
        self.out.files[origin.file.index()].symbols[origin.symbol as usize] = Some(id);
    }

    /// Makes a symbol that images do not have one of the output.
    pub(super) fn show_hidden(&mut self, symbol: &mut OutputSymbol<'data>, raw: &Symbol) {
        symbol.name_offset = self.out.names.add(symbol.name);
        symbol.size = raw.size.get();
        if self.settings.relocatable {
            (symbol.kind, symbol.other) = (raw.kind(), raw.other);
        } else {
            (symbol.kind, symbol.other) = (raw::STT_OBJECT, raw::STV_INTERNAL);
        }
        symbol.dropped = false;
    }

    /// Variables that nobody defines are nowhere.
    pub(super) fn mark_undefined(&mut self) {
        for symbol in &mut self.out.symbols {
            let variable = symbol.kind == raw::STT_CUDA_OBJECT && symbol.entity.is_some();
            if variable && symbol.section.is_none() {
                symbol.value = u64::MAX;
            }
        }
    }

    /// Sizes and alignments of the sections of shared memory, and what their variables say of themselves.
    pub(super) fn finish_shared(&mut self) {
        let file_shared = self.out.well_known.file_shared;
        for object in self.out.shared.clone() {
            let owner = object.owner.and_then(|kernel| self.out.functions[kernel as usize].shared);
            let Some(section) = owner.or(file_shared) else { continue };
            let out = self.out.section_mut(section);
            out.size = out.size.saturating_add(object.size);
            let least = if object.dynamic { DYNAMIC_ALIGN } else { 1 };
            out.align = out.align.max(object.align).max(least);
            let symbol = self.out.symbol_mut(object.symbol);
            (symbol.section, symbol.value) = (Some(section), object.align);
        }
        let align = self.out.file_shared_align;
        let everywhere = align == DYNAMIC_ALIGN && self.out.shared.iter().any(|o| o.dynamic);
        if let Some(section) = file_shared {
            self.drop_symbol_if_empty(section);
            let out = self.out.section_mut(section);
            out.align = out.align.max(align);
            self.leave_room(section);
        }
        for kernel in 0..self.out.functions.len() {
            let Some(section) = self.out.functions[kernel].shared else { continue };
            self.finish_kernel_shared(section, self.out.functions[kernel].text, align, everywhere);
        }
    }

    /// A kernel whose own code uses dynamic shared memory gets a symbol for its beginning.
    fn finish_kernel_shared(
        &mut self,
        section: SectionId,
        text: Option<SectionId>,
        file_align: u64,
        everywhere: bool,
    ) {
        let dynamic = self.dynamic_references(text);
        self.drop_symbol_if_empty(section);
        let out = self.out.section_mut(section);
        if out.size == 0 && dynamic.is_none() && !everywhere {
            return;
        }
        out.align = out.align.max(file_align);
        let Some(align) = dynamic else { return self.leave_room(section) };
        out.align = out.align.max(align).max(DYNAMIC_ALIGN);
        let begin = out.size.next_multiple_of(DYNAMIC_ALIGN);
        // Without variables of its own, a kernel has no section beside a `.nv_debug.shared` of large alignment.
        if out.size > 0 || file_align <= DYNAMIC_ALIGN {
            self.leave_room(section);
            let out = self.out.section_mut(section);
            out.size = out.size.next_multiple_of(DYNAMIC_ALIGN);
        }
        let instance = self.instance(begin);
        self.redirect_dynamic(text, instance);
    }

    /// A section without variables has no section symbol, whatever its size will be.
    fn drop_symbol_if_empty(&mut self, section: SectionId) {
        let section = self.out.section(section);
        if let Some(symbol) = section.symbol.filter(|_| section.size == 0) {
            self.out.symbol_mut(symbol).dropped = true;
        }
    }

    /// Room for moving a section that is no larger than its alignment.
    fn leave_room(&mut self, section: SectionId) {
        let out = self.out.section_mut(section);
        debug_assert!(matches!(out.kind, Kind::KernelShared | Kind::FileShared));
        if out.size <= out.align {
            out.size = out.size.saturating_add(out.align);
        }
    }

    fn instance(&mut self, value: u64) -> SymbolId {
        let name_offset = self.out.names.add(INSTANCE);
        self.push_symbol(OutputSymbol {
            name: INSTANCE,
            name_offset,
            bind: raw::STB_WEAK,
            kind: raw::STT_CUDA_OBJECT,
            other: raw::STO_SHARED | 1,
            value,
            ..OutputSymbol::default()
        })
    }

    fn is_dynamic(&self, target: RelocTarget) -> Option<u64> {
        let RelocTarget::Symbol(symbol) = target else { return None };
        if !self.out.symbol(symbol).shared {
            return None;
        }
        self.out.shared.iter().find(|o| o.dynamic && o.symbol == symbol).map(|o| o.align)
    }

    /// The largest alignment of the extern arrays that code refers to; `None` if it refers to none.
    fn dynamic_references(&self, text: Option<SectionId>) -> Option<u64> {
        let text = self.out.section(text?);
        let of = |id: SectionId| match &self.out.section(id).content {
            Content::Relocations(entries) => entries.iter().filter_map(|e| self.is_dynamic(e.target)).max(),
            _ => None,
        };
        [text.rel, text.rela].into_iter().flatten().filter_map(of).max()
    }

    fn redirect_dynamic(&mut self, text: Option<SectionId>, instance: SymbolId) {
        let Some(text) = text.map(|id| self.out.section(id)) else { return };
        for id in [text.rel, text.rela].into_iter().flatten() {
            let mut entries = std::mem::take(self.out.section_mut(id).relocations_mut());
            for entry in &mut entries {
                if self.is_dynamic(entry.target).is_some() {
                    entry.target = RelocTarget::Symbol(instance);
                }
            }
            *self.out.section_mut(id).relocations_mut() = entries;
        }
    }
}
