//! The Mercury side of the merge: twins of sections, relocations of the Mercury view, and what nvlink
//! makes only when the machine code's view is derived from it.

use super::merger::{ConstantPlace as Place, Merger, New, Reserved};
use super::names::NamePlace;
use super::reading::Source;
use super::relocations::Incoming;
use crate::diagnostics::Stop;
use crate::model::ids::{FileId, SectionId, SymbolId};
use crate::model::merged::{
    Chunk, Content, FunctionConstant, InfoRecord, InfoValue, Kind, OutputSymbol, Reloc, RelocTarget,
};
use crate::model::object::Role;
use crate::model::symbols::{DESCRIPTION_SIZES, Origin};
use crate::notes::OLDEST_MERCURY;
use crate::references::DeadReferences;
use crate::textures::kernels_with_table;
use bstr::{BStr, BString};
use solder_cubin::Section;
use solder_cubin::info::{attr, format, records};
use solder_cubin::mercury::{CONSTANT_IMAGES, PREFIX, code_name};
use solder_cubin::raw::{self, Rela, Symbol};
use solder_cubin::strings::Table;
use solder_sass::{has_workaround, needs_second_workaround};
use std::borrow::Cow;

/// What the system has in every kernel's reserved shared memory, before the variables of objects.
const RESERVED_IN_FRONT: u64 = 0x40;

/// Section type, flags beside the mark of Mercury and what the partner has, alignment, size of entries.
fn properties(kind: Kind) -> (u32, u64, u64, u64) {
    match kind {
        Kind::Capsule => (raw::SHT_CUDA_CAPSULE, 0, 16, 0),
        Kind::MercuryInfo => (raw::SHT_MERC_INFO, 0, 4, 0),
        Kind::MercuryHost => (raw::SHT_CUDA_HOST, 0, 8, 0),
        Kind::MercuryCallGraph => (raw::SHT_MERC_CALLGRAPH, 0, 4, 8),
        Kind::MercuryPrototype => (raw::SHT_MERC_PROTOTYPE, 0, 4, 8),
        Kind::MercuryRelocations => {
            (raw::SHT_MERC_RELA, raw::SHF_INFO_LINK, 8, size_of::<raw::Rela>() as u64)
        }
        Kind::MercuryResolved => {
            (raw::SHT_MERC_RESOLVED_RELA, raw::SHF_INFO_LINK, 8, size_of::<raw::Rela>() as u64)
        }
        Kind::MercuryConstant => (raw::SHT_MERC_CONSTANT_USER, raw::SHF_ALLOC, 1, 0),
        Kind::MercuryGlobalInit => (raw::SHT_CUDA_GLOBAL_INIT, raw::SHF_ALLOC | raw::SHF_WRITE, 1, 0),
        Kind::MercuryReservedShared => (raw::SHT_CUDA_SHARED_RESERVED, raw::SHF_ALLOC | raw::SHF_WRITE, 1, 0),
        Kind::MercurySymbols => (raw::SHT_MERC_SYMTAB, 0, 8, raw::SYMBOL_SIZE),
        Kind::MercurySectionIndices | Kind::LateSectionIndices => {
            (raw::SHT_SYMTAB_SHNDX, 0, 4, size_of::<u32>() as u64)
        }
        _ => (raw::SHT_PROGBITS, 0, 1, 0),
    }
}

impl<'data> Merger<'_, 'data> {
    /// The twin of an output section, made at the first call.
    pub(super) fn twin(&mut self, of: SectionId, kind: Kind) -> SectionId {
        if let Some(twin) = self.out.section(of).twin {
            return twin;
        }
        let (sh_type, flags, align, entsize) = properties(kind);
        let info_link = self.out.section(of).flags & raw::SHF_INFO_LINK;
        let flags = raw::SHF_MERCURY | flags | if kind == Kind::MercuryInfo { info_link } else { 0 };
        // It gets its name when all that stays is known.
        let twin = self.push_section(&New { kind, name: &[], sh_type, flags, align, entsize }, 0);
        self.out.section_mut(twin).of = Some(of);
        self.out.section_mut(of).twin = Some(twin);
        twin
    }

    /// The name of a section in the Mercury view, by which the link goes.
    pub(super) fn view_name(&self, file: FileId, section: &Section<'data>) -> &'data BStr {
        let object = &self.objects[file.index()];
        if !matches!(object.role(section.index), Role::Constant | Role::FunctionConstant) {
            return section.name;
        }
        let twin = object.mercury.as_ref().and_then(|twins| twins.partner(section.index));
        let name = twin.and_then(|twin| object.section(twin).name.strip_prefix(PREFIX));
        name.map_or(section.name, BStr::new)
    }

    /// The capsule of the copy of a function that prevails.
    pub(super) fn twin_of_code(&mut self, text: SectionId, symbol: SymbolId, origin: Origin) {
        let object = &self.objects[origin.file.index()];
        let Some(twins) = &object.mercury else { return };
        let Some(capsule) = twins.partner(u32::from(object.symbol(origin.symbol).shndx.get())) else {
            return;
        };
        let out = self.twin(text, Kind::Capsule);
        let data = object.section(capsule).data;
        let section = self.out.section_mut(out);
        section.content = Content::One(Chunk { offset: 0, data });
        section.size = data.len() as u64;
        if let Some(relocations) = section.rela {
            self.out.section_mut(relocations).relocations_mut().clear();
        }
        self.out.files[origin.file.index()].sections[capsule as usize] = Some((out, 0));
        let size = twins.symbol(origin.symbol).map(|s| s.size.get());
        self.out.symbol_mut(symbol).rest_mut().differs.size = size;
    }

    /// The twin of data or debug information that went to `base` of an output section.
    pub(super) fn append_twin(&mut self, file: FileId, section: &Section<'data>, out: SectionId, base: u64) {
        let object = &self.objects[file.index()];
        let Some(twin) = object.mercury.as_ref().and_then(|twins| twins.partner(section.index)) else {
            return;
        };
        let twin = *object.section(twin);
        let kind = match object.role(section.index) {
            Role::Constant => Kind::MercuryConstant,
            Role::GlobalInit => Kind::MercuryGlobalInit,
            _ => Kind::MercuryDebug,
        };
        let out = self.twin(out, kind);
        let shares = kind != Kind::MercuryDebug || twin.header.offset == section.header.offset;
        let first = self.out.section(out).size == 0;
        let out_section = self.out.section_mut(out);
        if kind == Kind::MercuryConstant {
            out_section.sh_type = twin.sh_type();
        }
        out_section.shares_bytes = shares && (first || out_section.shares_bytes);
        let base = match kind {
            Kind::MercuryDebug => {
                self.out.section_mut(out).append(twin.data, twin.size(), twin.align()).unwrap_or(0)
            }
            _ => base,
        };
        self.out.files[file.index()].sections[twin.index as usize] = Some((out, base));
    }

    /// A variable in the shared memory that the system uses: after what every kernel has there.
    pub(super) fn reserved_variable(&mut self, origin: Origin, raw: &'data Symbol) {
        let object = &self.objects[origin.file.index()];
        let section = object.section(u32::from(raw.shndx.get()));
        let Some(entity) = self.symbols.entity(origin.file, origin.symbol) else { return };
        let out = if let Some(&out) = self.by_name.get(section.name) {
            out
        } else {
            let out = self.create_with_symbol(&New {
                kind: Kind::ReservedShared,
                name: &[section.name],
                sh_type: self.settings.section_type(section.sh_type(), raw::SHT_NOBITS),
                flags: section.flags(),
                align: section.align(),
                entsize: 0,
            });
            self.out.section_mut(out).size = if self.settings.relocatable { 0 } else { RESERVED_IN_FRONT };
            self.by_name.insert(section.name, out);
            out
        };
        let (symbol, _) = self.mention(origin, entity, raw);
        if !self.symbols.accepted(origin.file, origin.symbol) {
            return;
        }
        if !self.out.symbol(symbol).among_globals {
            let name = self.out.symbol(symbol).name;
            let name = self.name_symbol(name);
            self.out.set_symbol_name(symbol, name);
        }
        self.twin(out, Kind::MercuryReservedShared);
        let align = raw.value.get();
        self.mercury.reserved.push(Reserved { symbol, section: out, size: raw.size.get(), align });
        let symbol = self.out.symbol_mut(symbol);
        // In objects the value of such a variable is its alignment.
        (symbol.section, symbol.origin, symbol.value) = (Some(out), Some(origin), align);
        symbol.mercury_other = raw.other;
    }

    /// Gives these variables their places: those with a large alignment first, of equal ones the last (older/tensor-memory).
    fn place_reserved(&mut self) {
        let mut variables = std::mem::take(&mut self.mercury.reserved);
        variables.reverse();
        variables.sort_by_key(|variable| std::cmp::Reverse(variable.align));
        for Reserved { symbol, section, size, align } in variables {
            let align = align.max(1);
            let place = self.out.section_mut(section).append(&[], size, align).unwrap_or(0);
            let twin = self.twin(section, Kind::MercuryReservedShared);
            let mercury = self.out.section_mut(twin).append(&[], size, align).unwrap_or(0);
            if !self.settings.relocatable {
                let symbol = self.out.symbol_mut(symbol);
                symbol.value = place;
                symbol.rest_mut().differs.value = Some(mercury);
            }
        }
    }

    /// The parameters of a kernel are no part of the Mercury view: they wait for its end.
    pub(super) fn late_kernel_constant(&mut self, text: SectionId, section: &Section<'data>) {
        self.mercury.kernel_constants.insert(text, *section);
    }

    /// Gives a kernel its parameters, by way of a section that bears this name.
    fn create_kernel_constant(
        &mut self,
        kind: Kind,
        text: SectionId,
        section: &Section<'data>,
        name: u32,
    ) -> SectionId {
        let flags = section.flags();
        let sh_type = self.settings.section_type(section.sh_type(), raw::SHT_PROGBITS);
        let new = New { kind, name: &[], sh_type, flags, align: section.align(), entsize: 0 };
        let out = self.push_section(&new, name);
        self.out.section_mut(out).of = Some(text);
        self.out.section_mut(out).append(section.data, section.size(), section.align());
        let entity = self.out.section(text).function.and_then(|f| self.out.symbol(f).entity);
        if let Some(entity) = entity {
            self.function_mut(entity).constant = Some(out);
        }
        out
    }

    /// The kernels that need handles of textures have a section for them in the Mercury view, in whose place
    /// the machine code's view has their parameters, the handles after them.
    pub(super) fn image_constants(&mut self) {
        let references = DeadReferences::new(self.objects, self.symbols, &self.out);
        let kernels = kernels_with_table(&self.out, &self.out.calls, &|id| references.contains(id));
        for kernel in kernels {
            let function = &self.out.functions[kernel];
            let (Some(text), name) = (function.text, self.out.symbol(function.symbol).name) else { continue };
            if !self.mercury.kernel_constants.contains_key(&text) {
                continue;
            }
            let prefix = CONSTANT_IMAGES.0;
            // nvlink finds the section by its name: another kernel of this name shares it.
            if self.out.names.tables.get(Table::Sections, &[prefix, name].concat()).is_some() {
                continue;
            }
            let Some(section) = self.mercury.kernel_constants.remove(&text) else { continue };
            let [name_offset, _] = self.name(NamePlace::Sections, &[prefix, name]);
            let [handles, _] = self.name_section(&[b".rela", prefix, name]);
            let out = self.create_kernel_constant(Kind::KernelConstant, text, &section, name_offset);
            self.section_symbol_parts(out, &[prefix, name]);
            self.constant_twin(out, raw::SHT_MERC_CONSTANT_IMAGES);
            let new = New {
                kind: Kind::Relocations,
                name: &[],
                sh_type: raw::SHT_RELA,
                flags: raw::SHF_INFO_LINK,
                align: 8,
                entsize: size_of::<raw::Rela>() as u64,
            };
            let relocations = self.push_section(&new, handles);
            self.out.section_mut(relocations).of = Some(out);
            self.twin(relocations, Kind::MercuryRelocations);
        }
    }

    fn constant_twin(&mut self, of: SectionId, sh_type: u32) -> SectionId {
        let twin = self.twin(of, Kind::MercuryConstant);
        let section = self.out.section_mut(twin);
        (section.sh_type, section.align) = (sh_type, 4);
        section.flags |= raw::SHF_INFO_LINK;
        twin
    }

    /// The twin of constants that the compiler made for a function, as far as these are taken.
    pub(super) fn append_constant_twin(
        &mut self,
        file: FileId,
        place: Place,
        section: &Section<'data>,
        taken: usize,
    ) {
        let object = &self.objects[file.index()];
        let Some(twin) = object.mercury.as_ref().and_then(|twins| twins.partner(section.index)) else {
            return;
        };
        let twin = *object.section(twin);
        let left = section.data.len().saturating_sub(taken);
        let data = &twin.data[..twin.data.len().saturating_sub(left)];
        let size = twin.size().saturating_sub(left as u64);
        match place {
            Place::Section(out) => {
                let out = self.constant_twin(out, twin.sh_type());
                let base = self.out.section_mut(out).append(data, size, twin.align()).unwrap_or(0);
                self.out.files[file.index()].sections[twin.index as usize] = Some((out, base));
            }
            Place::Function(index) => {
                let constant = &mut self.out.constants[index as usize];
                let offset = constant.twin_size.next_multiple_of(twin.align().max(1));
                constant.twin_chunks.push(Chunk { offset, data });
                constant.twin_size = offset + data.len() as u64;
                self.mercury.function_twins.push((twin.index, index, offset));
            }
        }
    }

    /// The name of a symbol in the constants of a function: with Mercury, that of the section and a number, up to 13.4.
    pub(super) fn constant_symbol_name(
        &mut self,
        origin: Origin,
        section: &Section<'data>,
    ) -> Cow<'data, BStr> {
        if !self.settings.mercury() || !self.settings.numbers_constants {
            return self.objects[origin.file.index()].names[origin.symbol as usize].into();
        }
        self.mercury.constant_symbols += 1;
        let number = format!(".{}", self.mercury.constant_symbols);
        BString::from([self.view_name(origin.file, section), number.as_bytes()].concat()).into()
    }

    pub(super) fn forget_twin(&mut self, twin: SectionId) {
        let section = self.out.section_mut(twin);
        section.content = Content::Bytes(Vec::new());
        section.size = 0;
    }

    /// Puts the twin of a device function's constants at an offset of that of a kernel's section, with its relocations.
    pub(super) fn distribute_twin(
        &mut self,
        section: SectionId,
        constant: &FunctionConstant<'data>,
        offset: u64,
    ) {
        if !self.settings.mercury() {
            return;
        }
        let twin = self.constant_twin(section, raw::SHT_MERC_CONSTANT_OPTIMIZER);
        let out = self.out.section_mut(twin);
        out.widen(constant.align);
        let size = offset + constant.twin_size;
        let is_shorter = size < std::mem::replace(&mut out.size, size);
        if let Some(chunks) = out.chunks_mut() {
            // In a damaged object those before may reach beyond the end: they begin where those of the other view do.
            if is_shorter {
                chunks.retain(|chunk| chunk.offset < size);
                for chunk in chunks.iter_mut() {
                    let left = (size - chunk.offset).min(chunk.data.len() as u64);
                    chunk.data = &chunk.data[..left as usize];
                }
            }
            chunks.extend(
                constant.twin_chunks.iter().map(|c| Chunk { offset: offset + c.offset, data: c.data }),
            );
        }
        if constant.twin_relocations.is_empty() || constant.twin_chunks.is_empty() {
            return;
        }
        let name = self.out.section_name(section).to_owned();
        let existing = self.out.section(section).rela;
        let relocations = existing.unwrap_or_else(|| self.create_relocations(section, &name, true));
        let relocations = self.twin(relocations, Kind::MercuryRelocations);
        self.out.section_mut(twin).rela = Some(relocations);
        // Table after table, wherever they lie; what replaced copies left is among them.
        let table = |r: &Reloc| constant.twin_tables.iter().position(|t| t.contains(&r.offset));
        let mut by_table = constant.twin_relocations.clone();
        by_table.retain(|r| table(r).is_some());
        by_table.sort_by_key(table);
        let moved = by_table.into_iter().map(|r| Reloc { offset: r.offset + offset, ..r });
        // In the output the functions come one after the other, after what the kernel has itself.
        self.out.section_mut(relocations).relocations_mut().splice(0..0, moved);
    }

    /// With what options the first of several functions of one name was compiled, if this is another one. Up to 13.4 they are found by name
    /// (mercury/options-of-statics).
    fn first_options(
        &self,
        file: FileId,
        mercury: &Section<'data>,
    ) -> Option<solder_cubin::info::Record<'data>> {
        let object = &self.objects[file.index()];
        let twins = object.mercury.as_ref().filter(|_| self.settings.finds_relocations_by_name)?;
        let first = Some(twins.first_info(mercury.index)).filter(|first| *first != mercury.index)?;
        let mut all = records(object.section(first).data).flatten();
        all.find(|record| record.attr == attr::MERCURY_FINALIZER_OPTIONS)
    }

    /// The attributes of a function, or of the first one of its name if that has the same code, as nvlink finds them (mercury/infos-of-statics). Those
    /// of the Mercury view lead; each takes the machine code's value along, and what only the machine code has comes last.
    pub(super) fn read_both_infos(
        &mut self,
        file: FileId,
        mercury: &Section<'data>,
        code: &Section<'data>,
        out: SectionId,
    ) -> Result<(), Stop> {
        let objects = self.objects;
        let object = &objects[file.index()];
        let by_name = object.mercury.as_ref().filter(|_| self.settings.finds_relocations_by_name);
        let first = by_name.and_then(|twins| twins.infos_of_same_code(mercury.index));
        let (mercury, code) =
            first.map_or((mercury, code), |(mercury, code)| (object.section(mercury), object.section(code)));
        let mut rest: Vec<_> = records(code.data).flatten().map(Some).collect();
        let mut both = Vec::new();
        let options = self.first_options(file, mercury);
        for mut record in records(mercury.data).flatten() {
            if let Some(options) = options.filter(|_| record.attr == attr::MERCURY_FINALIZER_OPTIONS) {
                record = options;
            }
            let same = |r: &&mut Option<solder_cubin::info::Record<'data>>| {
                r.is_some_and(|r| r.attr == record.attr && r.attr != attr::MERCURY_FINALIZER_OPTIONS)
            };
            let partner = rest.iter_mut().find(same).and_then(Option::take);
            let value =
                match self.info_value(file, &record).map_err(|bad| self.malformed(file, mercury, bad))? {
                    None => continue,
                    Some(InfoValue::Bytes(bytes)) => match partner {
                        Some(partner) if partner.payload != bytes => {
                            InfoValue::Views(Box::new([bytes, partner.payload]))
                        }
                        _ => InfoValue::Bytes(bytes),
                    },
                    Some(value) => value,
                };
            both.push(InfoRecord { file, ..InfoRecord::new(record.format, record.attr, value) });
        }
        if !both.iter().any(|r| r.attr == attr::MERCURY_ISA_VERSION) {
            let value = InfoValue::Bytes(&OLDEST_MERCURY);
            let record = InfoRecord::new(format::HALF, attr::MERCURY_ISA_VERSION, value);
            both.push(InfoRecord { file, ..record });
        }
        // nvlink 13.0.88 does not have the workaround that newer assemblers apply (docs/reference/finalize.md).
        let is_dropped = |attr: u8| attr == attr::NVSAL_SW_WAR && self.settings.removes_workaround;
        let marks = self.settings.marks_finalized;
        for record in rest.into_iter().flatten().filter(|record| !is_dropped(record.attr)) {
            let Some(mut value) =
                self.info_value(file, &record).map_err(|bad| self.malformed(file, code, bad))?
            else {
                continue;
            };
            if marks && record.attr == attr::SW_WAR {
                value = InfoValue::Bytes(&[0; 4]);
            }
            let record = InfoRecord::new(record.format, record.attr, value);
            both.push(InfoRecord { file, code_only: true, ..record });
            self.out.has_code_records = true;
        }
        // The finalizer says of all code that it has the workaround; here that is said only where it is true.
        let text = self.objects[file.index()].cubin.section_at(code.info());
        let is_true = text.is_some_and(|text| has_workaround(text.data));
        let second_value: &[u8] =
            if text.is_some_and(|text| needs_second_workaround(text.data)) { &[1, 0] } else { &[0, 0] };
        let [first, second] = self.settings.names_workarounds;
        for (attr, format, is_named, value) in [
            (attr::NVSAL_SW_WAR, format::HALF, first, &[1, 0][..]),
            (attr::SECOND_SW_WAR, format::BYTE, second, second_value),
        ] {
            if is_named && is_true && !both.iter().any(|r| r.attr == attr) {
                let record = InfoRecord::new(format, attr, InfoValue::Bytes(value));
                both.push(InfoRecord { file, code_only: true, ..record });
                self.out.has_code_records = true;
            }
        }
        // `-r` does not finalize.
        if marks && !self.settings.relocatable {
            let record = InfoRecord::new(format::BYTE, attr::FINALIZED, InfoValue::Bytes(&[0; 2]));
            both.push(InfoRecord { file, code_only: true, ..record });
            self.out.has_code_records = true;
        }
        self.unread.attributes.push((Source { out, file, section: mercury.index }, Some(Ok(both))));
        Ok(())
    }

    /// The relocations of the Mercury view.
    pub(super) fn mercury_relocations(&mut self, file: FileId) -> Result<(), Stop> {
        let object = &self.objects[file.index()];
        let Some(twins) = &object.mercury else { return Ok(()) };
        for section in object.cubin.sections.iter().filter(|s| s.sh_type() == raw::SHT_MERC_RELA) {
            let of_function = self.mercury.function_twins.iter().find(|(twin, ..)| *twin == section.info());
            if let Some((_, constant, base)) = of_function.copied() {
                self.constant_relocations(file, section, constant, base)?;
            }
            let place = self.out.files[file.index()].sections[section.info() as usize];
            let Some((target, base)) = place else { continue };
            if let (Some(of), Some(code)) = (twins.partner(section.info()), self.out.section(target).of) {
                let of = object.section(of);
                let list = Incoming { file, section, of, target, code, base, rela: true, is_mercury: true };
                self.relocation_section(&list)?;
            }
        }
        Ok(())
    }

    /// Relocations of a device function's constants, which go wherever these go.
    fn constant_relocations(
        &mut self,
        file: FileId,
        section: &Section<'data>,
        constant: u32,
        base: u64,
    ) -> Result<(), Stop> {
        let object = &self.objects[file.index()];
        let Some(of) = object.mercury.as_ref().and_then(|twins| twins.partner(section.info())) else {
            return Ok(());
        };
        let entries = section.relocations().map_err(|_| self.damaged(file, section.name, "it is cut off"))?;
        let of_section = object.section(of);
        // A discarded copy's are one piece.
        let counts = self.out.files[file.index()].sections[of_section.info() as usize].is_some();
        let whole = (!counts).then(|| base..base.saturating_add(of_section.size()));
        let mut tables: Vec<_> = object
            .symbols()
            .filter(|_| counts)
            .filter(|(_, raw)| u32::from(raw.shndx.get()) == of && raw.kind() != raw::STT_SECTION)
            .map(|(_, raw)| (raw.value.get().wrapping_add(base), raw.size.get()))
            .map(|(start, size)| start..start.saturating_add(size))
            .chain(whole)
            .collect();
        // As they lie, whatever the order of their symbols (seen in libnvshmem_device.a).
        tables.sort_by_key(|table| table.start);
        let mut read = Vec::new();
        for entry in entries.iter() {
            let Some(target) = self.refers_to(file, object.section(of), entry.symbol.get()) else { continue };
            let offset = entry.offset.get().wrapping_add(base);
            let (r_type, addend) = (entry.r_type.get(), entry.addend.get());
            read.push(Reloc { offset, target, r_type, addend, file });
            self.label(file, object.section(of), &entry, target);
        }
        if self.settings.preserves_relocs && !read.is_empty() {
            self.name_only(&[b".nv.resolvedrela", self.view_name(file, object.section(of))], 1);
        }
        let constant = &mut self.out.constants[constant as usize];
        constant.twin_tables.extend(tables);
        constant.twin_relocations.append(&mut read);
        Ok(())
    }

    /// Remembers what an entry of a jump table is in the machine code of its function.
    pub(super) fn label(&mut self, file: FileId, of: &Section<'data>, entry: &Rela, target: RelocTarget) {
        let start = usize::try_from(entry.offset.get()).unwrap_or(usize::MAX);
        let place = start.checked_add(4).and_then(|end| of.data.get(start..end));
        if let (RelocTarget::Symbol(function), Some(&[a, b, c, d])) = (target, place) {
            let label = u32::from_le_bytes([a, b, c, d]);
            self.out.labels.insert((function, file, entry.addend.get()), label);
        }
    }

    /// Up to 13.4, those of the first function of a name, if that stays, are used for those of its copies.
    pub(super) fn relocations_that_count<'a>(
        &'a self,
        file: FileId,
        section: &'a Section<'data>,
    ) -> &'a Section<'data> {
        let object = &self.objects[file.index()];
        let Some(twins) = object.mercury.as_ref().filter(|_| self.settings.finds_relocations_by_name) else {
            return section;
        };
        let first = object.section(twins.relocations(section.index));
        let stays = self.out.files[file.index()].sections[first.info() as usize].is_some();
        if stays { first } else { section }
    }

    /// What comes with the machine code's view: its names for constants, the parameters of the kernels.
    pub(super) fn end_mercury(&mut self) {
        let relocatable = self.settings.relocatable;
        let is_object = |symbol: &&mut OutputSymbol<'_>| {
            let is_size = || DESCRIPTION_SIZES.contains(&&**symbol.name);
            symbol.kind == raw::STT_OBJECT && (relocatable || symbol.section.is_none() && is_size())
        };
        for symbol in self.out.symbols.iter_mut().filter(is_object) {
            symbol.kind = raw::STT_CUDA_OBJECT;
        }
        self.place_reserved();
        self.finish_frames();
        self.size_aliases();
        self.finish_lines();
        self.finish_locations();
        for index in 0..self.out.sections.len() {
            let section = &self.out.sections[index];
            // A name that is forgotten has none in the other view.
            let emptied =
                matches!(section.kind, Kind::Constant(_) | Kind::FunctionConstant(_)) && section.size == 0;
            let keeps_name =
                self.settings.keeps_mercury_names && matches!(section.kind, Kind::FunctionConstant(_));
            let Some(symbol) = section.symbol.filter(|_| !emptied && !keeps_name) else {
                continue;
            };
            let Some(name) = code_name(self.out.section_name(SectionId::at(index))) else { continue };
            let name = self.out.names.tables.add_again(Table::Symbols, &name);
            self.out.symbol_mut(symbol).rest_mut().differs.name = Some(self.out.symbol_name(symbol));
            self.out.set_symbol_name(symbol, name);
        }
        for (text, section) in std::mem::take(&mut self.mercury.kernel_constants) {
            let name = self.out.names.tables.add_again(Table::Sections, section.name);
            let out = self.create_kernel_constant(Kind::LateKernelConstant, text, &section, name);
            self.section_symbol(out, b"");
            let name = self.out.names.tables.add_again(Table::Symbols, section.name);
            if let Some(symbol) = self.out.section(out).symbol {
                self.out.set_symbol_name(symbol, name);
            }
        }
        for kind in [Kind::MercurySymbols, Kind::MercurySectionIndices, Kind::LateSectionIndices] {
            let (sh_type, flags, align, entsize) = properties(kind);
            let flags = if kind == Kind::LateSectionIndices { flags } else { flags | raw::SHF_MERCURY };
            self.push_section(&New { kind, name: &[], sh_type, flags, align, entsize }, 0);
        }
    }
}
