//! Bit fields of relocations: a run of bits counted from bit 0 of a byte, at most 64 long, anywhere
//! in a 128-bit instruction.

/// Bits `low..=high`; empty when `low > high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits {
    pub low: u8,
    pub high: u8,
}

impl Bits {
    pub const fn new((low, high): (u8, u8)) -> Self {
        Self { low, high }
    }

    pub const fn is_empty(self) -> bool {
        self.low > self.high
    }

    pub const fn width(self) -> u32 {
        if self.is_empty() { 0 } else { self.high as u32 - self.low as u32 + 1 }
    }

    const fn mask(self) -> u128 {
        if self.is_empty() { 0 } else { ((1u128 << self.width()) - 1) << self.low }
    }

    /// The bytes that must be there for the field to be written.
    pub const fn bytes(self) -> usize {
        if self.is_empty() { 0 } else { self.high as usize / 8 + 1 }
    }

    /// These bits of `value`, moved down to bit 0.
    pub fn extract(self, value: u64) -> u64 {
        ((u128::from(value) & self.mask()) >> self.low) as u64
    }

    /// Replaces the field in the bytes beginning at `place[0]`. `None` if they are too few.
    pub fn insert(self, place: &mut [u8], value: u64) -> Option<()> {
        let count = self.bytes();
        let place = place.get_mut(..count)?;
        let mut word = [0; 16];
        word[..count].copy_from_slice(place);
        let old = u128::from_le_bytes(word);
        let new = (old & !self.mask()) | ((u128::from(value) << self.low) & self.mask());
        place.copy_from_slice(&new.to_le_bytes()[..count]);
        Some(())
    }
}
