//! Archives: every host object in them is linked, in order. The index is not looked at.

use object::ReadRef;
use object::read::archive::ArchiveFile;
use solder_arch::Release;
use solder_cubin::elf_header;

use super::said::Stopped;
use crate::diagnostics::{Message, Text};

/// The length of an ELF header.
pub const HEAD: usize = 64;

/// What an archive begins with.
const MAGIC_SIZE: u64 = 8;

/// What each member begins with.
const HEAD_SIZE: u64 = 60;

/// An ELF in an archive.
#[derive(Clone, Debug)]
pub struct ArchiveMember<'data> {
    /// The archive and the member, as messages name it.
    pub name: Text,
    /// Its bytes.
    pub data: &'data [u8],
    /// The ELF header.
    pub head: [u8; HEAD],
    /// Where the archive has it; a thin one does not.
    pub start: Option<u64>,
    /// Nothing in it concerns the device. Only a caller that looked says so.
    pub is_host_code: bool,
}

/// What can tell how a member begins.
pub trait Begins {
    /// The first bytes of a member, if there are so many.
    fn head(&self, start: u64, size: u64) -> Option<[u8; HEAD]>;
}

impl Begins for &[u8] {
    fn head(&self, start: u64, size: u64) -> Option<[u8; HEAD]> {
        self.read_bytes_at(start, size).ok()?.first_chunk().copied()
    }
}

/// Finds a member that a thin archive names.
pub type FindMember<'a, 'data> = &'a dyn Fn(&[u8]) -> Option<&'data [u8]>;

/// The members of an archive up to the first that is not an ELF: nvlink does not see what follows. `headers` is the archive
/// too, for a caller that can read parts of a mapped file without touching the mapping.
pub fn members<'data, 'read, R: ReadRef<'read> + Begins>(
    name: &[u8],
    data: &'data [u8],
    headers: R,
    find: FindMember<'_, 'data>,
    release: &Release,
) -> Result<Vec<ArchiveMember<'data>>, Stopped> {
    let bad_format = || vec![Message::ArchiveFormat, Message::InternalError];
    // What is too short for the head of a member.
    let bad_head = |end: u64| {
        let is_short = (data.len() as u64).saturating_sub(end) < HEAD_SIZE;
        if is_short && !release.names_short_heads() {
            vec![Message::MemoryAllocation, Message::InternalError]
        } else {
            bad_format()
        }
    };
    let mut end = MAGIC_SIZE;
    let archive = ArchiveFile::parse(headers).map_err(|_| bad_head(end))?;
    let mut members = Vec::new();
    for member in archive.members() {
        let member = member.map_err(|_| bad_head(end))?;
        let (start, size) = member.file_range();
        end = start.saturating_add(size);
        let (data, head) = if member.is_thin() {
            let file = member.name().into();
            let not_opened = || vec![Message::InputNotOpened { file }, Message::InternalError];
            let data = find(member.name()).ok_or_else(not_opened)?;
            (data, data.head(0, data.len() as u64))
        } else {
            (data.read_bytes_at(start, size).map_err(|()| bad_format())?, headers.head(start, size))
        };
        let Some(head) = head.filter(|head| elf_header(head).is_some()) else { break };
        let name = [name, member.name()].join(&b':');
        let start = (!member.is_thin()).then_some(start);
        members.push(ArchiveMember { name: name.into(), data, head, start, is_host_code: false });
    }
    Ok(members)
}
