//! What the link borrows from: mapped files, and bytes that were unpacked or assembled.

use std::mem::{forget, take};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use elsa::sync::FrozenVec;
use memmap2::Mmap;
use solder_link::load::Store;

use crate::os::signals::Mapped;

/// A file in memory.
struct Mapping {
    map: Mmap,
    #[allow(dead_code, reason = "it only has to live")]
    watched: Mapped,
}

/// Owns the inputs. They are added from any thread, do not move, and are freed together.
#[derive(Default)]
pub struct Arena {
    store: Store,
    mapped: FrozenVec<Box<Mapping>>,
    /// Bytes in all mappings.
    mapped_bytes: AtomicUsize,
    large: AtomicBool,
}

impl Arena {
    pub fn new() -> Self {
        Self::default()
    }

    /// What owns bytes that are not a file's.
    pub fn store(&self) -> &Store {
        &self.store
    }

    pub fn map(&self, map: Mmap, watched: Mapped) -> &[u8] {
        self.mapped_bytes.fetch_add(map.len(), Ordering::Relaxed);
        &self.mapped.push_get(Box::new(Mapping { map, watched })).map
    }

    pub fn own(&self, bytes: Vec<u8>) -> &[u8] {
        self.store.own(bytes)
    }

    /// Says that many files are to come.
    pub fn expect_many(&self) {
        self.large.store(true, Ordering::Relaxed);
    }

    /// Whether many files are to come.
    pub fn is_large(&self) -> bool {
        self.large.load(Ordering::Relaxed)
    }
}

impl Drop for Arena {
    /// The inputs of a large link are left to the end of the program, which is near: it unmaps all of them at once.
    fn drop(&mut self) {
        if self.is_large() || *self.mapped_bytes.get_mut() >= solder_link::parse::MANY_BYTES {
            forget((take(&mut self.store), take(&mut self.mapped)));
        }
    }
}
