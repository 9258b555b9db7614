//! Relocations of the Mercury view: resolved, kept or dropped.

use crate::merge::{Content, Kind, Merged, OutputSection, Reloc, RelocTarget};
use crate::relocate::{Outcome, Patch, is_unified_table};
use crate::shared::SharedLayout;
use crate::textures::Textures;
use solder_cubin::mercury::{constant_operands, reloc};
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
        RelocTarget::Dead | RelocTarget::Nothing | RelocTarget::ParameterSize => return Outcome::Drop,
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
    {
        return resolved(symbol.value);
    }
    Outcome::Keep
}

/// Where the constant that a relocation names lies in its bank of the Mercury view.
pub fn constant_value(merged: &Merged<'_>, textures: &Textures, entry: &Reloc) -> Option<u64> {
    let RelocTarget::Symbol(id) = entry.target else { return None };
    let symbol = merged.symbol(id);
    if let Some((offset, _)) = textures.slot(id) {
        // Handles have a section of their own there.
        return Some(offset.wrapping_sub(textures.base()));
    }
    if let Some(constant) = symbol.constant {
        return Some(merged.constants[constant as usize].offset.wrapping_add(symbol.value));
    }
    let kind = merged.section(symbol.section?).kind;
    matches!(kind, Kind::Constant(_) | Kind::FunctionConstant(_)).then_some(symbol.value)
}

/// The jump tables of machine code, from the relocations of Mercury's. What a discarded copy of a function says has
/// a value only if the copy that counts has a table with that place too.
pub fn jump_tables<'a>(
    merged: &'a Merged<'_>,
    relocations: &'a OutputSection<'_>,
) -> impl Iterator<Item = (u64, Patch)> + 'a {
    let entries = match &relocations.content {
        Content::Relocations(entries) => entries.as_slice(),
        _ => &[],
    };
    entries.iter().filter(|entry| entry.r_type == reloc::OFFSET_32).filter_map(|entry| {
        let RelocTarget::Symbol(function) = entry.target else { return None };
        let origin = merged.symbol(function).origin?;
        let label = merged.labels.get(&(function, origin.file, entry.addend)).copied();
        Some((entry.offset, Patch::Bytes { value: u64::from(label.unwrap_or(0)), count: 4 }))
    })
}

/// The patches of a capsule. Offsets in Mercury code say nothing about places in the capsule, nor do those in the
/// machine code, whose order may be another: the loads that the capsule stores are taken in their order, and so are
/// the relocations that belong to loads in the machine code.
pub fn capsule_patches(
    capsule: &OutputSection<'_>,
    code: &[Reloc],
    mercury: &[Reloc],
    value: impl Fn(&Reloc) -> Option<u64>,
) -> Vec<(u64, Patch)> {
    let loads = |entry: &&Reloc| kind_of(entry.r_type).is_some_and(|kind| !kind.bank.is_empty());
    let mut of_loads: Vec<_> = code.iter().filter(loads).map(|r| (r.target, r.addend)).collect();
    if of_loads.is_empty() {
        return Vec::new();
    }
    let mut relocations: Vec<&Reloc> = mercury.iter().collect();
    relocations.sort_by_key(|r| r.offset);
    relocations.retain(|r| {
        let at = of_loads.iter().position(|load| *load == (r.target, r.addend));
        at.map(|at| of_loads.swap_remove(at)).is_some()
    });
    let operands = capsule.first_chunk().and_then(constant_operands).unwrap_or_default();
    let patch = |(place, relocation): (u64, &Reloc)| {
        let value = value(relocation)?.wrapping_add(relocation.addend as u64);
        let value = if relocation.r_type == reloc::ABS_16 { value & 0xffff } else { value };
        Some((place, Patch::Bytes { value, count: 4 }))
    };
    operands.into_iter().zip(relocations).filter_map(patch).collect()
}
