//! Which code links for which target, as nvlink 13.0.88 decides it.

use crate::{Arch, Suffix};

/// Machine code that links for another number than its own. Everything else stays with its number: 87, 88 and 89
/// neither give nor (87, 88) take, and 90, 110 stand alone.
const FORWARD: &[(u16, u16)] = &[(80, 86), (80, 89), (86, 89), (100, 103), (120, 121)];

/// Whether machine code built for `input` links for `target`.
///
/// The target's suffix never matters; the input's `a` ties it to its own number.
pub fn links_sass(input: Arch, target: Arch) -> bool {
    input.number == target.number || (!input.has_a() && FORWARD.contains(&(input.number, target.number)))
}

/// Whether PTX, or LTO IR, written for `input` can be compiled for `target`.
pub fn links_ptx(input: Arch, target: Arch) -> bool {
    match input.suffix {
        Suffix::None => input.number <= target.number,
        Suffix::F => input.number <= target.number && input.number / 10 == target.number / 10,
        Suffix::A => input == target,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ARCHS;

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

    fn targets(input: &str, accepts: fn(Arch, Arch) -> bool) -> String {
        let input = Arch::parse(input).expect(input);
        let accepted = ARCHS.into_iter().filter(|&target| accepts(input, target));
        accepted.map(|target| target.to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn machine_code_links_as_in_the_observed_matrix() {
        for (input, accepted) in SASS {
            assert_eq!(targets(input, links_sass), accepted, "sm_{input}");
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
            assert_eq!(targets(input, links_ptx), accepted, "compute_{input}");
        }
        for input in ["90a", "100a", "103a", "110a", "120a", "121a"] {
            assert_eq!(targets(input, links_ptx), input);
        }
        let all = format!("{CORE_FROM_75} {MERCURY}");
        for input in ["75", "80", "86", "87", "88", "89", "90", "100", "103", "110", "120", "121"] {
            let from = all.find(input).expect(input);
            assert_eq!(targets(input, links_ptx), all[from..], "compute_{input}");
        }
    }
}
