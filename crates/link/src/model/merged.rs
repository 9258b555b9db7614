//! The output as the merge builds it: sections and symbols in the order of their creation, which
//! decides the order of everything in the file.

use crate::model::calls::Calls;
use crate::model::ids::{ConstantId, EntityId, FileId, SectionId, SymbolId};
use crate::model::symbols::Origin;
use crate::pool::Pool;
use bstr::BStr;
use hashbrown::HashMap;
use solder_cubin::strings::{StringTables, Table};
use solder_cubin::{Section, raw};
use std::num::NonZeroU32;
use std::ops::Range;

/// What an output section is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `.note.nv.tkinfo`
    ToolNote,
    /// `.note.nv.cuinfo`
    CudaNote,
    /// A note of inputs that the release does not read, with its `sh_link` in the first of them.
    KeptNote(u16),
    /// `.nv.info`
    Info,
    /// `.nv.compat`
    Compat,
    /// The bytes of `--nv-host`.
    Host,
    /// `.text.F`
    Text,
    /// `.nv.info.F`
    FunctionInfo,
    /// `.nv.shared.K`
    KernelShared,
    /// `.nv.constant0.K`
    KernelConstant,
    /// The same for kernels without textures in files with a Mercury view, which does not have it.
    LateKernelConstant,
    /// `.nv.constantN.K`, N > 0: what the compiler made for a kernel and all it reaches.
    FunctionConstant(u8),
    /// `.nv.constantN`, N > 0, of the whole module.
    Constant(u8),
    /// `.nv.global`
    Global,
    /// `.nv.global.init`
    GlobalInit,
    /// `.nv_debug.shared`
    FileShared,
    /// `.nv.shared.reserved.0`
    ReservedShared,
    /// Debug information.
    Debug,
    /// `.rel.*` and `.rela.*`
    Relocations,
    /// The relocations that the link resolved, kept by `-preserve-relocs`.
    Resolved,
    /// `.nv.callgraph`
    CallGraph,
    /// `.nv.prototype`
    Prototype,
    /// `.nv.rel.action`
    RelAction,
    /// `.nv.capmerc.text.F`, the Mercury twin of a text section.
    Capsule,
    /// The other twins: debug information, attributes, relocations.
    MercuryDebug,
    /// The twin of attributes.
    MercuryInfo,
    /// `.nv.merc.nv.host`
    MercuryHost,
    /// `.nv.merc.nv.callgraph`, from 13.4 on.
    MercuryCallGraph,
    /// `.nv.merc.nv.prototype`, from 13.4 on.
    MercuryPrototype,
    /// The twin of relocations.
    MercuryRelocations,
    /// The twin of relocations that the link resolves.
    MercuryResolved,
    /// Twins of constants and data.
    MercuryConstant,
    /// The twin of `.nv.global.init`.
    MercuryGlobalInit,
    /// The twin of shared memory that the system uses.
    MercuryReservedShared,
    /// `.nv.merc.symtab`
    MercurySymbols,
    /// `.nv.merc.symtab_shndx`, where there are more sections than a symbol can name.
    MercurySectionIndices,
    /// `.symtab_shndx`, where only the sections of both views together are too many.
    LateSectionIndices,
    /// `.rela.text.F` of a function whose only relocations are calls of functions of the system.
    LateRelocations,
}

impl Kind {
    /// Part of the Mercury view alone.
    pub fn is_of_mercury(self) -> bool {
        matches!(
            self,
            Self::Capsule
                | Self::MercuryDebug
                | Self::MercuryInfo
                | Self::MercuryHost
                | Self::MercuryCallGraph
                | Self::MercuryPrototype
                | Self::MercuryRelocations
                | Self::MercuryResolved
                | Self::MercuryConstant
                | Self::MercuryGlobalInit
                | Self::MercuryReservedShared
                | Self::MercurySymbols
                | Self::MercurySectionIndices
        )
    }
}

/// Bytes of an input at an offset of the output section.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'data> {
    /// Where they are in the section.
    pub offset: u64,
    /// The bytes.
    pub data: &'data [u8],
}

/// A relocation on its way to the output, in reading order.
#[derive(Clone, Copy, Debug)]
pub struct Reloc {
    /// Where it applies.
    pub offset: u64,
    /// What it refers to.
    pub target: RelocTarget,
    /// Its type.
    pub r_type: u32,
    /// Its addend.
    pub addend: i64,
    /// The file that it came from.
    pub file: FileId,
}

/// What a relocation refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelocTarget {
    /// A symbol of the output.
    Symbol(SymbolId),
    /// Symbol 0.
    Nothing,
    /// A function that was removed.
    Dead,
    /// The size of the program's constants.
    ConstantsSize,
    /// A shared variable of a kernel that was removed.
    Nowhere,
}

/// The value of an attribute record.
#[derive(Clone, Debug)]
pub enum InfoValue<'data> {
    /// A symbol and a word.
    Symbol(SymbolId, u32),
    /// A symbol and what follows it.
    Operand(SymbolId, &'data [u8]),
    /// The section symbol of the kernel's parameters and a word.
    Parameters(u32),
    /// A list of symbols (EXTERNS).
    Symbols(Box<[SymbolId]>),
    /// Bytes of the input.
    Bytes(&'data [u8]),
    /// Bytes that differ from view to view: those of the Mercury view, those of the machine code's.
    Views(Box<[&'data [u8]; 2]>),
    /// Bytes that were changed.
    Owned(Box<[u8]>),
}

impl InfoValue<'_> {
    /// The bytes in the machine code's view, unless the value is made of symbols.
    pub fn code_bytes(&self) -> &[u8] {
        match self {
            Self::Views(views) => views[1],
            _ => self.bytes(),
        }
    }

    /// The bytes in the view that leads, unless the value is made of symbols.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Views(views) => views[0],
            Self::Owned(bytes) => bytes,
            _ => &[],
        }
    }
}

/// An attribute record on its way to the output.
#[derive(Clone, Debug)]
pub struct InfoRecord<'data> {
    /// The format of the record.
    pub format: u8,
    /// Which attribute it is.
    pub attr: u8,
    /// Its value.
    pub value: InfoValue<'data>,
    /// The file that it came from.
    pub file: FileId,
    /// Only the machine code's view has it. Such records come last, in reading order.
    pub code_only: bool,
}

impl<'data> InfoRecord<'data> {
    /// A record that the linker makes.
    pub fn new(format: u8, attr: u8, value: InfoValue<'data>) -> Self {
        Self { format, attr, value, file: FileId::at(0), code_only: false }
    }
}

/// What a section holds.
#[derive(Debug)]
pub enum Content<'data> {
    /// Bytes of the inputs.
    Bytes(Vec<Chunk<'data>>),
    /// The bytes of one input, as most sections have them.
    One(Chunk<'data>),
    /// Records, last one first.
    Info(Vec<InfoRecord<'data>>),
    /// Entries in reading order, which come out reversed.
    Relocations(Vec<Reloc>),
    /// Nothing from the inputs: no bytes at all, or bytes that are made when everything is known.
    Nothing,
}

/// A section of the output.
#[derive(Debug)]
pub struct OutputSection<'data> {
    /// What the section is for.
    pub kind: Kind,
    /// Offset of the name in `.shstrtab`.
    pub name: u32,
    /// Its type in the file.
    pub sh_type: u32,
    /// Its flags in the file.
    pub flags: u64,
    /// What it is aligned to.
    pub align: u32,
    /// The size of its entries.
    pub entsize: u32,
    /// Its size.
    pub size: u64,
    /// What it holds.
    pub content: Content<'data>,
    /// The section that `sh_info` names: the text of a function, the target of relocations.
    pub of: Option<SectionId>,
    /// The section symbol.
    pub symbol: Option<SymbolId>,
    /// For `.text`: the function, and the high byte of its `sh_info`.
    pub function: Option<SymbolId>,
    /// Registers of the code, in its header.
    pub registers: u8,
    /// The relocation sections for this section.
    pub rel: Option<SectionId>,
    /// Its relocations with addends.
    pub rela: Option<SectionId>,
    /// The twin in the Mercury view; of a twin, `of` is the section it belongs to.
    pub twin: Option<SectionId>,
    /// A twin whose bytes are those of its partner.
    pub shares_bytes: bool,
    /// Of code: it is that of a strong function and called after it, as are its attributes and relocations.
    pub is_named_alone: bool,
}

/// An alignment or the size of an entry in the room that a section has for it. Objects with larger ones are refused.
pub fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl<'data> OutputSection<'data> {
    /// The section of its relocations, with addends or without.
    pub fn relocation_section(&self, rela: bool) -> Option<SectionId> {
        if rela { self.rela } else { self.rel }
    }

    /// What it is aligned to.
    pub fn align(&self) -> u64 {
        self.align.into()
    }

    /// Aligns it at least so far.
    pub fn widen(&mut self, align: u64) {
        self.align = self.align.max(narrow(align));
    }

    /// Takes over what the header of a function's code says beside its place.
    pub fn take_code_header(&mut self, section: &Section<'_>) {
        self.registers = section.info().to_be_bytes()[0];
        self.flags = section.flags();
    }

    /// Appends an input section at the next multiple of its alignment; the place it got.
    pub fn append(&mut self, data: &'data [u8], size: u64, align: u64) -> Option<u64> {
        let align = align.max(1);
        let offset = self.size.checked_next_multiple_of(align)?;
        self.widen(align);
        self.size = offset.checked_add(size)?;
        let chunk = Chunk { offset, data };
        match &mut self.content {
            _ if data.is_empty() => {}
            Content::Bytes(chunks) if chunks.is_empty() => self.content = Content::One(chunk),
            Content::Bytes(chunks) => chunks.push(chunk),
            Content::One(first) => self.content = Content::Bytes(vec![*first, chunk]),
            _ => {}
        }
        Some(offset)
    }

    /// The pieces of the inputs that it is put together from.
    pub fn chunks(&self) -> &[Chunk<'data>] {
        match &self.content {
            Content::Bytes(chunks) => chunks,
            Content::One(chunk) => std::slice::from_ref(chunk),
            _ => &[],
        }
    }

    /// The same, of a section of bytes.
    pub fn chunks_mut(&mut self) -> Option<&mut Vec<Chunk<'data>>> {
        if let Content::One(chunk) = self.content {
            self.content = Content::Bytes(vec![chunk]);
        }
        match &mut self.content {
            Content::Bytes(chunks) => Some(chunks),
            _ => None,
        }
    }

    /// The bytes of a section that one input alone gave.
    pub fn first_chunk(&self) -> Option<&'data [u8]> {
        self.chunks().first().map(|chunk| chunk.data)
    }

    /// The attributes in it.
    pub fn records_mut(&mut self) -> &mut Vec<InfoRecord<'data>> {
        match &mut self.content {
            Content::Info(records) => records,
            _ => unreachable!("asked for the attributes of another kind of section"),
        }
    }

    /// The relocations in it.
    pub fn relocations_mut(&mut self) -> &mut Vec<Reloc> {
        match &mut self.content {
            Content::Relocations(entries) => entries,
            _ => unreachable!("asked for the relocations of another kind of section"),
        }
    }
}

/// A symbol of the output.
#[derive(Clone, Debug, Default)]
pub struct OutputSymbol<'data> {
    /// Its name.
    pub name: &'data BStr,
    /// Its binding.
    pub bind: u8,
    /// Stands among the global symbols. Decided by the first definition: a weak function that a
    /// global copy replaced becomes global and stays where it was.
    pub among_globals: bool,
    /// Its type.
    pub kind: u8,
    /// Visibility and memory space.
    pub other: u8,
    /// The section that it is in.
    pub section: Option<SectionId>,
    /// Its value.
    pub value: u64,
    /// Its size.
    pub size: u64,
    /// What it names.
    pub entity: Option<EntityId>,
    /// Where the current definition comes from.
    pub origin: Option<Origin>,
    /// Shared memory: laid out per kernel, never in the output.
    pub shared: bool,
    /// An extern shared array that a later file defined with a size, which is nowhere then.
    pub lost: bool,
    /// It is not in the output.
    pub dropped: bool,
    /// `st_other` in the Mercury view.
    pub mercury_other: u8,
    pub(crate) rest: Option<Box<Rest>>,
}

/// What there is to say of few symbols.
#[derive(Clone, Debug, Default)]
pub struct Rest {
    /// What the Mercury view has different.
    pub differs: Differences,
    /// The file whose copy replaced an earlier one: records of files before it that speak of the
    /// earlier copy no longer count.
    pub replaced_in: Option<FileId>,
    /// The same for the relocations of debug information. nvlink forgets them together with those of
    /// the code: a copy whose code had none keeps them.
    pub debug_replaced_in: Option<FileId>,
    /// Lies in the constants of a device function.
    pub constant: Option<ConstantId>,
    /// A tentative definition not yet given a place: its alignment.
    pub common: Option<NonZeroU32>,
    /// A function of the system, which only the machine code's view has.
    pub of_system: bool,
}

/// What the Mercury view has different about a symbol.
#[derive(Clone, Copy, Debug, Default)]
pub struct Differences {
    /// Offset of the name in `.strtab`.
    pub name: Option<u32>,
    /// The size.
    pub size: Option<u64>,
    /// The value.
    pub value: Option<u64>,
}

impl OutputSymbol<'_> {
    /// What few symbols have.
    pub fn rest(&self) -> Option<&Rest> {
        self.rest.as_deref()
    }
    /// The same, to be changed.
    pub fn rest_mut(&mut self) -> &mut Rest {
        self.rest.get_or_insert_default()
    }
    /// Whether it is a function of the system, which only the machine code's view has.
    pub fn is_of_system(&self) -> bool {
        self.rest().is_some_and(|rest| rest.of_system)
    }
    /// What the Mercury view has different.
    pub fn differs(&self) -> Differences {
        self.rest().map(|rest| rest.differs).unwrap_or_default()
    }
    /// The constants of a device function that it lies in.
    pub fn constant(&self) -> Option<ConstantId> {
        self.rest()?.constant
    }
    /// The alignment of a tentative definition without a place.
    pub fn common(&self) -> Option<NonZeroU32> {
        self.rest()?.common
    }
    /// Whether debug information of a file speaks of the copy that prevails, or of one that kept it.
    pub fn has_debug_of(&self, file: FileId) -> bool {
        self.rest().and_then(|rest| rest.debug_replaced_in).is_none_or(|replaced| file >= replaced)
    }
    /// Whether it is a function.
    pub fn is_function(&self) -> bool {
        self.kind == raw::STT_FUNC
    }
    /// Whether it has a place.
    pub fn is_defined(&self) -> bool {
        self.section.is_some()
    }
    /// Whether it is a shared variable that nobody defines. A defined one has its place per kernel, an extern shared array none
    /// at all.
    pub fn is_undefined_shared(&self) -> bool {
        let is_placed = self.is_defined() || self.origin.is_some() || self.size == 0 || self.lost;
        self.shared && !is_placed
    }
}

/// What the linker keeps about a function beside its symbol, in the order of creation.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its symbol.
    pub symbol: SymbolId,
    /// What it is.
    pub entity: EntityId,
    /// It is a kernel.
    pub entry: bool,
    /// A kernel that was not asked for and stays because code launches it: it reaches nothing but itself, and is not
    /// counted.
    pub launched: bool,
    /// A kernel that was asked for.
    pub asked_for: bool,
    /// Another name for the function whose code it shares.
    pub alias: bool,
    /// Its code.
    pub text: Option<SectionId>,
    /// Its attributes.
    pub info: Option<SectionId>,
    /// Its shared memory.
    pub shared: Option<SectionId>,
    /// Its parameters.
    pub constant: Option<SectionId>,
    /// `.nv.constantN.K` of a kernel, N > 0.
    pub constants: Vec<(u8, SectionId)>,
    /// The moment at which its attributes were read.
    pub attributes_read: u32,
}

/// `.nv.constantN.F` of a device function, which goes into that of every kernel that reaches it.
#[derive(Clone, Debug)]
pub struct FunctionConstant<'data> {
    /// An index into `Merged::functions`.
    pub function: u32,
    /// The bank of the constants.
    pub bank: u8,
    /// What they are aligned to.
    pub align: u64,
    /// Their size.
    pub size: u64,
    /// Their bytes.
    pub chunks: Vec<Chunk<'data>>,
    /// Its twin in the Mercury view.
    pub twin_size: u64,
    /// The bytes of the twin.
    pub twin_chunks: Vec<Chunk<'data>>,
    /// The relocations of the twin.
    pub twin_relocations: Vec<Reloc>,
    /// The tables in it.
    pub twin_tables: Vec<Range<u64>>,
    /// Where the last constants of a discarded copy are among them.
    pub discarded: Option<u64>,
    /// Where it lies in the kernels' sections.
    pub offset: u64,
}

/// A shared variable or extern shared array.
#[derive(Clone, Debug)]
pub struct SharedObject {
    /// Its symbol.
    pub symbol: SymbolId,
    /// The kernel, for variables in `.nv.shared.K`; an index into `Merged::functions`.
    pub owner: Option<u32>,
    /// Its size.
    pub size: u64,
    /// What it is aligned to.
    pub align: u64,
    /// `extern __shared__`: sized at launch.
    pub dynamic: bool,
}

impl SharedObject {
    /// Whether it begins where the variables of its kernels end. One that was extern first and got a size later does not.
    pub fn begins_after_others(&self) -> bool {
        self.dynamic && self.size == 0
    }
}

/// Where the sections and symbols of an input went.
#[derive(Debug, Default)]
pub struct FileMap {
    /// The output section of each section, and where in it.
    pub sections: Vec<Option<(SectionId, u64)>>,
    /// The output symbol of each symbol.
    pub symbols: Vec<Option<SymbolId>>,
}

/// Something wrong that nvlink reports after the merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A function was removed while an alias of it stays.
    OrphanedAlias,
    /// An alias was removed while its function stays.
    DeletedAlias,
    /// The same of a static function, or of one that takes the place of the copy that came first. nvlink then misses the
    /// section, and says so later.
    DeletedAliasOfSection,
}

/// The names of the output. A section knows where its own is.
#[derive(Debug)]
pub struct OutputNames {
    /// The string tables.
    pub tables: StringTables,
    /// Offset of the name of each symbol in `.strtab`; global names get theirs at the end.
    pub of_symbols: Vec<u32>,
    /// The same of the prototypes, by `PrototypeId`.
    pub of_prototypes: Vec<u32>,
}

/// The result of merging.
#[derive(Debug)]
pub struct Merged<'data> {
    /// The sections, in the order of their creation.
    pub sections: Vec<OutputSection<'data>>,
    /// The symbols, in the order of their creation.
    pub symbols: Vec<OutputSymbol<'data>>,
    /// The functions, in the order of their creation.
    pub functions: Vec<Function>,
    /// The function of each entity that has one.
    pub function_of: Vec<Option<u32>>,
    /// The variables in shared memory.
    pub shared: Vec<SharedObject>,
    /// The constants of device functions.
    pub constants: Vec<FunctionConstant<'data>>,
    /// The machine code's place for places in Mercury code that jump tables name, by function, file and place.
    pub labels: HashMap<(SymbolId, FileId, i64), u32, foldhash::fast::FixedState>,
    /// Other names of removed functions, and how many functions come before each, where their prototypes stay.
    pub dead_aliases: Vec<(u32, EntityId)>,
    /// The value of symbol 0: where the constants of a discarded weak copy landed, or the last ones that can be merged.
    pub null_value: u64,
    /// Constants were too many for their bank side by side.
    pub packed: bool,
    /// Several kernels, or none, have some variable in shared memory; known where `-preserve-relocs` needs it.
    pub common_shared: bool,
    /// Functions of the inputs were removed.
    pub functions_removed: bool,
    /// Some attributes are in the machine code's view only.
    pub has_code_records: bool,
    /// What is wrong, for the checks to report.
    pub problems: Vec<Problem>,
    /// The relocations of replaced functions in `.debug_frame` stay, although they have addends.
    pub keeps_replaced_frames: bool,
    /// Who calls whom among the functions.
    pub calls: Calls,
    /// The names of sections, symbols and prototypes.
    pub names: OutputNames,
    /// The sections for the relocations that the link resolves, by what they are for.
    pub resolved: HashMap<SectionId, SectionId, foldhash::fast::FixedState>,
    /// Where the parts of each input went.
    pub files: Vec<FileMap>,
    /// The sections that there is one of.
    pub well_known: WellKnown,
    /// The sections of constants and shared memory, whose size is limited.
    pub limited: Vec<SectionId>,
    /// Largest alignment of an input's `.nv_debug.shared`.
    pub file_shared_align: u64,
    /// The sections before which nvlink makes one that it removes again: such sections are part of the numbers that
    /// it leaves in `.symtab_shndx`.
    pub removed: Vec<SectionId>,
    /// Textures, samplers and surfaces.
    pub references: Vec<SymbolId>,
    /// The symbols that name something which is in no section.
    pub unplaced: Vec<SymbolId>,
    /// The functions that call functions of the system in place of instructions, in the order of their code.
    pub system_callers: Vec<SystemCaller>,
    /// What such functions, and kernels that reach them, have more in their lists of undefined functions, by attribute section.
    pub system_externs: HashMap<SectionId, Vec<SymbolId>, foldhash::fast::FixedState>,
}

/// A function whose machine code calls functions of the system, which its Mercury code does not.
#[derive(Debug)]
pub struct SystemCaller {
    /// An index into `Merged::functions`.
    pub function: u32,
    /// Its code.
    pub text: SectionId,
    /// The section for the relocations, used if the function has no other ones.
    pub section: SectionId,
    /// The calls, in the order of the output.
    pub relocations: Vec<Reloc>,
    /// The registers that the machine code needs.
    pub registers: u32,
    /// Its frame.
    pub frame: u32,
    /// What it has more in the call graph.
    pub new_callees: Vec<SymbolId>,
}

/// Sections that there is one of.
#[derive(Debug, Default, Clone, Copy)]
pub struct WellKnown {
    /// `.note.nv.tkinfo`
    pub tool_note: Option<SectionId>,
    /// `.note.nv.cuinfo`
    pub cuda_note: Option<SectionId>,
    /// `.nv.info`
    pub info: Option<SectionId>,
    /// `.nv.compat`
    pub compat: Option<SectionId>,
    /// `.nv_debug.shared`
    pub file_shared: Option<SectionId>,
    /// `.nv.global`
    pub global: Option<SectionId>,
    /// `.nv.callgraph`
    pub call_graph: Option<SectionId>,
    /// `.nv.prototype`
    pub prototype: Option<SectionId>,
}

/// Where something is when what was in a range before it is gone.
fn after(offset: u32, removed: &Range<u32>) -> u32 {
    if offset >= removed.end { offset - (removed.end - removed.start) } else { offset }
}

/// Bytes that a constant bank holds.
pub const CONSTANT_BANK: u64 = 0x1_0000;

/// The sections of debug information that describe code, whose relocations go with it.
pub const DESCRIBE_CODE: &[&[u8]] = &[b".debug_frame", b".debug_line", b".nv_debug_line_sass"];

/// The bank of the program's constants.
const PROGRAM_CONSTANTS: u8 = 3;

impl<'data> Merged<'data> {
    /// What the code is told to be the size of the program's constants.
    pub fn constants_size(&self) -> u64 {
        let bank = self.sections.iter().find(|s| s.kind == Kind::Constant(PROGRAM_CONSTANTS));
        bank.map_or(u64::MAX, |section| section.size)
    }

    /// Whether there is such a problem.
    pub fn has(&self, problem: Problem) -> bool {
        self.problems.contains(&problem)
    }

    /// A section.
    pub fn section(&self, id: SectionId) -> &OutputSection<'data> {
        &self.sections[id.index()]
    }
    /// A section, to be changed.
    pub fn section_mut(&mut self, id: SectionId) -> &mut OutputSection<'data> {
        &mut self.sections[id.index()]
    }
    /// A symbol.
    pub fn symbol(&self, id: SymbolId) -> &OutputSymbol<'data> {
        &self.symbols[id.index()]
    }
    /// Where in `.strtab` the name of a symbol is.
    pub fn symbol_name(&self, id: SymbolId) -> u32 {
        self.names.of_symbols[id.index()]
    }
    /// Says where the name of a symbol is.
    pub fn set_symbol_name(&mut self, id: SymbolId, offset: u32) {
        self.names.of_symbols[id.index()] = offset;
    }
    /// A symbol, to be changed.
    pub fn symbol_mut(&mut self, id: SymbolId) -> &mut OutputSymbol<'data> {
        &mut self.symbols[id.index()]
    }
    /// The parameters of the kernel whose attributes a section has.
    pub fn parameters_of(&self, info: SectionId) -> Option<SectionId> {
        let entity = self.symbol(self.section(self.section(info).of?).function?).entity?;
        self.functions[self.function_of[entity.index()]? as usize].constant
    }
    /// Takes the name of a section out of both string tables.
    pub fn forget_name(&mut self, name: &[u8]) {
        if let Some(removed) = self.names.tables.remove(Table::Sections, name) {
            for section in &mut self.sections {
                section.name = after(section.name, &removed);
            }
        }
        self.forget_symbol_name(name);
    }
    /// Takes a name out of `.strtab`.
    pub fn forget_symbol_name(&mut self, name: &[u8]) {
        if let Some(removed) = self.names.tables.remove(Table::Symbols, name) {
            for offset in self.names.of_symbols.iter_mut().chain(&mut self.names.of_prototypes) {
                *offset = after(*offset, &removed);
            }
            for symbol in &mut self.symbols {
                if let Some(name) = symbol.differs().name {
                    symbol.rest_mut().differs.name = Some(after(name, &removed));
                }
            }
        }
    }
    /// The calls of the system in some code.
    pub fn system_caller(&self, text: SectionId) -> Option<&SystemCaller> {
        let at = self.system_callers.binary_search_by_key(&text, |caller| caller.text).ok()?;
        Some(&self.system_callers[at])
    }
    /// The function that a symbol names.
    pub fn function_of_symbol(&self, symbol: SymbolId) -> Option<u32> {
        self.function_of[self.symbol(symbol).entity?.index()]
    }
    /// The name of a function.
    pub fn function_name(&self, function: u32) -> &'data BStr {
        self.symbol(self.functions[function as usize].symbol).name
    }
    /// The section that a relocation section is for.
    pub fn relocated_by(&self, relocations: SectionId) -> Option<SectionId> {
        let section = self.section(relocations);
        match section.kind {
            Kind::MercuryRelocations | Kind::MercuryResolved => {
                self.section(self.section(section.of?).of?).twin
            }
            _ => section.of,
        }
    }
    /// Whether a relocation section is the table of handles of a kernel.
    pub fn is_handle_table(&self, relocations: SectionId) -> bool {
        let section = self.section(relocations);
        let of = section.of.map(|of| self.section(of).kind);
        section.kind == Kind::Relocations && of == Some(Kind::KernelConstant)
    }
    /// The name of a section, for messages.
    pub fn section_name(&self, id: SectionId) -> &BStr {
        solder_cubin::string_at(self.names.tables.bytes(Table::Sections), self.section(id).name)
            .unwrap_or_default()
    }
    /// Whether a symbol is in the constants of a function that a better copy of it emptied.
    pub fn names_emptied_section(&self) -> bool {
        let emptied = |id: SectionId| {
            let section = self.section(id);
            matches!(section.kind, Kind::FunctionConstant(_)) && section.size == 0
        };
        let named = |s: &OutputSymbol<'_>| s.kind != raw::STT_SECTION && !s.dropped;
        self.symbols.iter().any(|s| named(s) && s.section.is_some_and(emptied))
    }
    /// The kernels whose calls are followed.
    pub fn roots(&self) -> impl Iterator<Item = (u32, &Function)> {
        self.kernels().filter(|(_, function)| !function.launched)
    }
    /// The only kernel of the link, if it was asked for: nvlink takes all code for reached by it.
    pub fn only_root(&self) -> Option<u32> {
        let mut roots = self.roots();
        let (kernel, function) = roots.next()?;
        (function.asked_for && roots.next().is_none()).then_some(kernel)
    }
    /// The kernels: defined entry functions, in the order of creation.
    pub fn kernels(&self) -> impl Iterator<Item = (u32, &Function)> {
        self.functions
            .iter()
            .enumerate()
            .filter(|(_, f)| f.entry && f.text.is_some())
            .map(|(i, f)| (i as u32, f))
    }
    /// The kernel that a section belongs to: an index into `functions`.
    pub fn kernel_of(&self, section: SectionId) -> Option<u32> {
        let function = self.section(self.section(section).of?).function?;
        self.function_of[self.symbol(function).entity?.index()]
    }
    /// The records of an attribute section, in output order, and those that only the machine code's view has.
    fn all_records(&self, id: SectionId) -> (&[InfoRecord<'data>], &[InfoRecord<'data>]) {
        let Content::Info(records) = &self.section(id).content else {
            unreachable!("attribute sections hold records")
        };
        if !self.has_code_records {
            return (records, &[]);
        }
        records.split_at(records.partition_point(|record| !record.code_only))
    }
    /// The records of an attribute section, in output order.
    pub fn info_records(&self, id: SectionId) -> &[InfoRecord<'data>] {
        self.all_records(id).0
    }
    /// The records that only the machine code's view of an attribute section has.
    pub fn code_records(&self, id: SectionId) -> &[InfoRecord<'data>] {
        self.all_records(id).1
    }
    /// Puts the records that only the machine code's view has after the others. Those about a copy of a function that
    /// was replaced since, if there was any, do not count.
    pub(crate) fn order_records(&mut self, has_replaced: bool, pool: &Pool) {
        if !has_replaced && !self.has_code_records {
            return;
        }
        let symbols = &self.symbols;
        let counts = |record: &InfoRecord<'_>| match record.value {
            InfoValue::Symbol(symbol, _) if !record.code_only => {
                let replaced_in = symbols[symbol.index()].rest().and_then(|rest| rest.replaced_in);
                replaced_in.is_none_or(|file| record.file >= file)
            }
            _ => true,
        };
        pool.for_each_of(&mut self.sections, |section| {
            let Content::Info(records) = &mut section.content else { return };
            if has_replaced {
                records.retain(counts);
            }
            if let Some(first) = records.iter().position(|record| record.code_only) {
                records[first..].sort_by_key(|record| record.code_only);
                let shared = records.partition_point(|record| !record.code_only);
                records[shared..].reverse();
            }
        });
    }
}

/// A large link has hundreds of thousands of them.
const _: () = assert!(size_of::<OutputSection<'_>>() == 96 && size_of::<OutputSymbol<'_>>() == 64);
