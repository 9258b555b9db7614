//! Attributes: each record read goes to the list of its output section, which comes out reversed.

use super::merger::Merger;
use super::reading::{Malformed, Source};
use crate::diagnostics::Stop;
use crate::model::ids::{FileId, SectionId, SymbolId};
use crate::model::merged::{InfoRecord, InfoValue};
use crate::model::object::Role;
use solder_cubin::Section;
use solder_cubin::info::{Record, records};
use solder_cubin::raw;

impl<'data> Merger<'_, 'data> {
    pub(super) fn attributes(&mut self, file: FileId) -> Result<(), Stop> {
        let object = &self.objects[file.index()];
        if let (Some(section), Some(out)) = (object.first(Role::Info), self.out.well_known.info) {
            // The link goes by what Mercury code needs; calls of the system, which it has not, come at the end.
            let twin = object.mercury.as_ref().filter(|_| object.calls_system());
            let twin = twin.and_then(|twins| twins.partner(section.index));
            self.read_info(file, twin.map_or(section, |twin| object.section(twin)), out)?;
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
        let from = Source { out, file, section: section.index };
        let read =
            if self.objects[file.index()].summaries[section.index as usize].lists_symbols {
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
        self.unread.attributes.push((from, read));
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
