//! The string tables of an output: insertion order, each whole string once.

use foldhash::fast::FixedState;
use hashbrown::{HashTable, hash_table};
use std::hash::BuildHasher;
use std::ops::Range;

/// A string table under construction. Offset 0 is the empty string.
#[derive(Clone, Debug)]
pub struct StringTable {
    bytes: Vec<u8>,
    index: HashTable<Entry>,
    /// Where those strings begin that are not in the index yet.
    indexed: usize,
}

/// Where a string is. Its hash is kept: an index that grows need not read the strings again.
#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u32,
    offset: u32,
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
fn is_text(bytes: &[u8], text: &[u8], hash: u32) -> impl Fn(&Entry) -> bool {
    move |entry| {
        let (start, end) = (entry.offset as usize, entry.offset as usize + text.len());
        entry.hash == hash && bytes.get(start..end) == Some(text) && bytes.get(end) == Some(&0)
    }
}

impl Default for StringTable {
    fn default() -> Self {
        Self { bytes: vec![0], index: HashTable::new(), indexed: 1 }
    }
}

impl StringTable {
    /// A table that need not grow for this many bytes.
    pub fn with_room(bytes: usize) -> Self {
        let mut table = Self::default();
        table.bytes.reserve(bytes);
        table
    }

    /// Makes room for this many strings to be found.
    pub fn expect(&mut self, strings: usize) {
        self.index.reserve(strings, |entry| spread(entry.hash));
    }

    /// The offset of `text`, which is added unless it is there already.
    pub fn add(&mut self, text: &str) -> u32 {
        self.settle(text.as_bytes(), hash(text.as_bytes()))
    }

    /// Adds `text` to two tables; its offset in each.
    pub fn add_to_both(tables: [&mut Self; 2], text: &str) -> [u32; 2] {
        let hash = hash(text.as_bytes());
        tables.map(|table| table.settle(text.as_bytes(), hash))
    }

    /// The offset of `text`, if it is there.
    pub fn get(&self, text: &str) -> Option<u32> {
        let text = text.as_bytes();
        let hash = hash(text);
        let is_same = is_text(&self.bytes, text, hash);
        let indexed = self.index.find(spread(hash), &is_same).copied();
        let found = indexed.or_else(|| self.unindexed().find(is_same));
        found.map(|entry| entry.offset)
    }

    /// Like [`add`](Self::add) for one of many strings that differ from one another, so that it need not be looked for
    /// among those. `hash` is its [`hash()`].
    pub fn add_distinct(&mut self, text: &str, hash: u32) -> u32 {
        let text = text.as_bytes();
        if text.is_empty() {
            return 0;
        }
        if let Some(found) = self.index.find(spread(hash), is_text(&self.bytes, text, hash)) {
            return found.offset;
        }
        let offset = self.bytes.len() as u32;
        self.bytes.extend_from_slice(text);
        self.bytes.push(0);
        offset
    }

    /// The strings that were added as distinct since the last one that was not.
    fn unindexed(&self) -> impl Iterator<Item = Entry> {
        let mut offset = self.indexed;
        self.bytes[offset..].split_inclusive(|byte| *byte == 0).map(move |text| {
            let entry = Entry { hash: hash(&text[..text.len() - 1]), offset: offset as u32 };
            offset += text.len();
            entry
        })
    }

    /// Lets the strings that were added as distinct be found.
    fn index_all(&mut self) {
        if self.indexed == self.bytes.len() {
            return;
        }
        let entries: Vec<_> = self.unindexed().collect();
        self.index.reserve(entries.len(), |entry| spread(entry.hash));
        for entry in entries {
            self.index.insert_unique(spread(entry.hash), entry, |entry| spread(entry.hash));
        }
        self.indexed = self.bytes.len();
    }

    fn settle(&mut self, text: &[u8], hash: u32) -> u32 {
        if text.is_empty() {
            return 0;
        }
        self.index_all();
        let is_same = is_text(&self.bytes, text, hash);
        match self.index.entry(spread(hash), is_same, |entry| spread(entry.hash)) {
            hash_table::Entry::Occupied(found) => found.get().offset,
            hash_table::Entry::Vacant(place) => {
                let offset = self.bytes.len() as u32;
                place.insert(Entry { hash, offset });
                self.bytes.extend_from_slice(text);
                self.bytes.push(0);
                self.indexed = self.bytes.len();
                offset
            }
        }
    }

    /// The string at an offset.
    pub fn at(&self, offset: u32) -> &str {
        crate::string_at(&self.bytes, offset).unwrap_or_default()
    }

    /// Takes `text` out and returns where it stood. What follows moves up.
    pub fn remove(&mut self, text: &str) -> Option<Range<u32>> {
        self.index_all();
        let start = self.get(text)?;
        let end = start + text.len() as u32 + 1;
        self.bytes.drain(start as usize..end as usize);
        self.indexed = self.bytes.len();
        self.index.retain(|entry| entry.offset != start);
        for entry in &mut self.index {
            if entry.offset > start {
                entry.offset -= end - start;
            }
        }
        Some(start..end)
    }

    /// Adds `text` at the end although it may be there already; later [`add`](Self::add)s of the
    /// same text still find the first copy.
    pub fn add_again(&mut self, text: &str) -> u32 {
        self.index_all();
        let offset = self.bytes.len() as u32;
        self.bytes.extend(text.as_bytes());
        self.bytes.push(0);
        self.indexed = self.bytes.len();
        offset
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.len() <= 1
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::{StringTable, hash};

    #[test]
    fn whole_strings_are_shared_and_tails_are_not() {
        let mut table = StringTable::default();
        let a = table.add(".text.f");
        assert_eq!(table.add("f"), 9);
        assert_eq!(table.add(".text.f"), a);
        assert_eq!(table.add(""), 0);
        assert_eq!(table.add_again("f"), 11);
        assert_eq!(table.add("f"), 9);
        assert_eq!(table.as_bytes(), b"\0.text.f\0f\0f\0");
    }

    #[test]
    fn each_table_has_its_own_offsets() {
        let [mut first, mut second] = [StringTable::default(), StringTable::default()];
        second.add("one");
        let mut add = |text| StringTable::add_to_both([&mut first, &mut second], text);
        assert_eq!([add("two"), add("one"), add(""), add("two")], [[1, 5], [5, 1], [0, 0], [1, 5]]);
        assert_eq!((first.as_bytes(), second.as_bytes()), (&b"\0two\0one\0"[..], &b"\0one\0two\0"[..]));
    }

    #[test]
    fn distinct_strings_are_found_later() {
        let mut table = StringTable::default();
        table.add("one");
        let [two, one, three] = ["two", "one", "three"].map(|s| table.add_distinct(s, hash(s.as_bytes())));
        assert_eq!([two, one, three], [5, 1, 9]);
        assert_eq!((table.get("three"), table.get("four")), (Some(9), None));
        assert_eq!((table.add("two"), table.add("four")), (5, 15));
        table.add_distinct("five", hash(b"five"));
        assert_eq!((table.remove("one"), table.remove("five")), (Some(1..5), Some(16..21)));
        assert_eq!(table.as_bytes(), b"\0two\0three\0four\0");
    }

    #[test]
    fn what_follows_a_removed_string_moves_up() {
        let mut table = StringTable::default();
        table.add("one");
        table.add("two");
        table.add("three");
        assert_eq!(table.remove("two"), Some(5..9));
        assert_eq!(table.remove("two"), None);
        assert_eq!((table.get("one"), table.get("three")), (Some(1), Some(5)));
        assert_eq!(table.as_bytes(), b"\0one\0three\0");
    }
}
