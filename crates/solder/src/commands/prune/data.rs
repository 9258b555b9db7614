//! Addresses of fat binaries, and distances to them, in data: words that nothing says are such.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use solder_cubin::raw::{ET_EXEC, SectionHeader};
use zerocopy::little_endian::{U32, U64};

use super::host::{Code, Host, SHF_ALLOC, SHF_EXECINSTR, SHT_PROGBITS, entries};
use super::machine::{Lost, is_unlikely};

/// How far the entry of a table of distances may be from its start.
const TABLE: u64 = 1024;

pub(super) struct Data<'a, 'data, L> {
    pub(super) host: &'a Host<'data>,
    pub(super) code: &'a [Code<'data>],
    pub(super) lost: &'a L,
    /// Addresses of what begins somewhere else now.
    pub(super) changed: &'a HashSet<u64>,
    /// Places in the file whose words have been corrected.
    pub(super) slots: &'a HashSet<u64>,
}

/// Places that may be the start of a table of distances to something lost.
pub(super) type Tables = BTreeSet<u64>;

/// What is known of a table.
#[derive(Clone, Copy, Default)]
struct Entries {
    count: usize,
    /// One is at the start.
    is_first: bool,
    /// One leads to a container that moves.
    moves: bool,
}

impl Entries {
    fn add(&mut self, passed: u64, moves: bool) {
        self.count += 1;
        self.is_first |= passed == 0;
        self.moves |= moves;
    }

    /// One alone is a distance from its own place.
    fn is_table(self) -> bool {
        self.moves && (self.count > 1 || self.is_first)
    }
}

impl Lost for Tables {
    fn is_lost(&self, address: u64) -> bool {
        self.contains(&address)
    }

    fn begins(&self, address: u64) -> bool {
        self.contains(&address)
    }

    fn is_near(&self, address: u64) -> bool {
        self.range(address..address.saturating_add(1 << 16)).next().is_some()
    }

    fn holds(&self, _: u64) -> bool {
        false
    }
}

impl<L: Lost> Data<'_, '_, L> {
    /// An error if there is an address or the distance from its own place. What may be a distance from the start of a table is
    /// given back: it is one if code refers to that start.
    pub(super) fn check(&self) -> Result<Tables, String> {
        let mut tables = BTreeMap::new();
        let mut targets: Vec<u64> =
            self.code.iter().flat_map(|code| code.new.containers().map(|at| code.address + at)).collect();
        targets.sort_unstable();
        for section in self.host.sections {
            let flags = section.flags.get();
            let is_own = self.code.iter().any(|code| code.range.start == section.offset.get());
            if flags & SHF_ALLOC == 0 || is_own || section.sh_type.get() != SHT_PROGBITS {
                continue;
            }
            let is_code = flags & SHF_EXECINSTR != 0;
            let contents = self.host.contents(section)?;
            let name = || self.host.name(section);
            if self.host.header.e_type.get() == ET_EXEC {
                let short = if is_code { None } else { self.word(section, contents) };
                if let Some(value) = short.or_else(|| self.wide_word(section, contents, is_code)) {
                    return Err(format!(
                        "section '{}' seems to hold the address of a fat binary, {value:#x}",
                        name()
                    ));
                }
            }
            // Tables for unwinding lead to code.
            if !is_code
                && !name().starts_with(".eh_frame")
                && let Some(value) = self.distances(section, contents, &targets, &mut tables)
            {
                return Err(format!(
                    "section '{}' seems to hold the distance to a fat binary, {value:#x}",
                    name()
                ));
            }
        }
        Ok(tables.into_iter().filter(|(_, entries)| entries.is_table()).map(|(start, _)| start).collect())
    }

    /// The first container that a word of 8 bytes, or one of two words of 4 bytes, leads to from its own place. What single words
    /// of 4 bytes lead to, from their places or from the start of a table, may be chance: it is collected.
    fn distances(
        &self,
        section: &SectionHeader,
        contents: &[u8],
        targets: &[u64],
        tables: &mut BTreeMap<u64, Entries>,
    ) -> Option<u64> {
        let (first, last) = (*targets.first()?, *targets.last()?);
        let start = section.addr.get();
        let words = entries::<U32>(contents);
        // Whether the word before leads to a container, and to one that moves.
        let mut before = None;
        for (index, word) in words.iter().enumerate() {
            let place = start.wrapping_add(index as u64 * 4);
            let low = word.get();
            let address = place.wrapping_add_signed(low.cast_signed().into());
            let mut own = None;
            if (first..=last.saturating_add(TABLE)).contains(&address) {
                let after = targets.partition_point(|target| *target <= address);
                let near = targets[..after].iter().rev().map(|target| (*target, address - target));
                for (target, passed) in near.take_while(|(_, passed)| *passed <= TABLE) {
                    let moves = self.changed.contains(&target);
                    if passed % 4 == 0 && passed <= index as u64 * 4 {
                        tables.entry(place - passed).or_default().add(passed, moves);
                    }
                    own = own.or((passed == 0).then_some(moves));
                }
            }
            if own.zip(before).is_some_and(|(one, other)| one || other) {
                return Some(address);
            }
            before = own;
            let Some(high) = words.get(index + 1) else { continue };
            let address = place.wrapping_add(u64::from(high.get()) << 32 | u64::from(low));
            if (first..=last).contains(&address)
                && self.changed.contains(&address)
                && targets.binary_search(&address).is_ok()
            {
                return Some(address);
            }
        }
        None
    }

    /// The first word of 4 or 8 bytes that is one of the addresses and has not been corrected.
    fn word(&self, section: &SectionHeader, contents: &[u8]) -> Option<u64> {
        let (first, last) = (*self.changed.iter().min()?, *self.changed.iter().max()?);
        let words = entries::<U32>(contents);
        words.iter().enumerate().find_map(|(index, word)| {
            let low = u64::from(word.get());
            let high = words.get(index + 1).map_or(0, |next| u64::from(next.get()));
            let place = section.offset.get() + (index * 4) as u64;
            let is_it = |value: &u64| (first..=last).contains(value) && self.changed.contains(value);
            let value = [low, high << 32 | low].into_iter().find(is_it)?;
            (!self.slots.contains(&place)).then_some(value)
        })
    }

    /// The first word of 8 bytes, at any place, that is one of the addresses, or one in its place that leads to the middle.
    fn wide_word(&self, section: &SectionHeader, contents: &[u8], is_code: bool) -> Option<u64> {
        let start = section.offset.get();
        let is_new = |at: usize| !self.slots.contains(&(start + at as u64));
        let words = entries::<U64>(contents).iter().enumerate();
        let mut aligned = words.map(|(index, word)| (index * 8, word.get()));
        let middle = aligned.find(|(at, value)| {
            *value != 0 && !is_unlikely(*value) && self.lost.is_lost(*value) && is_new(*at)
        });
        let anywhere = || {
            let (first, last) = (*self.changed.iter().min()?, *self.changed.iter().max()?);
            let value = |bytes: &[u8]| bytes.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            let mut words = contents.windows(8).map(value).enumerate();
            words.find(|(at, value)| {
                (first..=last).contains(value) && self.changed.contains(value) && is_new(*at)
            })
        };
        middle.or_else(|| if is_code { None } else { anywhere() }).map(|(_, value)| value)
    }
}
