//! Finds the Mercury twin of each section of an object.

use crate::model::object::{Damage, Object, Role};
use crate::model::twins::Twins;
use bstr::BStr;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use solder_cubin::mercury::{CONSTANT_ADDRESSES, CONSTANT_USER, PREFIX, is_older_capsule, loads};
use solder_cubin::raw::{self, Symbol};
use solder_cubin::{Section, info};

impl<'data> Twins<'data> {
    /// Pairs the sections of an object; `None` if it has no Mercury view.
    pub fn find(object: &Object<'data>) -> Result<Option<Self>, Damage> {
        let sections = &object.cubin.sections;
        let Some(table) = sections.iter().find(|s| s.sh_type() == raw::SHT_MERC_SYMTAB) else {
            return Ok(None);
        };
        let symbols: &[Symbol] = table
            .entries()
            .map_err(|_| Damage::new(table.name, "its size is no multiple of its entry size"))?;
        if symbols.len() > object.cubin.symbols.len() {
            return Err(Damage::new(table.name, "it has more symbols than the symbol table"));
        }
        let mut twins =
            Self { symbols, partner: vec![0; sections.len()], copies: Vec::new(), later_infos: Vec::new() };
        sections.iter().try_for_each(|section| twins.check(object, section))?;
        let mercury = || sections.iter().filter(|s| s.flags() & raw::SHF_MERCURY != 0);
        // Other twins refer to the capsules.
        for section in mercury().filter(|s| s.sh_type() == raw::SHT_CUDA_CAPSULE) {
            // Those of 12.8 are converted first.
            if !is_older_capsule(section.data) {
                loads(section.data).map_err(|damage| Damage::new(section.name, damage.to_string()))?;
            }
            let text = Self::text_of(object, section);
            twins.pair(object, section, text)?;
        }
        for section in mercury().filter(|s| s.sh_type() != raw::SHT_CUDA_CAPSULE) {
            match section.sh_type() {
                raw::SHT_MERC_RELA | raw::SHT_MERC_SYMTAB => continue,
                _ => {}
            }
            let partner = twins.partner_of(object, section);
            twins.pair(object, section, partner)?;
        }
        let later = later_functions(object);
        twins.copies = twins.copies_of_code(object, &later);
        twins.later_infos = twins.infos_of(object, &later);
        Ok(Some(twins))
    }

    /// Functions of one name with the same code.
    fn copies_of_code(
        &self,
        object: &Object<'data>,
        later: &[(&Section<'data>, &Section<'data>)],
    ) -> Vec<(u32, u32)> {
        let mut copies = Vec::new();
        for (text, earlier) in later.iter().filter(|(text, earlier)| text.data == earlier.data) {
            let views = [(text.index, earlier.index)]
                .into_iter()
                .chain(self.partner(text.index).zip(self.partner(earlier.index)));
            for (later, earlier) in views {
                let relocations = |of: u32| {
                    let is_list = |s: &&Section<'data>| {
                        matches!(s.sh_type(), raw::SHT_RELA | raw::SHT_MERC_RELA) && s.info() == of
                    };
                    object.cubin.sections.iter().find(is_list)
                };
                let lists = relocations(later).zip(relocations(earlier));
                copies.extend(lists.filter(|(a, b)| a.size() == b.size()).map(|(a, b)| (a.index, b.index)));
            }
        }
        copies
    }

    /// The Mercury attributes of functions of one name.
    fn infos_of(
        &self,
        object: &Object<'data>,
        later: &[(&Section<'data>, &Section<'data>)],
    ) -> Vec<(u32, u32, bool)> {
        if later.is_empty() {
            return Vec::new();
        }
        let infos = object.sections_with(Role::FunctionInfo);
        let by_text: HashMap<u32, u32, FixedState> =
            infos.filter_map(|info| Some((info.info(), self.partner(info.index)?))).collect();
        let of = |text: &Section<'data>| by_text.get(&text.index).copied();
        let infos = later.iter().map(|(text, first)| Some((of(text)?, of(first)?, text.data == first.data)));
        let mut infos: Vec<_> = infos.flatten().collect();
        infos.sort_unstable();
        infos
    }

    /// The text section of the function that a capsule names.
    fn text_of(object: &Object<'data>, capsule: &Section<'data>) -> Option<u32> {
        let symbol = object.cubin.symbols.get(capsule.info() as usize)?;
        let section = u32::from(symbol.shndx.get());
        (symbol.shndx.get() != raw::SHN_COMMON && object.role(section) == Role::Text).then_some(section)
    }

    fn partner_of(&self, object: &Object<'data>, section: &Section<'data>) -> Option<u32> {
        let belongs_to = self.partner.get(section.info() as usize).copied().unwrap_or(0);
        let of_function = |role: Role| {
            let mut all = object.sections_with(role).filter(|s| s.info() == belongs_to);
            all.next().map(|s| s.index)
        };
        match section.sh_type() {
            raw::SHT_MERC_INFO if section.flags() & raw::SHF_INFO_LINK == 0 => {
                object.first(Role::Info).map(|s| s.index)
            }
            raw::SHT_MERC_INFO => of_function(Role::FunctionInfo),
            raw::SHT_MERC_CONSTANT_OPTIMIZER => of_function(Role::FunctionConstant),
            _ => {
                let name = section.name.strip_prefix(PREFIX)?;
                let renamed = [CONSTANT_USER, CONSTANT_ADDRESSES].into_iter().find(|(old, _)| *old == name);
                let name = renamed.map_or(name, |(_, code)| code);
                object.cubin.section(name).filter(|s| s.flags() & raw::SHF_MERCURY == 0).map(|s| s.index)
            }
        }
    }

    fn pair(
        &mut self,
        object: &Object<'data>,
        section: &Section<'data>,
        partner: Option<u32>,
    ) -> Result<(), Damage> {
        match partner {
            Some(partner) if self.partner[partner as usize] == 0 => {
                self.partner[partner as usize] = section.index;
                self.partner[section.index as usize] = partner;
                Ok(())
            }
            Some(partner) => {
                let reason = format!("'{}' has another twin", object.section(partner).name);
                Err(Damage::new(section.name, reason))
            }
            None => Err(Damage::new(section.name, "the section it is the twin of does not exist")),
        }
    }

    fn check(&self, object: &Object<'data>, section: &Section<'data>) -> Result<(), Damage> {
        match section.sh_type() {
            raw::SHT_MERC_RELA => {
                let entries: &[raw::Rela] = section
                    .entries()
                    .map_err(|_| Damage::new(section.name, "its size is no multiple of its entry size"))?;
                if entries.iter().any(|e| e.symbol.get() as usize >= self.symbols.len()) {
                    return Err(Damage::new(section.name, "a relocation names a symbol that does not exist"));
                }
                if section.info() as usize >= object.cubin.sections.len() {
                    return Err(Damage::new(section.name, "the section it belongs to does not exist"));
                }
            }
            raw::SHT_MERC_INFO if info::records(section.data).any(|r| r.is_err()) => {
                return Err(Damage::new(section.name, "a record runs past its end"));
            }
            _ => {}
        }
        Ok(())
    }
}

/// Static functions with the first one of their name, as relocatable links bring them together.
fn later_functions<'a, 'data>(object: &'a Object<'data>) -> Vec<(&'a Section<'data>, &'a Section<'data>)> {
    let mut first: HashMap<&BStr, &Section<'data>, FixedState> = HashMap::default();
    let all = object.sections_with(Role::Text);
    let pairs = all.map(|text| (text, *first.entry(text.name).or_insert(text)));
    pairs.filter(|(text, earlier)| text.index != earlier.index).collect()
}
