//! Archives: every host object in them is linked, in order. The index is not looked at.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::ReadRef;
use object::read::archive::ArchiveFile;
use solder_cubin::elf_header;

use super::arena::Arena;
use super::file;
use super::peek::{self, Begins, HEAD, Headers};
use super::said::{PARALLEL_FROM, Stopped};
use crate::diagnostics::{Message, Text};
use solder_link::pool::Pool;

/// An ELF in an archive.
#[derive(Debug)]
pub(super) struct ArchiveMember<'data> {
    /// The archive and the member, as messages name it.
    pub name: Text,
    pub data: &'data [u8],
    /// The ELF header.
    pub head: [u8; HEAD],
    /// Where the archive has it; a thin one does not.
    start: Option<u64>,
    /// Nothing in it concerns the device. Not known of all of which it is true.
    pub is_host_code: bool,
}

/// The members of an archive up to the first that is no ELF: nvlink does not see what follows. With the file of which
/// `data` is a mapping, that is hardly touched.
pub(super) fn members<'data>(
    path: &Path,
    data: &'data [u8],
    mapped: Option<&File>,
    arena: &'data Arena,
) -> Result<Vec<ArchiveMember<'data>>, Stopped> {
    match mapped {
        None => list(path, data, data, arena),
        Some(file) => list(path, data, &Headers::new(file, data, arena), arena),
    }
}

fn list<'data, 'read, R: ReadRef<'read> + Begins>(
    path: &Path,
    data: &'data [u8],
    headers: R,
    arena: &'data Arena,
) -> Result<Vec<ArchiveMember<'data>>, Stopped> {
    let bad_format = || vec![Message::ArchiveFormat, Message::InternalError];
    let archive = ArchiveFile::parse(headers).map_err(|_| bad_format())?;
    let mut members = Vec::new();
    for member in archive.members() {
        let member = member.map_err(|_| bad_format())?;
        let (start, size) = member.file_range();
        let (data, head) = if member.is_thin() {
            let data = thin_member(path, member.name(), arena)?;
            (data, data.head(0, data.len() as u64))
        } else {
            (data.read_bytes_at(start, size).map_err(|()| bad_format())?, headers.head(start, size))
        };
        let Some(head) = head.filter(|head| elf_header(head).is_some()) else { break };
        let name = [path.as_os_str().as_bytes(), member.name()].join(&b':');
        let start = (!member.is_thin()).then_some(start);
        members.push(ArchiveMember { name: name.into(), data, head, start, is_host_code: false });
    }
    Ok(members)
}

/// After so many members that turned out to be of use, or could not be told, all others are looked at in full.
const PATIENCE: usize = 16;
/// Members that are looked at in between.
const AT_A_TIME: usize = 1024;

/// Finds the members of an archive that are nothing but host code, if there are many.
pub(super) fn find_host_code(members: &mut [ArchiveMember<'_>], file: &File, pool: &Pool) {
    let (mut patience, mut count, mut rest) = (PATIENCE, PATIENCE, members);
    while patience > 0 && !rest.is_empty() {
        let (some, behind) = rest.split_at_mut(count.min(rest.len()));
        let is_host_code = |member: &ArchiveMember<'_>| {
            let size = member.data.len() as u64;
            member.start.is_some_and(|start| peek::is_host_code(file, &member.head, start, size))
        };
        let found = pool.map(some, some.len() >= PARALLEL_FROM, is_host_code);
        patience = patience.saturating_sub(found.iter().filter(|found| !**found).count());
        some.iter_mut().zip(found).for_each(|(member, found)| member.is_host_code = found);
        (count, rest) = (AT_A_TIME, behind);
    }
}

/// A thin archive only names its members. nvlink looks for them in the working directory; that they lie beside the
/// archive, as other tools have it, is tried next.
fn thin_member<'data>(archive: &Path, name: &[u8], arena: &'data Arena) -> Result<&'data [u8], Stopped> {
    let path = Path::new(OsStr::from_bytes(name));
    let beside: PathBuf = archive.parent().map_or_else(|| path.to_owned(), |folder| folder.join(path));
    let plain_name = !name.contains(&b'/');
    let opened = plain_name
        .then(|| file::read(path, arena).ok())
        .flatten()
        .or_else(|| file::read(&beside, arena).ok());
    match opened {
        Some(file) => Ok(file.data),
        None => Err(vec![Message::InputNotOpened { file: name.into() }, Message::InternalError]),
    }
}
