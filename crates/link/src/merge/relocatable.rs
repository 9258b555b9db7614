//! What a relocatable link does with shared memory: nothing is placed, the variables stay as they are, and the
//! sections say how much there is. And the symbols that only objects have.

use super::merger::Merger;
use super::reading::CONSTANTS_SIZE;
use crate::model::ids::{SectionId, SymbolId};
use crate::model::mercury::is_reserved;
use crate::model::merged::{Content, Function, Kind, OutputSymbol, RelocTarget};
use crate::model::symbols::{Origin, UNIFIED_TABLES};
use crate::shared::{find, read_at};
use bstr::BStr;
use hashbrown::HashMap;
use solder_cubin::raw::{self, Symbol};

/// The alignment of dynamic shared memory.
const DYNAMIC_ALIGN: u64 = 16;

/// The symbol for the beginning of dynamic shared memory in one kernel.
const INSTANCE: &[u8] = b"externsharedinstance";

/// What is known of the beginning of dynamic shared memory in a kernel before its section is finished.
#[derive(Clone, Copy)]
struct Begin {
    /// The one on which all kernels with the same array agree.
    common: Option<u64>,
    /// The symbol that means it.
    instance: Option<SymbolId>,
}

fn round_up(size: u64, align: u64) -> u64 {
    size.checked_next_multiple_of(align.max(1)).unwrap_or(u64::MAX)
}

/// Where extern arrays begin that say how they are aligned: after variables, and never at 0.
fn begin_of_arrays(size: u64, align: u64) -> u64 {
    round_up(size.max(1), align.max(DYNAMIC_ALIGN))
}

impl<'data> Merger<'_, 'data> {
    /// The symbol of the parameters, which only objects have.
    pub(super) fn parameter_symbol(&mut self, origin: Origin, raw: &Symbol) {
        if !self.settings.shows_hidden() && !self.settings.keeps_removed_names {
            return;
        }
        let index = raw.shndx.get();
        let place = self.out.files[origin.file.index()].sections[usize::from(index)];
        // A discarded copy of a kernel leaves its symbol in the parameters of the copy that prevails.
        let name = self.objects[origin.file.index()].section(u32::from(index)).name;
        let of_other_copy = || self.constants.by_name.get(name).map(|section| (*section, 0));
        let Some((section, base)) = place.or_else(of_other_copy) else { return };
        let mut symbol = self.hidden_symbol(origin);
        if !self.settings.shows_hidden() {
            self.name_symbol(symbol.name);
            return;
        }
        symbol.section = Some(section);
        symbol.value = base.wrapping_add(raw.value.get());
        let name = symbol.name;
        let name = self.show_hidden(&mut symbol, raw, name);
        let id = self.push_named(symbol, name);
        self.out.files[origin.file.index()].symbols[origin.symbol as usize] = Some(id);
    }

    /// Makes a symbol that images do not have one of the output; where its name is.
    pub(super) fn show_hidden(&mut self, symbol: &mut OutputSymbol<'data>, raw: &Symbol, name: &[u8]) -> u32 {
        symbol.mercury_other = raw.other;
        symbol.size = raw.size.get();
        if self.settings.relocatable {
            (symbol.kind, symbol.other) = (raw.kind(), raw.other);
        } else {
            (symbol.kind, symbol.other) = (raw::STT_OBJECT, raw::STV_INTERNAL);
        }
        symbol.dropped = false;
        self.name_symbol(name)
    }

    /// The symbol that means the size of the program's constants stays, though nothing refers to it any more: that of the first file
    /// that has it (reloc/constants-size-shared).
    pub(super) fn constants_size_symbol(&mut self, origin: Origin, raw: &Symbol) {
        let mut symbol = self.hidden_symbol(origin);
        if symbol.name == CONSTANTS_SIZE && !std::mem::replace(&mut self.constants.has_size_symbol, true) {
            let name = self.show_hidden(&mut symbol, raw, CONSTANTS_SIZE);
            symbol.kind = raw::STT_CUDA_OBJECT;
            self.push_named(symbol, name);
        }
    }

    /// Variables that nobody defines are nowhere, unless they may be undefined (core/runtime-not-for-data): then they are at 0,
    /// whatever an earlier link said of them (reloc/undefined-again).
    pub(super) fn mark_undefined(&mut self) {
        let place = if self.settings.allows_undefined { 0 } else { u64::MAX };
        if !self.settings.allows_undefined {
            let size = self.out.constants_size();
            for symbol in self.out.symbols.iter_mut().filter(|s| s.name == CONSTANTS_SIZE) {
                symbol.value = size;
            }
        }
        for symbol in &mut self.out.symbols {
            let variable = symbol.kind == raw::STT_CUDA_OBJECT && symbol.entity.is_some();
            let known = UNIFIED_TABLES.contains(&&**symbol.name) || is_reserved(symbol.name);
            if variable && symbol.section.is_none() && !known {
                symbol.value = place;
            }
        }
    }

    /// Sizes and alignments of the sections of shared memory, and what their variables say of themselves.
    pub(super) fn finish_shared(&mut self) {
        let file_shared = self.out.well_known.file_shared;
        let places_dynamic = self.settings.places_dynamic;
        let begin = round_up(self.settings.null_pointer, DYNAMIC_ALIGN);
        for object in self.out.shared.clone() {
            let owner = object.owner.and_then(|kernel| self.out.functions[kernel as usize].shared);
            let Some(section) = owner.or(file_shared) else { continue };
            let out = self.out.section_mut(section);
            out.size = out.size.saturating_add(object.size);
            let least = if object.dynamic { DYNAMIC_ALIGN } else { 1 };
            out.widen(object.align.max(least));
            let symbol = self.out.symbol_mut(object.symbol);
            // A strong copy of a weak variable leaves it its alignment.
            if symbol.section.replace(section).is_none() {
                symbol.value = if object.dynamic && places_dynamic { begin } else { object.align };
            }
        }
        let align = self.out.file_shared_align;
        let everywhere = align == DYNAMIC_ALIGN && self.out.shared.iter().any(|o| o.dynamic);
        if let Some(section) = file_shared {
            self.drop_symbol_if_empty(section);
            let out = self.out.section_mut(section);
            out.widen(align);
            self.leave_room(section);
        }
        let begins = if self.settings.places_dynamic { self.common_begins() } else { Vec::new() };
        // The beginnings of dynamic shared memory are made in the order in which code was found to need them.
        let mut kernels: Vec<usize> = (0..self.out.functions.len()).collect();
        kernels.sort_by_key(|kernel| read_at(&self.out, *kernel as u32));
        // Static kernels of one name have one section (reloc/shared-of-static-kernels).
        let mut finished: HashMap<SectionId, u64, foldhash::fast::FixedState> = HashMap::default();
        let mut dynamics: HashMap<SectionId, u64, foldhash::fast::FixedState> = HashMap::default();
        for function in &self.out.functions {
            if let (Some(section), Some(align)) = (function.shared, self.dynamic_references(function.text)) {
                let known = dynamics.entry(section).or_default();
                *known = align.max(*known);
            }
        }
        for kernel in kernels {
            let Function { entry, shared, text, .. } = self.out.functions[kernel];
            let mut instance = None;
            if entry && shared.is_none() && self.dynamic_references(text).is_some() {
                // The symbol comes before that of the section, which 13.0 leaves out (gc/preserve-not-asked-for).
                instance = Some(self.instance());
                self.shared_of_launched(Some(kernel as u32));
            }
            let Some(section) = self.out.functions[kernel].shared else { continue };
            let begin = begins.get(kernel).copied().flatten();
            let begin = Begin { common: begin, instance };
            let value = if let Some(value) = finished.get(&section) {
                *value
            } else {
                let dynamic = dynamics.get(&section).copied().or_else(|| self.dynamic_references(text));
                // A section made here is only as far aligned as its kernel asks for (reloc/shared-not-asked-for).
                let align = if instance.is_some() { 1 } else { align };
                self.finish_kernel_shared(section, dynamic, align, everywhere, begin.common)
            };
            finished.insert(section, value);
            if begin.common.is_none() && self.dynamic_references(text).is_some() {
                self.begin_dynamic(text, begin, value);
            }
        }
    }

    /// Gives a kernel's section its last size and alignment. Returns where dynamic shared memory begins in it.
    fn finish_kernel_shared(
        &mut self,
        section: SectionId,
        dynamic: Option<u64>,
        file_align: u64,
        everywhere: bool,
        begin: Option<u64>,
    ) -> u64 {
        let aligned = dynamic.filter(|align| self.settings.aligned_arrays && *align > 0);
        if dynamic.is_some() {
            let out = self.out.section_mut(section);
            out.size = out.size.max(self.settings.null_pointer);
        }
        if let Some(begin) = begin {
            self.out.section_mut(section).size = begin;
        } else if let Some(align) = aligned {
            let out = self.out.section_mut(section);
            out.size = begin_of_arrays(out.size, align);
        }
        self.drop_symbol_if_empty(section);
        let out = self.out.section_mut(section);
        if out.size == 0 && dynamic.is_none() && !everywhere {
            return 0;
        }
        out.widen(file_align);
        let Some(align) = dynamic else {
            let begin = round_up(out.size, DYNAMIC_ALIGN);
            self.leave_room(section);
            return begin;
        };
        out.widen(align.max(DYNAMIC_ALIGN));
        let begin = round_up(out.size, DYNAMIC_ALIGN);
        // Without variables of its own, a kernel has no section beside a `.nv_debug.shared` of large alignment.
        if out.size > 0 || file_align <= DYNAMIC_ALIGN {
            self.leave_room(section);
            let aligned = self.settings.aligned_arrays;
            let out = self.out.section_mut(section);
            let align = if aligned { out.align() } else { DYNAMIC_ALIGN };
            out.size = round_up(out.size, align);
        }
        begin
    }

    /// Makes the symbol of a kernel whose own code uses dynamic shared memory for where that begins.
    fn begin_dynamic(&mut self, text: Option<SectionId>, known: Begin, value: u64) {
        let instance = known.instance.unwrap_or_else(|| self.instance());
        self.out.symbol_mut(instance).value = value;
        self.redirect_dynamic(text, instance);
    }

    /// Where dynamic shared memory begins in each kernel if extern arrays have one value: kernels whose code uses the
    /// same array agree. The arrays get their values.
    fn common_begins(&mut self) -> Vec<Option<u64>> {
        let count = self.out.functions.len();
        let mut group: Vec<usize> = (0..count).collect();
        let mut first_user: HashMap<SymbolId, usize, foldhash::fast::FixedState> = HashMap::default();
        let mut uses = vec![Vec::new(); count];
        for (index, function) in self.out.functions.iter().enumerate().filter(|(_, f)| f.shared.is_some()) {
            for symbol in self.dynamic_symbols(function.text) {
                let first = *first_user.entry(symbol).or_insert(index);
                let (first, own) = (find(&mut group, first), find(&mut group, index));
                group[own] = first;
                uses[index].push(symbol);
            }
        }
        let mut begin = vec![0; count];
        let users: Vec<usize> = (0..count).filter(|index| !uses[*index].is_empty()).collect();
        for index in &users {
            let size = self.out.functions[*index].shared.map_or(0, |id| self.out.section(id).size);
            let size = size.max(self.settings.null_pointer);
            let align = self.dynamic_references(self.out.functions[*index].text).unwrap_or(0);
            let section = self.out.functions[*index].shared.map_or(1, |id| self.out.section(id).align());
            let own = if self.settings.aligned_arrays {
                round_up(size, align.max(section).max(self.out.file_shared_align).max(DYNAMIC_ALIGN))
            } else {
                round_up(size, DYNAMIC_ALIGN)
            };
            let root = find(&mut group, *index);
            begin[root] = own.max(begin[root]);
        }
        let mut begins = vec![None; count];
        for index in users {
            let value = begin[find(&mut group, index)];
            begins[index] = Some(value);
            for symbol in &uses[index] {
                self.out.symbol_mut(*symbol).value = value;
            }
        }
        begins
    }

    /// The extern arrays that code refers to.
    fn dynamic_symbols(&self, text: Option<SectionId>) -> Vec<SymbolId> {
        let Some(text) = text.map(|id| self.out.section(id)) else { return Vec::new() };
        let mut found = Vec::new();
        for id in [text.rel, text.rela].into_iter().flatten() {
            let Content::Relocations(entries) = &self.out.section(id).content else { continue };
            for entry in entries {
                if let RelocTarget::Symbol(symbol) = entry.target
                    && self.is_dynamic(entry.target).is_some()
                    && !found.contains(&symbol)
                {
                    found.push(symbol);
                }
            }
        }
        found
    }

    /// A section without variables has no section symbol, whatever its size will be.
    fn drop_symbol_if_empty(&mut self, section: SectionId) {
        let section = self.out.section(section);
        if let Some(symbol) = section.symbol.filter(|_| section.size == 0) {
            self.out.symbol_mut(symbol).dropped = true;
        }
    }

    /// Room for moving a section that is not larger than its alignment.
    fn leave_room(&mut self, section: SectionId) {
        let out = self.out.section_mut(section);
        debug_assert!(matches!(out.kind, Kind::KernelShared | Kind::FileShared));
        if out.size <= out.align() {
            out.size = out.size.saturating_add(out.align());
        }
    }

    fn instance(&mut self) -> SymbolId {
        // Names of globals come after all others.
        let is_global = self.settings.weak_is_global;
        let name = if is_global { 0 } else { self.name_symbol(INSTANCE) };
        let symbol = OutputSymbol {
            name: BStr::new(INSTANCE),
            bind: raw::STB_WEAK,
            among_globals: is_global,
            kind: raw::STT_CUDA_OBJECT,
            other: raw::STO_SHARED | 1,
            mercury_other: raw::STO_SHARED | 1,
            ..OutputSymbol::default()
        };
        self.push_named(symbol, name)
    }

    fn is_dynamic(&self, target: RelocTarget) -> Option<u64> {
        let RelocTarget::Symbol(symbol) = target else { return None };
        if !self.out.symbol(symbol).shared {
            return None;
        }
        self.out.shared.iter().find(|o| o.begins_after_others() && o.symbol == symbol).map(|o| o.align)
    }

    /// The largest alignment of the extern arrays that code refers to; `None` if it refers to none.
    pub(super) fn dynamic_references(&self, text: Option<SectionId>) -> Option<u64> {
        let text = self.out.section(text?);
        let of = |id: SectionId| match &self.out.section(id).content {
            Content::Relocations(entries) => entries.iter().filter_map(|e| self.is_dynamic(e.target)).max(),
            _ => None,
        };
        [text.rel, text.rela].into_iter().flatten().filter_map(of).max()
    }

    fn redirect_dynamic(&mut self, text: Option<SectionId>, instance: SymbolId) {
        let Some(text) = text.map(|id| self.out.section(id)) else { return };
        let twin = text.rela.and_then(|relocations| self.out.section(relocations).twin);
        for id in [text.rel, text.rela, twin].into_iter().flatten() {
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
