//! Attributes: each record read goes to the list of its output section, which comes out reversed.

use super::{Content, InfoRecord, InfoValue, Merger};
use crate::diagnostics::Stop;
use crate::ids::{FileId, SectionId, SymbolId};
use crate::object::Role;
use crate::parallel;
use solder_cubin::Section;
use solder_cubin::info::{Record, attr, format, records};
use solder_cubin::raw;

/// The size of a record with two words.
const RECORD_SIZE: usize = 12;

/// Attributes that go to an output section when all files are merged.
pub(super) struct Attributes<'data> {
    out: SectionId,
    file: FileId,
    section: u32,
    /// The records, where what they say depends on what is defined so far.
    read: Option<Vec<InfoRecord<'data>>>,
}

/// An attribute that lacks what its kind should have.
#[derive(Clone, Copy)]
pub(super) struct Malformed {
    attr: u8,
}

impl<'data> Merger<'_, 'data> {
    pub(super) fn attributes(&mut self, file: FileId) -> Result<(), Stop> {
        let object = &self.objects[file.index()];
        if let (Some(section), Some(out)) = (object.first(Role::Info), self.out.well_known.info) {
            self.read_info(file, section, out)?;
        }
        for section in object.sections_with(Role::FunctionInfo) {
            let Some((text, _)) = self.out.files[file.index()].sections[section.info() as usize] else {
                continue;
            };
            let Some(symbol) = self.out.section(text).function else { continue };
            let entity = self.out.symbol(symbol).entity.expect("functions name an entity");
            let out = if let Some(out) = self.function_mut(entity).info {
                out
            } else {
                let name = self.out.symbol(symbol).name;
                let out = self.function_info(text, name);
                self.function_mut(entity).info = Some(out);
                out
            };
            self.clock += 1;
            self.function_mut(entity).attributes_read = self.clock;
            match object.mercury.as_ref().and_then(|twins| twins.partner(section.index)) {
                Some(twin) => self.read_both_infos(file, object.section(twin), section, out)?,
                None => self.read_info(file, section, out)?,
            }
        }
        Ok(())
    }

    /// Takes the records of a section over. Mostly they depend on nothing that later files change and are read later,
    /// those of all files in parallel.
    fn read_info(&mut self, file: FileId, section: &Section<'data>, out: SectionId) -> Result<(), Stop> {
        let read = if self.objects[file.index()].noticed[section.index as usize].lists_symbols {
            Some(self.list_of(file, section).map_err(|bad| self.malformed(file, section, bad))?)
        } else {
            None
        };
        self.attributes.push(Attributes { out, file, section: section.index, read });
        Ok(())
    }

    /// The attributes that were left for later.
    pub(super) fn attribute_lists(&self) -> Vec<Result<Vec<InfoRecord<'data>>, Malformed>> {
        parallel::map_numbers(self.attributes.len(), |index| {
            let of = &self.attributes[index];
            let is_needed = of.read.is_none() && !self.is_replaced(of);
            let section = self.objects[of.file.index()].section(of.section);
            if is_needed { self.list_of(of.file, section) } else { Ok(Vec::new()) }
        })
    }

    /// Puts all attributes into their sections.
    pub(super) fn take_attributes(
        &mut self,
        lists: Vec<Result<Vec<InfoRecord<'data>>, Malformed>>,
    ) -> Result<(), Stop> {
        if let Some(info) = self.out.well_known.info
            && let Content::Info(records) = &mut self.out.section_mut(info).content
        {
            let of_module = self.attributes.iter().zip(&lists).filter(|(of, _)| of.out == info);
            let read = |of: &Attributes<'_>| of.read.as_ref().map_or(0, Vec::len);
            records.reserve(of_module.map(|(of, list)| read(of) + list.as_ref().map_or(0, Vec::len)).sum());
        }
        for (mut of, list) in std::mem::take(&mut self.attributes).into_iter().zip(lists) {
            let section = self.objects[of.file.index()].section(of.section);
            let mut list = list.map_err(|bad| self.malformed(of.file, section, bad))?;
            if let Some(read) = of.read.take().filter(|_| !self.is_replaced(&of)) {
                list = read;
            }
            if let Content::Info(records) = &mut self.out.section_mut(of.out).content {
                if records.capacity() == 0 {
                    *records = list;
                } else {
                    records.append(&mut list);
                }
            }
        }
        Ok(())
    }

    /// Whether another copy has taken the place of the function that attributes were read of.
    fn is_replaced(&self, of: &Attributes<'_>) -> bool {
        let text = self.out.section(of.out).of;
        let function = text.and_then(|text| self.out.section(text).function);
        let origin = function.and_then(|function| self.out.symbol(function).origin);
        origin.is_some_and(|origin| origin.file != of.file)
    }

    fn list_of(&self, file: FileId, section: &Section<'data>) -> Result<Vec<InfoRecord<'data>>, Malformed> {
        // Most records take so much.
        let mut list = Vec::with_capacity(section.data.len() / RECORD_SIZE);
        for record in records(section.data).flatten() {
            if let Some(value) = self.info_value(file, &record)? {
                list.push(InfoRecord { file, ..InfoRecord::new(record.format, record.attr, value) });
            }
        }
        Ok(list)
    }

    /// The value in terms of the output; `None` for a record that is not taken over.
    pub(super) fn info_value(
        &self,
        file: FileId,
        record: &Record<'data>,
    ) -> Result<Option<InfoValue<'data>>, Malformed> {
        let malformed = Malformed { attr: record.attr };
        let symbols = &self.out.files[file.index()].symbols;
        let operand = |at: usize| match record.word(at) {
            Some(word) if at > 0 || (word as usize) < symbols.len() => Ok(word),
            _ => Err(malformed),
        };
        let value = match record.attr {
            attr::REGCOUNT | attr::FRAME_SIZE | attr::MIN_STACK_SIZE | attr::MAX_STACK_SIZE => {
                let (symbol, value) = (operand(0)?, operand(4)?);
                let ours = self.is_current_definition(file, symbol);
                let dropped = matches!(record.attr, attr::MIN_STACK_SIZE | attr::MAX_STACK_SIZE)
                    && !self.settings.relocatable;
                match symbols[symbol as usize] {
                    Some(out) if ours && !dropped => InfoValue::Symbol(out, value),
                    _ => return Ok(None),
                }
            }
            attr::PARAM_CBANK if self.settings.mercury() => InfoValue::Parameters(operand(4)?),
            attr::PARAM_CBANK => match symbols[operand(0)? as usize] {
                Some(out) => InfoValue::Symbol(out, operand(4)?),
                None => return Ok(None),
            },
            attr::EXTERNS => {
                let words =
                    record.payload.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]));
                let kept = |id: &SymbolId| {
                    let symbol = self.out.symbol(*id);
                    !symbol.is_defined() || symbol.other & raw::STO_ENTRY != 0
                };
                let list = words.filter_map(|w| *symbols.get(w as usize)?).filter(kept).collect();
                InfoValue::Symbols(list)
            }
            attr::KPARAM_INFO | attr::KPARAM_INFO_V2 if record.payload.len() >= 4 => {
                let mut bytes: Box<[u8]> = record.payload.into();
                bytes[..4].fill(0);
                InfoValue::Owned(bytes)
            }
            attr::IMAGE_SLOT
            | attr::IMAGE_OFFSET
            | attr::IMAGE_SIZE
            | attr::TEXTURE_NORMALIZED
            | attr::SAMPLER_INIT
            | attr::SAMPLER_FORCE_UNNORMALIZED
            | attr::BINDLESS_IMAGE_OFFSETS
            | attr::SAM_REGION_STACK_SIZE => match symbols.get(record.word(0).ok_or(malformed)? as usize) {
                Some(Some(out)) if self.out.symbol(*out).kind != raw::STT_SECTION => {
                    InfoValue::Operand(*out, &record.payload[4..])
                }
                _ => return Ok(None),
            },
            attr::LOAD_CACHE_REQUEST => return Ok(None),
            _ if record.format == format::SIZED && record.payload.is_empty() => return Ok(None),
            _ => InfoValue::Bytes(record.payload),
        };
        Ok(Some(value))
    }

    pub(super) fn malformed(&self, file: FileId, section: &Section<'data>, bad: Malformed) -> Stop {
        self.damaged(file, section.name, &format!("attribute {:#04x} is malformed", bad.attr))
    }

    /// Whether the function this symbol defines is, for now, the copy that counts.
    fn is_current_definition(&self, file: FileId, symbol: u32) -> bool {
        let raw = self.objects[file.index()].symbol(symbol);
        raw.is_defined()
            && raw.shndx.get() != raw::SHN_COMMON
            && self.out.files[file.index()].sections[usize::from(raw.shndx.get())].is_some()
    }
}
