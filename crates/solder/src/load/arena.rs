//! What the link borrows from: mapped files, and bytes that were unpacked or assembled.

use std::mem::{forget, take};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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

/// Pipes and devices that were read, by name. They give their bytes only once.
#[derive(Default)]
pub struct Streams(Mutex<Vec<(PathBuf, Vec<u8>)>>);

impl Streams {
    fn add(&self, path: &Path, bytes: &[u8]) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((path.to_owned(), bytes.to_vec()));
    }

    fn take(&self, path: &Path) -> Option<Vec<u8>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().position(|(of, _)| of == path)?;
        Some(all.remove(at).1)
    }

    fn copy(&self, path: &Path) -> Option<Vec<u8>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().find(|(of, _)| of == path).map(|(_, bytes)| bytes.clone())
    }
}

/// The files that were opened, for `--dependency-file`.
#[derive(Default)]
pub struct FilesRead(Mutex<Vec<PathBuf>>);

impl FilesRead {
    fn add(&self, path: &Path) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
    }

    fn all(&self) -> Vec<PathBuf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All of them, in any order; a file may be among them more than once.
    pub fn take(&self) -> Vec<PathBuf> {
        take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Owns the inputs. They are added from any thread, do not move, and are freed together.
#[derive(Default)]
pub struct Arena {
    store: Store,
    mapped: FrozenVec<Box<Mapping>>,
    /// Bytes in all mappings.
    mapped_bytes: AtomicUsize,
    large: AtomicBool,
    /// What earlier loading read of streams, for loading again.
    read_before: Streams,
    /// What this loading read.
    read: Streams,
    files: Option<Arc<FilesRead>>,
    is_shared: bool,
}

impl Arena {
    pub fn new(read_before: Streams) -> Self {
        Self {
            store: Store::default(),
            mapped: FrozenVec::default(),
            mapped_bytes: AtomicUsize::default(),
            large: AtomicBool::default(),
            read_before,
            read: Streams::default(),
            files: None,
            is_shared: false,
        }
    }

    /// One for inputs that several links share. What a pipe gives is kept for all of them, and so are the names of files.
    pub fn shared() -> Self {
        let mut arena = Self::new(Streams::default()).noting(Some(Arc::default()));
        arena.is_shared = true;
        arena
    }

    /// Has every file noted that is opened.
    #[must_use]
    pub fn noting(mut self, files: Option<Arc<FilesRead>>) -> Self {
        self.files = files;
        self
    }

    /// Notes a file, if somebody is going to ask.
    pub fn note(&self, path: &Path) {
        if let Some(files) = &self.files {
            files.add(path);
        }
    }

    pub fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Notes the files that another arena noted.
    pub fn note_all(&self, other: &Self) {
        if let (Some(files), Some(others)) = (&self.files, &other.files) {
            others.all().iter().for_each(|path| files.add(path));
        }
    }

    /// What a pipe or a device gave when inputs were loaded before.
    pub fn read_before(&self, path: &Path) -> Option<Vec<u8>> {
        if self.is_shared { self.read.copy(path) } else { self.read_before.take(path) }
    }

    /// Keeps what a pipe or a device gave, since the inputs may be loaded again.
    pub fn keep_stream(&self, path: &Path, bytes: &[u8]) {
        self.read.add(path, bytes);
    }

    /// What loading again needs.
    pub fn take_streams(&self) -> Streams {
        let read = take(&mut *self.read.0.lock().unwrap_or_else(PoisonError::into_inner));
        Streams(Mutex::new(read))
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
        if self.is_shared || self.is_large() || *self.mapped_bytes.get_mut() >= solder_link::parse::MANY_BYTES
        {
            forget((take(&mut self.store), take(&mut self.mapped)));
        }
    }
}
