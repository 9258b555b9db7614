//! What the link borrows from: mapped files, and bytes that were unpacked or assembled. Appended from any thread,
//! never moved, freed together if at all.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use memmap2::{Mmap, MmapOptions};

use crate::os::signals::Mapped;

enum Bytes {
    Mapped(Mmap, #[allow(dead_code, reason = "it only has to live")] Mapped),
    Owned(Vec<u8>),
}

impl Bytes {
    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Mapped(map, _) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}

const FIRST_BUCKET: usize = 64;
const BUCKETS: usize = 26;

/// Room for small things of a large link, side by side in blocks: thousands of allocations less. Blocks are not freed, as
/// the files of a large link are not.
const BLOCK: usize = 512 << 10;

thread_local! {
    /// The rest of this thread's block.
    static REST: Cell<&'static mut [u8]> = const { Cell::new(&mut []) };
}

fn take(size: usize) -> &'static mut [u8] {
    let mut rest = REST.take();
    if rest.len() < size {
        rest = block(BLOCK.max(size));
    }
    let (taken, rest) = rest.split_at_mut(size);
    REST.set(rest);
    taken
}

/// Zeroed memory, its pages asked for at once where the system does that.
fn block(size: usize) -> &'static mut [u8] {
    match MmapOptions::new().len(size).populate().map_anon() {
        Ok(map) => &mut Box::leak(Box::new(map))[..],
        Err(_) => Box::leak(vec![0; size].into_boxed_slice()),
    }
}

/// Slots in buckets that double in size, each bucket made when its first slot is taken.
pub struct Arena {
    buckets: [OnceLock<Box<[OnceLock<Bytes>]>>; BUCKETS],
    next: AtomicUsize,
    /// Bytes in all slots.
    size: AtomicUsize,
    large: AtomicBool,
}

impl Arena {
    pub fn new() -> Self {
        Self {
            buckets: [const { OnceLock::new() }; BUCKETS],
            next: AtomicUsize::new(0),
            size: AtomicUsize::new(0),
            large: AtomicBool::new(false),
        }
    }

    pub fn map(&self, map: Mmap, watched: Mapped) -> &[u8] {
        self.keep(Bytes::Mapped(map, watched))
    }

    pub fn own(&self, bytes: Vec<u8>) -> &[u8] {
        self.keep(Bytes::Owned(bytes))
    }

    /// Says that many files are to come.
    pub fn expect_many(&self) {
        self.large.store(true, Ordering::Relaxed);
    }

    /// Whether many files are to come.
    pub fn is_large(&self) -> bool {
        self.large.load(Ordering::Relaxed)
    }

    /// Zeroed bytes for a small thing, where many are to come.
    pub fn room(&self, size: usize) -> Option<&mut [u8]> {
        (self.is_large() && size <= BLOCK).then(|| take(size))
    }

    /// A copy that stands close to others, where there are many.
    pub fn copy(&self, bytes: &[u8]) -> &[u8] {
        let Some(room) = self.room(bytes.len()) else { return self.own(bytes.to_vec()) };
        room.copy_from_slice(bytes);
        room
    }

    fn keep(&self, bytes: Bytes) -> &[u8] {
        self.size.fetch_add(bytes.as_slice().len(), Ordering::Relaxed);
        let (bucket, slot) = place(self.next.fetch_add(1, Ordering::Relaxed));
        let slots = self.buckets[bucket]
            .get_or_init(|| (0..FIRST_BUCKET << bucket).map(|_| OnceLock::new()).collect());
        slots[slot].get_or_init(|| bytes).as_slice()
    }
}

impl Drop for Arena {
    /// The inputs of a large link are left to the end of the program, which is near: it unmaps all of them at once.
    fn drop(&mut self) {
        if self.is_large() || *self.size.get_mut() >= solder_link::parse::MANY_BYTES {
            std::mem::forget(std::mem::take(&mut self.buckets));
        }
    }
}

impl Default for Arena {
    fn default() -> Self {
        Self::new()
    }
}

/// Bucket and slot of the `index`-th value: bucket `b` holds the 64 << b values from 64 * (2^b - 1) on.
fn place(index: usize) -> (usize, usize) {
    let bucket = (index / FIRST_BUCKET + 1).ilog2() as usize;
    (bucket, index - FIRST_BUCKET * ((1 << bucket) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_one_another() {
        let mut expected = (0, 0);
        for index in 0..5000 {
            if expected.1 == FIRST_BUCKET << expected.0 {
                expected = (expected.0 + 1, 0);
            }
            assert_eq!(place(index), expected);
            expected.1 += 1;
        }
    }

    #[test]
    fn kept_bytes_stay() {
        let arena = Arena::new();
        let kept: Vec<&[u8]> = (0..1000u32).map(|n| arena.own(n.to_le_bytes().to_vec())).collect();
        for (n, bytes) in kept.into_iter().enumerate() {
            assert_eq!(bytes, (n as u32).to_le_bytes());
        }
    }
}
