//! GPU architectures and toolkit releases as the device linker knows them: names, generations, families, and which code
//! links for which target.
//!
//! What may differ from one release of nvlink to the next is asked of a [`Release`]: [`Release::links_sass`],
//! [`Release::links_ptx`] and, where a file says more than its architecture's name, [`Release::links_cubin`] and
//! [`Release::links_mercury_member`] are the rules that a link goes by, and that `solder --list-archs` prints.
#![deny(missing_docs)]

mod chip;
mod cuda_12;
mod finalize;
mod link;
mod release;
mod rules;

pub use chip::Generation;
pub use finalize::{CompatRecord, Refusal};
pub use link::{CubinArch, CubinMatch};
pub use release::{Abi, Release};

use std::fmt;

/// What follows the number in an architecture's name. The order is the one in which members of a fat binary with
/// the same number and kind are preferred: `a` over `f` over none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Suffix {
    /// Plain: usable, as PTX, for every later architecture.
    #[default]
    None,
    /// Family: features shared by the later members of the same family.
    F,
    /// Accelerated: features of exactly this architecture.
    A,
}

impl Suffix {
    /// As it is written after a number.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "",
            Self::F => "f",
            Self::A => "a",
        }
    }
}

/// An architecture's number and suffix, without saying whether machine code, PTX or LTO IR is meant.
///
/// Values read from files may hold numbers that no release knows; [`Release::knows`] tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch {
    /// As in 90 for `sm_90a`.
    pub number: u16,
    /// As in `a` for `sm_90a`.
    pub suffix: Suffix,
}

impl Arch {
    /// An architecture, whether a release knows it or not.
    pub const fn new(number: u16, suffix: Suffix) -> Self {
        Self { number, suffix }
    }

    /// One without a suffix.
    pub const fn plain(number: u16) -> Self {
        Self::new(number, Suffix::None)
    }

    /// Reads the part of a name after its prefix, such as `90a`: digits without a sign and without a leading zero, and
    /// at most one suffix. [`Release::arch`] asks in addition whether the architecture exists.
    pub const fn parse(text: &str) -> Option<Self> {
        let (digits, suffix) = match text.as_bytes() {
            [digits @ .., b'a'] => (digits, Suffix::A),
            [digits @ .., b'f'] => (digits, Suffix::F),
            digits => (digits, Suffix::None),
        };
        match decimal(digits) {
            Some(number) => Some(Self::new(number, suffix)),
            None => None,
        }
    }

    /// From sm_100 on the machine code travels in Mercury form, to be finalized for the device.
    pub const fn is_mercury(self) -> bool {
        self.number >= MERCURY_FROM
    }

    /// Whether it is one of the `a` architectures.
    pub const fn has_a(self) -> bool {
        matches!(self.suffix, Suffix::A)
    }

    /// Two architectures of one family have numbers that differ in the last digit only.
    pub const fn is_same_family(self, other: Self) -> bool {
        same_family(self.number, other.number)
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.number, self.suffix.as_str())
    }
}

/// See [`Arch::is_same_family`].
const fn same_family(a: u16, b: u16) -> bool {
    a / 10 == b / 10
}

/// Digits as the names are written.
const fn decimal(digits: &[u8]) -> Option<u16> {
    let mut number: u16 = 0;
    let mut at = 0;
    while at < digits.len() {
        let digit = digits[at];
        if !digit.is_ascii_digit() || (at == 0 && digit == b'0') || number > (u16::MAX - 9) / 10 {
            return None;
        }
        number = number * 10 + (digit - b'0') as u16;
        at += 1;
    }
    if at == 0 { None } else { Some(number) }
}

/// The first number whose machine code is Mercury.
pub const MERCURY_FROM: u16 = 100;

/// What an architecture's name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `compute_`: a virtual architecture, PTX.
    Compute,
    /// `lto_`: a virtual architecture, IR for link-time optimization.
    Lto,
    /// `sm_`: a real architecture, machine code.
    Sm,
}

impl Kind {
    /// In the order in which help texts list them.
    pub const ALL: [Self; 3] = [Self::Compute, Self::Lto, Self::Sm];

    /// What names of this kind begin with.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Compute => "compute_",
            Self::Lto => "lto_",
            Self::Sm => "sm_",
        }
    }

    /// Whether it is PTX or IR, which is compiled further.
    pub const fn is_virtual(self) -> bool {
        !matches!(self, Self::Sm)
    }
}

/// A complete architecture name such as `sm_90a`, as given with `-arch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// Machine code, PTX or IR.
    pub kind: Kind,
    /// For which architecture.
    pub arch: Arch,
}

impl Target {
    /// A target, whether a release knows it or not.
    pub const fn new(kind: Kind, arch: Arch) -> Self {
        Self { kind, arch }
    }

    /// Machine code for an architecture.
    pub const fn sm(arch: Arch) -> Self {
        Self::new(Kind::Sm, arch)
    }

    /// Whether it names PTX or IR.
    pub const fn is_virtual(self) -> bool {
        self.kind.is_virtual()
    }

    /// Whether its machine code is Mercury.
    pub const fn is_mercury(self) -> bool {
        self.arch.is_mercury()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.kind.prefix(), self.arch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn architectures_are_read_as_they_are_written() {
        for text in ["75", "90a", "100f", "999", "5"] {
            assert_eq!(Arch::parse(text).expect(text).to_string(), text);
        }
        for text in ["", "a", "f", "0", "090", "+90", "90A", "90aa", "90 ", "65536", "99999999", "9\u{660}"] {
            assert_eq!(Arch::parse(text), None, "{text:?}");
        }
    }
}
