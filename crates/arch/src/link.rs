//! Which code links for which target.

use crate::finalize::CompatRecord;
use crate::{Arch, Release, Suffix};

/// What a cubin's header and `.nv.compat` section say about where it links.
#[derive(Clone, Copy, Debug)]
pub struct CubinArch {
    /// From `e_flags`, which know no suffix.
    pub number: u16,
    /// The `e_flags` bit of Mercury code. Only such code can be finalized for another architecture.
    pub is_mercury: bool,
    /// `None` where the section is missing.
    pub record: Option<CompatRecord>,
}

/// Whether a cubin links for a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CubinMatch {
    /// It does.
    Links,
    /// "arch does not match target".
    Mismatch,
    /// The architectures fit and the finalizer cannot read the code: "Internal FNLZR error".
    Unfinalizable,
    /// The architectures fit and the finalizer does not know the number of the code: the same, from 13.1 on "unsupported SM
    /// version".
    UnknownNumber,
}

impl Release {
    /// Whether machine code built for `input` by the release's own assembler links for `target`.
    ///
    /// The target's suffix never matters; the input's `a` ties it to its own number.
    pub fn links_sass(&self, input: Arch, target: Arch) -> bool {
        if input.is_mercury() {
            return self.links_mercury_member(input, Some(self.ordinary_record(input.has_a())), target);
        }
        self.links_member(input, target)
    }

    /// Whether PTX, or LTO IR, written for `input` can be compiled for `target`.
    ///
    /// PTX of deprecated architectures is usable; that of numbers the release does not know is not.
    pub fn links_ptx(&self, input: Arch, target: Arch) -> bool {
        let upward = input.number <= target.number;
        match self.recognize(input) {
            Some(Suffix::None) => upward,
            Some(Suffix::F) => upward && input.is_same_family(target),
            Some(Suffix::A) if self.ties_accelerated_ptx() => input == target,
            Some(Suffix::A) => input.number == target.number,
            None => false,
        }
    }

    /// Whether a machine code member of a fat binary that is not flagged as Mercury is usable for `target`. Below 100
    /// this is the rule of cubins; above, where the flag is never missing in practice, suffixes matter.
    pub fn links_member(&self, input: Arch, target: Arch) -> bool {
        let Some(suffix) = self.recognize(input) else { return false };
        if input.number != target.number {
            return suffix == Suffix::None && self.forward.contains(&(input.number, target.number));
        }
        match suffix {
            Suffix::None => true,
            Suffix::A => target.suffix == Suffix::A || !target.is_mercury() && !self.ties_accelerated_code(),
            Suffix::F => target.suffix != Suffix::A,
        }
    }

    /// The same for a member flagged as Mercury. `record` is the copy of the compatibility attributes in its header,
    /// which is believed over the suffix in its flags, and is not looked at for its own number.
    pub fn links_mercury_member(&self, input: Arch, record: Option<CompatRecord>, target: Arch) -> bool {
        // From 13.1 on the flags alone say whether it is accelerated (fatbin/mercury-attributes).
        let accelerated = u8::from(input.has_a());
        let record = match record {
            Some(record) if self.ties_accelerated_code() => Some(CompatRecord { accelerated, ..record }),
            record => record,
        };
        let finalized = || self.finalizes(record, input.number, target.number).is_ok();
        let is_tied = self.ties_accelerated_code() && input.has_a() && !target.has_a();
        self.recognize(input).is_some() && !is_tied && (input.number == target.number || finalized())
    }

    /// Whether machine code for one number is used for another one as it is, without being finalized anew.
    pub fn is_listed(&self, input: u16, target: u16) -> bool {
        input == target || self.forward.contains(&(input, target))
    }

    /// Whether a cubin links for `target`.
    pub fn links_cubin(&self, cubin: &CubinArch, target: Arch) -> CubinMatch {
        let finalized = || self.finalizes(cubin.record, cubin.number, target.number).is_ok();
        if !(self.links_cubin_by_name(cubin, target) || cubin.is_mercury && finalized()) {
            return CubinMatch::Mismatch;
        }
        let reads = |record| self.reads_mercury(record) && self.knows_instructions(record);
        if !cubin.is_mercury {
            CubinMatch::Links
        } else if !cubin.record.is_none_or(reads) {
            CubinMatch::Unfinalizable
        } else if !self.finalizable.contains(&cubin.number) {
            CubinMatch::UnknownNumber
        } else {
            CubinMatch::Links
        }
    }

    /// Only the value 1 makes an `a` name of a cubin, while finalization takes any but 0 for accelerated; and the
    /// list of what sm_120 links for has 121 and 121a, but not 121f. Both show only where finalization refuses.
    fn links_cubin_by_name(&self, cubin: &CubinArch, target: Arch) -> bool {
        let accelerated = cubin.record.is_some_and(|record| record.accelerated == 1);
        let suffix = if accelerated { Suffix::A } else { Suffix::None };
        let Some(suffix) = self.recognize(Arch::new(cubin.number, suffix)) else { return false };
        if cubin.number == target.number {
            return suffix == Suffix::None || target.suffix != Suffix::F;
        }
        let listed = self.forward.contains(&(cubin.number, target.number)) && target.suffix != Suffix::F;
        suffix == Suffix::None && listed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RELEASE: &Release = Release::CUDA_13_0;

    fn ordinary(accelerated: bool) -> CompatRecord {
        RELEASE.ordinary_record(accelerated)
    }

    fn archs() -> impl Iterator<Item = Arch> {
        RELEASE.archs().iter().copied()
    }

    fn arch(text: &str) -> Arch {
        Arch::parse(text).expect(text)
    }

    fn links(cubin: CubinArch, target: &str) -> CubinMatch {
        RELEASE.links_cubin(&cubin, arch(target))
    }

    /// One row per input: the targets that nvlink accepted in the run over all 23 x 23 pairs.
    const SASS: [(&str, &str); 23] = [
        ("75", "75"),
        ("80", "80 86 89"),
        ("86", "86 89"),
        ("87", "87"),
        ("88", "88"),
        ("89", "89"),
        ("90", "90 90a"),
        ("90a", "90 90a"),
        ("100", "100 100a 100f 103 103a 103f"),
        ("100a", "100 100a 100f"),
        ("100f", "100 100a 100f 103 103a 103f"),
        ("103", "103 103a 103f"),
        ("103a", "103 103a 103f"),
        ("103f", "103 103a 103f"),
        ("110", "110 110a 110f"),
        ("110a", "110 110a 110f"),
        ("110f", "110 110a 110f"),
        ("120", "120 120a 120f 121 121a 121f"),
        ("120a", "120 120a 120f"),
        ("120f", "120 120a 120f 121 121a 121f"),
        ("121", "121 121a 121f"),
        ("121a", "121 121a 121f"),
        ("121f", "121 121a 121f"),
    ];

    const CORE_FROM_75: &str = "75 80 86 87 88 89 90 90a";
    const MERCURY: &str = "100 100a 100f 103 103a 103f 110 110a 110f 120 120a 120f 121 121a 121f";

    fn targets(input: &str, accepts: fn(&Release, Arch, Arch) -> bool) -> String {
        let input = arch(input);
        let accepted = archs().filter(|&target| accepts(RELEASE, input, target));
        accepted.map(|target| target.to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn machine_code_links_as_in_the_observed_matrix() {
        for (input, accepted) in SASS {
            assert_eq!(targets(input, Release::links_sass), accepted, "sm_{input}");
        }
        let pairs: usize = SASS.iter().map(|(_, accepted)| accepted.split(' ').count()).sum();
        assert_eq!(pairs, 70);
    }

    #[test]
    fn ptx_links_as_in_the_observed_matrix() {
        let family = [
            ("100f", "100 100a 100f 103 103a 103f"),
            ("103f", "103 103a 103f"),
            ("110f", "110 110a 110f"),
            ("120f", "120 120a 120f 121 121a 121f"),
            ("121f", "121 121a 121f"),
        ];
        for (input, accepted) in family {
            assert_eq!(targets(input, Release::links_ptx), accepted, "compute_{input}");
        }
        for input in ["90a", "100a", "103a", "110a", "120a", "121a"] {
            assert_eq!(targets(input, Release::links_ptx), input);
        }
        let all = format!("{CORE_FROM_75} {MERCURY}");
        for input in ["75", "80", "86", "87", "88", "89", "90", "100", "103", "110", "120", "121"] {
            let from = all.find(input).expect(input);
            assert_eq!(targets(input, Release::links_ptx), all[from..], "compute_{input}");
        }
    }

    fn cubin(number: u16, record: CompatRecord) -> CubinArch {
        CubinArch { number, is_mercury: number >= 100, record: Some(record) }
    }

    #[test]
    fn cubins_link_as_in_the_observed_matrix() {
        for input in archs() {
            for target in archs() {
                let verdict = RELEASE.links_cubin(&cubin(input.number, ordinary(input.has_a())), target);
                let expected =
                    if RELEASE.links_sass(input, target) { CubinMatch::Links } else { CubinMatch::Mismatch };
                assert_eq!(verdict, expected, "{input} {target}");
            }
        }
    }

    #[test]
    fn cubins_without_finalization_link_by_name() {
        let accepted = |number, accelerated| {
            let record = Some(CompatRecord { accelerated, ..ordinary(false) });
            let cubin = CubinArch { number, is_mercury: false, record };
            let links = archs().filter(|&target| RELEASE.links_cubin(&cubin, target) == CubinMatch::Links);
            links.map(|target| target.to_string()).collect::<Vec<_>>().join(" ")
        };
        for accelerated in [0, 2] {
            assert_eq!(accepted(100, accelerated), "100 100a 100f");
            assert_eq!(accepted(120, accelerated), "120 120a 120f 121 121a");
            assert_eq!(accepted(121, accelerated), "121 121a 121f");
        }
        assert_eq!(accepted(100, 1), "100 100a");
        assert_eq!(accepted(120, 1), "120 120a");
        assert_eq!(accepted(90, 1), "90 90a");
        assert_eq!(accepted(80, 1), "80 86 89");
    }

    #[test]
    fn renumbered_and_unknown_cubins() {
        let ordinary = ordinary(false);
        assert_eq!(links(cubin(101, ordinary), "110"), CubinMatch::Links);
        assert_eq!(links(cubin(101, RELEASE.ordinary_record(true)), "110f"), CubinMatch::Links);
        assert_eq!(links(cubin(104, ordinary), "120"), CubinMatch::UnknownNumber);
        assert_eq!(links(cubin(102, ordinary), "103"), CubinMatch::UnknownNumber);
        assert_eq!(links(cubin(102, ordinary), "100"), CubinMatch::Mismatch);
        let newer = CompatRecord { version: 0x102, ..ordinary };
        assert_eq!(links(cubin(100, newer), "100"), CubinMatch::Unfinalizable);
        assert_eq!(links(cubin(120, newer), "121"), CubinMatch::Unfinalizable);
        assert_eq!(links(cubin(100, newer), "103"), CubinMatch::Mismatch);
        assert_eq!(links(cubin(101, newer), "110"), CubinMatch::Mismatch);
        let bare = CubinArch { number: 100, is_mercury: true, record: None };
        assert_eq!(links(bare, "100"), CubinMatch::Links);
        assert_eq!(links(bare, "103"), CubinMatch::Mismatch);
        let two = CompatRecord { accelerated: 2, ..ordinary };
        assert_eq!(links(cubin(120, two), "121a"), CubinMatch::Links);
        assert_eq!(links(cubin(120, two), "121f"), CubinMatch::Mismatch);
    }

    #[test]
    fn members_without_the_flag_link_by_name() {
        let by_name = |input: &str| targets(input, Release::links_member);
        for input in ["75", "80", "86", "87", "88", "89", "90", "90a"] {
            let row = SASS.iter().find(|(name, _)| *name == input).expect(input);
            assert_eq!(by_name(input), row.1);
        }
        for number in ["100", "103", "110", "121"] {
            assert_eq!(by_name(number), format!("{number} {number}a {number}f"));
        }
        assert_eq!(by_name("120"), "120 120a 120f 121 121a 121f");
        for number in ["100", "103", "110", "120", "121"] {
            assert_eq!(by_name(&format!("{number}a")), format!("{number}a"));
            assert_eq!(by_name(&format!("{number}f")), format!("{number} {number}f"));
        }
    }

    #[test]
    fn a_record_overrides_the_name_of_a_member() {
        let with = |input: &str| {
            let ordinary = Some(ordinary(false));
            let input = arch(input);
            let accepted = archs().filter(|&target| RELEASE.links_mercury_member(input, ordinary, target));
            accepted.map(|target| target.to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(with("80"), "80 86 87 88 89");
        assert_eq!(with("100a"), "100 100a 100f 103 103a 103f");
        assert_eq!(with("120f"), "120 120a 120f 121 121a 121f");
        let newer = Some(CompatRecord { version: 0x102, ..ordinary(false) });
        assert!(RELEASE.links_mercury_member(arch("100a"), newer, arch("100f")));
        assert!(!RELEASE.links_mercury_member(Arch::plain(100), newer, Arch::plain(103)));
        let ordinary = Some(ordinary(false));
        assert!(
            !RELEASE.links_mercury_member(Arch::plain(101), ordinary, Arch::plain(110)),
            "101 is not a known name"
        );
    }

    #[test]
    fn ptx_of_old_and_unknown_architectures() {
        let accepted = |suffix, target| -> Vec<u16> {
            (0..=999).filter(|&number| RELEASE.links_ptx(Arch::new(number, suffix), target)).collect()
        };
        let mut old = RELEASE.deprecated.to_vec();
        old.extend([75, 80, 86, 87, 88, 89]);
        assert_eq!(accepted(Suffix::A, Arch::plain(103)), old);
        assert_eq!(accepted(Suffix::A, Arch::plain(90)), old);
        old.push(90);
        assert_eq!(accepted(Suffix::A, arch("90a")), old);
        assert_eq!(accepted(Suffix::None, Arch::plain(90)), old);
        old.extend([100, 103, 110]);
        assert_eq!(accepted(Suffix::None, arch("110f")), old);
        assert_eq!(accepted(Suffix::F, Arch::plain(103)), [100, 103]);
        assert_eq!(accepted(Suffix::F, arch("121f")), [120, 121]);
        assert!(accepted(Suffix::F, Arch::plain(90)).is_empty());
    }
}
