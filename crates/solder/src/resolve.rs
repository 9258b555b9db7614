//! Binds the symbols of all inputs: which definition of a name counts, and what is wrong.
//!
//! Objects are taken in link order, in each the functions first, then the variables, as nvlink does;
//! the order shows in its messages. An object with errors is read to its end, then the link stops.

use crate::diagnostics::{Message, Sink, Stop};
use crate::ids::{EntityId, FileId};
use crate::object::{Object, Role};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use solder_cubin::info::{self, attr};
use solder_cubin::raw::{self, Symbol};
use std::hash::BuildHasher;

/// A symbol of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    pub file: FileId,
    pub symbol: u32,
}

/// A thing that symbols name.
#[derive(Clone, Debug)]
pub struct Entity<'data> {
    pub name: &'data str,
    pub local: bool,
    pub function: bool,
    /// The definition that counts in the end.
    pub definition: Option<Origin>,
    /// The first mention.
    pub first: Origin,
    /// The largest size of the tentative definitions (`.common`).
    pub common_size: u64,
}

/// The symbols of the link.
#[derive(Debug)]
pub struct Symbols<'data> {
    pub entities: Vec<Entity<'data>>,
    /// The entity of each symbol of each file; `None` for section symbols and the like.
    of: Vec<Vec<Option<EntityId>>>,
    /// Definitions that were taken when their object was read, also if a later, better one replaced
    /// them: the call graph edges of such functions count.
    accepted: Vec<Vec<bool>>,
}

impl Symbols<'_> {
    pub fn entity(&self, file: FileId, symbol: u32) -> Option<EntityId> {
        self.of[file.index()][symbol as usize]
    }

    pub fn get(&self, id: EntityId) -> &Entity<'_> {
        &self.entities[id.index()]
    }

    pub fn accepted(&self, file: FileId, symbol: u32) -> bool {
        self.accepted[file.index()][symbol as usize]
    }

    /// Whether this symbol is the definition that counts.
    pub fn is_definition(&self, file: FileId, symbol: u32) -> bool {
        self.entity(file, symbol)
            .is_some_and(|id| self.entities[id.index()].definition == Some(Origin { file, symbol }))
    }
}

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

struct Resolver<'a, 'data> {
    objects: &'a [Object<'data>],
    sink: &'a Sink,
    index: HashTable<EntityId>,
    state: FixedState,
    symbols: Symbols<'data>,
    /// Register counts of each file's functions, read when two copies of a weak function meet.
    registers: Vec<Option<Vec<(u32, u32)>>>,
}

pub fn resolve<'data>(objects: &[Object<'data>], sink: &Sink) -> Result<Symbols<'data>, Stop> {
    let symbols = Symbols {
        entities: Vec::new(),
        of: objects.iter().map(|o| vec![None; o.cubin.symbols.len()]).collect(),
        accepted: objects.iter().map(|o| vec![false; o.cubin.symbols.len()]).collect(),
    };
    let mut resolver = Resolver {
        objects,
        sink,
        index: HashTable::new(),
        state: FixedState::with_seed(0),
        symbols,
        registers: vec![None; objects.len()],
    };
    for file in 0..objects.len() {
        resolver.read(FileId::at(file));
        if sink.errors() > 0 {
            return Err(sink.fatal(Message::MergeFailed));
        }
    }
    Ok(resolver.symbols)
}

impl<'data> Resolver<'_, 'data> {
    fn read(&mut self, file: FileId) {
        let object = &self.objects[file.index()];
        for (symbol, raw) in object.symbols() {
            if raw.kind() == raw::STT_FUNC {
                self.function(Origin { file, symbol }, raw);
            }
        }
        for (symbol, raw) in object.symbols() {
            if raw.kind() != raw::STT_FUNC && names_a_thing(raw) {
                self.variable(Origin { file, symbol }, raw);
            }
        }
    }

    fn raw(&self, origin: Origin) -> &'data Symbol {
        self.objects[origin.file.index()].symbol(origin.symbol)
    }

    /// The entity that a symbol names, and whether it is new.
    fn enter(&mut self, origin: Origin, raw: &Symbol) -> (EntityId, bool) {
        let name = self.objects[origin.file.index()].names[origin.symbol as usize];
        let local = raw.bind() == raw::STB_LOCAL;
        let fresh = EntityId::at(self.symbols.entities.len());
        let id = if local {
            fresh
        } else {
            let hash = self.state.hash_one(name);
            let entities = &self.symbols.entities;
            let state = &self.state;
            *self
                .index
                .entry(
                    hash,
                    |e| entities[e.index()].name == name,
                    |e| state.hash_one(entities[e.index()].name),
                )
                .or_insert(fresh)
                .get()
        };
        if id == fresh {
            let function = raw.kind() == raw::STT_FUNC;
            let entity = Entity { name, local, function, definition: None, first: origin, common_size: 0 };
            self.symbols.entities.push(entity);
        }
        self.symbols.of[origin.file.index()][origin.symbol as usize] = Some(id);
        (id, id == fresh)
    }

    fn function(&mut self, origin: Origin, raw: &Symbol) {
        let (id, _) = self.enter(origin, raw);
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
                    if self.register_count(origin) < self.register_count(old) {
                        self.define(id, origin);
                    }
                } else if new_bind == raw::STB_GLOBAL {
                    self.multiple(id, origin, old);
                }
            }
        }
    }

    fn define(&mut self, id: EntityId, origin: Origin) {
        self.symbols.entities[id.index()].definition = Some(origin);
        self.accept(origin);
    }

    fn accept(&mut self, origin: Origin) {
        self.symbols.accepted[origin.file.index()][origin.symbol as usize] = true;
    }

    fn multiple(&self, id: EntityId, new: Origin, old: Origin) {
        self.sink.report(Message::MultipleDefinition {
            symbol: self.symbols.entities[id.index()].name.into(),
            file: self.objects[new.file.index()].name.as_str().into(),
            first: self.objects[old.file.index()].name.as_str().into(),
        });
    }

    fn register_count(&mut self, origin: Origin) -> u32 {
        let object = &self.objects[origin.file.index()];
        let table = self.registers[origin.file.index()].get_or_insert_with(|| register_counts(object));
        table.binary_search_by_key(&origin.symbol, |(s, _)| *s).map_or(0, |at| table[at].1)
    }

    fn variable(&mut self, origin: Origin, raw: &Symbol) {
        if raw.bind() == raw::STB_LOCAL && raw.visibility() == 1 {
            return;
        }
        if raw.bind() == raw::STB_LOCAL && !raw.is_defined() {
            return;
        }
        let (id, new) = self.enter(origin, raw);
        if !new {
            self.check_agreement(id, origin, raw);
        }
        if !raw.is_defined() {
            return;
        }
        if raw.shndx.get() == raw::SHN_COMMON {
            self.tentative(id, origin, raw);
            return;
        }
        match self.symbols.entities[id.index()].definition {
            None => self.define(id, origin),
            Some(old) => {
                let old_raw = self.raw(old);
                let (old_bind, new_bind) = (old_raw.bind(), raw.bind());
                if old_raw.shndx.get() == raw::SHN_COMMON
                    || (old_bind == raw::STB_WEAK && new_bind == raw::STB_GLOBAL)
                {
                    self.define(id, origin);
                } else if new_bind == raw::STB_GLOBAL && !self.shared(old) {
                    self.multiple(id, origin, old);
                }
            }
        }
    }

    fn tentative(&mut self, id: EntityId, origin: Origin, raw: &Symbol) {
        let entity = &mut self.symbols.entities[id.index()];
        entity.common_size = entity.common_size.max(raw.size.get());
        if entity.definition.is_none() {
            self.define(id, origin);
        }
    }

    fn shared(&self, origin: Origin) -> bool {
        space(&self.objects[origin.file.index()], self.raw(origin)) == Space::Shared
    }

    /// Two mentions of a variable must agree in size and memory space.
    fn check_agreement(&self, id: EntityId, origin: Origin, raw: &Symbol) {
        let entity = &self.symbols.entities[id.index()];
        let other = entity.definition.unwrap_or(entity.first);
        let old = self.raw(other);
        let names = || {
            (
                entity.name.into(),
                self.objects[origin.file.index()].name.as_str().into(),
                self.objects[entity.first.file.index()].name.as_str().into(),
            )
        };
        let (object, old_object) = (&self.objects[origin.file.index()], &self.objects[other.file.index()]);
        if space(object, raw) != space(old_object, old) {
            let (symbol, file, first) = names();
            self.sink.report(Message::MemorySpaceMismatch { symbol, file, first });
        }
        let (size, old_size) = (raw.size.get(), old.size.get());
        let common = raw.shndx.get() == raw::SHN_COMMON || old.shndx.get() == raw::SHN_COMMON;
        if size != 0 && old_size != 0 && size != old_size && !common {
            let (symbol, file, first) = names();
            self.sink.report(Message::SizeMismatch { symbol, file, first });
        }
    }
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
            Role::Global | Role::GlobalInit => Space::Global,
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
