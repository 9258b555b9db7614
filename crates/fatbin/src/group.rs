//! Groups: entries of a container that hold several members, whose contents are compressed as one. CUDA 13.4 writes them
//! (`fatbinary --concat`).
//!
//! ```text
//! header    64 bytes, as that of a member, of kind 0x100 and for architecture 0
//! list      how many members there are, and the length of the list
//!           64 bytes, the identifier and the options record for each: the size of the header is where the content
//!           begins in the unpacked stream, that of the payload its length
//! payload   the contents, one after the other, compressed
//! ```

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::Error;
use crate::compress::{Compression, Packing};
use crate::flags::Flags;
use crate::member::{Kind, Member, MemberHeader};
use crate::part::{Part, Stream};

/// The kind of an entry that is a group.
pub(crate) const GROUP: u16 = 0x100;

const VERSION: u16 = 0x0101;
/// Of the form, minor and major.
const FORM: (u16, u16) = (1, 0);

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct List {
    count: U32,
    /// This record included.
    size: U32,
}

/// A group of members, borrowed from its container.
#[derive(Clone, Copy, Debug)]
pub struct Group<'data> {
    entry: Member<'data>,
    count: u32,
    /// The headers of the members.
    headers: &'data [u8],
}

impl<'data> Member<'data> {
    /// The group that this entry of a container is, if it is one. A group has no groups.
    pub fn group(&self) -> Option<Result<Group<'data>, Error>> {
        let is_group = self.kind() == Kind::Other(GROUP) && !self.is_grouped();
        is_group.then(|| Group::parse(*self))
    }
}

impl<'data> Group<'data> {
    fn parse(entry: Member<'data>) -> Result<Self, Error> {
        let list = entry.header_at(entry.list_offset()).ok_or(Error::MemberStrings)?;
        let (head, _) = List::ref_from_prefix(list).map_err(|_| Error::MemberStrings)?;
        let headers = list.get(size_of::<List>()..head.size.get() as usize).ok_or(Error::MemberStrings)?;
        let count = head.count.get();
        // Each has a header.
        if headers.len() / size_of::<MemberHeader>() < count as usize {
            return Err(Error::MemberHeader);
        }
        Ok(Self { entry, count, headers })
    }

    /// The members. Each unpacks the whole group when it is asked for its content.
    pub fn members(&self) -> GroupMembers<'data> {
        self.walk(None)
    }

    /// The members, which unpack the group no more than once.
    pub fn members_in<'kept>(&self, stream: &'kept Stream) -> GroupMembers<'kept>
    where
        'data: 'kept,
    {
        self.walk(Some(stream))
    }

    fn walk<'kept>(&self, stream: Option<&'kept Stream>) -> GroupMembers<'kept>
    where
        'data: 'kept,
    {
        let part = self.entry.packed().map(|packed| {
            let (compression, packed) = match packed {
                Some(packed) => packed,
                None => (Compression::None, self.entry.payload()),
            };
            let (whole, unpacked_size) = (self.entry.bytes(), self.entry.unpacked_size());
            Part { whole, compression, packed, unpacked_size, stream }
        });
        GroupMembers { left: self.count, rest: self.headers, part }
    }

    /// Some of its members as a group, with these flags and contents.
    pub fn rebuilt(
        &self,
        members: &[(Member<'_>, Flags, &[u8])],
        packing: Packing,
    ) -> Result<Vec<u8>, Error> {
        let has_debug = members.iter().any(|(_, flags, _)| flags.contains(Flags::DEBUG));
        let debug = if has_debug { self.entry.flags().0 & Flags::DEBUG.0 } else { 0 };
        let mut writer = GroupWriter::new(Flags(debug));
        for (member, flags, content) in members {
            writer.push(&member.header_in_group(*flags)?, content)?;
        }
        writer.finish(packing)
    }
}

/// See [`Group::members`].
#[derive(Clone, Debug)]
pub struct GroupMembers<'data> {
    left: u32,
    rest: &'data [u8],
    part: Result<Part<'data>, Error>,
}

impl<'data> Iterator for GroupMembers<'data> {
    type Item = Result<Member<'data>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let parsed = self.part.and_then(|part| Member::parse_grouped(self.rest, part));
        match parsed {
            Ok((member, rest)) => {
                self.rest = rest;
                Some(Ok(member))
            }
            Err(error) => {
                self.left = 0;
                Some(Err(error))
            }
        }
    }
}

/// Collects the members of a group.
pub(crate) struct GroupWriter {
    flags: Flags,
    count: u32,
    headers: Vec<u8>,
    contents: Vec<u8>,
}

impl GroupWriter {
    /// `flags` are set beside those that every group has.
    pub fn new(flags: Flags) -> Self {
        let flags = Flags::ADDRESS64.with(Flags::LINUX).with(flags);
        Self { flags, count: 0, headers: Vec::new(), contents: Vec::new() }
    }

    /// Adds a member: its fixed header, whose sizes are filled in, and strings.
    pub fn push(&mut self, header: &[u8], content: &[u8]) -> Result<(), Error> {
        let (fixed, strings) = MemberHeader::ref_from_prefix(header).map_err(|_| Error::MemberHeader)?;
        let offset = u32::try_from(self.contents.len()).map_err(|_| Error::TooLarge)?;
        self.contents.extend_from_slice(content);
        self.contents.resize(self.contents.len().next_multiple_of(8), 0);
        let fixed = MemberHeader {
            header_size: offset.into(),
            payload_size: (self.contents.len() as u64 - u64::from(offset)).into(),
            compressed_size: 0.into(),
            flags: (fixed.flags.get() & !Flags::COMPRESSION.0).into(),
            uncompressed_size: 0.into(),
            ..*fixed
        };
        self.headers.extend_from_slice(fixed.as_bytes());
        self.headers.extend_from_slice(strings);
        self.count += 1;
        Ok(())
    }

    /// The entry, header and payload.
    pub fn finish(self, packing: Packing) -> Result<Vec<u8>, Error> {
        let size = size_of::<List>() + self.headers.len();
        let list =
            List { count: self.count.into(), size: u32::try_from(size).map_err(|_| Error::TooLarge)?.into() };
        let header_size = u32::try_from(size_of::<MemberHeader>() + size).map_err(|_| Error::TooLarge)?;
        let mut payload = packing.pack(&self.contents);
        let packed = u32::try_from(payload.len()).map_err(|_| Error::TooLarge)?;
        payload.resize(payload.len().next_multiple_of(8), 0);
        let fixed = MemberHeader {
            kind: GROUP.into(),
            version: VERSION.into(),
            header_size: header_size.into(),
            payload_size: (payload.len() as u64).into(),
            compressed_size: packed.into(),
            options_offset: (size_of::<MemberHeader>() as u32).into(),
            minor: FORM.0.into(),
            major: FORM.1.into(),
            number: 0.into(),
            identifier_offset: 0.into(),
            identifier_size: 0.into(),
            flags: self.flags.with(packing.compression().flag()).0.into(),
            key: 0.into(),
            uncompressed_size: (self.contents.len() as u64).into(),
        };
        Ok([fixed.as_bytes(), list.as_bytes(), &self.headers, &payload].concat())
    }
}
