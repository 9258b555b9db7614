//! Order, sizes, offsets and numbers. Nothing moves after this.

mod mercury;
mod order;
mod segments;

use order::{CLASSES, LATE_MERCURY_INDICES, LEFT_OUT, alignment, class, kernel_shared, shares_bytes};
use segments::segments;

use crate::contents::{self, Contents};
use crate::image::{Numbers, Parts, Place, SectionIndices};
use crate::model::ids::{SectionId, SymbolId};
use crate::model::merged::{Kind, Merged, OutputSection};
use crate::pool::Pool;
use mercury::SectionNames;
use solder_arch::Abi;
use solder_cubin::raw::{self, FileHeader, ProgramHeader, SectionHeader};
use solder_cubin::strings::Table;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Indices of the sections before all others.
const SHSTRTAB: u32 = 1;
const STRTAB: u32 = 2;
const SYMTAB: u32 = 3;
const SYMTAB_SHNDX: u32 = 4;

/// What early releases of CUDA 12 have in its place.
const NOT_SYMTAB: u32 = 5;

/// From this many sections of code on, symbols name theirs in a table of its own; with those of Mercury, from one more on.
const MANY_SECTIONS: usize = 0xff00;

/// The finished plan of the output file.
#[derive(Debug)]
pub struct Layout<'a, 'data> {
    parts: Parts<'a, 'data>,
    /// The numbers of sections and symbols.
    pub numbers: Numbers,
    places: Places,
    /// The program headers.
    pub segments: Vec<ProgramHeader>,
    /// The header of the file.
    pub header: FileHeader,
    /// The bytes of sections that are made during the layout.
    pub contents: Contents,
    names: SectionNames,
    /// Bytes of the file.
    pub file_size: u64,
}

/// Where everything lies.
#[derive(Debug)]
struct Places {
    /// The headers of the null section and of the tables after it.
    tables: Vec<SectionHeader>,
    /// Of the sections after them, in file order.
    sections: Vec<Place>,
}

impl Layout<'_, '_> {
    /// The bytes of `.shstrtab`.
    pub fn section_names(&self) -> &[u8] {
        self.names.bytes.as_deref().unwrap_or(self.parts.merged.names.tables.bytes(Table::Sections))
    }

    /// The bytes of `.strtab`.
    pub fn symbol_names(&self) -> &[u8] {
        symbol_names(self.parts, &self.numbers)
    }

    /// How many sections the file has.
    pub fn sections(&self) -> usize {
        self.places.tables.len() + self.places.sections.len()
    }

    /// The place of a section by its number.
    pub fn place(&self, number: usize) -> Place {
        match self.places.tables.get(number) {
            Some(table) => Place { offset: table.offset.get(), size: table.size.get(), in_file: true },
            None => self.places.sections[number - self.places.tables.len()],
        }
    }

    /// The header of a section by its number. They are made when they are written: of each, only the place was not
    /// known before.
    pub fn section_header(&self, number: usize) -> SectionHeader {
        if let Some(table) = self.places.tables.get(number) {
            return *table;
        }
        let at = number - self.places.tables.len();
        let (parts, id) = (self.parts, self.numbers.section_order[at]);
        let section = parts.merged.section(id);
        let Place { offset, size, .. } = self.places.sections[at];
        let (link, info) = links(parts, &self.numbers, id);
        SectionHeader {
            name: self.names.of_twins.get(&id).copied().unwrap_or(section.name).into(),
            sh_type: section.sh_type.into(),
            flags: flags(parts, id).into(),
            addr: 0.into(),
            offset: offset.into(),
            size: size.into(),
            link: link.into(),
            info: info.into(),
            align: alignment(parts, id).into(),
            entsize: u64::from(section.entsize).into(),
        }
    }
}

fn symbol_names<'a>(parts: Parts<'a, '_>, numbers: &'a Numbers) -> &'a [u8] {
    let of_merge = parts.merged.names.tables.bytes(Table::Symbols);
    numbers.new_names.as_ref().map_or(of_merge, |names| &names.bytes)
}

fn flags(parts: Parts<'_, '_>, id: SectionId) -> u64 {
    let flags = parts.merged.section(id).flags;
    match parts.resources.barriers.get(&id) {
        Some(count) => flags & !raw::SHF_BARRIERS | raw::barriers_flag(*count),
        None => flags,
    }
}

/// Gives every section and symbol its number, and every section its place.
pub fn layout<'a, 'data>(parts: Parts<'a, 'data>) -> Layout<'a, 'data> {
    let mut numbers = number(parts);
    if parts.is_mercury() && parts.release.renews_names_with_mercury() {
        numbers.new_names = Some(mercury::symbol_names(parts, &numbers));
    }
    let mut tables = Vec::with_capacity(numbers.tables());
    tables.push(SectionHeader::default());
    let mut cursor = raw::HEADER_SIZE;
    let names = mercury::section_names(parts, &numbers);
    let mut table = |name: &[u8], sh_type, size: usize, hole: u64, align, link, info, entsize| {
        let offset = u64::next_multiple_of(cursor, align);
        cursor = offset + size as u64 + hole;
        tables.push(SectionHeader {
            name: parts.merged.names.tables.get(Table::Sections, name).unwrap_or(0).into(),
            sh_type: u32::into(sh_type),
            flags: 0.into(),
            addr: 0.into(),
            offset: offset.into(),
            size: (size as u64).into(),
            link: u32::into(link),
            info: u32::into(info),
            align: align.into(),
            entsize: u64::into(entsize),
        });
    };
    let symbols = (numbers.symbol_order.len() + 1) * size_of::<raw::Symbol>();
    let leaves_holes = parts.is_mercury() && !parts.release.renews_names_with_mercury();
    let names_late = numbers.indices == SectionIndices::Late;
    let hole = if leaves_holes && !names_late { mercury::HOLE_AFTER_NAMES } else { 0 };
    // Local symbols after the globals move the border to their end.
    let is_of_system = |id: &SymbolId| parts.merged.symbol(*id).is_of_system();
    let of_system = numbers.symbol_order.iter().rev().take_while(|id| is_of_system(id)).count();
    let all = (numbers.symbol_order.len() - of_system) as u32;
    let first_global = if numbers.mercury_symbols < all { all + 1 } else { numbers.first_global };
    let names_size =
        names.bytes.as_ref().map_or(parts.merged.names.tables.bytes(Table::Sections).len(), Vec::len);
    table(b".shstrtab", raw::SHT_STRTAB, names_size, hole, 1, 0, 0, 0);
    let name_hole = if leaves_holes { mercury::hole_after_symbol_names(parts.merged, &numbers) } else { 0 };
    table(b".strtab", raw::SHT_STRTAB, symbol_names(parts, &numbers).len(), name_hole, 1, 0, 0, 0);
    table(b".symtab", raw::SHT_SYMTAB, symbols, 0, 8, STRTAB, first_global, raw::SYMBOL_SIZE);
    if numbers.indices == SectionIndices::First {
        let indices = (numbers.symbol_order.len() + 1) * size_of::<u32>();
        table(b".symtab_shndx", raw::SHT_SYMTAB_SHNDX, indices, 0, 4, SYMTAB, 0, size_of::<u32>() as u64);
    }
    let made = Mutex::new(Contents::default());
    let mut sections = parts.pool.map_numbers(numbers.section_order.len(), |index| {
        let id = numbers.section_order[index];
        let section = parts.merged.section(id);
        Place {
            offset: alignment(parts, id),
            size: size(parts, &numbers, id, &made),
            in_file: !raw::takes_no_file_space(section.sh_type) && !section.shares_bytes,
        }
    });
    for (index, id) in numbers.section_order.iter().enumerate() {
        if !parts.is_mercury() {
            sections[index].offset = place(sections[index], false, &mut cursor);
            continue;
        }
        let is_reserved = parts.merged.section(*id).kind == Kind::MercuryReservedShared;
        let leaves_room = parts.release.leaves_room_for_reserved_twin() && is_reserved;
        sections[index].offset = match shares_bytes(parts.merged, *id) {
            Some(partner) => sections[numbers.section(partner) as usize - tables.len()].offset,
            None => place(sections[index], leaves_room, &mut cursor),
        };
    }
    let made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
    finish(parts, numbers, Places { tables, sections }, made, names, cursor)
}

fn number(parts: Parts<'_, '_>) -> Numbers {
    let merged = parts.merged;
    let mut classes = parts.pool.map_numbers(merged.sections.len(), |i| {
        let id = SectionId::at(i);
        if keeps_section(parts, id) { class(merged.section(id).kind, parts.release) } else { LEFT_OUT }
    });
    let indices = choose_indices(parts, &mut classes);
    let (of_sections, of_symbols) =
        parts.pool.join(|| number_sections(parts, &classes, indices), || choose_symbols(parts, &classes));
    let (section_order, sections) = of_sections;
    let is_table = |id: &&SectionId| merged.section(**id).kind == Kind::MercurySymbols;
    let mercury_table = parts.is_mercury().then(|| section_order.iter().rev().find(is_table)).flatten();
    let locals: usize = of_symbols.iter().map(|part| part.locals.len()).sum();
    let first_global = locals as u32 + 1;
    let globals: usize = of_symbols.iter().map(|part| part.globals.len()).sum();
    let mercury_symbols = (locals + globals) as u32;
    let (symbol_order, symbols) =
        number_symbols(merged.symbols.len(), first_global, &sections, &of_symbols, parts.pool);
    Numbers {
        mercury_table: mercury_table.map_or(0, |id| sections[id.index()]),
        sections,
        symbols,
        section_order,
        symbol_order,
        first_global,
        mercury_symbols,
        created: if indices == SectionIndices::First { created(merged) } else { Vec::new() },
        indices,
        new_names: None,
    }
}

/// The number of the first section after the tables.
fn first_section(indices: SectionIndices) -> u32 {
    if indices == SectionIndices::First { SYMTAB_SHNDX + 1 } else { SYMTAB + 1 }
}

/// Which tables symbols need to name their sections; the others are left out. The first count is that of the sections
/// that nvlink makes before the second view, those that it removes again included.
fn choose_indices(parts: Parts<'_, '_>, classes: &mut [u8]) -> SectionIndices {
    let merged = parts.merged;
    let before = SYMTAB as usize + 1;
    // The tables are made with Mercury's view, and few outputs have so many sections.
    if !parts.is_mercury() && before + classes.len() + merged.removed.len() < MANY_SECTIONS {
        return SectionIndices::None;
    }
    let is_table = |kind| matches!(kind, Kind::MercurySectionIndices | Kind::LateSectionIndices);
    let kinds = || merged.sections.iter().map(|section| section.kind);
    let made = kinds().filter(|kind| is_made_first(*kind)).count() + merged.removed.len();
    let kept = classes.iter().zip(kinds()).filter(|(class, kind)| **class != LEFT_OUT && !is_table(*kind));
    let indices = match () {
        () if before + made >= MANY_SECTIONS => SectionIndices::First,
        () if before + kept.count() > MANY_SECTIONS => SectionIndices::Late,
        () => SectionIndices::None,
    };
    for (class, kind) in classes.iter_mut().zip(kinds()).filter(|(_, kind)| is_table(*kind)) {
        *class = match (indices, kind) {
            (SectionIndices::First, Kind::MercurySectionIndices)
            | (SectionIndices::Late, Kind::LateSectionIndices) => *class,
            (SectionIndices::Late, _) => LATE_MERCURY_INDICES,
            _ => LEFT_OUT,
        };
    }
    indices
}

/// Whether nvlink makes sections of this kind before the second view, which it makes from the first.
fn is_made_first(kind: Kind) -> bool {
    let is_late = matches!(kind, Kind::LateKernelConstant | Kind::LateSectionIndices | Kind::LateRelocations);
    !kind.is_of_mercury() && !is_late
}

/// The numbers of sections at their creation.
fn created(merged: &Merged<'_>) -> Vec<u32> {
    let mut removed = merged.removed.iter().peekable();
    let mut next = first_section(SectionIndices::First);
    let number = |(index, section): (usize, &OutputSection<'_>)| {
        while removed.next_if(|before| before.index() <= index).is_some() {
            next += 1;
        }
        if !is_made_first(section.kind) {
            return 0;
        }
        next += 1;
        next - 1
    };
    merged.sections.iter().enumerate().map(number).collect()
}

/// The sections in file order, and the number of each.
fn number_sections(
    parts: Parts<'_, '_>,
    classes: &[u8],
    indices: SectionIndices,
) -> (Vec<SectionId>, Vec<u32>) {
    let order = in_file_order(parts, classes);
    let mut numbers = vec![0; classes.len()];
    for (number, id) in (first_section(indices)..).zip(&order) {
        numbers[id.index()] = number;
    }
    (order, numbers)
}

/// Symbols that stay, of a part of all.
#[derive(Default)]
struct Symbols {
    locals: Vec<SymbolId>,
    globals: Vec<SymbolId>,
    /// The parameters of kernels, which the Mercury view does not have: they come after all others.
    late: Vec<(SectionId, SymbolId)>,
    /// Functions of the system, which it has neither: they are the end.
    of_system: Vec<SymbolId>,
}

/// Symbols that a thread takes at a time.
const SYMBOLS_AT_A_TIME: usize = 16 << 10;

fn choose_symbols(parts: Parts<'_, '_>, classes: &[u8]) -> Vec<Symbols> {
    let count = parts.merged.symbols.len();
    let starts: Vec<usize> = (0..count).step_by(SYMBOLS_AT_A_TIME).collect();
    parts.pool.map(&starts, true, |start| {
        choose_among(parts, classes, *start..count.min(start + SYMBOLS_AT_A_TIME))
    })
}

fn choose_among(parts: Parts<'_, '_>, classes: &[u8], range: Range<usize>) -> Symbols {
    let merged = parts.merged;
    let mut order = Symbols::default();
    for (index, symbol) in range.clone().zip(&merged.symbols[range]) {
        let section = symbol.section.filter(|_| symbol.kind == raw::STT_SECTION);
        let is_late = section.is_some_and(|s| merged.section(s).kind == Kind::LateKernelConstant);
        let lacks_section = symbol.kind == raw::STT_SECTION && !keeps_section_symbol(parts, classes, section);
        if symbol.dropped || lacks_section {
            continue;
        }
        let id = SymbolId::at(index);
        match section {
            Some(section) if is_late => order.late.push((section, id)),
            _ if symbol.is_of_system() => order.of_system.push(id),
            _ if symbol.among_globals => order.globals.push(id),
            _ => order.locals.push(id),
        }
    }
    order
}

/// The symbols in file order, and the number of each.
fn number_symbols(
    count: usize,
    first_global: u32,
    sections: &[u32],
    chosen: &[Symbols],
    pool: &Pool,
) -> (Vec<SymbolId>, Vec<u32>) {
    let mut order = Vec::with_capacity(count);
    for part in chosen {
        order.extend_from_slice(&part.locals);
    }
    for part in chosen {
        order.extend_from_slice(&part.globals);
    }
    let late = chosen.iter().flat_map(|part| &part.late);
    let mut late: Vec<_> = late.map(|(section, id)| (sections[section.index()], *id)).collect();
    late.sort_by_key(|(section, _)| *section);
    let first_late = order.len() as u32 + 1;
    order.extend(late.iter().map(|(_, id)| *id));
    order.extend(chosen.iter().flat_map(|part| &part.of_system));
    let mut numbers = vec![0; count];
    let (mut local, mut global) = (1, first_global);
    let mut parts = Vec::with_capacity(chosen.len());
    for (part, numbers) in chosen.iter().zip(numbers.chunks_mut(SYMBOLS_AT_A_TIME)) {
        parts.push((part, local, global, numbers));
        local += part.locals.len() as u32;
        global += part.globals.len() as u32;
    }
    pool.for_each_part(parts, |(part, local, global, numbers)| {
        let locals = (local..).zip(&part.locals);
        for (number, id) in locals.chain((global..).zip(&part.globals)) {
            numbers[id.index() % SYMBOLS_AT_A_TIME] = number;
        }
    });
    for (number, id) in (first_late..).zip(&order[first_late as usize - 1..]) {
        numbers[id.index()] = number;
    }
    (order, numbers)
}

/// By class, then by creation; the parameters of kernels without textures by that of their code, and twins by that of
/// the sections they belong to.
fn in_file_order(Parts { merged, release, .. }: Parts<'_, '_>, classes: &[u8]) -> Vec<SectionId> {
    let mut ends = [0; CLASSES];
    for class in classes {
        ends[usize::from(*class)] += 1;
    }
    ends[usize::from(LEFT_OUT)] = 0;
    for class in 1..CLASSES {
        ends[class] += ends[class - 1];
    }
    let mut order = vec![SectionId::at(0); ends[CLASSES - 1]];
    for (index, class) in classes.iter().enumerate().rev() {
        if *class != LEFT_OUT {
            let place = &mut ends[usize::from(*class)];
            *place -= 1;
            order[*place] = SectionId::at(index);
        }
    }
    // What was an end is a start now.
    let first_twin = ends[usize::from(class(Kind::LateKernelConstant, release))];
    let of = |id: SectionId| (classes[id.index()], merged.section(id).of.unwrap_or(id));
    order[first_twin..].sort_by_key(|id| of(*id));
    order
}

fn keeps_section(parts: Parts<'_, '_>, id: SectionId) -> bool {
    let section = parts.merged.section(id);
    match section.kind {
        Kind::KernelShared => kernel_shared(parts, id).is_some(),
        Kind::FileShared => parts.shared.keeps_file_section,
        Kind::Info => !parts.merged.info_records(id).is_empty() || !parts.resources.of_module.is_empty(),
        Kind::FunctionConstant(_) => section.size > 0,
        Kind::Constant(_) if parts.merged.packed => section.size > 0,
        Kind::Relocations if parts.merged.is_handle_table(id) => {
            section.of.is_some_and(|constant| parts.textures.has_handles(parts.merged, constant))
        }
        Kind::Resolved | Kind::MercuryResolved => parts.relocated.kept(id) > 0,
        Kind::Relocations => {
            let keeps = |id: SectionId| parts.relocated.kept(id) > 0;
            keeps(id) || section.twin.is_some_and(keeps)
        }
        Kind::MercuryRelocations => {
            let of_handles = section.of.filter(|of| parts.merged.is_handle_table(*of));
            of_handles.is_some_and(|of| keeps_section(parts, of)) || parts.relocated.kept(id) > 0
        }
        Kind::MercuryConstant => section.of.is_some_and(|of| keeps_section(parts, of)),
        Kind::MercuryInfo | Kind::MercuryPrototype => section.of.is_some_and(|of| keeps_section(parts, of)),
        Kind::LateRelocations => {
            let others = section.of.and_then(|text| parts.merged.section(text).rela);
            !others.is_some_and(|others| keeps_section(parts, others))
        }
        Kind::Prototype => !parts.notes.graph.prototypes.is_empty(),
        _ => true,
    }
}

fn keeps_section_symbol(parts: Parts<'_, '_>, classes: &[u8], section: Option<SectionId>) -> bool {
    // Shared memory whose size only the launch knows.
    let empty = if parts.is_mercury() { parts.shared.reserved } else { 0 };
    section.is_some_and(|id| {
        classes[id.index()] != LEFT_OUT
            && match parts.merged.section(id).kind {
                Kind::FileShared => {
                    let debug = parts.shared.debug.as_ref();
                    parts.relocatable || debug.is_some_and(|d| d.file_section.size > empty)
                }
                Kind::Debug => {
                    let section = parts.merged.section(id);
                    let twin = section.twin.map_or(0, |twin| parts.merged.section(twin).size);
                    section.size > 0 || twin > 0
                }
                Kind::KernelShared => kernel_shared(parts, id).is_some_and(|s| s.size > empty),
                _ => true,
            }
    })
}

/// The offset of a section; moves the cursor past it, also one without bytes if it leaves room for them.
fn place(section: Place, leaves_room: bool, cursor: &mut u64) -> u64 {
    // All but damaged ones are aligned to a power of two, which takes no division.
    let offset = match section.offset.max(1) {
        align if align.is_power_of_two() => cursor.saturating_add(align - 1) & !(align - 1),
        align => cursor.next_multiple_of(align),
    };
    let has_room = section.in_file || leaves_room;
    *cursor = if has_room { offset.saturating_add(section.size) } else { offset };
    offset
}

/// The size of a section; if that is found by making its bytes, they are kept.
fn size(parts: Parts<'_, '_>, numbers: &Numbers, id: SectionId, made: &Mutex<Contents>) -> u64 {
    let merged = parts.merged;
    let section = merged.section(id);
    match section.kind {
        Kind::KernelShared => kernel_shared(parts, id).map_or(0, |shared| shared.size),
        Kind::FileShared if parts.relocatable => section.size,
        Kind::FileShared => {
            let empty = if parts.is_mercury() { parts.shared.reserved } else { 0 };
            parts.shared.debug.as_ref().map_or(empty, |debug| debug.file_section.size)
        }
        Kind::Global => section.size,
        _ if section.shares_bytes => contents::size(parts, numbers, section.of.unwrap_or(id)),
        _ => match contents::make(parts, numbers, id) {
            None => contents::size(parts, numbers, id),
            Some(bytes) => {
                let size = bytes.len() as u64;
                made.lock().unwrap_or_else(PoisonError::into_inner).insert(id, bytes);
                size
            }
        },
    }
}

/// `sh_link` and `sh_info`.
fn links(parts: Parts<'_, '_>, numbers: &Numbers, id: SectionId) -> (u32, u32) {
    let known = &parts.merged.well_known;
    let section = parts.merged.section(id);
    let of = section.of.map_or(0, |of| numbers.section(of));
    let number = |id: Option<SectionId>| id.map_or(0, |id| numbers.section(id));
    let symbols = if parts.release.links_to_symbols() { SYMTAB } else { NOT_SYMTAB };
    match section.kind {
        Kind::Text => {
            let function = section.function.map_or(0, |f| numbers.symbol(f));
            (symbols, function | header_registers(parts, id) << 24)
        }
        Kind::CudaNote => (number(known.tool_note), number(known.compat)),
        Kind::KeptNote(link) => (link.into(), 0),
        Kind::Info | Kind::CallGraph | Kind::Prototype => (symbols, 0),
        Kind::FunctionInfo | Kind::Relocations | Kind::Resolved | Kind::LateRelocations => (symbols, of),
        Kind::KernelConstant | Kind::LateKernelConstant | Kind::FunctionConstant(_) | Kind::KernelShared => {
            (0, of)
        }
        Kind::Capsule => {
            let function = section.of.and_then(|text| parts.merged.section(text).function);
            (numbers.mercury_table, function.map_or(0, |f| numbers.symbol(f)))
        }
        Kind::MercuryConstant => {
            let text = section.of.and_then(|constant| parts.merged.section(constant).of);
            (0, number(text.and_then(|text| parts.merged.section(text).twin)))
        }
        Kind::MercuryInfo => {
            let text = section.of.and_then(|info| parts.merged.section(info).of);
            (numbers.mercury_table, number(text.and_then(|text| parts.merged.section(text).twin)))
        }
        Kind::MercuryCallGraph | Kind::MercuryPrototype | Kind::MercurySectionIndices => {
            (numbers.mercury_table, 0)
        }
        Kind::MercuryRelocations | Kind::MercuryResolved => {
            (numbers.mercury_table, number(parts.merged.relocated_by(id)))
        }
        Kind::MercurySymbols => (STRTAB, numbers.first_global),
        Kind::LateSectionIndices => (SYMTAB, 0),
        _ => (0, 0),
    }
}

/// The registers that the header of code names. Early releases of CUDA 12 name there what a kernel inherits.
fn header_registers(parts: Parts<'_, '_>, id: SectionId) -> u32 {
    let section = parts.merged.section(id);
    let own = u32::from(section.registers);
    if parts.release.keeps_header_registers() {
        return own;
    }
    let resources = parts.resources;
    let function = section.function.and_then(|symbol| parts.merged.function_of_symbol(symbol));
    let inherited =
        function.map(|at| (resources.registers[at as usize], resources.own[at as usize].registers));
    inherited.filter(|(all, own)| all > own).map_or(own, |(all, _)| all)
}

fn finish<'a, 'data>(
    parts: Parts<'a, 'data>,
    numbers: Numbers,
    mut places: Places,
    contents: Contents,
    names: SectionNames,
    end: u64,
) -> Layout<'a, 'data> {
    let all = places.tables.len() + places.sections.len();
    let many = match numbers.indices {
        SectionIndices::None => false,
        SectionIndices::First => all > MANY_SECTIONS,
        SectionIndices::Late => true,
    };
    let count = if many { 0 } else { all };
    if many {
        places.tables[0].size = (all as u64).into();
    }
    let aligns_headers = !parts.is_mercury() || parts.release.aligns_headers_with_mercury();
    let shoff = if aligns_headers { end.next_multiple_of(8) } else { end };
    let phoff = shoff + raw::SECTION_HEADER_SIZE * all as u64;
    let segments = match (parts.relocatable, parts.is_mercury()) {
        (true, _) => Vec::new(),
        (false, true) => mercury::segments(parts, &numbers, &places.sections, phoff),
        (false, false) => segments(parts, &numbers, &places.sections, phoff),
    };
    let header = FileHeader {
        ident: ident(parts),
        e_type: if parts.relocatable { raw::ET_REL } else { raw::ET_EXEC }.into(),
        machine: raw::EM_CUDA.into(),
        version: match parts.release.abi {
            Abi::Seven => parts.release.toolkit,
            Abi::Eight => 1,
        }
        .into(),
        entry: 0.into(),
        phoff: if segments.is_empty() { 0 } else { phoff }.into(),
        shoff: shoff.into(),
        flags: file_flags(parts, &numbers).into(),
        ehsize: (raw::HEADER_SIZE as u16).into(),
        phentsize: if parts.relocatable && parts.is_mercury() { 0 } else { raw::PROGRAM_HEADER_SIZE as u16 }
            .into(),
        phnum: (segments.len() as u16).into(),
        shentsize: (raw::SECTION_HEADER_SIZE as u16).into(),
        shnum: (count as u16).into(),
        shstrndx: (SHSTRTAB as u16).into(),
    };
    let file_size = phoff + raw::PROGRAM_HEADER_SIZE * segments.len() as u64;
    Layout { parts, numbers, places, segments, header, contents, names, file_size }
}

fn ident(parts: Parts<'_, '_>) -> [u8; 16] {
    let [os, version] = match parts.release.abi {
        Abi::Seven => [raw::OLDER_OSABI, raw::OLDER_ABI_VERSION],
        Abi::Eight => [raw::OSABI_CUDA, raw::ABI_VERSION],
    };
    let mut ident = [0; 16];
    ident[..4].copy_from_slice(&raw::ELF_MAGIC);
    ident[4..9].copy_from_slice(&[raw::ELFCLASS64, 1, 1, os, version]);
    ident
}

/// The flags of the header: the architecture, the kind of code and where the note with the toolkit is.
fn file_flags(parts: Parts<'_, '_>, numbers: &Numbers) -> u32 {
    if parts.release.abi == Abi::Seven {
        return FileHeader::older_flags(parts.sm, parts.target.has_a(), parts.notes.virtual_sm);
    }
    let code = if parts.is_mercury() { raw::EF_MERCURY } else { raw::EF_SASS };
    let cuda_note = parts.merged.well_known.cuda_note.map_or(0, |id| numbers.section(id));
    cuda_note << 24 | u32::from(parts.sm) << 8 | code
}
