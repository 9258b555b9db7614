//! Attributes: each record read goes to the list of its output section, which comes out reversed.

use super::reading::{From, Reading};
use super::{FileMap, InfoRecord, InfoValue, Merger};
use crate::diagnostics::Stop;
use crate::model::ids::{FileId, SectionId, SymbolId};
use crate::model::object::Role;
use solder_cubin::Section;
use solder_cubin::info::{Record, attr, format, records};
use solder_cubin::raw;

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

    /// Takes the records of a section over. Mostly they depend on nothing that later files change and are read later.
    fn read_info(&mut self, file: FileId, section: &Section<'data>, out: SectionId) -> Result<(), Stop> {
        let from = From { out, file, section: section.index };
        let read =
            if self.objects[file.index()].noticed[section.index as usize].lists_symbols {
                let mut list = Vec::new();
                for record in records(section.data).flatten() {
                    let value =
                        self.info_value(file, &record).map_err(|bad| self.malformed(file, section, bad))?;
                    list.extend(value.map(|value| InfoRecord {
                        file,
                        ..InfoRecord::new(record.format, record.attr, value)
                    }));
                }
                Some(Ok(list))
            } else {
                None
            };
        self.left.attributes.push((from, read));
        Ok(())
    }

    /// The value in terms of the output so far; `None` for a record that is not taken over.
    pub(super) fn info_value(
        &self,
        file: FileId,
        record: &Record<'data>,
    ) -> Result<Option<InfoValue<'data>>, Malformed> {
        let mut value = self.reading().info_value(file, &self.out.files[file.index()], record)?;
        if let Some(InfoValue::Symbols(list)) = &mut value {
            let kept = |id: &SymbolId| {
                let symbol = self.out.symbol(*id);
                !symbol.is_defined() || symbol.other & raw::STO_ENTRY != 0
            };
            *list = list.iter().copied().filter(kept).collect();
        }
        Ok(value)
    }

    pub(super) fn malformed(&self, file: FileId, section: &Section<'data>, bad: Malformed) -> Stop {
        self.damaged(file, section.name, &format!("attribute {:#04x} is malformed", bad.attr))
    }
}

impl<'data> Reading<'_, 'data> {
    /// The attributes of a section, in which there are no lists of symbols. They are gathered in a list that is used
    /// again, so that what is kept takes no more room than it needs.
    pub fn attributes(
        &self,
        from: From,
        map: &FileMap,
        list: &mut Vec<InfoRecord<'data>>,
    ) -> Result<Vec<InfoRecord<'data>>, Malformed> {
        let From { file, section, .. } = from;
        list.clear();
        for record in records(self.objects[file.index()].section(section).data).flatten() {
            if let Some(value) = self.info_value(file, map, &record)? {
                list.push(InfoRecord { file, ..InfoRecord::new(record.format, record.attr, value) });
            }
        }
        let mut kept = Vec::with_capacity(list.len());
        kept.append(list);
        Ok(kept)
    }

    /// The value in terms of the output; `None` for a record that is not taken over. Lists of symbols are whole.
    fn info_value(
        &self,
        file: FileId,
        map: &FileMap,
        record: &Record<'data>,
    ) -> Result<Option<InfoValue<'data>>, Malformed> {
        let malformed = Malformed { attr: record.attr };
        let symbols = &map.symbols;
        let operand = |at: usize| match record.word(at) {
            Some(word) if at > 0 || (word as usize) < symbols.len() => Ok(word),
            _ => Err(malformed),
        };
        let value = match record.attr {
            attr::REGCOUNT | attr::FRAME_SIZE | attr::MIN_STACK_SIZE | attr::MAX_STACK_SIZE => {
                let (symbol, value) = (operand(0)?, operand(4)?);
                let ours = self.is_current_definition(file, map, symbol);
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
                InfoValue::Symbols(words.filter_map(|w| *symbols.get(w as usize)?).collect())
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
            | attr::SAM_REGION_STACK_SIZE => {
                let symbol = record.word(0).ok_or(malformed)?;
                let is_section = || self.objects[file.index()].symbol(symbol).kind() == raw::STT_SECTION;
                match symbols.get(symbol as usize) {
                    Some(Some(out)) if !is_section() => InfoValue::Operand(*out, &record.payload[4..]),
                    _ => return Ok(None),
                }
            }
            attr::LOAD_CACHE_REQUEST => return Ok(None),
            _ if record.format == format::SIZED && record.payload.is_empty() => return Ok(None),
            _ => InfoValue::Bytes(record.payload),
        };
        Ok(Some(value))
    }

    /// Whether the function this symbol defines is, for now, the copy that counts.
    fn is_current_definition(&self, file: FileId, map: &FileMap, symbol: u32) -> bool {
        let raw = self.objects[file.index()].symbol(symbol);
        raw.is_defined()
            && raw.shndx.get() != raw::SHN_COMMON
            && map.sections[usize::from(raw.shndx.get())].is_some()
    }
}
