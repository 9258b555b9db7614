//! The string tables of an output: insertion order, each whole string once.

use foldhash::fast::FixedState;
use hashbrown::{HashTable, hash_table};
use std::hash::BuildHasher;
use std::ops::Range;

/// One of the two string tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// `.shstrtab`
    Sections,
    /// `.strtab`
    Symbols,
}

/// The string tables under construction. Most names stand in both, so that they have one index. Offset 0 is the empty
/// string.
#[derive(Clone, Debug)]
pub struct StringTables {
    bytes: [Vec<u8>; 2],
    index: HashTable<Entry>,
    /// Where those strings of `.strtab` begin that are not in the index yet.
    indexed: usize,
    /// Where those strings of both tables are that were added as a function's own and are not in the index.
    own: Vec<[u32; 2]>,
    /// Some other string could be one of those.
    is_mixed: bool,
}

/// How the names of the sections begin that a function has for itself. That of the function follows.
const OWN: [&[u8]; 3] = [b".text.", b".nv.info.", b".rela.text."];

fn may_be_own(text: &[u8]) -> bool {
    OWN.iter().any(|prefix| text.starts_with(prefix))
}

/// Where a string is, 0 for a table that does not have it. Its hash is kept: an index that grows need not read the
/// strings again.
#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u32,
    offsets: [u32; 2],
}

/// The hash of a string.
pub fn hash(text: &[u8]) -> u32 {
    FixedState::with_seed(0).hash_one(text) as u32
}

/// Indices take a place from the low bits of a hash and a tag from the high ones.
pub fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

/// Tells whether an entry is that of `text`.
fn is_text(bytes: &[Vec<u8>; 2], text: &[u8], hash: u32) -> impl Fn(&Entry) -> bool {
    move |entry| {
        let table = usize::from(entry.offsets[0] == 0);
        let start = entry.offsets[table] as usize;
        let (bytes, end) = (&bytes[table], start + text.len());
        entry.hash == hash && bytes.get(start..end) == Some(text) && bytes.get(end) == Some(&0)
    }
}

/// A string of a table.
fn text_at(bytes: &[u8], offset: u32) -> &[u8] {
    crate::string_at(bytes, offset).map_or(&[], |text| text)
}

/// Adds `text` at the end of a table; where.
fn append(bytes: &mut Vec<u8>, text: &[u8]) -> u32 {
    let offset = bytes.len() as u32;
    bytes.extend_from_slice(text);
    bytes.push(0);
    offset
}

impl Default for StringTables {
    fn default() -> Self {
        Self {
            bytes: [vec![0], vec![0]],
            index: HashTable::new(),
            indexed: 1,
            own: Vec::new(),
            is_mixed: false,
        }
    }
}

impl StringTables {
    /// Tables that need not grow for so many bytes each.
    pub fn with_room(bytes: [usize; 2]) -> Self {
        let mut tables = Self::default();
        tables.bytes.iter_mut().zip(bytes).for_each(|(table, bytes)| table.reserve(bytes));
        tables
    }

    /// Makes room for this many strings to be found, and those of so many functions' own.
    pub fn expect(&mut self, strings: usize, functions: usize) {
        self.index.reserve(strings, |entry| spread(entry.hash));
        self.own.reserve(OWN.len() * functions);
    }

    /// The offset of `text` in a table, which it is added to unless it is there already.
    pub fn add(&mut self, table: Table, text: &[u8]) -> u32 {
        self.settle(text, |of| of == table)[table as usize]
    }

    /// The same in both tables.
    pub fn add_to_both(&mut self, text: &[u8]) -> [u32; 2] {
        self.settle(text, |_| true)
    }

    /// The same of the name of a section that a strong function has for itself, given once: those of all others differ
    /// from it. It is looked for only where some other string begins like it.
    pub fn add_own(&mut self, text: &[u8]) -> [u32; 2] {
        if self.is_mixed || !may_be_own(text) {
            return self.add_to_both(text);
        }
        self.index_all();
        let [sections, symbols] = &mut self.bytes;
        let offsets = [append(sections, text), append(symbols, text)];
        self.indexed = symbols.len();
        self.own.push(offsets);
        offsets
    }

    /// Lets the strings be found that were added as functions' own, and makes room for those that were expected to be.
    fn index_own(&mut self) {
        self.index.reserve(self.own.capacity(), |entry| spread(entry.hash));
        for offsets in std::mem::take(&mut self.own) {
            let hash = hash(text_at(&self.bytes[0], offsets[0]));
            self.index.insert_unique(spread(hash), Entry { hash, offsets }, |entry| spread(entry.hash));
        }
    }

    fn settle(&mut self, text: &[u8], is_wanted: impl Fn(Table) -> bool) -> [u32; 2] {
        if text.is_empty() {
            return [0; 2];
        }
        if may_be_own(text) {
            self.is_mixed = true;
            self.index_own();
        }
        self.index_all();
        let hash = hash(text);
        let is_same = is_text(&self.bytes, text, hash);
        let mut place = match self.index.entry(spread(hash), is_same, |entry| spread(entry.hash)) {
            hash_table::Entry::Occupied(found) => found,
            hash_table::Entry::Vacant(place) => place.insert(Entry { hash, offsets: [0; 2] }),
        };
        let offsets = &mut place.get_mut().offsets;
        for table in [Table::Sections, Table::Symbols] {
            let offset = &mut offsets[table as usize];
            if *offset == 0 && is_wanted(table) {
                *offset = append(&mut self.bytes[table as usize], text);
            }
        }
        self.indexed = self.bytes[Table::Symbols as usize].len();
        *offsets
    }

    /// The offset of `text`, if it is in a table.
    pub fn get(&self, table: Table, text: &[u8]) -> Option<u32> {
        let hash = hash(text);
        let is_same = is_text(&self.bytes, text, hash);
        let indexed = self.index.find(spread(hash), &is_same).copied();
        let is_there = |entry: &Entry| entry.offsets[table as usize] != 0;
        let found = indexed.filter(is_there);
        let own = || self.own.iter().filter(|_| may_be_own(text)).map(|o| Entry { hash, offsets: *o });
        let found = found.or_else(|| own().find(&is_same));
        found.or_else(|| self.unindexed().filter(is_there).find(is_same)).map(|e| e.offsets[table as usize])
    }

    /// Like [`add`](Self::add) to `.strtab` for one of many strings that differ from one another, so that it need not
    /// be looked for among those. `hash` is its [`hash()`].
    pub fn add_distinct(&mut self, text: &[u8], hash: u32) -> u32 {
        if may_be_own(text) {
            return self.add(Table::Symbols, text);
        }
        if text.is_empty() {
            return 0;
        }
        let table = Table::Symbols as usize;
        match self.index.find(spread(hash), is_text(&self.bytes, text, hash)) {
            Some(found) if found.offsets[table] != 0 => found.offsets[table],
            _ => append(&mut self.bytes[table], text),
        }
    }

    /// The strings that were added as distinct since the last one that was not.
    fn unindexed(&self) -> impl Iterator<Item = Entry> {
        let mut offset = self.indexed;
        self.bytes[Table::Symbols as usize][offset..].split_inclusive(|byte| *byte == 0).map(move |text| {
            let entry = Entry { hash: hash(&text[..text.len() - 1]), offsets: [0, offset as u32] };
            offset += text.len();
            entry
        })
    }

    /// Lets the strings that were added as distinct be found.
    fn index_all(&mut self) {
        let bytes = &self.bytes[Table::Symbols as usize];
        if self.indexed == bytes.len() {
            return;
        }
        let entries: Vec<_> = self.unindexed().collect();
        self.index.reserve(entries.len(), |entry| spread(entry.hash));
        for entry in entries {
            let start = entry.offsets[Table::Symbols as usize] as usize;
            let is_same = is_text(&self.bytes, text_at(bytes, start as u32), entry.hash);
            match self.index.entry(spread(entry.hash), is_same, |entry| spread(entry.hash)) {
                hash_table::Entry::Occupied(mut found) => {
                    found.get_mut().offsets[Table::Symbols as usize] = start as u32;
                }
                hash_table::Entry::Vacant(place) => {
                    place.insert(entry);
                }
            }
        }
        self.indexed = bytes.len();
    }

    /// Takes `text` out of a table and returns where it stood. What follows moves up.
    pub fn remove(&mut self, table: Table, text: &[u8]) -> Option<Range<u32>> {
        self.index_own();
        self.index_all();
        let start = self.get(table, text)?;
        let end = start + text.len() as u32 + 1;
        self.bytes[table as usize].drain(start as usize..end as usize);
        self.indexed = self.bytes[Table::Symbols as usize].len();
        for entry in &mut self.index {
            let offset = &mut entry.offsets[table as usize];
            if *offset == start {
                *offset = 0;
            } else if *offset > start {
                *offset -= end - start;
            }
        }
        self.index.retain(|entry| entry.offsets != [0; 2]);
        Some(start..end)
    }

    /// Adds `text` at the end although it may be there already; later [`add`](Self::add)s of the
    /// same text still find the first copy.
    pub fn add_again(&mut self, table: Table, text: &[u8]) -> u32 {
        self.index_all();
        let offset = append(&mut self.bytes[table as usize], text);
        self.indexed = self.bytes[Table::Symbols as usize].len();
        offset
    }

    /// Where the empty string is that was added again, if it was.
    pub fn second_empty(&self, table: Table) -> Option<u32> {
        let ends = self.bytes[table as usize].windows(2);
        ends.zip(1..).find(|(pair, _)| *pair == [0, 0]).map(|(_, at)| at)
    }

    pub fn bytes(&self, table: Table) -> &[u8] {
        &self.bytes[table as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::Table::{Sections, Symbols};
    use super::{StringTables, hash};

    #[test]
    fn whole_strings_are_shared_and_tails_are_not() {
        let mut tables = StringTables::default();
        let a = tables.add(Symbols, b".text.f");
        assert_eq!(tables.add(Symbols, b"f"), 9);
        assert_eq!(tables.add(Symbols, b".text.f"), a);
        assert_eq!(tables.add(Symbols, b""), 0);
        assert_eq!(tables.add_again(Symbols, b"f"), 11);
        assert_eq!(tables.add(Symbols, b"f"), 9);
        assert_eq!(tables.bytes(Symbols), b"\0.text.f\0f\0f\0");
        assert_eq!(tables.bytes(Sections), b"\0");
    }

    #[test]
    fn what_was_added_again_is_not_found() {
        let mut tables = StringTables::default();
        assert_eq!((tables.add_again(Sections, b"one"), tables.add(Sections, b"one")), (1, 5));
        assert_eq!(tables.get(Symbols, b"one"), None);
        assert_eq!(tables.second_empty(Sections), None);
        assert_eq!((tables.add_again(Sections, b""), tables.second_empty(Sections)), (9, Some(9)));
    }

    #[test]
    fn each_table_has_its_own_offsets() {
        let mut tables = StringTables::default();
        tables.add(Symbols, b"one");
        let all = [&b"two"[..], b"one", b"", b"two"].map(|text| tables.add_to_both(text));
        assert_eq!(all, [[1, 5], [5, 1], [0, 0], [1, 5]]);
        assert_eq!(
            (tables.bytes(Sections), tables.bytes(Symbols)),
            (&b"\0two\0one\0"[..], &b"\0one\0two\0"[..])
        );
        assert_eq!((tables.add(Sections, b"three"), tables.get(Symbols, b"three")), (9, None));
        assert_eq!(tables.add_to_both(b"three"), [9, 9]);
    }

    #[test]
    fn what_is_a_functions_own_is_found_by_others() {
        let mut tables = StringTables::default();
        assert_eq!(tables.add(Symbols, b"f"), 1);
        assert_eq!(tables.add_own(b".text.f"), [1, 3]);
        assert_eq!(tables.add_own(b".nv.info.f"), [9, 11]);
        assert_eq!((tables.get(Sections, b".nv.info.f"), tables.get(Symbols, b".text.g")), (Some(9), None));
        assert_eq!(tables.add_to_both(b".text.f"), [1, 3]);
        assert_eq!(tables.add(Symbols, b".text.g"), 22);
        assert_eq!(tables.add_own(b".text.g"), [20, 22]);
        assert_eq!(tables.remove(Sections, b".text.f"), Some(1..9));
        assert_eq!(tables.get(Sections, b".text.g"), Some(12));
        assert_eq!(tables.bytes(Sections), b"\0.nv.info.f\0.text.g\0");
    }

    #[test]
    fn distinct_strings_are_found_later() {
        let mut tables = StringTables::default();
        tables.add(Symbols, b"one");
        tables.add(Sections, b"three");
        let added = [&b"two"[..], b"one", b"three"].map(|text| tables.add_distinct(text, hash(text)));
        assert_eq!(added, [5, 1, 9]);
        assert_eq!((tables.get(Symbols, b"three"), tables.get(Symbols, b"four")), (Some(9), None));
        assert_eq!((tables.get(Sections, b"three"), tables.get(Sections, b"two")), (Some(1), None));
        assert_eq!((tables.add(Symbols, b"two"), tables.add(Symbols, b"four")), (5, 15));
        assert_eq!(tables.add_to_both(b"three"), [1, 9]);
        tables.add_distinct(b"five", hash(b"five"));
        assert_eq!(tables.remove(Symbols, b"one"), Some(1..5));
        assert_eq!(tables.remove(Symbols, b"five"), Some(16..21));
        assert_eq!(tables.bytes(Symbols), b"\0two\0three\0four\0");
    }

    #[test]
    fn what_follows_a_removed_string_moves_up() {
        let mut tables = StringTables::default();
        for text in [&b"one"[..], b"two", b"three"] {
            tables.add_to_both(text);
        }
        assert_eq!(tables.remove(Symbols, b"two"), Some(5..9));
        assert_eq!(tables.remove(Symbols, b"two"), None);
        assert_eq!((tables.get(Symbols, b"one"), tables.get(Symbols, b"three")), (Some(1), Some(5)));
        assert_eq!((tables.get(Sections, b"two"), tables.get(Sections, b"three")), (Some(5), Some(9)));
        assert_eq!(tables.bytes(Symbols), b"\0one\0three\0");
        assert_eq!(tables.bytes(Sections), b"\0one\0two\0three\0");
    }
}
