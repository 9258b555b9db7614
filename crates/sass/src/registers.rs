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
    /// The file that has a register at this place of the set.
    pub fn at(place: usize) -> Self {
        match place {
            0..256 => Self::General,
            256..512 => Self::Uniform,
            512..520 => Self::Predicate,
            520..528 => Self::UniformPredicate,
            _ => Self::Barrier,
        }
    }

    /// The place in the set of a register of this file.
    pub fn place(self, register: u8) -> usize {
        usize::from(self.range().0) + usize::from(register)
    }

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

/// All registers of each file, in the order of [`File`].
const FILES: [Registers; 5] = [
    all(File::General),
    all(File::Uniform),
    all(File::Predicate),
    all(File::UniformPredicate),
    all(File::Barrier),
];

const fn all(file: File) -> Registers {
    let mut words = [0; WORDS];
    let (base, size) = file.range();
    let mut bit = base as usize;
    while bit < (base + size) as usize {
        words[bit / 64] |= 1 << (bit % 64);
        bit += 1;
    }
    Registers(words)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers([u64; WORDS]);

impl Registers {
    /// How many registers there are at most.
    pub const PLACES: usize = WORDS * 64;

    /// Adds as many registers from `first` on.
    pub fn insert(&mut self, file: File, first: u8, count: u16) {
        let (base, size) = file.range();
        let first = u16::from(first);
        for register in first..first.saturating_add(count).min(size) {
            let bit = usize::from(base + register);
            self.0[bit / 64] |= 1 << (bit % 64);
        }
    }

    pub fn remove_all(&mut self, file: File) {
        self.remove(&FILES[file as usize]);
    }

    pub fn remove(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= !other);
    }

    pub fn insert_from(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Only those of these files.
    #[must_use]
    pub fn within(&self, files: &[File]) -> Self {
        let mut within = Self::default();
        for file in files {
            let words = within.0.iter_mut().zip(&self.0).zip(&FILES[*file as usize].0);
            words.for_each(|((word, own), all)| *word |= own & all);
        }
        within
    }

    /// The places in the set of all that it holds, below [`Self::PLACES`].
    pub fn places(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(index, word)| {
            std::iter::successors(Some(*word), |word| Some(word & word.wrapping_sub(1)))
                .take_while(|word| *word != 0)
                .map(move |word| index * 64 + word.trailing_zeros() as usize)
        })
    }

    pub fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }

    pub fn contains_all(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(own, other)| other & !own == 0)
    }

    pub fn contains(&self, file: File, register: u16) -> bool {
        let (base, size) = file.range();
        let bit = usize::from(base + register.min(size));
        register < size && self.0[bit / 64] >> (bit % 64) & 1 != 0
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
    fn places_and_files() {
        let mut a = Registers::default();
        assert!(a.is_empty());
        a.insert(File::General, 63, 2);
        a.insert(File::Uniform, 0, 1);
        assert_eq!(a.places().collect::<Vec<_>>(), [63, 64, 256]);
        assert_eq!(a.within(&[File::Uniform]).places().collect::<Vec<_>>(), [256]);
        let mut b = Registers::default();
        b.insert_from(&a);
        assert_eq!(a, b);
        let files = [File::General, File::Uniform, File::Predicate, File::UniformPredicate, File::Barrier];
        assert!(
            files.iter().all(|file| [0, 6].iter().all(|register| File::at(file.place(*register)) == *file))
        );
    }

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
