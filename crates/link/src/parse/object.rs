//! Parses an object, and checks once what later phases index blindly.

use crate::model::object::{Damage, Object, Role, SectionSummary};
use crate::model::twins::Twins;
use crate::pool::Pool;
use bstr::{BStr, BString};
use solder_cubin::info;
use solder_cubin::raw::{self, WordPair};
use solder_cubin::{Cubin, Section, reloc, strings};

fn role_of(section: &Section<'_>) -> Role {
    let name = section.name;
    // The Mercury view is reached through the twins of its sections.
    if section.flags() & raw::SHF_MERCURY != 0 {
        return Role::Ignored;
    }
    match section.sh_type() {
        raw::SHT_REL | raw::SHT_RELA => Role::Relocations,
        raw::SHT_CUDA_INFO if name == ".nv.info" => Role::Info,
        raw::SHT_CUDA_INFO => Role::FunctionInfo,
        raw::SHT_CUDA_CALLGRAPH => Role::CallGraph,
        raw::SHT_CUDA_PROTOTYPE => Role::Prototype,
        raw::SHT_CUDA_GLOBAL => Role::Global,
        raw::SHT_CUDA_GLOBAL_INIT => Role::GlobalInit,
        raw::SHT_CUDA_SHARED if name.starts_with(b".nv.shared.") => Role::KernelShared,
        raw::SHT_CUDA_SHARED => Role::FileShared,
        raw::SHT_CUDA_SHARED_RESERVED => Role::ReservedShared,
        raw::SHT_CUDA_COMPAT => Role::Compat,
        raw::SHT_CUDA_UDT => Role::UnifiedData,
        raw::SHT_CUDA_UFT_ENTRY | raw::SHT_CUDA_UDT_ENTRY => Role::UnifiedEntries,
        raw::SHT_NOTE if name == ".note.nv.tkinfo" => Role::ToolNote,
        raw::SHT_NOTE if name == ".note.nv.cuinfo" => Role::CudaNote,
        raw::SHT_CUDA_CONSTANT..=raw::SHT_CUDA_CONSTANT_LAST => {
            // Toolkits before 12.4 do not mark that `sh_info` is a section.
            let is_of_function = section.flags() & raw::SHF_INFO_LINK != 0 || section.info() != 0;
            match (is_of_function, section.sh_type() - raw::SHT_CUDA_CONSTANT) {
                (false, _) => Role::Constant,
                (true, 0) => Role::KernelConstant,
                (true, _) => Role::FunctionConstant,
            }
        }
        raw::SHT_PROGBITS | raw::SHT_CUDA_UFT if section.flags() & raw::SHF_EXECINSTR != 0 => Role::Text,
        raw::SHT_PROGBITS if name.starts_with(b".debug_") || name.starts_with(b".nv_debug_") => Role::Debug,
        _ => Role::Ignored,
    }
}

/// How many times the length of a file its sections may be aligned together; far more than any real file needs.
const MOST_PADDING: u64 = 16;
/// Of variables without a place in the file. A file is padded by as much.
const FARTHEST_ALIGNMENT: u64 = 1 << 24;
/// No address of a device has more bits.
const LARGEST_MEMORY: u64 = 1 << 49;

/// From this many sections on, two threads parse a file sooner than one.
const MANY_SECTIONS: usize = 1024;

impl<'data> Object<'data> {
    /// Parses an object. `name` is what messages call it.
    pub fn parse(name: BString, bytes: &'data [u8], pool: &Pool) -> Result<Self, Damage> {
        let cubin = Cubin::parse(bytes).map_err(|e| Damage::new("the ELF structure", e.to_string()))?;
        let roles: Vec<Role> = cubin.sections.iter().map(role_of).collect();
        let look = || look_into_sections(&cubin, &roles);
        let (named, summaries) = if cubin.sections.len() >= MANY_SECTIONS {
            pool.join(|| symbol_names(&cubin), look)
        } else {
            (symbol_names(&cubin), look())
        };
        let (names, hashes) = named?;
        let has_unified = roles.contains(&Role::UnifiedEntries);
        let mut object = Self {
            name,
            cubin,
            roles,
            summaries: Vec::new(),
            names,
            hashes,
            call_graph: &[],
            prototypes: &[],
            has_pieces: false,
            has_unified,
            mercury: None,
        };
        object.check_symbols()?;
        object.has_pieces = object.symbols().any(|(_, symbol)| object.function_around(symbol).is_some());
        object.check_sections()?;
        object.summaries = summaries?;
        object.mercury = Twins::find(&object)?;
        object.call_graph = object.pairs(Role::CallGraph)?;
        object.prototypes = object.pairs(Role::Prototype)?;
        object.check_call_graph()?;
        Ok(object)
    }

    fn pairs(&self, role: Role) -> Result<&'data [WordPair], Damage> {
        let Some(section) = self.first(role) else { return Ok(&[]) };
        section.entries().map_err(|_| Damage::new(section.name, "its size is no multiple of its entry size"))
    }

    fn check_symbols(&self) -> Result<(), Damage> {
        let farthest = FARTHEST_ALIGNMENT.max(self.cubin.bytes.len() as u64).min(u32::MAX.into());
        for (index, symbol) in self.symbols() {
            let shndx = symbol.shndx.get();
            if shndx != raw::SHN_COMMON && usize::from(shndx) >= self.cubin.sections.len() {
                let place = format!("symbol '{}'", self.names[index as usize]);
                return Err(Damage::new(place, format!("its section {shndx} does not exist")));
            }
            let exists = usize::from(shndx) < self.cubin.sections.len();
            if symbol.kind() == raw::STT_FUNC && symbol.is_defined() && !exists {
                let place = format!("symbol '{}'", self.names[index as usize]);
                return Err(Damage::new(place, "a function cannot be tentative"));
            }
            if symbol.size.get() > LARGEST_MEMORY {
                let place = format!("symbol '{}'", self.names[index as usize]);
                return Err(Damage::new(place, "its size is larger than any memory"));
            }
            let shared = [Role::FileShared, Role::KernelShared, Role::ReservedShared];
            let states_alignment = shndx == raw::SHN_COMMON
                || (symbol.other & raw::STO_SPACE == raw::STO_SHARED && symbol.size.get() == 0)
                || shared.contains(&self.role(u32::from(shndx)));
            if states_alignment && symbol.value.get() > farthest {
                let place = format!("symbol '{}'", self.names[index as usize]);
                return Err(Damage::new(place, "its alignment is beyond all bounds"));
            }
        }
        Ok(())
    }

    fn check_sections(&self) -> Result<(), Damage> {
        let length = self.cubin.bytes.len() as u64;
        let mut padding = 0u64;
        for section in &self.cubin.sections {
            // Sections lie at multiples of their alignment after the header, so a file is longer than the alignment
            // of any section, and holds few that are aligned far.
            if section.align() > length {
                return Err(Damage::new(section.name, "its alignment is larger than the file"));
            }
            if section.align().max(section.header.entsize.get()) > u64::from(u32::MAX) {
                return Err(Damage::new(
                    section.name,
                    "its alignment or the size of its entries is beyond all bounds",
                ));
            }
            padding += if section.data.is_empty() { 0 } else { section.align() };
            if padding > length.saturating_mul(MOST_PADDING) {
                return Err(Damage::new(
                    section.name,
                    "the file is too short for the alignment of its sections",
                ));
            }
            if section.size() > LARGEST_MEMORY {
                return Err(Damage::new(section.name, "its size is larger than any memory"));
            }
            // Relocatable links give shared memory any alignment.
            let shared = matches!(self.role(section.index), Role::KernelShared | Role::FileShared);
            if section.align() > 1 && !section.align().is_power_of_two() && !shared {
                return Err(Damage::new(section.name, "its alignment is no power of two"));
            }
            let linked = matches!(
                self.role(section.index),
                Role::FunctionInfo
                    | Role::KernelShared
                    | Role::KernelConstant
                    | Role::FunctionConstant
                    | Role::Relocations
            );
            if linked && section.info() as usize >= self.cubin.sections.len() {
                return Err(Damage::new(section.name, "the section it belongs to does not exist"));
            }
        }
        Ok(())
    }

    fn check_call_graph(&self) -> Result<(), Damage> {
        let count = self.cubin.symbols.len();
        let symbol = |index: u32| (index as usize) < count;
        let string = |offset: u32| self.cubin.strings.at(offset).is_some();
        for (part, a, b) in solder_cubin::callgraph::records(self.call_graph) {
            use solder_cubin::callgraph::Part;
            let second = match part {
                Part::Call | Part::Takes => symbol(b),
                Part::Taken | Part::Indirect => string(b),
            };
            if !symbol(a) || !second {
                return Err(Damage::new(
                    ".nv.callgraph",
                    "a record names a symbol or string that does not exist",
                ));
            }
        }
        if self.prototypes.iter().any(|p| !symbol(p.a.get()) || !string(p.b.get())) {
            return Err(Damage::new(
                ".nv.prototype",
                "a record names a symbol or string that does not exist",
            ));
        }
        Ok(())
    }
}

fn look_into_sections(cubin: &Cubin<'_>, roles: &[Role]) -> Result<Vec<SectionSummary>, Damage> {
    let look = |(section, role): (&Section<'_>, &Role)| match role {
        Role::Relocations => look_at_relocations(section, cubin.symbols.len()),
        Role::Info | Role::FunctionInfo | Role::Compat => look_at_attributes(section),
        _ => Ok(SectionSummary::default()),
    };
    cubin.sections.iter().zip(roles).map(look).collect()
}

fn look_at_relocations(section: &Section<'_>, symbols: usize) -> Result<SectionSummary, Damage> {
    let entries = section
        .relocations()
        .map_err(|_| Damage::new(section.name, "its size is no multiple of its entry size"))?;
    let mut summary = SectionSummary::default();
    for (index, entry) in entries.iter().enumerate() {
        if entry.symbol.get() as usize >= symbols {
            let reason = format!("a relocation names symbol {}, which does not exist", entry.symbol);
            return Err(Damage::new(section.name, reason));
        }
        let without =
            if index == 0 { &mut summary.first_without_addend } else { &mut summary.later_without_addend };
        *without |= entry.addend.get() == 0;
        summary.has_descriptors |= reloc::is_descriptor(entry.r_type.get());
    }
    Ok(summary)
}

fn look_at_attributes(section: &Section<'_>) -> Result<SectionSummary, Damage> {
    let mut summary = SectionSummary::default();
    for record in info::records(section.data) {
        let record = record.map_err(|_| Damage::new(section.name, "a record runs past its end"))?;
        summary.lists_symbols |= record.attr == info::attr::EXTERNS;
    }
    Ok(summary)
}

/// The names of all symbols, and their hashes.
fn symbol_names<'data>(cubin: &Cubin<'data>) -> Result<(Vec<&'data BStr>, Vec<u32>), Damage> {
    let mut names = Vec::with_capacity(cubin.symbols.len());
    for index in 0..cubin.symbols.len() as u32 {
        names.push(cubin.symbol_name(index).map_err(|e| Damage::new(".symtab", e.to_string()))?);
    }
    let hashes = names.iter().map(|name| strings::hash(name)).collect();
    Ok((names, hashes))
}
