//! `.nv.merc.symtab`: the symbols of the output as the Mercury view has them.

use crate::image::Numbers;
use crate::model::ids::SymbolId;
use crate::model::mercury::RESERVED_SHARED;
use crate::model::merged::Merged;
use crate::shared::SharedLayout;
use solder_cubin::raw::{self, Symbol};
use zerocopy::IntoBytes;

/// The table. It lacks the symbols after the globals.
pub fn symbol_table(merged: &Merged<'_>, numbers: &Numbers, shared: &SharedLayout) -> Vec<u8> {
    let null = Symbol { value: (merged.null_value + shared.nameless).into(), ..Symbol::default() };
    let mut out = null.as_bytes().to_vec();
    for id in &numbers.symbol_order[..numbers.mercury_symbols as usize] {
        let mut symbol = entry(merged, numbers, *id);
        if let Some(debug) = shared.debug.as_ref().filter(|_| merged.symbol(*id).shared) {
            let (section, value) = debug.place(merged, *id);
            symbol.shndx = (section.map_or(0, |s| numbers.section(s)) as u16).into();
            symbol.value = value.saturating_sub(shared.shown_reserved).into();
            if debug.is_local(*id) {
                symbol.info = raw::STB_LOCAL << 4 | symbol.info & 0xf;
            }
        }
        out.extend(symbol.as_bytes());
    }
    out
}

fn entry(merged: &Merged<'_>, numbers: &Numbers, id: SymbolId) -> Symbol {
    let symbol = merged.symbol(id);
    let number = |id| match merged.section(id).twin {
        Some(twin) => numbers.section(twin),
        None => numbers.section(id),
    };
    let differs = symbol.differs();
    let kind = if symbol.kind == raw::STT_OBJECT { raw::STT_CUDA_OBJECT } else { symbol.kind };
    let value =
        if symbol.name.starts_with(RESERVED_SHARED) { 0 } else { differs.value.unwrap_or(symbol.value) };
    Symbol {
        name: numbers.name(differs.name.unwrap_or(merged.symbol_name(id))).into(),
        info: symbol.bind << 4 | kind,
        other: symbol.mercury_other,
        shndx: (symbol.section.map_or(0, number) as u16).into(),
        value: value.into(),
        size: differs.size.unwrap_or(symbol.size).into(),
    }
}
