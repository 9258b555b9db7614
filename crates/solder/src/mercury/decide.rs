//! Relocations of the Mercury view: resolved, kept or dropped.

use crate::merge::{Kind, Merged, OutputSection, Reloc, RelocTarget};
use crate::relocate::{Outcome, Patch, is_unified_table};
use crate::shared::SharedLayout;
use crate::textures::Textures;
use solder_cubin::mercury::{Capsule, reloc};
use solder_cubin::bits::Bits;
use solder_cubin::raw;
use solder_cubin::reloc::kind_of;

/// What becomes of a relocation in the Mercury code of `function`, or in other sections.
pub fn decide(
    merged: &Merged<'_>,
    shared: &SharedLayout,
    textures: &Textures,
    function: Option<u32>,
    entry: &Reloc,
) -> Outcome {
    let clears = entry.r_type == reloc::UNUSED_CLEAR_64;
    let id = match entry.target {
        RelocTarget::Dead if clears => return Outcome::Patch(Patch::Bytes { value: 0, count: 8 }),
        RelocTarget::Dead | RelocTarget::Nothing => return Outcome::Drop,
        RelocTarget::Symbol(_) if clears => return Outcome::Drop,
        RelocTarget::Symbol(id) => id,
    };
    let symbol = merged.symbol(id);
    let resolved = |value: u64| {
        let count = if matches!(entry.r_type, reloc::ABS_64) { 8 } else { 4 };
        Outcome::Patch(Patch::Bytes { value: value.wrapping_add(entry.addend as u64), count })
    };
    if symbol.shared {
        return resolved(shared.value(merged, id, function));
    }
    if let Some((offset, _)) = textures.slot(id) {
        return resolved(offset);
    }
    if let Some(constant) = symbol.constant.map(|c| &merged.constants[c as usize]) {
        return resolved(constant.offset.wrapping_add(symbol.value));
    }
    let Some(section) = symbol.section.map(|s| merged.section(s)) else {
        let keeps = !is_unified_table(merged, id);
        return if keeps { Outcome::Keep(reloc::kept_as(entry.r_type)) } else { Outcome::Drop };
    };
    if symbol.kind == raw::STT_SECTION {
        // The addend has the place of this input's part already.
        return resolved(0);
    }
    if matches!(section.kind, Kind::Constant(_) | Kind::FunctionConstant(_))
        && entry.r_type != reloc::GENERIC_64
    {
        return resolved(symbol.value);
    }
    Outcome::Keep(reloc::kept_as(entry.r_type))
}

/// The patches of a capsule: what is resolved in the machine code is written, as a word, into the operand of the
/// instruction beside it, if that is stored. Offsets in Mercury code say nothing about places in the capsule.
pub fn capsule_patches(
    capsule: &OutputSection<'_>,
    code: &OutputSection<'_>,
    resolved: impl Iterator<Item = (u64, Patch)>,
) -> Vec<(u64, Patch)> {
    let mut parsed = None;
    let mut patches = Vec::new();
    for (offset, patch) in resolved {
        let Patch::Field { r_type, value, .. } = patch else { continue };
        let bits = kind_of(r_type).map_or(Bits::new((0, 31)), |kind| kind.value);
        let value = bits.extract(value) << bits.low;
        let parsed: &Capsule =
            parsed.get_or_insert_with(|| capsule.first_chunk().and_then(Capsule::parse).unwrap_or_default());
        if let Some(place) = parsed.operand(code.first_chunk().unwrap_or_default(), offset) {
            patches.push((place, Patch::Bytes { value, count: 4 }));
        }
    }
    patches
}
