//! Relocations: each entry read goes to the list of its output section, which comes out reversed.

use super::merger::{Merger, New};
use super::names::NamePlace;
use super::reading::{Source, addend};
use crate::diagnostics::Stop;
use crate::model::ids::{FileId, SectionId};
use crate::model::merged::{DESCRIBE_CODE, Kind, Reloc, RelocTarget};
use crate::model::object::{Object, Role};
use solder_cubin::mercury::reloc as mercury_reloc;
use solder_cubin::{Relocations, Section, raw, reloc};

/// The addend of a relocation that has none of its own.
fn implicit_addend(data: &[u8], offset: u64, r_type: u32) -> i64 {
    let width = match r_type {
        reloc::R_CUDA_32 => 4,
        reloc::R_CUDA_64 => 8,
        _ => return 0,
    };
    let bytes = usize::try_from(offset).ok().and_then(|at| data.get(at..at.checked_add(width)?));
    let mut value = [0; 8];
    if let Some(bytes) = bytes {
        value[..width].copy_from_slice(bytes);
    }
    i64::from_le_bytes(value)
}

/// Makes room for the relocations of a section of a file. As many may come from each of `files`; room that is not used
/// costs nothing.
fn reserve(list: &mut Vec<Reloc>, count: usize, files: usize) {
    const MOST: usize = 1 << 20;
    if list.capacity() - list.len() < count {
        list.reserve(count.saturating_mul(files).min(MOST).max(count));
    }
}

fn is_code(object: &Object<'_>, section: &Section<'_>) -> bool {
    object.role(section.index) == Role::Text && !section.name.starts_with(b".debug")
}

/// A section of relocations of an input, in one of its views.
#[derive(Clone, Copy)]
pub(super) struct Incoming<'s, 'data> {
    pub file: FileId,
    pub section: &'s Section<'data>,
    /// What they are for. Of Mercury's, its partner in the machine code's view.
    pub of: &'s Section<'data>,
    /// Where that went, in this view and in the machine code's, and at which offset.
    pub target: SectionId,
    pub code: SectionId,
    pub base: u64,
    /// They have addends in the output.
    pub rela: bool,
    pub is_mercury: bool,
}

impl Incoming<'_, '_> {
    /// Whether an entry asks for the place to be cleared if its symbol is not used.
    fn clears(&self, entry: &raw::Rela) -> bool {
        let r_type = entry.r_type.get();
        if self.is_mercury {
            r_type == mercury_reloc::UNUSED_CLEAR_64
        } else {
            self.rela && matches!(r_type, reloc::R_CUDA_UNUSED_CLEAR32 | reloc::R_CUDA_UNUSED_CLEAR64)
        }
    }
}

impl<'data> Merger<'_, 'data> {
    /// The relocations of a file. Those of the Mercury view lead: with the first of them the section of both views is
    /// created.
    pub(super) fn relocations(&mut self, file: FileId) -> Result<(), Stop> {
        let object = &self.objects[file.index()];
        self.mercury_relocations(file)?;
        for section in object.sections_with(Role::Relocations) {
            let place = self.out.files[file.index()].sections[section.info() as usize];
            let Some((target, base)) = place else { continue };
            let of = object.section(section.info());
            let rela = section.sh_type() == raw::SHT_RELA || self.settings.always_rela();
            let list = Incoming { file, section, of, target, code: target, base, rela, is_mercury: false };
            // In both other cases, what becomes of them is more than a list.
            if is_code(object, of) && !self.settings.mercury() && !self.settings.preserves_relocs {
                self.entries(&list)?;
                self.expect_code_relocations(file, section, target, rela);
            } else {
                self.relocation_section(&list)?;
            }
        }
        Ok(())
    }

    fn entries(&self, list: &Incoming<'_, 'data>) -> Result<Relocations<'data>, Stop> {
        let section = self.relocations_that_count(list.file, list.section);
        section.relocations().map_err(|_| self.damaged(list.file, list.section.name, "it is cut off"))
    }

    /// Takes over a section of relocations, of either view.
    pub(super) fn relocation_section(&mut self, list: &Incoming<'_, 'data>) -> Result<(), Stop> {
        let Incoming { file, section, of, rela, .. } = *list;
        let object = &self.objects[file.index()];
        let entries = self.entries(list)?;
        let name = self.view_name(file, of);
        let discarded = self.discarded_ranges(file, of.index);
        // Other debug information has had its section of relocations by the time that those entries are left out
        // (debug/names-of-dead-copies).
        let leaves_names = object.role(of.index) == Role::Debug && !DESCRIBE_CODE.contains(&&**of.name);
        let is_read_first = list.is_mercury || !self.settings.mercury();
        let mut taken = 0;
        let mut is_looked_up = false;
        for mut entry in entries.iter() {
            let symbol = entry.symbol.get();
            if !list.is_mercury && object.is_of_system(symbol) {
                continue;
            }
            if discarded.iter().any(|range| range.contains(&entry.offset.get())) {
                continue;
            }
            let existing = self.out.section(list.code).relocation_section(rela);
            let refers_to = self.refers_to(file, of, symbol);
            let is_of_other_copy = list.is_mercury || !self.symbols.accepted(file, symbol);
            if refers_to.is_none() && is_of_other_copy && !leaves_names {
                // Those about a copy that a better one replaced later were there until then.
                if list.clears(&entry) {
                    existing.unwrap_or_else(|| self.create_relocations(list.code, name, rela));
                    taken += usize::from(list.is_mercury);
                }
                continue;
            }
            // nvlink looks a section without addends up for such entries, and the name stays.
            let looks_up = section.sh_type() == raw::SHT_REL || (existing.is_some() && taken > 0);
            let of_mercury = object.mercury.as_ref().filter(|_| list.is_mercury);
            let raw = of_mercury.and_then(|twins| twins.symbol(symbol)).unwrap_or(object.symbol(symbol));
            let has_none = || addend(&self.out.files[file.index()], &entry, raw) == 0;
            if looks_up && rela && is_read_first && has_none() && !std::mem::replace(&mut is_looked_up, true)
            {
                // Below sm_90 a later file may need it: its position among the sections is decided now.
                if self.settings.always_rela() || self.settings.preserves_relocs {
                    self.look_for_rel(name);
                } else if self.out.section(list.code).rel.is_none() {
                    self.create_relocations(list.code, name, false);
                }
            }
            let relocations = existing.unwrap_or_else(|| self.create_relocations(list.code, name, rela));
            let out = self.in_view(list, relocations, Kind::MercuryRelocations);
            if list.is_mercury {
                self.out.section_mut(list.target).rela = Some(out);
            }
            if taken == 0 {
                let is_shared = object.role(of.index) == Role::Debug;
                let files = if is_shared { self.objects.len() - file.index() } else { 1 };
                reserve(self.out.section_mut(out).relocations_mut(), entries.len(), files);
            }
            taken += 1;
            let Some(refers_to) = refers_to else { continue };
            // Where addends are forced upon debug information, they are what is in its place.
            if rela && section.sh_type() == raw::SHT_REL && object.role(of.index) == Role::Debug {
                entry.addend = implicit_addend(of.data, entry.offset.get(), entry.r_type.get()).into();
            }
            let addend = addend(&self.out.files[file.index()], &entry, raw);
            // Both are made anew, with their relocations.
            if self.mercury.frames.section == Some(list.target) || self.mercury.is_line_table(list.target) {
                continue;
            }
            let offset = entry.offset.get().wrapping_add(list.base);
            let reloc = Reloc { offset, target: refers_to, r_type: entry.r_type.get(), addend, file };
            self.out.section_mut(out).relocations_mut().push(reloc);
            if let Some(resolved) = self.out.resolved.get(&list.code).copied() {
                let resolved = self.in_view(list, resolved, Kind::MercuryResolved);
                self.out.section_mut(resolved).relocations_mut().push(reloc);
            }
            if list.is_mercury && matches!(self.out.section(list.code).kind, Kind::FunctionConstant(_)) {
                self.label(file, of, &entry, refers_to);
            }
        }
        Ok(())
    }

    /// Looks for the section of relocations without addends of a section.
    fn look_for_rel(&mut self, of: &[u8]) {
        if self.settings.looks_for_rel {
            // Relocations have a twin in the Mercury view, and a section for those that the link resolves.
            let twin = usize::from(self.settings.mercury());
            let resolved = usize::from(self.settings.preserves_relocs);
            self.name_only(&[b".rel", of], 1 + twin + resolved);
        }
    }

    /// A section of the machine code's view, or its twin for relocations of Mercury's.
    fn in_view(&mut self, list: &Incoming<'_, 'data>, section: SectionId, twin: Kind) -> SectionId {
        if list.is_mercury { self.twin(section, twin) } else { section }
    }

    /// Makes the section for the relocations of code, which are read later.
    fn expect_code_relocations(
        &mut self,
        file: FileId,
        section: &Section<'data>,
        target: SectionId,
        rela: bool,
    ) {
        if section.data.is_empty() {
            return;
        }
        let summary = self.objects[file.index()].summaries[section.index as usize];
        let name = self.objects[file.index()].section(section.info()).name;
        // nvlink looks a section without addends up for such entries, and the name stays.
        let looks_up_first = rela && section.sh_type() == raw::SHT_REL && summary.first_without_addend;
        if looks_up_first {
            self.look_for_rel(name);
        }
        let existing = self.out.section(target).relocation_section(rela);
        let out = existing.unwrap_or_else(|| self.create_relocations(target, name, rela));
        if rela && !looks_up_first && summary.later_without_addend {
            self.look_for_rel(name);
        }
        self.unread.relocations.push((Source { out, file, section: section.index }, Vec::new()));
    }

    pub(super) fn create_relocations(&mut self, target: SectionId, of: &[u8], rela: bool) -> SectionId {
        let (prefix, sh_type, entsize): (&[u8], _, _) = if rela {
            (b".rela", raw::SHT_RELA, size_of::<raw::Rela>())
        } else {
            (b".rel", raw::SHT_REL, size_of::<raw::Rel>())
        };
        let new = New {
            kind: Kind::Relocations,
            name: &[prefix, of],
            sh_type,
            flags: raw::SHF_INFO_LINK,
            align: 8,
            entsize: entsize as u64,
        };
        // Without addends, the section may have been looked for already.
        let section =
            self.create_in(NamePlace::of_own(rela && self.out.section(target).is_named_alone), &new);
        self.out.section_mut(section).of = Some(target);
        let out = self.out.section_mut(target);
        if rela {
            out.rela = Some(section);
        } else {
            out.rel = Some(section);
        }
        if self.settings.preserves_relocs {
            if self.out.resolved.contains_key(&target) {
                // nvlink makes a second one, which stays empty.
                self.out.removed.push(SectionId::at(self.out.sections.len()));
            } else {
                self.create_resolved(target, of);
            }
        }
        section
    }

    /// The bytes of a data section that belong to weak variables whose other copy prevails.
    pub(super) fn discarded_ranges(&self, file: FileId, section: u32) -> Vec<std::ops::Range<u64>> {
        let object = &self.objects[file.index()];
        if object.role(section) != Role::GlobalInit {
            return Vec::new();
        }
        let discarded = |(index, raw): &(u32, &raw::Symbol)| {
            raw.bind() == raw::STB_WEAK
                && u32::from(raw.shndx.get()) == section
                && !self.symbols.accepted(file, *index)
        };
        let range =
            |(_, raw): (u32, &raw::Symbol)| raw.value.get()..raw.value.get().saturating_add(raw.size.get());
        object.symbols().filter(discarded).map(range).collect()
    }

    /// Whether debug information speaks of a copy of a removed function that never counted, or that was
    /// replaced together with the relocations of this or another copy (`debug/frames-of-dead-copies`).
    fn forgotten(&self, file: FileId, of: &Section<'_>, symbol: u32) -> bool {
        let raw = self.objects[file.index()].symbol(symbol);
        let describes = of.name.starts_with(b".debug") || DESCRIBE_CODE.contains(&&**of.name);
        if !self.settings.forgets_copies || !describes || raw.bind() == raw::STB_LOCAL || !raw.is_defined() {
            return false;
        }
        if !self.symbols.accepted(file, symbol) {
            return true;
        }
        // Line tables of machine code keep what is about replaced copies.
        if !of.name.starts_with(b".debug") {
            return false;
        }
        let Some(entity) = self.symbols.entity(file, symbol) else { return false };
        let replaced = self.symbols.get(entity).definition.is_some_and(|d| d.file != file);
        replaced && self.replaced_with_relocations.contains(&entity)
    }

    /// What a relocation in the section `of` refers to; `None` leaves it out without a trace.
    pub(super) fn refers_to(&self, file: FileId, of: &Section<'_>, symbol: u32) -> Option<RelocTarget> {
        let target = self.reading().refers_to(file, &self.out.files[file.index()], of, symbol)?;
        let out = match target {
            RelocTarget::Dead if self.forgotten(file, of, symbol) => return None,
            RelocTarget::Symbol(out) => out,
            _ => return Some(target),
        };
        // Debug information and constants about a discarded weak copy; the rest is led to the copy that prevails.
        let object = &self.objects[file.index()];
        let raw = object.symbol(symbol);
        let by_symbol = || match object.role(of.index) {
            Role::Constant => true,
            Role::Debug if !self.settings.forgets_copies => false,
            Role::Debug => DESCRIBE_CODE.contains(&&**of.name),
            _ => false,
        };
        let defined = raw.is_defined() && raw.shndx.get() != raw::SHN_COMMON;
        if raw.bind() == raw::STB_WEAK && defined && by_symbol() {
            let current = self.out.symbol(out).origin;
            if current.is_some_and(|o| o.file != file || o.symbol != symbol) {
                return None;
            }
        }
        Some(target)
    }
}
