//! Binds the symbols of all inputs: which definition of a name prevails, and what is wrong.
//!
//! Objects are taken in link order, in each the functions first, then the variables, as nvlink does;
//! the order shows in its messages. An object with errors is read to its end, then the link stops.
//!
//! Names need not wait for the last object to be parsed: those of the first ones are bound beside that. What there is
//! to say about names waits for its turn.

mod name_index;
mod sanitized;
mod tensor_memory;

use crate::call_graph::Reader;
use crate::diagnostics::{Demangled, Message, Sink, Stop, Text};
use crate::model::graph::CallGraph;
use crate::model::ids::{EntityId, FileId, Rare};
use crate::model::object::{Object, Role};
use crate::model::symbols::{Bound, Entity, Origin, Symbols};
use crate::notes;
use crate::prefault::Prefaulted;
use bstr::{BStr, ByteSlice};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use name_index::NameIndex;
use sanitized::SanitizedCheck;
use solder_arch::Release;
use solder_cubin::callgraph;
use solder_cubin::info::{self, attr};
use solder_cubin::raw::{self, Symbol};
use std::ops::Range;
use tensor_memory::TensorMemoryCheck;

/// Symbols of these types have an identity across objects.
fn names_a_thing(symbol: &Symbol) -> bool {
    matches!(
        symbol.kind(),
        raw::STT_FUNC
            | raw::STT_OBJECT
            | raw::STT_CUDA_OBJECT
            | raw::STT_TEXTURE
            | raw::STT_SAMPLER
            | raw::STT_SURFACE
    )
}

/// nvlink knows the device runtime by its file name.
pub fn is_runtime(name: &[u8]) -> bool {
    name.windows(b"cudadevrt".len()).any(|part| part == b"cudadevrt")
}

/// Binds names, object by object.
pub struct Resolver<'a, 'data> {
    objects: Vec<&'a Object<'data>>,
    /// How many objects there are going to be.
    files: usize,
    /// About the object that was read last.
    said: Vec<Message>,
    index: NameIndex,
    symbols: Symbols<'data>,
    /// Where those of the object that is being read begin.
    start: usize,
    calls: Reader<'data>,
    /// Whether one of the objects was made by `ptxas -ewp`.
    is_extensible: bool,
    prefaulted: Prefaulted,
    /// Register counts of each file's functions, read when two copies of a weak function meet.
    registers: HashMap<FileId, Vec<(u32, u32)>, FixedState>,
    release: Release,
    /// They are looked for in attributes too.
    reads_attributes: bool,
    /// Undefined functions make nameless ones.
    has_nameless: bool,
    /// Variables without initial value take the place of tentative ones too.
    replaces_without_value: bool,
    /// The first static symbol of each name.
    statics: NameIndex,
    /// A device function bears the name of a texture.
    function_is_image: bool,
    prototypes: Rare<&'data BStr>,
    /// The size of the first parameters of each section of kernel parameters.
    parameters: HashMap<&'data BStr, u64, FixedState>,
}

/// nvlink does not know which file a texture, sampler or surface is from.
const NO_FILE: &[u8] = b"<input>";

/// As much of the objects tells how many names the rest has.
const SAMPLE: usize = 8;
/// And so many at most: the first objects may be unlike the others.
const MOST_FORESEEN: usize = 1 << 18;

impl<'a, 'data> Resolver<'a, 'data> {
    /// A resolver for so many files.
    pub fn new(files: usize, release: &Release) -> Self {
        let symbols = Symbols {
            entities: Vec::new(),
            functions: Vec::new(),
            starts: Vec::with_capacity(files),
            bound: Vec::new(),
            replaced: Vec::new(),
            largest: HashMap::default(),
        };
        Resolver {
            objects: Vec::with_capacity(files),
            files,
            said: Vec::new(),
            index: NameIndex::default(),
            symbols,
            start: 0,
            calls: Reader::default(),
            is_extensible: false,
            prefaulted: Prefaulted::default(),
            registers: HashMap::default(),
            release: release.clone(),
            reads_attributes: release.reads_registers_of_attributes(),
            has_nameless: release.has_nameless_functions(),
            replaces_without_value: release.replaces_commons_without_value(),
            statics: NameIndex::default(),
            function_is_image: false,
            prototypes: Rare::default(),
            parameters: HashMap::default(),
        }
    }

    /// The same, where the objects have moved.
    pub fn with<'new>(self, objects: Vec<&'new Object<'data>>) -> Resolver<'new, 'data> {
        Resolver {
            objects,
            files: self.files,
            said: self.said,
            index: self.index,
            symbols: self.symbols,
            start: self.start,
            calls: self.calls,
            is_extensible: self.is_extensible,
            prefaulted: self.prefaulted,
            registers: self.registers,
            release: self.release,
            reads_attributes: self.reads_attributes,
            has_nameless: self.has_nameless,
            replaces_without_value: self.replaces_without_value,
            statics: self.statics,
            function_is_image: self.function_is_image,
            prototypes: self.prototypes,
            parameters: self.parameters,
        }
    }

    /// Binds the names of the next object, unless there is something to say before.
    pub fn bind_early(&mut self, object: &'a Object<'data>) {
        if self.said.is_empty() {
            self.bind(object);
        }
    }

    fn bind(&mut self, object: &'a Object<'data>) {
        let (file, count) = (self.objects.len(), object.cubin.symbols.len());
        self.make_room(count);
        self.objects.push(object);
        let symbols = &mut self.symbols;
        self.start = symbols.bound.len();
        symbols.starts.push(self.start);
        symbols.bound.resize(self.start + count, Bound::default());
        self.is_extensible |= object.is_extensible();
        self.read(FileId::at(file));
        self.calls.read(FileId::at(file), object, &self.symbols);
    }

    /// Memory for what the objects bring: address space as if the first one were like all others, memory as it is filled.
    fn make_room(&mut self, symbols: usize) {
        let read = self.objects.len();
        let Symbols { entities, bound, .. } = &mut self.symbols;
        let of_all = |of_one: usize| of_one.saturating_mul(self.files).min(MOST_FORESEEN);
        if read == 0 {
            entities.reserve(of_all(symbols));
            bound.reserve(of_all(symbols));
            self.index.expect(symbols);
        } else if read == self.files / SAMPLE {
            self.index.expect(of_all(entities.len() / read));
        }
    }

    /// The pages that are going to be used next.
    pub fn pages_ahead(&mut self) -> Range<usize> {
        self.prefaulted.next(&self.symbols.entities)
    }

    /// Binds the names of all objects; some have been read. Code made for a later version of the API than
    /// `api_version` is refused.
    pub fn finish(
        self,
        objects: &[Object<'data>],
        release: &Release,
        api_version: Option<(i32, i32)>,
        sink: &Sink,
    ) -> Result<(Symbols<'data>, CallGraph<'data>), Stop> {
        let read = self.symbols.starts.len();
        let mut resolver = self.with(objects[..read].iter().collect());
        let is_extensible = resolver.is_extensible || objects[read..].iter().any(Object::is_extensible);
        let mut sanitized = SanitizedCheck::default();
        let mut tensor_memory = TensorMemoryCheck::default();
        for (file, object) in objects.iter().enumerate() {
            if is_extensible && !object.is_extensible() && !is_runtime(object.name.as_bytes()) {
                sink.report(Message::ExtensibleWithOthers { file: (&object.name).into() });
            }
            if file >= read {
                resolver.bind(object);
            }
            // There is nothing to say about those before the last that has been read.
            if file + 1 == resolver.objects.len() {
                resolver.said.drain(..).for_each(|message| sink.report(message));
            }
            if release.compares_sanitized_toolkits() {
                sanitized.admit(FileId::at(file), object, &resolver.symbols, sink);
            }
            tensor_memory.admit(object, sink);
            if let Some((major, minor)) = api_version {
                // A sum below zero is a large number to nvlink (core/option-api-version-minor).
                let allowed = major.wrapping_mul(10).wrapping_add(minor).cast_unsigned();
                check_api_version(object, allowed.min(release.toolkit), sink);
            }
            if resolver.function_is_image && file + 1 == resolver.objects.len() {
                return Err(sink.fatal(Message::NoCallGraphNode));
            }
            if sink.errors() > 0 {
                return Err(sink.fatal(Message::MergeFailed));
            }
        }
        Ok((resolver.symbols, resolver.calls.finish()))
    }
}

impl<'data> Resolver<'_, 'data> {
    fn read(&mut self, file: FileId) {
        let object = self.objects[file.index()];
        for (symbol, raw) in object.symbols() {
            // Of variables too, which are next.
            if raw.kind() != raw::STT_FUNC {
                continue;
            }
            // A function comes before what is in its code, also where the table has it the other way round.
            if let Some(around) = object.function_around(raw).filter(|around| *around > symbol)
                && self.symbols.entity(file, around).is_none()
            {
                self.function(Origin { file, symbol: around }, object.symbol(around));
            }
            if self.symbols.entity(file, symbol).is_none() {
                self.function(Origin { file, symbol }, raw);
            }
        }
        for (symbol, raw) in object.symbols() {
            if raw.kind() != raw::STT_FUNC && names_a_thing(raw) {
                self.variable(Origin { file, symbol }, raw);
            }
        }
        self.check_parameters(file);
        if object.lacks_isa_class() {
            // What lacks it links for its own architecture only.
            let arch = object.cubin.header.flags.get() >> 8 & 0xff;
            self.said.push(Message::IsaClassMissing { arch, file: (&object.name).into() });
        }
        self.check_prototypes(file);
    }

    /// Weak kernels of one name have parameters of one size, unless a strong one is there. The sections of parameters
    /// are found by name, and the first parameters in them are what matters, those of a static kernel too. The Mercury view
    /// has no such sections.
    fn check_parameters(&mut self, file: FileId) {
        let object = self.objects[file.index()];
        if object.mercury.is_some() {
            return;
        }
        for section in object.sections_with(Role::KernelConstant) {
            let Some(kernel) = object.text_owner(section.info()) else { continue };
            let size = *self.parameters.entry(section.name).or_insert(section.size());
            let entity = self.symbols.entity(file, kernel).map(|id| &self.symbols.entities[id.index()]);
            let strong =
                entity.and_then(|e| e.definition).is_some_and(|d| self.raw(d).bind() != raw::STB_WEAK);
            if object.symbol(kernel).bind() == raw::STB_WEAK && !strong && size != section.size() {
                self.said
                    .push(Message::ParameterBankMismatch { symbol: object.names[kernel as usize].into() });
            }
        }
    }

    fn name(&self, origin: Origin) -> &'data BStr {
        self.objects[origin.file.index()].names[origin.symbol as usize]
    }

    fn raw(&self, origin: Origin) -> &'data Symbol {
        self.objects[origin.file.index()].symbol(origin.symbol)
    }

    /// The entity that a symbol names, and whether it is new.
    fn enter(&mut self, origin: Origin, raw: &Symbol) -> (EntityId, bool) {
        let object = self.objects[origin.file.index()];
        let name = object.names[origin.symbol as usize];
        let local = raw.bind() == raw::STB_LOCAL;
        let fresh = EntityId::at(self.symbols.entities.len());
        let hash = object.hashes[origin.symbol as usize];
        let entities = &self.symbols.entities;
        let is_same = |id: EntityId| entities[id.index()].name == name;
        let id = if local {
            self.statics.find_or_enter(hash, fresh, is_same);
            fresh
        } else {
            self.index.find_or_enter(hash, fresh, is_same)
        };
        if id == fresh {
            let function = raw.kind() == raw::STT_FUNC;
            let entity = Entity {
                name,
                local,
                function,
                kernel: false,
                definition: None,
                first: origin,
                has_second: false,
                sized: (raw.size.get() != 0).then_some(origin),
                named: origin.file,
            };
            self.symbols.entities.push(entity);
            self.symbols.functions.extend(function.then_some(id));
        } else if raw.size.get() != 0 && raw.is_defined() {
            // Declarations after the first one do not say the size, also if that did not (core/sizes-of-declarations).
            self.symbols.entities[id.index()].sized.get_or_insert(origin);
        }
        self.symbols.bound[self.start + origin.symbol as usize].bind(id);
        (id, id == fresh)
    }

    /// nvlink 12 takes an undefined function for another name of what owns section 0, and symbol 0 of the file for that owner.
    /// It becomes a static function, once for each file, when a file is the first to mention some function that is not
    /// a kernel (core/nameless-function).
    fn nameless(&mut self, origin: Origin) {
        let Origin { file, symbol } = origin;
        let object = self.objects[file.index()];
        let (name, entities) = (object.names[symbol as usize], &self.symbols.entities);
        let is_known =
            self.index.contains(object.hashes[symbol as usize], |id| entities[id.index()].name == name);
        if is_known || self.symbols.entity(file, 0).is_some() {
            return;
        }
        let id = EntityId::at(entities.len());
        self.symbols.entities.push(Entity {
            name: BStr::new(b""),
            local: true,
            function: true,
            kernel: false,
            definition: None,
            first: Origin { file, symbol: 0 },
            has_second: false,
            sized: None,
            named: file,
        });
        self.symbols.functions.push(id);
        self.symbols.bound[self.start].bind(id);
    }

    fn function(&mut self, origin: Origin, raw: &Symbol) {
        let is_plain = raw.other & raw::STO_ENTRY == 0 && raw.bind() != raw::STB_LOCAL;
        if self.has_nameless && !raw.is_defined() && is_plain {
            self.nameless(origin);
        }
        let (id, new) = self.enter(origin, raw);
        if !new && self.is_image(id) {
            self.function_meets_image(id, origin, raw);
            return;
        }
        if !new {
            self.check_function(id, origin, raw);
        } else if raw.bind() != raw::STB_LOCAL
            && let Some(earlier) = self.earlier_static(origin)
            && (self.raw(self.symbols.entities[earlier.index()].first).other ^ raw.other) & raw::STO_ENTRY
                != 0
        {
            // nvlink finds static symbols of earlier objects by name (core/kernels-named-as-statics).
            self.said.push(not_global(self.name(origin)));
        }
        if !raw.is_defined() {
            self.accept(origin);
            return;
        }
        match self.symbols.entities[id.index()].definition {
            None => self.define(id, origin),
            Some(old) => {
                let (old_bind, new_bind) = (self.raw(old).bind(), raw.bind());
                if old_bind == raw::STB_WEAK && new_bind == raw::STB_GLOBAL {
                    self.define(id, origin);
                } else if old_bind == raw::STB_WEAK && new_bind == raw::STB_WEAK {
                    if self.is_better(id, origin, old) {
                        self.define(id, origin);
                    }
                } else if new_bind == raw::STB_GLOBAL {
                    self.multiple(id, origin, id);
                }
            }
        }
    }

    /// All mentions of a function agree on whether it is a kernel, and none is of a variable.
    fn check_function(&mut self, id: EntityId, origin: Origin, raw: &Symbol) {
        let entity = &self.symbols.entities[id.index()];
        let first = self.raw(entity.first);
        if !entity.function {
            self.function_is_image = true;
            self.said.push(Message::MemorySpaceMismatch {
                symbol: entity.name.into(),
                file: (&self.objects[origin.file.index()].name).into(),
                first: self.first_file(id).into(),
            });
        } else if (first.other ^ raw.other) & raw::STO_ENTRY != 0 {
            self.said.push(not_global(entity.name));
        }
    }

    /// The prototype of a function must be the one that earlier objects gave it. Records of functions
    /// whose address is taken are believed without a question.
    fn check_prototypes(&mut self, file: FileId) {
        let object = self.objects[file.index()];
        for (part, function, prototype) in callgraph::records(object.call_graph) {
            if let (callgraph::Part::Taken, Some(id)) = (part, self.symbols.entity(file, function)) {
                *self.prototypes.get_mut(id) = Some(object.string(prototype));
            }
        }
        for record in object.prototypes {
            let Some(id) = self.symbols.entity(file, record.a.get()) else { continue };
            let prototype = object.string(record.b.get());
            let known = *self.prototypes.get_mut(id).get_or_insert(prototype);
            if without_convention(known) != without_convention(prototype) {
                let entity = &self.symbols.entities[id.index()];
                self.said.push(Message::PrototypeMismatch {
                    symbol: entity.name.into(),
                    file: (&object.name).into(),
                    first: self.first_file(id).into(),
                });
            }
        }
    }

    fn define(&mut self, id: EntityId, origin: Origin) {
        let entity = &mut self.symbols.entities[id.index()];
        if entity.function {
            let raw = self.objects[origin.file.index()].symbol(origin.symbol);
            entity.kernel = raw.other & raw::STO_ENTRY != 0;
            match entity.definition {
                Some(old) => self.symbols.replaced.push((id, old)),
                None => entity.named = origin.file,
            }
        }
        entity.definition = Some(origin);
        self.accept(origin);
    }

    /// The first static symbol with the name of this one.
    fn earlier_static(&self, origin: Origin) -> Option<EntityId> {
        let object = self.objects[origin.file.index()];
        let (name, hash) = (object.names[origin.symbol as usize], object.hashes[origin.symbol as usize]);
        self.statics.get(hash, |id| self.symbols.entities[id.index()].name == name)
    }

    fn accept(&mut self, origin: Origin) {
        self.symbols.bound[self.start + origin.symbol as usize].0 |= Bound::ACCEPTED;
    }

    /// `first` names the same thing as `id`, except where an image meets a local symbol.
    fn multiple(&mut self, id: EntityId, new: Origin, first: EntityId) {
        self.said.push(Message::MultipleDefinition {
            symbol: self.symbols.entities[id.index()].name.into(),
            file: (&self.objects[new.file.index()].name).into(),
            first: self.first_file(first).into(),
        });
    }

    /// The file that messages name as the first one.
    fn first_file(&self, id: EntityId) -> &[u8] {
        let entity = &self.symbols.entities[id.index()];
        if self.raw(entity.first).is_image() { NO_FILE } else { &self.objects[entity.named.index()].name }
    }

    fn is_image(&self, id: EntityId) -> bool {
        self.raw(self.symbols.entities[id.index()].first).is_image()
    }

    fn function_meets_image(&mut self, id: EntityId, origin: Origin, raw: &Symbol) {
        let name = self.symbols.entities[id.index()].name;
        if raw.other & raw::STO_ENTRY == 0 {
            self.function_is_image = true;
        } else {
            self.said.push(not_global(name));
        }
        self.said.push(Message::MemorySpaceMismatch {
            symbol: name.into(),
            file: (&self.objects[origin.file.index()].name).into(),
            first: NO_FILE.into(),
        });
    }

    /// A texture, sampler or surface. Its name must not be that of anything else, not even of a local
    /// symbol of an earlier object. Those that are parameters of kernels are local: all of one name are one, and none is one of the
    /// module (core/texture-parameters).
    fn image(&mut self, origin: Origin, raw: &Symbol) {
        let is_parameter = raw.bind() == raw::STB_LOCAL;
        let earlier = self.earlier_static(origin);
        let global = self.earlier_global(origin);
        let Some(found) = [earlier, global].into_iter().flatten().min_by_key(|id| id.index()) else {
            self.enter(origin, raw);
            return;
        };
        let first = &self.symbols.entities[found.index()];
        let is_same = self.raw(first.first).kind() == raw.kind() && first.local == is_parameter;
        if is_same {
            self.symbols.bound[self.start + origin.symbol as usize].bind(found);
        } else {
            let (id, _) = self.enter(origin, raw);
            self.multiple(id, origin, found);
        }
    }

    /// What has this name among the global symbols read so far.
    fn earlier_global(&self, origin: Origin) -> Option<EntityId> {
        let object = self.objects[origin.file.index()];
        let (name, hash) = (object.names[origin.symbol as usize], object.hashes[origin.symbol as usize]);
        self.index.get(hash, |id| self.symbols.entities[id.index()].name == name)
    }

    /// Whether a weak copy of a function takes the place of another one: it needs fewer registers or, with as many, was compiled
    /// for a newer virtual architecture than the first copy of all, whether or not that one is still there
    /// (core/weak-newest-virtual).
    fn is_better(&mut self, id: EntityId, new: Origin, old: Origin) -> bool {
        let (own, other) = (self.register_count(new), self.register_count(old));
        let first = self.symbols.entities[id.index()].named;
        let virtual_sm = |file: FileId| notes::virtual_sm(self.objects[file.index()], &self.release);
        own < other || own == other && virtual_sm(new.file) > virtual_sm(first)
    }

    /// Registers of a function: from the header of its code or, from sm_90 on, where that has none, from
    /// the attributes, which releases before 13.0 do not look at.
    fn register_count(&mut self, origin: Origin) -> u32 {
        let object = self.objects[origin.file.index()];
        let in_header = object.section(u32::from(self.raw(origin).shndx.get())).info() >> 24;
        if in_header > 0 || !self.reads_attributes {
            return in_header;
        }
        let table = self.registers.entry(origin.file).or_insert_with(|| register_counts(object));
        table.binary_search_by_key(&origin.symbol, |(s, _)| *s).map_or(0, |at| table[at].1)
    }

    fn variable(&mut self, origin: Origin, raw: &Symbol) {
        if raw.bind() == raw::STB_LOCAL && raw.visibility() == 1 {
            return;
        }
        if raw.bind() == raw::STB_LOCAL && !raw.is_defined() {
            return;
        }
        if raw.is_image() {
            self.image(origin, raw);
            return;
        }
        let (id, new) = self.enter(origin, raw);
        if !new {
            self.check_agreement(id, origin, raw);
        }
        if !raw.is_defined() {
            return;
        }
        let old = self.symbols.entities[id.index()].definition;
        if raw.shndx.get() == raw::SHN_COMMON {
            self.tentative(id, origin, raw, old);
            return;
        }
        let Some(old) = old else {
            if !new && is_extern_shared(raw) && raw.bind() == raw::STB_GLOBAL {
                self.multiple(id, origin, id);
            }
            return self.define(id, origin);
        };
        let old_raw = self.raw(old);
        let has_second = self.symbols.entities[id.index()].has_second;
        if old_raw.shndx.get() == raw::SHN_COMMON {
            if has_second && raw.bind() == raw::STB_GLOBAL {
                self.multiple(id, origin, id);
            } else if has_second {
                // A strong definition was there; a weak one does not take its place.
            } else if self.initialised(origin) || self.replaces_without_value && raw.bind() == raw::STB_GLOBAL
            {
                if self.initialised(origin) {
                    self.check_common(id, raw);
                }
                let entity = &mut self.symbols.entities[id.index()];
                (entity.named, entity.sized) = (origin.file, Some(origin));
                self.define(id, origin);
            } else if raw.bind() == raw::STB_GLOBAL {
                // Its bytes are taken, and the name stays with the tentative definition.
                self.accept(origin);
                self.symbols.entities[id.index()].has_second = true;
            }
        } else if old_raw.bind() == raw::STB_WEAK && raw.bind() == raw::STB_GLOBAL {
            self.define(id, origin);
        } else if raw.bind() == raw::STB_GLOBAL {
            self.multiple(id, origin, id);
        }
    }

    /// A definition without a place. An initialised one takes its place; one that is not is taken for a
    /// second definition, up to 13.2 (core/commons-without-value).
    fn tentative(&mut self, id: EntityId, origin: Origin, raw: &Symbol, old: Option<Origin>) {
        let tentative = old.is_none_or(|old| self.raw(old).shndx.get() == raw::SHN_COMMON);
        if self.symbols.entities[id.index()].has_second {
            self.multiple(id, origin, id);
            return;
        }
        if raw.size.get() > self.common_size(id) {
            self.symbols.largest.insert(id, origin);
            if tentative {
                self.symbols.entities[id.index()].named = origin.file;
            }
        }
        let Some(old) = old else { return self.define(id, origin) };
        let old_raw = self.raw(old);
        if old_raw.shndx.get() == raw::SHN_COMMON {
            return;
        }
        if self.initialised(old) {
            self.check_common(id, old_raw);
        } else if self.replaces_without_value {
            // The sizes were compared before.
        } else if old_raw.bind() == raw::STB_GLOBAL {
            self.multiple(id, origin, id);
        } else {
            self.symbols.entities[id.index()].named = origin.file;
            self.define(id, origin);
        }
    }

    fn common_size(&self, id: EntityId) -> u64 {
        self.symbols.largest.get(&id).map_or(0, |largest| self.raw(*largest).size.get())
    }

    fn check_common(&mut self, id: EntityId, definition: &Symbol) {
        if let Some(largest) = self.symbols.largest.get(&id)
            && definition.size.get() < self.raw(*largest).size.get()
        {
            self.said.push(Message::CommonTooLarge {
                symbol: self.symbols.entities[id.index()].name.into(),
                file: (&self.objects[largest.file.index()].name).into(),
            });
        }
    }

    fn initialised(&self, origin: Origin) -> bool {
        let shndx = self.raw(origin).shndx.get();
        shndx != raw::SHN_COMMON
            && self.objects[origin.file.index()].role(u32::from(shndx)) == Role::GlobalInit
    }

    /// What messages about two mentions say: the name, the file of this one and that of the first.
    fn two_mentions(&self, id: EntityId, origin: Origin) -> (Text, Text, Text) {
        let file = &self.objects[origin.file.index()].name;
        (self.symbols.entities[id.index()].name.into(), file.into(), self.first_file(id).into())
    }

    /// Two mentions of a variable must agree in size and memory space.
    fn check_agreement(&mut self, id: EntityId, origin: Origin, raw: &Symbol) {
        let Entity { definition, first, has_second, sized, .. } = self.symbols.entities[id.index()];
        let other = definition.unwrap_or(first);
        let old = self.raw(other);
        let (object, old_object) = (self.objects[origin.file.index()], self.objects[other.file.index()]);
        if space(object, raw) != space(old_object, old) {
            let (symbol, file, first) = self.two_mentions(id, origin);
            self.said.push(Message::MemorySpaceMismatch { symbol, file, first });
        }
        if (raw.other ^ old.other) & raw::STO_MANAGED != 0 {
            let (symbol, file, first) = self.two_mentions(id, origin);
            self.said.push(Message::ManagedMismatch { symbol, file, first });
        }
        let common = |s: &Symbol| s.shndx.get() == raw::SHN_COMMON;
        let may_differ = !has_second
            && ((common(raw) && (common(old) || self.initialised(other)))
                || (common(old) && raw.is_defined() && self.initialised(origin)));
        // The size is the largest tentative one, or the first one said.
        let sized = sized.map_or(0, |sized| self.raw(sized).size.get());
        let old_size = if common(old) { self.common_size(id) } else { sized };
        let size = raw.size.get();
        if size != 0 && old_size != 0 && size != old_size && !may_differ {
            if self.replaces_without_value && common(old) && raw.is_defined() {
                self.check_common(id, raw);
            }
            let (symbol, file, first) = self.two_mentions(id, origin);
            self.said.push(Message::SizeMismatch { symbol, file, first });
        }
    }
}

/// An extern shared array that a relocatable link took for a definition, as nvlink does with each.
pub fn is_extern_shared(raw: &Symbol) -> bool {
    raw.other & 0xe0 == raw::STO_SHARED && raw.size.get() == 0
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Space {
    Global,
    Constant,
    Shared,
    Other,
}

/// The memory space of a variable: by its storage class, else by its section.
fn space(object: &Object<'_>, raw: &Symbol) -> Space {
    if raw.is_defined() && raw.shndx.get() != raw::SHN_COMMON {
        return match object.role(u32::from(raw.shndx.get())) {
            Role::Global | Role::GlobalInit | Role::UnifiedData => Space::Global,
            Role::Constant | Role::KernelConstant | Role::FunctionConstant => Space::Constant,
            Role::FileShared | Role::KernelShared => Space::Shared,
            _ => Space::Other,
        };
    }
    match raw.other & 0xe0 {
        raw::STO_SHARED => Space::Shared,
        raw::STO_CONSTANT => Space::Constant,
        raw::STO_GLOBAL => Space::Global,
        _ if raw.shndx.get() == raw::SHN_COMMON => Space::Global,
        _ => Space::Other,
    }
}

fn check_api_version(object: &Object<'_>, allowed: u32, sink: &Sink) {
    let all = object.sections_with(Role::FunctionInfo).flat_map(|s| info::records(s.data).flatten());
    for version in all.filter(|r| r.attr == attr::CUDA_API_VERSION).filter_map(|r| r.word(0)) {
        if version > allowed {
            sink.report(Message::ApiVersion { file: (&object.name).into(), version, allowed });
        }
    }
}

/// The register count records of an object, by symbol index.
fn register_counts(object: &Object<'_>) -> Vec<(u32, u32)> {
    let Some(section) = object.first(Role::Info) else { return Vec::new() };
    let mut counts: Vec<_> = info::records(section.data)
        .flatten()
        .filter(|r| r.attr == attr::REGCOUNT)
        .filter_map(|r| Some((r.word(0)?, r.word(4)?)))
        .collect();
    counts.sort_by_key(|(symbol, _)| *symbol);
    counts
}

/// nvlink demangles names in this message, and in no other (core/messages-demangled).
fn not_global(name: &BStr) -> Message {
    Message::NotGlobalEverywhere { symbol: Demangled(name.into()) }
}

/// A prototype without its calling convention, which for functions of the system is not the same in all toolkits
/// (`#ill|12p4r20s…`).
fn without_convention(prototype: &[u8]) -> &[u8] {
    prototype.split(|&byte| byte == b'|').next().unwrap_or(prototype)
}
