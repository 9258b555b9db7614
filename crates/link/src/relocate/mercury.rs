//! Relocations of the Mercury view: resolved, kept or dropped.

use super::patch::{Outcome, Patch, is_constant, is_unified_table};
use crate::model::merged::{Content, Kind, Merged, OutputSection, Reloc, RelocTarget};
use crate::shared::SharedLayout;
use crate::textures::Textures;
use solder_cubin::mercury::reloc;
use solder_cubin::raw;

/// What becomes of a relocation in the Mercury code of `function`, or in other sections.
pub fn decide(
    merged: &Merged<'_>,
    relocatable: bool,
    shared: &SharedLayout,
    textures: &Textures,
    function: Option<u32>,
    entry: &Reloc,
) -> Outcome {
    let clears = entry.r_type == reloc::UNUSED_CLEAR_64;
    let resolved = |value: u64| {
        let count = if matches!(entry.r_type, reloc::ABS_64) { 8 } else { 4 };
        Outcome::Patch(Patch::Bytes { value: value.wrapping_add(entry.addend as u64), count })
    };
    let id = match entry.target {
        RelocTarget::Dead if clears => return Outcome::Patch(Patch::Bytes { value: 0, count: 8 }),
        RelocTarget::Dead | RelocTarget::Nothing | RelocTarget::ConstantsSize => {
            return Outcome::Drop;
        }
        RelocTarget::Nowhere => return resolved(u64::MAX),
        RelocTarget::Symbol(_) if clears => return Outcome::Drop,
        RelocTarget::Symbol(id) => id,
    };
    let symbol = merged.symbol(id);
    // What is weak may yet lose its place to another definition.
    let may_move = relocatable && symbol.bind == raw::STB_WEAK;
    if symbol.shared && (may_move || shared.keeps_references) {
        return Outcome::Keep;
    }
    if symbol.shared {
        return resolved(shared.value(merged, id, function));
    }
    if let Some((offset, _)) = textures.slot(id).filter(|_| entry.r_type != reloc::GENERIC_64) {
        return resolved(offset);
    }
    if let Some(constant) = symbol.constant().map(|c| &merged.constants[c.index()]) {
        return resolved(constant.offset.wrapping_add(symbol.value));
    }
    let Some(section) = symbol.section.map(|s| merged.section(s)) else {
        // A constant that nobody defines is nowhere, and that is final.
        let nowhere = relocatable && symbol.value == u64::MAX && is_constant(symbol.other);
        if nowhere && matches!(entry.r_type, reloc::ABS_16 | reloc::ABS_32) {
            return resolved(symbol.value);
        }
        let keeps = !is_unified_table(merged, id);
        return if keeps { Outcome::Keep } else { Outcome::Drop };
    };
    if symbol.kind == raw::STT_SECTION {
        // Line number tables are made anew for other architectures.
        if entry.r_type == reloc::OFFSET_32 {
            return Outcome::Keep;
        }
        // The addend has the place of this input's part already.
        return resolved(0);
    }
    if matches!(section.kind, Kind::Constant(_) | Kind::FunctionConstant(_))
        && entry.r_type != reloc::GENERIC_64
        && !may_move
    {
        return resolved(symbol.value);
    }
    Outcome::Keep
}

/// The jump tables of machine code, from the relocations of Mercury's. What a discarded copy of a function says has
/// a value only if the copy that prevails has a table with that place too.
pub fn jump_tables<'a>(
    merged: &'a Merged<'_>,
    relocations: &'a OutputSection<'_>,
) -> impl Iterator<Item = (&'a Reloc, Patch)> + 'a {
    let entries = match &relocations.content {
        Content::Relocations(entries) => entries.as_slice(),
        _ => &[],
    };
    // Of several for one place, as replaced copies leave them, the one that was read first applies.
    entries.iter().rev().filter(|entry| entry.r_type == reloc::OFFSET_32).filter_map(|entry| {
        let RelocTarget::Symbol(function) = entry.target else { return None };
        let origin = merged.symbol(function).origin?;
        let label = merged.labels.get(&(function, origin.file, entry.addend)).copied();
        Some((entry, Patch::Bytes { value: u64::from(label.unwrap_or(0)), count: 4 }))
    })
}
