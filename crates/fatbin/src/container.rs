//! The container: the walk over its members.

use zerocopy::FromBytes;

use crate::Error;
use crate::group::GroupMembers;
use crate::header::{CONTAINER_MAGIC, CONTAINER_VERSION, ContainerHeader};
use crate::member::{Member, MemberHeader};

/// What the header of a container or of a member says about its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub header: u64,
    /// Without the header.
    pub content: u64,
}

impl Extent {
    /// Of the container that begins with `data`, of which its header is enough.
    pub fn of_container(data: &[u8]) -> Option<Self> {
        let (header, _) = ContainerHeader::ref_from_prefix(data).ok()?;
        Some(Self { header: header.header_size.get().into(), content: header.size.get() })
    }

    /// Of the member that begins with `data`, of which the fixed part of its header is enough. `None` if the header is
    /// said to be shorter than that.
    pub fn of_member(data: &[u8]) -> Option<Self> {
        let (header, _) = MemberHeader::ref_from_prefix(data).ok()?;
        let (size, content) = (header.header_size.get(), header.payload_size.get());
        (size as usize >= size_of::<MemberHeader>()).then_some(Self { header: size.into(), content })
    }
}

/// One container, borrowed from the bytes it was found in.
#[derive(Clone, Copy, Debug)]
pub struct Container<'data> {
    whole: &'data [u8],
    members: &'data [u8],
}

impl<'data> Container<'data> {
    /// Whether `data` begins like a container.
    pub fn matches(data: &[u8]) -> bool {
        data.starts_with(&CONTAINER_MAGIC)
    }

    /// Reads the container that `data` begins with. What follows it is not looked at: see [`Container::size`].
    pub fn parse(data: &'data [u8]) -> Result<Self, Error> {
        if !Self::matches(data) {
            return Err(Error::NotAContainer);
        }
        let (header, _) = ContainerHeader::ref_from_prefix(data).map_err(|_| Error::TruncatedContainer)?;
        if header.version.get() != CONTAINER_VERSION {
            return Err(Error::Version(header.version.get()));
        }
        let start = usize::from(header.header_size.get());
        if start < size_of::<ContainerHeader>() {
            return Err(Error::ContainerHeader);
        }
        let end = usize::try_from(header.size.get()).ok().and_then(|size| start.checked_add(size));
        let whole = end.and_then(|end| data.get(..end)).ok_or(Error::TruncatedContainer)?;
        Ok(Self { whole, members: &whole[start..] })
    }

    /// The bytes of the container, header and members.
    pub fn bytes(&self) -> &'data [u8] {
        self.whole
    }

    /// The header for members of another length together.
    pub fn header_for(&self, size: u64) -> Vec<u8> {
        let mut header = self.whole[..self.whole.len() - self.members.len()].to_vec();
        header[8..16].copy_from_slice(&size.to_le_bytes());
        header
    }

    /// Length of the container, header and members.
    pub fn size(&self) -> usize {
        self.whole.len()
    }

    /// The members in file order, those of groups in the place of their group. The walk ends after the first error, since
    /// nothing then says where the next member begins.
    pub fn members(&self) -> Members<'data> {
        Members { rest: self.members, group: None, looks_into_groups: true }
    }

    /// The same without a look into groups: a group is a member of an unknown kind, unless it is asked for its
    /// [group](Member::group).
    pub fn entries(&self) -> Members<'data> {
        Members { looks_into_groups: false, ..self.members() }
    }
}

/// See [`Container::members`].
#[derive(Clone, Debug)]
pub struct Members<'data> {
    rest: &'data [u8],
    group: Option<GroupMembers<'data>>,
    looks_into_groups: bool,
}

impl<'data> Members<'data> {
    fn entry(&mut self) -> Option<Result<Member<'data>, Error>> {
        if self.rest.is_empty() {
            return None;
        }
        Some(Member::parse(self.rest).map(|(member, rest)| {
            self.rest = rest;
            member
        }))
    }
}

impl<'data> Iterator for Members<'data> {
    type Item = Result<Member<'data>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let grouped = self.group.as_mut().and_then(Iterator::next);
            let next = match grouped {
                Some(member) => member,
                None => self.entry()?,
            };
            let group = match &next {
                Ok(member) if self.looks_into_groups => member.group().transpose(),
                _ => Ok(None),
            };
            match (next, group) {
                (_, Ok(Some(group))) => self.group = Some(group.members()),
                (Ok(member), Ok(None)) => return Some(Ok(member)),
                (Err(error), _) | (_, Err(error)) => {
                    (self.rest, self.group) = (&[], None);
                    return Some(Err(error));
                }
            }
        }
    }
}
