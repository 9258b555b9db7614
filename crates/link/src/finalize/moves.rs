//! Code some of whose instructions have given way to others, and everything in its object that names places in it.

use super::frames::{Frame, Frames};
use super::lines;
use crate::model::object::{Object, Role};
use solder_cubin::Section;
use solder_cubin::info::{self, attr};
use solder_cubin::mercury::reloc;
use solder_cubin::raw::{self, Rela, SectionHeader, Symbol};
use std::ops::Range;
use zerocopy::IntoBytes;

pub const INSTRUCTION: usize = 16;

/// The part of the operation that is the same for all kinds of operands.
const OPERATION: u16 = 0x1ff;

pub fn operation(instruction: &[u8]) -> u16 {
    u16::from_le_bytes([instruction[0], instruction[1]]) & OPERATION
}

/// How an instruction has a place in the code: as a distance in words, a field of this width from this bit on.
struct Distance {
    operations: &'static [u16],
    at: u32,
    width: u32,
    /// It counts from the next instruction, otherwise from the instruction itself.
    from_next: bool,
    /// The low byte stands apart.
    split: bool,
}

/// Branches and collective synchronisation; where threads meet again; the address of a place.
const DISTANCES: [Distance; 3] = [
    Distance { operations: &[0x147, 0x148, 0x149, 0x158], at: 34, width: 48, from_next: true, split: true },
    Distance { operations: &[0x145], at: 34, width: 30, from_next: false, split: false },
    Distance { operations: &[0x14e], at: 26, width: 56, from_next: true, split: false },
];
/// Others that have one, in code that calls functions within itself.
const STRANGE: [u16; 3] = [0x144, 0x14a, 0x14c];
/// Returns have one unless this bit says that they are to an address.
const RETURN: u16 = 0x150;
const ABSOLUTE: u32 = 64 + 21;

/// Behind the code come at least 8 of these, up to a multiple of 8.
const NOTHING: [u8; INSTRUCTION] = [0x18, 0x79, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0x0f, 0x00];
const NOTHINGS: usize = 8;

/// Attributes of functions that are lists of places.
const PLACES: [u8; 9] = [EXITS, 0x1d, 0x25, 0x27, 0x28, 0x31, 0x3a, 0x46, 0x47];
/// Of exits: the instructions themselves, not what was put in front of them.
const EXITS: u8 = 0x1c;
/// Those that are lists of a place and something about it, and how many words that is: barriers, loads of which not all
/// is used.
const WITH_PLACES: [(u8, usize); 2] = [(0x39, 4), (0x44, 2)];

/// A list of pairs. The only kind seen so far is about a place.
const ANNOTATIONS: u8 = 0x55;
const AT_PLACE: u32 = 1;

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn put(image: &mut [u8], at: usize, bytes: &[u8]) -> Option<()> {
    image.get_mut(at..at.checked_add(bytes.len())?)?.copy_from_slice(bytes);
    Some(())
}

fn offset(section: &Section<'_>) -> Option<usize> {
    usize::try_from(section.header.offset.get()).ok()
}

/// An object that is being changed.
#[derive(Debug)]
pub struct Image<'a, 'data> {
    object: &'a Object<'data>,
    pub bytes: Vec<u8>,
}

impl<'a, 'data> Image<'a, 'data> {
    pub fn of(object: &'a Object<'data>) -> Self {
        Self { object, bytes: object.cubin.bytes.to_vec() }
    }

    /// Writes into a section.
    fn put(&mut self, section: &Section<'_>, at: usize, bytes: &[u8]) -> Option<()> {
        put(&mut self.bytes, offset(section)?.checked_add(at)?, bytes)
    }

    /// Gives a section other contents: in its place, or behind the file if there are more of them.
    pub fn put_section(&mut self, section: &Section<'_>, contents: &[u8]) -> Option<()> {
        let mut header = *section.header;
        if contents.len() > section.data.len() {
            self.bytes.resize(self.bytes.len().next_multiple_of(INSTRUCTION), 0);
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
}

/// What stands in the place of an instruction.
#[derive(Debug)]
pub struct Change {
    pub at: usize,
    pub by: Vec<[u8; INSTRUCTION]>,
    /// What the capsule then has for all of them, if it had nothing for the one.
    pub mercury: Option<[u8; INSTRUCTION]>,
    /// Attributes that name this instruction name the one before it then.
    pub belongs_to_last: bool,
}

impl Change {
    pub fn removed(at: usize) -> Self {
        Self { at, by: Vec::new(), mercury: None, belongs_to_last: false }
    }

    /// Of an instruction that is the second part of what begins with the one before it.
    pub fn removed_after(at: usize) -> Self {
        Self { belongs_to_last: true, ..Self::removed(at) }
    }
}

/// The code of a function with some of its instructions changed.
#[derive(Debug)]
pub struct Moves<'a, 'data> {
    text: &'a Section<'data>,
    /// In order.
    changes: Vec<Change>,
    /// How far instructions behind each of them move.
    shifts: Vec<isize>,
    code: Vec<u8>,
}

impl<'a, 'data> Moves<'a, 'data> {
    /// Changes instructions of the code of a section, which may have been scheduled anew. `None` if something in it
    /// cannot be moved.
    pub fn new(text: &'a Section<'data>, old: &[u8], changes: Vec<Change>) -> Option<Self> {
        if changes.is_empty() {
            return Some(Self { text, changes, shifts: Vec::new(), code: old.to_vec() });
        }
        let instructions = || old.chunks_exact(INSTRUCTION);
        let padding = instructions().rev().take_while(|i| *i == NOTHING).count();
        let shifts: Vec<isize> = changes
            .iter()
            .scan(0, |shift, change| {
                *shift += change.by.len().cast_signed() - 1;
                Some(*shift)
            })
            .collect();
        let end = (instructions().len() - padding).checked_add_signed(shifts.last().copied().unwrap_or(0))?;
        let code = NOTHING.repeat((end + NOTHINGS).next_multiple_of(NOTHINGS));
        let mut moves = Self { text, changes, shifts, code };
        let mut at = 0;
        let mut next = 0;
        for (index, instruction) in instructions().enumerate().take(instructions().len() - padding) {
            let change = moves.changes.get(next).filter(|change| change.at == index);
            next += usize::from(change.is_some());
            let by = match change {
                Some(change) => {
                    let by: Option<Vec<_>> = change.by.iter().map(|i| moves.instruction(index, i)).collect();
                    by?.concat()
                }
                None => moves.instruction(index, instruction)?.to_vec(),
            };
            put(&mut moves.code, at, &by)?;
            at += by.len();
        }
        Some(moves)
    }

    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The new code.
    pub fn code_mut(&mut self) -> &mut [u8] {
        &mut self.code
    }

    /// The number of instructions there were, and are.
    pub fn old_length(&self) -> usize {
        self.text.data.len() / INSTRUCTION
    }

    pub fn length(&self) -> usize {
        self.code.len() / INSTRUCTION
    }

    /// How far the first instruction in the place of this one moves.
    fn shift(&self, at: usize) -> isize {
        let before = self.changes.partition_point(|change| change.at < at);
        before.checked_sub(1).map_or(0, |last| self.shifts[last])
    }

    /// What the capsule has in the place of an instruction that it had nothing for.
    pub fn mercury(&self, at: usize) -> Option<[u8; INSTRUCTION]> {
        let change = self.changes.binary_search_by_key(&at, |change| change.at).ok()?;
        self.changes[change].mercury
    }

    /// Whether every instruction is where it was.
    pub fn is_in_place(&self) -> bool {
        self.changes.is_empty()
    }

    /// How many instructions there are more in the place of each that changes.
    pub fn added(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.changes.iter().filter_map(|change| Some((change.at, change.by.len().checked_sub(1)?)))
    }

    /// How many instructions are in the place of a range of them.
    pub fn count(&self, range: Range<usize>) -> Option<usize> {
        let grows = self.shift(range.end) - self.shift(range.start);
        range.len().checked_add_signed(grows).filter(|_| range.end <= self.old_length())
    }

    /// Where a place in the code is now: the first of what is there.
    fn place(&self, old: u64) -> u64 {
        let end = self.text.data.len() as u64;
        if old >= end {
            return (old - end).saturating_add(self.code.len() as u64);
        }
        let shift = self.shift((old as usize).div_ceil(INSTRUCTION));
        old.wrapping_add_signed((shift * INSTRUCTION as isize) as i64)
    }

    /// Where the instruction is that an attribute names.
    fn place_of_named(&self, old: u64) -> u64 {
        let at = (old as usize) / INSTRUCTION;
        let change = self.changes.binary_search_by_key(&at, |change| change.at).ok();
        let is_gone = change.is_some_and(|change| self.changes[change].belongs_to_last);
        self.place(old).saturating_sub(if is_gone { INSTRUCTION as u64 } else { 0 })
    }

    /// Where an instruction is that others were put in front of.
    fn place_of_last(&self, old: u64) -> u64 {
        let at = (old as usize) / INSTRUCTION;
        let change = self.changes.binary_search_by_key(&at, |change| change.at).ok();
        let before = change.map_or(0, |change| self.changes[change].by.len().saturating_sub(1));
        self.place(old) + (before * INSTRUCTION) as u64
    }

    /// An instruction with the distance that its target is from it now.
    fn instruction(&self, index: usize, old: &[u8]) -> Option<[u8; INSTRUCTION]> {
        let mut instruction: [u8; INSTRUCTION] = old.try_into().ok()?;
        let mut bits = u128::from_le_bytes(instruction);
        let operation = operation(old);
        if STRANGE.contains(&operation) || (operation == RETURN && bits >> ABSOLUTE & 1 == 0) {
            return None;
        }
        let Some(field) = DISTANCES.iter().find(|field| field.operations.contains(&operation)) else {
            return Some(instruction);
        };
        let (low, low_bits) = if field.split { (i64::from(old[2]), 8) } else { (0, 0) };
        let unused = i64::BITS - field.width;
        let words = ((bits >> field.at) as i64) << unused >> unused << low_bits | low;
        let base = ((index + usize::from(field.from_next)) * INSTRUCTION) as i64;
        let target = u64::try_from(base.checked_add(words.checked_mul(4)?)?).ok()?;
        let distance = self.place(target).wrapping_sub(self.place(base.cast_unsigned())).cast_signed();
        let words = distance / 4;
        let mask = (1u128 << field.width) - 1;
        bits = bits & !(mask << field.at) | ((words >> low_bits) as u128 & mask) << field.at;
        instruction = bits.to_le_bytes();
        if field.split {
            instruction[2] = words as u8;
        }
        Some(instruction)
    }

    /// Puts the code in the place of the old one, and moves what names places in it.
    pub fn apply(&self, image: &mut Image<'_, '_>) -> Option<()> {
        let object = image.object;
        image.put_section(self.text, &self.code)?;
        self.symbols(image)?;
        for section in object.sections_with(Role::Relocations) {
            self.relocations(section, image)?;
        }
        for section in object.sections_with(Role::FunctionInfo).filter(|s| s.info() == self.text.index) {
            self.attributes(section, image)?;
        }
        for section in object.sections_with(Role::FunctionConstant).filter(|s| s.info() == self.text.index) {
            self.jump_tables(section, image)?;
        }
        for section in object.sections_with(Role::Debug).filter(|s| s.name == ".debug_frame") {
            self.frames(section, image)?;
        }
        Some(())
    }

    fn holds(&self, object: &Object<'_>, symbol: u32) -> bool {
        u32::from(object.symbol(symbol).shndx.get()) == self.text.index
    }

    fn symbols(&self, image: &mut Image<'_, '_>) -> Option<()> {
        let object = image.object;
        let table = object.section(object.cubin.symtab);
        for (index, symbol) in object.symbols().filter(|(index, _)| self.holds(object, *index)) {
            let (start, size) = (symbol.value.get(), symbol.size.get());
            let mut moved = *symbol;
            moved.value = self.place(start).into();
            if size > 0 {
                moved.size = self.place(start.checked_add(size)?).saturating_sub(self.place(start)).into();
            }
            image.put(table, index as usize * size_of::<Symbol>(), moved.as_bytes())?;
        }
        Some(())
    }

    fn relocations(&self, section: &Section<'_>, image: &mut Image<'_, '_>) -> Option<()> {
        let with_addend = section.sh_type() != raw::SHT_REL;
        let size = if with_addend { size_of::<Rela>() } else { size_of::<raw::Rel>() };
        for (index, entry) in section.relocations().ok()?.iter().enumerate() {
            let mut moved = entry;
            if section.info() == self.text.index {
                moved.offset = self.place(entry.offset.get()).into();
            }
            let symbol = image.object.symbol(entry.symbol.get());
            if entry.addend.get() != 0 && self.holds(image.object, entry.symbol.get()) {
                let place = symbol.value.get().checked_add_signed(entry.addend.get())?;
                let distance = self.place(place).wrapping_sub(self.place(symbol.value.get())).cast_signed();
                moved.addend = distance.into();
            }
            if moved != entry {
                image.put(section, index * size, &moved.as_bytes()[..size])?;
            }
        }
        Some(())
    }

    fn attributes(&self, section: &Section<'_>, image: &mut Image<'_, '_>) -> Option<()> {
        let mut at = 0;
        for record in info::records(section.data) {
            let record = record.ok()?;
            let payload = at + record.size() - record.payload.len();
            at += record.size();
            if record.format != info::format::SIZED {
                continue;
            }
            for index in places_of(&record) {
                let old = u64::from(record.word(index * 4)?);
                let place =
                    if record.attr == EXITS { self.place_of_last(old) } else { self.place_of_named(old) };
                image.put(section, payload + index * 4, &(place as u32).to_le_bytes())?;
            }
        }
        Some(())
    }

    /// The words that Mercury says are places.
    fn jump_tables(&self, section: &Section<'_>, image: &mut Image<'_, '_>) -> Option<()> {
        let object = image.object;
        let twin = object.mercury.as_ref()?.partner(section.index)?;
        let lists = object.cubin.sections.iter();
        for list in lists.filter(|s| s.sh_type() == raw::SHT_MERC_RELA && s.info() == twin) {
            let entries: &[Rela] = list.entries().ok()?;
            for entry in entries.iter().filter(|entry| entry.r_type.get() == reloc::OFFSET_32) {
                let at = usize::try_from(entry.offset.get()).ok()?;
                let place = self.place(u64::from(word(section.data, at)?));
                image.put(section, at, &(place as u32).to_le_bytes())?;
            }
        }
        Some(())
    }

    /// Where in a section, as relocations say, addresses of this code stand.
    fn addresses(&self, object: &Object<'_>, section: &Section<'_>) -> Option<Vec<u64>> {
        let mut addresses = Vec::new();
        for list in object.sections_with(Role::Relocations).filter(|s| s.info() == section.index) {
            let entries = list.relocations().ok()?;
            let of_code = entries.iter().filter(|entry| self.holds(object, entry.symbol.get()));
            addresses.extend(of_code.map(|entry| entry.offset.get()));
        }
        addresses.sort_unstable();
        Some(addresses)
    }

    fn frames(&self, section: &Section<'_>, image: &mut Image<'_, '_>) -> Option<()> {
        let addresses = self.addresses(image.object, section)?;
        let of_code = |frame: &Frame<'_>| addresses.binary_search(&frame.address()).is_ok();
        for frame in Frames::of(section.data).filter(of_code) {
            let mut fde = frame.fde.to_vec();
            let range = u64::from_le_bytes(frame.range_of_code().try_into().ok()?);
            put(&mut fde, Frame::CODE_RANGE, &self.place(range).to_le_bytes())?;
            self.frame_instructions(fde.get_mut(Frame::CODE_RANGE + 8..)?)?;
            image.put(section, usize::try_from(frame.range.start).ok()?, &fde)?;
        }
        Some(())
    }

    /// Call frame instructions: the locations they advance to.
    fn frame_instructions(&self, program: &mut [u8]) -> Option<()> {
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
                    let delta = self.place(location).saturating_sub(self.place(old)) / FACTOR;
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
}

/// Moves the addresses in a line number table.
pub fn move_lines(functions: &[Moves<'_, '_>], table: &Section<'_>, image: &mut Image<'_, '_>) -> Option<()> {
    let object = image.object;
    let mut contents = Vec::with_capacity(table.data.len());
    let mut shifts = Vec::new();
    let addresses: Option<Vec<Vec<u64>>> =
        functions.iter().map(|moves| moves.addresses(object, table)).collect();
    let addresses = addresses?;
    for unit in lines::units(table.data)? {
        let start = contents.len();
        let header = &table.data[unit.header];
        contents.extend(header);
        for sequence in unit.sequences {
            shifts.push((sequence.start, contents.len()));
            let in_sequence = |at: &u64| sequence.contains(&(*at as usize));
            let code = addresses.iter().position(|of_function| of_function.iter().any(in_sequence));
            let data = &table.data[sequence.clone()];
            match code {
                Some(code) => contents.extend(lines::moved(header, data, |at| functions[code].place(at))?),
                None => contents.extend(data),
            }
        }
        let length = u32::try_from(contents.len() - start - size_of::<u32>()).ok()?;
        put(&mut contents, start, &length.to_le_bytes())?;
    }
    for list in object.sections_with(Role::Relocations).filter(|s| s.info() == table.index) {
        let size = if list.sh_type() == raw::SHT_REL { size_of::<raw::Rel>() } else { size_of::<Rela>() };
        for (index, entry) in list.relocations().ok()?.iter().enumerate() {
            let at = usize::try_from(entry.offset.get()).ok()?;
            let before = shifts.partition_point(|(from, _)| *from <= at).checked_sub(1);
            let Some((from, to)) = before.map(|before| shifts[before]) else { continue };
            image.put(list, index * size, &((at - from + to) as u64).to_le_bytes())?;
        }
    }
    image.put_section(table, &contents)
}

/// Moves the places in a register table.
pub fn move_registers(
    functions: &[Moves<'_, '_>],
    table: &Section<'_>,
    image: &mut Image<'_, '_>,
) -> Option<()> {
    for moves in functions {
        let owner = image.object.text_owner(moves.text.index)?;
        let name = image.object.names[owner as usize];
        for range in lines::places_of(table.data, |function| function == name) {
            for at in range.step_by(size_of::<u32>()) {
                let place = moves.place(u64::from(word(table.data, at)?));
                image.put(table, at, &(place as u32).to_le_bytes())?;
            }
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
        ANNOTATIONS => {
            let pairs = (0..words).step_by(2).take_while(|at| record.word(at * 4) == Some(AT_PLACE));
            pairs.map(|at| at + 1).filter(|at| *at < words).collect()
        }
        id => {
            let list = WITH_PLACES.iter().find(|(of, _)| *of == id);
            list.map_or(Vec::new(), |(_, step)| (0..words).step_by(*step).collect())
        }
    }
}
