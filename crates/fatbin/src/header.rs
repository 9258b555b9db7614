//! The header of a container.

use zerocopy::little_endian::{U16, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The first four bytes of every container.
pub const CONTAINER_MAGIC: [u8; 4] = [0x50, 0xed, 0x55, 0xba];

/// The only version that exists.
pub(crate) const CONTAINER_VERSION: u16 = 1;

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub(crate) struct ContainerHeader {
    pub magic: [u8; 4],
    pub version: U16,
    pub header_size: U16,
    /// Of all members together, without this header.
    pub size: U64,
}

/// Length of the header that [`container_header`] makes.
pub const CONTAINER_HEADER_SIZE: usize = size_of::<ContainerHeader>();

/// The header of a container whose members are this long together.
pub fn container_header(size: u64) -> [u8; CONTAINER_HEADER_SIZE] {
    let header = ContainerHeader {
        magic: CONTAINER_MAGIC,
        version: CONTAINER_VERSION.into(),
        header_size: (CONTAINER_HEADER_SIZE as u16).into(),
        size: size.into(),
    };
    let mut bytes = [0; CONTAINER_HEADER_SIZE];
    bytes.copy_from_slice(header.as_bytes());
    bytes
}
