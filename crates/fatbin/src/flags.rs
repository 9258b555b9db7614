//! The flags of a member.

/// The flag word of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u64);

impl Flags {
    pub const ADDRESS64: Self = Self(1);
    pub const DEBUG: Self = Self(1 << 1);
    pub const LINUX: Self = Self(1 << 4);
    pub const LZ4: Self = Self(1 << 13);
    pub const ZSTD: Self = Self(1 << 15);
    /// The four bits from 12 on say how the payload is compressed; only two of the values are in use.
    pub(crate) const COMPRESSION: Self = Self(0xf000);
    pub const SCRAMBLED: Self = Self(1 << 16);
    pub const ARCH_A: Self = Self(1 << 20);
    pub const ARCH_F: Self = Self(1 << 21);
    pub const MERCURY: Self = Self(1 << 24);

    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}
