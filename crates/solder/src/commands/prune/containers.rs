//! A section of fat binaries, one container after the other, built anew.

use std::collections::HashMap;

use solder_fatbin::Container;

use super::entry::Entry;
use super::pieces::Pieces;
use super::policy::Policy;

/// How many members there are, and how many stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) members: usize,
    pub(super) kept: usize,
    /// Those that are in the new file; of equal containers one may be.
    pub(super) stored: usize,
    /// Those that had debug or line information, which is gone.
    pub(super) stripped: usize,
    /// Bytes of containers, before and after.
    pub(super) before: u64,
    pub(super) after: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: Self) {
        self.members += other.members;
        self.kept += other.kept;
        self.stored += other.stored;
        self.stripped += other.stripped;
        self.before += other.before;
        self.after += other.after;
    }
}

/// A file without what is not wanted.
#[derive(Debug)]
pub(super) struct Pruned<'data> {
    pub(super) pieces: Pieces<'data>,
    pub(super) counts: Counts,
}

impl<'data> Pruned<'data> {
    /// A file in which there is nothing to prune.
    pub(super) fn as_it_is(data: &'data [u8]) -> Self {
        let mut pieces = Pieces::default();
        pieces.push(data);
        Self { pieces, counts: Counts::default() }
    }
}

/// Where containers that stay are and their sizes, by what is in them.
type Seen<'data> = HashMap<Vec<&'data [u8]>, (u64, u64)>;

/// The new contents of a section, and what became of the places in it.
#[derive(Debug, Default)]
pub(super) struct Rebuilt<'data> {
    pub(super) pieces: Pieces<'data>,
    pub(super) counts: Counts,
    /// Where containers, and members that stay, were and where they are.
    moved: HashMap<u64, u64>,
    /// The sizes of containers, before and after, by where they were.
    sizes: HashMap<u64, (u64, u64)>,
    /// Bytes at the start that are what they were.
    pub(super) same: u64,
}

impl<'data> Rebuilt<'data> {
    /// `align` is that of the section. All bytes must be containers, or zeros between them.
    pub(super) fn of(data: &'data [u8], align: u64, policy: &Policy) -> Result<Self, String> {
        if align != 0 && !align.is_power_of_two() {
            return Err(format!("its alignment, {align}, is not a power of two"));
        }
        let mut rebuilt = Self::default();
        let mut seen = Seen::new();
        let mut at = 0;
        while at < data.len() {
            if data[at] == 0 {
                at += 1;
                continue;
            }
            let container = Container::parse(&data[at..]).map_err(|error| error.to_string())?;
            rebuilt.container(&container, at as u64, align, policy, &mut seen)?;
            at += container.size();
        }
        let end = rebuilt.pieces.size();
        rebuilt.moved.entry(data.len() as u64).or_insert(end);
        rebuilt.counts.after = end;
        rebuilt.same = rebuilt.pieces.common_start(data);
        Ok(rebuilt)
    }

    fn container(
        &mut self,
        container: &Container<'data>,
        old: u64,
        align: u64,
        policy: &Policy,
        seen: &mut Seen<'data>,
    ) -> Result<(), String> {
        let mut stays = Vec::new();
        let mut kept = 0;
        let mut offset = old + (container.header_for(0).len() as u64);
        for entry in container.entries() {
            let entry = Entry::of(entry.map_err(|error| error.to_string())?, policy)?;
            self.counts.members += entry.members;
            kept += entry.kept();
            let next = offset + entry.old_bytes().len() as u64;
            if entry.kept() > 0 {
                stays.push((offset, entry));
            }
            offset = next;
        }
        self.counts.kept += kept;
        self.counts.before += container.size() as u64;
        let key: Vec<&[u8]> = stays.iter().map(|(_, entry)| entry.old_bytes()).collect();
        if let Some((new, size)) = seen.get(&key).filter(|_| policy.dedup) {
            self.moved.insert(old, *new);
            self.sizes.insert(old, (container.size() as u64, *size));
            return Ok(());
        }
        self.counts.stored += kept;
        self.align(old, align);
        let new = self.pieces.size();
        self.moved.insert(old, new);
        let mut members = Pieces::default();
        let header = container.header_for(0).len() as u64;
        for (offset, entry) in stays {
            self.moved.insert(offset, new + header + members.size());
            let (bytes, stripped) = entry.bytes(policy)?;
            self.counts.stripped += stripped;
            members.push(bytes);
        }
        self.pieces.push(container.header_for(members.size()));
        self.pieces.append(members);
        let size = self.pieces.size() - new;
        self.sizes.insert(old, (container.size() as u64, size));
        if policy.dedup {
            seen.insert(key, (new, size));
        }
        Ok(())
    }

    /// A container is aligned as far as it was, and the section is.
    fn align(&mut self, old: u64, align: u64) {
        // An alignment of 0 is none.
        let align = align.max(1);
        let align = if old == 0 { align } else { align.min(1 << old.trailing_zeros().min(32)) };
        let size = self.pieces.size();
        self.pieces.zeros(size.next_multiple_of(align) - size);
    }

    /// Where something is that was at this offset. `None` if nothing that stays began there.
    pub(super) fn new_place(&self, old: u64) -> Option<u64> {
        self.moved.get(&old).copied()
    }

    /// All places that are known, as they were and as they are.
    pub(super) fn places(&self) -> impl Iterator<Item = (u64, u64)> {
        self.moved.iter().map(|(old, new)| (*old, *new))
    }
    /// Where containers were.
    pub(super) fn containers(&self) -> impl Iterator<Item = u64> {
        self.sizes.keys().copied()
    }

    /// The new size of something that was as large as the container that began there.
    pub(super) fn new_size(&self, old: u64, size: u64) -> Option<u64> {
        self.sizes.get(&old).filter(|(before, _)| *before == size).map(|(_, after)| *after)
    }
}
