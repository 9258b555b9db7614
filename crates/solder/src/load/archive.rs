//! Archives in files: their headers are read without touching the mapping, and thin ones name files.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::arena::Arena;
use super::file;
use super::peek::{self, Headers};
use solder_arch::Release;
use solder_link::load::archive::{self, ArchiveMember};
use solder_link::load::{PARALLEL_FROM, Stopped};
use solder_link::pool::Pool;

/// The members of an archive. With the file that `data` maps, the mapping is hardly touched.
pub(super) fn members<'data>(
    path: &Path,
    data: &'data [u8],
    mapped: Option<&File>,
    arena: &'data Arena,
    release: &Release,
) -> Result<Vec<ArchiveMember<'data>>, Stopped> {
    let name = path.as_os_str().as_bytes();
    let find = |member: &[u8]| thin_member(path, member, arena);
    match mapped {
        None => archive::members(name, data, data, &find, release),
        Some(file) => archive::members(name, data, &Headers::new(file, data, arena), &find, release),
    }
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
fn thin_member<'data>(archive: &Path, name: &[u8], arena: &'data Arena) -> Option<&'data [u8]> {
    let path = Path::new(OsStr::from_bytes(name));
    let beside: PathBuf = archive.parent().map_or_else(|| path.to_owned(), |folder| folder.join(path));
    let plain_name = !name.contains(&b'/');
    let opened = plain_name
        .then(|| file::read(path, arena).ok())
        .flatten()
        .or_else(|| file::read(&beside, arena).ok());
    opened.map(|file| file.data)
}
