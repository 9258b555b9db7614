//! Attributes: each record read goes to the list of its output section, which comes out reversed.

use super::{Content, InfoRecord, InfoValue, Merger};
use crate::diagnostics::Stop;
use crate::ids::{FileId, SectionId, SymbolId};
use crate::object::Role;
use solder_cubin::Section;
use solder_cubin::info::{Record, attr, format, records};
use solder_cubin::raw;

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

    fn read_info(&mut self, file: FileId, section: &Section<'data>, out: SectionId) -> Result<(), Stop> {
        for record in records(section.data).flatten() {
            let Some(value) = self.info_value(file, section, &record)? else { continue };
            let record = InfoRecord { file, ..InfoRecord::new(record.format, record.attr, value) };
            if let Content::Info(records) = &mut self.out.section_mut(out).content {
                records.push(record);
            }
        }
        Ok(())
    }

    /// The value in terms of the output; `None` for a record that is not taken over.
    pub(super) fn info_value(
        &self,
        file: FileId,
        section: &Section<'data>,
        record: &Record<'data>,
    ) -> Result<Option<InfoValue<'data>>, Stop> {
        let symbols = &self.out.files[file.index()].symbols;
        let operand = |at: usize| -> Result<u32, Stop> {
            match record.word(at) {
                Some(word) if at > 0 || (word as usize) < symbols.len() => Ok(word),
                _ => Err(self.malformed(file, section, record)),
            }
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
            | attr::SAM_REGION_STACK_SIZE => {
                match symbols.get(self.first_word(file, section, record)? as usize) {
                    Some(Some(out)) if self.out.symbol(*out).kind != raw::STT_SECTION => {
                        InfoValue::Operand(*out, &record.payload[4..])
                    }
                    _ => return Ok(None),
                }
            }
            attr::LOAD_CACHE_REQUEST => return Ok(None),
            _ if record.format == format::SIZED && record.payload.is_empty() => return Ok(None),
            _ => InfoValue::Bytes(record.payload),
        };
        Ok(Some(value))
    }

    fn first_word(
        &self,
        file: FileId,
        section: &Section<'data>,
        record: &Record<'data>,
    ) -> Result<u32, Stop> {
        record.word(0).ok_or_else(|| self.malformed(file, section, record))
    }

    fn malformed(&self, file: FileId, section: &Section<'data>, record: &Record<'data>) -> Stop {
        self.damaged(file, section.name, &format!("attribute {:#04x} is malformed", record.attr))
    }

    /// Whether the function this symbol defines is, for now, the copy that counts.
    fn is_current_definition(&self, file: FileId, symbol: u32) -> bool {
        let raw = self.objects[file.index()].symbol(symbol);
        raw.is_defined()
            && raw.shndx.get() != raw::SHN_COMMON
            && self.out.files[file.index()].sections[usize::from(raw.shndx.get())].is_some()
    }
}
