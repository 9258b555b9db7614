//! What the layout of a file with Mercury has different: names of the twins, bytes that two sections
//! share, segments.

use super::segments::{data_segment, segment};
use crate::image::{NewNames, Numbers, Parts, Place, SectionIndices};
use crate::model::ids::SectionId;
use crate::model::merged::{Kind, Merged};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use solder_cubin::mercury::{
    CAPSULE_PREFIX, CONSTANT_ADDRESSES, CONSTANT_IMAGES, CONSTANT_OPTIMIZER, CONSTANT_USER, PREFIX, code_name,
};
use solder_cubin::raw::{self, ProgramHeader};
use solder_cubin::string_at;
use solder_cubin::strings::Table;

/// Bytes that nvlink leaves unused after the section names: as much as those of late `.symtab_shndx` and its twin take.
pub const HOLE_AFTER_NAMES: u64 = (LATE_INDICES.len() + b".nv.merc.symtab_shndx\0".len()) as u64;
const LATE_INDICES: &[u8] = b".symtab_shndx\0";

/// The same after the symbol names: as much as the names that the machine code's view replaces were longer. That
/// of a relocation section has no symbol, so nothing replaces it.
pub fn hole_after_symbol_names(merged: &Merged<'_>, numbers: &Numbers) -> u64 {
    let mut hole = 0;
    for id in &numbers.section_order {
        let section = merged.section(*id);
        let name = merged.section_name(*id);
        if let Some(new) = code_name(name).filter(|_| can_be_renamed(section.kind)) {
            let replaced = if section.symbol.is_some() { new.len() + 1 } else { 0 };
            hole += name.len().saturating_sub(replaced) as u64;
        }
    }
    hole
}

fn can_be_renamed(kind: Kind) -> bool {
    matches!(kind, Kind::Constant(_) | Kind::FunctionConstant(_) | Kind::KernelConstant | Kind::Relocations)
}

/// `.shstrtab` with the names of the twins.
#[derive(Debug)]
pub struct SectionNames {
    /// The bytes, where they are not those of the merge.
    pub bytes: Option<Vec<u8>>,
    /// Offsets of the names that the merge did not give.
    pub of_twins: HashMap<SectionId, u32, FixedState>,
}

/// The names of the sections. Those of the twins come at the end, each once more if it is there already; names that
/// differ in the machine code's view are overwritten.
pub fn section_names(parts: Parts<'_, '_>, numbers: &Numbers) -> SectionNames {
    let merged = parts.merged;
    let mut of_twins = HashMap::default();
    if !parts.is_mercury() {
        return SectionNames { bytes: None, of_twins };
    }
    let mut bytes = merged.names.tables.bytes(Table::Sections).to_vec();
    if numbers.indices == SectionIndices::Late {
        insert_late_indices(merged, numbers, &mut bytes, &mut of_twins);
    }
    let mut add = |parts: [&[u8]; 2]| {
        let offset = bytes.len() as u32;
        for part in parts {
            bytes.extend_from_slice(part);
        }
        bytes.push(0);
        offset
    };
    for id in &numbers.section_order {
        let section = merged.section(*id);
        let prefix = match section.kind {
            Kind::Capsule => CAPSULE_PREFIX,
            Kind::MercuryDebug
            | Kind::MercuryInfo
            | Kind::MercuryHost
            | Kind::MercuryCallGraph
            | Kind::MercuryPrototype
            | Kind::MercuryRelocations
            | Kind::MercuryResolved
            | Kind::MercuryConstant
            | Kind::MercuryGlobalInit
            | Kind::MercuryReservedShared => PREFIX,
            Kind::MercurySymbols => {
                of_twins.insert(*id, add([PREFIX, b".symtab"]));
                continue;
            }
            Kind::MercurySectionIndices => {
                of_twins.insert(*id, add([PREFIX, b".symtab_shndx"]));
                continue;
            }
            _ => continue,
        };
        let of = section.of.map_or_else(Default::default, |of| merged.section_name(of));
        of_twins.insert(*id, add([prefix, of]));
    }
    for id in numbers.section_order.iter().filter(|id| merged.section(**id).kind == Kind::LateRelocations) {
        let of = merged.section(*id).of.map_or_else(Default::default, |of| merged.section_name(of));
        of_twins.insert(*id, add([b".rela", of]));
    }
    for section in numbers.section_order.iter().map(|id| merged.section(*id)) {
        let old = string_at(merged.names.tables.bytes(Table::Sections), section.name).unwrap_or_default();
        if code_name(old).is_some() && can_be_renamed(section.kind) {
            overwrite(&mut bytes[section.name as usize..][..old.len()]);
        }
    }
    if parts.release.renews_names_with_mercury() {
        return anew(merged, numbers, &bytes, &of_twins);
    }
    SectionNames { bytes: Some(bytes), of_twins }
}

/// Gives `.symtab_shndx` a name once more, before those of the kernels' parameters.
fn insert_late_indices(
    merged: &Merged<'_>,
    numbers: &Numbers,
    bytes: &mut Vec<u8>,
    of_twins: &mut HashMap<SectionId, u32, FixedState>,
) {
    let of_kind = |kind| numbers.section_order.iter().filter(move |id| merged.section(**id).kind == kind);
    let parameters = || of_kind(Kind::LateKernelConstant);
    let place = parameters().map(|id| merged.section(*id).name).min().unwrap_or(bytes.len() as u32);
    bytes.splice(place as usize..place as usize, LATE_INDICES.iter().copied());
    of_twins.extend(of_kind(Kind::LateSectionIndices).map(|id| (*id, place)));
    of_twins.extend(parameters().map(|id| (*id, merged.section(*id).name + LATE_INDICES.len() as u32)));
}

/// The names of the sections of the file, in its order. What was unused after the table is its end.
fn anew(
    merged: &Merged<'_>,
    numbers: &Numbers,
    old: &[u8],
    of_twins: &HashMap<SectionId, u32, FixedState>,
) -> SectionNames {
    let mut names = NewTable::default();
    let tables = [&b".shstrtab"[..], b".strtab", b".symtab", b".symtab_shndx"];
    for name in &tables[..numbers.tables() - 1] {
        names.add(name);
    }
    let mut places = HashMap::default();
    for id in &numbers.section_order {
        let name = of_twins.get(id).copied().unwrap_or(merged.section(*id).name);
        places.insert(*id, names.add(string_at(old, name).unwrap_or_default()));
    }
    names.bytes.resize(names.bytes.len() + HOLE_AFTER_NAMES as usize, 0);
    SectionNames { bytes: Some(names.bytes), of_twins: places }
}

/// The names of the symbols of the file: those of the table, those that the Mercury view has different, and the prototypes
/// as the call graph mentions them.
pub fn symbol_names(parts: Parts<'_, '_>, numbers: &Numbers) -> NewNames {
    let (merged, graph) = (parts.merged, &parts.notes.graph);
    let old = merged.names.tables.bytes(Table::Symbols);
    let mut names = NewTable::default();
    let mut places = HashMap::default();
    let symbols = &numbers.symbol_order;
    let of_table = symbols.iter().map(|id| merged.symbol_name(*id));
    let different = symbols.iter().filter_map(|id| merged.symbol(*id).differs().name);
    let taken = graph.taken.iter().flatten().copied();
    let called = (0..merged.functions.len()).flat_map(|function| graph.indirect.of(function)).copied();
    let prototypes = graph.prototypes.iter().map(|(_, name)| *name);
    for offset in of_table.chain(different).chain(taken).chain(called).chain(prototypes) {
        places.entry(offset).or_insert_with(|| names.add(string_at(old, offset).unwrap_or_default()));
    }
    NewNames { bytes: names.bytes, places }
}

/// A string table in which every string is once.
struct NewTable<'a> {
    bytes: Vec<u8>,
    places: HashMap<&'a [u8], u32, FixedState>,
}

impl Default for NewTable<'_> {
    fn default() -> Self {
        Self { bytes: vec![0], places: [(&b""[..], 0)].into_iter().collect() }
    }
}

impl<'a> NewTable<'a> {
    fn add(&mut self, name: &'a [u8]) -> u32 {
        *self.places.entry(name).or_insert_with(|| {
            let place = self.bytes.len() as u32;
            self.bytes.extend_from_slice(name);
            self.bytes.push(0);
            place
        })
    }
}

/// Gives a name that the machine code's view has different. A second section of the same name finds it overwritten
/// already, and reads the rest of the name at the place where it was.
fn overwrite(place: &mut [u8]) {
    let stem = if place.starts_with(b".rela") { b".rela".len() } else { 0 };
    let renamed = [CONSTANT_USER, CONSTANT_ADDRESSES, CONSTANT_OPTIMIZER, CONSTANT_IMAGES];
    let current = |prefix: &[u8]| place[stem..].starts_with(prefix);
    let Some((mercury, code)) = renamed.into_iter().find(|(mercury, code)| current(mercury) || current(code))
    else {
        return;
    };
    let rest: Vec<u8> = place[stem + mercury.len()..].iter().copied().take_while(|b| *b != 0).collect();
    let name = [code, &rest].concat();
    let (front, behind) = place[stem..].split_at_mut(name.len());
    front.copy_from_slice(&name);
    behind.fill(0);
}

/// The program headers: the table itself, twice, then constants, code, data and the parameters of the kernels.
pub fn segments(parts: Parts<'_, '_>, numbers: &Numbers, places: &[Place], phoff: u64) -> Vec<ProgramHeader> {
    const GROUPS: [(std::ops::RangeInclusive<u8>, u32); 4] = [
        (4..=4, raw::PF_R),
        (5..=5, raw::PF_R | raw::PF_X),
        (6..=7, raw::PF_R | raw::PF_W),
        (9..=9, raw::PF_R),
    ];
    let mut loads = Vec::new();
    for (classes, flags) in GROUPS {
        loads.extend(data_segment(parts, numbers, places, &classes, flags));
    }
    let size = raw::PROGRAM_HEADER_SIZE * (loads.len() as u64 + 2);
    let mut all = vec![
        segment(raw::PT_PHDR, raw::PF_R, phoff, size, size),
        segment(raw::PT_LOAD, raw::PF_R, phoff, size, size),
    ];
    all.append(&mut loads);
    all
}
