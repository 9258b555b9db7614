//! GPU architectures as the device linker knows them: their names, their profiles, and which code links for which
//! target.
//!
//! [`links_sass`], [`links_ptx`] and, where a file says more than its architecture's name, [`CubinArch::links_for`]
//! and [`links_mercury_member`] are the rules the linker uses; they reproduce what nvlink 13.0.88 accepts.
//! [`documented`] holds the checks as the design documents give them, for comparison; `docs/deviations.md` lists
//! where the two part.

pub mod documented;
pub mod finalize;
mod link;
pub mod name;
pub mod profile;

pub use finalize::CompatRecord;
pub use link::{
    CubinArch, CubinMatch, links_member, links_mercury_member, links_ptx, links_sass, oldest_toolkit,
};
pub use profile::Profile;

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
/// Values read from files may hold numbers that no profile has; [`Arch::is_known`] tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch {
    pub number: u16,
    pub suffix: Suffix,
}

impl Arch {
    pub const fn new(number: u16, suffix: Suffix) -> Self {
        Self { number, suffix }
    }

    pub const fn plain(number: u16) -> Self {
        Self::new(number, Suffix::None)
    }

    const fn a(number: u16) -> Self {
        Self::new(number, Suffix::A)
    }

    const fn f(number: u16) -> Self {
        Self::new(number, Suffix::F)
    }

    /// Parses the part of a name behind its prefix, such as `90a`; only the 23 architectures of [`ARCHS`].
    pub fn parse(text: &str) -> Option<Self> {
        let (digits, suffix) = match text.as_bytes().last()? {
            b'a' => (&text[..text.len() - 1], Suffix::A),
            b'f' => (&text[..text.len() - 1], Suffix::F),
            _ => (text, Suffix::None),
        };
        let arch = Self::new(decimal(digits)?, suffix);
        arch.is_known().then_some(arch)
    }

    pub fn is_known(self) -> bool {
        ARCHS.contains(&self)
    }

    /// From sm_100 on the machine code travels in Mercury form, to be finalized for the device.
    pub const fn is_mercury(self) -> bool {
        self.number >= MERCURY_FROM
    }

    pub const fn has_a(self) -> bool {
        matches!(self.suffix, Suffix::A)
    }

    pub const fn has_f(self) -> bool {
        matches!(self.suffix, Suffix::F)
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.number, self.suffix.as_str())
    }
}

/// Digits as the names are written: no sign, no leading zero.
fn decimal(digits: &str) -> Option<u16> {
    let canonical = !digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit());
    if canonical { digits.parse().ok() } else { None }
}

/// The first number whose machine code is Mercury.
pub const MERCURY_FROM: u16 = 100;

/// All architectures, by number; of equal numbers plain, `a`, `f`.
pub const ARCHS: [Arch; 23] = [
    Arch::plain(75),
    Arch::plain(80),
    Arch::plain(86),
    Arch::plain(87),
    Arch::plain(88),
    Arch::plain(89),
    Arch::plain(90),
    Arch::a(90),
    Arch::plain(100),
    Arch::a(100),
    Arch::f(100),
    Arch::plain(103),
    Arch::a(103),
    Arch::f(103),
    Arch::plain(110),
    Arch::a(110),
    Arch::f(110),
    Arch::plain(120),
    Arch::a(120),
    Arch::f(120),
    Arch::plain(121),
    Arch::a(121),
    Arch::f(121),
];

const CORE_COUNT: usize = 8;

/// The architectures whose machine code is final when it leaves the assembler: 75 to 90a.
pub const CORE: &[Arch] = ARCHS.split_at(CORE_COUNT).0;

/// The architectures whose machine code is Mercury: 100 to 121f.
pub const MERCURY: &[Arch] = ARCHS.split_at(CORE_COUNT).1;

/// What an architecture's name stands for.
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
    pub const ALL: [Self; 3] = [Self::Compute, Self::Lto, Self::Sm];

    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Compute => "compute_",
            Self::Lto => "lto_",
            Self::Sm => "sm_",
        }
    }

    pub const fn is_virtual(self) -> bool {
        !matches!(self, Self::Sm)
    }
}

/// A complete architecture name such as `sm_90a`, as given with `-arch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    pub kind: Kind,
    pub arch: Arch,
}

impl Target {
    pub const fn new(kind: Kind, arch: Arch) -> Self {
        Self { kind, arch }
    }

    pub const fn sm(arch: Arch) -> Self {
        Self::new(Kind::Sm, arch)
    }

    /// Accepts exactly the names of [`NAMES`].
    pub fn parse(name: &str) -> Option<Self> {
        Kind::ALL.into_iter().find_map(|kind| {
            let arch = Arch::parse(name.strip_prefix(kind.prefix())?)?;
            Some(Self::new(kind, arch))
        })
    }

    /// All 69 targets: the architectures of [`ARCHS`] as `compute_`, then as `lto_`, then as `sm_`.
    pub fn all() -> impl Iterator<Item = Self> {
        Kind::ALL.into_iter().flat_map(|kind| ARCHS.into_iter().map(move |arch| Self::new(kind, arch)))
    }

    pub const fn is_virtual(self) -> bool {
        self.kind.is_virtual()
    }

    pub const fn is_mercury(self) -> bool {
        self.arch.is_mercury()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.kind.prefix(), self.arch)
    }
}

macro_rules! names {
    ($($arch:literal)*) => {
        [
            $(concat!("compute_", $arch),)*
            $(concat!("lto_", $arch),)*
            $(concat!("sm_", $arch),)*
        ]
    };
}

/// The 69 names a target may have, in byte order, which is the order help texts list them in.
pub const NAMES: [&str; 69] = names! {
    "100" "100a" "100f" "103" "103a" "103f" "110" "110a" "110f" "120" "120a" "120f" "121" "121a" "121f"
    "75" "80" "86" "87" "88" "89" "90" "90a"
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_parsed_and_printed_back() {
        for name in NAMES {
            assert_eq!(Target::parse(name).expect(name).to_string(), name);
        }
        let mut printed: Vec<_> = Target::all().map(|target| target.to_string()).collect();
        printed.sort();
        assert_eq!(printed, NAMES);
    }

    #[test]
    fn nothing_else_is_a_name() {
        let other = [
            "",
            "sm_",
            "90",
            "a",
            "f",
            "sm_90f",
            "sm_75a",
            "sm_72",
            "sm_70",
            "sm_101",
            "sm_0100",
            "sm_+90",
            "sm_090",
            "sm_90A",
            "SM_90",
            "sass_90",
            "compute90",
            "sm_90aa",
            "sm_65626",
            "sm_99999999",
            "sm_90 ",
            " sm_90",
            "lto_91",
            "sm_9\u{660}",
        ];
        for name in other {
            assert_eq!(Target::parse(name), None, "{name:?}");
        }
    }

    #[test]
    fn core_and_mercury_split_the_list() {
        assert!(CORE.iter().all(|arch| !arch.is_mercury()));
        assert!(MERCURY.iter().all(|arch| arch.is_mercury()));
        assert_eq!(CORE.len() + MERCURY.len(), ARCHS.len());
    }
}
