//! Line number tables of machine code that has a Mercury view.

use super::frames::BYTES;
use super::merger::{LineUnit, Merger};
use crate::model::ids::{FileId, SectionId, SymbolId};
use crate::model::merged::{Chunk, Content, Reloc, RelocTarget};
use crate::model::object::Role;
use hashbrown::{HashMap, HashSet};
use solder_cubin::lines::{
    Described, REGISTER_TABLE, described, places_of as register_places, translated as translated_lines,
    types, units as line_units,
};
use solder_cubin::raw::{self, Rela};
use solder_cubin::{Section, reloc};
use std::ops::Range;

/// Sequences of Mercury's by function.
type Sequences<'data> = HashMap<SymbolId, &'data [u8], foldhash::fast::FixedState>;

/// What is asked for where a sequence is not the assembler's.
struct Others<'data> {
    /// The functions with an earlier other name.
    named_first: HashSet<SectionId, foldhash::fast::FixedState>,
    /// The functions with any other name.
    named_twice: HashSet<SectionId, foldhash::fast::FixedState>,
    /// Those of Mercury, by section of the input, as far as they were asked for.
    sequences: HashMap<(FileId, u32), Vec<Sequences<'data>>, foldhash::fast::FixedState>,
}

impl<'data> Merger<'_, 'data> {
    /// Reads a table; whether that was possible.
    pub(super) fn append_lines(&mut self, file: FileId, section: &Section<'data>, out: SectionId) -> bool {
        let Some(units) = line_units(section.data) else { return false };
        let base = self.out.section(out).size;
        let object = &self.objects[file.index()];
        let mut entries: Vec<Rela> = Vec::new();
        for relocations in object.sections_with(Role::Relocations).filter(|s| s.info() == section.index) {
            entries.extend(relocations.relocations().iter().flat_map(|list| list.iter().collect::<Vec<_>>()));
        }
        entries.sort_by_key(|entry| entry.offset.get());
        let mut names = self.relocations_in_headers(file, section).into_iter();
        for (number, unit) in units.into_iter().enumerate() {
            let mut sequences = Vec::new();
            for range in unit.sequences {
                let from = entries.partition_point(|e| e.offset.get() < range.start as u64);
                let to = entries.partition_point(|e| e.offset.get() < range.end as u64);
                let (mut stays, mut relocations) = (true, Vec::new());
                for entry in &entries[from..to] {
                    match self.refers_to(file, section, entry.symbol.get()) {
                        Some(target @ RelocTarget::Symbol(_)) => relocations.push(Reloc {
                            offset: entry.offset.get() - range.start as u64,
                            target,
                            r_type: entry.r_type.get(),
                            addend: entry.addend.get(),
                            file,
                        }),
                        _ => stays = false,
                    }
                }
                if stays {
                    sequences.push((&section.data[range], relocations));
                }
            }
            let at = base + unit.header.start as u64;
            let header = &section.data[unit.header];
            let names = names.next().unwrap_or_default();
            let input = (section.index, number);
            self.mercury.lines.push(LineUnit { section: out, at, header, file, input, names, sequences });
        }
        self.out.section_mut(out).append(&[], section.size(), 1);
        self.out.files[file.index()].sections[section.index as usize] = Some((out, base));
        true
    }

    /// The relocations in the headers of the units of a table's twin, relative to their unit.
    fn relocations_in_headers(&self, file: FileId, section: &Section<'data>) -> Vec<Vec<Rela>> {
        let object = &self.objects[file.index()];
        let twin = object.mercury.as_ref().and_then(|twins| twins.partner(section.index));
        let units = twin.and_then(|twin| line_units(object.section(twin).data)).unwrap_or_default();
        let mut entries: Vec<Rela> = Vec::new();
        let of_mercury = object.cubin.sections.iter().filter(|s| s.sh_type() == raw::SHT_MERC_RELA);
        for relocations in of_mercury.filter(|s| Some(s.info()) == twin) {
            entries.extend(relocations.relocations().iter().flat_map(|list| list.iter().collect::<Vec<_>>()));
        }
        let of_unit = |header: Range<usize>| {
            let header = header.start as u64..header.end as u64;
            let inside = entries.iter().filter(|entry| header.contains(&entry.offset.get()));
            inside.map(|e| Rela { offset: (e.offset.get() - header.start).into(), ..*e }).collect()
        };
        units.into_iter().map(|unit| of_unit(unit.header)).collect()
    }

    /// The relocation of a name of inlined functions, relative to the unit.
    fn name_of_inlined(&self, unit: &LineUnit<'_>, entry: &Rela) -> Option<Reloc> {
        let raw = self.objects[unit.file.index()].symbol(entry.symbol.get());
        let files = &self.out.files[unit.file.index()];
        let target = files.symbols[entry.symbol.get() as usize].map(RelocTarget::Symbol)?;
        let (_, base) = (*files.sections.get(usize::from(raw.shndx.get()))?)?;
        let addend = entry.addend.get().wrapping_add(base as i64);
        let offset = entry.offset.get();
        Some(Reloc { offset, target, r_type: reloc::R_CUDA_32, addend, file: unit.file })
    }

    /// Clears what a register table, just appended at `base`, says about functions that were removed, that have another name before
    /// theirs, about copies that never counted, and about a second function of a name.
    pub(super) fn clear_removed(
        &mut self,
        file: FileId,
        section: &Section<'data>,
        out: SectionId,
        base: u64,
    ) {
        let object = &self.objects[file.index()];
        let map = &self.out.files[file.index()].symbols;
        let named_first: HashSet<SectionId, foldhash::fast::FixedState> =
            self.first_aliases().map(|(_, text)| text).collect();
        // Where an object has several of one name, any that stays will do.
        let is_removed = |name: &[u8]| {
            let of_name = |&(index, raw): &(u32, &raw::Symbol)| {
                raw.kind() == raw::STT_FUNC && object.names[index as usize] == name
            };
            let has_first_name =
                |id| self.out.symbol(id).section.is_none_or(|text| !named_first.contains(&text));
            let counts = |(index, _)| {
                self.symbols.accepted(file, index) && map[index as usize].is_some_and(has_first_name)
            };
            let mut functions = object.symbols().filter(of_name).peekable();
            functions.peek().is_some() && !functions.any(counts)
        };
        let known = &mut self.mercury.described;
        let mut cleared = HashSet::default();
        let places = register_places(section.data, |name| {
            let is_cleared = is_removed(name) || !known.insert(name);
            if is_cleared {
                cleared.insert(name);
            }
            is_cleared
        });
        self.mercury.cleared = cleared;
        if !places.is_empty() && self.describe_by_mercury(file, section, out, base).is_some() {
            return;
        }
        let Some(chunks) = self.out.section_mut(out).chunks_mut() else { return };
        if places.is_empty() || chunks.pop().is_none() {
            return;
        }
        // What no chunk covers is zero.
        let mut at = 0;
        let end = section.data.len();
        for place in places.into_iter().chain(std::iter::once(end..end)) {
            chunks.push(Chunk { offset: base + at as u64, data: &section.data[at..place.start] });
            at = place.end;
        }
    }

    /// Puts what Mercury's view of a register table, or of the types in it, says about functions that are cleared in the place of what the
    /// table has, where calls of the system have brought more variables into that: in the order of the registers, without places. `None` if
    /// there is nothing to do.
    pub(super) fn describe_by_mercury(
        &mut self,
        file: FileId,
        section: &Section<'data>,
        out: SectionId,
        base: u64,
    ) -> Option<()> {
        /// Beginning and end of a range of code.
        const PLACES: u64 = 8;
        let object = &self.objects[file.index()];
        let twins = object.mercury.as_ref().filter(|_| object.calls_system())?;
        let twin = |of: &Section<'_>| twins.partner(of.index).map(|twin| object.section(twin).data);
        let registers = described(twin(object.cubin.section(REGISTER_TABLE)?)?)?;
        let is_table = section.name == REGISTER_TABLE;
        let read = if is_table { described } else { types };
        let (functions, of_mercury) = (read(section.data)?, read(twin(section)?)?);
        let find =
            |list: &'_ [Described<'data>], name| list.iter().position(|function| function.name == name);
        let (mut chunks, mut end) = (Vec::new(), base);
        let mut add = |data: &'data [u8], places: u64| {
            chunks.push(Chunk { offset: end, data });
            end += data.len() as u64 + places;
        };
        for function in functions {
            if !self.mercury.cleared.contains(function.name) {
                add(function.whole, 0);
                continue;
            }
            let twin = &of_mercury[find(&of_mercury, function.name)?];
            let order = registers[find(&registers, function.name)?].by_register();
            add(twin.head, 0);
            let variables = order.into_iter().filter_map(|at| twin.variables.get(at));
            variables.for_each(|variable| add(variable, if is_table { PLACES } else { 0 }));
        }
        let out = self.out.section_mut(out);
        let all = out.chunks_mut()?;
        all.pop()?;
        all.append(&mut chunks);
        out.size = end;
        Some(())
    }

    /// Puts the tables together. Their relocations come in ascending order.
    pub(super) fn finish_lines(&mut self) {
        let mut units = std::mem::take(&mut self.mercury.lines);
        // The functions of a unit come in the order of their symbols, without what is said about forgotten copies.
        for unit in &mut units {
            unit.sequences.retain(|(_, relocations)| relocations.iter().all(|r| self.line_counts(r)));
            unit.sequences.sort_by_key(|(_, relocations)| {
                let target = relocations.first().map(|r| r.target);
                let Some(RelocTarget::Symbol(function)) = target else { return None };
                Some((self.out.symbol(function).among_globals, function))
            });
        }
        let mut sections: Vec<SectionId> = units.iter().map(|unit| unit.section).collect();
        sections.sort_unstable();
        sections.dedup();
        let named_first = self.first_aliases().map(|(_, text)| text).collect();
        let named_twice = self.out.functions.iter().filter(|f| f.alias).filter_map(|f| f.text).collect();
        let mut others = Others { named_first, named_twice, sequences: HashMap::default() };
        for section in sections {
            let (mut chunks, mut relocations, mut lengths, mut moved) =
                (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            let mut names = Vec::new();
            let mut end = 0;
            for unit in units.iter().filter(|unit| unit.section == section) {
                let start = end;
                moved.push((unit.at, start));
                chunks.push(Chunk { offset: start, data: unit.header });
                end += unit.header.len() as u64;
                for (data, of_sequence) in &unit.sequences {
                    relocations.extend(of_sequence.iter().map(|r| Reloc { offset: r.offset + end, ..*r }));
                    let Some(other) = self.other_sequence(unit, of_sequence, &mut others) else {
                        chunks.push(Chunk { offset: end, data });
                        end += data.len() as u64;
                        continue;
                    };
                    for byte in other {
                        chunks.push(Chunk { offset: end, data: &BYTES[usize::from(byte)..][..1] });
                        end += 1;
                    }
                }
                lengths.push((start, end - start - size_of::<u32>() as u64));
                let of_header = unit.names.iter().filter_map(|entry| self.name_of_inlined(unit, entry));
                names.extend(of_header.map(|r| Reloc { offset: r.offset + start, ..r }));
            }
            let out = self.out.section_mut(section);
            let (Some(list), Some(symbol)) = (out.rela, out.symbol) else {
                // No relocation writes the lengths (debug/lines-of-discarded).
                write_lengths(&mut chunks, &lengths);
                (out.content, out.size) = (Content::Bytes(chunks), end);
                continue;
            };
            (out.content, out.size) = (Content::Bytes(chunks), end);
            let target = RelocTarget::Symbol(symbol);
            let length = |(offset, length): (u64, u64)| Reloc {
                offset,
                target,
                r_type: reloc::R_CUDA_32,
                addend: length as i64,
                file: FileId::at(0),
            };
            // The list comes out reversed.
            relocations.reverse();
            relocations.extend(lengths.into_iter().map(length).chain(names));
            *self.out.section_mut(list).relocations_mut() = relocations;
            self.move_references(target, list, &moved);
        }
    }

    /// What nvlink has instead of a sequence, where that is not the assembler's. Of a copy that was replaced, Mercury's rows at
    /// the places that they have in the code that prevails; of a function with an earlier other name, Mercury's rows as they are.
    fn other_sequence(
        &self,
        unit: &LineUnit<'_>,
        relocations: &[Reloc],
        others: &mut Others<'data>,
    ) -> Option<Vec<u8>> {
        let [Reloc { target: RelocTarget::Symbol(id), .. }] = relocations else { return None };
        let function = self.out.symbol(*id);
        let origin = function.origin.filter(|_| function.is_function())?;
        let is_named_first = function.section.is_some_and(|text| others.named_first.contains(&text));
        // A function with another name may have been named so first in an earlier relocatable link.
        let is_named_twice = function.section.is_some_and(|text| others.named_twice.contains(&text));
        if !is_named_first && !is_named_twice && origin.file == unit.file {
            return None;
        }
        let (section, number) = unit.input;
        let read = || self.mercury_sequences(unit.file, section).unwrap_or_default();
        let sequences = others.sequences.entry((unit.file, section)).or_insert_with(read);
        let sequence = sequences.get(number)?.get(id)?;
        if is_named_first {
            return translated_lines(unit.header, sequence, Some, None);
        }
        let places = self.places(origin)?;
        translated_lines(unit.header, sequence, |at| places.next_in_code(at), Some(function.size))
    }

    /// The sequences in the twin of a section, unit by unit and by function.
    fn mercury_sequences(&self, file: FileId, section: u32) -> Option<Vec<Sequences<'data>>> {
        let object = &self.objects[file.index()];
        let twin = object.mercury.as_ref()?.partner(section)?;
        let data = object.section(twin).data;
        let of_mercury = object.cubin.sections.iter().filter(|s| s.sh_type() == raw::SHT_MERC_RELA);
        let lists = of_mercury.filter(|s| s.info() == twin).filter_map(|s| s.relocations().ok());
        let mut entries: Vec<Rela> = lists.flat_map(|list| list.iter().collect::<Vec<_>>()).collect();
        entries.sort_by_key(|entry| entry.offset.get());
        let symbols = &self.out.files[file.index()].symbols;
        let function = |range: &Range<usize>| {
            let first = entries.partition_point(|entry| entry.offset.get() < range.start as u64);
            let entry = entries.get(first).filter(|entry| entry.offset.get() < range.end as u64)?;
            *symbols.get(entry.symbol.get() as usize)?
        };
        let by_function = |range: Range<usize>| Some((function(&range)?, data.get(range)?));
        let units = line_units(data)?.into_iter();
        Some(units.map(|unit| unit.sequences.into_iter().filter_map(by_function).collect()).collect())
    }

    /// Whether a relocation is not about a copy of a function that nvlink has forgotten.
    fn line_counts(&self, entry: &Reloc) -> bool {
        let RelocTarget::Symbol(id) = entry.target else { return true };
        let symbol = self.out.symbol(id);
        !symbol.is_function() || self.frame_counts(id, entry.file)
    }

    /// What names a unit by its place in the section follows it.
    fn move_references(&mut self, target: RelocTarget, own: SectionId, moved: &[(u64, u64)]) {
        if moved.iter().all(|(from, to)| from == to) {
            return;
        }
        for (index, section) in self.out.sections.iter_mut().enumerate() {
            let ordinary = matches!(section.sh_type, raw::SHT_REL | raw::SHT_RELA);
            let Content::Relocations(list) = &mut section.content else { continue };
            if !ordinary || SectionId::at(index) == own {
                continue;
            }
            for entry in list.iter_mut().filter(|entry| entry.target == target) {
                let unit = moved.partition_point(|(from, _)| *from as i64 <= entry.addend).checked_sub(1);
                if let Some((from, to)) = unit.map(|unit| moved[unit]) {
                    entry.addend = entry.addend - from as i64 + to as i64;
                }
            }
        }
    }
}

/// Puts the lengths of units, by their places in ascending order, into the headers that begin with them.
fn write_lengths(chunks: &mut Vec<Chunk<'_>>, lengths: &[(u64, u64)]) {
    const LENGTH: usize = size_of::<u32>();
    for chunk in chunks.iter_mut() {
        let is_header = lengths.binary_search_by_key(&chunk.offset, |(start, _)| *start).is_ok();
        if let Some((_, rest)) = chunk.data.split_at_checked(LENGTH).filter(|_| is_header) {
            *chunk = Chunk { offset: chunk.offset + LENGTH as u64, data: rest };
        }
    }
    for (start, length) in lengths {
        let bytes = (*start..).zip((*length as u32).to_le_bytes());
        chunks.extend(bytes.map(|(offset, byte)| Chunk { offset, data: &BYTES[usize::from(byte)..][..1] }));
    }
    chunks.sort_by_key(|chunk| chunk.offset);
}
