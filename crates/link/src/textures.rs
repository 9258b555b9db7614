//! Texture, sampler and surface references: a table of handles after the parameters of the kernels
//! that reach any, at the same offsets in all.

use crate::model::calls::Calls;
use crate::model::ids::{SectionId, SymbolId};
use crate::model::mercury;
use crate::model::merged::{Content, Function, Kind, Merged, OutputSymbol, RelocTarget};
use crate::options::Options;
use crate::references::DeadReferences;
use crate::shared::merge_sort;
use solder_cubin::mercury::reloc as mercury_reloc;
use solder_cubin::{raw, reloc};

/// A set of the kinds of references, one bit each.
type Kinds = u8;

const TEXTURES: Kinds = 1;
const SAMPLERS: Kinds = 2;
const SURFACES: Kinds = 4;
const ALL: Kinds = TEXTURES | SAMPLERS | SURFACES;

/// The bank number that lands in the field of a constant bank for want of a section.
pub const NO_BANK: u8 = 28;
/// The same for a reference that is a parameter, whose section is code.
pub const BANK_OF_CODE: u8 = 29;

/// The alignment of tables in links with Mercury.
const MERCURY_ALIGN: u64 = 16;

/// Where parameters begin on targets with Mercury, and tables in a link without kernels (mercury/images-without-kernels).
const MERCURY_PARAMETERS: u64 = 0x380;

/// The handles of the link, and the kernels that hold them.
#[derive(Debug, Default)]
pub struct Textures {
    /// Offset of the first handle: the largest parameter area of the link.
    base: u64,
    /// The references in the order of their handles.
    slots: Vec<SymbolId>,
    /// Offset of the handle, by symbol; empty if there are none.
    offsets: Vec<Option<u64>>,
    /// The constant bank that code finds the handles in.
    bank: u8,
    /// Whether handles of surfaces are among them: then code asks these instead of SUQ_USED.
    pub has_surfaces: bool,
    /// Where tables would begin that are not made.
    unplaced: Option<u64>,
    /// The kinds that a kernel's table lists, by its `.nv.constant0.K`; empty if there are none.
    listed: Vec<Kinds>,
}

impl Textures {
    /// The offset of the handle for a reference and its constant bank.
    pub fn slot(&self, symbol: SymbolId) -> Option<(u64, u8)> {
        Some((self.offsets.get(symbol.index()).copied().flatten()?, self.bank))
    }

    /// Where the table after a kernel's parameters ends, if it has one. A kind that the table does
    /// not list leaves its places empty.
    pub fn end(&self, constant: SectionId) -> Option<u64> {
        (self.listed_in(constant) != 0).then(|| self.base + 4 * self.slots.len() as u64)
    }

    /// The references that a kernel's table lists and their offsets, in ascending order.
    pub fn handles<'a>(
        &'a self,
        merged: &'a Merged<'_>,
        constant: SectionId,
    ) -> impl DoubleEndedIterator<Item = (SymbolId, u64)> + 'a {
        let listed = self.listed_in(constant);
        let text = merged.section(constant).of;
        let is_listed = move |symbol: &SymbolId| {
            let symbol = merged.symbol(*symbol);
            // A parameter is listed by its own kernel only (core/texture-parameters).
            kind(symbol) & listed != 0 && (symbol.section.is_none() || symbol.section == text)
        };
        let slots = self.slots.iter().copied().filter(is_listed);
        slots.filter_map(|symbol| Some((symbol, self.slot(symbol)?.0)))
    }

    /// Whether a kernel's table lists any. One of parameters of other kernels has places, but lists none.
    pub fn has_handles(&self, merged: &Merged<'_>, constant: SectionId) -> bool {
        self.handles(merged, constant).next().is_some()
    }

    /// The size of a table without what precedes it, and the offset of its first handle.
    pub fn size(&self) -> u64 {
        4 * self.slots.len() as u64
    }

    /// What code says of a reference whose relocation is kept.
    pub fn unplaced(&self, symbol: &OutputSymbol<'_>) -> Option<u64> {
        self.unplaced.filter(|_| kind(symbol) != 0)
    }

    /// The offset of the first handle.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Where tables begin, or would, if a symbol is a reference.
    pub fn table_of(&self, id: SymbolId, symbol: &OutputSymbol<'_>) -> Option<u64> {
        self.slot(id).map(|_| self.base).or_else(|| self.unplaced(symbol))
    }

    fn listed_in(&self, constant: SectionId) -> Kinds {
        self.listed.get(constant.index()).copied().unwrap_or(0)
    }
}

fn kind(symbol: &OutputSymbol<'_>) -> Kinds {
    match symbol.kind {
        raw::STT_TEXTURE => TEXTURES,
        raw::STT_SAMPLER => SAMPLERS,
        raw::STT_SURFACE => SURFACES,
        _ => 0,
    }
}

/// The relocation type of a handle in the Mercury view.
pub fn mercury_handle_type(symbol: &OutputSymbol<'_>) -> u32 {
    match symbol.kind {
        raw::STT_TEXTURE => mercury_reloc::TEX_HEADER_INDEX,
        raw::STT_SAMPLER => mercury_reloc::SAMP_HEADER_INDEX,
        _ => mercury_reloc::SURF_HEADER_INDEX,
    }
}

/// The relocation type of a handle.
pub fn handle_type(symbol: &OutputSymbol<'_>, sm: u16) -> u32 {
    match symbol.kind {
        raw::STT_SAMPLER if sm >= mercury::FROM => reloc::R_CUDA_SAMP_HEADER_INDEX_0,
        raw::STT_TEXTURE => reloc::R_CUDA_TEX_HEADER_INDEX,
        raw::STT_SAMPLER => reloc::R_CUDA_SAMP_HEADER_INDEX,
        _ => reloc::R_CUDA_SURF_HEADER_INDEX,
    }
}

/// The kinds that the table of a kernel lists which reaches these kinds.
fn listed_for(reached: Kinds) -> Kinds {
    match reached {
        0 => 0,
        TEXTURES => TEXTURES | SURFACES,
        SAMPLERS => SAMPLERS | SURFACES,
        _ => ALL,
    }
}

/// Gives every reference its handle, unless the link is relocatable.
pub fn lay_out(merged: &Merged<'_>, options: &Options<'_>, referenced: &DeadReferences<'_, '_>) -> Textures {
    if options.relocatable {
        unallocated(merged, options.sm())
    } else {
        allocate(merged, &merged.calls, options.sm(), &|id| referenced.contains(id))
    }
}

/// Gives every reference its handle. `referenced` says of one whether any code of the inputs, dead
/// code too, refers to it.
fn allocate(merged: &Merged<'_>, calls: &Calls, sm: u16, referenced: &impl Fn(SymbolId) -> bool) -> Textures {
    let slots = slots(merged);
    if slots.is_empty() {
        return Textures::default();
    }
    // Kernels without a table count too.
    let sizes = merged.functions.iter().filter_map(|f| f.constant).map(|c| merged.section(c).size);
    let (align, none) = if sm >= mercury::FROM { (MERCURY_ALIGN, MERCURY_PARAMETERS) } else { (4, 0) };
    let base = sizes.max().unwrap_or(none).checked_next_multiple_of(align).unwrap_or(u64::MAX);
    let mut offsets = vec![None; merged.symbols.len()];
    for (i, symbol) in slots.iter().enumerate() {
        offsets[symbol.index()] = Some(base + 4 * i as u64);
    }
    let mut listed = vec![0; merged.sections.len()];
    for (kernel, reached) in reached_kinds(merged, calls, sm, &slots, referenced) {
        // A kernel that finds the table of another one of its name has none of its own.
        let constant = merged.functions[kernel].constant;
        if let Some(constant) = constant.filter(|c| merged.section(*c).kind == Kind::KernelConstant) {
            listed[constant.index()] |= listed_for(reached);
        }
    }
    let has_surfaces = slots.iter().any(|id| merged.symbol(*id).kind == raw::STT_SURFACE);
    Textures { base, slots, offsets, bank: 0, has_surfaces, unplaced: None, listed }
}

/// The kernels that have a table in a link with Mercury, as functions.
pub fn kernels_with_table(
    merged: &Merged<'_>,
    calls: &Calls,
    referenced: &impl Fn(SymbolId) -> bool,
) -> Vec<usize> {
    let slots = slots(merged);
    if slots.is_empty() {
        return Vec::new();
    }
    let kernels = reached_kinds(merged, calls, mercury::FROM, &slots, referenced);
    kernels.into_iter().filter(|(_, reached)| *reached != 0).map(|(kernel, _)| kernel).collect()
}

/// The references in the order of their handles.
fn slots(merged: &Merged<'_>) -> Vec<SymbolId> {
    merge_sort(&references(merged), &|_| (), true)
}

/// The references by kind, the last one made first.
pub(crate) fn references(merged: &Merged<'_>) -> Vec<SymbolId> {
    let of_kind = |kind: u8| {
        let symbols = merged.references.iter().copied().rev();
        symbols.filter(move |id| merged.symbol(*id).kind == kind)
    };
    [raw::STT_TEXTURE, raw::STT_SAMPLER, raw::STT_SURFACE].into_iter().flat_map(of_kind).collect()
}

/// A relocatable link makes no tables, but all the same resolves the relocations of code, to nothing. With Mercury it
/// keeps them, and code says where tables would begin.
fn unallocated(merged: &Merged<'_>, sm: u16) -> Textures {
    if sm >= mercury::FROM {
        let parameters = |f: &crate::model::merged::Function| f.constant.map(|id| merged.section(id).size);
        let size = merged.functions.iter().filter_map(parameters).max();
        return Textures {
            unplaced: size.unwrap_or(MERCURY_PARAMETERS).checked_next_multiple_of(MERCURY_ALIGN),
            ..Textures::default()
        };
    }
    let mut offsets = vec![None; merged.references.last().map_or(0, |last| last.index() + 1)];
    merged.references.iter().for_each(|id| offsets[id.index()] = Some(0));
    Textures { offsets, bank: NO_BANK, ..Textures::default() }
}

/// The kinds of references that each kernel reaches. For the only kernel that is followed, nvlink takes all code of the
/// inputs for reached; with Mercury the other kernels then reach none.
fn reached_kinds(
    merged: &Merged<'_>,
    calls: &Calls,
    sm: u16,
    slots: &[SymbolId],
    referenced: &impl Fn(SymbolId) -> bool,
) -> Vec<(usize, Kinds)> {
    let kernels = merged.kernels().map(|(kernel, function)| (kernel as usize, function));
    if let Some(only) = merged.only_root().map(|kernel| kernel as usize) {
        let all = slots.iter().filter(|s| referenced(**s)).fold(0, |all, s| all | kind(merged.symbol(*s)));
        let of = |kernel: usize| match kernel {
            _ if kernel == only => all,
            _ if sm >= mercury::FROM => 0,
            _ => used_by(merged, kernel),
        };
        return kernels.map(|(kernel, _)| (kernel, of(kernel))).collect();
    }
    let used: Vec<Kinds> = (0..merged.functions.len()).map(|f| used_by(merged, f)).collect();
    let reached = calls.fold(|node| used.get(node).copied().unwrap_or(0), |a, b| *a |= b);
    let of =
        |kernel: usize, function: &Function| if function.launched { used[kernel] } else { reached[kernel] };
    kernels.map(|(kernel, function)| (kernel, of(kernel, function))).collect()
}

/// The kinds of references that the code of a function itself uses.
fn used_by(merged: &Merged<'_>, function: usize) -> Kinds {
    let Some(text) = merged.functions[function].text else { return 0 };
    let text = merged.section(text);
    let mut used = 0;
    for relocations in [text.rel, text.rela].into_iter().flatten() {
        let Content::Relocations(entries) = &merged.section(relocations).content else { continue };
        for entry in entries {
            if let RelocTarget::Symbol(symbol) = entry.target {
                used |= kind(merged.symbol(symbol));
            }
        }
    }
    used
}
