//! Whether Mercury code made for one architecture can be finalized for another.
//!
//! The answer depends on what the compiler recorded about the code: the attributes of `.nv.compat`, which a fat
//! binary member repeats in its header. Every rule here was confirmed by planting attribute values in cubins and
//! linking them with nvlink 13.0.88; the numbers of the refusals are the design documents'.

/// What the compiler recorded about a piece of Mercury code.
///
/// An attribute that is absent counts as zero, which refuses every other architecture when it is the ISA class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompatRecord {
    /// `ISA_CLASS`: which of the rules applies, 1 to 4.
    pub isa_class: u8,
    /// `INST_TCGEN05_MMA`.
    pub tcgen05: u8,
    /// `ENABLE_OPPORTUNISTIC_FINALIZATION`: how far from home the code may be finalized, 0 to 4.
    pub level: u8,
    /// `CUDA_ACCELERATOR_TARGET`: code for an `a` architecture.
    pub accelerated: u8,
    /// `MERCURY_ISA_MAJOR_MINOR_VERSION`, the major number in the high byte.
    pub version: u16,
}

impl CompatRecord {
    /// The newest Mercury that can be finalized.
    pub const NEWEST_VERSION: u16 = 0x0101;

    /// What the 13.0 assembler records for ordinary code.
    pub const fn ordinary(accelerated: bool) -> Self {
        Self {
            isa_class: 1,
            tcgen05: 5,
            level: 1,
            accelerated: accelerated as u8,
            version: Self::NEWEST_VERSION,
        }
    }

    pub const fn is_too_new(self) -> bool {
        self.version > Self::NEWEST_VERSION
    }

    /// Both halves of the `INST_TCGEN05_MMA` attribute say 1: the form that sm_100 and sm_103 share.
    const fn has_shared_tcgen05(self) -> bool {
        self.tcgen05 & 0xf == 0b0101
    }

    /// Leaving one's number needs level 2 or 3 when the code uses what only its own architecture has.
    const fn may_move_within_family(self) -> bool {
        self.accelerated == 0 || matches!(self.level, 2 | 3)
    }
}

/// Why code cannot be finalized for a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Refusal {
    NoRecord = 24,
    TooNew = 25,
    /// Class 1: another family, or a lower number, or accelerated code.
    Architecture = 26,
    Class4 = 27,
    Class3 = 28,
    /// Class 2: not upward within the family.
    Class2 = 29,
    UnknownClass = 30,
}

impl Refusal {
    pub const fn code(self) -> u8 {
        self as u8
    }
}

/// The highest level that has a meaning.
const LAST_LEVEL: u8 = 4;

/// Numbers under which an architecture was known before it got its final one.
const RENUMBERED: &[(u16, u16)] = &[(101, 110), (104, 120), (130, 107)];

/// The number an architecture goes by in finalization.
pub fn remap(number: u16) -> u16 {
    RENUMBERED.iter().find(|(old, _)| *old == number).map_or(number, |(_, new)| *new)
}

/// Two architectures of one family have numbers that differ in the last digit only.
pub const fn same_family(a: u16, b: u16) -> bool {
    a / 10 == b / 10
}

/// Whether Mercury code for the number `source`, described by `record`, can be finalized for `target`.
pub fn check(record: Option<CompatRecord>, source: u16, target: u16) -> Result<(), Refusal> {
    let record = record.ok_or(Refusal::NoRecord)?;
    if record.is_too_new() {
        return Err(Refusal::TooNew);
    }
    let (source, target) = (remap(source), remap(target));
    if source == target {
        return Ok(());
    }
    if record.level > LAST_LEVEL {
        return Err(Refusal::UnknownClass);
    }
    let upward_in_family = source < target && same_family(source, target) && record.may_move_within_family();
    let (allowed, refusal) = match record.isa_class {
        1 => (upward_in_family || leaves_family(record.level, source, target), Refusal::Architecture),
        2 => (upward_in_family, Refusal::Class2),
        3 => (class3(record, source, target), Refusal::Class3),
        4 => (false, Refusal::Class4),
        _ => (false, Refusal::UnknownClass),
    };
    if allowed { Ok(()) } else { Err(refusal) }
}

/// Level 3 opens all families but those of 110 and 121; level 4 opens exactly these.
fn leaves_family(level: u8, source: u16, target: u16) -> bool {
    let apart = [source, target].iter().any(|number| matches!(number, 110 | 121));
    source < target && !same_family(source, target) && level == if apart { 4 } else { 3 }
}

/// Accelerated code that is known to run on one later member of the family.
fn class3(record: CompatRecord, source: u16, target: u16) -> bool {
    let pair = match (source, target) {
        (100, 102 | 103) => record.has_shared_tcgen05(),
        (120, 121) => true,
        _ => false,
    };
    pair && record.accelerated != 0 && record.may_move_within_family()
}

/// The bit that stands for a target in the `CAN_FASTPATH_FINALIZE` attribute.
const FASTPATH: &[(u16, u64)] = &[(100, 0x01), (110, 0x02), (103, 0x08), (121, 0x40)];

/// Whether the finalizer's short way is open: for the code's own architecture where `own` says so, else where the
/// attribute has the target's bit. `mask` is `None` where the code has no such attribute.
pub fn has_fastpath(mask: Option<u64>, source: u16, target: u16, own: bool) -> bool {
    let (source, target) = (remap(source), remap(target));
    if own && source == target {
        return true;
    }
    let bit = FASTPATH.iter().find(|(number, _)| *number == target).map(|(_, bit)| *bit);
    matches!((mask, bit), (Some(mask), Some(bit)) if mask & bit != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sources among all numbers of a byte that are accepted for a target, other than itself.
    fn sources(record: CompatRecord, target: u16) -> Vec<u16> {
        (1..=255).filter(|&source| source != target && check(Some(record), source, target).is_ok()).collect()
    }

    fn range(from: u16, to: u16) -> impl Iterator<Item = u16> {
        from..=to
    }

    #[test]
    fn former_numbers_are_read_as_the_final_ones() {
        assert_eq!([104, 130, 101, 100, 110].map(remap), [120, 107, 110, 100, 110]);
    }

    #[test]
    fn refusals_have_the_documented_numbers() {
        let record = CompatRecord::ordinary(false);
        let code =
            |record: CompatRecord, source, target| check(Some(record), source, target).map_err(Refusal::code);
        assert_eq!(check(None, 100, 100).map_err(Refusal::code), Err(24));
        assert_eq!(code(CompatRecord { version: 0x102, ..record }, 100, 100), Err(25));
        assert_eq!(code(record, 103, 100), Err(26));
        assert_eq!(code(CompatRecord { isa_class: 4, ..record }, 100, 103), Err(27));
        assert_eq!(code(CompatRecord { isa_class: 3, ..record }, 100, 103), Err(28));
        assert_eq!(code(CompatRecord { isa_class: 2, ..record }, 103, 100), Err(29));
        assert_eq!(code(CompatRecord { isa_class: 5, ..record }, 100, 103), Err(30));
        assert_eq!(code(CompatRecord { level: 5, ..record }, 100, 103), Err(30));
        assert_eq!(code(record, 100, 103), Ok(()));
    }

    #[test]
    fn the_version_counts_even_at_home_and_nothing_else_does() {
        let odd = CompatRecord { isa_class: 9, tcgen05: 0, level: 9, accelerated: 1, version: 0 };
        assert_eq!(check(Some(odd), 101, 110), Ok(()));
        assert_eq!(check(Some(CompatRecord { version: 0x200, ..odd }), 101, 110), Err(Refusal::TooNew));
    }

    /// Sweep over every source number, for each level, as nvlink answered it.
    #[test]
    fn levels_open_what_was_observed() {
        for (level, accelerated) in [(0, 0), (1, 0), (2, 0), (2, 1)] {
            let record = CompatRecord { level, accelerated, ..CompatRecord::ordinary(false) };
            assert_eq!(sources(record, 75), [70, 71, 72, 73, 74]);
            assert!(sources(record, 100).is_empty());
            assert_eq!(sources(record, 103), [100, 102]);
            assert_eq!(sources(record, 110), [101]);
            assert_eq!(sources(record, 120), [104]);
            assert_eq!(sources(record, 121), [104, 120]);
        }
        for level in [0, 1] {
            let record = CompatRecord { level, ..CompatRecord::ordinary(true) };
            assert!(sources(record, 75).is_empty() && sources(record, 103).is_empty());
            assert!(sources(record, 121).is_empty());
        }
        for accelerated in [false, true] {
            let level3 = CompatRecord { level: 3, ..CompatRecord::ordinary(accelerated) };
            assert!(sources(level3, 100).into_iter().eq(range(1, 99)));
            assert!(sources(level3, 103).into_iter().eq(range(1, 100).chain([102])));
            assert_eq!(sources(level3, 110), [101]);
            let to_120 = range(1, 100).chain(range(102, 109)).chain(range(111, 119)).chain([130]);
            assert!(sources(level3, 120).into_iter().eq(to_120));
            assert_eq!(sources(level3, 121), [104, 120]);
        }
        let level4 = CompatRecord { level: 4, ..CompatRecord::ordinary(false) };
        assert!(sources(level4, 100).is_empty());
        assert!(sources(level4, 110).into_iter().eq(range(1, 103).chain(range(105, 109)).chain([130])));
        assert_eq!(sources(level4, 120), [101, 104, 110]);
        assert!(sources(level4, 121).into_iter().eq(range(1, 120).chain([130])));
        let accelerated = CompatRecord { level: 4, ..CompatRecord::ordinary(true) };
        assert!(sources(accelerated, 103).is_empty());
        assert!(sources(accelerated, 121).into_iter().eq(range(1, 103).chain(range(105, 119)).chain([130])));
    }

    /// What was accepted of all classes, levels and two values of each flag.
    #[test]
    fn classes_open_what_was_observed() {
        let accepted = |source, target, isa_class, accelerated, tcgen05| -> Vec<u8> {
            let with = |level| CompatRecord { isa_class, tcgen05, level, accelerated, version: 0x101 };
            (0..=5).filter(|&level| check(Some(with(level)), source, target).is_ok()).collect()
        };
        for tcgen05 in [0, 5, 0x35] {
            for class in [1, 2] {
                for (source, target) in [(100, 103), (102, 103), (120, 121), (104, 121)] {
                    assert_eq!(accepted(source, target, class, 0, tcgen05), [0, 1, 2, 3, 4]);
                    assert_eq!(accepted(source, target, class, 1, tcgen05), [2, 3]);
                }
            }
            for class in [0, 4, 5] {
                for (source, target) in [(100, 103), (120, 121), (100, 120), (100, 110)] {
                    assert!(accepted(source, target, class, 0, tcgen05).is_empty());
                    assert!(accepted(source, target, class, 1, tcgen05).is_empty());
                }
            }
            assert!(accepted(100, 120, 2, 0, tcgen05).is_empty());
            assert!(accepted(120, 121, 3, 0, tcgen05).is_empty());
            assert_eq!(accepted(120, 121, 3, 1, tcgen05), [2, 3]);
            assert!(accepted(102, 103, 3, 1, tcgen05).is_empty());
        }
        for tcgen05 in 0..=255_u8 {
            let expected: &[u8] = if tcgen05 & 0xf == 5 { &[2, 3] } else { &[] };
            assert_eq!(accepted(100, 103, 3, 1, tcgen05), expected);
        }
    }

    #[test]
    fn fastpath_bits() {
        let open = |mask| -> Vec<u16> {
            [100, 103, 110, 120, 121]
                .into_iter()
                .filter(|&to| has_fastpath(Some(mask), 90, to, false))
                .collect()
        };
        assert_eq!(open(0x09), [100, 103]);
        assert_eq!(open(0x02), [110]);
        assert_eq!(open(0x50), [121]);
        assert!(open(0).is_empty());
        assert!(has_fastpath(Some(0x02), 90, 101, false), "101 is 110");
        assert!(has_fastpath(None, 104, 120, true));
        assert!(!has_fastpath(None, 120, 120, false));
        assert!(!has_fastpath(None, 100, 103, true));
    }
}
