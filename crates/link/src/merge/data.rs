//! Variables and the sections that hold them; debug information; kernel parameters.

use super::equal;
use super::merger::{Merger, New};
use super::settings::Settings;
use crate::diagnostics::Stop;
use crate::model::ids::{FileId, SectionId, SymbolId};
use crate::model::mercury;
use crate::model::merged::{Function, Kind, OutputSymbol, SharedObject, narrow};
use crate::model::object::{Object, Role};
use crate::model::symbols::Origin;
use crate::references::DeadReferences;
use crate::resolve::is_extern_shared;
use crate::shared;
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use solder_cubin::Section;
use solder_cubin::lines::{REGISTER_TABLE, REGISTER_TYPES, is_line_table};
use solder_cubin::raw::{self, Symbol};
use std::cell::OnceCell;
use std::num::NonZeroU32;

/// Constants of the program are merged, tables of addresses (bank 4) are not.
const USER_CONSTANTS: u32 = raw::SHT_CUDA_CONSTANT + 3;

/// The sections of an object in which variables are.
fn sections_with_variables(object: &Object<'_>) -> HashSet<usize, FixedState> {
    let variables =
        object.symbols().filter(|(_, raw)| matches!(raw.kind(), raw::STT_OBJECT | raw::STT_CUDA_OBJECT));
    variables.map(|(_, raw)| usize::from(raw.shndx.get())).collect()
}

impl<'data> Merger<'_, 'data> {
    pub(super) fn variable(&mut self, origin: Origin, raw: &'data Symbol) -> Result<(), Stop> {
        match raw.kind() {
            raw::STT_OBJECT | raw::STT_CUDA_OBJECT => {}
            raw::STT_TEXTURE | raw::STT_SAMPLER | raw::STT_SURFACE => {
                self.image(origin, raw);
                return Ok(());
            }
            _ => return Ok(()),
        }
        if raw.bind() == raw::STB_LOCAL && raw.visibility() == 1 {
            return self.constant_symbol(origin, raw);
        }
        if !raw.is_defined() {
            self.undefined_variable(origin, raw);
            return Ok(());
        }
        if raw.shndx.get() == raw::SHN_COMMON {
            self.common(origin, raw);
            return Ok(());
        }
        let object = &self.objects[origin.file.index()];
        let index = u32::from(raw.shndx.get());
        match object.role(index) {
            Role::KernelShared | Role::FileShared => {
                self.shared_variable(origin, raw);
                Ok(())
            }
            Role::Constant | Role::Global | Role::GlobalInit => self.placed_variable(origin, raw),
            Role::ReservedShared => {
                self.reserved_variable(origin, raw);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A texture, sampler or surface. One that is a parameter is in the code of its kernel, and goes with it.
    fn image(&mut self, origin: Origin, raw: &'data Symbol) {
        let is_parameter = raw.bind() == raw::STB_LOCAL && raw.is_defined();
        let text = self.out.files[origin.file.index()].sections.get(usize::from(raw.shndx.get()));
        let text = text.copied().flatten().map(|(section, _)| section).filter(|_| is_parameter);
        if is_parameter && text.is_none() {
            return;
        }
        let Some((symbol, true)) = self.mention_global(origin, raw) else { return };
        self.out.references.push(symbol);
        if is_parameter {
            let name = self.name_symbol(self.out.symbol(symbol).name);
            self.out.names.of_symbols[symbol.index()] = name;
            self.out.symbol_mut(symbol).section = text;
        }
    }

    fn mention_global(&mut self, origin: Origin, raw: &'data Symbol) -> Option<(SymbolId, bool)> {
        let entity = self.symbols.entity(origin.file, origin.symbol)?;
        Some(self.mention(origin, entity, raw))
    }

    fn undefined_variable(&mut self, origin: Origin, raw: &'data Symbol) {
        let is_shared = raw.other & raw::STO_SPACE == raw::STO_SHARED;
        // One that has a size is a variable that another object must define.
        let is_dynamic = is_shared && raw.size.get() == 0;
        if is_dynamic && self.symbols.entity(origin.file, origin.symbol).is_some() {
            self.file_shared();
        }
        let Some((symbol, new)) = self.mention_global(origin, raw) else { return };
        if new && is_shared {
            self.out.symbol_mut(symbol).shared = true;
            self.has_shared_symbols = true;
            if is_dynamic {
                let align = raw.value.get();
                self.out.file_shared_align = self.out.file_shared_align.max(align);
                self.out.shared.push(SharedObject { symbol, owner: None, size: 0, align, dynamic: true });
                if self.settings.relocatable {
                    self.name_local(symbol);
                }
            }
        }
    }

    fn file_shared(&mut self) -> SectionId {
        if let Some(section) = self.out.well_known.file_shared {
            return section;
        }
        let section = self.create_with_symbol(&New {
            kind: Kind::FileShared,
            name: &[b".nv_debug.shared"],
            sh_type: self.settings.section_type(raw::SHT_CUDA_SHARED, raw::SHT_NOBITS),
            flags: raw::SHF_WRITE | raw::SHF_ALLOC,
            align: 1,
            entsize: 0,
        });
        self.out.well_known.file_shared = Some(section);
        section
    }

    fn shared_variable(&mut self, origin: Origin, raw: &'data Symbol) {
        let object = &self.objects[origin.file.index()];
        let section = object.section(u32::from(raw.shndx.get()));
        let mut owner = None;
        if object.role(section.index) == Role::KernelShared {
            // Variables of a discarded copy of a weak kernel count all the same.
            let kernel = self.function_in(origin.file, section.info());
            owner = kernel.and_then(|entity| self.out.function_of[entity.index()]);
            if owner.is_none() {
                // Of a removed kernel's the name of the section stays.
                self.name_only(&[section.name], 1);
                return;
            }
            self.shared_of_launched(owner);
        } else if self.symbols.accepted(origin.file, origin.symbol) || raw.bind() == raw::STB_LOCAL {
            self.file_shared();
            self.out.file_shared_align = self.out.file_shared_align.max(raw.value.get());
        }
        let Some((symbol, new)) = self.mention_global(origin, raw) else { return };
        if owner.is_none() && !new && !is_extern_shared(raw) && self.lose_dynamic(symbol, raw) {
            return;
        }
        if !new && raw.bind() == raw::STB_GLOBAL && self.out.symbol(symbol).bind == raw::STB_WEAK {
            self.replace_shared(symbol, origin, raw.value.get());
        } else if new || self.out.symbol(symbol).shared && self.out.symbol(symbol).origin.is_none() {
            let dynamic = owner.is_none() && is_extern_shared(raw);
            self.out.symbol_mut(symbol).shared = true;
            self.has_shared_symbols = true;
            self.out.symbol_mut(symbol).origin = (!dynamic).then_some(origin);
            if !dynamic {
                self.out.symbol_mut(symbol).bind = raw.bind();
            }
            let (size, align) = (raw.size.get(), raw.value.get().max(u64::from(!dynamic)));
            let object = SharedObject { symbol, owner, size, align, dynamic };
            let shows = self.shows(&object, false);
            self.out.shared.push(object);
            if shows {
                self.name_local(symbol);
            }
        }
    }

    /// A strong definition of a weak variable takes room too; which of the two the variable is depends on which is
    /// placed last.
    fn replace_shared(&mut self, symbol: SymbolId, origin: Origin, align: u64) {
        if let Some(object) = self.out.shared.iter().find(|o| o.symbol == symbol && !o.dynamic).cloned() {
            self.out.shared.push(SharedObject { align, ..object });
            let symbol = self.out.symbol_mut(symbol);
            (symbol.bind, symbol.origin) = (raw::STB_GLOBAL, Some(origin));
        }
    }

    /// Gives an extern array its size, where it is one; nvlink then no longer places it.
    fn lose_dynamic(&mut self, symbol: SymbolId, raw: &Symbol) -> bool {
        let Some(object) = self.out.shared.iter_mut().find(|o| o.symbol == symbol && o.dynamic) else {
            return false;
        };
        object.size = raw.size.get();
        let symbol = self.out.symbol_mut(symbol);
        (symbol.size, symbol.bind, symbol.lost) = (raw.size.get(), raw.bind(), true);
        true
    }

    /// The section for the shared memory of a kernel that was not asked for.
    pub(super) fn shared_of_launched(&mut self, kernel: Option<u32>) {
        let Some(function) = kernel.map(|kernel| &self.out.functions[kernel as usize]) else { return };
        if let (true, None, Some(text)) = (function.entry, function.shared, function.text) {
            let (entity, name) = (function.entity, self.out.symbol(function.symbol).name);
            let section = self.kernel_shared(text, name);
            self.function_mut(entity).shared = Some(section);
        }
    }

    /// The sections of kernels that were not asked for and that have nothing of their own there.
    pub(super) fn late_shared_of_launched(&mut self) {
        let lacks = |f: &Function| f.entry && f.shared.is_none() && f.text.is_some();
        if self.out.shared.is_empty() || !self.out.functions.iter().any(lacks) {
            return;
        }
        let references = DeadReferences::new(self.objects, self.symbols, &self.out);
        for kernel in shared::kernels_met(&self.out, &self.out.calls, &|id| references.contains(id)) {
            self.shared_of_launched(Some(kernel));
        }
    }

    fn common(&mut self, origin: Origin, raw: &'data Symbol) {
        let Some((symbol, new)) = self.mention_global(origin, raw) else { return };
        let size = self
            .symbols
            .entity(origin.file, origin.symbol)
            .map_or(0, |e| self.symbols.common_size(self.objects, e));
        // One that is neither initialised nor strong gives its place up, where commons are not replaced by such.
        let gives_up = self.symbols.accepted(origin.file, origin.symbol) && self.is_weak_in_global(symbol);
        let out = self.out.symbol_mut(symbol);
        if new || gives_up || (out.section.is_none() && out.common().is_none()) {
            out.rest_mut().common = NonZeroU32::new(narrow(raw.value.get().max(1)));
            self.commons.push(symbol);
            let out = self.out.symbol_mut(symbol);
            out.size = size;
            if gives_up {
                (out.section, out.origin) = (None, None);
            } else {
                out.bind = raw.bind();
            }
        }
    }

    fn is_weak_in_global(&self, symbol: SymbolId) -> bool {
        let symbol = self.out.symbol(symbol);
        symbol.bind == raw::STB_WEAK
            && symbol.section.is_some()
            && symbol.section == self.out.well_known.global
    }

    fn placed_variable(&mut self, origin: Origin, raw: &'data Symbol) -> Result<(), Stop> {
        let object = &self.objects[origin.file.index()];
        let section = *object.section(u32::from(raw.shndx.get()));
        let Some(entity) = self.symbols.entity(origin.file, origin.symbol) else { return Ok(()) };
        let accepted = self.symbols.accepted(origin.file, origin.symbol) || raw.bind() == raw::STB_LOCAL;
        let merged = self.out.files[origin.file.index()].sections[section.index as usize];
        // Data comes in with the first symbol that is taken; initialised data that has none comes in with
        // the remaining sections, uninitialised data not at all.
        if merged.is_none() && !accepted {
            self.mention(origin, entity, raw);
            return Ok(());
        }
        let (out, base) = match merged {
            Some(place) => place,
            None => self.append_data(origin.file, &section)?,
        };
        let (symbol, _) = self.mention(origin, entity, raw);
        let stays_common = self.out.symbol(symbol).common().is_some()
            && !self.symbols.is_definition(origin.file, origin.symbol)
            && object.role(section.index) == Role::Global;
        if accepted && stays_common {
            // The binding is that of the strong one (core/commons-then-weak).
            self.out.symbol_mut(symbol).bind = raw.bind();
        }
        if !accepted || stays_common {
            return Ok(());
        }
        if !self.out.symbol(symbol).dropped {
            self.name_local(symbol);
        }
        let other = self.other(raw);
        let symbol = self.out.symbol_mut(symbol);
        (symbol.bind, symbol.other) = (raw.bind(), other);
        (symbol.section, symbol.origin) = (Some(out), Some(origin));
        (symbol.value, symbol.size) = (base.wrapping_add(raw.value.get()), raw.size.get());
        if symbol.common().is_some() {
            symbol.rest_mut().common = None;
        }
        Ok(())
    }

    /// Gives a symbol that is not among the globals its name.
    pub(super) fn name_local(&mut self, symbol: SymbolId) {
        if !self.out.symbol(symbol).among_globals {
            let name = self.out.symbol(symbol).name;
            let name = self.name_symbol(name);
            self.out.set_symbol_name(symbol, name);
        }
    }

    /// Appends a whole data section of an input to the output section of the same name.
    pub(super) fn append_data(
        &mut self,
        file: FileId,
        section: &Section<'data>,
    ) -> Result<(SectionId, u64), Stop> {
        let out = match self.by_name.get(section.name) {
            Some(&out) => out,
            None => self.create_shared_by_name(file, section),
        };
        let align = section.align();
        if self.settings.mercury() && section.name == ".debug_frame" {
            self.append_twin(file, section, out, 0);
            self.append_frames(file, section, out);
            return Ok((out, 0));
        }
        if self.settings.mercury() && is_line_table(section.name) && self.append_lines(file, section, out) {
            self.append_twin(file, section, out, 0);
            return Ok(self.out.files[file.index()].sections[section.index as usize].unwrap_or((out, 0)));
        }
        let constants = self.objects[file.index()].role(section.index) == Role::Constant
            && section.sh_type() == USER_CONSTANTS;
        let place = if constants && self.settings.merges_constants {
            self.append_merging(section, out)
        } else {
            self.out.section_mut(out).append(section.data, section.size(), align)
        };
        let Some(base) = place else {
            return Err(self.damaged(file, section.name, "its size is beyond all bounds"));
        };
        self.append_twin(file, section, out, base);
        if self.settings.mercury() && section.name == REGISTER_TABLE {
            self.clear_removed(file, section, out, base);
        }
        if self.settings.mercury() && section.name == REGISTER_TYPES {
            self.describe_by_mercury(file, section, out, base);
        }
        self.out.files[file.index()].sections[section.index as usize] = Some((out, base));
        Ok((out, base))
    }

    /// Appends constants unless they are there already. The symbols and the relocations of all later constants stay
    /// where they would be without merging, which may be beyond the end of the section.
    fn append_merging(&mut self, section: &Section<'data>, out: SectionId) -> Option<u64> {
        let (size, align) = (section.size(), section.align().max(1));
        let merged = self.constants.banks.entry(out).or_default();
        let base = merged.next_place(size, align)?;
        if merged.find(section.data, align).is_none() {
            let place = self.out.section_mut(out).append(section.data, size, align)?;
            if equal::looks_for(size, align) {
                merged.remember(section.data, align, place);
                self.out.null_value = place;
                self.constants.null_is_taken = true;
            }
        }
        Some(base)
    }

    fn create_shared_by_name(&mut self, file: FileId, section: &Section<'data>) -> SectionId {
        let role = self.objects[file.index()].role(section.index);
        let (kind, sh_type) = match role {
            Role::Global => (Kind::Global, raw::SHT_NOBITS),
            Role::GlobalInit => (Kind::GlobalInit, raw::SHT_PROGBITS),
            Role::Constant => {
                (Kind::Constant((section.sh_type() - raw::SHT_CUDA_CONSTANT) as u8), raw::SHT_PROGBITS)
            }
            _ => (Kind::Debug, raw::SHT_PROGBITS),
        };
        let out = self.create_with_symbol(&New {
            kind,
            name: &[self.view_name(file, section)],
            sh_type: self.settings.section_type(section.sh_type(), sh_type),
            flags: section.flags(),
            align: section.align(),
            entsize: section.header.entsize.get(),
        });
        self.by_name.insert(section.name, out);
        if kind == Kind::Global {
            self.out.well_known.global = Some(out);
        }
        out
    }

    /// Debug information and, where no symbol brought them in, the parameters of the kernels.
    pub(super) fn remaining_sections(&mut self, file: FileId) -> Result<(), Stop> {
        let object = &self.objects[file.index()];
        // A debugger has no use for it (reloc/nameless-shared-again).
        let takes_nameless = self.settings.takes_nameless_shared && !self.settings.places_dynamic;
        let with_variables = OnceCell::new();
        let is_nameless = |index: usize| {
            takes_nameless && !with_variables.get_or_init(|| sections_with_variables(object)).contains(&index)
        };
        for (index, role) in object.roles.iter().enumerate() {
            if self.out.files[file.index()].sections[index].is_some() {
                continue;
            }
            let section = &object.cubin.sections[index];
            match role {
                Role::Debug | Role::GlobalInit | Role::Constant => {
                    self.append_data(file, section)?;
                }
                Role::KernelConstant => self.kernel_constant(file, section)?,
                Role::KernelShared if object.is_extensible() || is_nameless(index) => {
                    self.shared_without_variables(file, section);
                }
                Role::FunctionConstant => self.discarded_constants(file, section)?,
                _ => {}
            }
        }
        if !self.settings.reads_notes {
            self.keep_notes(object);
        }
        Ok(())
    }

    /// nvlink of 12.6 knows the header of 13.0, and not its notes: they come last, one after the other, and without symbols
    /// (compat/newer-objects).
    fn keep_notes(&mut self, object: &Object<'data>) {
        let is_note = |role: &Role| matches!(role, Role::ToolNote | Role::CudaNote);
        for (index, _) in object.roles.iter().enumerate().filter(|(_, role)| is_note(role)) {
            let section = &object.cubin.sections[index];
            let out = match self.by_name.get(section.name) {
                Some(&out) => out,
                None => self.create(&New {
                    kind: Kind::KeptNote(section.link() as u16),
                    name: &[section.name],
                    sh_type: section.sh_type(),
                    flags: section.flags(),
                    align: section.align(),
                    entsize: section.header.entsize.get(),
                }),
            };
            self.by_name.insert(section.name, out);
            self.out.section_mut(out).append(section.data, section.size(), section.align());
        }
    }

    /// The shared memory of a kernel in an extensible whole program has its place already. It comes in as a variable
    /// without a name, even beside the variables themselves, where debug information has them. From 13.4 on so does any that no
    /// variable brought in, as `-r` leaves it.
    fn shared_without_variables(&mut self, file: FileId, section: &Section<'data>) {
        let kernel = self.function_in(file, section.info());
        let owner = kernel.and_then(|entity| self.out.function_of[entity.index()]);
        let Settings { relocatable, keeps_shared_symbols, .. } = self.settings;
        let stays_out = keeps_shared_symbols && !self.settings.keeps_extensible_shared
            || relocatable && !self.settings.takes_nameless_shared;
        if owner.is_none() || section.size() == 0 || stays_out {
            return;
        }
        self.shared_of_launched(owner);
        let symbol =
            self.push_symbol(OutputSymbol { shared: true, dropped: true, ..OutputSymbol::default() });
        let (size, align) = (section.size(), section.align().max(1));
        self.out.shared.push(SharedObject { symbol, owner, size, align, dynamic: false });
        // Its symbol is symbol 0, which is moved once for every kernel, but not with a Mercury view (reloc/dynamic-16).
        if relocatable {
            self.out.null_value = align;
        } else if self.settings.reserves_shared && self.settings.sm < mercury::FROM {
            self.out.null_value += crate::options::reserved_shared(self.settings.sm);
        }
    }

    /// Tentative definitions that nobody initialised go to the end of `.nv.global`, last one first.
    pub(super) fn place_common_symbols(&mut self) {
        for id in std::mem::take(&mut self.commons).into_iter().rev() {
            let Some(align) = self.out.symbol(id).common().map(NonZeroU32::get) else { continue };
            let section = self.out.well_known.global.unwrap_or_else(|| self.create_global());
            let size = self.out.symbol(id).size;
            let place = self.out.section_mut(section).append(&[], size, align.into());
            let symbol = self.out.symbol_mut(id);
            symbol.section = Some(section);
            symbol.value = place.unwrap_or(0);
            symbol.rest_mut().common = None;
        }
    }

    fn create_global(&mut self) -> SectionId {
        let section = self.create_with_symbol(&New {
            kind: Kind::Global,
            name: &[b".nv.global"],
            sh_type: self.settings.section_type(raw::SHT_CUDA_GLOBAL, raw::SHT_NOBITS),
            flags: raw::SHF_WRITE | raw::SHF_ALLOC,
            align: 1,
            entsize: 0,
        });
        self.out.well_known.global = Some(section);
        section
    }
}
