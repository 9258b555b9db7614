//! Decides about every relocation: resolved here, kept for the driver, or dropped.

mod capsule;
mod decide;
mod jump_tables;
mod patch;
mod types;

pub use patch::Patch;

use crate::diagnostics::{Message, Sink, Stop};
use crate::model::ids::SectionId;
use crate::model::merged::{Content, DESCRIBE_CODE, Kind, Merged, OutputSection, Reloc, RelocTarget};
use crate::model::object::Object;
use crate::notes;
use crate::options::Options;
use crate::pool::Pool;
use crate::shared::SharedLayout;
use crate::textures::Textures;
use crate::view::View;
use decide::Decider;
use patch::Outcome;
use solder_cubin::raw;
use solder_cubin::reloc;
use std::cmp::Reverse;
use types::kept_as;

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

/// What the relocations of all sections depend on.
#[derive(Clone, Copy)]
pub struct Given<'a, 'data> {
    pub merged: &'a Merged<'data>,
    pub relocatable: bool,
    pub shared: &'a SharedLayout,
    pub textures: &'a Textures,
    /// Instructions by which threads of a warp let others run do nothing.
    pub removes_yields: bool,
}

impl<'a, 'data> Given<'a, 'data> {
    /// From what the link knows.
    pub fn new(view: View<'a, 'data>, objects: &[Object<'_>], options: &Options<'_>) -> Self {
        Self {
            merged: view.merged,
            relocatable: options.relocatable,
            shared: view.shared,
            textures: view.textures,
            removes_yields: notes::run_in_step(objects, options.release),
        }
    }
}

pub fn relocate(
    given: Given<'_, '_>,
    objects: &[Object<'_>],
    pool: &Pool,
    sink: &Sink,
) -> Result<Relocated, Stop> {
    let merged = given.merged;
    let work = |index: usize| section(given, SectionId::at(index));
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
        file: (&objects[entry.file.index()].name).into(),
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

fn section(given: Given<'_, '_>, id: SectionId) -> Fate {
    let Content::Relocations(entries) = &given.merged.section(id).content else { return Fate::None };
    let mut decided = Decided { kept: Vec::with_capacity(entries.len()), ..Decided::default() };
    let done = decide_all(given, id, entries, &mut decided);
    decided.wrong = done.err().map(Box::new);
    if decided.patches.is_empty() && decided.wrong.is_none() && decided.kept.len() == entries.len() {
        return Fate::Kept(entries.len() as u32);
    }
    Fate::Decided(Box::new(decided))
}

fn decide_all(
    given: Given<'_, '_>,
    id: SectionId,
    entries: &[Reloc],
    decided: &mut Decided,
) -> Result<(), Wrong> {
    let Given { merged, relocatable, shared, textures, removes_yields } = given;
    let section = merged.section(id);
    let Some(target) = merged.relocated_by(id) else { return Ok(()) };
    let mercury = matches!(section.kind, Kind::MercuryRelocations | Kind::MercuryResolved);
    let preserves = matches!(section.kind, Kind::Resolved | Kind::MercuryResolved);
    let has_mercury = mercury || section.twin.is_some();
    // The first section of relocations that was made decides for both (debug/replaced-after-inlined).
    let of_target = merged.section(target);
    let is_rela_first = match (of_target.rela, of_target.rel) {
        (Some(rela), Some(rel)) => rela < rel,
        _ => section.sh_type != raw::SHT_REL,
    };
    let forgets = is_rela_first
        && !merged.keeps_replaced_frames
        && matches!(merged.section(target).kind, Kind::Debug | Kind::MercuryDebug)
        && section.of.is_some_and(|of| {
            // Of both views the machine code's.
            let described = if mercury { merged.section(of).of } else { Some(of) };
            described.is_some_and(|of| DESCRIBE_CODE.contains(&&**merged.section_name(of)))
        });
    let target = merged.section(target);
    let code =
        if target.kind == Kind::Capsule { target.of.map(|text| merged.section(text)) } else { Some(target) };
    let function = code
        .and_then(|code| code.function)
        .and_then(|f| merged.symbol(f).entity)
        .and_then(|e| merged.function_of[e.index()]);
    let decider = Decider {
        merged,
        relocatable,
        shared,
        textures,
        function,
        is_mercury: mercury,
        has_mercury,
        removes_yields,
    };
    let Decided { kept, patches, .. } = decided;
    for (index, entry) in entries.iter().enumerate().rev() {
        if forgets && !refers_to_live_copy(merged, entry) {
            continue;
        }
        let outcome = if !mercury && relocatable && names_other_lines(merged, entry, target) {
            Outcome::Keep
        } else {
            decider.decide(entry)
        };
        if preserves {
            let nothing = entry.target == RelocTarget::Nothing && target.kind == Kind::Debug && !has_mercury;
            // Of links with Mercury, only what concerns shared memory.
            let of_code = !matches!(target.kind, Kind::Debug | Kind::MercuryDebug);
            let concerns = !has_mercury || of_code && names_shared(merged, entry);
            if nothing || concerns && is_preserved(&outcome, given, entry, function) {
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
                patch.size() as u64
            }
        };
        check_place(entry, width, target)?;
    }
    if let (Kind::FunctionConstant(_), Some(twin), false) = (target.kind, section.twin, mercury || preserves)
    {
        for (entry, patch) in jump_tables::jump_tables(merged, merged.section(twin)) {
            check_place(entry, patch.size() as u64, target)?;
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
        && let Some(list) = section.of.map(|of| merged.section(of))
        && let Content::Relocations(of_code) = &list.content
    {
        let size = list.of.map_or(0, |code| merged.section(code).size);
        *patches = capsule::capsule_patches(merged, relocatable, textures, target, size, of_code, entries);
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
fn is_preserved(outcome: &Outcome, given: Given<'_, '_>, entry: &Reloc, function: Option<u32>) -> bool {
    let Given { merged, relocatable, shared, .. } = given;
    let RelocTarget::Symbol(symbol) = entry.target else {
        return matches!(outcome, Outcome::Patch(Patch::Instruction { .. }));
    };
    let symbol = merged.symbol(symbol);
    let image = matches!(symbol.kind, raw::STT_TEXTURE | raw::STT_SAMPLER | raw::STT_SURFACE);
    // An extern array where a kernel says where it begins. In `-r` these are the ones without a size that the code reaches
    // through another symbol.
    let is_begin = if relocatable {
        symbol.size == 0 && shared.redirects_dynamic(function)
    } else {
        symbol.other & 3 == raw::STV_INTERNAL && shared.places_dynamic(function)
    };
    let unplaced = symbol.shared && symbol.origin.is_none() && is_begin;
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
