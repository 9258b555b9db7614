//! The releases of the CUDA toolkit whose nvlink solder replaces, and how they differ.
//!
//! A phase never compares versions. What differs is a field of [`Release`], or a rule of it with a name, asked where it
//! applies. A release is passed to those who ask: there is no current one.

use crate::{Arch, Kind, Suffix, Target};

/// The layout of a device ELF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abi {
    /// Up to CUDA 12: the header has the number of the toolkit and of the architecture in places of its own, the headers of
    /// code have its barriers, and there are no notes.
    Seven,
    /// From CUDA 13 on.
    Eight,
}

/// One release. All that is here was observed with its tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// As in `13.0`.
    pub name: &'static str,
    /// The version of its nvlink, as in `13.0.88`.
    pub version: &'static str,
    /// Its number in objects and notes, as in 130 for 13.0.
    pub toolkit: u32,
    /// The names under which its nvJitLink, or one that can take its place, may be installed; the best one first.
    pub nvjitlink: &'static [&'static str],
    /// The layout of what it writes.
    pub abi: Abi,
    /// The targets, by number; of equal numbers plain, `a`, `f`.
    pub(crate) archs: &'static [Arch],
    pub(crate) names: &'static [&'static str],
    /// Numbers that are no longer targets and whose PTX is still usable.
    pub(crate) deprecated: &'static [u16],
    /// Machine code that links for another number than its own without being finalized anew, as (input, target).
    pub(crate) forward: &'static [(u16, u16)],
    /// The numbers of the Mercury code that the finalizer reads.
    pub(crate) finalizable: &'static [u16],
    /// The newest Mercury that can be finalized, the major number in the high byte; `None` where any can be.
    pub(crate) newest_mercury: Option<u16>,
    /// The newest instructions that can be finalized, in the same form; `None` where the record of them is not known.
    pub(crate) newest_instructions: Option<u16>,
    /// Architectures whose cubins must come from a toolkit that is not older than this one.
    pub(crate) oldest_toolkits: &'static [(u16, u32)],
    /// The values of `-cpu-arch`, in the order in which help texts list them.
    pub cpu_archs: &'static [&'static str],
}

impl Release {
    /// CUDA 13.0, with nvlink 13.0.88.
    pub const CUDA_13_0: &'static Self = &Self {
        name: "13.0",
        version: "13.0.88",
        toolkit: 130,
        nvjitlink: &["libnvJitLink.so.13", "libnvJitLink.so", "libnvJitLink.so.12"],
        abi: Abi::Eight,
        archs: &cuda_13_0::ARCHS,
        names: &cuda_13_0::NAMES,
        // 72 is not in the list: code for it is as unknown as for 71.
        deprecated: &[10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 69, 70],
        // 87, 88 and 89 give nothing, 87 and 88 take nothing, 90 and 110 have nobody.
        forward: &[(80, 86), (80, 89), (86, 89), (120, 121)],
        finalizable: &[90, 100, 101, 103, 110, 120, 121],
        newest_mercury: Some(0x0101),
        newest_instructions: None,
        oldest_toolkits: &[(50, 65), (90, 120)],
        cpu_archs: &["AARCH64", "ARMv7", "PPC64LE", "X86", "X86_64", "unknown"],
    };

    /// CUDA 13.1, with nvlink 13.1.115.
    pub const CUDA_13_1: &'static Self =
        &Self { name: "13.1", version: "13.1.115", toolkit: 131, ..*Self::CUDA_13_0 };

    /// CUDA 13.2, with nvlink 13.2.86.
    pub const CUDA_13_2: &'static Self = &Self {
        name: "13.2",
        version: "13.2.86",
        toolkit: 132,
        deprecated: &[10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 73],
        forward: &[
            (80, 86),
            (80, 87),
            (80, 88),
            (80, 89),
            (86, 87),
            (86, 88),
            (86, 89),
            (87, 88),
            (87, 89),
            (88, 89),
            (120, 121),
        ],
        newest_mercury: Some(0x0102),
        ..*Self::CUDA_13_1
    };

    /// CUDA 13.3, with nvlink 13.3.73.
    pub const CUDA_13_3: &'static Self = &Self {
        name: "13.3",
        version: "13.3.73",
        toolkit: 133,
        newest_mercury: None,
        newest_instructions: Some(0x0103),
        cpu_archs: &["AARCH64", "ARMv7", "PPC64LE", "RISCV64", "X86", "X86_64", "unknown"],
        ..*Self::CUDA_13_2
    };

    /// CUDA 13.4, with nvlink 13.4.92.
    pub const CUDA_13_4: &'static Self = &Self {
        name: "13.4",
        version: "13.4.92",
        toolkit: 134,
        archs: &cuda_13_4::ARCHS,
        names: &cuda_13_4::NAMES,
        finalizable: &[90, 100, 101, 103, 107, 110, 120, 121],
        newest_instructions: Some(0x0104),
        ..*Self::CUDA_13_3
    };

    /// CUDA 13.5. Only its library 13.5.37 is published, no nvlink.
    pub const CUDA_13_5: &'static Self =
        &Self { name: "13.5", version: "13.5.37", toolkit: 135, ..*Self::CUDA_13_4 };

    /// All releases whose nvlink solder replaces, the oldest first.
    pub const ALL: [&'static Self; 15] = [
        Self::CUDA_12_0,
        Self::CUDA_12_1,
        Self::CUDA_12_2,
        Self::CUDA_12_3,
        Self::CUDA_12_4,
        Self::CUDA_12_5,
        Self::CUDA_12_6,
        Self::CUDA_12_8,
        Self::CUDA_12_9,
        Self::CUDA_13_0,
        Self::CUDA_13_1,
        Self::CUDA_13_2,
        Self::CUDA_13_3,
        Self::CUDA_13_4,
        Self::CUDA_13_5,
    ];

    /// The newest one.
    pub const NEWEST: &'static Self = Self::ALL[Self::ALL.len() - 1];

    /// The number of a toolkit of some version, whether it is known or not: 139 for `13.9.10`.
    pub fn toolkit_of(version: &str) -> Option<u32> {
        let mut parts = version.split('.').map(str::parse::<u32>);
        match (parts.next()?, parts.next()?) {
            (Ok(major), Ok(minor)) if major < 100 && minor < 10 => Some(major * 10 + minor),
            _ => None,
        }
    }

    /// The oldest release that links objects of a toolkit, such as 132 for CUDA 13.2; `None` if all are too old for it.
    pub fn for_toolkit(toolkit: u32) -> Option<&'static Self> {
        Self::ALL.into_iter().find(|release| !release.is_older_than(toolkit))
    }

    /// This release, or the next later one that knows a target.
    #[must_use]
    pub fn or_later_for(&'static self, target: Target) -> &'static Self {
        let later = Self::ALL.into_iter().filter(|release| release.toolkit > self.toolkit);
        std::iter::once(self).chain(later).find(|release| release.knows(target.arch)).unwrap_or(self)
    }

    /// This release with the number of another toolkit, for one that is not known yet: it links objects of that toolkit.
    #[must_use]
    pub const fn standing_in(&self, toolkit: u32) -> Self {
        Self { toolkit, ..*self }
    }

    /// The names of all releases, for messages.
    pub fn list() -> String {
        Self::ALL.map(|release| release.name).join(", ")
    }

    /// The release that a tool of version `version`, such as `13.0.88`, belongs to.
    pub fn of_version(version: &str) -> Option<&'static Self> {
        let is_of = |release: &&&Self| {
            version.strip_prefix(release.name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        Self::ALL.iter().find(is_of).copied()
    }

    /// The architectures that can be linked for, by number; of equal numbers plain, `a`, `f`.
    pub const fn archs(&self) -> &'static [Arch] {
        self.archs
    }

    /// The names a target may have, in byte order, which is the order help texts list them in.
    pub const fn names(&self) -> &'static [&'static str] {
        self.names
    }

    /// Whether an architecture can be linked for.
    pub fn knows(&self, arch: Arch) -> bool {
        self.archs.contains(&arch)
    }

    /// Whether a number was a target of an earlier release.
    pub fn is_deprecated(&self, number: u16) -> bool {
        self.deprecated.contains(&number)
    }

    /// The architecture of this text, such as `90a`, if it can be linked for.
    pub fn arch(&self, text: &str) -> Option<Arch> {
        Arch::parse(text).filter(|arch| self.knows(*arch))
    }

    /// The target of this name. Exactly the names of [`Release::names`] are accepted.
    pub fn target(&self, name: &str) -> Option<Target> {
        Kind::ALL.into_iter().find_map(|kind| {
            let arch = self.arch(name.strip_prefix(kind.prefix())?)?;
            Some(Target::new(kind, arch))
        })
    }

    /// The release as the toolkit's tools print it: `release 13.0, V13.0.88`.
    pub fn banner(&self) -> String {
        format!("release {}, V{}", self.name, self.version)
    }

    /// The first part of the version. `-cuda-api-version` must name the same one.
    pub const fn major(&self) -> u32 {
        self.toolkit / 10
    }

    /// Whether objects of a toolkit, such as 129 for CUDA 12.9, are too new to be linked.
    pub const fn is_older_than(&self, toolkit: u32) -> bool {
        self.toolkit < toolkit
    }

    /// The oldest toolkit, as in 120 for CUDA 12.0, whose cubins for an architecture can be linked.
    pub fn oldest_toolkit(&self, number: u16) -> Option<u32> {
        self.oldest_toolkits.iter().find(|(of, _)| *of == number).map(|(_, toolkit)| *toolkit)
    }

    /// The suffix that code for an architecture has in effect; `None` if the release does not know the architecture.
    ///
    /// An `a` after a number that has no such variant is dropped, an `f` is not.
    pub(crate) fn recognize(&self, arch: Arch) -> Option<Suffix> {
        match arch.suffix {
            suffix if self.knows(arch) => Some(suffix),
            Suffix::A if self.knows(Arch::plain(arch.number)) => Some(Suffix::None),
            Suffix::A | Suffix::None if self.deprecated.contains(&arch.number) => Some(Suffix::None),
            _ => None,
        }
    }
}

/// From the texts of a release's architectures, their values and the names of its targets.
macro_rules! architectures {
    ($($text:literal)*) => {
        pub const ARCHS: [$crate::Arch; [$($text),*].len()] = [$($crate::release::arch($text)),*];
        pub const NAMES: [&str; 3 * ARCHS.len()] = $crate::release::sorted([
            $(concat!("compute_", $text), concat!("lto_", $text), concat!("sm_", $text)),*
        ]);
    };
}

pub(crate) use architectures;

mod cuda_13_0 {
    architectures! {
        "75" "80" "86" "87" "88" "89" "90" "90a"
        "100" "100a" "100f" "103" "103a" "103f" "110" "110a" "110f" "120" "120a" "120f" "121" "121a" "121f"
    }
}

mod cuda_13_4 {
    architectures! {
        "75" "80" "86" "87" "88" "89" "90" "90a"
        "100" "100a" "100f" "103" "103a" "103f" "107" "107a" "107f" "110" "110a" "110f"
        "120" "120a" "120f" "121" "121a" "121f"
    }
}

pub(crate) const fn arch(text: &str) -> Arch {
    match Arch::parse(text) {
        Some(arch) => arch,
        None => panic!("not an architecture"),
    }
}

/// The names in byte order.
pub(crate) const fn sorted<const COUNT: usize>(mut names: [&'static str; COUNT]) -> [&'static str; COUNT] {
    let mut end = 1;
    while end < COUNT {
        let mut at = end;
        while at > 0 && is_less(names[at].as_bytes(), names[at - 1].as_bytes()) {
            (names[at], names[at - 1]) = (names[at - 1], names[at]);
            at -= 1;
        }
        end += 1;
    }
    names
}

const fn is_less(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at < b.len() && (at == a.len() || a[at] < b[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_a_version_agree() {
        for release in Release::ALL {
            assert_eq!(format!("{}.{}", release.major(), release.toolkit % 10), release.name);
            assert_eq!(Release::of_version(release.version), Some(release));
            assert_eq!(Release::of_version(release.name), Some(release));
        }
        assert_eq!(Release::CUDA_13_0.banner(), "release 13.0, V13.0.88");
        for version in ["13.01.88", "12.7.86", "13", ""] {
            assert_eq!(Release::of_version(version), None, "{version}");
        }
    }

    #[test]
    fn releases_are_found_by_the_toolkit_of_objects_and_by_target() {
        let of = |toolkit| Release::for_toolkit(toolkit).map(|release| release.name);
        assert_eq!(
            [0, 118, 124, 127, 130, 132, 135, 136].map(of),
            [
                Some("12.0"),
                Some("12.0"),
                Some("12.4"),
                Some("12.8"),
                Some("13.0"),
                Some("13.2"),
                Some("13.5"),
                None
            ]
        );
        let target = Release::NEWEST.target("sm_107").expect("it is new in 13.4");
        assert_eq!(Release::CUDA_13_1.or_later_for(target), Release::CUDA_13_4);
        assert!(Release::ALL.is_sorted_by_key(|release| release.toolkit));
    }

    #[test]
    fn every_name_is_a_target_and_nothing_else_is() {
        for release in Release::ALL {
            for name in release.names() {
                assert_eq!(release.target(name).expect(name).to_string(), *name);
            }
            let targets =
                release.archs().iter().flat_map(|arch| Kind::ALL.map(|kind| Target::new(kind, *arch)));
            let mut printed: Vec<_> = targets.map(|target| target.to_string()).collect();
            printed.sort();
            assert_eq!(printed, release.names());
            assert!(release.archs().iter().map(|arch| arch.number).is_sorted());
        }
        assert_eq!(Release::CUDA_13_0.names().len(), 69);
        let other = [
            "",
            "sm_",
            "90",
            "sm_90f",
            "sm_75a",
            "sm_72",
            "sm_70",
            "sm_101",
            "sm_0100",
            "sm_+90",
            "SM_90",
            "sass_90",
            "compute90",
            "sm_90aa",
            "sm_65626",
            "sm_99999999",
            "sm_90 ",
            " sm_90",
            "lto_91",
        ];
        for name in other {
            assert_eq!(Release::CUDA_13_0.target(name), None, "{name:?}");
        }
    }

    #[test]
    fn old_numbers_are_recognized_and_an_a_that_does_not_exist_is_dropped() {
        let release = Release::CUDA_13_0;
        let recognized = |suffix| -> Vec<u16> {
            (0..75).filter(|&number| release.recognize(Arch::new(number, suffix)).is_some()).collect()
        };
        assert_eq!(recognized(Suffix::None), release.deprecated);
        assert_eq!(recognized(Suffix::A), release.deprecated);
        assert!(recognized(Suffix::F).is_empty());
        for text in ["72", "101", "91", "90f", "75f", "122", "1000"] {
            assert_eq!(release.recognize(arch(text)), None, "{text}");
        }
        assert_eq!(release.recognize(arch("89a")), Some(Suffix::None));
        assert_eq!(release.recognize(arch("90a")), Some(Suffix::A));
    }
}
