//! A file in the making: parts of the input as they are, parts that are new, and small changes.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;

#[derive(Clone, Debug, Default)]
pub(super) struct Pieces<'data> {
    parts: Vec<Cow<'data, [u8]>>,
    size: u64,
    /// What replaces bytes of the parts: where, and the new bytes.
    changes: Vec<(u64, Vec<u8>)>,
}

impl<'data> Pieces<'data> {
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn push(&mut self, part: impl Into<Cow<'data, [u8]>>) {
        let part = part.into();
        self.size += part.len() as u64;
        if !part.is_empty() {
            self.parts.push(part);
        }
    }

    pub(super) fn zeros(&mut self, count: u64) {
        self.push(vec![0; count as usize]);
    }

    /// How many bytes it has in common with others before the first difference.
    pub(super) fn common_start(&self, bytes: &[u8]) -> u64 {
        let mut at = 0;
        for part in &self.parts {
            let rest = &bytes[at.min(bytes.len())..];
            // Most parts are parts of the same file, in the same place.
            let is_itself = part.as_ptr() == rest.as_ptr() && part.len() <= rest.len();
            let same = if is_itself {
                part.len()
            } else {
                part.iter().zip(rest).take_while(|(a, b)| a == b).count()
            };
            at += same;
            if same < part.len() {
                break;
            }
        }
        at as u64
    }

    /// Appends another file, with its changes.
    pub(super) fn append(&mut self, other: Self) {
        let start = self.size;
        self.changes.extend(other.changes.into_iter().map(|(at, bytes)| (start + at, bytes)));
        self.parts.extend(other.parts);
        self.size += other.size;
    }

    pub(super) fn change(&mut self, at: u64, bytes: &[u8]) {
        self.changes.push((at, bytes.to_vec()));
    }

    pub(super) fn write(&self, file: &File) -> io::Result<()> {
        // Large parts go past the buffer.
        let mut writer = BufWriter::with_capacity(1 << 18, file);
        for part in &self.parts {
            writer.write_all(part)?;
        }
        writer.flush()?;
        for (at, bytes) in &self.changes {
            file.write_all_at(bytes, *at)?;
        }
        Ok(())
    }

    /// Whether these are the bytes.
    pub(super) fn are(&self, bytes: &[u8]) -> bool {
        if bytes.len() as u64 != self.size {
            return false;
        }
        let mut at = 0;
        let mut changes = self.sorted_changes().into_iter().peekable();
        for part in &self.parts {
            let end = at + part.len();
            let mut from = at;
            // A change lies in one part, except in tables, which may reach over several.
            while let Some((start, stop)) = changes.peek().copied() {
                let (start, stop) = (start.max(from).min(end), stop.min(end));
                if bytes[from..start] != part[from - at..start - at] {
                    return false;
                }
                from = stop.max(start);
                if from == end {
                    break;
                }
                changes.next();
            }
            if bytes[from..end] != part[from - at..] {
                return false;
            }
            at = end;
        }
        let changed = |(at, new): &(u64, Vec<u8>)| bytes[*at as usize..].starts_with(new);
        self.changes.iter().all(changed)
    }

    /// The ranges that are changed, those that touch one another as one.
    fn sorted_changes(&self) -> Vec<(usize, usize)> {
        let range = |(at, bytes): &(u64, Vec<u8>)| (*at as usize, *at as usize + bytes.len());
        let mut ranges: Vec<(usize, usize)> = self.changes.iter().map(range).collect();
        ranges.sort_unstable();
        ranges.dedup_by(|next, before| {
            let touches = next.0 <= before.1;
            if touches {
                before.1 = before.1.max(next.1);
            }
            touches
        });
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_recognized() {
        let mut pieces = Pieces::default();
        pieces.push(&b"some "[..]);
        pieces.push(b"text".to_vec());
        pieces.change(3, b"EXT");
        pieces.change(6, b"!");
        assert!(pieces.are(b"somEXT!xt"));
        for wrong in [&b"somEXT!xT"[..], b"somEXText", b"somE T!xt", b"xomEXT!xt", b"somEXT!x"] {
            assert!(!pieces.are(wrong), "{wrong:?}");
        }
    }
}
