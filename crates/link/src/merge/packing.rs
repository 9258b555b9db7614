//! Constants that do not fit into their bank one input after the other are packed: variables are placed anew, without
//! regard to the alignment they were declared with.

use super::equal::{self, EqualConstants};
use super::merger::Merger;
use crate::model::ids::{SectionId, SymbolId};
use crate::model::merged::CONSTANT_BANK;
use crate::model::merged::{Chunk, Content, Kind, Merged, OutputSymbol, RelocTarget, narrow};
use crate::roots;
use bstr::BStr;
use hashbrown::HashSet;
use solder_cubin::raw;
use std::cmp::Reverse;

/// What variables are aligned to, and what nvlink takes the places of relocations for.
const WORD: u64 = 8;

impl<'data> Merger<'_, 'data> {
    /// Packs the banks that overflow.
    pub(super) fn pack_constants(&mut self) {
        let overflows = |id: &SectionId| {
            let section = self.out.section(*id);
            matches!(section.kind, Kind::Constant(_)) && section.size > CONSTANT_BANK
        };
        let banks: Vec<_> = self.out.limited.iter().copied().filter(overflows).collect();
        for bank in banks {
            self.pack_bank(bank);
            self.out.packed = true;
        }
    }

    fn pack_bank(&mut self, bank: SectionId) {
        let mut variables = variables(&self.out, bank);
        if self.settings.drops_constants {
            variables = self.without_unused(bank, variables);
        }
        if self.settings.drops_constants || self.settings.shares_packed {
            self.out.null_value = 0;
        }
        let rules = Rules { by_size: self.settings.packs_by_size };
        let needed = if self.settings.shares_packed { self.needed() } else { Vec::new() };
        let mut moves = Moves::default();
        // The byte of the null pointer stays free, unless unused variables go (core/constants-packed-null-pointer).
        let start = if self.settings.drops_constants { 0 } else { self.settings.null_pointer };
        let mut contents = Contents { chunks: Vec::new(), end: start, align: 1 };
        let mut equal = EqualConstants::from(start);
        for id in rules.in_order(&self.out, variables) {
            let symbol = self.out.symbol(id);
            let (size, align, from) = (symbol.size, rules.alignment(symbol), symbol.value);
            let data = self.bytes_of(id);
            let place = equal.next_place(size, align).unwrap_or(contents.end);
            let written = match data {
                Some(data) if self.settings.shares_packed && !needed[id.index()] => {
                    contents.append_new(data, size, align, &mut equal)
                }
                _ => contents.append(data, size, align),
            };
            // Relocations go where the variable would be if none shared its place.
            moves.all.push((from, place));
            self.out.symbol_mut(id).value = if equal::looks_for(size, align) { written } else { place };
        }
        moves.sort();
        for section in with_twin(&self.out, bank) {
            let section = self.out.section_mut(section);
            (section.size, section.align) = (contents.end, narrow(contents.align));
            if let Some(own) = section.chunks_mut() {
                own.clone_from(&contents.chunks);
            }
        }
        for relocations in relocations_of(&self.out, bank) {
            self.out.section_mut(relocations).relocations_mut().retain_mut(|entry| {
                let place = moves.place(entry.offset);
                entry.offset = place.unwrap_or(entry.offset);
                place.is_some()
            });
        }
    }

    /// Removes the variables that nothing refers to and that were not asked for.
    fn without_unused(&mut self, bank: SectionId, variables: Vec<SymbolId>) -> Vec<SymbolId> {
        let needed = self.needed();
        let (used, unused): (Vec<_>, Vec<_>) = variables.into_iter().partition(|id| needed[id.index()]);
        forget_relocations(&mut self.out, bank, &unused);
        // Those of a section that loses all go with it.
        let stays = used.iter().any(|id| self.out.symbol(*id).size > 0);
        if self.settings.preserves_relocs && stays {
            for id in unused {
                make_internal(self.out.symbol_mut(id));
            }
        } else {
            remove(&mut self.out, &unused);
        }
        used
    }

    /// Which symbols some relocation names, or were asked for.
    fn needed(&self) -> Vec<bool> {
        let is_asked_for =
            |name: &[u8]| self.settings.variables_used.iter().any(|text| roots::contains(name, text));
        let mut needed: Vec<_> = self.out.symbols.iter().map(|symbol| is_asked_for(symbol.name)).collect();
        for section in &self.out.sections {
            let Content::Relocations(entries) = &section.content else { continue };
            for entry in entries {
                if let RelocTarget::Symbol(symbol) = entry.target {
                    needed[symbol.index()] = true;
                }
            }
        }
        needed
    }

    /// The bytes of a variable, as far as its input has them.
    fn bytes_of(&self, id: SymbolId) -> Option<&'data [u8]> {
        let origin = self.out.symbol(id).origin?;
        let object = &self.objects[origin.file.index()];
        let raw = object.symbol(origin.symbol);
        let data = object.section(u32::from(raw.shndx.get())).data;
        let data = data.get(usize::try_from(raw.value.get()).ok()?..)?;
        let size = usize::try_from(raw.size.get()).map_or(data.len(), |size| size.min(data.len()));
        Some(&data[..size]).filter(|data| !data.is_empty())
    }
}

/// The variables of a bank, in the order of their symbols.
fn variables(merged: &Merged<'_>, bank: SectionId) -> Vec<SymbolId> {
    let is_variable = |id: &SymbolId| {
        let symbol = merged.symbol(*id);
        symbol.section == Some(bank) && symbol.kind != raw::STT_SECTION
    };
    (0..merged.symbols.len()).map(SymbolId::at).filter(is_variable).collect()
}

/// What a variable becomes that lost its place: images have no such symbols, unless relocations are preserved. Its value
/// stays (core/constants-packed-preserved).
fn make_internal(symbol: &mut OutputSymbol<'_>) {
    symbol.other |= raw::STV_INTERNAL;
    symbol.mercury_other |= raw::STV_INTERNAL;
}

fn remove(merged: &mut Merged<'_>, variables: &[SymbolId]) {
    for id in variables {
        let symbol = merged.symbol_mut(*id);
        symbol.dropped = true;
        symbol.section = None;
    }
    forget_names(merged, variables);
}

/// Removes the relocations in variables.
fn forget_relocations(merged: &mut Merged<'_>, bank: SectionId, variables: &[SymbolId]) {
    let range = |id: &SymbolId| {
        let symbol = merged.symbol(*id);
        symbol.value..symbol.value.saturating_add(symbol.size)
    };
    let mut ranges: Vec<_> = variables.iter().map(range).collect();
    ranges.sort_unstable_by_key(|range| range.start);
    for relocations in relocations_of(merged, bank) {
        merged.section_mut(relocations).relocations_mut().retain(|entry| {
            let before = ranges.partition_point(|range| range.start <= entry.offset);
            before == 0 || !ranges[before - 1].contains(&entry.offset)
        });
    }
}

/// Takes the names of removed variables out of the string table, unless something else has that name.
fn forget_names(merged: &mut Merged<'_>, variables: &[SymbolId]) {
    let still_named: HashSet<&BStr, foldhash::fast::FixedState> =
        merged.symbols.iter().filter(|symbol| !symbol.dropped).map(|symbol| symbol.name).collect();
    let has_name = |id: &&SymbolId| {
        let symbol = merged.symbol(**id);
        !symbol.among_globals && !still_named.contains(symbol.name)
    };
    let forgotten: Vec<_> = variables.iter().filter(has_name).map(|id| merged.symbol(*id).name).collect();
    for name in forgotten {
        merged.forget_symbol_name(name);
    }
}

/// How variables are aligned, which decides their order.
struct Rules {
    /// A global variable is aligned to its size, however large it is.
    by_size: bool,
}

impl Rules {
    fn alignment(&self, symbol: &OutputSymbol<'_>) -> u64 {
        let most = match (self.by_size, symbol.among_globals) {
            (false, _) => WORD,
            (true, false) => 2 * WORD,
            (true, true) => return symbol.size.max(1),
        };
        symbol.size.clamp(1, most)
    }

    /// The largest alignment comes first, and of equal ones the smallest variable. Where a word is the most, those that are not
    /// global come last, all by size.
    fn in_order(&self, merged: &Merged<'_>, variables: Vec<SymbolId>) -> Vec<SymbolId> {
        let (globals, mut listed): (Vec<_>, Vec<_>) =
            variables.into_iter().partition(|id| merged.symbol(*id).among_globals);
        listed.extend(globals);
        sorted(listed, &|id| {
            let symbol = merged.symbol(id);
            let by_alignment = self.by_size || symbol.among_globals;
            (Reverse(if by_alignment { self.alignment(symbol) } else { 0 }), symbol.size)
        })
    }
}

/// The bytes of a packed bank.
struct Contents<'data> {
    chunks: Vec<Chunk<'data>>,
    end: u64,
    /// The largest alignment of a variable.
    align: u64,
}

impl<'data> Contents<'data> {
    fn append(&mut self, data: Option<&'data [u8]>, size: u64, align: u64) -> u64 {
        let place = self.end.checked_next_multiple_of(align).unwrap_or(self.end);
        self.chunks.extend(data.map(|data| Chunk { offset: place, data }));
        self.end = place.saturating_add(size);
        self.align = self.align.max(align);
        place
    }

    /// Appends a variable, unless there is one whose place it can share.
    fn append_new(
        &mut self,
        data: &'data [u8],
        size: u64,
        align: u64,
        equal: &mut EqualConstants<'data>,
    ) -> u64 {
        equal.find(data, align).unwrap_or_else(|| {
            let place = self.append(Some(data), size, align);
            if equal::looks_for(size, align) {
                equal.remember(data, align, place);
            }
            place
        })
    }
}

/// nvlink's way to sort a list, which shows in the order of equal ones: it deals the list out onto two piles, sorts
/// both and merges them.
fn sorted<Key: Ord>(list: Vec<SymbolId>, key: &impl Fn(SymbolId) -> Key) -> Vec<SymbolId> {
    if list.len() < 2 {
        return list;
    }
    let pile = |first: usize| {
        let mut dealt: Vec<_> = list.iter().copied().skip(first).step_by(2).collect();
        dealt.reverse();
        sorted(dealt, key).into_iter().peekable()
    };
    let (mut even, mut odd) = (pile(0), pile(1));
    let mut merged = Vec::with_capacity(list.len());
    while let (Some(a), Some(b)) = (even.peek(), odd.peek()) {
        let from = if key(*b) < key(*a) { &mut odd } else { &mut even };
        merged.extend(from.next());
    }
    merged.extend(even);
    merged.extend(odd);
    merged
}

fn with_twin(merged: &Merged<'_>, id: SectionId) -> impl Iterator<Item = SectionId> + use<> {
    [Some(id), merged.section(id).twin].into_iter().flatten()
}

/// The sections of relocations of a section, in both views.
fn relocations_of(merged: &Merged<'_>, id: SectionId) -> Vec<SectionId> {
    let section = merged.section(id);
    let resolved = merged.resolved.get(&id).copied();
    let own = [section.rel, section.rela, resolved].into_iter().flatten();
    let both = own.flat_map(|own| with_twin(merged, own));
    let is_list = |id: &SectionId| matches!(merged.section(*id).content, Content::Relocations(_));
    both.filter(is_list).collect()
}

/// Where variables were and where they are.
#[derive(Default)]
struct Moves {
    all: Vec<(u64, u64)>,
    /// Those of variables that were at a multiple of a word.
    of_words: Vec<(u64, u64)>,
}

impl Moves {
    fn sort(&mut self) {
        self.all.sort_by_key(|(from, _)| *from);
        self.of_words = self.all.iter().filter(|(from, _)| from.is_multiple_of(WORD)).copied().collect();
    }

    /// Where something goes that was in a variable, or after one. For what was at a multiple of a word nvlink
    /// goes back by words, and so finds only variables that begin at one.
    fn place(&self, offset: u64) -> Option<u64> {
        let before = |moves: &[(u64, u64)]| {
            let count = moves.partition_point(|(from, _)| *from <= offset);
            count.checked_sub(1).map(|last| moves[last])
        };
        let found = if offset.is_multiple_of(WORD) { before(&self.of_words) } else { None }
            .or_else(|| before(&self.all));
        found.map(|(from, to)| to.saturating_add(offset - from))
    }
}
