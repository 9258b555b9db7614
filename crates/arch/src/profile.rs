//! The profile of every target: what the design documents' database holds for each of the 69 names.
//!
//! The rows are the twelve numbers; a number's variants and the three kinds of each follow from its row.

use crate::{Arch, Kind, Suffix, Target};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IsaClass {
    Turing,
    Ampere,
    Ada,
    Hopper,
    Blackwell,
}

impl IsaClass {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Turing => "Turing",
            Self::Ampere => "Ampere",
            Self::Ada => "Ada",
            Self::Hopper => "Hopper",
            Self::Blackwell => "Blackwell",
        }
    }
}

/// The capability sets that the documents tell apart; the labels are ours, the contents are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Capability {
    /// First vector of every profile.
    Common,
    /// Second vector: what distinguishes the chips of a generation.
    Turing,
    /// Second vector of 80, 90, 100 and 103.
    DataCenter,
    /// Second vector of 86, 87 and 88.
    AmpereClient,
    /// Second vector of 89, 110, 120 and 121.
    AdaClient,
    /// Third vector before 100.
    Final,
    /// Third vector from 100 on.
    Mercury,
}

/// One number: its class, what sets it apart, and which suffixes exist.
struct Row {
    number: u16,
    isa_class: IsaClass,
    second: Capability,
    finalization_class: u8,
    suffixes: &'static [Suffix],
}

const PLAIN: &[Suffix] = &[Suffix::None];
const WITH_A: &[Suffix] = &[Suffix::None, Suffix::A];
const WITH_A_AND_F: &[Suffix] = &[Suffix::None, Suffix::A, Suffix::F];

const fn row(number: u16, isa_class: IsaClass, second: Capability, suffixes: &'static [Suffix]) -> Row {
    // Only Ada's profile has a class of its own.
    let finalization_class = matches!(isa_class, IsaClass::Ada) as u8;
    Row { number, isa_class, second, finalization_class, suffixes }
}

/// In the documents' order of registration, which is not the numeric one.
const ROWS: [Row; 12] = [
    row(75, IsaClass::Turing, Capability::Turing, PLAIN),
    row(80, IsaClass::Ampere, Capability::DataCenter, PLAIN),
    row(86, IsaClass::Ampere, Capability::AmpereClient, PLAIN),
    row(87, IsaClass::Ampere, Capability::AmpereClient, PLAIN),
    row(88, IsaClass::Ampere, Capability::AmpereClient, PLAIN),
    row(89, IsaClass::Ada, Capability::AdaClient, PLAIN),
    row(90, IsaClass::Hopper, Capability::DataCenter, WITH_A),
    row(100, IsaClass::Blackwell, Capability::DataCenter, WITH_A_AND_F),
    row(110, IsaClass::Blackwell, Capability::AdaClient, WITH_A_AND_F),
    row(103, IsaClass::Blackwell, Capability::DataCenter, WITH_A_AND_F),
    row(120, IsaClass::Blackwell, Capability::AdaClient, WITH_A_AND_F),
    row(121, IsaClass::Blackwell, Capability::AdaClient, WITH_A_AND_F),
];

/// Members of a generation's list that have another number than the profile itself.
const GENERATION: &[(u16, &[Arch])] = &[
    (80, &[Arch::plain(86), Arch::plain(87), Arch::plain(88), Arch::plain(89)]),
    (86, &[Arch::plain(89)]),
    (120, &[Arch::plain(121), Arch::a(121)]),
];

/// The lowest architecture of general use.
pub const DEFAULT_MINIMUM: u16 = 80;

/// What the database holds for one target. It can only be had for a target that exists.
#[derive(Clone, Copy)]
pub struct Profile {
    target: Target,
    row: &'static Row,
}

impl Profile {
    pub fn of(target: Target) -> Option<Self> {
        let row = ROWS.iter().find(|row| row.number == target.arch.number)?;
        row.suffixes.contains(&target.arch.suffix).then_some(Self { target, row })
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::of(Target::parse(name)?)
    }

    /// All 69, in the documents' order: for each architecture the real, the virtual and the LTO profile.
    pub fn all() -> impl Iterator<Item = Self> {
        const TRIPLET: [Kind; 3] = [Kind::Sm, Kind::Compute, Kind::Lto];
        ROWS.iter().flat_map(|row| {
            let archs = row.suffixes.iter().map(|&suffix| Arch::new(row.number, suffix));
            archs.flat_map(move |arch| TRIPLET.map(|kind| Self { target: Target::new(kind, arch), row }))
        })
    }

    pub fn target(&self) -> Target {
        self.target
    }

    fn arch(&self) -> Arch {
        self.target.arch
    }

    /// The name shown to people: an LTO profile shows that of its virtual architecture.
    pub fn display_name(&self) -> String {
        match self.target.kind {
            Kind::Lto => self.virtual_profile().target.to_string(),
            Kind::Sm | Kind::Compute => self.target.to_string(),
        }
    }

    /// Suffix variants have the class of the plain architecture.
    pub fn isa_class(&self) -> IsaClass {
        self.row.isa_class
    }

    /// The preprocessor definition of the architecture. LTO profiles keep the suffix in it.
    pub fn cuda_arch_define(&self) -> String {
        let suffix = if self.target.kind == Kind::Lto { self.arch().suffix } else { Suffix::None };
        format!("-D__CUDA_ARCH__={}{}0", self.arch().number, suffix.as_str())
    }

    pub fn capabilities(&self) -> [Capability; 3] {
        let third = if self.target.is_mercury() { Capability::Mercury } else { Capability::Final };
        [Capability::Common, self.row.second, third]
    }

    pub fn finalization_class(&self) -> u8 {
        if self.target.kind == Kind::Sm { self.row.finalization_class } else { 0 }
    }

    /// The profile of the virtual architecture that belongs to this one; a virtual profile's is itself.
    #[must_use]
    pub fn virtual_profile(&self) -> Self {
        Self { target: Target::new(Kind::Compute, self.arch()), row: self.row }
    }

    /// Architectures whose numbers differ in the last digit only are a family.
    pub fn is_same_family(&self, other: &Self) -> bool {
        crate::finalize::same_family(self.arch().number, other.arch().number)
    }

    /// First list: the counterpart of the other kind, itself, and for a suffix variant the plain architecture.
    pub fn cross_variants(&self) -> Vec<Target> {
        let arch = self.arch();
        let (real, compute) = (Target::sm(arch), Target::new(Kind::Compute, arch));
        match self.target.kind {
            Kind::Lto => Vec::new(),
            Kind::Compute => vec![real],
            Kind::Sm if arch.suffix == Suffix::None => vec![compute, real],
            Kind::Sm => vec![compute, real, Target::sm(Arch::plain(arch.number))],
        }
    }

    /// Second list: the real architectures that code of this one is meant for. A suffix variant lists itself and
    /// the plain one, the plain one all variants and later members of the generation.
    pub fn generation(&self) -> Vec<Target> {
        if self.target.kind != Kind::Sm {
            return Vec::new();
        }
        let arch = self.arch();
        let plain = Arch::plain(arch.number);
        let archs = if arch.suffix == Suffix::None {
            let variants = self.row.suffixes.iter().map(|&suffix| Arch::new(arch.number, suffix));
            let others = GENERATION.iter().filter(|(number, _)| *number == arch.number);
            variants.chain(others.flat_map(|(_, archs)| archs.iter().copied())).collect()
        } else {
            vec![arch, plain]
        };
        archs.into_iter().map(Target::sm).collect()
    }

    /// Third list: from the virtual architecture to the real one and back.
    pub fn counterparts(&self) -> Vec<Target> {
        match self.target.kind {
            Kind::Sm => vec![Target::new(Kind::Compute, self.arch())],
            Kind::Compute => vec![Target::sm(self.arch())],
            Kind::Lto => Vec::new(),
        }
    }

    /// The real architecture that code of this profile is compiled for.
    pub fn real_target(&self) -> Target {
        Target::sm(self.arch())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NAMES;

    fn profile(name: &str) -> Profile {
        Profile::named(name).expect(name)
    }

    fn names(targets: &[Target]) -> String {
        targets.iter().map(Target::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn all_profiles_are_the_69_names() {
        let mut all: Vec<_> = Profile::all().map(|profile| profile.target().to_string()).collect();
        assert_eq!(all[..6], ["sm_75", "compute_75", "lto_75", "sm_80", "compute_80", "lto_80"]);
        all.sort();
        assert_eq!(all, NAMES);
    }

    /// The documents' table of architectures in their order, with class, definition and the LTO profile's own.
    #[test]
    fn profiles_agree_with_the_documents_table() {
        let table = [
            ("75", "Turing", "750", "750"),
            ("80", "Ampere", "800", "800"),
            ("86", "Ampere", "860", "860"),
            ("87", "Ampere", "870", "870"),
            ("88", "Ampere", "880", "880"),
            ("89", "Ada", "890", "890"),
            ("90", "Hopper", "900", "900"),
            ("90a", "Hopper", "900", "90a0"),
            ("100", "Blackwell", "1000", "1000"),
            ("100a", "Blackwell", "1000", "100a0"),
            ("100f", "Blackwell", "1000", "100f0"),
            ("110", "Blackwell", "1100", "1100"),
            ("110a", "Blackwell", "1100", "110a0"),
            ("110f", "Blackwell", "1100", "110f0"),
            ("103", "Blackwell", "1030", "1030"),
            ("103a", "Blackwell", "1030", "103a0"),
            ("103f", "Blackwell", "1030", "103f0"),
            ("120", "Blackwell", "1200", "1200"),
            ("120a", "Blackwell", "1200", "120a0"),
            ("120f", "Blackwell", "1200", "120f0"),
            ("121", "Blackwell", "1210", "1210"),
            ("121a", "Blackwell", "1210", "121a0"),
            ("121f", "Blackwell", "1210", "121f0"),
        ];
        let real: Vec<_> = Profile::all().filter(|profile| profile.target().kind == Kind::Sm).collect();
        assert_eq!(real.len(), table.len());
        for (profile, (arch, class, define, lto_define)) in real.iter().zip(table) {
            assert_eq!(profile.target().to_string(), format!("sm_{arch}"));
            assert_eq!(profile.isa_class().as_str(), class);
            assert_eq!(profile.cuda_arch_define(), format!("-D__CUDA_ARCH__={define}"));
            let lto = self::profile(&format!("lto_{arch}"));
            assert_eq!(lto.cuda_arch_define(), format!("-D__CUDA_ARCH__={lto_define}"));
            assert_eq!(lto.display_name(), format!("compute_{arch}"));
            assert_eq!(lto.virtual_profile().target().to_string(), format!("compute_{arch}"));
            assert_eq!(lto.virtual_profile().virtual_profile().target(), lto.virtual_profile().target());
            assert_eq!(lto.real_target(), profile.target());
        }
    }

    #[test]
    fn capabilities_agree_with_the_documents_table() {
        use Capability::{AdaClient, AmpereClient, Common, DataCenter, Final, Mercury, Turing};
        let table = [
            ("75", Turing, Final),
            ("80", DataCenter, Final),
            ("86", AmpereClient, Final),
            ("87", AmpereClient, Final),
            ("88", AmpereClient, Final),
            ("89", AdaClient, Final),
            ("90", DataCenter, Final),
            ("90a", DataCenter, Final),
            ("100f", DataCenter, Mercury),
            ("103", DataCenter, Mercury),
            ("110a", AdaClient, Mercury),
            ("120", AdaClient, Mercury),
            ("121f", AdaClient, Mercury),
        ];
        for (arch, second, third) in table {
            for prefix in ["sm_", "compute_", "lto_"] {
                assert_eq!(profile(&format!("{prefix}{arch}")).capabilities(), [Common, second, third]);
            }
        }
    }

    #[test]
    fn only_ada_has_a_finalization_class() {
        let classed: Vec<_> = Profile::all().filter(|profile| profile.finalization_class() != 0).collect();
        assert_eq!(classed.len(), 1);
        assert_eq!(classed[0].target().to_string(), "sm_89");
    }

    #[test]
    fn lists_agree_with_the_documents_examples() {
        assert_eq!(names(&profile("sm_100").cross_variants()), "compute_100 sm_100");
        assert_eq!(names(&profile("compute_100").cross_variants()), "sm_100");
        assert_eq!(names(&profile("sm_100a").cross_variants()), "compute_100a sm_100a sm_100");
        assert_eq!(names(&profile("sm_100f").cross_variants()), "compute_100f sm_100f sm_100");
        assert_eq!(names(&profile("sm_75").counterparts()), "compute_75");
        assert_eq!(names(&profile("compute_75").counterparts()), "sm_75");
        assert_eq!(names(&profile("sm_80").generation()), "sm_80 sm_86 sm_87 sm_88 sm_89");
        assert_eq!(names(&profile("sm_100").generation()), "sm_100 sm_100a sm_100f");
        assert_eq!(names(&profile("sm_100a").generation()), "sm_100a sm_100");
        assert_eq!(names(&profile("sm_120").generation()), "sm_120 sm_120a sm_120f sm_121 sm_121a");
    }

    #[test]
    fn families_agree_with_the_documents_table() {
        let table = ["75", "80 86 87 88 89", "90 90a", "100 103", "110", "120 121"];
        let family =
            |number: &str| table.iter().position(|row| row.split(' ').any(|member| member == number));
        for a in table.join(" ").split(' ') {
            for b in table.join(" ").split(' ') {
                let same = profile(&format!("sm_{a}")).is_same_family(&profile(&format!("compute_{b}")));
                assert_eq!(same, family(a) == family(b), "{a} {b}");
            }
        }
    }
}
