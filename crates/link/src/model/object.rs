//! An input object, parsed and checked.

use super::twins::Twins;
use bstr::{BStr, BString};
use solder_cubin::info::{self, compat_attr};
use solder_cubin::raw::{self, Symbol, WordPair};
use solder_cubin::{Cubin, Section};

/// What a section of an input is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Symbol and string tables, the null section, what a link does not read.
    Ignored,
    /// `.text.F`
    Text,
    /// `.nv.info`
    Info,
    /// `.nv.info.F`; `sh_info` is the text section.
    FunctionInfo,
    /// `.nv.shared.K`, static shared memory of a kernel.
    KernelShared,
    /// `.nv_debug.shared`, shared variables of device functions and at file scope.
    FileShared,
    /// `.nv.shared.reserved.0`, shared memory that the system uses (sm_110).
    ReservedShared,
    /// `.nv.constant0.K`, the parameters of a kernel.
    KernelConstant,
    /// `.nv.constantN.F`, N > 0: constants that the compiler made for one function.
    FunctionConstant,
    /// `.nv.constantN` of the whole module.
    Constant,
    /// `.nv.global`
    Global,
    /// `.nv.global.init`
    GlobalInit,
    /// `.nv.udt`: data that the driver puts into a table of its own.
    UnifiedData,
    /// `.nv.uft.entry`, `.nv.udt.entry`: what belongs into these tables.
    UnifiedEntries,
    /// `.debug_*`, `.nv_debug_*`
    Debug,
    /// `.nv.callgraph`
    CallGraph,
    /// `.nv.prototype`
    Prototype,
    /// Relocations of another section.
    Relocations,
    /// `.nv.compat`
    Compat,
    /// `.note.nv.tkinfo`
    ToolNote,
    /// `.note.nv.cuinfo`
    CudaNote,
}

/// Where and why an input is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The section or symbol.
    pub place: BString,
    /// What is wrong with it.
    pub reason: String,
}

impl Damage {
    /// Damage at a place.
    pub fn new(place: impl Into<BString>, reason: impl Into<String>) -> Self {
        Self { place: place.into(), reason: reason.into() }
    }
}

/// What parsing found in a section, so that the merge need not look into it.
#[derive(Clone, Copy, Debug, Default)]
pub struct SectionSummary {
    /// Attributes: a list of symbols is among them.
    pub lists_symbols: bool,
    /// Relocations: the first has no addend, or one of 0.
    pub first_without_addend: bool,
    /// The same of another one.
    pub later_without_addend: bool,
    /// Relocations: some ask for the descriptor of a function.
    pub has_descriptors: bool,
}

/// A device ELF that takes part in the link.
#[derive(Debug)]
pub struct Object<'data> {
    /// As messages name it.
    pub name: BString,
    /// The device ELF.
    pub cubin: Cubin<'data>,
    /// What each section is for.
    pub roles: Vec<Role>,
    /// What parsing found in each section.
    pub summaries: Vec<SectionSummary>,
    /// The name of each symbol.
    pub names: Vec<&'data BStr>,
    /// The hash of each name: objects are parsed in parallel, and names are compared on one thread.
    pub hashes: Vec<u32>,
    /// The records of `.nv.callgraph`.
    pub call_graph: &'data [WordPair],
    /// The records of `.nv.prototype`.
    pub prototypes: &'data [WordPair],
    /// Some function is in the code of another.
    pub has_pieces: bool,
    /// Something belongs into the driver's tables.
    pub has_unified: bool,
    /// The Mercury view, in objects for sm_100 and later.
    pub mercury: Option<Twins<'data>>,
}

impl<'data> Object<'data> {
    /// Made by `ptxas -ewp`.
    pub fn is_extensible(&self) -> bool {
        self.cubin.header.e_type.get() == raw::ET_EXTENSIBLE
    }

    /// Looks at all sections and symbols: what another processor has read comes side by side, and not one after the other when it is
    /// needed.
    pub fn fetch(&self) {
        let sections = self.cubin.sections.iter().fold(0, |all, section| all ^ section.info());
        let symbols = self.cubin.symbols.iter().fold(0, |all, symbol| all ^ symbol.info);
        let names = self.names.iter().fold(0, |all, name| all ^ name.len());
        std::hint::black_box((sections, symbols, names));
    }

    /// A symbol.
    pub fn symbol(&self, index: u32) -> &'data Symbol {
        &self.cubin.symbols[index as usize]
    }

    /// All symbols, with their indices.
    pub fn symbols(&self) -> impl Iterator<Item = (u32, &'data Symbol)> + use<'data> {
        self.cubin.symbols.iter().enumerate().map(|(i, s)| (i as u32, s))
    }

    /// Whether an undefined function is none of the program's: the Mercury view does not have it, so that the assembler has put its
    /// calls in place of instructions that the machine lacks.
    pub fn is_of_system(&self, symbol: u32) -> bool {
        let raw = self.symbol(symbol);
        let is_only_in_code = |twins: &Twins<'_>| twins.symbol(symbol).is_none();
        raw.kind() == raw::STT_FUNC && !raw.is_defined() && self.mercury.as_ref().is_some_and(is_only_in_code)
    }

    /// Whether there are such functions.
    pub fn calls_system(&self) -> bool {
        let first = self.mercury.as_ref().map_or(u32::MAX, |twins| twins.symbols.len() as u32);
        let last = self.cubin.symbols.len() as u32;
        (first..last).any(|symbol| self.is_of_system(symbol))
    }

    /// A section.
    pub fn section(&self, index: u32) -> &Section<'data> {
        &self.cubin.sections[index as usize]
    }

    /// What a section is for; nothing, if the index is one of those that are none.
    pub fn role(&self, index: u32) -> Role {
        self.roles.get(index as usize).copied().unwrap_or(Role::Ignored)
    }

    /// The function that a text section belongs to.
    pub fn text_owner(&self, section: u32) -> Option<u32> {
        let owner = self.section(section).info() & 0x00ff_ffff;
        let symbol = self.cubin.symbols.get(owner as usize)?;
        (self.role(section) == Role::Text && symbol.kind() == raw::STT_FUNC).then_some(owner)
    }

    /// The function that a function symbol is in, if it is a piece of another's code: extensible whole programs
    /// (`ptxas -ewp`) have what a kernel calls after the kernel.
    pub fn function_around(&self, symbol: &Symbol) -> Option<u32> {
        let section = u32::from(symbol.shndx.get());
        if symbol.kind() != raw::STT_FUNC || symbol.value.get() == 0 || self.role(section) != Role::Text {
            return None;
        }
        // A function that claims to own the section and not to begin with it is damage, and no piece of itself.
        let begins = |owner: &u32| self.cubin.symbols[*owner as usize].value.get() == 0;
        self.text_owner(section).filter(begins)
    }

    /// The sections that are for something.
    pub fn sections_with(&self, role: Role) -> impl Iterator<Item = &Section<'data>> {
        let with = self.roles.iter().enumerate().filter(move |(_, of)| **of == role);
        with.map(|(index, _)| &self.cubin.sections[index])
    }

    /// The first section that is for something.
    pub fn first(&self, role: Role) -> Option<&Section<'data>> {
        self.sections_with(role).next()
    }

    /// Whether it has compatibility records, but not the one about the class of instructions.
    pub fn lacks_isa_class(&self) -> bool {
        let lacks = |section: &Section<'_>| {
            !info::records(section.data).flatten().any(|record| record.attr == compat_attr::ISA_CLASS)
        };
        self.first(Role::Compat).is_some_and(lacks)
    }

    /// The prototype at an offset of the string table; checked to exist.
    pub fn string(&self, offset: u32) -> &'data BStr {
        self.cubin.strings.at(offset).unwrap_or_default()
    }
}
