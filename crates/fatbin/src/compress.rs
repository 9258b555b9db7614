//! Compressed payloads. The announced size is checked against what the format can hold before memory is taken for
//! it, so that a few bytes cannot ask for gigabytes.

use std::cell::RefCell;
use std::cmp::Ordering;

use zstd::bulk::Decompressor;

use crate::Error;
use crate::flags::Flags;

/// How a payload is to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    None,
    /// LZ4.
    Lz4,
    /// Zstandard, in little time.
    Zstd,
    /// Zstandard, in little room.
    Smallest,
}

impl Packing {
    pub(crate) fn compression(self) -> Compression {
        match self {
            Self::None => Compression::None,
            Self::Lz4 => Compression::Lz4,
            Self::Zstd | Self::Smallest => Compression::Zstd,
        }
    }

    pub(crate) fn pack(self, content: &[u8]) -> Vec<u8> {
        match self {
            Self::Smallest => zstd(content, ZSTD_SMALLEST),
            other => pack(other.compression(), content),
        }
    }
}

/// How a payload is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    None,
    /// One LZ4 block, without a frame.
    Lz4,
    /// One Zstandard frame.
    Zstd,
}

impl Compression {
    /// What says so in the flags of a member.
    pub(crate) const fn flag(self) -> Flags {
        match self {
            Self::None => Flags(0),
            Self::Lz4 => Flags::LZ4,
            Self::Zstd => Flags::ZSTD,
        }
    }

    /// The way to store something like it.
    pub const fn packing(self) -> Packing {
        match self {
            Self::None => Packing::None,
            Self::Lz4 => Packing::Lz4,
            Self::Zstd => Packing::Zstd,
        }
    }

    /// The most bytes that `packed` bytes can unpack to: one LZ4 length byte stands for 255 bytes, and the smallest
    /// Zstandard block (three bytes of header and the byte to repeat) for 128 KiB.
    fn limit(self, packed: usize) -> u64 {
        let packed = packed as u64;
        match self {
            Self::None => packed,
            Self::Lz4 => packed.saturating_mul(255),
            Self::Zstd => (packed / 4 + 1).saturating_mul(128 << 10),
        }
    }
}

/// The announced size, if that many bytes can come of `packed`.
fn unpacked_size(compression: Compression, packed: &[u8], size: u64) -> Result<usize, Error> {
    if size > compression.limit(packed.len()) {
        return Err(Error::TooLarge);
    }
    usize::try_from(size).map_err(|_| Error::TooLarge)
}

/// Unpacks to exactly `size` bytes.
pub(crate) fn unpack(compression: Compression, packed: &[u8], size: u64) -> Result<Vec<u8>, Error> {
    let mut content = Vec::new();
    unpack_in(compression, packed, size, &mut content)?;
    Ok(content)
}

/// The same into memory that may have served before. Nothing of it is touched before there is content for it.
pub(crate) fn unpack_in<'room>(
    compression: Compression,
    packed: &[u8],
    size: u64,
    room: &'room mut Vec<u8>,
) -> Result<&'room [u8], Error> {
    let size = unpacked_size(compression, packed, size)?;
    if room.capacity() < size {
        *room = Vec::new();
        room.try_reserve_exact(size).map_err(|_| Error::TooLarge)?;
    }
    match compression {
        Compression::None => {
            room.clear();
            room.extend_from_slice(packed);
        }
        Compression::Lz4 => {
            room.resize(size, 0);
            let written = lz4_flex::block::decompress_into(packed, room).map_err(|_| Error::Uncompress)?;
            room.truncate(written);
        }
        Compression::Zstd => {
            room.clear();
            with_decompressor(|decompressor| decompressor.decompress_to_buffer(packed, room))
                .ok_or(Error::TooLarge)?
                .map_err(|_| Error::Uncompress)?;
        }
    }
    match room.len().cmp(&size) {
        Ordering::Less => Err(Error::UnpackedSize),
        Ordering::Equal => Ok(room),
        // There was more room than was asked for.
        Ordering::Greater => Err(Error::Uncompress),
    }
}

/// A decompressor has tables of a hundred kilobytes, so a thread keeps the one that it made. `None` if there is no
/// memory for it.
fn with_decompressor<R>(work: impl FnOnce(&mut Decompressor<'static>) -> R) -> Option<R> {
    thread_local! {
        static KEPT: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
    }
    KEPT.with_borrow_mut(|kept| {
        if kept.is_none() {
            *kept = Decompressor::new().ok();
        }
        kept.as_mut().map(work)
    })
}

/// The level at which fatbinary has Zstandard compress.
const ZSTD_LEVEL: i32 = 5;

/// The same with `--compress-mode=size`.
const ZSTD_SMALLEST: i32 = 19;

fn zstd(content: &[u8], level: i32) -> Vec<u8> {
    zstd::bulk::compress(content, level).expect("compressing into memory that grows cannot fail")
}

pub(crate) fn pack(compression: Compression, content: &[u8]) -> Vec<u8> {
    match compression {
        Compression::None => content.to_vec(),
        Compression::Lz4 => lz4_flex::block::compress(content),
        Compression::Zstd => zstd(content, ZSTD_LEVEL),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_unpacks() {
        let long = vec![7; 300_000];
        let contents: [&[u8]; 4] = [b"", b"x", b"some text, some text, some text", &long];
        let mut room = Vec::new();
        for compression in [Compression::None, Compression::Lz4, Compression::Zstd] {
            for content in contents {
                let (packed, size) = (pack(compression, content), content.len() as u64);
                assert_eq!(unpack(compression, &packed, size).as_deref(), Ok(content));
                assert_eq!(unpack_in(compression, &packed, size, &mut room), Ok(content));
            }
        }
    }

    #[test]
    fn a_wrong_size_is_an_error() {
        for compression in [Compression::Lz4, Compression::Zstd] {
            let packed = pack(compression, &[7; 1000]);
            // Also where there is more room than for the announced size.
            let mut room = Vec::with_capacity(2000);
            for (size, error) in [
                (999, Error::Uncompress),
                (1001, Error::UnpackedSize),
                (1 << 40, Error::TooLarge),
                (u64::MAX, Error::TooLarge),
            ] {
                assert_eq!(unpack(compression, &packed, size), Err(error));
                assert_eq!(unpack_in(compression, &packed, size, &mut room), Err(error));
            }
        }
    }

    #[test]
    fn damaged_data_is_an_error() {
        assert_eq!(unpack(Compression::Zstd, b"not a frame", 100), Err(Error::Uncompress));
        assert_eq!(unpack(Compression::Lz4, &[0xff; 8], 100), Err(Error::Uncompress));
        assert_eq!(unpack(Compression::Lz4, &[], 0), Err(Error::Uncompress));
    }
}
