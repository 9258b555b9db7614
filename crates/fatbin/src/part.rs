//! What a member of a group has from its group: the contents that are compressed as one.

use std::sync::OnceLock;

use crate::Error;
use crate::compress::{self, Compression};

/// The unpacked contents of a group, from when they are first asked for.
#[derive(Debug, Default)]
pub struct Stream(OnceLock<Result<Vec<u8>, Error>>);

/// What a member of a group has from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'data> {
    /// The group, header and payload.
    pub whole: &'data [u8],
    pub compression: Compression,
    /// The compressed contents, without padding.
    pub packed: &'data [u8],
    pub unpacked_size: u64,
    pub stream: Option<&'data Stream>,
}

impl<'data> Part<'data> {
    /// All contents, if they have been or can be kept.
    pub fn kept(&self) -> Option<Result<&'data [u8], Error>> {
        let unpack = || compress::unpack(self.compression, self.packed, self.unpacked_size);
        let stream = self.stream?.0.get_or_init(unpack);
        Some(stream.as_deref().map_err(|error| *error))
    }

    /// The share of a member in the compressed bytes.
    pub fn share(&self, size: u64) -> u64 {
        let all = self.packed.len() as u64;
        let share = u128::from(all) * u128::from(size) / u128::from(self.unpacked_size.max(1));
        u64::try_from(share).unwrap_or(all).min(all)
    }
}
