//! Sets of registers of all kinds.

/// The register files. The last general and the last uniform register read as zero, the last predicate as true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// R0 to R254.
    General,
    /// UR0 to UR254.
    Uniform,
    /// P0 to P6.
    Predicate,
    /// UP0 to UP6.
    UniformPredicate,
    /// B0 to B15, where threads meet again.
    Barrier,
}

impl File {
    /// Where in the set the registers of this file begin, and how many there are that hold something.
    const fn range(self) -> (u16, u16) {
        match self {
            Self::General => (0, 255),
            Self::Uniform => (256, 255),
            Self::Predicate => (512, 7),
            Self::UniformPredicate => (520, 7),
            Self::Barrier => (528, 16),
        }
    }
}

const WORDS: usize = 9;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers([u64; WORDS]);

impl Registers {
    /// Adds as many registers from `first` on.
    pub fn insert(&mut self, file: File, first: u8, count: u16) {
        let (base, size) = file.range();
        let first = u16::from(first);
        for register in first..first.saturating_add(count).min(size) {
            let bit = usize::from(base + register);
            self.0[bit / 64] |= 1 << (bit % 64);
        }
    }

    pub fn remove(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= !other);
    }

    pub fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    pub fn iter(&self, file: File) -> impl Iterator<Item = u16> + '_ {
        let (base, size) = file.range();
        (0..size).filter(move |register| {
            let bit = usize::from(base + register);
            self.0[bit / 64] >> (bit % 64) & 1 != 0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{File, Registers};

    #[test]
    fn files_are_apart_and_zero_is_no_register() {
        let (mut a, mut b) = (Registers::default(), Registers::default());
        a.insert(File::General, 250, 8);
        b.insert(File::General, 255, 4);
        b.insert(File::Uniform, 0, 4);
        b.insert(File::Predicate, 7, 1);
        assert_eq!(a.iter(File::General).collect::<Vec<_>>(), [250, 251, 252, 253, 254]);
        assert!(!a.meets(&b));
        b.insert(File::General, 251, 1);
        assert!(a.meets(&b));
        assert_eq!(b.iter(File::Predicate).count(), 0);
    }
}
