//! The object with the new code, and everything in it that names places in the code.

use super::function::Function;
use super::object::{self, Object, is_debug, is_relocations};
use super::older::CUDA_13;
use crate::Places;
use crate::instruction::SIZE;
use bstr::BStr;
use solder_cubin::Section;
use solder_cubin::frames::{Frame, Frames};
use solder_cubin::info::{self, attr};
use solder_cubin::lines::{self, REGISTER_TABLE, is_line_table};
use solder_cubin::mercury::reloc;
use solder_cubin::raw::{self, Rela, SectionHeader, Symbol};
use zerocopy::IntoBytes;

/// Attributes of functions that are lists of places.
const PLACES: [u8; 11] = [EXITS, 0x1d, 0x25, 0x27, 0x28, 0x31, 0x3a, 0x46, 0x47, STACK_TRAPS, BOUND_COPIES];
/// Where a damaged stack ends the program.
const STACK_TRAPS: u8 = 0x57;
/// Copies that pass over what lies out of bounds.
const BOUND_COPIES: u8 = 0x65;
/// Of exits: the instructions themselves, not what was inserted before them.
const EXITS: u8 = 0x1c;
/// Lists of a place and something about it, and how many words that is: atomics of 16 bits and their register, barriers, loads whose
/// result is used in part.
const WITH_PLACES: [(u8, usize); 3] = [(0x2e, 2), (0x39, 4), (0x44, 2)];

/// Places, each with the registers of an arrival at a barrier, up to a word of all ones.
const REGISTER_MAP: u8 = 0x40;

/// A list of records that begin with their kind: a place; a place and a text; a text.
const ANNOTATIONS: u8 = 0x55;
const AT_PLACE: u32 = 1;
const TEXT_AT_PLACE: u32 = 2;
const TEXT: u32 = 3;

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn put(image: &mut [u8], at: usize, bytes: &[u8]) -> Option<()> {
    image.get_mut(at..at.checked_add(bytes.len())?)?.copy_from_slice(bytes);
    Some(())
}

/// The object with the code of these functions. `None` if something that names a place cannot be moved.
pub fn with_functions(object: &Object<'_, '_>, functions: &[Function<'_, '_>]) -> Option<Vec<u8>> {
    let mut by_text = vec![None; object.cubin.sections.len()];
    for (index, function) in functions.iter().enumerate() {
        by_text[function.text.index as usize] = Some(index);
    }
    let mut image = Image { object, functions, by_text, bytes: object.cubin.bytes.to_vec() };
    for function in functions {
        image.put_section(function.capsule_section, &function.capsule)?;
        image.put_section(function.text, &function.code)?;
    }
    image.move_symbols()?;
    for list in object.sections(is_relocations) {
        image.move_relocations(list)?;
    }
    for list in object.sections(object::is_function_info) {
        image.move_attributes(list)?;
    }
    for constants in object.sections(object::is_function_constant) {
        image.move_jump_tables(constants)?;
    }
    for section in object.sections(is_debug) {
        match &**section.name {
            b".debug_frame" => image.move_frames(section)?,
            REGISTER_TABLE => image.move_registers(section)?,
            name if is_line_table(name) => image.move_lines(section)?,
            _ => {}
        }
    }
    Some(image.bytes)
}

/// An object that is being changed.
struct Image<'a, 'data> {
    object: &'a Object<'a, 'data>,
    functions: &'a [Function<'a, 'data>],
    /// By section: the function whose code it is.
    by_text: Vec<Option<usize>>,
    bytes: Vec<u8>,
}

impl<'a, 'data> Image<'a, 'data> {
    /// Writes into a section.
    fn put(&mut self, section: &Section<'_>, at: usize, bytes: &[u8]) -> Option<()> {
        let offset = usize::try_from(section.header.offset.get()).ok()?;
        put(&mut self.bytes, offset.checked_add(at)?, bytes)
    }

    /// Gives a section other contents: in its place, or after the file if there are more of them.
    fn put_section(&mut self, section: &Section<'_>, contents: &[u8]) -> Option<()> {
        let mut header = *section.header;
        if contents.len() > section.data.len() {
            self.bytes.resize(self.bytes.len().next_multiple_of(SIZE), 0);
            header.offset = (self.bytes.len() as u64).into();
            self.bytes.extend(contents);
        } else {
            self.put(section, 0, contents)?;
        }
        header.size = (contents.len() as u64).into();
        let table = usize::try_from(self.object.cubin.header.shoff.get()).ok()?;
        let at = table.checked_add(section.index as usize * size_of::<SectionHeader>())?;
        put(&mut self.bytes, at, header.as_bytes())
    }

    /// The changed function whose code is in a section.
    fn function_in(&self, section: u32) -> Option<&'a Function<'a, 'data>> {
        let function = self.by_text.get(section as usize).copied().flatten()?;
        Some(&self.functions[function])
    }

    fn function_of(&self, symbol: &Symbol) -> Option<&'a Function<'a, 'data>> {
        self.function_in(symbol.shndx.get().into())
    }

    fn move_symbols(&mut self) -> Option<()> {
        let cubin = self.object.cubin;
        let table = cubin.section_at(cubin.symtab)?;
        for (index, symbol) in cubin.symbols.iter().enumerate() {
            let Some(function) = self.function_of(symbol) else { continue };
            let (start, size) = (symbol.value.get(), symbol.size.get());
            let mut moved = *symbol;
            moved.value = function.place(start).into();
            if size > 0 {
                let end = function.place(start.checked_add(size)?);
                moved.size = end.saturating_sub(function.place(start)).into();
            }
            self.put(table, index * size_of::<Symbol>(), moved.as_bytes())?;
        }
        Some(())
    }

    fn move_relocations(&mut self, list: &Section<'_>) -> Option<()> {
        let size = size_of_entry(list);
        let of_code = self.function_in(list.info());
        for (index, entry) in list.relocations().ok()?.iter().enumerate() {
            let mut moved = entry;
            if let Some(function) = of_code {
                moved.offset = function.place(entry.offset.get()).into();
            }
            let symbol = self.object.cubin.symbols.get(entry.symbol.get() as usize)?;
            if entry.addend.get() != 0
                && let Some(function) = self.function_of(symbol)
            {
                let place = symbol.value.get().checked_add_signed(entry.addend.get())?;
                let distance = function.place(place).wrapping_sub(function.place(symbol.value.get()));
                moved.addend = distance.cast_signed().into();
            }
            if moved != entry {
                self.put(list, index * size, &moved.as_bytes()[..size])?;
            }
        }
        Some(())
    }

    fn move_attributes(&mut self, list: &Section<'_>) -> Option<()> {
        let Some(function) = self.function_in(list.info()) else { return Some(()) };
        let mut at = 0;
        for record in info::records(list.data) {
            let record = record.ok()?;
            let payload = at + record.size() - record.payload.len();
            at += record.size();
            if record.format != info::format::SIZED {
                continue;
            }
            for index in places_of(&record) {
                let old = u64::from(record.word(index * 4)?);
                let is_exit = record.attr == EXITS;
                let place = if is_exit { function.place_of_last(old) } else { function.place_of_named(old) };
                self.put(list, payload + index * 4, &(place as u32).to_le_bytes())?;
            }
        }
        Some(())
    }

    /// The words that Mercury says are places.
    fn move_jump_tables(&mut self, constants: &Section<'_>) -> Option<()> {
        let Some(function) = self.function_in(constants.info()) else { return Some(()) };
        let twin = self.object.twin_of_constants(constants)?;
        let is_list = |s: &Section<'_>| s.sh_type() == raw::SHT_MERC_RELA;
        for list in self.object.sections(is_list).filter(|s| s.info() == twin) {
            let entries: &[Rela] = list.entries().ok()?;
            for entry in entries.iter().filter(|entry| entry.r_type.get() == reloc::OFFSET_32) {
                let at = usize::try_from(entry.offset.get()).ok()?;
                let place = function.place(u64::from(word(constants.data, at)?));
                self.put(constants, at, &(place as u32).to_le_bytes())?;
            }
        }
        Some(())
    }

    /// Where in a section, as relocations say, addresses of changed code are: in order, each with the function.
    fn addresses(&self, section: &Section<'_>) -> Option<Vec<(u64, usize)>> {
        let mut addresses = Vec::new();
        for list in self.object.sections(is_relocations).filter(|s| s.info() == section.index) {
            for entry in list.relocations().ok()?.iter() {
                let symbol = self.object.cubin.symbols.get(entry.symbol.get() as usize)?;
                let function = self.by_text.get(usize::from(symbol.shndx.get())).copied().flatten();
                addresses.extend(function.map(|function| (entry.offset.get(), function)));
            }
        }
        addresses.sort_unstable();
        Some(addresses)
    }

    fn move_frames(&mut self, section: &Section<'_>) -> Option<()> {
        let addresses = self.addresses(section)?;
        for frame in Frames::of(section.data) {
            let Ok(found) = addresses.binary_search_by_key(&frame.address(), |(at, _)| *at) else { continue };
            let function = &self.functions[addresses[found].1];
            let mut fde = frame.fde.to_vec();
            let range = u64::from_le_bytes(frame.range_of_code().try_into().ok()?);
            put(&mut fde, Frame::CODE_RANGE, &function.place(range).to_le_bytes())?;
            move_frame_instructions(function, fde.get_mut(Frame::CODE_RANGE + 8..)?)?;
            self.put(section, usize::try_from(frame.range.start).ok()?, &fde)?;
        }
        Some(())
    }

    fn move_lines(&mut self, table: &Section<'_>) -> Option<()> {
        let mut contents = Vec::with_capacity(table.data.len());
        let mut shifts = Vec::new();
        let addresses = self.addresses(table)?;
        for unit in lines::units(table.data)? {
            let start = contents.len();
            let header = &table.data[unit.header];
            contents.extend(header);
            for sequence in unit.sequences {
                shifts.push((sequence.start, contents.len()));
                let first = addresses.partition_point(|(at, _)| *at < sequence.start as u64);
                let inside = addresses[first..].iter().take_while(|(at, _)| *at < sequence.end as u64);
                let data = &table.data[sequence.clone()];
                match inside.map(|(_, function)| *function).min() {
                    Some(function) => {
                        let place = |at| self.functions[function].place(at);
                        contents.extend(lines::moved(header, data, place)?);
                    }
                    None => contents.extend(data),
                }
            }
            let length = u32::try_from(contents.len() - start - size_of::<u32>()).ok()?;
            put(&mut contents, start, &length.to_le_bytes())?;
        }
        for list in self.object.sections(is_relocations).filter(|s| s.info() == table.index) {
            let size = size_of_entry(list);
            for (index, entry) in list.relocations().ok()?.iter().enumerate() {
                let at = usize::try_from(entry.offset.get()).ok()?;
                let before = shifts.partition_point(|(from, _)| *from <= at).checked_sub(1);
                let Some((from, to)) = before.map(|before| shifts[before]) else { continue };
                self.put(list, index * size, &((at - from + to) as u64).to_le_bytes())?;
            }
        }
        self.put_section(table, &contents)
    }

    fn move_registers(&mut self, table: &Section<'_>) -> Option<()> {
        for function in self.functions {
            let name = self.object.owner_name(function.text)?;
            let starts = self.starts_of_registers(table, function, name).unwrap_or_default();
            let ranges = lines::places_of(table.data, |function| function == name);
            for (index, range) in ranges.into_iter().enumerate() {
                for at in range.clone().step_by(size_of::<u32>()) {
                    let place = function.place(u64::from(word(table.data, at)?));
                    self.put(table, at, &(place as u32).to_le_bytes())?;
                }
                if let Some(Some(start)) = starts.get(index) {
                    self.put(table, range.start, &(*start as u32).to_le_bytes())?;
                }
            }
        }
        Some(())
    }

    /// Where the ranges of a register table begin, of an object of 12.8 or 12.9: nvlink makes them from Mercury's, with the code as it is now, so
    /// that they change where the `NOP` after a `WARPSYNC` goes. `None` for other objects, whose ranges move with the code, and where the two
    /// tables are not of the same variables (older/blackwell-registers).
    fn starts_of_registers(
        &self,
        table: &Section<'_>,
        function: &Function<'_, '_>,
        name: &BStr,
    ) -> Option<Vec<Option<u64>>> {
        self.object.toolkit().filter(|toolkit| *toolkit < CUDA_13)?;
        let only = |data| {
            let mut of_name = lines::described(data)?.into_iter().filter(|function| function.name == name);
            of_name.next().filter(|_| of_name.next().is_none())
        };
        let mercury = self.object.twin_of(table)?.data;
        let (machine, twin) = (only(table.data)?, only(mercury)?);
        let order = twin.by_register();
        let is_same = order.iter().map(|at| twin.variables[*at]).eq(machine.variables.iter().copied());
        let places = Places::of(&function.code, &function.capsule).filter(|_| is_same)?;
        let ranges = lines::places_of(mercury, |function| function == name);
        let start = |at: &usize| places.begin_of_range(word(mercury, ranges.get(*at)?.start)?.into());
        Some(order.iter().map(start).collect())
    }
}

fn size_of_entry(list: &Section<'_>) -> usize {
    if list.sh_type() == raw::SHT_REL { size_of::<raw::Rel>() } else { size_of::<Rela>() }
}

/// Call frame instructions: the locations they advance to.
fn move_frame_instructions(function: &Function<'_, '_>, program: &mut [u8]) -> Option<()> {
    /// The unit of advances.
    const FACTOR: u64 = 4;
    const ADVANCE_4: u8 = 4;
    /// A register and an expression, whose length comes first.
    const EXPRESSION: u8 = 0x10;
    let mut at = 0;
    let mut location = 0;
    while at < program.len() {
        let operation = program[at];
        at += 1;
        // Numbers of variable length that follow.
        let numbers = match operation {
            ADVANCE_4 => {
                let old = location;
                location += u64::from(word(program, at)?) * FACTOR;
                let delta = function.place(location).saturating_sub(function.place(old)) / FACTOR;
                put(program, at, &(delta as u32).to_le_bytes())?;
                at += 4;
                0
            }
            0x00 | 0x0a | 0x0b | 0xc0..=0xff => 0,
            0x06..=0x08 | 0x0d | 0x0e | 0x13 | 0x80..=0xbf => 1,
            0x05 | 0x09 | 0x0c | EXPRESSION | 0x11 | 0x12 => 2,
            _ => return None,
        };
        for _ in 0..numbers {
            at += program.get(at..)?.iter().position(|byte| byte & 0x80 == 0)? + 1;
        }
        if operation == EXPRESSION {
            at += usize::from(*program.get(at - 1)?);
        }
    }
    Some(())
}

/// Which words of an attribute are places.
fn places_of(record: &info::Record<'_>) -> Vec<usize> {
    let words = record.payload.len() / 4;
    match record.attr {
        id if PLACES.contains(&id) => (0..words).collect(),
        attr::INDIRECT_BRANCH_TARGETS => {
            let mut places = Vec::new();
            let mut at = 0;
            while let Some(count) = record.word((at + 2) * 4) {
                places.push(at);
                let end = (at + 3).saturating_add(count as usize).min(words);
                places.extend(at + 3..end);
                at = end;
            }
            places
        }
        ANNOTATIONS => annotated(record, words),
        REGISTER_MAP => {
            let ends = |at: &usize| record.word(at * 4) == Some(u32::MAX);
            let after = (0..words).filter(ends).map(|end| end + 1);
            std::iter::once(0).chain(after).filter(|at| *at < words).collect()
        }
        id => {
            let list = WITH_PLACES.iter().find(|(of, _)| *of == id);
            list.map_or(Vec::new(), |(_, step)| (0..words).step_by(*step).collect())
        }
    }
}

/// The words of annotations that are places. Texts are padded to whole words.
fn annotated(record: &info::Record<'_>, words: usize) -> Vec<usize> {
    let mut places = Vec::new();
    let mut at = 0;
    while at + 1 < words {
        let text =
            |length: usize| record.word(length * 4).map_or(words, |length| length.div_ceil(4) as usize);
        match record.word(at * 4) {
            Some(AT_PLACE) => {
                places.push(at + 1);
                at += 2;
            }
            Some(TEXT_AT_PLACE) => {
                places.push(at + 1);
                at = at.saturating_add(3).saturating_add(text(at + 2));
            }
            Some(TEXT) => at = at.saturating_add(2).saturating_add(text(at + 1)),
            _ => break,
        }
    }
    places
}
