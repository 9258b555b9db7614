//! The bytes of the sections that the linker makes: attributes, call graph, prototypes, notes,
//! relocations.

mod mercury_symbols;

use crate::image::{GraphRecords, Numbers, Parts};
use crate::model::ids::{SectionId, SymbolId};
use crate::model::mercury;
use crate::model::merged::{
    Chunk, InfoRecord, InfoValue, Kind, Merged, OutputSection, Reloc, RelocTarget, SystemCaller,
};
use crate::textures::{handle_type, mercury_handle_type};
use hashbrown::HashMap;
use solder_cubin::callgraph::MARKERS;
use solder_cubin::info::{attr, format, put_record, record_size, write_record};
use solder_cubin::raw::{Rel, Rela, SHT_REL};
use zerocopy::IntoBytes;

/// The bytes of the sections that are not put together where they are written.
#[derive(Debug, Default)]
pub struct Contents(HashMap<SectionId, Vec<u8>, foldhash::fast::FixedState>);

impl Contents {
    pub fn insert(&mut self, id: SectionId, bytes: Vec<u8>) {
        self.0.insert(id, bytes);
    }

    /// The bytes of a section, if they are at hand.
    pub fn made<'a>(&'a self, parts: Parts<'a, '_>, id: SectionId) -> Option<&'a [u8]> {
        let section = parts.merged.section(id);
        noted(parts, section).or_else(|| self.0.get(&id).filter(|_| is_made(section)).map(Vec::as_slice))
    }
}

/// The bytes of a section that are known before the layout.
fn noted<'a>(parts: Parts<'a, '_>, section: &OutputSection<'_>) -> Option<&'a [u8]> {
    match section.kind {
        Kind::ToolNote => Some(&parts.notes.tool_note),
        Kind::CudaNote => Some(&parts.notes.cuda_note),
        Kind::Compat => Some(&parts.notes.compat),
        Kind::RelAction => Some(&REL_ACTION),
        _ => None,
    }
}

/// Whether some sections of its kind are made. Others are neither made nor looked for.
fn is_made(section: &OutputSection<'_>) -> bool {
    matches!(
        section.kind,
        Kind::Info
            | Kind::MercuryRelocations
            | Kind::MercuryConstant
            | Kind::MercurySymbols
            | Kind::MercurySectionIndices
            | Kind::LateSectionIndices
            | Kind::CallGraph
            | Kind::Prototype
            | Kind::MercuryCallGraph
            | Kind::MercuryPrototype
            | Kind::Relocations
            | Kind::LateRelocations
    )
}

/// The pieces of the inputs that a section is put together from.
pub fn chunks<'a, 'data>(merged: &'a Merged<'data>, id: SectionId) -> &'a [Chunk<'data>] {
    merged.section(id).chunks()
}

/// The size of a section that is not made.
pub fn size(parts: Parts<'_, '_>, numbers: &Numbers, id: SectionId) -> u64 {
    let section = parts.merged.section(id);
    if let Some(bytes) = noted(parts, section) {
        bytes.len() as u64
    } else if is_attributes(section) {
        let mut size = 0;
        attributes(parts, numbers, id, &mut |format, _, value| {
            size += record_size(format, value.len());
        });
        size as u64
    } else if is_relocations(parts, id) {
        (parts.relocated.kept(id) * entry_size(section)) as u64
    } else {
        parts.textures.end(id).unwrap_or(section.size)
    }
}

/// Makes the bytes of a section, if it is one of those that are made.
pub fn make(parts: Parts<'_, '_>, numbers: &Numbers, id: SectionId) -> Option<Vec<u8>> {
    let merged = parts.merged;
    let section = merged.section(id);
    if !is_made(section) {
        return None;
    }
    Some(match section.kind {
        Kind::Info => {
            // Mostly a symbol and a number.
            let count = parts.resources.records(merged, id).len() + parts.resources.of_module.len();
            let mut out = parts.pool.room_for(count * record_size(format::SIZED, size_of::<[u32; 2]>()));
            attributes(parts, numbers, id, &mut |format, attr, value| {
                write_record(&mut out, format, attr, value);
            });
            out
        }
        Kind::MercuryRelocations if merged.is_handle_table(section.of?) => {
            handles(parts, numbers, id, merged.section(section.of?).of?, View::Mercury)
        }
        Kind::MercuryConstant if merged.section(section.of?).kind == Kind::KernelConstant => {
            vec![0; parts.textures.size() as usize]
        }
        Kind::MercurySymbols => mercury_symbols::symbol_table(merged, numbers, parts.shared),
        Kind::MercurySectionIndices => mercury_symbols::section_indices(merged, numbers, parts.shared),
        Kind::LateSectionIndices => section_indices(parts, numbers),
        Kind::CallGraph => call_graph(merged, numbers, &parts.notes.graph, View::Code),
        Kind::MercuryCallGraph => call_graph(merged, numbers, &parts.notes.graph, View::Mercury),
        Kind::Prototype | Kind::MercuryPrototype => {
            let number = |function: Option<SymbolId>| function.map_or(0, |symbol| numbers.symbol(symbol));
            parts
                .notes
                .graph
                .prototypes
                .iter()
                .flat_map(|(f, p)| pair(number(*f), numbers.name(*p)))
                .collect()
        }
        Kind::Relocations if merged.is_handle_table(id) => {
            handles(parts, numbers, id, section.of?, View::Code)
        }
        Kind::Relocations => {
            let caller = merged.system_caller(section.of?)?;
            let mut out = vec![0; parts.relocated.kept(id) * entry_size(section)];
            fill_relocations(parts, numbers, id, 0, &mut out);
            out.extend(system_calls(numbers, caller));
            out
        }
        Kind::LateRelocations => system_calls(numbers, merged.system_caller(section.of?)?),
        _ => return None,
    })
}

/// The relocations of calls of the system.
fn system_calls(numbers: &Numbers, caller: &SystemCaller) -> Vec<u8> {
    let entry = |relocation: &Reloc| relocation_entry(numbers, relocation).as_bytes().to_vec();
    caller.relocations.iter().flat_map(entry).collect()
}

fn relocation_entry(numbers: &Numbers, entry: &Reloc) -> Rela {
    let symbol = match entry.target {
        RelocTarget::Symbol(symbol) => numbers.symbol(symbol),
        _ => 0,
    };
    Rela {
        offset: entry.offset.into(),
        r_type: entry.r_type.into(),
        symbol: symbol.into(),
        addend: entry.addend.into(),
    }
}

/// The section of every symbol, for symbol tables that cannot hold it.
pub fn section_indices(parts: Parts<'_, '_>, numbers: &Numbers) -> Vec<u8> {
    let section = |id: &SymbolId| parts.shared.place(parts.merged, *id).0;
    numbers.section_indices(parts.merged, numbers.symbol_order.iter().map(section))
}

/// The same in every output for sm_75 to sm_90a.
const REL_ACTION: [u8; 16] = [0x73, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x25, 0, 5, 0x36];

fn pair(a: u32, b: u32) -> [u8; 8] {
    (u64::from(a) | u64::from(b) << 32).to_le_bytes()
}

/// Which of the two descriptions of the code; there is only the first before sm_100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    Code,
    Mercury,
}

/// Whether a section holds the attributes of a function.
pub fn is_attributes(section: &OutputSection<'_>) -> bool {
    matches!(section.kind, Kind::FunctionInfo | Kind::MercuryInfo)
}

/// Writes the attributes of a function.
pub fn fill_attributes(parts: Parts<'_, '_>, numbers: &Numbers, id: SectionId, mut place: &mut [u8]) {
    attributes(parts, numbers, id, &mut |format, attr, value| {
        let (record, rest) = std::mem::take(&mut place).split_at_mut(record_size(format, value.len()));
        put_record(record, format, attr, value);
        place = rest;
    });
}

/// Hands the attributes in a section of either view to `write`: format, attribute and value.
fn attributes(parts: Parts<'_, '_>, numbers: &Numbers, id: SectionId, write: &mut impl FnMut(u8, u8, &[u8])) {
    let merged = parts.merged;
    let section = merged.section(id);
    if let (Kind::MercuryInfo, Some(of)) = (section.kind, section.of) {
        records(parts, numbers, of, parts.resources.records(merged, of), View::Mercury, write);
        if merged.well_known.info == Some(of) {
            records(parts, numbers, of, &parts.resources.of_module, View::Mercury, write);
        }
        return;
    }
    records(parts, numbers, id, parts.resources.records(merged, id), View::Code, write);
    if merged.well_known.info == Some(id) {
        records(parts, numbers, id, &parts.resources.of_module, View::Code, write);
    }
    if let Some(more) = merged.system_externs.get(&id) {
        let lists = |record: &InfoRecord<'_>| match &record.value {
            InfoValue::Symbols(list) => listed(merged, list).next().is_some(),
            _ => false,
        };
        if !parts.resources.records(merged, id).iter().any(lists) {
            write(format::SIZED, attr::EXTERNS, &symbols(numbers, more));
        }
    }
    let of_code = merged.code_records(id);
    let is_last = |record: &InfoRecord<'_>| record.attr == attr::FINALIZED;
    let (of_code, last) = of_code.split_at(of_code.iter().position(is_last).unwrap_or(of_code.len()));
    records(parts, numbers, id, of_code, View::Code, write);
    // Where the handles of textures and surfaces are.
    let parameters = if parts.is_mercury() { merged.parameters_of(id) } else { None };
    if parameters.is_some_and(|constant| parts.textures.has_handles(merged, constant)) {
        for bank in [attr::BINDLESS_TEXTURE_BANK, attr::BINDLESS_SURFACE_BANK] {
            write(format::BYTE, bank, &[0, 0]);
        }
    }
    records(parts, numbers, id, last, View::Code, write);
}

/// What stays of a list of undefined functions: those that are, and kernels to be launched.
fn listed<'a>(merged: &'a Merged<'_>, list: &'a [SymbolId]) -> impl Iterator<Item = &'a SymbolId> {
    list.iter().filter(|id| {
        let symbol = merged.symbol(**id);
        !symbol.is_defined() || symbol.other & solder_cubin::raw::STO_ENTRY != 0
    })
}

fn records(
    parts: Parts<'_, '_>,
    numbers: &Numbers,
    id: SectionId,
    records: &[InfoRecord<'_>],
    view: View,
    write: &mut impl FnMut(u8, u8, &[u8]),
) {
    let merged = parts.merged;
    for record in records {
        if record.attr == attr::SUQ_USED && parts.textures.has_surfaces {
            continue;
        }
        if view == View::Code && parts.sm >= mercury::FROM && record.attr == attr::MERCURY_FINALIZER_OPTIONS {
            continue;
        }
        let mut write = |value: &[u8]| write(record.format, record.attr, value);
        match &record.value {
            InfoValue::Symbol(symbol, value) => {
                // Kernels show how many registers the functions they reach need.
                let shows_all = record.attr == attr::REGCOUNT && !parts.relocatable;
                let registers = if shows_all { parts.resources.registers_of(merged, *symbol) } else { None };
                let value = registers.unwrap_or(*value);
                let of_code = || parts.resources.in_code.value(record.attr, *symbol, value);
                write(&pair(numbers.symbol(*symbol), if view == View::Code { of_code() } else { value }));
            }
            InfoValue::Parameters(value) => {
                let symbol = merged.parameters_of(id).and_then(|constant| merged.section(constant).symbol);
                write(&pair(symbol.map_or(0, |s| numbers.symbol(s)), *value));
            }
            InfoValue::Operand(symbol, _) if numbers.symbol(*symbol) == 0 => {}
            InfoValue::Operand(symbol, rest) => {
                write(&[&numbers.symbol(*symbol).to_le_bytes()[..], rest].concat());
            }
            InfoValue::Symbols(list) => {
                let mut bytes = symbols(numbers, listed(merged, list));
                if view == View::Code && record.attr == attr::EXTERNS && !bytes.is_empty() {
                    bytes
                        .extend(merged.system_externs.get(&id).into_iter().flat_map(|l| symbols(numbers, l)));
                }
                if record.attr != attr::EXTERNS || !bytes.is_empty() {
                    write(&bytes);
                }
            }
            InfoValue::Bytes(_)
                if record.attr == attr::SECOND_SW_WAR && parts.resources.second_workaround.contains(&id) =>
            {
                write(&[1, 0]);
            }
            InfoValue::Bytes(bytes) => write(bytes),
            InfoValue::Views(views) => write(views[usize::from(view == View::Code)]),
            InfoValue::Owned(bytes) => write(bytes),
        }
    }
}

fn symbols<'a>(numbers: &Numbers, list: impl IntoIterator<Item = &'a SymbolId>) -> Vec<u8> {
    list.into_iter().flat_map(|symbol| numbers.symbol(*symbol).to_le_bytes()).collect()
}

fn call_graph(merged: &Merged<'_>, numbers: &Numbers, graph: &GraphRecords, view: View) -> Vec<u8> {
    let mut out = Vec::new();
    let mut system: Vec<_> = merged.system_callers.iter().filter(|_| view == View::Code).collect();
    system.sort_by_key(|caller| caller.function);
    let symbol = |caller: &SystemCaller| numbers.symbol(merged.functions[caller.function as usize].symbol);
    let system = system.into_iter().flat_map(|caller| {
        caller.new_callees.iter().flat_map(move |callee| pair(symbol(caller), numbers.symbol(*callee)))
    });
    let system: Vec<u8> = system.collect();
    let number = |function: u32| numbers.symbol(merged.functions[function as usize].symbol);
    for (part, (marker, _)) in MARKERS.iter().enumerate() {
        out.extend(pair(0, *marker));
        if part == 0 {
            out.extend_from_slice(&system);
        }
        for (index, function) in merged.functions.iter().enumerate() {
            let from = numbers.symbol(function.symbol);
            match part {
                0 => graph.calls.of(index).iter().for_each(|to| out.extend(pair(from, number(*to)))),
                1 => graph.taken[index].iter().for_each(|p| out.extend(pair(from, numbers.name(*p)))),
                2 => graph.indirect.of(index).iter().for_each(|p| out.extend(pair(from, numbers.name(*p)))),
                _ => graph.takes.of(index).iter().for_each(|to| out.extend(pair(from, number(*to)))),
            }
        }
    }
    out
}

/// Whether a section holds the relocations that are kept. Those of handles are made anew.
pub fn is_relocations(parts: Parts<'_, '_>, id: SectionId) -> bool {
    let section = parts.merged.section(id);
    match section.kind {
        Kind::Resolved | Kind::MercuryResolved => true,
        Kind::Relocations => !parts.merged.is_handle_table(id),
        Kind::MercuryRelocations => !section.of.is_some_and(|of| parts.merged.is_handle_table(of)),
        _ => false,
    }
}

fn has_addends(section: &OutputSection<'_>) -> bool {
    section.sh_type != SHT_REL
}

/// The size of an entry in a section of relocations.
pub fn entry_size(section: &OutputSection<'_>) -> usize {
    if has_addends(section) { size_of::<Rela>() } else { size_of::<Rel>() }
}

/// Writes the relocations that are kept, from `start` of their section on.
pub fn fill_relocations(
    parts: Parts<'_, '_>,
    numbers: &Numbers,
    id: SectionId,
    start: u64,
    place: &mut [u8],
) {
    let section = parts.merged.section(id);
    let rela = has_addends(section);
    let places = place.chunks_exact_mut(entry_size(section));
    let first = start as usize / entry_size(section);
    for (entry, place) in parts.relocated.entries(parts.merged, parts.relocatable, id, first).zip(places) {
        let entry = relocation_entry(numbers, &entry);
        if rela {
            place.copy_from_slice(entry.as_bytes());
        } else {
            let Rela { offset, r_type, symbol, .. } = entry;
            place.copy_from_slice(Rel { offset, r_type, symbol }.as_bytes());
        }
    }
}

/// The handles of textures, samplers and surfaces, last one first.
fn handles(
    parts: Parts<'_, '_>,
    numbers: &Numbers,
    table: SectionId,
    constant: SectionId,
    view: View,
) -> Vec<u8> {
    let rela = parts.is_mercury() || parts.merged.section(table).sh_type == solder_cubin::raw::SHT_RELA;
    let mut out = Vec::new();
    for (id, offset) in parts.textures.handles(parts.merged, constant).rev() {
        let symbol = parts.merged.symbol(id);
        let (offset, r_type) = match view {
            View::Code => (offset, handle_type(symbol, parts.sm)),
            View::Mercury => (offset - parts.textures.base(), mercury_handle_type(symbol)),
        };
        let (offset, r_type, symbol) = (offset.into(), r_type.into(), numbers.symbol(id).into());
        if rela {
            out.extend(Rela { offset, r_type, symbol, addend: 0.into() }.as_bytes());
        } else {
            out.extend(Rel { offset, r_type, symbol }.as_bytes());
        }
    }
    out
}
