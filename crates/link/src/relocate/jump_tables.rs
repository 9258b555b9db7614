//! The jump tables of machine code in links with a Mercury view.

use super::patch::Patch;
use crate::model::merged::{Content, Merged, OutputSection, Reloc, RelocTarget};
use solder_cubin::mercury::reloc;

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
