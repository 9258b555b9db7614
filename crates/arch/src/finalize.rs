//! Whether Mercury code made for one architecture can be finalized for another.
//!
//! The answer depends on what the compiler recorded about the code: the attributes of `.nv.compat`, which a fat
//! binary member repeats in its header. Every rule here was confirmed by planting attribute values in cubins and
//! linking them with nvlink 13.0.88.

use crate::{Release, same_family};

/// What the compiler recorded about a piece of Mercury code.
///
/// An attribute that is absent is taken for zero, which refuses every other architecture when it is the ISA class; a version
/// for 1.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// The version of all instructions, in the same form. Assemblers write it from 13.3 on.
    pub instructions: u16,
}

/// What code is of that names no version: 1.0.
const OLDEST_VERSION: u16 = 0x0100;

/// The value of `CUDA_ACCELERATOR_TARGET` that finalizers do not read from 13.1 on. No assembler was seen to write it.
const UNREADABLE_TARGET: u8 = 2;

impl Default for CompatRecord {
    fn default() -> Self {
        Self {
            isa_class: 0,
            tcgen05: 0,
            level: 0,
            accelerated: 0,
            version: OLDEST_VERSION,
            instructions: OLDEST_VERSION,
        }
    }
}

impl CompatRecord {
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
pub enum Refusal {
    /// The code has no record.
    NoRecord,
    /// It is Mercury that the release does not read, mostly of a newer version.
    Unreadable,
    /// Class 1: another family, or a lower number, or accelerated code.
    Architecture,
    /// Class 4 stays with its number.
    Class4,
    /// Class 3: not one of the pairs that are open to it.
    Class3,
    /// Class 2: not upward within the family.
    Class2,
    /// The class or the level has no meaning.
    UnknownClass,
}

/// The highest level that has a meaning.
const LAST_LEVEL: u8 = 4;

/// Numbers under which an architecture was known before it got its final one.
const RENUMBERED: &[(u16, u16)] = &[(101, 110), (104, 120), (130, 107)];

/// The number an architecture goes by in finalization.
fn remap(number: u16) -> u16 {
    RENUMBERED.iter().find(|(old, _)| *old == number).map_or(number, |(_, new)| *new)
}

impl Release {
    /// What the release's assembler records for ordinary code.
    pub const fn ordinary_record(&self, accelerated: bool) -> CompatRecord {
        CompatRecord {
            isa_class: 1,
            tcgen05: 5,
            level: 1,
            accelerated: accelerated as u8,
            version: 0x0101,
            instructions: 0x0101,
        }
    }

    /// Whether the release reads Mercury that says this of itself (compat/finalization).
    pub fn reads_mercury(&self, record: CompatRecord) -> bool {
        let is_newer = self.newest_mercury.is_some_and(|newest| record.version > newest);
        let is_odd = self.refuses_odd_records()
            && (record.accelerated == UNREADABLE_TARGET
                || self.newest_mercury.is_some() && record.version == 0);
        !is_newer && !is_odd
    }

    /// Whether the finalizer knows the instructions of code. This does not matter for where code links (compat/instructions).
    pub fn knows_instructions(&self, record: CompatRecord) -> bool {
        self.newest_instructions.is_none_or(|newest| (1..=newest).contains(&record.instructions))
    }

    /// Whether Mercury code for the number `source`, described by `record`, can be finalized for `target`.
    pub fn finalizes(&self, record: Option<CompatRecord>, source: u16, target: u16) -> Result<(), Refusal> {
        let record = record.ok_or(Refusal::NoRecord)?;
        if !self.reads_mercury(record) {
            return Err(Refusal::Unreadable);
        }
        let (source, target) = (remap(source), remap(target));
        if source == target {
            return Ok(());
        }
        if record.level > LAST_LEVEL {
            return Err(Refusal::UnknownClass);
        }
        let upward_in_family =
            source < target && same_family(source, target) && record.may_move_within_family();
        let (allowed, refusal) = match record.isa_class {
            1 => (upward_in_family || leaves_family(record.level, source, target), Refusal::Architecture),
            2 => (upward_in_family, Refusal::Class2),
            3 => (class3(record, source, target), Refusal::Class3),
            4 => (false, Refusal::Class4),
            _ => (false, Refusal::UnknownClass),
        };
        if allowed { Ok(()) } else { Err(refusal) }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(record: Option<CompatRecord>, source: u16, target: u16) -> Result<(), Refusal> {
        Release::CUDA_13_0.finalizes(record, source, target)
    }

    fn ordinary(accelerated: bool) -> CompatRecord {
        Release::CUDA_13_0.ordinary_record(accelerated)
    }

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
    fn refusals() {
        let record = ordinary(false);
        let with = |record: CompatRecord, source, target| check(Some(record), source, target);
        assert_eq!(check(None, 100, 100), Err(Refusal::NoRecord));
        assert_eq!(with(CompatRecord { version: 0x102, ..record }, 100, 100), Err(Refusal::Unreadable));
        assert_eq!(with(record, 103, 100), Err(Refusal::Architecture));
        assert_eq!(with(CompatRecord { isa_class: 4, ..record }, 100, 103), Err(Refusal::Class4));
        assert_eq!(with(CompatRecord { isa_class: 3, ..record }, 100, 103), Err(Refusal::Class3));
        assert_eq!(with(CompatRecord { isa_class: 2, ..record }, 103, 100), Err(Refusal::Class2));
        assert_eq!(with(CompatRecord { isa_class: 5, ..record }, 100, 103), Err(Refusal::UnknownClass));
        assert_eq!(with(CompatRecord { level: 5, ..record }, 100, 103), Err(Refusal::UnknownClass));
        assert_eq!(with(record, 100, 103), Ok(()));
    }

    #[test]
    fn the_version_counts_even_at_home_and_nothing_else_does() {
        let odd =
            CompatRecord { isa_class: 9, tcgen05: 0, level: 9, accelerated: 1, version: 0, instructions: 0 };
        assert_eq!(check(Some(odd), 101, 110), Ok(()));
        assert_eq!(check(Some(CompatRecord { version: 0x200, ..odd }), 101, 110), Err(Refusal::Unreadable));
    }

    /// Sweep over every source number, for each level, as nvlink answered it.
    #[test]
    fn levels_open_what_was_observed() {
        for (level, accelerated) in [(0, 0), (1, 0), (2, 0), (2, 1)] {
            let record = CompatRecord { level, accelerated, ..ordinary(false) };
            assert_eq!(sources(record, 75), [70, 71, 72, 73, 74]);
            assert!(sources(record, 100).is_empty());
            assert_eq!(sources(record, 103), [100, 102]);
            assert_eq!(sources(record, 110), [101]);
            assert_eq!(sources(record, 120), [104]);
            assert_eq!(sources(record, 121), [104, 120]);
        }
        for level in [0, 1] {
            let record = CompatRecord { level, ..ordinary(true) };
            assert!(sources(record, 75).is_empty() && sources(record, 103).is_empty());
            assert!(sources(record, 121).is_empty());
        }
        for accelerated in [false, true] {
            let level3 = CompatRecord { level: 3, ..ordinary(accelerated) };
            assert!(sources(level3, 100).into_iter().eq(range(1, 99)));
            assert!(sources(level3, 103).into_iter().eq(range(1, 100).chain([102])));
            assert_eq!(sources(level3, 110), [101]);
            let to_120 = range(1, 100).chain(range(102, 109)).chain(range(111, 119)).chain([130]);
            assert!(sources(level3, 120).into_iter().eq(to_120));
            assert_eq!(sources(level3, 121), [104, 120]);
        }
        let level4 = CompatRecord { level: 4, ..ordinary(false) };
        assert!(sources(level4, 100).is_empty());
        assert!(sources(level4, 110).into_iter().eq(range(1, 103).chain(range(105, 109)).chain([130])));
        assert_eq!(sources(level4, 120), [101, 104, 110]);
        assert!(sources(level4, 121).into_iter().eq(range(1, 120).chain([130])));
        let accelerated = CompatRecord { level: 4, ..ordinary(true) };
        assert!(sources(accelerated, 103).is_empty());
        assert!(sources(accelerated, 121).into_iter().eq(range(1, 103).chain(range(105, 119)).chain([130])));
    }

    /// What was accepted of all classes, levels and two values of each flag.
    #[test]
    fn classes_open_what_was_observed() {
        let accepted = |source, target, isa_class, accelerated, tcgen05| -> Vec<u8> {
            let with = |level| CompatRecord { isa_class, tcgen05, level, accelerated, ..ordinary(false) };
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
}
