//! A cubin with a unique name for everything in it, so that two files whose indices differ can still
//! be compared by what the indices mean.

use crate::note::Linker;
use bstr::{BStr, ByteSlice};
use solder_cubin::raw::{self, Symbol};
use solder_cubin::{Cubin, Section, string_at};
use std::collections::HashMap;

pub struct View<'data> {
    pub cubin: Cubin<'data>,
    /// One label for each section: its name, with a number if it is not the first of that name.
    labels: Vec<String>,
    /// The table that the names of the sections stand in.
    pub section_names: &'data [u8],
    tables: Vec<SymbolTable<'data>>,
    /// Extended section indices of the symbols, where the file has them.
    extended: &'data [u8],
}

/// The two files and what has to be known of both to compare any part of them.
pub struct Both<'v, 'data> {
    pub a: &'v View<'data>,
    pub b: &'v View<'data>,
    /// Whether every index of a section or symbol means the same in both files.
    pub same_names: bool,
    /// Whether every offset of a string does.
    pub same_strings: bool,
    pub ignore_tkinfo: bool,
    pub notes: Linker,
}

impl<'v, 'data> Both<'v, 'data> {
    pub fn new(a: &'v View<'data>, b: &'v View<'data>, ignore_tkinfo: bool) -> Self {
        let names =
            |view: &'v View<'data>| (&view.labels, view.tables.iter().map(|t| (t.section, &t.labels)));
        let ((sections_a, symbols_a), (sections_b, symbols_b)) = (names(a), names(b));
        Self {
            a,
            b,
            same_names: sections_a == sections_b && symbols_a.eq(symbols_b),
            same_strings: a.cubin.strings == b.cubin.strings,
            ignore_tkinfo,
            notes: Linker::of(&a.cubin, &b.cubin, ignore_tkinfo),
        }
    }
}

/// `.symtab` or `.nv.merc.symtab`.
struct SymbolTable<'data> {
    section: u32,
    symbols: &'data [Symbol],
    labels: Vec<String>,
}

/// Makes unique labels of names: the second `x` is `x (2)`. Bytes that are not UTF-8 are escaped.
fn number<'a>(names: impl Iterator<Item = &'a BStr>) -> Vec<String> {
    let mut seen: HashMap<&BStr, usize> = HashMap::new();
    let label = |name: &'a BStr| {
        let count = seen.entry(name).or_default();
        *count += 1;
        let shown = name.escape_bytes();
        if *count == 1 { shown.to_string() } else { format!("{shown} ({count})") }
    };
    names.map(label).collect()
}

pub fn is_symbol_table(sh_type: u32) -> bool {
    matches!(sh_type, raw::SHT_SYMTAB | raw::SHT_MERC_SYMTAB)
}

impl<'data> View<'data> {
    pub fn new(cubin: Cubin<'data>) -> Self {
        let labels =
            number(cubin.sections.iter().map(|s| if s.index == 0 { BStr::new("null") } else { s.name }));
        let tables = cubin.sections.iter().filter(|s| is_symbol_table(s.sh_type()));
        let tables = tables.filter_map(|s| SymbolTable::read(&cubin, s)).collect();
        let extended = cubin.sections.iter().find(|s| s.sh_type() == raw::SHT_SYMTAB_SHNDX);
        let extended = extended.map_or(&[][..], |s| s.data);
        let names = cubin.section_at(u32::from(cubin.header.shstrndx.get()));
        let section_names = names.map_or(&[][..], |s| s.data);
        Self { cubin, labels, section_names, tables, extended }
    }

    pub fn label(&self, section: u32) -> String {
        let label = self.labels.get(section as usize);
        label.map_or_else(|| format!("section {section} (none such)"), Clone::clone)
    }

    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    pub fn section(&self, index: usize) -> &Section<'data> {
        &self.cubin.sections[index]
    }

    fn table_for(&self, section: &Section) -> Option<&SymbolTable<'data>> {
        let linked = |index: u32| self.tables.iter().find(|t| t.section == index);
        linked(section.index).or_else(|| linked(section.link())).or_else(|| linked(self.cubin.symtab))
    }

    /// A symbol of the table that belongs to `section`.
    pub fn symbol(&self, section: &Section, index: u32) -> String {
        let label = self.table_for(section).and_then(|t| t.labels.get(index as usize));
        label.map_or_else(|| format!("symbol {index} (none such)"), |label| format!("'{label}'"))
    }

    /// The symbols of a symbol table section, with their labels.
    pub fn symbols(&self, section: &Section) -> Option<impl Iterator<Item = (&'data Symbol, &str)>> {
        let table = self.tables.iter().find(|t| t.section == section.index)?;
        Some(table.symbols.iter().zip(table.labels.iter().map(String::as_str)))
    }

    /// Where a symbol is defined.
    pub fn home(&self, position: usize, symbol: &Symbol) -> String {
        match symbol.shndx.get() {
            raw::SHN_UNDEF => "undefined".to_owned(),
            0xfff1 => "absolute".to_owned(),
            raw::SHN_COMMON => "common".to_owned(),
            0xffff => match self.extended.chunks_exact(4).nth(position) {
                Some(word) => self.label(u32::from_le_bytes([word[0], word[1], word[2], word[3]])),
                None => "extended index (none such)".to_owned(),
            },
            index => self.label(u32::from(index)),
        }
    }

    /// A string of the table that the symbol table uses.
    pub fn string(&self, offset: u32) -> String {
        self.cubin
            .strings
            .at(offset)
            .map_or_else(|| format!("string at {offset:#x} (none such)"), |text| format!("{text:?}"))
    }
}

impl<'data> SymbolTable<'data> {
    fn read(cubin: &Cubin<'data>, section: &Section<'data>) -> Option<Self> {
        let symbols: &[Symbol] = section.entries().ok()?;
        let strings = cubin.section_at(section.link()).map_or(&[][..], |s| s.data);
        let name = |(i, symbol): (usize, &Symbol)| match string_at(strings, symbol.name.get()) {
            _ if i == 0 => BStr::new("none"),
            Some(name) if name.is_empty() => BStr::new("nameless"),
            Some(name) => name,
            None => BStr::new("badly named"),
        };
        Some(Self { section: section.index, symbols, labels: number(symbols.iter().enumerate().map(name)) })
    }
}
