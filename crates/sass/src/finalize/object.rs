//! An object as finalizing sees it: which sections are code, and which sections name places in it.
//!
//! An object for sm_100 and later describes its code twice: as machine code in ordinary sections, and as Mercury in twins of
//! them, which have a flag. The twin of code is a capsule.

use bstr::BStr;
use solder_arch::Release;
use solder_cubin::info::{self, Record, attr};
use solder_cubin::mercury::PREFIX;
use solder_cubin::note::{self, ToolInfo};
use solder_cubin::raw::{self, Symbol};
use solder_cubin::{Cubin, Section};

/// No section: the null section has no twin and belongs to none.
const NONE: u32 = 0;

#[derive(Debug)]
pub struct Object<'a, 'data> {
    pub cubin: &'a Cubin<'data>,
    /// By section: the capsule of a text section.
    capsules: Vec<u32>,
}

impl<'a, 'data> Object<'a, 'data> {
    /// `None` if the object has no Mercury view.
    pub fn new(cubin: &'a Cubin<'data>) -> Option<Self> {
        if !has_mercury(cubin) {
            return None;
        }
        let mut object = Self { cubin, capsules: vec![NONE; cubin.sections.len()] };
        let is_capsule = |s: &&Section<'_>| is_mercury(s) && s.sh_type() == raw::SHT_CUDA_CAPSULE;
        for capsule in cubin.sections.iter().filter(is_capsule) {
            if let Some(text) = object.text_of(capsule) {
                object.capsules[text as usize] = capsule.index;
            }
        }
        Some(object)
    }

    /// The text section of the function that a capsule names.
    fn text_of(&self, capsule: &Section<'_>) -> Option<u32> {
        let symbol = self.cubin.symbols.get(capsule.info() as usize)?;
        let text = self.cubin.section_at(symbol.shndx.get().into())?;
        is_text(text).then_some(text.index)
    }

    /// The code that has a capsule, with it.
    pub fn code(&self) -> impl Iterator<Item = (&'a Section<'data>, &'a Section<'data>)> + '_ {
        let sections = &self.cubin.sections;
        let capsule =
            |text: &Section<'_>| Some(self.capsules[text.index as usize]).filter(|capsule| *capsule != NONE);
        let texts = sections.iter().filter(|section| is_text(section));
        texts.filter_map(move |text| Some((text, &sections[capsule(text)? as usize])))
    }

    /// The function that a text section belongs to.
    pub fn owner(&self, text: &Section<'_>) -> Option<(u32, &'data Symbol)> {
        let index = text.info() & 0x00ff_ffff;
        let symbol = self.cubin.symbols.get(index as usize)?;
        (symbol.kind() == raw::STT_FUNC).then_some((index, symbol))
    }

    pub fn owner_name(&self, text: &Section<'_>) -> Option<&'data BStr> {
        self.cubin.symbol_name(self.owner(text)?.0).ok()
    }

    pub fn sections(&self, is: fn(&Section<'_>) -> bool) -> impl Iterator<Item = &'a Section<'data>> {
        self.cubin.sections.iter().filter(move |section| is(section))
    }

    /// The attributes of a function. Ends at the first record that cannot be read.
    fn attributes(&self, text: u32) -> impl Iterator<Item = Record<'data>> {
        let lists = self.sections(is_function_info).filter(move |s| s.info() == text);
        lists.flat_map(|list| info::records(list.data).map_while(Result::ok))
    }

    /// Where the indirect branches of a function go: each one and its targets, in bytes.
    pub fn jumps(&self, text: u32) -> impl Iterator<Item = (usize, Vec<usize>)> {
        let lists = self.attributes(text).filter(|record| record.attr == attr::INDIRECT_BRANCH_TARGETS);
        lists.flat_map(|record| info::branch_targets(record.payload).collect::<Vec<_>>())
    }

    /// Whether the assembler reports of some function that it has the workaround of 13.0.100.
    pub fn has_workaround(&self) -> bool {
        let is_mark = |record: Record<'_>| record.attr == attr::NVSAL_SW_WAR;
        self.sections(is_function_info).any(|list| info::records(list.data).flatten().any(is_mark))
    }

    /// The toolkit that the object says it was made by, such as "12.9".
    pub fn release(&self) -> Option<&'data BStr> {
        let is_note =
            |s: &Section<'_>| s.sh_type() == raw::SHT_NOTE && s.name == ".note.nv.tkinfo" && !is_mercury(s);
        let notes = self.sections(is_note).next()?.data;
        note::notes(notes).find_map(|note| ToolInfo::parse(note.desc))?.release()
    }

    /// The number of the toolkit that the object says it was made by, such as 129; 0 for one that is not known.
    pub fn toolkit(&self) -> Option<u32> {
        self.release().map(|of| Release::toolkit_of(&of.to_string()).unwrap_or_default())
    }

    /// The twin of a section that is the only one of its name.
    pub fn twin_of(&self, section: &Section<'_>) -> Option<&'a Section<'data>> {
        let is_twin = |s: &&Section<'_>| s.name.strip_prefix(PREFIX) == Some(&**section.name);
        self.sections(is_mercury).find(is_twin)
    }

    /// The twin of constants that belong to a function.
    pub fn twin_of_constants(&self, constants: &Section<'_>) -> Option<u32> {
        let text = constants.info();
        let is_twin = |s: &&Section<'_>| match s.sh_type() {
            raw::SHT_MERC_CONSTANT_OPTIMIZER => {
                let capsule = self.capsules.get(text as usize).copied().unwrap_or(NONE);
                let first = self.sections(is_function_constant).find(|of| of.info() == text);
                capsule != NONE && s.info() == capsule && first.is_some_and(|s| s.index == constants.index)
            }
            raw::SHT_CUDA_CAPSULE | raw::SHT_MERC_RELA | raw::SHT_MERC_SYMTAB | raw::SHT_MERC_INFO => false,
            _ => s.name.strip_prefix(PREFIX).is_some_and(|name| name == constants.name),
        };
        self.sections(is_mercury).find(is_twin).map(|s| s.index)
    }
}

/// Whether an object has a Mercury view.
pub fn has_mercury(cubin: &Cubin<'_>) -> bool {
    cubin.sections.iter().any(|s| s.sh_type() == raw::SHT_MERC_SYMTAB)
}

fn is_mercury(section: &Section<'_>) -> bool {
    section.flags() & raw::SHF_MERCURY != 0
}

fn is_code_or_data(section: &Section<'_>, executable: bool) -> bool {
    !is_mercury(section) && executable == (section.flags() & raw::SHF_EXECINSTR != 0)
}

/// `.text.F`
pub fn is_text(section: &Section<'_>) -> bool {
    is_code_or_data(section, true) && matches!(section.sh_type(), raw::SHT_PROGBITS | raw::SHT_CUDA_UFT)
}

/// `.nv.info.F`, whose `sh_info` is the text section.
pub fn is_function_info(section: &Section<'_>) -> bool {
    !is_mercury(section) && section.sh_type() == raw::SHT_CUDA_INFO && section.name != ".nv.info"
}

/// `.nv.constantN.F`, N > 0, whose `sh_info` is the text section.
pub fn is_function_constant(section: &Section<'_>) -> bool {
    let is_of_function = section.flags() & raw::SHF_INFO_LINK != 0 || section.info() != 0;
    let numbers = raw::SHT_CUDA_CONSTANT + 1..=raw::SHT_CUDA_CONSTANT_LAST;
    !is_mercury(section) && is_of_function && numbers.contains(&section.sh_type())
}

pub fn is_relocations(section: &Section<'_>) -> bool {
    !is_mercury(section) && matches!(section.sh_type(), raw::SHT_REL | raw::SHT_RELA)
}

/// `.debug_*`, `.nv_debug_*`: the callers know which.
pub fn is_debug(section: &Section<'_>) -> bool {
    is_code_or_data(section, false) && section.sh_type() == raw::SHT_PROGBITS
}
