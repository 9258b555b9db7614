//! Files, read or mapped whole.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use memmap2::Mmap;

use super::arena::Arena;
use crate::signals::Mapped;

/// Below this size a read is cheaper than a mapping and its page faults. Above, a mapping saves the copy and, mostly, the
/// new memory that it would need.
const MAP_FROM: u64 = 16 << 10;

/// A file's bytes and its identity.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened<'data> {
    pub data: &'data [u8],
    /// Device and inode: the same file under another name is the same.
    pub identity: (u64, u64),
}

pub(super) fn read<'data>(path: &Path, arena: &'data Arena) -> io::Result<Opened<'data>> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let identity = (metadata.dev(), metadata.ino());
    if metadata.is_file() && metadata.len() >= MAP_FROM {
        let map = map(&file)?;
        let watched = Mapped::watch(&map, path, &metadata);
        return Ok(Opened { data: arena.map(map, watched), identity });
    }
    if metadata.is_file()
        && let Some(room) = arena.room(metadata.len() as usize)
    {
        file.read_exact(room)?;
        return Ok(Opened { data: room, identity });
    }
    let mut data = Vec::with_capacity(metadata.len() as usize);
    file.read_to_end(&mut data)?;
    Ok(Opened { data: if data.is_empty() { &[] } else { arena.own(data) }, identity })
}

#[allow(unsafe_code)]
fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the mapping is private and read-only. A file that another program cuts short during the link ends the
    // run with a message, and so does one that it writes to; until that is noticed nothing depends on the bytes
    // staying the same but whether the link makes sense, since every access is checked.
    unsafe { Mmap::map(file) }
}
