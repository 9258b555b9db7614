//! What an architecture is, whatever release links for it: one row for each number.

use std::fmt;

use crate::Arch;

/// A generation of GPUs, by its public name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Generation {
    /// sm_50 to sm_53.
    Maxwell,
    /// sm_60 to sm_62.
    Pascal,
    /// sm_70 and sm_72.
    Volta,
    /// sm_75.
    Turing,
    /// sm_80 to sm_88.
    Ampere,
    /// sm_89.
    Ada,
    /// sm_90.
    Hopper,
    /// sm_100 to sm_121.
    Blackwell,
    /// sm_107.
    Rubin,
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Maxwell => "Maxwell",
            Self::Pascal => "Pascal",
            Self::Volta => "Volta",
            Self::Turing => "Turing",
            Self::Ampere => "Ampere",
            Self::Ada => "Ada",
            Self::Hopper => "Hopper",
            Self::Blackwell => "Blackwell",
            Self::Rubin => "Rubin",
        })
    }
}

struct Chip {
    number: u16,
    generation: Generation,
    /// The most shared memory that nvlink lets a kernel have.
    shared_memory: u64,
}

const fn chip(number: u16, generation: Generation, shared_memory: u64) -> Chip {
    Chip { number, generation, shared_memory }
}

const CHIPS: [Chip; 21] = [
    chip(50, Generation::Maxwell, 0xc000),
    chip(52, Generation::Maxwell, 0xc000),
    chip(53, Generation::Maxwell, 0xc000),
    chip(60, Generation::Pascal, 0xc000),
    chip(61, Generation::Pascal, 0xc000),
    chip(62, Generation::Pascal, 0xc000),
    chip(70, Generation::Volta, 0x1_8000),
    chip(72, Generation::Volta, 0x1_8000),
    chip(75, Generation::Turing, 0x1_0000),
    chip(80, Generation::Ampere, 0x2_8c00),
    chip(86, Generation::Ampere, 0x1_8c00),
    chip(87, Generation::Ampere, 0x2_8c00),
    chip(88, Generation::Ampere, 0x1_8c00),
    chip(89, Generation::Ada, 0x1_8c00),
    chip(90, Generation::Hopper, 0x3_8c00),
    chip(100, Generation::Blackwell, 0x3_8c00),
    chip(103, Generation::Blackwell, 0x3_8c00),
    chip(107, Generation::Rubin, 0x5_1c00),
    chip(110, Generation::Blackwell, 0x3_8c00),
    chip(120, Generation::Blackwell, 0x1_8c00),
    chip(121, Generation::Blackwell, 0x1_8c00),
];

impl Arch {
    fn chip(self) -> Option<&'static Chip> {
        CHIPS.iter().find(|chip| chip.number == self.number)
    }

    /// The generation it belongs to; `None` for a number that no release links for.
    pub fn generation(self) -> Option<Generation> {
        self.chip().map(|chip| chip.generation)
    }

    /// The most shared memory that nvlink lets a kernel have, in bytes; `None` as above.
    pub fn shared_memory(self) -> Option<u64> {
        self.chip().map(|chip| chip.shared_memory)
    }

    /// The value of `__CUDA_ARCH__` in code for it.
    pub const fn cuda_arch(self) -> u32 {
        self.number as u32 * 10
    }
}

#[cfg(test)]
mod tests {
    use crate::Release;

    #[test]
    fn every_architecture_of_a_release_has_a_row() {
        for release in Release::ALL {
            assert!(release.archs().iter().all(|arch| arch.generation().is_some()));
        }
    }
}
