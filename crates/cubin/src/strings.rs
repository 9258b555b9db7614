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
    /// While the table is drafted: where the strings begin that have not been compared with others.
    draft: Option<Vec<u32>>,
    /// Strings that are not in the index yet.
    unindexed: Vec<Entry>,
}

/// Where the strings of a draft are in the table: those that it had already, with what has been taken back up to there.
#[derive(Clone, Debug, Default)]
pub struct Moves(Vec<Repeated>);

#[derive(Clone, Copy, Debug)]
struct Repeated {
    drafted: u32,
    offset: u32,
    /// By how much the strings behind it move up.
    taken_back: u32,
}

impl Moves {
    /// All strings are where they were drafted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The offset of the string that was drafted at `drafted`.
    pub fn of(&self, drafted: u32) -> u32 {
        // Most symbols have no name yet, which is at 0.
        if self.0.first().is_none_or(|first| drafted < first.drafted) {
            return drafted;
        }
        match self.0.binary_search_by_key(&drafted, |repeated| repeated.drafted) {
            Ok(at) => self.0[at].offset,
            Err(0) => drafted,
            Err(behind) => drafted - self.0[behind - 1].taken_back,
        }
    }

    /// Whether the table did not have that string before.
    pub fn is_new(&self, drafted: u32) -> bool {
        self.0.binary_search_by_key(&drafted, |repeated| repeated.drafted).is_err()
    }
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
        Self { bytes: vec![0], index: HashTable::new(), draft: None, unindexed: Vec::new() }
    }
}

impl StringTable {
    /// A table that need not grow for this many bytes.
    pub fn with_room(bytes: usize) -> Self {
        let mut table = Self::default();
        table.bytes.reserve(bytes);
        table
    }

    /// From here to [`end_draft`](Self::end_draft), strings are added without looking whether they are there already.
    pub fn begin_draft(&mut self) {
        self.draft = Some(Vec::new());
    }

    /// Finds the strings of the draft that were there already and takes them back.
    pub fn end_draft(&mut self) -> Moves {
        let starts = self.draft.take().unwrap_or_default();
        self.index.reserve(starts.len(), |entry| spread(entry.hash));
        let mut moves = Vec::new();
        let mut end = starts.first().map_or(self.bytes.len(), |start| *start as usize);
        for (index, &drafted) in starts.iter().enumerate() {
            let next = starts.get(index + 1).map_or(self.bytes.len(), |start| *start as usize);
            let (before, text) = self.bytes[..next - 1].split_at(drafted as usize);
            let hash = hash(text);
            let is_same = is_text(&before[..end], text, hash);
            match self.index.entry(spread(hash), is_same, |entry| spread(entry.hash)) {
                hash_table::Entry::Occupied(found) => {
                    let offset = found.get().offset;
                    moves.push(Repeated { drafted, offset, taken_back: (next - end) as u32 });
                }
                hash_table::Entry::Vacant(place) => {
                    place.insert(Entry { hash, offset: end as u32 });
                    if drafted as usize != end {
                        self.bytes.copy_within(drafted as usize..next, end);
                    }
                    end += next - drafted as usize;
                }
            }
        }
        self.bytes.truncate(end);
        Moves(moves)
    }

    /// The offset of `text`, which is added unless it is there already.
    pub fn add(&mut self, text: &str) -> u32 {
        self.add_parts(&[text])
    }

    /// Like [`add`](Self::add) for the concatenation of `parts`, without building it first.
    pub fn add_parts(&mut self, parts: &[&str]) -> u32 {
        let start = self.append(parts);
        if self.draft.is_some() { self.draft(start) } else { self.settle(start, hash(&self.bytes[start..])) }
    }

    /// Adds the concatenation of `parts` to two tables; its offset in each.
    pub fn add_to_both(tables: [&mut Self; 2], parts: &[&str]) -> [u32; 2] {
        let [first, second] = tables;
        if first.draft.is_some() {
            return [first.add_parts(parts), second.add_parts(parts)];
        }
        let start = first.append(parts);
        let hash = hash(&first.bytes[start..]);
        let start_of_second = second.append(parts);
        [first.settle(start, hash), second.settle(start_of_second, hash)]
    }

    /// The offset of `text`, if it is there.
    pub fn get(&self, text: &str) -> Option<u32> {
        let text = text.as_bytes();
        let hash = hash(text);
        let is_same = is_text(&self.bytes, text, hash);
        let indexed = self.index.find(spread(hash), &is_same);
        let found = indexed.or_else(|| self.unindexed.iter().find(|entry| is_same(entry)));
        found.map(|entry| entry.offset)
    }

    /// Makes room for this many bytes and strings to be [added as distinct](Self::add_distinct).
    pub fn reserve_distinct(&mut self, bytes: usize, strings: usize) {
        self.bytes.reserve(bytes);
        self.unindexed.reserve(strings);
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
        self.unindexed.push(Entry { hash, offset });
        offset
    }

    /// Lets the strings that were added as distinct be found.
    fn index_all(&mut self) {
        if self.unindexed.is_empty() {
            return;
        }
        self.index.reserve(self.unindexed.len(), |entry| spread(entry.hash));
        for entry in self.unindexed.drain(..) {
            self.index.insert_unique(spread(entry.hash), entry, |entry| spread(entry.hash));
        }
    }

    /// Puts the parts behind the others, not yet as a string; where they begin.
    fn append(&mut self, parts: &[&str]) -> usize {
        let start = self.bytes.len();
        self.bytes.reserve(parts.iter().map(|part| part.len() + 1).sum());
        for part in parts {
            self.bytes.extend_from_slice(part.as_bytes());
        }
        start
    }

    /// Makes a string of the bytes from `start` on, be it there already or not.
    fn draft(&mut self, start: usize) -> u32 {
        if start == self.bytes.len() {
            return 0;
        }
        self.bytes.push(0);
        self.draft.get_or_insert_default().push(start as u32);
        start as u32
    }

    /// Makes a string of the bytes from `start` on, or takes them back if it is there already.
    fn settle(&mut self, start: usize, hash: u32) -> u32 {
        self.index_all();
        let (old, new) = self.bytes.split_at(start);
        if new.is_empty() {
            return 0;
        }
        match self.index.entry(spread(hash), is_text(old, new, hash), |entry| spread(entry.hash)) {
            hash_table::Entry::Occupied(found) => {
                self.bytes.truncate(start);
                found.get().offset
            }
            hash_table::Entry::Vacant(place) => {
                self.bytes.push(0);
                place.insert(Entry { hash, offset: start as u32 });
                start as u32
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
        let offset = self.bytes.len() as u32;
        self.bytes.extend(text.as_bytes());
        self.bytes.push(0);
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
        assert_eq!(table.add_parts(&[".text", ".f"]), a);
        assert_eq!(table.add(""), 0);
        assert_eq!(table.add_again("f"), 11);
        assert_eq!(table.add("f"), 9);
        assert_eq!(table.as_bytes(), b"\0.text.f\0f\0f\0");
    }

    #[test]
    fn a_drafted_table_becomes_the_same() {
        let mut table = StringTable::default();
        table.add("one");
        table.begin_draft();
        let [two, one, empty, three, again, four] =
            ["two", "one", "", "three", "two", "four"].map(|s| table.add(s));
        let moves = table.end_draft();
        assert_eq!(table.as_bytes(), b"\0one\0two\0three\0four\0");
        assert_eq!([two, one, empty, three, again, four].map(|s| moves.of(s)), [5, 1, 0, 9, 5, 15]);
        assert_eq!([two, one, three, again, four].map(|s| moves.is_new(s)), [true, false, true, false, true]);
        assert_eq!((table.add("four"), table.add("five")), (15, 20));
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
