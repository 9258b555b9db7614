//! Files, read or mapped whole.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use memmap2::{Mmap, MmapOptions};

use super::arena::Arena;
use crate::os::pages;
use crate::os::signals::Mapped;

/// Below this size a read is cheaper than a mapping and its page faults. Above, a mapping saves the copy and, mostly, the
/// new memory that it would need.
const MAP_FROM: u64 = 16 << 10;

/// The same for a file that several links share: each of them makes sure that no mapped file has changed.
const MAP_SHARED_FROM: u64 = 64 << 10;

/// Up to this size a file is read to keep a part of it.
const SMALL: u64 = 64 << 10;

/// A file's bytes and its identity.
#[derive(Debug)]
pub(super) struct Opened<'data> {
    pub data: &'data [u8],
    /// Device and inode: the same file under another name is the same.
    pub identity: (u64, u64),
    /// The file, if the bytes are a mapping of it.
    pub mapped: Option<File>,
}

pub(super) fn read<'data>(path: &Path, arena: &'data Arena) -> io::Result<Opened<'data>> {
    let before = arena.read_before(path);
    if let Some(data) = before {
        let metadata = std::fs::metadata(path)?;
        let identity = (metadata.dev(), metadata.ino());
        return Ok(Opened { data: arena.own(data), identity, mapped: None });
    }
    let mut file = File::open(path)?;
    arena.note(path);
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let identity = (metadata.dev(), metadata.ino());
    let map_from = if arena.is_shared() { MAP_SHARED_FROM } else { MAP_FROM };
    if metadata.is_file() && metadata.len() >= map_from {
        let map = map(&file, metadata.len() as usize)?;
        let watched = Mapped::watch(&map, path, &metadata);
        return Ok(Opened { data: arena.map(map, watched), identity, mapped: Some(file) });
    }
    let mut data = Vec::with_capacity(metadata.len() as usize);
    file.read_to_end(&mut data)?;
    if !metadata.is_file() {
        arena.keep_stream(path, &data);
    }
    Ok(Opened { data: arena.own(data), identity, mapped: None })
}

/// Reads a small file into memory that is used again. `None` if it is another kind of file or cannot be read.
pub(super) fn read_small(path: &Path, into: &mut Vec<u8>) -> Option<()> {
    let mut file = File::open(path).ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > SMALL {
        return None;
    }
    into.resize(metadata.len() as usize, 0);
    file.read_exact(into).ok()
}

#[allow(unsafe_code)]
fn map(file: &File, size: usize) -> io::Result<Mmap> {
    // SAFETY: the mapping is private and read-only. A file that another program cuts short during the link ends the
    // run with a message, and so does one that it writes to; until that is noticed nothing depends on the bytes
    // staying the same but whether the link makes sense, since every access is checked.
    unsafe { MmapOptions::new().len(size).map(file) }
}

/// A file that is looked at and not linked.
#[derive(Debug)]
pub struct Looked<'data> {
    pub data: &'data [u8],
    is_mapped: bool,
}

/// Opens a file to look at it.
pub fn look<'data>(path: &Path, arena: &'data Arena) -> io::Result<Looked<'data>> {
    let Opened { data, mapped, .. } = read(path, arena)?;
    Ok(Looked { data, is_mapped: mapped.is_some() })
}

/// The same with a file that is open.
pub fn look_at<'data>(file: &File, arena: &'data Arena) -> io::Result<Looked<'data>> {
    let metadata = file.metadata()?;
    let map = map(file, metadata.len() as usize)?;
    let watched = Mapped::watch(&map, Path::new("the output"), &metadata);
    Ok(Looked { data: arena.map(map, watched), is_mapped: true })
}

impl<'data> Looked<'data> {
    /// What was read into memory.
    pub fn of_memory(data: &'data [u8]) -> Self {
        Self { data, is_mapped: false }
    }

    /// Where in the file a part of it begins; `None` for bytes from elsewhere.
    fn offset_of(&self, part: &[u8]) -> Option<usize> {
        let offset = (part.as_ptr() as usize).checked_sub(self.data.as_ptr() as usize)?;
        offset.checked_add(part.len()).filter(|end| *end <= self.data.len()).map(|_| offset)
    }

    /// The same bytes, known to be a part of the file; `None` for bytes from elsewhere.
    pub fn part(&self, part: &[u8]) -> Option<&'data [u8]> {
        self.offset_of(part).map(|offset| &self.data[offset..offset + part.len()])
    }

    /// Gives back the whole pages of a part that has been looked at, so that memory does not grow with the file.
    pub fn give_back(&self, part: &[u8]) {
        let Some(offset) = self.offset_of(part).filter(|_| self.is_mapped) else { return };
        // A mapping begins with a page.
        let whole = pages::within(&(offset..offset + part.len()), pages::size());
        if !whole.is_empty() {
            give_back(&self.data[whole]);
        }
    }
}

/// Gives back the pages of a file that was mapped. They are read again if somebody asks for them after all.
#[allow(unsafe_code)]
pub(super) fn give_back(mapped: &[u8]) {
    // SAFETY: the bytes are a mapping of a file, private and read-only: they stay valid, and come from the file again.
    unsafe {
        libc::madvise(mapped.as_ptr().cast_mut().cast(), mapped.len(), libc::MADV_DONTNEED);
    }
}
