//! Archives: every host object in them is linked, in order. The index is not looked at.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::ReadRef;
use object::read::archive::ArchiveFile;
use solder_cubin::elf_header;

use super::arena::Arena;
use super::host::HostObject;
use super::peek::Peek;
use super::{Stopped, file};
use crate::diagnostics::{Message, Text};

/// An ELF in an archive.
#[derive(Debug)]
pub(super) struct ArchiveMember<'data> {
    /// The archive and the member, as messages name it.
    pub name: Text,
    pub data: &'data [u8],
    /// What it holds, if that is known already.
    pub host: Option<HostObject<'data>>,
}

/// The members of an archive up to the first that is no ELF: nvlink does not see what follows. With the file of which
/// `data` is a mapping, less of that is touched.
pub(super) fn members<'data>(
    path: &Path,
    data: &'data [u8],
    mapped: Option<File>,
    arena: &'data Arena,
) -> Result<Vec<ArchiveMember<'data>>, Stopped> {
    let Some(file) = mapped else { return list(path, data, data, |_, _| false, arena) };
    let peek = Peek::new(file, data, arena);
    list(path, data, &peek, |start, size| peek.is_host_code(start, size), arena)
}

fn list<'data, 'read, R: ReadRef<'read>>(
    path: &Path,
    data: &'data [u8],
    headers: R,
    is_host_code: impl Fn(u64, u64) -> bool,
    arena: &'data Arena,
) -> Result<Vec<ArchiveMember<'data>>, Stopped> {
    let bad_format = || vec![Message::ArchiveFormat, Message::InternalError];
    let archive = ArchiveFile::parse(headers).map_err(|_| bad_format())?;
    let mut members = Vec::new();
    for member in archive.members() {
        let member = member.map_err(|_| bad_format())?;
        let (start, size) = member.file_range();
        let data = if member.is_thin() {
            thin_member(path, member.name(), arena)?
        } else {
            data.read_bytes_at(start, size).map_err(|()| bad_format())?
        };
        let host = (!member.is_thin() && is_host_code(start, size)).then(HostObject::default);
        if host.is_none() && elf_header(data).is_none() {
            break;
        }
        let name = [path.as_os_str().as_bytes(), member.name()].join(&b':');
        members.push(ArchiveMember { name: name.into(), data, host });
    }
    Ok(members)
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
