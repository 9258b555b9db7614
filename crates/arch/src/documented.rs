//! The compatibility checks as the design documents describe them.
//!
//! The linker does not use them: where they and nvlink part, nvlink is followed, by [`crate::links_sass`] and its
//! relatives. The documents give the fields of a parsed name twice, under different labels; read with the first
//! labels (virtual, deprecated, `a`, `f`) the checks nearly reproduce nvlink, and that is the reading taken here.

use crate::name::NameRecord;
use crate::profile::Profile;
use crate::{Arch, Suffix, Target, finalize};

/// Two numbers of one architecture, before and after it was renumbered. They link for each other and nothing else.
const TWINS: [u16; 2] = [101, 110];

/// Whether code for the architecture named `input` links for the one named `target`.
pub fn string_check(input: &str, target: &str) -> bool {
    let (Some(a), Some(b)) = (NameRecord::parse(input), NameRecord::parse(target)) else { return false };
    if b.is_virtual || b.is_deprecated {
        return false;
    }
    if a.is_virtual { virtual_links(a, b) } else { is_listed(a, b) }
}

/// The same question about names that have been parsed already. Real architectures are compared by number, not
/// through the lists of the profiles.
pub fn companion_check(input: NameRecord, target: NameRecord) -> bool {
    if target.is_virtual || target.is_deprecated {
        return false;
    }
    if input.is_virtual {
        return virtual_links(input, target);
    }
    match input.suffix {
        Suffix::A => input.number == target.number,
        Suffix::None | Suffix::F => upward_in_family(input.number, target.number),
    }
}

fn virtual_links(input: NameRecord, target: NameRecord) -> bool {
    match input.suffix {
        Suffix::A => input.number == target.number,
        Suffix::F => upward_in_family(input.number, target.number),
        Suffix::None => input.number <= target.number,
    }
}

fn upward_in_family(input: u16, target: u16) -> bool {
    let twins = [input, target].map(|number| TWINS.contains(&number));
    if twins.contains(&true) {
        return twins == [true, true];
    }
    input <= target && finalize::same_family(input, target)
}

fn is_listed(input: NameRecord, target: NameRecord) -> bool {
    let real = |record: NameRecord| Target::sm(Arch::new(record.number, record.suffix));
    Profile::of(real(input)).is_some_and(|profile| profile.generation().contains(&real(target)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ARCHS, links_ptx, links_sass};

    fn companion(input: &str, target: &str) -> bool {
        let parse = |name| NameRecord::parse(name).expect("a name");
        companion_check(parse(input), parse(target))
    }

    /// The documents' matrix for the numbers from 100 on. The cells marked special need finalization.
    #[test]
    fn companion_check_agrees_with_the_documents_matrix() {
        let numbers = [100, 103, 110, 120, 121];
        let matrix = ["yy-..", ".y-..", "--y..", "...yy", "....y"];
        for (input, row) in numbers.iter().zip(matrix) {
            for (target, cell) in numbers.iter().zip(row.chars()) {
                let links = companion(&format!("sm_{input}"), &format!("sm_{target}"));
                assert_eq!(links, cell == 'y', "{input} {target}");
                let widest = crate::CompatRecord { level: 4, ..crate::CompatRecord::ordinary(false) };
                if cell == '-' && input < target {
                    assert_eq!(finalize::check(Some(widest), *input, *target), Ok(()));
                }
            }
        }
    }

    #[test]
    fn accelerated_code_stays_with_its_number() {
        for (input, target, expected) in [
            ("sm_90a", "sm_90a", true),
            ("sm_90a", "sm_90", true),
            ("sm_100a", "sm_100", true),
            ("sm_100a", "sm_103", false),
            ("sm_120a", "sm_121", false),
        ] {
            assert_eq!(string_check(input, target), expected, "{input} {target}");
            assert_eq!(companion(input, target), expected, "{input} {target}");
        }
    }

    #[test]
    fn twins_link_for_each_other_only() {
        let pairs = [101, 103, 110, 120].into_iter().flat_map(|a| [101, 103, 110, 120].map(|b| (a, b)));
        let linked: Vec<_> = pairs.filter(|&(a, b)| upward_in_family(a, b)).collect();
        assert_eq!(linked, [(101, 101), (101, 110), (103, 103), (110, 101), (110, 110), (120, 120)]);
    }

    #[test]
    fn two_virtual_names_are_rejected() {
        assert!(!string_check("compute_90", "compute_90"));
        assert!(!string_check("lto_90", "compute_100"));
        assert!(string_check("compute_90", "sm_100"));
        assert!(!string_check("sm_70", "sm_75"));
        assert!(!string_check("sm_72", "sm_75"));
        assert!(string_check("compute_70", "sm_75"));
    }

    fn differing(documented: impl Fn(Arch, Arch) -> bool, observed: fn(Arch, Arch) -> bool) -> Vec<String> {
        let pairs = ARCHS.into_iter().flat_map(|a| ARCHS.map(|b| (a, b)));
        let differing = pairs.filter(|&(a, b)| documented(a, b) != observed(a, b));
        differing.map(|(a, b)| format!("{a}-{b}")).collect()
    }

    /// The differences that docs/deviations.md lists, complete.
    #[test]
    fn differences_from_the_linker_are_the_recorded_ones() {
        let ptx = |a, b| string_check(&format!("compute_{a}"), &format!("sm_{b}"));
        let expected = "90a-90 100a-100 100a-100f 103a-103 103a-103f 110a-110 110a-110f \
                        120a-120 120a-120f 121a-121 121a-121f";
        assert_eq!(differing(ptx, links_ptx).join(" "), expected);

        let companion = |a, b| companion(&format!("sm_{a}"), &format!("sm_{b}"));
        assert_eq!(differing(companion, links_sass).join(" "), "80-87 80-88 86-87 86-88 87-88 87-89 88-89");

        // The lists leave to finalization what they do not hold.
        let listed = |a, b| string_check(&format!("sm_{a}"), &format!("sm_{b}"));
        let extra: Vec<_> = differing(|a, b| listed(a, b) && !links_sass(a, b), |_, _| false);
        assert_eq!(extra, ["80-87", "80-88"]);
        assert!(
            ARCHS.iter().all(|&a| a.is_mercury() || ARCHS.iter().all(|&b| listed(a, b) || !links_sass(a, b)))
        );
    }
}
