//! The image on its way: the results of the phases that it is made from, and the numbers of its sections and symbols.

use crate::model::graph::{Adjacency, CallGraph};
use crate::model::ids::{EntityId, PrototypeId, Rare, SectionId, SymbolId};
use crate::model::mercury;
use crate::model::merged::{Function, Merged, OutputSection};
use crate::options::Options;
use crate::pool::Pool;
use crate::relocate::Relocated;
use crate::resources::Resources;
use crate::shared::SharedLayout;
use crate::textures::Textures;
use crate::view::View;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use solder_arch::{Arch, Release};
use solder_cubin::raw;

/// The null section and the tables of names and symbols, which come before all others.
const TABLES: usize = 4;

/// The results of the earlier phases that the image is made from.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a, 'data> {
    pub merged: &'a Merged<'data>,
    pub resources: &'a Resources<'data>,
    pub shared: &'a SharedLayout,
    pub textures: &'a Textures,
    pub relocated: &'a Relocated,
    pub notes: &'a Notes,
    pub release: &'a Release,
    pub target: Arch,
    pub sm: u16,
    pub relocatable: bool,
    /// Debug information stays, and code is left as it was compiled.
    pub debug: bool,
    pub pool: &'a Pool,
}

impl<'a, 'data> Parts<'a, 'data> {
    /// From the results of the phases.
    pub(crate) fn new(
        view: View<'a, 'data>,
        relocated: &'a Relocated,
        notes: &'a Notes,
        options: &Options<'a>,
        pool: &'a Pool,
    ) -> Self {
        let View { merged, resources, shared, textures, .. } = view;
        let (sm, relocatable) = (options.sm(), options.relocatable);
        let (release, target) = (options.release, options.target.arch);
        let debug = options.keeps_shared_symbols();
        Self {
            merged,
            resources,
            shared,
            textures,
            relocated,
            notes,
            release,
            target,
            sm,
            relocatable,
            debug,
            pool,
        }
    }

    /// The code has a Mercury view, and the file the layout that goes with it.
    pub fn is_mercury(&self) -> bool {
        self.sm >= mercury::FROM
    }
}

/// The numbers of sections and symbols in the file.
#[derive(Debug)]
pub struct Numbers {
    /// Index of each output section; 0 for those left out.
    pub sections: Vec<u32>,
    /// Index of each output symbol; 0 for those left out.
    pub symbols: Vec<u32>,
    /// The sections in file order, after the three tables.
    pub section_order: Vec<SectionId>,
    /// The symbols in file order, after the null symbol.
    pub symbol_order: Vec<SymbolId>,
    pub first_global: u32,
    /// Index of `.nv.merc.symtab`, or 0.
    pub mercury_table: u32,
    /// How many symbols the Mercury view has: it lacks those after the globals.
    pub mercury_symbols: u32,
    /// Whether there are more sections than a symbol can name.
    pub indices: SectionIndices,
    /// The number that nvlink gave each section when it made it, those that it removed again counted. Empty where that
    /// does not show.
    pub created: Vec<u32>,
    /// The names of the symbols, where they are not those of the merge.
    pub new_names: Option<NewNames>,
}

/// Where symbols that cannot name their sections themselves do so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionIndices {
    /// There are none.
    None,
    /// In `.symtab_shndx`, which follows the symbol table.
    First,
    /// In `.symtab_shndx`, which nvlink adds when it makes the second view: without that, there are few sections.
    Late,
}

/// `.strtab`, made anew.
#[derive(Debug, Default)]
pub struct NewNames {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Where names are, by their offsets in the table of the merge.
    pub places: HashMap<u32, u32, FixedState>,
}

impl Numbers {
    /// How many sections come before `section_order`.
    pub fn tables(&self) -> usize {
        TABLES + usize::from(self.indices == SectionIndices::First)
    }
    pub fn section(&self, id: SectionId) -> u32 {
        self.sections[id.index()]
    }
    /// What a symbol of a section has in its entry.
    pub fn in_symbol(&self, section: SectionId) -> u16 {
        let number = self.section(section);
        if self.stands_in_symbol(number) { number as u16 } else { raw::SHN_XINDEX }
    }
    /// What it has in the table beside the symbol table: the number of the section, or, where the entry says that,
    /// the number that nvlink gave the section when it made it.
    fn beside_symbol(&self, merged: &Merged<'_>, section: SectionId) -> u32 {
        let number = self.section(section);
        if !self.stands_in_symbol(number) {
            return number;
        }
        match merged.section(section) {
            OutputSection { kind, of: Some(of), .. } if kind.is_of_mercury() => self.created_as(*of),
            _ => self.created_as(section),
        }
    }
    /// That table, of symbols in these sections.
    pub fn section_indices(
        &self,
        merged: &Merged<'_>,
        sections: impl Iterator<Item = Option<SectionId>>,
    ) -> Vec<u8> {
        let word = |section: Option<SectionId>| {
            section.map_or(0, |section| self.beside_symbol(merged, section)).to_le_bytes()
        };
        [0; 4].into_iter().chain(sections.flat_map(word)).collect()
    }
    fn created_as(&self, section: SectionId) -> u32 {
        self.created.get(section.index()).copied().unwrap_or(0)
    }
    /// Whether a symbol itself says its section. Without a Mercury view, nvlink takes section 0xfff2 for the mark of
    /// tentative definitions and leaves it there.
    fn stands_in_symbol(&self, number: u32) -> bool {
        if self.mercury_table != 0 {
            return number <= u32::from(raw::SHN_LORESERVE);
        }
        number < u32::from(raw::SHN_LORESERVE) || number == u32::from(raw::SHN_COMMON)
    }
    /// Where in `.strtab` a name is, from its offset in the table of the merge.
    pub fn name(&self, merged: u32) -> u32 {
        match &self.new_names {
            Some(names) => names.places.get(&merged).copied().unwrap_or(0),
            None => merged,
        }
    }
    pub fn symbol(&self, id: SymbolId) -> u32 {
        self.symbols[id.index()]
    }
}

/// The place of a section.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Where it begins; before that is known, what it is aligned to.
    pub offset: u64,
    pub size: u64,
    /// It has bytes of its own in the file.
    pub in_file: bool,
}

/// What the linker-made sections are written from, beside the merge.
#[derive(Debug)]
pub struct Notes {
    pub tool_note: Vec<u8>,
    pub cuda_note: Vec<u8>,
    pub compat: Vec<u8>,
    /// The lowest virtual architecture among the inputs.
    pub virtual_sm: u16,
    pub graph: GraphRecords,
}

/// Where the prototype of a function is that has none: at the empty string that every table begins with.
const NO_PROTOTYPE: u32 = 0;

/// The call graph of the output, over functions, in output order.
#[derive(Debug)]
pub struct GraphRecords {
    /// Callees of each function, last one read first.
    pub calls: Adjacency,
    /// Offset in `.strtab` of the prototype of each function whose address is taken.
    pub taken: Vec<Option<u32>>,
    /// Prototypes of the indirect calls of each function, last one first.
    pub indirect: Adjacency,
    /// Functions whose address each function takes, last one first.
    pub takes: Adjacency,
    /// Functions that have a prototype and whose address is not taken, and the offset of that. Those of removed functions have
    /// no function any more.
    pub prototypes: Vec<(Option<SymbolId>, u32)>,
}

impl GraphRecords {
    /// In a relocatable link, an edge that a replaced copy of a function had too is listed once: where it was read first.
    pub fn new(merged: &Merged<'_>, graph: &CallGraph<'_>, options: &Options<'_>) -> Self {
        let release = options.release;
        let count = merged.functions.len();
        let of = |entity: EntityId| merged.function_of[entity.index()];
        let edge = |(from, to): &(EntityId, EntityId)| Some((of(*from)?, of(*to)?));
        let name = |prototype: PrototypeId| merged.names.of_prototypes[prototype.index()];
        let site = |(from, prototype): &(EntityId, PrototypeId)| Some((of(*from)?, name(*prototype)));
        let is_listed = |(_, to): &(u32, u32)| {
            let to = merged.functions[*to as usize].symbol;
            release.lists_undefined_callees() || merged.symbol(to).is_defined()
        };
        let lists_all = release.lists_calls_by_prototype();
        let by_prototype = if lists_all { calls_by_prototype(merged, graph) } else { Vec::new() };
        let by_name = graph.calls.iter().rev().filter_map(edge);
        let mut calls = Adjacency::new(count, by_prototype.iter().copied().chain(by_name).filter(is_listed));
        if options.relocatable {
            let lists = (0..count as u32).map(|from| (from, last_of_equals(calls.of(from as usize))));
            let edges: Vec<_> =
                lists.flat_map(|(from, list)| list.into_iter().map(move |to| (from, to))).collect();
            calls = Adjacency::new(count, edges.iter().copied());
        }
        let prototype = |function: &Function, of: &Rare<PrototypeId>| of.get(function.entity).map(name);
        let untaken = |entity: EntityId| match graph.taken.get(entity) {
            Some(_) => None,
            None => graph.prototype_of.get(entity).map(name),
        };
        let mut removed = merged.dead_aliases.iter().peekable();
        let mut listed = Vec::new();
        for at in 0..=count as u32 {
            while let Some((_, alias)) = removed.next_if(|(before, _)| *before <= at) {
                listed.extend(untaken(*alias).map(|prototype| (None, prototype)));
            }
            let Some(function) = merged.functions.get(at as usize) else { continue };
            listed.extend(untaken(function.entity).map(|prototype| (Some(function.symbol), prototype)));
        }
        let mut taken: Vec<_> =
            merged.functions.iter().map(|function| prototype(function, &graph.taken)).collect();
        for function in graph.taken_order.iter().filter_map(|entity| of(*entity)) {
            taken[function as usize].get_or_insert(NO_PROTOTYPE);
        }
        Self {
            calls,
            taken,
            indirect: Adjacency::new(count, graph.indirect.iter().rev().filter_map(site)),
            takes: Adjacency::new(count, graph.takes.iter().rev().filter_map(edge)),
            prototypes: listed,
        }
    }
}

/// Calls by prototype as calls of all functions that have it and whose address is taken, the last function first.
fn calls_by_prototype(merged: &Merged<'_>, graph: &CallGraph<'_>) -> Vec<(u32, u32)> {
    let prototype =
        |(at, function): (usize, &Function)| Some((graph.taken.get(function.entity)?.number(), at as u32));
    let taken: Vec<_> = merged.functions.iter().enumerate().rev().filter_map(prototype).collect();
    let taken = Adjacency::new(graph.prototypes.len(), taken.iter().copied());
    let mut calls = Vec::new();
    for (from, prototype) in &graph.indirect {
        let Some(from) = merged.function_of[from.index()] else { continue };
        calls.extend(taken.of(prototype.index()).iter().map(|to| (from, *to)));
    }
    calls
}

/// All but the last of equal numbers.
fn last_of_equals(list: &[u32]) -> Vec<u32> {
    let mut seen: hashbrown::HashSet<u32, foldhash::fast::FixedState> = hashbrown::HashSet::default();
    let mut last: Vec<u32> = list.iter().rev().copied().filter(|number| seen.insert(*number)).collect();
    last.reverse();
    last
}
