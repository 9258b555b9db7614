//! Merges the inputs, one after the other, each in five passes: functions, variables, the remaining
//! sections, attributes, relocations. The order in which sections and symbols are created here, and
//! the names that enter the string tables on the way, are the order of the output.

mod constants;
mod data;
mod equal;
mod frames;
mod hand_over;
mod info;
mod kept;
mod lines;
mod locations;
mod mercury;
mod merger;
mod names;
mod naming;
mod packing;
mod reading;
mod relocatable;
mod relocations;
mod settings;
mod system_calls;

pub use settings::Settings;

use crate::diagnostics::{Message, Sink, Stop};
use crate::gc::Live;
use crate::model::calls::Calls;
use crate::model::graph::CallGraph;
use crate::model::ids::{EntityId, FileId, SectionId, SymbolId};
use crate::model::merged::{
    Content, FileMap, Function, Kind, Merged, OutputSection, OutputSymbol, Problem, narrow,
};
use crate::model::object::{Object, Role};
use crate::model::symbols::{Origin, Symbols};
use crate::notes;
use crate::pool::Pool;
use crate::resolve::is_extern_shared;
use bstr::BStr;
use merger::{Merger, New};
use names::{Entering, NamePlace, Tables, locked};
use reading::Reading;
use solder_cubin::raw::{self, Symbol};
use solder_cubin::strings::{StringTables, Table};
use std::sync::{Mutex, PoisonError};

/// The bytes of shared memory that are reserved, and the symbol that says so.
const RESERVED_SHARED_SYMBOL: &[u8] = b".nv.reservedSmem.cap";
const RESERVED_SHARED_SIZE: u64 = 0x400;
/// The symbol of its beginning, which assemblers from 12.8 on have beside it.
const RESERVED_SHARED_BEGIN: &[u8] = b".nv.reservedSmem.offset0";

/// Merges the inputs.
pub fn merge<'data>(
    settings: Settings<'data>,
    objects: &[Object<'data>],
    symbols: &Symbols<'data>,
    graph: &CallGraph<'data>,
    live: &Live,
    pool: &Pool,
    sink: &Sink,
) -> Result<Merged<'data>, Stop> {
    let mut merger = Merger::new(settings, objects, symbols, live, pool, sink);
    if settings.keeps_removed_names {
        merger.out.names.tables = names_of_all(&merger, graph)?;
    }
    merger.all_files(graph)?;
    merger.end();
    Ok(merger.out)
}

/// The string tables before anything is removed: releases that keep the names of what is removed have those of dead functions in them.
fn names_of_all<'data>(merger: &Merger<'_, 'data>, graph: &CallGraph<'data>) -> Result<StringTables, Stop> {
    let Merger { settings, objects, symbols, live, pool, sink, .. } = *merger;
    let all = live.with_everything();
    let mut merger = Merger::new(settings, objects, symbols, &all, pool, sink);
    merger.all_files(graph)?;
    Ok(merger.out.names.tables)
}

impl<'a, 'data> Merger<'a, 'data> {
    fn all_files(&mut self, graph: &CallGraph<'data>) -> Result<(), Stop> {
        self.referenced = kept::referenced(&self.settings, self.objects, self.symbols);
        if !self.settings.names_prototypes_by_file {
            self.out.names.of_prototypes = self.name_prototypes(graph);
        }
        self.naming.begin_files();
        self.begin();
        self.files(graph)
    }

    fn name_prototypes(&mut self, graph: &CallGraph<'data>) -> Vec<u32> {
        let names = &mut self.out.names.tables;
        let name = |text: &&BStr| {
            if text.is_empty() {
                names.add_again(Table::Symbols, text)
            } else {
                names.add(Table::Symbols, text)
            }
        };
        graph.prototypes.iter().map(name).collect()
    }

    /// Names at the head of the string tables, and the sections every output has.
    fn begin(&mut self) {
        for name in [&b".shstrtab"[..], b".strtab", b".symtab", b".symtab_shndx"] {
            self.name_section(&[name]);
        }
        if self.settings.names_unified_table {
            self.name_section(&[b".nv.uft.entry"]);
        }
        let first_has_compat =
            || self.objects.first().is_some_and(|first| first.first(Role::Compat).is_some());
        let writes_notes = self.settings.writes_notes;
        let has_compat = writes_notes && (self.settings.sm >= notes::COMPAT_FROM || first_has_compat());
        let [tool, cuda] = if writes_notes { self.notes(has_compat) } else { [None; 2] };
        let info = self.create_plain(Kind::Info, b".nv.info", raw::SHT_CUDA_INFO, 4);
        // What it is does not show: no name is left of it.
        if !self.settings.relocatable {
            self.out.removed.push(SectionId::at(self.out.sections.len()));
        }
        let compat =
            has_compat.then(|| self.create_plain(Kind::Compat, b".nv.compat", raw::SHT_CUDA_COMPAT, 4));
        let host = self.settings.host.map(|bytes| self.host(bytes));
        let known = &mut self.out.well_known;
        (known.tool_note, known.cuda_note, known.info, known.compat) = (tool, cuda, Some(info), compat);
        if self.settings.mercury() {
            self.twin(info, Kind::MercuryInfo);
            if let Some((section, bytes)) = host.zip(self.settings.host) {
                let twin = self.twin(section, Kind::MercuryHost);
                self.out.section_mut(twin).append(bytes, bytes.len() as u64, 8);
            }
        }
    }

    /// `.nv.host`, with the bytes of `-nv-host`.
    fn host(&mut self, bytes: &'data [u8]) -> SectionId {
        let section = self.create_with_symbol(&New {
            kind: Kind::Host,
            name: &[b".nv.host"],
            sh_type: raw::SHT_CUDA_HOST,
            flags: 0,
            align: 8,
            entsize: 0,
        });
        self.out.section_mut(section).append(bytes, bytes.len() as u64, 8);
        section
    }

    /// The two notes about the tools. The second leads to the compatibility records, where there are any.
    fn notes(&mut self, has_compat: bool) -> [Option<SectionId>; 2] {
        let note =
            |kind, name, flags| New { kind, name, sh_type: raw::SHT_NOTE, flags, align: 4, entsize: 0 };
        let link = if has_compat { raw::SHF_INFO_LINK } else { 0 };
        let cuda = raw::SHF_NOTE_CUINFO | link;
        let tool =
            self.create_with_symbol(&note(Kind::ToolNote, &[b".note.nv.tkinfo"], raw::SHF_NOTE_TKINFO));
        let cuda = self.create_with_symbol(&note(Kind::CudaNote, &[b".note.nv.cuinfo"], cuda));
        [Some(tool), Some(cuda)]
    }

    /// Merges all files, one after the other. What of a file does not depend on the next ones is done beside these: its
    /// names are entered, attributes and relocations read.
    fn files(&mut self, graph: &CallGraph<'data>) -> Result<(), Stop> {
        let reading = self.reading();
        let names = std::mem::take(&mut self.out.names.tables);
        let empty = graph.prototypes.iter().position(|text| text.is_empty());
        self.naming.empty_prototype = empty.map(|at| graph.prototype_files[at]);
        let empty = if self.settings.names_prototypes_by_file {
            names.second_empty(Table::Symbols)
        } else {
            empty.map(|at| self.out.names.of_prototypes[at])
        };
        let names = Entering::new(Tables::new(names, self.symbols.functions.len(), empty));
        let read = Mutex::new(Vec::new());
        self.pool.beside(|beside| {
            for file in 0..self.objects.len() {
                let ahead = self.room.next(&self.out);
                if ahead.iter().any(|pages| !pages.is_empty()) {
                    let pool = self.pool;
                    beside.run(move || ahead.into_iter().for_each(|pages| pool.prefault(pages)));
                }
                self.file(FileId::at(file), graph)?;
                if self.unread.is_much() || file + 1 == self.objects.len() {
                    let mut left = self.hand_over(names.old());
                    let (names, read) = (&names, &read);
                    beside.run(move || {
                        names.enter(std::mem::take(&mut left.names));
                        reading.read(&mut left);
                        locked(read).push(left);
                    });
                }
            }
            self.out.calls = Calls::new(self.out.functions.len(), &self.out.function_of, graph);
            Ok(())
        })?;
        names.enter(self.naming.end_files());
        let tables = names.finish();
        self.pool.for_each_of(&mut self.out.names.of_symbols, |name| *name = tables.of_symbol(*name));
        if self.settings.names_prototypes_by_file {
            self.out.names.of_prototypes.iter_mut().for_each(|name| *name = tables.of_symbol(*name));
        }
        self.out.removed.extend(self.naming.not_found(&tables));
        self.out.removed.sort_unstable();
        let mut read = read.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.take_back(&mut read, &tables)?;
        self.out.names.tables = tables.names;
        Ok(())
    }

    fn reading(&self) -> Reading<'a, 'data> {
        Reading { settings: self.settings, objects: self.objects, symbols: self.symbols }
    }

    fn file(&mut self, file: FileId, graph: &CallGraph<'data>) -> Result<(), Stop> {
        let object = &self.objects[file.index()];
        object.fetch();
        self.out.files.push(FileMap {
            sections: vec![None; object.cubin.sections.len()],
            symbols: vec![None; object.cubin.symbols.len()],
        });
        self.constants.begin_file();
        self.symbols_before_file = self.out.symbols.len();
        self.mercury.begin_file();
        for (symbol, raw) in object.symbols() {
            if raw.kind() != raw::STT_FUNC || object.is_of_system(symbol) {
                continue;
            }
            // The function comes before its other names, also where the table has them the other way round.
            if is_alias(object, symbol, raw)
                && let Some(owner) = object.text_owner(u32::from(raw.shndx.get())).filter(|o| *o > symbol)
            {
                self.function(Origin { file, symbol: owner }, object.symbol(owner))?;
            }
            if self.out.files[file.index()].symbols[symbol as usize].is_none() {
                self.function(Origin { file, symbol }, raw)?;
            }
        }
        self.place_aliases(file);
        for (symbol, raw) in object.symbols() {
            self.variable(Origin { file, symbol }, raw)?;
        }
        self.remaining_sections(file)?;
        self.map_section_symbols(file);
        self.attributes(file)?;
        if self.settings.names_prototypes_by_file {
            self.name_prototypes_of(file, graph);
        }
        self.relocations(file)
    }

    /// What comes after the last input: the sections the linker makes, and the names of the globals.
    fn end(&mut self) {
        self.out.order_records(self.has_replaced, self.pool);
        self.place_common_symbols();
        if self.settings.misplaces_reserved_shared {
            let has = |name: &[u8]| self.out.symbols.iter().any(|symbol| symbol.name == name);
            if has(RESERVED_SHARED_SYMBOL) && !has(RESERVED_SHARED_BEGIN) {
                self.out.null_value = RESERVED_SHARED_SIZE;
            }
        }
        if self.settings.packs_constants {
            self.pack_constants();
        }
        let graph = self.create_with_symbol(&New {
            kind: Kind::CallGraph,
            name: &[b".nv.callgraph"],
            sh_type: raw::SHT_CUDA_CALLGRAPH,
            flags: 0,
            align: 4,
            entsize: 8,
        });
        let prototype = self.create_with_symbol(&New {
            kind: Kind::Prototype,
            name: &[b".nv.prototype"],
            sh_type: raw::SHT_CUDA_PROTOTYPE,
            flags: 0,
            align: 4,
            entsize: 8,
        });
        self.out.well_known.call_graph = Some(graph);
        self.out.well_known.prototype = Some(prototype);
        if self.settings.mercury() && self.settings.mercury_graph {
            self.twin(graph, Kind::MercuryCallGraph);
            self.twin(prototype, Kind::MercuryPrototype);
        }
        if self.settings.relocatable {
            self.finish_shared();
            self.mark_undefined();
        } else if self.settings.mercury() {
            self.image_constants();
            self.distribute_constants();
            self.late_shared_of_launched();
        } else {
            if self.settings.keeps_removed_names {
                self.name_handles();
                self.name_extern_shared();
                self.name_packing();
            }
            self.distribute_constants();
            self.late_shared_of_launched();
            if self.settings.has_relocation_actions {
                self.create_with_symbol(&New {
                    kind: Kind::RelAction,
                    name: &[b".nv.rel.action"],
                    sh_type: raw::SHT_CUDA_REL_ACTION,
                    flags: 0,
                    align: 8,
                    entsize: 8,
                });
            }
        }
        self.hide_shared();
        let emptied = if self.settings.relocatable { Vec::new() } else { self.emptied() };
        self.name_globals();
        // What is made for Mercury, and what is taken out of the tables, comes after the names of the globals.
        if self.settings.mercury() {
            self.end_mercury();
            self.forget_relocations_of_emptied();
            self.system_calls();
        }
        if !self.settings.keeps_removed_names {
            self.forget_names(&emptied);
        }
    }

    fn create(&mut self, new: &New<'_>) -> SectionId {
        self.create_in(NamePlace::Both, new)
    }

    fn create_in(&mut self, place: NamePlace, new: &New<'_>) -> SectionId {
        let [name, _] = self.name(place, new.name);
        self.push_section(new, name)
    }

    fn create_with_symbol(&mut self, new: &New<'_>) -> SectionId {
        self.create_with_symbol_in(NamePlace::Both, new)
    }

    fn create_with_symbol_in(&mut self, place: NamePlace, new: &New<'_>) -> SectionId {
        let [name, symbol_name] = self.name(place, new.name);
        let section = self.push_section(new, name);
        self.section_symbol_named(section, symbol_name);
        section
    }

    fn create_plain(&mut self, kind: Kind, name: &[u8], sh_type: u32, align: u64) -> SectionId {
        self.create(&New { kind, name: &[name], sh_type, flags: 0, align, entsize: 0 })
    }

    fn push_section(&mut self, new: &New<'_>, name: u32) -> SectionId {
        let content = match new.kind {
            Kind::Info | Kind::FunctionInfo => Content::Info(Vec::new()),
            Kind::Relocations | Kind::Resolved | Kind::MercuryRelocations | Kind::MercuryResolved => {
                Content::Relocations(Vec::new())
            }
            Kind::Text
            | Kind::KernelConstant
            | Kind::FunctionConstant(_)
            | Kind::Constant(_)
            | Kind::GlobalInit
            | Kind::Debug
            | Kind::Capsule
            | Kind::MercuryDebug
            | Kind::MercuryConstant
            | Kind::LateKernelConstant
            | Kind::KeptNote(_)
            | Kind::Host
            | Kind::MercuryHost => Content::Bytes(Vec::new()),
            _ => Content::Nothing,
        };
        let id = SectionId::at(self.out.sections.len());
        if let Kind::Constant(_) | Kind::FunctionConstant(_) | Kind::KernelShared | Kind::FileShared =
            new.kind
        {
            self.out.limited.push(id);
        }
        self.out.sections.push(OutputSection {
            kind: new.kind,
            name,
            sh_type: new.sh_type,
            flags: if self.settings.marks_info { new.flags } else { new.flags & !raw::SHF_INFO_LINK },
            align: narrow(new.align),
            entsize: narrow(new.entsize),
            size: 0,
            content,
            of: None,
            symbol: None,
            function: None,
            registers: 0,
            rel: None,
            rela: None,
            twin: None,
            shares_bytes: false,
            is_named_alone: false,
        });
        id
    }

    /// Gives a section its symbol. The name is in `.strtab` since the section was created.
    fn section_symbol(&mut self, section: SectionId, name: &[u8]) {
        let offset = self.name_symbol(name);
        self.section_symbol_named(section, offset);
    }

    fn section_symbol_named(&mut self, section: SectionId, name_offset: u32) {
        let kind = raw::STT_SECTION;
        let symbol = OutputSymbol { kind, section: Some(section), ..OutputSymbol::default() };
        let id = self.push_named(symbol, name_offset);
        self.out.section_mut(section).symbol = Some(id);
    }

    fn push_symbol(&mut self, symbol: OutputSymbol<'data>) -> SymbolId {
        self.push_named(symbol, 0)
    }

    /// A new symbol and where its name is, if it has one already.
    fn push_named(&mut self, symbol: OutputSymbol<'data>, name: u32) -> SymbolId {
        let is_named_now = self.settings.names_at_once && name == 0;
        let name = if is_named_now { self.name_symbol(symbol.name) } else { name };
        self.out.names.of_symbols.push(name);
        self.out.symbols.push(symbol);
        SymbolId::at(self.out.symbols.len() - 1)
    }

    /// The output symbol for an input's symbol, made at its first mention.
    fn mention(&mut self, origin: Origin, entity: EntityId, raw: &Symbol) -> (SymbolId, bool) {
        if let Some(symbol) = self.symbol_of[entity.index()] {
            self.out.files[origin.file.index()].symbols[origin.symbol as usize] = Some(symbol);
            return (symbol, false);
        }
        let name = self.objects[origin.file.index()].names[origin.symbol as usize];
        let reserved = self.settings.mercury() && crate::model::mercury::is_reserved(name);
        let kind = match raw.kind() {
            raw::STT_OBJECT if reserved && !self.settings.relocatable => raw::STT_CUDA_OBJECT,
            raw::STT_CUDA_OBJECT if !self.settings.relocatable && !reserved => raw::STT_OBJECT,
            kind => kind,
        };
        let other = self.other(raw);
        // An undefined weak symbol is nothing but undefined in the output.
        let undefined_weak = raw.bind() == raw::STB_WEAK && !raw.is_defined();
        let stays_weak = self.settings.relocatable && is_extern_shared(raw);
        let bind = if undefined_weak && !stays_weak { raw::STB_GLOBAL } else { raw.bind() };
        // Undefined variables keep the value that the compiler gave them, but for one that compilers before 12.8 gave none.
        let object = matches!(kind, raw::STT_OBJECT | raw::STT_CUDA_OBJECT);
        let is_undefined = object && !raw.is_defined();
        let is_reserved = is_undefined && name == RESERVED_SHARED_SYMBOL;
        let value = match is_undefined {
            true if is_reserved && self.settings.knows_reserved_shared => RESERVED_SHARED_SIZE,
            true if is_reserved => 0,
            true => raw.value.get(),
            false => 0,
        };
        // Position-independent code has tables of addresses, whose variables an image does not name.
        let hidden = object && raw.visibility() == raw::STV_INTERNAL && !self.settings.shows_hidden();
        let id = self.push_symbol(OutputSymbol {
            name,
            bind,
            among_globals: bind == raw::STB_GLOBAL || bind == raw::STB_WEAK && self.settings.weak_is_global,
            kind,
            other,
            value,
            size: raw.size.get(),
            entity: Some(entity),
            mercury_other: raw.other,
            dropped: hidden,
            ..OutputSymbol::default()
        });
        self.symbol_of[entity.index()] = Some(id);
        self.out.files[origin.file.index()].symbols[origin.symbol as usize] = Some(id);
        (id, true)
    }

    /// `st_other` in the output: images do not say the storage class of variables.
    fn other(&self, raw: &Symbol) -> u8 {
        let keeps_all = raw.kind() == raw::STT_FUNC || self.settings.relocatable;
        if keeps_all { raw.other } else { raw.other & 0x1f }
    }

    fn function(&mut self, origin: Origin, raw: &'data Symbol) -> Result<(), Stop> {
        let Some(entity) = self.symbols.entity(origin.file, origin.symbol) else { return Ok(()) };
        let is_piece = self.objects[origin.file.index()].function_around(raw).is_some();
        if !self.live.is_live(entity) && is_piece {
            let (symbol, _) = self.mention(origin, entity, raw);
            self.out.symbol_mut(symbol).dropped = true;
            return Ok(());
        }
        if !self.live.is_live(entity) {
            self.name_dead_kernel(origin, raw);
            self.dead_copy(origin, entity, raw);
            return Ok(());
        }
        self.nameless_before(origin.file, entity);
        let (symbol, new) = self.mention(origin, entity, raw);
        // What is within the code of a function is only a symbol.
        if is_piece {
            if new {
                self.name_local(symbol);
            }
            return Ok(());
        }
        if new {
            self.push_function(symbol, entity, raw.other & raw::STO_ENTRY != 0);
            if raw.bind() == raw::STB_LOCAL {
                let name = self.out.symbol(symbol).name;
                let name = self.name_symbol(name);
                self.out.set_symbol_name(symbol, name);
            }
        }
        if !raw.is_defined() || !self.symbols.accepted(origin.file, origin.symbol) {
            return Ok(());
        }
        if is_alias(&self.objects[origin.file.index()], origin.symbol, raw) {
            self.function_mut(entity).alias = true;
            Ok(())
        } else if self.out.symbol(symbol).is_defined() {
            self.replace_function(symbol, entity, origin, raw);
            Ok(())
        } else {
            self.define_function(symbol, entity, origin, raw)
        }
    }

    fn push_function(&mut self, symbol: SymbolId, entity: EntityId, entry: bool) {
        self.out.function_of[entity.index()] = Some(self.out.functions.len() as u32);
        self.out.functions.push(Function {
            symbol,
            entity,
            entry,
            launched: false,
            asked_for: false,
            alias: false,
            text: None,
            info: None,
            shared: None,
            constant: None,
            constants: Vec::new(),
            attributes_read: 0,
        });
    }

    /// The static function that nvlink 12 makes of symbol 0, just before the undefined function for which it does. It has no
    /// entity in its symbol: nobody misses its definition.
    fn nameless_before(&mut self, file: FileId, function: EntityId) {
        let Some(nameless) = self.symbols.entity(file, 0) else { return };
        if nameless.index() + 1 != function.index() || !self.live.is_live(nameless) {
            return;
        }
        if self.out.files[file.index()].symbols[0].is_none() {
            let kind = raw::STT_FUNC;
            let is_before = |first: FileId| first.index() < file.index();
            let is_misnamed =
                self.settings.misnames_nameless && self.naming.empty_prototype.is_some_and(is_before);
            let place = if is_misnamed { NamePlace::Misnamed } else { NamePlace::Nameless };
            let [_, name] = self.name(place, &[]);
            let symbol = self.push_named(OutputSymbol { kind, ..OutputSymbol::default() }, name);
            self.out.files[file.index()].symbols[0] = Some(symbol);
            self.push_function(symbol, nameless, false);
        }
    }

    /// Of a kernel that host code does not refer to, nvlink looks up the shared memory before it removes it: its name
    /// stays in the tables.
    fn name_dead_kernel(&mut self, origin: Origin, raw: &Symbol) {
        if self.settings.kernels_removed_by_host && raw.is_defined() && raw.other & raw::STO_ENTRY != 0 {
            let name = self.objects[origin.file.index()].names[origin.symbol as usize];
            self.name_only(&[b".nv.shared.", name], 1);
        }
    }

    /// A function that was removed. An alias that is removed while its function stays is more than nvlink can do.
    fn dead_copy(&mut self, origin: Origin, entity: EntityId, raw: &Symbol) {
        self.out.functions_removed = true;
        if self.settings.keeps_prototypes_of_aliases && self.is_first_of_alias(origin, entity) {
            self.out.dead_aliases.push((self.out.functions.len() as u32, entity));
        }
        if !raw.is_defined() || !self.symbols.accepted(origin.file, origin.symbol) {
            return;
        }
        let object = &self.objects[origin.file.index()];
        let text = u32::from(raw.shndx.get());
        let is_alias = is_alias(object, origin.symbol, raw);
        if is_alias && self.settings.refuses_removed_aliases {
            self.out.problems.push(Problem::DeletedAliasOfSection);
        } else if is_alias
            && let Some(owner) = self.function_in(origin.file, text)
            && self.live.is_live(owner)
        {
            let replaces = !self.settings.weak_is_global && self.replaces_first(owner, origin.file);
            if self.symbols.get(owner).local || replaces {
                self.out.problems.push(Problem::DeletedAliasOfSection);
            } else {
                self.out.problems.push(Problem::DeletedAlias);
            }
        }
    }

    /// Whether this is the first mention of another name of a function, which a later file may define.
    fn is_first_of_alias(&self, origin: Origin, entity: EntityId) -> bool {
        let entity = self.symbols.get(entity);
        let is_alias = |Origin { file, symbol }: Origin| {
            let object = &self.objects[file.index()];
            is_alias(object, symbol, object.symbol(symbol))
        };
        entity.first == origin && entity.definition.is_some_and(is_alias)
    }

    /// Whether the copy of a function in this file takes the place of that of the file that named it first.
    fn replaces_first(&self, function: EntityId, file: FileId) -> bool {
        let first = self.symbols.get(function).first;
        if !self.objects[first.file.index()].symbol(first.symbol).is_defined() {
            return false;
        }
        let Some(symbol) = self.symbol_of[function.index()] else { return false };
        let symbol = self.out.symbol(symbol);
        let was_replaced = symbol.rest().is_some_and(|rest| rest.replaced_in == Some(file));
        was_replaced || symbol.origin.is_some_and(|origin| origin.file != file)
    }

    fn define_function(
        &mut self,
        symbol: SymbolId,
        entity: EntityId,
        origin: Origin,
        raw: &'data Symbol,
    ) -> Result<(), Stop> {
        let object = &self.objects[origin.file.index()];
        let section = object.section(u32::from(raw.shndx.get()));
        let name = self.out.symbol(symbol).name;
        if raw.bind() == raw::STB_WEAK && !self.out.symbol(symbol).among_globals {
            let name = self.name_symbol(name);
            self.out.set_symbol_name(symbol, name);
        }
        if object.role(section.index) != Role::Text {
            return Err(self.damaged(
                origin.file,
                section.name,
                &format!("it holds the function '{name}' and no code"),
            ));
        }
        let new = New {
            kind: Kind::Text,
            name: &[section.name],
            sh_type: raw::SHT_PROGBITS,
            flags: 0,
            align: section.align(),
            entsize: 0,
        };
        let is_named_alone = self.is_named_alone(section.name, name, raw);
        let text = self.create_with_symbol_in(NamePlace::of_own(is_named_alone), &new);
        let out = self.out.section_mut(text);
        out.is_named_alone = is_named_alone;
        out.append(section.data, section.data.len() as u64, section.align());
        out.function = Some(symbol);
        out.take_code_header(section);
        self.out.files[origin.file.index()].sections[section.index as usize] = Some((text, 0));
        let out = self.out.symbol_mut(symbol);
        (out.bind, out.other, out.size, out.value) = (raw.bind(), raw.other, raw.size.get(), raw.value.get());
        (out.section, out.origin) = (Some(text), Some(origin));
        self.twin_of_code(text, symbol, origin);
        let entry = raw.other & raw::STO_ENTRY != 0;
        let (mut info, mut shared) = (None, None);
        let is_prepared = self.live.is_prepared(entity);
        let was_mentioned = symbol.index() < self.symbols_before_file;
        // Of other kernels, sections come with the first thing that goes into them.
        if entry && (is_prepared || was_mentioned) {
            info = Some(self.function_info(text, name));
            shared = Some(self.kernel_shared(text, name));
        }
        let launched = entry && !self.live.is_root(entity);
        let function = self.function_mut(entity);
        function.entry = entry;
        function.launched = launched;
        function.asked_for = is_prepared;
        (function.text, function.info, function.shared) = (Some(text), info, shared);
        Ok(())
    }

    /// The shared memory of a kernel. Equal-named static kernels have it together.
    fn kernel_shared(&mut self, text: SectionId, kernel: &'data BStr) -> SectionId {
        if let Some(section) = self.shared_by_kernel.get(kernel) {
            return *section;
        }
        let section = self.create_with_symbol(&New {
            kind: Kind::KernelShared,
            name: &[b".nv.shared.", kernel],
            sh_type: self.settings.section_type(raw::SHT_CUDA_SHARED, raw::SHT_NOBITS),
            flags: raw::SHF_WRITE | raw::SHF_ALLOC | raw::SHF_INFO_LINK,
            align: 1,
            entsize: 0,
        });
        self.out.section_mut(section).of = Some(text);
        self.shared_by_kernel.insert(kernel, section);
        section
    }

    /// Aliases are in the section of the function they name, wherever in the table that came. One that
    /// stays while its function is removed is more than nvlink can do.
    fn place_aliases(&mut self, file: FileId) {
        let object = &self.objects[file.index()];
        for (symbol, raw) in object.symbols() {
            if !is_alias(object, symbol, raw) || !self.symbols.accepted(file, symbol) {
                continue;
            }
            let map = &self.out.files[file.index()];
            let text = map.sections[usize::from(raw.shndx.get())];
            let Some(id) = map.symbols[symbol as usize] else { continue };
            let is_piece = object.function_around(raw).is_some();
            let Some((text, _)) = text else {
                if !is_piece {
                    self.out.problems.push(Problem::OrphanedAlias);
                }
                self.out.symbol_mut(id).dropped = true;
                continue;
            };
            let out = self.out.symbol_mut(id);
            (out.section, out.origin) = (Some(text), Some(Origin { file, symbol }));
            (out.bind, out.other, out.size, out.value) =
                (raw.bind(), raw.other, raw.size.get(), raw.value.get());
            if let Some(entity) = out.entity.filter(|_| !is_piece) {
                self.function_mut(entity).text = Some(text);
            }
        }
    }

    fn function_info(&mut self, text: SectionId, function: &[u8]) -> SectionId {
        let place = NamePlace::of_own(self.out.section(text).is_named_alone);
        let new = New {
            kind: Kind::FunctionInfo,
            name: &[b".nv.info.", function],
            sh_type: raw::SHT_CUDA_INFO,
            flags: raw::SHF_INFO_LINK,
            align: 4,
            entsize: 0,
        };
        let info = self.create_in(place, &new);
        self.out.section_mut(info).of = Some(text);
        if self.settings.mercury() {
            self.twin(info, Kind::MercuryInfo);
        }
        info
    }

    fn section_symbol_parts(&mut self, section: SectionId, parts: &[&[u8]]) {
        let offset = self.name_symbol(&parts.concat());
        self.section_symbol_named(section, offset);
    }

    fn function_mut(&mut self, entity: EntityId) -> &mut Function {
        let index =
            self.out.function_of[entity.index()].expect("functions are entered at their first mention");
        &mut self.out.functions[index as usize]
    }

    /// A better copy of a weak function takes the place of the earlier one; its position stays.
    fn replace_function(&mut self, symbol: SymbolId, entity: EntityId, origin: Origin, raw: &'data Symbol) {
        let section = self.objects[origin.file.index()].section(u32::from(raw.shndx.get()));
        let function = self.function_mut(entity).clone();
        let Some(text) = function.text else { return };
        let out = self.out.section_mut(text);
        out.content = Content::Bytes(Vec::new());
        out.size = 0;
        out.append(section.data, section.data.len() as u64, section.align());
        out.take_code_header(section);
        let relocations = [out.rel, out.rela];
        let resolved = self.out.resolved.get(&text).copied();
        let resolved_twin = resolved.and_then(|resolved| self.out.section(resolved).twin);
        for relocations in relocations.into_iter().chain([resolved, resolved_twin]).flatten() {
            self.out.section_mut(relocations).relocations_mut().clear();
        }
        self.forget_constants(entity);
        self.has_replaced = true;
        self.out.files[origin.file.index()].sections[section.index as usize] = Some((text, 0));
        let out = self.out.symbol_mut(symbol);
        (out.size, out.value, out.origin) = (raw.size.get(), raw.value.get(), Some(origin));
        out.rest_mut().replaced_in = Some(origin.file);
        if relocations != [None, None] {
            out.rest_mut().debug_replaced_in = Some(origin.file);
        }
        let out = self.out.symbol_mut(symbol);
        if raw.bind() == raw::STB_GLOBAL {
            out.bind = raw::STB_GLOBAL;
        }
        self.twin_of_code(text, symbol, origin);
    }

    fn map_section_symbols(&mut self, file: FileId) {
        let object = &self.objects[file.index()];
        for (index, raw) in object.symbols() {
            if raw.kind() != raw::STT_SECTION || raw.shndx.get() == raw::SHN_COMMON {
                continue;
            }
            let map = &self.out.files[file.index()];
            if let Some((section, _)) = map.sections[usize::from(raw.shndx.get())] {
                self.out.files[file.index()].symbols[index as usize] = self.out.section(section).symbol;
            }
        }
    }

    fn damaged(&self, file: FileId, place: &BStr, reason: &str) -> Stop {
        self.sink.fatal(Message::DamagedInput {
            file: (&self.objects[file.index()].name).into(),
            place: place.into(),
            reason: reason.into(),
        })
    }
}

/// Whether a function symbol is another name for the function that its section belongs to.
fn is_alias(object: &Object<'_>, symbol: u32, raw: &Symbol) -> bool {
    if raw.kind() != raw::STT_FUNC || !raw.is_defined() || raw.shndx.get() == raw::SHN_COMMON {
        return false;
    }
    object.text_owner(u32::from(raw.shndx.get())).is_some_and(|owner| owner != symbol)
}
