//! The symbols of all inputs: which definition each name means.

use super::ids::{EntityId, FileId};
use super::object::Object;
use bstr::BStr;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// Symbols of the tables of unified functions and data, which the compiler mentions everywhere.
pub const UNIFIED_TABLES: &[&[u8]] = &[
    b"__UDT",
    b"__UDT_CANONICAL",
    b"__UDT_END",
    b"__UDT_OFFSET",
    b"__UFT",
    b"__UFT_CANONICAL",
    b"__UFT_END",
    b"__UFT_OFFSET",
];

/// How large the driver's descriptions of textures and surfaces are: it says so when it loads the image (core/sizes-of-descriptions).
pub const DESCRIPTION_SIZES: &[&[u8]] = &[b".nv.unified.texrefDescSize", b".nv.surfrefDescSize"];

/// A symbol of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The input.
    pub file: FileId,
    /// The index of the symbol.
    pub symbol: u32,
}

/// A thing that symbols name.
#[derive(Clone, Debug)]
pub struct Entity<'data> {
    /// Its name.
    pub name: &'data BStr,
    /// Other files cannot name it.
    pub local: bool,
    /// It is a function.
    pub function: bool,
    /// The definition that prevails is an entry function.
    pub kernel: bool,
    /// The definition that prevails in the end.
    pub definition: Option<Origin>,
    /// The first mention.
    pub first: Origin,
    /// A strong definition without initial value came after a tentative one, which prevails all the same.
    pub(crate) has_second: bool,
    /// The mention that says the size.
    pub(crate) sized: Option<Origin>,
    /// The file that messages call the first: the first one that defines a function or mentions a
    /// variable, except that tentative definitions, and what takes their place, count anew.
    pub(crate) named: FileId,
}

/// The symbols of the link.
#[derive(Debug)]
pub struct Symbols<'data> {
    /// The things that symbols name, in the order of their first mention.
    pub entities: Vec<Entity<'data>>,
    /// Those of them that are functions, in their order.
    pub functions: Vec<EntityId>,
    /// Where the symbols of each file begin among those of all.
    pub(crate) starts: Vec<usize>,
    pub(crate) bound: Vec<Bound>,
    /// Copies of functions that were taken when their object was read, and that a later one replaced.
    pub(crate) replaced: Vec<(EntityId, Origin)>,
    /// The largest of the tentative definitions (`.common`) of those that have any.
    pub(crate) largest: HashMap<EntityId, Origin, FixedState>,
}

/// What became of a symbol: the number of its entity, counted from 1, or 0 for section symbols and the like; and a mark
/// on definitions that were taken when their object was read, also if a later, better one replaced them: the call graph
/// edges of such functions count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bound(pub(crate) u32);

impl Bound {
    pub(crate) const ACCEPTED: u32 = 1 << 31;

    pub(crate) fn entity(self) -> Option<EntityId> {
        (self.0 & !Self::ACCEPTED).checked_sub(1).map(|number| EntityId::at(number as usize))
    }

    pub(crate) fn bind(&mut self, entity: EntityId) {
        self.0 = self.0 & Self::ACCEPTED | (entity.number() + 1);
    }
}

impl Symbols<'_> {
    pub(crate) fn at(&self, file: FileId, symbol: u32) -> usize {
        self.starts[file.index()] + symbol as usize
    }

    /// What a symbol of a file names.
    pub fn entity(&self, file: FileId, symbol: u32) -> Option<EntityId> {
        self.bound[self.at(file, symbol)].entity()
    }

    /// The thing with this id.
    pub fn get(&self, id: EntityId) -> &Entity<'_> {
        &self.entities[id.index()]
    }

    /// Whether this symbol is the definition that prevails.
    pub fn is_definition(&self, file: FileId, symbol: u32) -> bool {
        let entity = self.entity(file, symbol);
        entity.is_some_and(|id| self.get(id).definition == Some(Origin { file, symbol }))
    }

    /// Whether a symbol was the definition that applied when its file was read.
    pub fn accepted(&self, file: FileId, symbol: u32) -> bool {
        self.bound[self.at(file, symbol)].0 & Bound::ACCEPTED != 0
    }

    /// The size of the largest tentative definition.
    pub fn common_size(&self, objects: &[Object<'_>], id: EntityId) -> u64 {
        let size = |largest: &Origin| objects[largest.file.index()].symbol(largest.symbol).size.get();
        self.largest.get(&id).map_or(0, size)
    }
}
