//! Writes containers, for tests and tools.

use solder_arch::{Arch, Suffix};
use zerocopy::IntoBytes;

use crate::Error;
use crate::compress::{Compression, Packing};
use crate::flags::Flags;
use crate::group::GroupWriter;
use crate::header::{CONTAINER_MAGIC, CONTAINER_VERSION, ContainerHeader};
use crate::member::{Kind, MemberHeader, OptionsRecord};

const MEMBER_VERSION: u16 = 0x0101;

/// A member to be written.
#[derive(Clone, Debug)]
pub struct NewMember<'a> {
    pub kind: Kind,
    pub arch: Arch,
    pub content: &'a [u8],
    pub compression: Packing,
    /// Version of the content, major and minor.
    pub version: (u16, u16),
    pub identifier: Option<&'a [u8]>,
    pub options: Option<&'a [u8]>,
    /// Set beside the flags that follow from the other fields.
    pub flags: Flags,
}

impl<'a> NewMember<'a> {
    /// A 64-bit member, uncompressed, without identifier, and with the empty options record that the tools give to
    /// PTX and IR.
    pub fn new(kind: Kind, arch: Arch, content: &'a [u8]) -> Self {
        let options = (kind != Kind::Elf).then_some(&b""[..]);
        let flags = Flags::ADDRESS64.with(Flags::LINUX);
        Self {
            kind,
            arch,
            content,
            compression: Packing::None,
            version: (0, 0),
            identifier: None,
            options,
            flags,
        }
    }

    fn flag_word(&self) -> Flags {
        let suffix = match self.arch.suffix {
            Suffix::None => Flags(0),
            Suffix::A => Flags::ARCH_A,
            Suffix::F => Flags::ARCH_F,
        };
        let mercury = self.kind == Kind::Elf && self.arch.is_mercury();
        let mercury = if mercury { Flags::MERCURY } else { Flags(0) };
        self.flags.with(self.compression.compression().flag()).with(suffix).with(mercury)
    }
}

impl NewMember<'_> {
    /// The fixed header, without the sizes of the content, and the strings after it.
    fn header(&self) -> (MemberHeader, Vec<u8>) {
        let mut strings = Vec::new();
        let size = size_of::<MemberHeader>();
        let mut identifier_offset = 0;
        if let Some(identifier) = self.identifier {
            identifier_offset = size;
            strings.extend_from_slice(identifier);
            strings.push(0);
            pad(&mut strings);
        }
        let mut options_offset = 0;
        if let Some(options) = self.options {
            options_offset = size + strings.len();
            let record = OptionsRecord {
                offset: ((options_offset + size_of::<OptionsRecord>()) as u32).into(),
                size: (options.len() as u32).into(),
            };
            strings.extend_from_slice(record.as_bytes());
            strings.extend_from_slice(options);
            strings.push(0);
            pad(&mut strings);
        }
        let fixed = MemberHeader {
            kind: self.kind.to_raw().into(),
            version: MEMBER_VERSION.into(),
            header_size: ((size + strings.len()) as u32).into(),
            payload_size: 0.into(),
            compressed_size: 0.into(),
            options_offset: (options_offset as u32).into(),
            minor: self.version.1.into(),
            major: self.version.0.into(),
            number: u32::from(self.arch.number).into(),
            identifier_offset: (identifier_offset as u32).into(),
            identifier_size: (self.identifier.map_or(0, <[u8]>::len) as u32).into(),
            flags: self.flag_word().0.into(),
            key: 0.into(),
            uncompressed_size: 0.into(),
        };
        (fixed, strings)
    }
}

/// Collects members into one container.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    members: Vec<u8>,
}

impl Builder {
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn member(mut self, member: &NewMember<'_>) -> Self {
        self.push(member);
        self
    }

    pub fn push(&mut self, member: &NewMember<'_>) {
        let (fixed, strings) = member.header();
        let mut payload = member.compression.pack(member.content);
        let compressed = member.compression.compression() != Compression::None;
        let (packed, unpacked) = if compressed { (payload.len(), member.content.len()) } else { (0, 0) };
        pad(&mut payload);
        let fixed = MemberHeader {
            payload_size: (payload.len() as u64).into(),
            compressed_size: (packed as u32).into(),
            uncompressed_size: (unpacked as u64).into(),
            ..fixed
        };
        self.members.extend_from_slice(fixed.as_bytes());
        self.members.extend_from_slice(&strings);
        self.members.extend_from_slice(&payload);
    }

    /// Adds members as a group, whose contents are compressed as one. `flags` are set beside those of every group.
    pub fn push_group(
        &mut self,
        members: &[NewMember<'_>],
        packing: Packing,
        flags: Flags,
    ) -> Result<(), Error> {
        let mut writer = GroupWriter::new(flags);
        for member in members {
            let (fixed, strings) = member.header();
            writer.push(&[fixed.as_bytes(), &strings].concat(), member.content)?;
        }
        self.members.extend(writer.finish(packing)?);
        Ok(())
    }

    /// The container's bytes.
    pub fn finish(&self) -> Vec<u8> {
        let header = ContainerHeader {
            magic: CONTAINER_MAGIC,
            version: CONTAINER_VERSION.into(),
            header_size: (size_of::<ContainerHeader>() as u16).into(),
            size: (self.members.len() as u64).into(),
        };
        [header.as_bytes(), &self.members].concat()
    }
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(8), 0);
}
