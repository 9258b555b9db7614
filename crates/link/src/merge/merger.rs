//! What the merge keeps while it works.

use super::equal::EqualConstants;
use super::names::Naming;
use super::reading::Unread;
use super::settings::Settings;
use crate::diagnostics::Sink;
use crate::gc::Live;
use crate::model::calls::Calls;
use crate::model::graph::CallGraph;
use crate::model::ids::{EntityId, FileId, SectionId, SymbolId};
use crate::model::merged::{Kind, Merged, OutputNames, Reloc, WellKnown};
use crate::model::object::{Object, Role};
use crate::model::symbols::{Origin, Symbols};
use crate::pool::Pool;
use crate::prefault::Prefaulted;
use bstr::{BStr, BString};
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use solder_cubin::Section;
use solder_cubin::frames::Frame;
use solder_cubin::raw::Rela;
use solder_cubin::strings::StringTables;
use std::collections::BTreeMap;
use std::ops::Range;

/// Merges files, one after the other.
pub(super) struct Merger<'a, 'data> {
    pub(super) settings: Settings<'data>,
    pub(super) objects: &'a [Object<'data>],
    pub(super) symbols: &'a Symbols<'data>,
    pub(super) live: &'a Live,
    pub(super) sink: &'a Sink<'a>,
    pub(super) pool: &'a Pool,
    pub(super) out: Merged<'data>,
    /// The output symbol of each entity.
    pub(super) symbol_of: Vec<Option<SymbolId>>,
    /// Sections that inputs share by name: constants, data, debug information.
    pub(super) by_name: HashMap<&'data BStr, SectionId, foldhash::fast::FixedState>,
    pub(super) constants: ConstantState<'data>,
    /// The shared memory of kernels: nvlink finds it by name.
    pub(super) shared_by_kernel: HashMap<&'data BStr, SectionId, foldhash::fast::FixedState>,
    /// Removed functions with a copy that was replaced and whose code had relocations.
    pub(super) replaced_with_relocations: HashSet<EntityId, foldhash::fast::FixedState>,
    /// `.nv.resolvedrela*`, by the name of what it is for.
    pub(super) resolved_by_name: HashMap<BString, SectionId, foldhash::fast::FixedState>,
    pub(super) naming: Naming,
    /// What code refers to, by entity; read where shared variables keep their symbols.
    pub(super) referenced: Vec<bool>,
    /// Tentative definitions in the order in which they became such.
    pub(super) commons: Vec<SymbolId>,
    pub(super) unread: Unread<'data>,
    /// Some function was replaced by another copy of it.
    pub(super) has_replaced: bool,
    pub(super) room: Room,
    pub(super) clock: u32,
    /// Some symbol is that of a shared variable.
    pub(super) has_shared_symbols: bool,
    /// How many output symbols the files before the current one made.
    pub(super) symbols_before_file: usize,
    pub(super) mercury: MercuryState<'data>,
}

impl<'a, 'data> Merger<'a, 'data> {
    /// Before the first file.
    pub(super) fn new(
        settings: Settings<'data>,
        objects: &'a [Object<'data>],
        symbols: &'a Symbols<'data>,
        live: &'a Live,
        pool: &'a Pool,
        sink: &'a Sink<'a>,
    ) -> Self {
        // More than will be needed, mostly; what is not used is never touched.
        let count = |of: fn(&Object<'_>) -> usize| objects.iter().map(of).sum();
        let strings: usize = count(|object| object.cubin.strings.size());
        Self {
            settings,
            objects,
            symbols,
            live,
            sink,
            pool,
            out: Merged {
                // Kernels may get one for shared memory that they do not have.
                sections: Vec::with_capacity(
                    count(|object| object.cubin.sections.len()) + symbols.functions.len(),
                ),
                symbols: Vec::with_capacity(count(|object| object.cubin.symbols.len())),
                functions: Vec::with_capacity(symbols.entities.len()),
                function_of: vec![None; symbols.entities.len()],
                shared: Vec::new(),
                constants: Vec::new(),
                labels: HashMap::default(),
                null_value: 0,
                packed: false,
                common_shared: false,
                functions_removed: false,
                has_code_records: false,
                problems: Vec::new(),
                keeps_replaced_frames: settings.force_rela && settings.sm < 90 || !settings.forgets_copies,
                calls: Calls::new(0, &[], &CallGraph::default()),
                resolved: HashMap::default(),
                names: OutputNames {
                    tables: StringTables::with_room([1, 2].map(|times| times * strings)),
                    of_symbols: Vec::with_capacity(count(|object| object.cubin.symbols.len())),
                    of_prototypes: Vec::new(),
                },
                files: Vec::with_capacity(objects.len()),
                well_known: WellKnown::default(),
                limited: Vec::new(),
                file_shared_align: 1,
                removed: Vec::new(),
                dead_aliases: Vec::new(),
                references: Vec::new(),
                unplaced: Vec::new(),
                system_callers: Vec::new(),
                system_externs: HashMap::default(),
            },
            symbol_of: vec![None; symbols.entities.len()],
            by_name: HashMap::default(),
            constants: ConstantState::for_files(objects.len()),
            shared_by_kernel: HashMap::with_capacity_and_hasher(objects.len(), FixedState::default()),
            replaced_with_relocations: replaced_with_relocations(objects, symbols, live),
            resolved_by_name: HashMap::default(),
            naming: Naming::default(),
            referenced: Vec::new(),
            commons: Vec::new(),
            unread: Unread::default(),
            has_replaced: false,
            room: Room::default(),
            clock: 0,
            has_shared_symbols: false,
            symbols_before_file: 0,
            mercury: MercuryState::default(),
        }
    }
}

/// Removed functions with a copy that was replaced and whose code had relocations.
fn replaced_with_relocations(
    objects: &[Object<'_>],
    symbols: &Symbols<'_>,
    live: &Live,
) -> HashSet<EntityId, FixedState> {
    let has_relocations = |copy: &Origin| {
        let object = &objects[copy.file.index()];
        let text = u32::from(object.symbol(copy.symbol).shndx.get());
        object.sections_with(Role::Relocations).any(|section| section.info() == text)
    };
    let is_dead = |function: EntityId| !live.is_live(function);
    symbols
        .replaced
        .iter()
        .filter(|(function, copy)| is_dead(*function) && has_relocations(copy))
        .map(|(function, _)| *function)
        .collect()
}

/// What has been asked for of the sections and the symbols of the output.
#[derive(Debug, Default)]
pub(super) struct Room {
    pub(super) sections: Prefaulted,
    pub(super) symbols: Prefaulted,
}

impl Room {
    pub(super) fn next(&mut self, out: &Merged<'_>) -> [Range<usize>; 2] {
        [self.sections.next(&out.sections), self.symbols.next(&out.symbols)]
    }
}

/// The properties of a section to be created.
pub(super) struct New<'n> {
    pub(super) kind: Kind,
    pub(super) name: &'n [&'n [u8]],
    pub(super) sh_type: u32,
    pub(super) flags: u64,
    pub(super) align: u64,
    pub(super) entsize: u64,
}

/// What the merge remembers about constants.
#[derive(Default)]
pub(super) struct ConstantState<'data> {
    /// Those of functions: nvlink finds them by name, so that equal-named static kernels share a section.
    pub(super) by_name: HashMap<&'data BStr, SectionId, foldhash::fast::FixedState>,
    /// Those that go into the kernels, in `Merged::constants`, by function and bank.
    pub(super) gathered: HashMap<(u32, u8), u32, foldhash::fast::FixedState>,
    /// Those of the file being merged, by section.
    pub(super) placed: HashMap<u32, (ConstantPlace, u64), foldhash::fast::FixedState>,
    /// Where the symbols of each of its sections end.
    pub(super) ends: HashMap<u32, u64, foldhash::fast::FixedState>,
    /// The banks in which equal constants are merged.
    pub(super) banks: HashMap<SectionId, EqualConstants<'data>, foldhash::fast::FixedState>,
    /// Some were looked up there and not found: symbol 0 has the place of the last ones, and nothing else moves it.
    pub(super) null_is_taken: bool,
    /// Whether the output has the symbol that means the size of the program's constants.
    pub(super) has_size_symbol: bool,
}

impl ConstantState<'_> {
    pub(super) fn for_files(files: usize) -> Self {
        let by_name = HashMap::with_capacity_and_hasher(files, foldhash::fast::FixedState::default());
        Self { by_name, ..Self::default() }
    }

    pub(super) fn begin_file(&mut self) {
        self.placed.clear();
        self.ends.clear();
    }
}

/// Where the constants of a function are gathered.
#[derive(Clone, Copy, Debug)]
pub(super) enum ConstantPlace {
    /// A section of the output.
    Section(SectionId),
    /// `Merged::constants`, for a device function.
    Function(u32),
}

/// What the merge remembers about the Mercury view.
#[derive(Debug, Default)]
pub(super) struct MercuryState<'data> {
    pub(super) frames: FrameTable<'data>,
    /// The units of line number tables.
    pub(super) lines: Vec<LineUnit<'data>>,
    /// The functions that register tables describe.
    pub(super) described: HashSet<&'data BStr, foldhash::fast::FixedState>,
    /// Those of the last table that are cleared in it.
    pub(super) cleared: HashSet<&'data BStr, foldhash::fast::FixedState>,
    /// The parameters of kernels, by text section.
    pub(super) kernel_constants: BTreeMap<SectionId, Section<'data>>,
    /// The twins of device functions' constants in the file being merged: section, index into
    /// `Merged::constants`, offset there.
    pub(super) function_twins: Vec<(u32, u32, u64)>,
    /// How many symbols in such constants it had so far.
    pub(super) constant_symbols: u32,
    /// The variables in the shared memory that the system uses.
    pub(super) reserved: Vec<Reserved>,
}

/// A variable in the shared memory that the system uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reserved {
    pub(super) symbol: SymbolId,
    pub(super) section: SectionId,
    pub(super) size: u64,
    pub(super) align: u64,
}

impl MercuryState<'_> {
    pub(super) fn begin_file(&mut self) {
        self.function_twins.clear();
        self.constant_symbols = 0;
    }

    pub(super) fn is_line_table(&self, section: SectionId) -> bool {
        self.lines.iter().any(|unit| unit.section() == section)
    }
}

/// The frames of the inputs, until it is known which of them stay.
#[derive(Debug, Default)]
pub(super) struct FrameTable<'data> {
    /// Those of the machine code, by function.
    pub(super) code: HashMap<Origin, Frame<'data>, foldhash::fast::FixedState>,
    /// Those of Mercury in the order of its section, and where they lie there.
    pub(super) mercury: Vec<(u64, Frame<'data>)>,
    pub(super) section: Option<SectionId>,
}

/// A unit of an input.
#[derive(Debug)]
pub(super) struct LineUnit<'data> {
    pub(super) section: SectionId,
    /// Where it lay if all units stayed whole.
    pub(super) at: u64,
    pub(super) header: &'data [u8],
    pub(super) file: FileId,
    /// The section of the input, and which unit of it this is.
    pub(super) input: (u32, usize),
    /// Places in the header that only Mercury's has relocations for: where the names of inlined functions lie.
    pub(super) names: Vec<Rela>,
    /// The sequences of functions that stay, with relocations relative to them.
    pub(super) sequences: Vec<(&'data [u8], Vec<Reloc>)>,
}

impl LineUnit<'_> {
    pub(super) fn section(&self) -> SectionId {
        self.section
    }
}
