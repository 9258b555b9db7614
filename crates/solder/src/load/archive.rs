//! Archives: every host object in them is linked, in order. The index is not looked at.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::read::archive::ArchiveFile;
use solder_cubin::elf_header;

use super::arena::Arena;
use super::{Stopped, file};
use crate::diagnostics::{Message, Text};

/// An ELF in an archive.
#[derive(Debug)]
pub(super) struct ArchiveMember<'data> {
    /// The archive and the member, as messages name it.
    pub name: Text,
    pub data: &'data [u8],
}

/// The members of an archive up to the first that is no ELF: nvlink does not see what follows.
pub(super) fn members<'data>(
    path: &Path,
    data: &'data [u8],
    arena: &'data Arena,
) -> Result<Vec<ArchiveMember<'data>>, Stopped> {
    let bad_format = || vec![Message::ArchiveFormat, Message::InternalError];
    let archive = ArchiveFile::parse(data).map_err(|_| bad_format())?;
    let mut members = Vec::new();
    for member in archive.members() {
        let member = member.map_err(|_| bad_format())?;
        let data = if member.is_thin() {
            thin_member(path, member.name(), arena)?
        } else {
            member.data(data).map_err(|_| bad_format())?
        };
        if elf_header(data).is_none() {
            break;
        }
        let name = [path.as_os_str().as_bytes(), member.name()].join(&b':');
        members.push(ArchiveMember { name: name.into(), data });
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
