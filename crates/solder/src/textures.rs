//! Texture, sampler and surface references: a table of handles behind the parameters of every
//! kernel, at the same offsets in all.

use crate::ids::SymbolId;
use crate::merge::{Merged, OutputSymbol};
use crate::shared::merge_sort;
use solder_cubin::{raw, reloc};

/// The table.
#[derive(Debug, Default)]
pub struct Textures {
    /// Offset of the first handle: the largest parameter area of the link.
    pub base: u64,
    /// The references in the order of their handles.
    pub slots: Vec<SymbolId>,
    /// Offset of the handle, by symbol; empty if there are none.
    offsets: Vec<Option<u64>>,
}

impl Textures {
    /// The offset of the handle for a reference, in constant bank 0.
    pub fn slot(&self, symbol: SymbolId) -> Option<u64> {
        self.offsets.get(symbol.index()).copied().flatten()
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub fn end(&self) -> u64 {
        self.base + 4 * self.slots.len() as u64
    }
}

/// The relocation type of a handle.
pub fn handle_type(symbol: &OutputSymbol<'_>) -> u32 {
    match symbol.kind {
        raw::STT_TEXTURE => reloc::R_CUDA_TEX_HEADER_INDEX,
        raw::STT_SAMPLER => reloc::R_CUDA_SAMP_HEADER_INDEX,
        _ => reloc::R_CUDA_SURF_HEADER_INDEX,
    }
}

pub fn allocate(merged: &Merged<'_>) -> Textures {
    let of_kind = |kind: u8| {
        let symbols = merged.symbols.iter().enumerate().rev();
        symbols.filter(move |(_, s)| s.kind == kind).map(|(i, _)| SymbolId::at(i))
    };
    let list: Vec<SymbolId> =
        [raw::STT_TEXTURE, raw::STT_SAMPLER, raw::STT_SURFACE].into_iter().flat_map(of_kind).collect();
    if list.is_empty() {
        return Textures::default();
    }
    let slots = merge_sort(&list, &|_| (), true);
    let sizes = merged.functions.iter().filter_map(|f| f.constant).map(|c| merged.section(c).size);
    let base = sizes.max().unwrap_or(0);
    let mut offsets = vec![None; merged.symbols.len()];
    for (i, symbol) in slots.iter().enumerate() {
        offsets[symbol.index()] = Some(base + 4 * i as u64);
    }
    Textures { base, slots, offsets }
}
