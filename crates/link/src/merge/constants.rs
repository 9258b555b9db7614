//! Constants that belong to one function: kernel parameters (bank 0) and what the compiler made for a
//! function (other banks), which every kernel that reaches it carries.

use super::merger::{ConstantPlace as Place, Merger, New};
use super::names::NamePlace;
use crate::diagnostics::Stop;
use crate::model::ids::{ConstantId, EntityId, FileId, SectionId};
use crate::model::merged::{Chunk, Content, FunctionConstant, Kind, OutputSection, OutputSymbol};
use crate::model::object::Role;
use crate::model::symbols::Origin;
use bstr::BString;
use solder_cubin::Section;
use solder_cubin::mercury::CONSTANT_OPTIMIZER;
use solder_cubin::raw::{self, Symbol};

/// How many bytes a bank of constants has, and so a table in it at the most.
const BANK: usize = 1 << 16;

impl<'data> Merger<'_, 'data> {
    /// A local symbol that the compiler put into the constants of a function. It brings the section in
    /// and has no place in the output.
    pub(super) fn constant_symbol(&mut self, origin: Origin, raw: &'data Symbol) -> Result<(), Stop> {
        if !raw.is_defined() && self.settings.relocatable {
            self.constants_size_symbol(origin, raw);
        }
        if !raw.is_defined() || raw.shndx.get() == raw::SHN_COMMON {
            return Ok(());
        }
        let object = &self.objects[origin.file.index()];
        let section = *object.section(u32::from(raw.shndx.get()));
        match object.role(section.index) {
            Role::KernelConstant => {
                self.kernel_constant(origin.file, &section)?;
                self.parameter_symbol(origin, raw);
                Ok(())
            }
            Role::FunctionConstant => self.function_constant(origin, raw, &section),
            Role::Constant => self.table_symbol(origin, raw, &section),
            _ => Ok(()),
        }
    }

    /// A static entry of the table of addresses that position-independent code has.
    fn table_symbol(
        &mut self,
        origin: Origin,
        raw: &'data Symbol,
        section: &Section<'data>,
    ) -> Result<(), Stop> {
        let merged = self.out.files[origin.file.index()].sections[section.index as usize];
        let (out, base) = match merged {
            Some(place) => place,
            None => self.append_data(origin.file, section)?,
        };
        let mut symbol = self.hidden_symbol(origin);
        (symbol.section, symbol.value) = (Some(out), base.wrapping_add(raw.value.get()));
        let is_shown = self.settings.shows_hidden();
        let name = symbol.name;
        let name = if is_shown { self.show_hidden(&mut symbol, raw, name) } else { 0 };
        let id = self.push_named(symbol, name);
        self.out.files[origin.file.index()].symbols[origin.symbol as usize] = Some(id);
        Ok(())
    }

    fn function_constant(
        &mut self,
        origin: Origin,
        raw: &'data Symbol,
        section: &Section<'data>,
    ) -> Result<(), Stop> {
        // Those of discarded copies count too.
        let name = self.constant_symbol_name(origin, section);
        if self.out.files[origin.file.index()].sections[section.info() as usize].is_none() {
            return Ok(());
        }
        let Some((place, base)) = self.place_constants(origin.file, section, true)? else { return Ok(()) };
        let mut symbol = self.hidden_symbol(origin);
        symbol.value = base.wrapping_add(raw.value.get());
        match place {
            Place::Section(id) => symbol.section = Some(id),
            Place::Function(index) => symbol.rest_mut().constant = Some(ConstantId::at(index as usize)),
        }
        let is_shown = self.settings.shows_hidden() && symbol.constant().is_none();
        let name = if is_shown { self.show_hidden(&mut symbol, raw, &name) } else { 0 };
        let id = self.push_named(symbol, name);
        self.out.files[origin.file.index()].symbols[origin.symbol as usize] = Some(id);
        Ok(())
    }

    /// Brings a section of function constants in, once. Only with a symbol do those of a device function go into the
    /// kernels.
    fn place_constants(
        &mut self,
        file: FileId,
        section: &Section<'data>,
        by_symbol: bool,
    ) -> Result<Option<(Place, u64)>, Stop> {
        if let Some(done) = self.constants.placed.get(&section.index) {
            return Ok(Some(*done));
        }
        let Some(entity) = self.function_in(file, section.info()).filter(|e| self.live.is_live(*e)) else {
            return Ok(None);
        };
        let counts = self.out.files[file.index()].sections[section.info() as usize].is_some();
        let function = self.out.function_of[entity.index()].unwrap_or(0);
        let kernel = self.out.functions[function as usize].entry;
        let bank = (section.sh_type() - raw::SHT_CUDA_CONSTANT) as u8;
        let place = if self.settings.relocatable {
            let own = self.out.functions[function as usize].constants.iter().find(|(of, _)| *of == bank);
            own.map(|(_, section)| Place::Section(*section))
        } else if counts && by_symbol && !kernel {
            let gathered = self.constants.gathered.get(&(function, bank)).copied();
            Some(gathered.map_or_else(
                || {
                    if self.settings.keeps_removed_names {
                        self.name_section(&[section.name]);
                    }
                    self.new_function_constant(function, bank, section)
                },
                Place::Function,
            ))
        } else {
            let sections = self.constants.by_name.get(section.name).copied().map(Place::Section);
            sections.or_else(|| self.constants.gathered.get(&(function, bank)).copied().map(Place::Function))
        };
        let place = place.unwrap_or_else(|| {
            // Toolkits before 12.4 do not mark that `sh_info` is a section, and of constants without a symbol the
            // flags stay.
            let unmarked = !by_symbol && section.flags() & raw::SHF_INFO_LINK == 0;
            let flags = if unmarked { raw::SHF_ALLOC } else { raw::SHF_ALLOC | raw::SHF_INFO_LINK };
            Place::Section(self.create_function_constant(entity, bank, self.view_name(file, section), flags))
        });
        match place {
            Place::Section(id) => _ = self.constants.by_name.insert(section.name, id),
            Place::Function(index) => _ = self.constants.gathered.insert((function, bank), index),
        }
        let data = if by_symbol { self.covered_by_symbols(file, section) } else { section.data };
        let base = self.append_constant(file, place, section, data)?;
        self.append_constant_twin(file, place, section, data.len());
        self.constants.placed.insert(section.index, (place, base));
        Ok(Some((place, base)))
    }

    /// The part of a section of constants that has symbols. A relocatable link leaves the constants of discarded
    /// copies after it.
    fn covered_by_symbols(&mut self, file: FileId, section: &Section<'data>) -> &'data [u8] {
        if self.constants.ends.is_empty() {
            let object = &self.objects[file.index()];
            for (_, raw) in object.symbols() {
                let index = u32::from(raw.shndx.get());
                let hidden = raw.bind() == raw::STB_LOCAL && raw.visibility() == 1;
                if hidden && object.cubin.sections.len() > index as usize {
                    let end = self.constants.ends.entry(index).or_default();
                    *end = raw.value.get().saturating_add(raw.size.get()).max(*end);
                }
            }
        }
        let Some(end) = self.constants.ends.get(&section.index) else { return section.data };
        let length = usize::try_from(*end).unwrap_or(usize::MAX);
        if length <= section.data.len() {
            return &section.data[..length];
        }
        // It also leaves the symbol of a table of jumps that it has replaced by a shorter one. What follows in the file is taken along,
        // which no code looks up (reloc/jump-tables-of-replaced).
        let bytes = self.objects[file.index()].cubin.bytes;
        let start = usize::try_from(section.header.offset.get()).ok().filter(|_| length <= BANK);
        let whole = start.and_then(|at| bytes.get(at..));
        whole.and_then(|bytes| bytes.get(..length)).unwrap_or(section.data)
    }

    /// The constants of a discarded copy of a function come in all the same, after those of the copy
    /// that prevails.
    pub(super) fn discarded_constants(&mut self, file: FileId, section: &Section<'data>) -> Result<(), Stop> {
        if self.constants.placed.contains_key(&section.index) {
            return Ok(());
        }
        if let Some((Place::Function(index), base)) = self.place_constants(file, section, false)? {
            self.out.constants[index as usize].discarded = Some(base);
        }
        Ok(())
    }

    pub(super) fn hidden_symbol(&self, origin: Origin) -> OutputSymbol<'data> {
        OutputSymbol {
            name: self.objects[origin.file.index()].names[origin.symbol as usize],
            kind: raw::STT_OBJECT,
            origin: Some(origin),
            dropped: true,
            ..OutputSymbol::default()
        }
    }

    fn new_function_constant(&mut self, function: u32, bank: u8, section: &Section<'data>) -> Place {
        self.out.constants.push(FunctionConstant {
            function,
            bank,
            align: section.align().max(1),
            size: 0,
            chunks: Vec::new(),
            twin_size: 0,
            twin_chunks: Vec::new(),
            twin_relocations: Vec::new(),
            twin_tables: Vec::new(),
            discarded: None,
            offset: 0,
        });
        Place::Function(self.out.constants.len() as u32 - 1)
    }

    fn append_constant(
        &mut self,
        file: FileId,
        place: Place,
        section: &Section<'data>,
        data: &'data [u8],
    ) -> Result<u64, Stop> {
        let align = section.align().max(1);
        let base = match place {
            Place::Section(id) => {
                let more = data.len() as u64;
                let size = section.size().saturating_add(more).saturating_sub(section.data.len() as u64);
                self.out.section_mut(id).append(data, size, align)
            }
            Place::Function(index) => self.out.constants[index as usize].append(data, align),
        };
        base.ok_or_else(|| self.damaged(file, section.name, "its size is beyond all bounds"))
    }

    /// `.nv.constantN.F`, N > 0, in the output.
    fn create_function_constant(&mut self, entity: EntityId, bank: u8, name: &[u8], flags: u64) -> SectionId {
        let section = self.create_with_symbol(&New {
            kind: Kind::FunctionConstant(bank),
            name: &[name],
            sh_type: self.settings.section_type(raw::SHT_CUDA_CONSTANT + u32::from(bank), raw::SHT_PROGBITS),
            flags,
            align: 4,
            entsize: 0,
        });
        let function = self.function_mut(entity);
        function.constants.push((bank, section));
        let text = function.text;
        self.out.section_mut(section).of = text;
        section
    }

    /// The function whose code is in a section of an input.
    pub(super) fn function_in(&self, file: FileId, text: u32) -> Option<EntityId> {
        let symbol = self.objects[file.index()].text_owner(text)?;
        self.symbols.entity(file, symbol)
    }

    /// A better copy of a function brings its own constants. Of Mercury's, nvlink leaves the relocations.
    pub(super) fn forget_constants(&mut self, entity: EntityId) {
        let index = self.out.function_of[entity.index()];
        for constant in self.out.constants.iter_mut().filter(|c| Some(c.function) == index) {
            constant.chunks.clear();
            constant.twin_chunks.clear();
            constant.twin_tables.clear();
            (constant.size, constant.twin_size, constant.discarded) = (0, 0, None);
        }
        for (_, section) in self.function_mut(entity).constants.clone() {
            let section = self.out.section_mut(section);
            section.content = Content::Bytes(Vec::new());
            section.size = 0;
            if let Some(twin) = section.twin {
                self.forget_twin(twin);
            }
        }
    }

    /// Puts the constants of device functions into the sections of the kernels that reach them: at one
    /// offset in all of them, after what is there.
    pub(super) fn distribute_constants(&mut self) {
        if self.out.constants.is_empty() {
            return;
        }
        let kernels: Vec<u32> = self.out.roots().map(|(i, _)| i).collect();
        // Last one first, as are the kernels of each. Those that a better copy emptied bring a section too.
        let order: Vec<usize> = (0..self.out.constants.len()).rev().collect();
        let functions: Vec<u32> = order.iter().map(|i| self.out.constants[*i].function).collect();
        let reached_by = self.out.calls.reached_by(&functions, &kernels);
        for (position, index) in order.into_iter().enumerate() {
            let constant = self.out.constants[index].clone();
            let FunctionConstant { bank, align, size, ref chunks, .. } = constant;
            let mut sections: Vec<SectionId> = Vec::new();
            let mut reaching: Vec<usize> = reached_by[position].iter().collect();
            reaching.reverse();
            for kernel in reaching {
                sections.push(self.kernel_bank(kernels[kernel], bank));
            }
            if sections.is_empty() {
                self.forget_place(index);
                continue;
            }
            let end = sections.iter().map(|s| self.out.section(*s).size).max().unwrap_or(0);
            // All kernels get the largest alignment among them (core/constant-alignments).
            let align = sections.iter().map(|s| self.out.section(*s).align()).fold(align, u64::max);
            let offset = end.next_multiple_of(align);
            for id in sections {
                self.distribute_twin(id, &constant, offset);
                let section = self.out.section_mut(id);
                section.widen(align);
                section.size = (offset + size).next_multiple_of(section.align());
                if let Some(own) = section.chunks_mut() {
                    own.extend(chunks.iter().map(|c| Chunk { offset: offset + c.offset, data: c.data }));
                }
            }
            self.out.constants[index].offset = offset;
            // The symbol of constants that do not count is symbol 0, which is moved with the others, unless it has the place
            // of constants that can be merged (core/constants-merged-functions).
            if let Some(place) = constant.discarded
                && !self.constants.null_is_taken
            {
                self.out.null_value = offset + place;
            }
        }
    }

    /// Constants that no kernel carries leave no trace in the values of their symbols.
    fn forget_place(&mut self, index: usize) {
        for symbol in self.out.symbols.iter_mut().filter(|s| s.constant() == Some(ConstantId::at(index))) {
            if let Some(Origin { file, symbol: input }) = symbol.origin {
                symbol.value = self.objects[file.index()].symbol(input).value.get();
            }
        }
    }

    /// Tables that better copies of their functions emptied have no relocations in Mercury's view.
    pub(super) fn forget_relocations_of_emptied(&mut self) {
        let emptied = |section: &&OutputSection<'_>| {
            matches!(section.kind, Kind::FunctionConstant(_)) && section.size == 0
        };
        let relocations = |section: &OutputSection<'_>| self.out.section(section.rela?).twin;
        let left: Vec<SectionId> = self.out.sections.iter().filter(emptied).filter_map(relocations).collect();
        for relocations in left {
            self.out.section_mut(relocations).relocations_mut().clear();
        }
    }

    /// The sections that better copies of their functions emptied, or that lost all variables.
    pub(super) fn emptied(&self) -> Vec<SectionId> {
        let is_emptied = |id: &SectionId| {
            let section = self.out.section(*id);
            let can_be = match section.kind {
                Kind::FunctionConstant(_) => true,
                Kind::Constant(_) => self.out.packed,
                _ => false,
            };
            can_be && section.size == 0
        };
        self.out.limited.iter().copied().filter(is_emptied).collect()
    }

    /// Such sections have no name.
    pub(super) fn forget_names(&mut self, emptied: &[SectionId]) {
        let names: Vec<BString> = emptied.iter().map(|id| self.out.section_name(*id).to_owned()).collect();
        for name in names {
            self.out.forget_name(&name);
            self.out.forget_name(&[b".rela", &name[..]].concat());
        }
    }

    fn kernel_bank(&mut self, kernel: u32, bank: u8) -> SectionId {
        let function = &self.out.functions[kernel as usize];
        if let Some((_, section)) = function.constants.iter().find(|(of, _)| *of == bank) {
            return *section;
        }
        let (entity, symbol) = (function.entity, function.symbol);
        let name = self.out.symbol(symbol).name;
        let name = if self.settings.mercury() {
            [CONSTANT_OPTIMIZER.0, name].concat()
        } else {
            [format!(".nv.constant{bank}.").as_bytes(), name].concat()
        };
        self.create_function_constant(entity, bank, &name, raw::SHF_ALLOC | raw::SHF_INFO_LINK)
    }

    /// `.nv.constant0.K` of a kernel that stays.
    pub(super) fn kernel_constant(&mut self, file: FileId, section: &Section<'data>) -> Result<(), Stop> {
        let map = &self.out.files[file.index()];
        if map.sections[section.index as usize].is_some() {
            return Ok(());
        }
        let Some((text, _)) = map.sections[section.info() as usize] else {
            return self.discarded_parameters(file, section);
        };
        if self.settings.mercury() {
            self.late_kernel_constant(text, section);
            return Ok(());
        }
        let entity = self.out.section(text).function.and_then(|f| self.out.symbol(f).entity);
        let Some(entity) = entity else {
            return Err(self.damaged(file, section.name, "it belongs to no function"));
        };
        let by_name = self.constants.by_name.get(section.name).copied();
        let symbol = self.out.section(text).function;
        let is_weak = symbol.is_some_and(|symbol| self.out.symbol(symbol).bind == raw::STB_WEAK);
        let out = match self.function_mut(entity).constant.or(by_name) {
            // A weak kernel has those that are there already, of another copy or of a static kernel; any other comes
            // after them.
            Some(out) if is_weak => {
                self.function_mut(entity).constant = Some(out);
                self.out.files[file.index()].sections[section.index as usize] = Some((out, 0));
                return Ok(());
            }
            Some(out) => {
                self.function_mut(entity).constant = Some(out);
                out
            }
            None => {
                let [name, _] = self.name(NamePlace::Sections, &[section.name]);
                let handles = (!self.settings.relocatable).then(|| {
                    let prefix: &[u8] = if self.settings.force_rela { b".rela" } else { b".rel" };
                    self.name_section(&[prefix, section.name])[0]
                });
                let symbol_name = self.name_symbol(section.name);
                let new = New {
                    kind: Kind::KernelConstant,
                    name: &[section.name],
                    sh_type: self.settings.section_type(section.sh_type(), raw::SHT_PROGBITS),
                    flags: section.flags(),
                    align: section.align(),
                    entsize: 0,
                };
                let out = self.push_section(&new, name);
                self.section_symbol_named(out, symbol_name);
                self.out.section_mut(out).of = Some(text);
                self.function_mut(entity).constant = Some(out);
                self.constants.by_name.insert(section.name, out);
                if let Some(handles) = handles {
                    self.texture_handles(out, handles);
                }
                out
            }
        };
        let base = self.append_constant(file, Place::Section(out), section, section.data)?;
        self.out.files[file.index()].sections[section.index as usize] = Some((out, base));
        Ok(())
    }

    /// The parameters of a weak copy that is discarded for a strong kernel come after those of the strong one.
    fn discarded_parameters(&mut self, file: FileId, section: &Section<'data>) -> Result<(), Stop> {
        let kept = self.function_in(file, section.info()).and_then(|e| self.symbol_of[e.index()]);
        let is_strong = kept.is_some_and(|symbol| self.out.symbol(symbol).bind == raw::STB_GLOBAL);
        let Some(out) = self.constants.by_name.get(section.name).copied().filter(|_| is_strong) else {
            return Ok(());
        };
        if !self.settings.mercury() {
            let base = self.append_constant(file, Place::Section(out), section, section.data)?;
            self.out.files[file.index()].sections[section.index as usize] = Some((out, base));
        }
        Ok(())
    }

    /// The section for the handles of textures comes with the parameters of each kernel; it stays
    /// only if there are any.
    fn texture_handles(&mut self, constant: SectionId, name: u32) {
        let (sh_type, flags, entsize) = if self.settings.force_rela {
            let flags = if self.settings.marks_handles { raw::SHF_INFO_LINK } else { 0 };
            (raw::SHT_RELA, flags, size_of::<raw::Rela>())
        } else {
            (raw::SHT_REL, 0, size_of::<raw::Rel>())
        };
        let kind = Kind::Relocations;
        let new = New { kind, name: &[], sh_type, flags, align: 8, entsize: entsize as u64 };
        let handles = self.push_section(&new, name);
        self.out.section_mut(handles).of = Some(constant);
    }
}

impl<'data> FunctionConstant<'data> {
    fn append(&mut self, data: &'data [u8], align: u64) -> Option<u64> {
        let offset = self.size.checked_next_multiple_of(align)?;
        self.align = self.align.max(align);
        self.size = offset.checked_add(data.len() as u64)?;
        self.chunks.push(Chunk { offset, data });
        Some(offset)
    }
}
