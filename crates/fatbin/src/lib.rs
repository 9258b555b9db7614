//! The fat binary: one container that holds the same device code for several architectures, as machine code
//! (ELF), PTX or LTO IR, each member compressed or not.
//!
//! The layout here is the one that the CUDA 13.0 tools write:
//!
//! ```text
//! container header   16 bytes: magic, version, header size, size of all members
//! member             64 bytes of fixed header, the identifier, the options record, then the payload
//! member             …
//! ```
//!
//! From CUDA 13.4 on an entry may be a [`Group`] of members, which [`Container::members`] passes as if they were entries
//! of their own.
//!
//! [`Container::parse`] and [`Container::members`] borrow from the input; nothing is copied or decompressed before
//! [`Member::content`] is asked for. [`select`] says which member a linker takes for a target, and [`Builder`]
//! writes containers.

mod compat;
mod compress;
mod container;
mod flags;
mod group;
mod header;
mod member;
mod part;
mod select;
mod write;

pub use compat::compat_record;
pub use compress::{Compression, Packing};
pub use container::{Container, Extent, Members};
pub use flags::Flags;
pub use group::{Group, GroupMembers};
pub use header::{CONTAINER_HEADER_SIZE, CONTAINER_MAGIC, container_header};
pub use member::{Kind, Member};
pub use part::Stream;
pub use select::{Request, Selection, select};
pub use write::{Builder, NewMember};

/// What can be wrong with a container. The caller knows, and adds, the name of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The bytes do not begin with the container's magic.
    NotAContainer,
    /// A container version other than 1.
    Version(u16),
    /// The container header says it is shorter than its own fields.
    ContainerHeader,
    /// The input ends before the end of the members that the header announces.
    TruncatedContainer,
    /// A member's header reaches past the end of the container, or is shorter than its own fields.
    MemberHeader,
    /// A member's payload reaches past the end of the container.
    TruncatedPayload,
    /// An architecture that cannot have a name.
    ArchNumber(u32),
    /// The identifier or the options record lies outside of the member's header.
    MemberStrings,
    /// A compression that is none of LZ4 and Zstandard.
    UnknownCompression,
    /// The compressed data is damaged, or holds more than was announced.
    Uncompress,
    /// The compressed data holds less than was announced.
    UnpackedSize,
    /// The announced size is more than the compressed data can possibly hold, or than memory can.
    TooLarge,
    /// The payload is scrambled; only the vendor's libraries read such a member.
    Scrambled,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = match self {
            Self::NotAContainer => "not a fat binary",
            Self::Version(version) => return write!(f, "unknown fat binary version {version}"),
            Self::ContainerHeader => "bad fat binary header",
            Self::TruncatedContainer => "the fat binary is cut short",
            Self::MemberHeader => "bad fat binary member header",
            Self::TruncatedPayload => "a fat binary member is cut short",
            Self::ArchNumber(number) => {
                return write!(f, "a fat binary member is for the impossible architecture {number}");
            }
            Self::MemberStrings => "a fat binary member's strings lie outside of its header",
            Self::UnknownCompression => "a fat binary member is compressed in an unknown way",
            Self::Uncompress => "a fat binary member's compressed data is damaged",
            Self::UnpackedSize => "a fat binary member does not unpack to the size it announces",
            Self::TooLarge => "a fat binary member announces an impossible size",
            Self::Scrambled => "a fat binary member is scrambled",
        };
        f.write_str(text)
    }
}

impl std::error::Error for Error {}
