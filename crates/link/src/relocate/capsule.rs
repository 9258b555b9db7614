//! What a link writes into capsules: where the constants lie that their instructions load.

use super::patch::Patch;
use crate::model::merged::{Kind, Merged, OutputSection, Reloc, RelocTarget};
use crate::textures::Textures;
use solder_cubin::mercury::{Bank, Load, indexed_handles, loads, loads_in_code, reloc};
use solder_cubin::raw;
use solder_cubin::reloc::kind_of;

/// The type that relocations of uniform loads have in machine code.
const UNIFORM_LOAD: u32 = 115;
/// The bank of addresses in position-independent code.
const ADDRESSES: u8 = 4;
const INSTRUCTION: usize = 16;

/// The patches of a capsule, from the relocations of the machine code, which has this size, and of the Mercury code.
///
/// Offsets in Mercury code say nothing about places in the capsule. But the loads of one kind are there in the order
/// of the relocations of that kind. Some relocations belong to other instructions, which nvlink leaves alone; where
/// there are such, the machine code tells the loads. Where an earlier link resolved some, its places do.
pub fn capsule_patches(
    merged: &Merged<'_>,
    relocatable: bool,
    textures: &Textures,
    capsule: &OutputSection<'_>,
    size: u64,
    code: &[Reloc],
    mercury: &[Reloc],
) -> Vec<(u64, Patch)> {
    // What cannot be read was refused with its input.
    let bytes = capsule.first_chunk().unwrap_or_default();
    let loads = loads(bytes).unwrap_or_default();
    let mut patches = Vec::new();
    for bank in Bank::ALL {
        for uniform in [false, true] {
            let of_kind = |load: &&Load| load.bank == bank && load.uniform == uniform;
            let loads: Vec<&Load> = loads.iter().filter(of_kind).collect();
            if loads.is_empty() {
                continue;
            }
            let is_load = |entry: &Reloc| kind_of(entry.r_type).is_some_and(|kind| !kind.bank.is_empty());
            // What nobody defines is a constant if the machine code loads it as one.
            let is_loaded =
                |entry: &Reloc| code.iter().any(|other| is_load(other) && other.target == entry.target);
            let may_be_constant = |entry: &Reloc| !is_undefined(merged, entry) || is_loaded(entry);
            let in_code = |entry: &Reloc| is_load(entry) && (entry.r_type == UNIFORM_LOAD) == uniform;
            let in_mercury = |entry: &Reloc| (entry.r_type == reloc::ABS_32) == uniform;
            let values = |entries: &[Reloc], fits: &dyn Fn(&Reloc) -> bool| {
                let mut values: Vec<(u64, Option<u64>)> = entries
                    .iter()
                    .filter(|entry| fits(entry) && may_be_constant(entry))
                    .filter_map(|entry| {
                        let (of, value) = constant(merged, relocatable, textures, entry)?;
                        let value = value.map(|value| value.wrapping_add(entry.addend as u64));
                        let value = value.map(|value| if uniform { value } else { value & 0xffff });
                        (of == bank).then_some((entry.offset, value))
                    })
                    .collect();
                values.sort_by_key(|(offset, _)| *offset);
                values
            };
            let mut values_in_order = values(mercury, &in_mercury);
            if values_in_order.len() != loads.len() {
                values_in_order = values(code, &in_code);
            }
            if values_in_order.len() < loads.len() {
                let in_code = loads_in_code(bytes, size as usize / INSTRUCTION).unwrap_or_default();
                let load_at = |offset: u64| {
                    let at = offset as usize / INSTRUCTION;
                    in_code
                        .iter()
                        .find(|(range, load)| range.contains(&at) && of_kind(&load))
                        .map(|(_, load)| load)
                };
                patches.extend(values_in_order.into_iter().filter_map(|(offset, value)| {
                    Some((load_at(offset)?.operand, Patch::Bytes { value: value?, count: 4 }))
                }));
                continue;
            }
            let places = loads.into_iter().zip(values_in_order);
            patches.extend(places.filter_map(|(load, (_, value))| {
                Some((load.operand, Patch::Bytes { value: value?, count: 4 }))
            }));
        }
    }
    patches
}

/// The patches of code that loads handles by an index, as the assembler writes it without optimisation: the loads have no
/// relocation and get the place of the table (mercury/images-by-index).
pub fn table_patches(merged: &Merged<'_>, code: &OutputSection<'_>, table: u64) -> Vec<(u64, Patch)> {
    /// A field of the form that these loads have their offset in.
    const OFFSET: u32 = 66;
    let capsule = code.twin.and_then(|twin| merged.section(twin).first_chunk());
    let count = code.size as usize / INSTRUCTION;
    let loads = capsule.and_then(|capsule| indexed_handles(capsule, count).ok()).unwrap_or_default();
    let patch = Patch::Field { r_type: OFFSET, value: table, bank: 0 };
    loads.into_iter().filter(|at| *at < count).map(|at| ((at * INSTRUCTION) as u64, patch)).collect()
}

/// Whether a relocation names a variable that nobody defines.
fn is_undefined(merged: &Merged<'_>, entry: &Reloc) -> bool {
    let RelocTarget::Symbol(id) = entry.target else { return false };
    let symbol = merged.symbol(id);
    let is_handle = matches!(symbol.kind, raw::STT_TEXTURE | raw::STT_SAMPLER | raw::STT_SURFACE);
    symbol.section.is_none() && !is_handle && symbol.constant().is_none()
}

/// The constant that a relocation names: its bank in the Mercury view, and where it lies there, if that is decided.
fn constant(
    merged: &Merged<'_>,
    relocatable: bool,
    textures: &Textures,
    entry: &Reloc,
) -> Option<(Bank, Option<u64>)> {
    let RelocTarget::Symbol(id) = entry.target else { return None };
    let symbol = merged.symbol(id);
    if matches!(symbol.kind, raw::STT_TEXTURE | raw::STT_SAMPLER | raw::STT_SURFACE) {
        // Handles have a section of their own there.
        let offset = textures.slot(id).map(|(offset, _)| offset.wrapping_sub(textures.base()));
        return Some((Bank::Handles, offset));
    }
    if let Some(constant) = symbol.constant() {
        let offset = merged.constants[constant.index()].offset;
        return Some((Bank::Compiler, Some(offset.wrapping_add(symbol.value))));
    }
    let may_move = relocatable && symbol.bind == raw::STB_WEAK;
    match symbol.section.map(|section| merged.section(section).kind) {
        Some(Kind::FunctionConstant(_)) => Some((Bank::Compiler, Some(symbol.value))),
        Some(Kind::Constant(number)) => {
            let bank = if number == ADDRESSES { Bank::Addresses } else { Bank::Program };
            Some((bank, (!may_move).then_some(symbol.value)))
        }
        None if symbol.is_function() => None,
        // A constant that nobody defines is nowhere, and that is final. Its symbol need not say so.
        None => {
            let is_nowhere = relocatable && matches!(symbol.value, 0 | u64::MAX);
            Some((Bank::Program, is_nowhere.then_some(u64::MAX)))
        }
        _ => None,
    }
}
