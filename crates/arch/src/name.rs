//! Architecture names as text, taken apart and put together.
//!
//! More names than the 69 of [`crate::NAMES`] are recognized here: fat binaries may still hold members for
//! architectures that are no longer targets, and such PTX is usable.

use crate::{ARCHS, Kind, MERCURY_FROM, Suffix};

/// Architectures that are no longer targets. 72 never made it into the list: code for it is as unknown as for 71.
pub const DEPRECATED: [u16; 18] = [10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 69, 70];

/// The numbers that a name can be formed from.
pub const NUMBERS: std::ops::RangeInclusive<u32> = 1..=999;

/// The longest name, `compute_121f`.
const MAX_LENGTH: usize = 12;

/// `sass_` names machine code that is already final. No option takes it.
const SASS_PREFIX: &str = "sass_";

pub fn is_deprecated(number: u16) -> bool {
    DEPRECATED.contains(&number)
}

/// The number in a name, read up to the first character that is no digit. A one-digit `compute_` name has none.
pub fn number(name: &str) -> Option<u32> {
    let digits = name
        .strip_prefix("sm_")
        .or_else(|| name.strip_prefix("compute_").filter(|digits| digits.len() > 1))
        .or_else(|| name.strip_prefix("lto_"))
        .or_else(|| name.strip_prefix(SASS_PREFIX))?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

pub fn is_virtual(name: &str) -> bool {
    name.starts_with("compute_") || name.starts_with("lto_")
}

pub fn suffix(name: &str) -> Suffix {
    match name.as_bytes().last() {
        Some(b'a') => Suffix::A,
        Some(b'f') => Suffix::F,
        _ => Suffix::None,
    }
}

/// Forms an `sm_` or `compute_` name; `None` for numbers out of range.
pub fn format(number: u32, is_virtual: bool, suffix: Suffix) -> Option<String> {
    let kind = if is_virtual { Kind::Compute } else { Kind::Sm };
    let name = NUMBERS.contains(&number).then(|| format!("{}{number}{}", kind.prefix(), suffix.as_str()))?;
    (name.len() <= MAX_LENGTH).then_some(name)
}

/// What a recognized name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameRecord {
    pub number: u16,
    pub is_virtual: bool,
    /// Machine code that has to be finalized.
    pub is_mercury: bool,
    pub is_deprecated: bool,
    pub suffix: Suffix,
}

impl NameRecord {
    /// `None` for a name that is neither a profile's nor that of a deprecated architecture.
    ///
    /// An `a` behind an architecture that has no such variant is dropped, an `f` is not.
    pub fn parse(name: &str) -> Option<Self> {
        let number = u16::try_from(number(name)?).ok()?;
        let is_virtual = is_virtual(name);
        let (suffix, is_deprecated) = recognize(number, suffix(name))?;
        let is_mercury = !is_virtual && number >= MERCURY_FROM && !name.starts_with(SASS_PREFIX);
        Some(Self { number, is_virtual, is_mercury, is_deprecated, suffix })
    }

    /// The record of PTX or IR in place of machine code.
    #[must_use]
    pub fn to_virtual(self) -> Self {
        Self { is_virtual: true, is_mercury: false, ..self }
    }

    /// Whether code with this record is chosen over code with the other one: the higher number, then machine code
    /// over PTX, then `a` over `f` over none.
    pub fn is_preferred_to(self, other: Self) -> bool {
        self.rank() > other.rank()
    }

    fn rank(self) -> (u16, bool, Suffix) {
        (self.number, !self.is_virtual, self.suffix)
    }
}

/// The suffix an architecture has in effect and whether it is deprecated; `None` if it is unknown.
pub(crate) fn recognize(number: u16, suffix: Suffix) -> Option<(Suffix, bool)> {
    let known = |suffix| ARCHS.iter().any(|arch| arch.number == number && arch.suffix == suffix);
    match suffix {
        _ if known(suffix) => Some((suffix, false)),
        Suffix::A if known(Suffix::None) => Some((Suffix::None, false)),
        Suffix::A | Suffix::None if is_deprecated(number) => Some((Suffix::None, true)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NAMES, Target};

    #[test]
    fn numbers_are_read_behind_every_prefix() {
        let cases = [
            ("sm_100a", Some(100)),
            ("compute_75", Some(75)),
            ("lto_121f", Some(121)),
            ("sass_90", Some(90)),
            ("sm_5", Some(5)),
            ("compute_5", None),
            ("compute_", None),
            ("sm_", None),
            ("sm_a", None),
            ("90", None),
            ("", None),
            ("sm_99999999999", None),
        ];
        for (name, expected) in cases {
            assert_eq!(number(name), expected, "{name}");
        }
    }

    #[test]
    fn names_are_formed_within_limits() {
        assert_eq!(format(100, false, Suffix::A).as_deref(), Some("sm_100a"));
        assert_eq!(format(121, true, Suffix::F).as_deref(), Some("compute_121f"));
        assert_eq!(format(1, false, Suffix::None).as_deref(), Some("sm_1"));
        assert_eq!(format(999, true, Suffix::A).as_deref(), Some("compute_999a"));
        assert_eq!(format(0, false, Suffix::None), None);
        assert_eq!(format(1000, false, Suffix::None), None);
    }

    #[test]
    fn every_profile_name_is_recognized_as_itself() {
        for name in NAMES {
            let record = NameRecord::parse(name).expect(name);
            let target = Target::parse(name).expect(name);
            assert_eq!((record.number, record.suffix), (target.arch.number, target.arch.suffix));
            assert_eq!(record.is_virtual, target.is_virtual());
            assert_eq!(record.is_mercury, !target.is_virtual() && target.is_mercury());
            assert!(!record.is_deprecated);
        }
    }

    #[test]
    fn deprecated_numbers_are_recognized_and_others_are_not() {
        let recognized = |suffix| -> Vec<u16> {
            let old = 0..75_u16;
            old.filter(|number| NameRecord::parse(&format!("sm_{number}{suffix}")).is_some()).collect()
        };
        assert_eq!(recognized(""), DEPRECATED);
        assert_eq!(recognized("a"), DEPRECATED);
        assert!(recognized("f").is_empty());
        for name in ["sm_72", "sm_101", "sm_91", "sm_90f", "sm_75f", "sm_122", "sm_1000"] {
            assert_eq!(NameRecord::parse(name), None, "{name}");
        }
        assert!(NameRecord::parse("sm_70").is_some_and(|record| record.is_deprecated));
    }

    #[test]
    fn a_that_does_not_exist_is_dropped() {
        let suffix = |name| NameRecord::parse(name).map(|record| record.suffix);
        assert_eq!(suffix("sm_89a"), Some(Suffix::None));
        assert_eq!(suffix("sm_90a"), Some(Suffix::A));
    }

    #[test]
    fn final_machine_code_is_not_mercury() {
        assert!(NameRecord::parse("sm_100").is_some_and(|record| record.is_mercury));
        assert!(NameRecord::parse("sass_100").is_some_and(|record| !record.is_mercury));
        assert!(NameRecord::parse("compute_100").is_some_and(|record| !record.is_mercury));
        assert!(NameRecord::parse("sm_90").is_some_and(|record| !record.is_mercury));
    }

    #[test]
    fn preference_between_versions() {
        let ascending = ["compute_80", "sm_80", "compute_90", "compute_90a", "sm_90", "sm_90a"];
        let blackwell =
            ["compute_100", "compute_100f", "compute_100a", "sm_100", "sm_100f", "sm_100a", "compute_103"];
        for order in [&ascending[..], &blackwell[..]] {
            let records: Vec<_> = order.iter().map(|name| NameRecord::parse(name).expect(name)).collect();
            for (i, &a) in records.iter().enumerate() {
                for (j, &b) in records.iter().enumerate() {
                    assert_eq!(a.is_preferred_to(b), i > j, "{} {}", order[i], order[j]);
                }
            }
        }
    }
}
