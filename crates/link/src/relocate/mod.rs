//! Decides about every relocation: resolved here, kept for the driver, or dropped.

mod capsule;
mod mercury;
mod patch;

pub use patch::Patch;

use crate::diagnostics::{Message, Sink, Stop};
use crate::model::ids::SectionId;
use crate::model::mercury::NO_BANK as NO_MERCURY_BANK;
use crate::model::merged::{Content, DESCRIBE_CODE, Kind, Merged, OutputSection, Reloc, RelocTarget};
use crate::model::object::Object;
use crate::pool::Pool;
use crate::shared::SharedLayout;
use crate::textures::{NO_BANK, Textures};
use patch::{Outcome, is_constant, is_unified_table};
use solder_cubin::mercury::reloc as mercury_reloc;
use solder_cubin::raw;
use solder_cubin::reloc::{self, Action};
use std::cmp::Reverse;

/// What becomes of the relocations, by relocation section.
#[derive(Debug)]
pub struct Relocated(Vec<Fate>);

/// What becomes of the relocations of a section.
#[derive(Debug)]
enum Fate {
    /// There are none.
    None,
    /// So many, all kept as they are.
    Kept(u32),
    Decided(Box<Decided>),
}

/// What becomes of the relocations of one section, one by one.
#[derive(Debug, Default)]
struct Decided {
    /// The entries that are kept, in output order.
    kept: Vec<u32>,
    /// What is done instead of the others. It applies to the target of the section.
    patches: Vec<(u64, Patch)>,
    /// The first that cannot be applied.
    wrong: Option<Box<Wrong>>,
}

/// A relocation that cannot be applied, and why.
type Wrong = (Reloc, &'static str);

impl Relocated {
    /// How many entries of a section are kept.
    pub fn kept(&self, id: SectionId) -> usize {
        match &self.0[id.index()] {
            Fate::None => 0,
            Fate::Kept(count) => *count as usize,
            Fate::Decided(decided) => decided.kept.len(),
        }
    }

    /// The patches that replace entries of a section.
    pub fn patches(&self, id: SectionId) -> &[(u64, Patch)] {
        match &self.0[id.index()] {
            Fate::Decided(decided) => &decided.patches,
            _ => &[],
        }
    }

    /// The entries of a section that are kept, from the `first` on, in output order and as they are there.
    pub fn entries<'a>(
        &'a self,
        merged: &'a Merged<'_>,
        relocatable: bool,
        id: SectionId,
        first: usize,
    ) -> impl Iterator<Item = Reloc> + 'a {
        let section = merged.section(id);
        let read: &[Reloc] = match &section.content {
            Content::Relocations(entries) => entries,
            _ => &[],
        };
        let is_resolved = matches!(section.kind, Kind::Resolved | Kind::MercuryResolved);
        let listed = match &self.0[id.index()] {
            Fate::Decided(decided) => Some(&decided.kept),
            _ => None,
        };
        (first..self.kept(id)).map(move |at| {
            let index = listed.map_or(read.len() - 1 - at, |listed| listed[at] as usize);
            let entry = read[index];
            if is_resolved {
                return entry;
            }
            let r_type = if relocatable { entry.r_type } else { kept_as(entry.r_type) };
            Reloc { r_type, target: through_alias(merged, entry.target), ..entry }
        })
    }
}

/// The bank number that lands in a constant-bank field when its symbol is in shared memory.
const SHARED_BANK: u8 = 24;

pub fn relocate(
    merged: &Merged<'_>,
    relocatable: bool,
    shared: &SharedLayout,
    textures: &Textures,
    objects: &[Object<'_>],
    pool: &Pool,
    sink: &Sink,
) -> Result<Relocated, Stop> {
    let work = |index: usize| section(merged, relocatable, shared, textures, SectionId::at(index));
    let decided = pool.map_numbers(merged.sections.len(), work);
    let wrong = |(index, fate): (usize, &Fate)| match fate {
        Fate::Decided(decided) => Some((index, **decided.wrong.as_ref()?)),
        _ => None,
    };
    let Some((index, (entry, reason))) = decided.iter().enumerate().find_map(wrong) else {
        return Ok(Relocated(decided));
    };
    let of = merged.sections[index].of.map(|of| merged.section_name(of)).unwrap_or_default();
    let name = reloc::kind_of(entry.r_type).map_or("unknown", |k| k.name);
    Err(sink.fatal(Message::DamagedInput {
        file: objects[entry.file.index()].name.as_str().into(),
        place: of.into(),
        reason: format!("relocation type {} ({name}) at {:#x}: {reason}", entry.r_type, entry.offset).into(),
    }))
}

/// Whether relocations of replaced copies of functions lie after the end of the constants of the copies that prevail.
pub fn has_stale_table_reloc(merged: &Merged<'_>) -> bool {
    let of_function = |s: &&OutputSection<'_>| {
        let of = s.of.map(|of| merged.section(of).kind);
        s.kind == Kind::MercuryConstant && matches!(of, Some(Kind::FunctionConstant(_)))
    };
    merged.sections.iter().filter(of_function).any(|section| {
        let entries = section.rela.map(|relocations| &merged.section(relocations).content);
        matches!(entries, Some(Content::Relocations(entries)) if entries.iter().any(|e| e.offset >= section.size))
    })
}

/// Whether merging made constants shorter than the places of their relocations, which do not follow.
pub fn has_stale_constant_reloc(merged: &Merged<'_>) -> bool {
    let leaves = |id: SectionId, size: u64| match &merged.section(id).content {
        Content::Relocations(entries) => entries.iter().any(|entry| entry.offset >= size),
        _ => false,
    };
    let constants = merged.sections.iter().filter(|section| matches!(section.kind, Kind::Constant(_)));
    constants
        .into_iter()
        .any(|s| s.rel.into_iter().chain(s.rela).any(|relocations| leaves(relocations, s.size)))
}

/// Whether debug information, or code that no kernel reaches, has a relocation that `-preserve-relocs` keeps, as it
/// does where variables are common to several kernels, although its extern shared array has no symbol.
pub fn names_deleted(merged: &Merged<'_>, shared: &SharedLayout) -> bool {
    let deleted = |entry: &Reloc| {
        let RelocTarget::Symbol(symbol) = entry.target else { return false };
        let symbol = merged.symbol(symbol);
        symbol.shared && symbol.dropped && symbol.origin.is_none()
    };
    if !merged.common_shared {
        return false;
    }
    let names = |id: SectionId| match &merged.section(id).content {
        Content::Relocations(entries) => entries.iter().any(deleted),
        _ => false,
    };
    let is_text = |s: &OutputSection<'_>| {
        let entity = s.function.and_then(|symbol| merged.symbol(symbol).entity);
        let function = entity.and_then(|entity| merged.function_of[entity.index()]);
        function.is_some() && !shared.places_dynamic(function)
    };
    let keeps = |s: &&OutputSection<'_>| s.kind == Kind::Debug || is_text(s);
    let kept = merged.resolved.iter().filter(|(of, _)| keeps(&merged.section(**of)));
    kept.map(|(_, resolved)| *resolved).any(names)
}

/// The type that a kept relocation has in an image.
fn kept_as(r_type: u32) -> u32 {
    reloc::kind_of(r_type).map_or_else(|| mercury_reloc::kept_as(r_type), |kind| kind.kept_as)
}

fn section(
    merged: &Merged<'_>,
    relocatable: bool,
    shared: &SharedLayout,
    textures: &Textures,
    id: SectionId,
) -> Fate {
    let Content::Relocations(entries) = &merged.section(id).content else { return Fate::None };
    let mut decided = Decided { kept: Vec::with_capacity(entries.len()), ..Decided::default() };
    let done = decide_all(merged, relocatable, shared, textures, id, entries, &mut decided);
    decided.wrong = done.err().map(Box::new);
    if decided.patches.is_empty() && decided.wrong.is_none() && decided.kept.len() == entries.len() {
        return Fate::Kept(entries.len() as u32);
    }
    Fate::Decided(Box::new(decided))
}

fn decide_all(
    merged: &Merged<'_>,
    relocatable: bool,
    shared: &SharedLayout,
    textures: &Textures,
    id: SectionId,
    entries: &[Reloc],
    decided: &mut Decided,
) -> Result<(), Wrong> {
    let section = merged.section(id);
    let Some(target) = merged.relocated_by(id) else { return Ok(()) };
    let mercury = matches!(section.kind, Kind::MercuryRelocations | Kind::MercuryResolved);
    let preserves = matches!(section.kind, Kind::Resolved | Kind::MercuryResolved);
    let has_mercury = mercury || section.twin.is_some();
    let forgets = section.sh_type != raw::SHT_REL
        && !merged.keeps_replaced_frames
        && match merged.section(target).kind {
            Kind::Debug => DESCRIBE_CODE.contains(&merged.section_name(target)),
            kind => kind == Kind::MercuryDebug,
        };
    let target = merged.section(target);
    let code =
        if target.kind == Kind::Capsule { target.of.map(|text| merged.section(text)) } else { Some(target) };
    let function = code
        .and_then(|code| code.function)
        .and_then(|f| merged.symbol(f).entity)
        .and_then(|e| merged.function_of[e.index()]);
    let Decided { kept, patches, .. } = decided;
    for (index, entry) in entries.iter().enumerate().rev() {
        if forgets && !refers_to_live_copy(merged, entry) {
            continue;
        }
        let outcome = if mercury {
            mercury::decide(merged, relocatable, shared, textures, function, entry)
        } else if relocatable && names_other_lines(merged, entry, target) {
            Outcome::Keep
        } else {
            decide(merged, relocatable, shared, textures, function, entry, has_mercury)
        };
        if preserves {
            let nothing = entry.target == RelocTarget::Nothing && target.kind == Kind::Debug && !has_mercury;
            // Of links with Mercury, only what concerns shared memory.
            let of_code = !matches!(target.kind, Kind::Debug | Kind::MercuryDebug);
            let concerns = !has_mercury || of_code && names_shared(merged, entry);
            let is_kernel = || function.is_some_and(|function| merged.functions[function as usize].entry);
            let in_kernels = if relocatable { is_kernel() } else { shared.places_dynamic(function) };
            if nothing || concerns && is_preserved(&outcome, merged, entry, relocatable, in_kernels) {
                kept.push(index as u32);
            }
            continue;
        }
        if matches!(outcome, Outcome::Keep | Outcome::KeepWith(_)) {
            kept.push(index as u32);
        }
        let width = match outcome {
            Outcome::Drop => continue,
            Outcome::Keep if mercury || target.kind == Kind::Capsule => continue,
            // The driver patches at least one byte.
            Outcome::Keep => 1,
            Outcome::Wrong(reason) => return Err((*entry, reason)),
            Outcome::Patch(_) if target.kind == Kind::Capsule => continue,
            // Its bytes are those of the other view.
            Outcome::Patch(_) if target.shares_bytes => continue,
            Outcome::Patch(patch) | Outcome::KeepWith(patch) => {
                // Mostly the only one, or else one of many.
                match patches.len() {
                    0 => patches.reserve_exact(1),
                    1 if index > MANY_PATCHES => patches.reserve(index),
                    _ => {}
                }
                patches.push((entry.offset, patch));
                patch_width(patch)
            }
        };
        check_place(entry, width, target)?;
    }
    if let (Kind::FunctionConstant(_), Some(twin), false) = (target.kind, section.twin, mercury || preserves)
    {
        for (entry, patch) in mercury::jump_tables(merged, merged.section(twin)) {
            check_place(entry, patch_width(patch), target)?;
            patches.push((entry.offset, patch));
        }
    }
    let table = |entry: &Reloc| match entry.target {
        RelocTarget::Symbol(id) => textures.table_of(id, merged.symbol(id)),
        _ => None,
    };
    if target.kind == Kind::Text
        && has_mercury
        && !preserves
        && let Some(table) = entries.iter().find_map(table)
    {
        patches.extend(capsule::table_patches(merged, target, table));
    }
    if target.kind == Kind::Capsule
        && let Some(Content::Relocations(of_code)) = section.of.map(|of| &merged.section(of).content)
    {
        *patches = capsule::capsule_patches(merged, relocatable, textures, target, of_code, entries);
    }
    if target.function.is_none() && patches.len() > MANY_PATCHES {
        // They come file by file, last one first, those of a file often the other way round.
        patches.chunk_by_mut(|(a, _), (b, _)| a < b).for_each(<[_]>::reverse);
        if !patches.is_sorted_by_key(|(offset, _)| Reverse(*offset)) {
            patches.sort_by_key(|(offset, _)| Reverse(*offset));
        }
    }
    Ok(())
}

/// A section with so many patches may be written in parts, and each part has to find its own.
const MANY_PATCHES: usize = 1024;

fn check_place(entry: &Reloc, width: u64, target: &OutputSection<'_>) -> Result<(), Wrong> {
    match entry.offset.checked_add(width) {
        Some(end) if end <= target.size => Ok(()),
        _ => Err((*entry, "its place lies outside the section")),
    }
}

/// Whether a relocation has the place of a line number table that is made anew in every link with Mercury.
fn names_other_lines(merged: &Merged<'_>, entry: &Reloc, target: &OutputSection<'_>) -> bool {
    let RelocTarget::Symbol(symbol) = entry.target else { return false };
    let symbol = merged.symbol(symbol);
    let named = symbol.section.filter(|_| symbol.kind == raw::STT_SECTION);
    named.is_some_and(|id| {
        let section = merged.section(id);
        section.twin.is_some()
            && section.rela != target.rela
            && solder_cubin::lines::is_line_table(merged.section_name(id))
    })
}

fn names_shared(merged: &Merged<'_>, entry: &Reloc) -> bool {
    matches!(entry.target, RelocTarget::Symbol(id) if merged.symbol(id).shared)
}

/// Whether `-preserve-relocs` keeps a relocation: one that was resolved to something that has a symbol.
fn is_preserved(
    outcome: &Outcome,
    merged: &Merged<'_>,
    entry: &Reloc,
    relocatable: bool,
    in_kernels: bool,
) -> bool {
    let RelocTarget::Symbol(symbol) = entry.target else { return false };
    let symbol = merged.symbol(symbol);
    let image = matches!(symbol.kind, raw::STT_TEXTURE | raw::STT_SAMPLER | raw::STT_SURFACE);
    // An extern array where the code is told the place in its kernels.
    let unplaced = in_kernels
        && symbol.shared
        && symbol.origin.is_none()
        && (relocatable || symbol.other & 3 == raw::STV_INTERNAL);
    matches!(outcome, Outcome::Patch(_)) && !symbol.dropped && (relocatable || !image) && !unplaced
}

/// Whether a relocation of debug information does not speak of a copy of a function that was replaced since. nvlink
/// takes only those with addends back, and only where they describe code.
fn refers_to_live_copy(merged: &Merged<'_>, entry: &Reloc) -> bool {
    let RelocTarget::Symbol(symbol) = entry.target else { return true };
    let symbol = merged.symbol(symbol);
    !symbol.is_function() || symbol.has_debug_of(entry.file)
}

/// The function itself for one of its other names.
fn through_alias(merged: &Merged<'_>, target: RelocTarget) -> RelocTarget {
    let RelocTarget::Symbol(id) = target else { return target };
    let symbol = merged.symbol(id);
    let owner = symbol.section.filter(|_| symbol.is_function()).and_then(|s| merged.section(s).function);
    RelocTarget::Symbol(owner.unwrap_or(id))
}

fn patch_width(patch: Patch) -> u64 {
    match patch {
        Patch::Bytes { count, .. } => u64::from(count),
        Patch::Field { r_type, .. } => {
            reloc::kind_of(r_type).map_or(0, |k| k.field.bytes().max(k.bank.bytes())) as u64
        }
    }
}

/// What becomes of a relocation.
fn decide(
    merged: &Merged<'_>,
    relocatable: bool,
    shared: &SharedLayout,
    textures: &Textures,
    function: Option<u32>,
    entry: &Reloc,
    has_mercury: bool,
) -> Outcome {
    // The bank of constants that nobody defines.
    let nowhere = if has_mercury { NO_MERCURY_BANK } else { NO_BANK };
    let Some(kind) = reloc::kind_of(entry.r_type) else { return Outcome::Wrong("no such type is known") };
    let field = |value: u64, bank: u8| {
        let value = value.wrapping_add(entry.addend as u64);
        Outcome::Patch(Patch::Field { r_type: entry.r_type, value, bank })
    };
    let clears = match entry.r_type {
        reloc::R_CUDA_UNUSED_CLEAR32 => 4,
        reloc::R_CUDA_UNUSED_CLEAR64 => 8,
        _ => 0,
    };
    let id = match entry.target {
        RelocTarget::Dead if clears > 0 => return Outcome::Patch(Patch::Bytes { value: 0, count: clears }),
        RelocTarget::Dead | RelocTarget::Nothing => return Outcome::Drop,
        RelocTarget::Symbol(_) if clears > 0 => return Outcome::Drop,
        RelocTarget::ConstantsSize => return field(merged.constants_size(), 0),
        RelocTarget::Nowhere => return field(u64::MAX, 0),
        RelocTarget::Symbol(id) => id,
    };
    let symbol = merged.symbol(id);
    // What is weak may yet lose its place to another definition.
    let may_move = relocatable && symbol.bind == raw::STB_WEAK;
    if symbol.shared && (may_move || shared.keeps_references) {
        return Outcome::Keep;
    }
    if symbol.shared {
        return match kind.shared {
            Action::Resolve => field(shared.value(merged, id, function), SHARED_BANK),
            _ => Outcome::Wrong("it cannot refer to shared memory"),
        };
    }
    if let Some((offset, bank)) = textures.slot(id) {
        return match kind.constant {
            // An index, for a load that knows where the table begins.
            Action::Resolve if has_mercury && kind.bank.is_empty() => {
                field(offset.wrapping_sub(textures.base()), bank)
            }
            Action::Resolve => field(offset, bank),
            _ => Outcome::Keep,
        };
    }
    if let Some(base) = textures.unplaced(symbol).filter(|_| kind.constant == Action::Resolve) {
        // An index, which nothing is known of yet.
        if kind.bank.is_empty() {
            return Outcome::Keep;
        }
        let value = base.wrapping_add(entry.addend as u64);
        return Outcome::KeepWith(Patch::Field { r_type: entry.r_type, value, bank: 0 });
    }
    if let Some(constant) = symbol.constant().map(|c| &merged.constants[c.index()]) {
        return field(constant.offset.wrapping_add(symbol.value), constant.bank);
    }
    if let Some(section) = symbol.section {
        let section = merged.section(section);
        let is_section = symbol.kind == raw::STT_SECTION;
        if is_section && section.flags & (raw::SHF_ALLOC | raw::SHF_WRITE | raw::SHF_EXECINSTR) == 0 {
            let count = match entry.r_type {
                reloc::R_CUDA_32 => 4,
                reloc::R_CUDA_64 => 8,
                _ => 0,
            };
            if count > 0 {
                return Outcome::Patch(Patch::Bytes { value: entry.addend as u64, count });
            }
        }
        // In an image its place in the memory of every kernel is known.
        if section.kind == Kind::ReservedShared && !is_section && kind.shared == Action::Resolve {
            return if relocatable { Outcome::Keep } else { field(symbol.value, SHARED_BANK) };
        }
        if let (Kind::Constant(bank) | Kind::FunctionConstant(bank), false, Action::Resolve) =
            (section.kind, is_section, kind.constant)
        {
            return if may_move { Outcome::Keep } else { field(symbol.value, bank) };
        }
    } else if is_unified_table(merged, id) {
        return Outcome::Drop;
    } else if symbol.value == u64::MAX && is_constant(symbol.other) && kind.constant == Action::Resolve {
        return field(symbol.value, nowhere);
    }
    Outcome::Keep
}
