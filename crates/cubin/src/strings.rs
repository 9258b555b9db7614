//! The string tables of an output: insertion order, each whole string once.

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;
use std::ops::Range;

/// A string table under construction. Offset 0 is the empty string.
#[derive(Clone, Debug)]
pub struct StringTable {
    bytes: Vec<u8>,
    index: HashTable<u32>,
    state: FixedState,
}

impl Default for StringTable {
    fn default() -> Self {
        Self { bytes: vec![0], index: HashTable::new(), state: FixedState::with_seed(0) }
    }
}

fn at(bytes: &[u8], offset: u32) -> &[u8] {
    let tail = &bytes[offset as usize..];
    &tail[..tail.iter().position(|&b| b == 0).unwrap_or(tail.len())]
}

impl StringTable {
    /// The offset of `text`, which is added unless it is there already.
    pub fn add(&mut self, text: &str) -> u32 {
        self.add_parts(&[text])
    }

    /// Like [`add`](Self::add) for the concatenation of `parts`, without building it first.
    pub fn add_parts(&mut self, parts: &[&str]) -> u32 {
        let start = self.bytes.len();
        for part in parts {
            self.bytes.extend(part.as_bytes());
        }
        if self.bytes.len() == start {
            return 0;
        }
        let hash = self.state.hash_one(&self.bytes[start..]);
        let (old, new) = self.bytes.split_at(start);
        if let Some(&found) = self.index.find(hash, |&offset| {
            let end = offset as usize + new.len();
            old.get(offset as usize..end) == Some(new) && old[end] == 0
        }) {
            self.bytes.truncate(start);
            return found;
        }
        self.bytes.push(0);
        let (bytes, state) = (&self.bytes, &self.state);
        self.index.insert_unique(hash, start as u32, |&offset| state.hash_one(at(bytes, offset)));
        start as u32
    }

    /// The offset of `text`, if it is there.
    pub fn get(&self, text: &str) -> Option<u32> {
        let hash = self.state.hash_one(text.as_bytes());
        self.index.find(hash, |&offset| at(&self.bytes, offset) == text.as_bytes()).copied()
    }

    /// The string at an offset.
    pub fn at(&self, offset: u32) -> &str {
        std::str::from_utf8(at(&self.bytes, offset)).unwrap_or_default()
    }

    /// Takes `text` out and returns where it stood. What follows moves up.
    pub fn remove(&mut self, text: &str) -> Option<Range<u32>> {
        let start = self.get(text)?;
        let end = start + text.len() as u32 + 1;
        self.bytes.drain(start as usize..end as usize);
        let Self { bytes, index, state } = self;
        let mut offsets: Vec<u32> = index.drain().filter(|&offset| offset != start).collect();
        for offset in &mut offsets {
            if *offset > start {
                *offset -= end - start;
            }
        }
        for offset in offsets {
            let hash = |&offset: &u32| state.hash_one(at(bytes, offset));
            index.insert_unique(hash(&offset), offset, hash);
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
    use super::StringTable;

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
