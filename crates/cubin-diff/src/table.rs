//! Tables: symbols, relocations, call graph, prototypes, strings.

use crate::list::Entry;
use crate::view::View;
use crate::words;
use solder_cubin::callgraph::{MARKERS, Part};
use solder_cubin::raw::{self, WordPair};
use solder_cubin::{Section, raw::Rela};

pub fn is_relocations(sh_type: u32) -> bool {
    matches!(
        sh_type,
        raw::SHT_REL
            | raw::SHT_RELA
            | raw::SHT_MERC_RELA
            | raw::SHT_CUDA_RESOLVED_RELA
            | raw::SHT_MERC_RESOLVED_RELA
    )
}

pub fn symbols(view: &View, section: &Section) -> Option<Vec<Entry>> {
    let entry = |(i, (symbol, label)): (usize, (&raw::Symbol, &str))| Entry {
        key: format!("'{label}'"),
        fields: vec![
            ("type", words::symbol_type(symbol.kind())),
            ("binding", words::binding(symbol.bind())),
            ("other", words::symbol_other(symbol.other)),
            ("section", view.home(i, symbol)),
            ("value", format!("{:#x}", symbol.value.get())),
            ("size", format!("{:#x}", symbol.size.get())),
        ],
    };
    Some(view.symbols(section)?.enumerate().map(entry).collect())
}

pub fn relocations(view: &View, section: &Section) -> Option<Vec<Entry>> {
    let entry = |rela: Rela| {
        let (kind, symbol) = (words::relocation(rela.r_type.get()), view.symbol(section, rela.symbol.get()));
        let addend = rela.addend.get();
        let sign = if addend < 0 { '-' } else { '+' };
        let text = format!("{kind} → symbol {symbol} {sign} {:#x}", addend.unsigned_abs());
        Entry { key: format!("+{:#x}", rela.offset.get()), fields: vec![("", text)] }
    };
    Some(section.relocations().ok()?.iter().map(entry).collect())
}

pub fn call_graph(view: &View, section: &Section) -> Option<Vec<Entry>> {
    let pairs: &[WordPair] = section.entries().ok()?;
    let mut part = None;
    let symbol = |index| view.symbol(section, index);
    let text = |pair: &WordPair| {
        let (a, b) = (pair.a.get(), pair.b.get());
        if a == 0 {
            part = MARKERS.iter().find(|(marker, _)| *marker == b).map(|(_, part)| *part);
            return match part {
                Some(Part::Call) => "begin of the calls".to_owned(),
                Some(Part::Taken) => "begin of the functions whose address is taken".to_owned(),
                Some(Part::Indirect) => "begin of the indirect calls".to_owned(),
                Some(Part::Takes) => "begin of the takers of addresses".to_owned(),
                None => format!("begin of an unknown part {b:#x}"),
            };
        }
        match part {
            Some(Part::Call) => format!("{} calls {}", symbol(a), symbol(b)),
            Some(Part::Taken) => format!("address of {} is taken, prototype {}", symbol(a), view.string(b)),
            Some(Part::Indirect) => format!("{} calls through prototype {}", symbol(a), view.string(b)),
            Some(Part::Takes) => format!("{} takes the address of {}", symbol(a), symbol(b)),
            None => format!("{a:#x} {b:#x} in no part"),
        }
    };
    Some(pairs.iter().map(text).map(Entry::named).collect())
}

pub fn prototypes(view: &View, section: &Section) -> Option<Vec<Entry>> {
    let pairs: &[WordPair] = section.entries().ok()?;
    let entry = |pair: &WordPair| Entry {
        key: view.symbol(section, pair.a.get()),
        fields: vec![("", view.string(pair.b.get()))],
    };
    Some(pairs.iter().map(entry).collect())
}

pub fn strings(data: &[u8]) -> Vec<Entry> {
    let body = data.strip_suffix(&[0]).unwrap_or(data);
    body.split(|&byte| byte == 0)
        .map(|text| Entry::named(format!("{:?}", String::from_utf8_lossy(text))))
        .collect()
}

/// A Mercury capsule begins with the index of the section whose code it accompanies; the rest is code.
pub fn capsule(view: &View, data: &[u8]) -> Option<Vec<Entry>> {
    let (index, code) = data.split_first_chunk()?;
    let mut entries =
        vec![Entry { key: "code in".to_owned(), fields: vec![("", view.label(u32::from_le_bytes(*index)))] }];
    let rows = code.chunks(16).enumerate();
    entries.extend(
        rows.map(|(i, row)| Entry {
            key: format!("+{:#x}", 4 + 16 * i),
            fields: vec![("", words::hex(row))],
        }),
    );
    Some(entries)
}
