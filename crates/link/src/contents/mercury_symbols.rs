//! `.nv.merc.symtab`: the symbols of the output as the Mercury view has them.

use crate::image::{Numbers, SectionIndices};
use crate::model::ids::{SectionId, SymbolId};
use crate::model::mercury::is_reserved;
use crate::model::merged::Merged;
use crate::shared::SharedLayout;
use solder_cubin::raw::{self, Symbol};
use zerocopy::IntoBytes;

/// The table. It lacks the symbols after the globals.
pub fn symbol_table(merged: &Merged<'_>, numbers: &Numbers, shared: &SharedLayout) -> Vec<u8> {
    let null = Symbol { value: (merged.null_value + shared.nameless).into(), ..Symbol::default() };
    let mut out = null.as_bytes().to_vec();
    for id in symbols(numbers) {
        let mut symbol = entry(merged, numbers, shared, *id);
        if let Some(debug) = shared.debug.as_ref().filter(|_| merged.symbol(*id).shared) {
            let (_, value) = debug.place(merged, *id);
            symbol.value = value.saturating_sub(shared.shown_reserved).into();
            if debug.is_local(*id) {
                symbol.info = raw::STB_LOCAL << 4 | symbol.info & 0xf;
            }
        }
        out.extend(symbol.as_bytes());
    }
    out
}

/// The section of every symbol, for entries that cannot hold it. A table that comes late has room for the symbols that
/// the other view alone has.
pub fn section_indices(merged: &Merged<'_>, numbers: &Numbers, shared: &SharedLayout) -> Vec<u8> {
    let mut out =
        numbers.section_indices(merged, symbols(numbers).iter().map(|id| section(merged, shared, *id)));
    if numbers.indices == SectionIndices::Late {
        out.resize((numbers.symbol_order.len() + 1) * size_of::<u32>(), 0);
    }
    out
}

fn symbols(numbers: &Numbers) -> &[SymbolId] {
    &numbers.symbol_order[..numbers.mercury_symbols as usize]
}

/// The section that a symbol is in.
fn section(merged: &Merged<'_>, shared: &SharedLayout, id: SymbolId) -> Option<SectionId> {
    let (section, _) = shared.place(merged, id);
    section.map(|section| merged.section(section).twin.unwrap_or(section))
}

fn entry(merged: &Merged<'_>, numbers: &Numbers, shared: &SharedLayout, id: SymbolId) -> Symbol {
    let symbol = merged.symbol(id);
    let differs = symbol.differs();
    let kind = if symbol.kind == raw::STT_OBJECT { raw::STT_CUDA_OBJECT } else { symbol.kind };
    let value = if is_reserved(symbol.name) { 0 } else { differs.value.unwrap_or(symbol.value) };
    Symbol {
        name: numbers.name(differs.name.unwrap_or(merged.symbol_name(id))).into(),
        info: symbol.bind << 4 | kind,
        other: symbol.mercury_other,
        shndx: section(merged, shared, id).map_or(0, |section| numbers.in_symbol(section)).into(),
        value: value.into(),
        size: differs.size.unwrap_or(symbol.size).into(),
    }
}
