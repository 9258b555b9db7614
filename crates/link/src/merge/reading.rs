//! What is read of a file when it is merged: most of its attributes and the relocations of its code. They depend on
//! nothing that later files change, so that they are read beside the merge of those.

use super::names::Draft;
use super::settings::Settings;
use crate::model::ids::{FileId, SectionId};
use crate::model::merged::{FileMap, InfoRecord, InfoValue, Reloc, RelocTarget};
use crate::model::object::{Object, Role};
use crate::model::symbols::Symbols;
use solder_cubin::Section;
use solder_cubin::info::{Record, attr, format, records};
use solder_cubin::raw::{self, Symbol};

/// The symbol that means the size of the program's constants.
pub(super) const CONSTANTS_SIZE: &[u8] = b".nv.ptx.const0.size";

/// An attribute that lacks what its kind should have.
#[derive(Clone, Copy)]
pub(super) struct Malformed {
    pub(super) attr: u8,
}

/// What reading takes beside the map of a file.
#[derive(Clone, Copy)]
pub(super) struct Reading<'a, 'data> {
    pub settings: Settings<'data>,
    pub objects: &'a [Object<'data>],
    pub symbols: &'a Symbols<'data>,
}

/// A section that goes to an output section.
#[derive(Clone, Copy)]
pub(super) struct Source {
    pub out: SectionId,
    pub file: FileId,
    pub section: u32,
}

/// The attributes of a section, last one first; `None` until they are read.
pub(super) type Attributes<'data> = Option<Result<Vec<InfoRecord<'data>>, Malformed>>;

/// Files that have been merged, and what is left to read of them.
#[derive(Default)]
pub(super) struct Unread<'data> {
    /// The first of the files, and the first section that they made.
    pub first: usize,
    pub(super) first_section: usize,
    pub maps: Vec<FileMap>,
    pub names: Draft,
    pub attributes: Vec<(Source, Attributes<'data>)>,
    pub relocations: Vec<(Source, Vec<Reloc>)>,
}

/// As many sections are worth handing to another thread.
const MANY: usize = 256;

impl Unread<'_> {
    pub fn is_much(&self) -> bool {
        self.attributes.len() + self.relocations.len() >= MANY
    }
}

/// The addend of an entry: a section symbol means the beginning of what its file has of the section.
pub(super) fn addend(map: &FileMap, entry: &raw::Rela, symbol: &Symbol) -> i64 {
    let addend = entry.addend.get();
    if symbol.kind() != raw::STT_SECTION {
        return addend;
    }
    match map.sections.get(usize::from(symbol.shndx.get())) {
        Some(Some((_, chunk))) => addend.wrapping_add(*chunk as i64),
        _ => addend,
    }
}

impl<'data> Reading<'_, 'data> {
    /// Reads all that is left.
    pub fn read(&self, left: &mut Unread<'data>) {
        let map = |from: &Source| &left.maps[from.file.index() - left.first];
        let mut gathered = Vec::new();
        for (from, records) in left.attributes.iter_mut().filter(|(_, records)| records.is_none()) {
            *records = Some(self.attributes(*from, map(from), &mut gathered));
        }
        // They come out reversed.
        for list in left.attributes.iter_mut().filter_map(|(_, records)| records.as_mut()?.as_mut().ok()) {
            list.reverse();
        }
        for (from, list) in &mut left.relocations {
            *list = self.relocations(*from, map(from));
        }
    }

    fn relocations(&self, from: Source, map: &FileMap) -> Vec<Reloc> {
        let file = from.file;
        let object = &self.objects[file.index()];
        let section = object.section(from.section);
        let of = object.section(section.info());
        let Ok(entries) = section.relocations() else { return Vec::new() };
        let read = |entry: raw::Rela| {
            let target = self.refers_to(file, map, of, entry.symbol.get())?;
            let (offset, r_type) = (entry.offset.get(), entry.r_type.get());
            let addend = addend(map, &entry, object.symbol(entry.symbol.get()));
            Some(Reloc { offset, target, r_type, addend, file })
        };
        let mut list = Vec::with_capacity(entries.len());
        list.extend(entries.iter().filter_map(read));
        list
    }

    /// What a relocation in the section `of` of code refers to; `None` leaves it out without a trace. That of another
    /// section may refer to less than this.
    pub fn refers_to(
        &self,
        file: FileId,
        map: &FileMap,
        of: &Section<'_>,
        symbol: u32,
    ) -> Option<RelocTarget> {
        if symbol == 0 {
            return Some(RelocTarget::Nothing);
        }
        let object = &self.objects[file.index()];
        let raw = object.symbol(symbol);
        let defined = raw.is_defined() && raw.shndx.get() != raw::SHN_COMMON;
        if raw.bind() == raw::STB_LOCAL && !raw.is_defined() {
            // A label of the compiler that is nowhere.
            if raw.kind() == raw::STT_NOTYPE {
                return Some(RelocTarget::Nothing);
            }
            if object.names[symbol as usize] == CONSTANTS_SIZE {
                return Some(RelocTarget::ConstantsSize);
            }
        }
        if let Some(out) = map.symbols[symbol as usize] {
            return Some(RelocTarget::Symbol(out));
        }
        if defined && object.role(u32::from(raw.shndx.get())) == Role::KernelShared {
            return Some(RelocTarget::Nowhere);
        }
        let never_counted = object.role(of.index) == Role::Constant
            && raw.bind() == raw::STB_WEAK
            && defined
            && !self.symbols.accepted(file, symbol);
        (!never_counted).then_some(RelocTarget::Dead)
    }
}

impl<'data> Reading<'_, 'data> {
    /// The attributes of a section, in which there are no lists of symbols. They are gathered in a list that is used
    /// again, so that what is kept takes no more room than it needs.
    pub fn attributes(
        &self,
        from: Source,
        map: &FileMap,
        list: &mut Vec<InfoRecord<'data>>,
    ) -> Result<Vec<InfoRecord<'data>>, Malformed> {
        let Source { file, section, .. } = from;
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
    pub(super) fn info_value(
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
                // It begins with symbol 0, which nvlink 12 may make a function of (core/nameless-function), or with a texture, a
                // sampler or a surface (core/texture-parameters).
                let symbols_of_file = &self.objects[file.index()].cubin.symbols;
                let is_image = |at: &u32| symbols_of_file.get(*at as usize).is_some_and(Symbol::is_image);
                let named = record.word(0).filter(is_image).unwrap_or(0);
                if let Some(Some(symbol)) = symbols.get(named as usize) {
                    return Ok(Some(InfoValue::Operand(*symbol, &record.payload[4..])));
                }
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
                let object = &self.objects[file.index()];
                // Those of the whole link go in any case.
                let of_link = [attr::IMAGE_SLOT, attr::TEXTURE_NORMALIZED, attr::SAMPLER_INIT];
                let may_name_table =
                    self.settings.keeps_attributes_of_tables && !of_link.contains(&record.attr);
                let keeps = || {
                    let raw = object.symbol(symbol);
                    let is_table = || object.role(u32::from(raw.shndx.get())) == Role::KernelConstant;
                    raw.kind() != raw::STT_SECTION || may_name_table && is_table()
                };
                match symbols.get(symbol as usize) {
                    Some(Some(out)) if keeps() => InfoValue::Operand(*out, &record.payload[4..]),
                    _ => return Ok(None),
                }
            }
            attr::LOAD_CACHE_REQUEST => return Ok(None),
            _ if record.format == format::SIZED && record.payload.is_empty() => return Ok(None),
            _ => InfoValue::Bytes(record.payload),
        };
        Ok(Some(value))
    }

    /// Whether the function this symbol defines is, for now, the copy that prevails.
    fn is_current_definition(&self, file: FileId, map: &FileMap, symbol: u32) -> bool {
        let raw = self.objects[file.index()].symbol(symbol);
        raw.is_defined()
            && raw.shndx.get() != raw::SHN_COMMON
            && map.sections[usize::from(raw.shndx.get())].is_some()
    }
}
