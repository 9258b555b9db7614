//! A member: the fixed header, the strings after it and the payload.

use std::borrow::Cow;
use std::ops::Range;

use solder_arch::{Arch, CompatRecord, Suffix};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::Error;
use crate::compat;
use crate::compress::{self, Compression, Packing};
use crate::flags::Flags;
use crate::header::container_header;
use crate::part::Part;

/// What a member holds. Other values are reserved; no tool writes them and the linker passes them over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// PTX text, comments removed, ended by a NUL.
    Ptx,
    /// A device ELF, from sm_100 on in Mercury form.
    Elf,
    /// IR for link-time optimization.
    LtoIr,
    Other(u16),
}

impl Kind {
    pub const fn from_raw(raw: u16) -> Self {
        match raw {
            1 => Self::Ptx,
            2 => Self::Elf,
            8 => Self::LtoIr,
            other => Self::Other(other),
        }
    }

    pub const fn to_raw(self) -> u16 {
        match self {
            Self::Ptx => 1,
            Self::Elf => 2,
            Self::LtoIr => 8,
            Self::Other(raw) => raw,
        }
    }
}

#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct MemberHeader {
    pub kind: U16,
    pub version: U16,
    /// Where the payload begins, from the start of the member.
    pub header_size: U32,
    /// Padded to a multiple of eight.
    pub payload_size: U64,
    /// Exact length of the compressed data, 0 when not compressed.
    pub compressed_size: U32,
    /// Of the options record, from the start of the member; 0 when there is none.
    pub options_offset: U32,
    pub minor: U16,
    pub major: U16,
    pub number: U32,
    pub identifier_offset: U32,
    /// Without the NUL.
    pub identifier_size: U32,
    pub flags: U64,
    pub key: U64,
    /// 0 when not compressed.
    pub uncompressed_size: U64,
}

/// The options record points to the options, which follow it directly.
#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct OptionsRecord {
    /// From the start of the member.
    pub offset: U32,
    /// Without the NUL.
    pub size: U32,
}

/// One member of a container, borrowed from it.
#[derive(Clone, Copy, Debug)]
pub struct Member<'data> {
    fixed: &'data MemberHeader,
    /// The whole header: the fixed part and the strings.
    header: &'data [u8],
    payload: &'data [u8],
    /// The header and the payload.
    whole: &'data [u8],
    /// Where the content is, of a member of a group: it has no payload of its own.
    part: Option<Part<'data>>,
}

impl<'data> Member<'data> {
    /// Reads the member at the start of `data`; also returns what follows it.
    pub fn parse(data: &'data [u8]) -> Result<(Self, &'data [u8]), Error> {
        let (fixed, _) = MemberHeader::ref_from_prefix(data).map_err(|_| Error::MemberHeader)?;
        let header_size = fixed.header_size.get() as usize;
        if header_size < size_of::<MemberHeader>() {
            return Err(Error::MemberHeader);
        }
        let (header, rest) = data.split_at_checked(header_size).ok_or(Error::MemberHeader)?;
        let size = usize::try_from(fixed.payload_size.get()).map_err(|_| Error::TruncatedPayload)?;
        let (payload, rest) = rest.split_at_checked(size).ok_or(Error::TruncatedPayload)?;
        let whole = &data[..header_size + size];
        Ok((Self { fixed, header, payload, whole, part: None }, rest))
    }

    /// Reads the header at the start of `data`, of a member of a group; also returns what follows it.
    pub(crate) fn parse_grouped(data: &'data [u8], part: Part<'data>) -> Result<(Self, &'data [u8]), Error> {
        let (fixed, _) = MemberHeader::ref_from_prefix(data).map_err(|_| Error::MemberHeader)?;
        let mut member = Self { fixed, header: data, payload: &[], whole: data, part: Some(part) };
        let (header, rest) = data.split_at_checked(member.strings_end()?).ok_or(Error::MemberHeader)?;
        (member.header, member.whole) = (header, header);
        Ok((member, rest))
    }

    /// Where the strings end that follow the fixed header. Nothing says it where that is not the size of the header.
    fn strings_end(&self) -> Result<usize, Error> {
        let start = self.header.as_ptr() as usize;
        let end = |text: &[u8]| text.as_ptr() as usize + text.len() - start;
        let texts = [self.identifier()?, self.options()?];
        let ends = texts.into_iter().flatten().map(|text| (end(text) + 1).next_multiple_of(8));
        Ok(ends.max().unwrap_or(0).max(size_of::<MemberHeader>()))
    }

    /// Whether the member's content is packed together with that of others.
    pub fn is_grouped(&self) -> bool {
        self.part.is_some()
    }

    /// Where in the header the list of a group is.
    pub(crate) fn list_offset(&self) -> usize {
        self.fixed.options_offset.get() as usize
    }

    pub(crate) fn header_at(&self, offset: usize) -> Option<&'data [u8]> {
        self.header.get(offset.max(size_of::<MemberHeader>())..)
    }

    /// The fixed header, with other flags, and the strings.
    pub(crate) fn header_in_group(&self, flags: Flags) -> Result<Vec<u8>, Error> {
        let strings = self.header.get(size_of::<MemberHeader>()..self.strings_end()?);
        let fixed = MemberHeader { flags: flags.0.into(), ..*self.fixed };
        Ok([fixed.as_bytes(), strings.ok_or(Error::MemberStrings)?].concat())
    }

    pub fn kind(&self) -> Kind {
        Kind::from_raw(self.fixed.kind.get())
    }

    pub fn flags(&self) -> Flags {
        Flags(self.fixed.flags.get())
    }

    /// The architecture in the header. Numbers beyond 65535 are no architecture's and read as 0.
    pub fn arch(&self) -> Arch {
        let suffix = if self.flags().contains(Flags::ARCH_A) {
            Suffix::A
        } else if self.flags().contains(Flags::ARCH_F) {
            Suffix::F
        } else {
            Suffix::None
        };
        Arch::new(u16::try_from(self.fixed.number.get()).unwrap_or(0), suffix)
    }

    /// The number of the architecture, as the header has it.
    pub fn arch_number(&self) -> u32 {
        self.fixed.number.get()
    }

    /// Version of the content, major and minor: for PTX that of the language.
    pub fn version(&self) -> (u16, u16) {
        (self.fixed.major.get(), self.fixed.minor.get())
    }

    /// The name given to the member, usually that of the source file.
    pub fn identifier(&self) -> Result<Option<&'data [u8]>, Error> {
        match self.fixed.identifier_offset.get() {
            0 => Ok(None),
            offset => self.string(offset, self.fixed.identifier_size.get()).map(Some),
        }
    }

    /// The options that the member was, or is to be, compiled with; for machine code of sm_100 and later, an empty
    /// string and the compatibility attributes.
    pub fn options(&self) -> Result<Option<&'data [u8]>, Error> {
        let offset = self.fixed.options_offset.get();
        if offset == 0 {
            return Ok(None);
        }
        let record = self.header.get(offset as usize..).ok_or(Error::MemberStrings)?;
        let (record, _) = OptionsRecord::ref_from_prefix(record).map_err(|_| Error::MemberStrings)?;
        self.string(record.offset.get(), record.size.get()).map(Some)
    }

    fn string(&self, offset: u32, size: u32) -> Result<&'data [u8], Error> {
        let rest = self.header.get(offset as usize..).ok_or(Error::MemberStrings)?;
        rest.get(..size as usize).ok_or(Error::MemberStrings)
    }

    /// The compatibility attributes of Mercury code, if the member has readable ones.
    pub(crate) fn compat(&self) -> Option<CompatRecord> {
        compat::behind_text(self.options().ok()??)
    }

    pub fn compression(&self) -> Result<Compression, Error> {
        if let Some(part) = &self.part {
            return Ok(part.compression);
        }
        match Flags(self.flags().0 & Flags::COMPRESSION.0) {
            Flags(0) => Ok(Compression::None),
            Flags::LZ4 => Ok(Compression::Lz4),
            Flags::ZSTD => Ok(Compression::Zstd),
            _ => Err(Error::UnknownCompression),
        }
    }

    /// Whether the payload can only be read by the vendor's libraries.
    pub fn is_scrambled(&self) -> bool {
        self.flags().contains(Flags::SCRAMBLED)
    }

    /// The member as it is in its container: the header and the payload. Of a member of a group, the header.
    pub fn bytes(&self) -> &'data [u8] {
        self.whole
    }

    /// The entry of the container that holds the member: itself, or its group.
    pub fn entry(&self) -> &'data [u8] {
        self.part.map_or(self.whole, |part| part.whole)
    }

    /// The payload as stored, padding included.
    pub fn payload(&self) -> &'data [u8] {
        self.payload
    }

    /// Size of the payload as stored, without padding where that is known. Of a member of a group, its share.
    pub fn packed_size(&self) -> u64 {
        match (&self.part, self.compression()) {
            (Some(part), _) => part.share(self.unpacked_size()),
            (None, Ok(Compression::None)) => self.payload.len() as u64,
            (None, _) => u64::from(self.fixed.compressed_size.get()),
        }
    }

    /// The bytes of the container that are the member's.
    pub fn stored_size(&self) -> u64 {
        self.whole.len() as u64 + self.part.map_or(0, |part| part.share(self.unpacked_size()))
    }

    /// Size of the content, as announced.
    pub fn unpacked_size(&self) -> u64 {
        match (&self.part, self.compression()) {
            (Some(_), _) => self.fixed.payload_size.get(),
            (None, Ok(Compression::None)) => self.payload.len() as u64,
            (None, _) => self.fixed.uncompressed_size.get(),
        }
    }

    /// A container that holds this member and no other but those of its group, as they are.
    pub fn alone(&self) -> Vec<u8> {
        let header = container_header(self.entry().len() as u64);
        [&header, self.entry()].concat()
    }

    /// What the member holds, unpacked. Uncompressed content is borrowed and keeps its padding; PTX ends before its
    /// NUL.
    pub fn content(&self) -> Result<Cow<'data, [u8]>, Error> {
        Ok(match self.unpacked()? {
            Cow::Borrowed(content) => Cow::Borrowed(&content[..self.length_of(content)]),
            Cow::Owned(mut content) => {
                content.truncate(self.length_of(&content));
                Cow::Owned(content)
            }
        })
    }

    /// The same, unpacked into memory that may have served for other members. It grows, and does not shrink.
    pub fn content_in<'room>(&self, room: &'room mut Vec<u8>) -> Result<&'room [u8], Error>
    where
        'data: 'room,
    {
        let content = match (self.part, self.packed()?) {
            (Some(part), _) => {
                let contents = match part.kept() {
                    Some(contents) => contents?,
                    None => compress::unpack_in(part.compression, part.packed, part.unpacked_size, room)?,
                };
                contents.get(self.place_in_group()?).ok_or(Error::TruncatedPayload)?
            }
            (None, None) => self.payload,
            (None, Some((compression, packed))) => {
                compress::unpack_in(compression, packed, self.fixed.uncompressed_size.get(), room)?
            }
        };
        Ok(&content[..self.length_of(content)])
    }

    /// Where the content of a member of a group is in the unpacked contents.
    fn place_in_group(&self) -> Result<Range<usize>, Error> {
        let start = self.fixed.header_size.get() as usize;
        let size = usize::try_from(self.fixed.payload_size.get()).map_err(|_| Error::TruncatedPayload)?;
        Ok(start..start.checked_add(size).ok_or(Error::TruncatedPayload)?)
    }

    fn unpacked_of_group(&self, part: &Part<'data>) -> Result<Cow<'data, [u8]>, Error> {
        let place = self.place_in_group()?;
        if let Some(contents) = part.kept() {
            return contents?.get(place).map(Cow::Borrowed).ok_or(Error::TruncatedPayload);
        }
        let contents = compress::unpack(part.compression, part.packed, part.unpacked_size)?;
        let content = contents.get(place).ok_or(Error::TruncatedPayload)?;
        Ok(Cow::Owned(content.to_vec()))
    }

    /// The same with what is after the content: the NUL of PTX, and padding.
    pub fn unpacked(&self) -> Result<Cow<'data, [u8]>, Error> {
        let packed = self.packed()?;
        if let Some(part) = &self.part {
            return self.unpacked_of_group(part);
        }
        Ok(match packed {
            None => Cow::Borrowed(self.payload),
            Some((compression, packed)) => {
                Cow::Owned(compress::unpack(compression, packed, self.fixed.uncompressed_size.get())?)
            }
        })
    }

    /// The compressed content; `None` if it is stored as it is.
    pub(crate) fn packed(&self) -> Result<Option<(Compression, &'data [u8])>, Error> {
        if self.is_scrambled() {
            return Err(Error::Scrambled);
        }
        Ok(match self.compression()? {
            _ if self.is_grouped() => None,
            Compression::None => None,
            compression => {
                let size = self.fixed.compressed_size.get() as usize;
                Some((compression, self.payload.get(..size).ok_or(Error::Uncompress)?))
            }
        })
    }

    /// How much of the unpacked bytes is content.
    fn length_of(&self, unpacked: &[u8]) -> usize {
        let nul = if self.kind() == Kind::Ptx { memchr::memchr(0, unpacked) } else { None };
        nul.unwrap_or(unpacked.len())
    }

    /// The same member, header and payload, with its content stored in another way.
    pub fn repacked(&self, packing: Packing) -> Result<Vec<u8>, Error> {
        self.with_content(&self.unpacked()?, packing, self.flags())
    }

    /// The same member with a content that has no debug information, stored as the old one was if nothing else is asked for.
    pub fn without_debug(&self, content: &[u8], packing: Option<Packing>) -> Result<Vec<u8>, Error> {
        let packing = match packing {
            Some(packing) => packing,
            None => self.compression()?.packing(),
        };
        self.with_content(content, packing, Flags(self.flags().0 & !Flags::DEBUG.0))
    }

    /// The same member with another content and other flags.
    pub fn with_content(&self, content: &[u8], packing: Packing, flags: Flags) -> Result<Vec<u8>, Error> {
        let mut payload = packing.pack(content);
        let (packed, unpacked) = match packing.compression() {
            Compression::None => (0, 0),
            _ => (u32::try_from(payload.len()).map_err(|_| Error::TooLarge)?, content.len() as u64),
        };
        payload.resize(payload.len().next_multiple_of(8), 0);
        let flags = Flags(flags.0 & !Flags::COMPRESSION.0).with(packing.compression().flag());
        let fixed = MemberHeader {
            header_size: u32::try_from(self.header.len()).map_err(|_| Error::TooLarge)?.into(),
            payload_size: (payload.len() as u64).into(),
            compressed_size: packed.into(),
            flags: flags.0.into(),
            uncompressed_size: unpacked.into(),
            ..*self.fixed
        };
        Ok([fixed.as_bytes(), &self.header[size_of::<MemberHeader>()..], &payload].concat())
    }
}
