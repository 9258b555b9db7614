//! The tables of architectures in the documents that solder began from, against those that it uses.
//!
//! The documents were written about nvlink 13.0.88 and are right in most rows. Where they are not, the difference is
//! listed here and in docs/deviations.md, and nvlink is followed.

use solder_arch::{Arch, CompatRecord, Release, Suffix};

const RELEASE: &Release = Release::CUDA_13_0;

fn arch(text: &str) -> Arch {
    Arch::parse(text).expect(text)
}

/// Architecture, generation and `__CUDA_ARCH__`.
const ARCHITECTURES: [(&str, &str, u32); 23] = [
    ("75", "Turing", 750),
    ("80", "Ampere", 800),
    ("86", "Ampere", 860),
    ("87", "Ampere", 870),
    ("88", "Ampere", 880),
    ("89", "Ada", 890),
    ("90", "Hopper", 900),
    ("90a", "Hopper", 900),
    ("100", "Blackwell", 1000),
    ("100a", "Blackwell", 1000),
    ("100f", "Blackwell", 1000),
    ("110", "Blackwell", 1100),
    ("110a", "Blackwell", 1100),
    ("110f", "Blackwell", 1100),
    ("103", "Blackwell", 1030),
    ("103a", "Blackwell", 1030),
    ("103f", "Blackwell", 1030),
    ("120", "Blackwell", 1200),
    ("120a", "Blackwell", 1200),
    ("120f", "Blackwell", 1200),
    ("121", "Blackwell", 1210),
    ("121a", "Blackwell", 1210),
    ("121f", "Blackwell", 1210),
];

#[test]
fn architectures_are_those_of_the_table() {
    let mut documented = ARCHITECTURES.map(|(text, ..)| arch(text)).to_vec();
    for (text, generation, cuda_arch) in ARCHITECTURES {
        assert_eq!(arch(text).generation().expect(text).to_string(), generation, "{text}");
        assert_eq!(arch(text).cuda_arch(), cuda_arch, "{text}");
    }
    let mut known = RELEASE.archs().to_vec();
    documented.sort();
    known.sort();
    assert_eq!(documented, known);
}

#[test]
fn families_are_those_of_the_table() {
    let table = ["75", "80 86 87 88 89", "90 90a", "100 103", "110", "120 121"];
    let family = |text: &str| table.iter().position(|row| row.split(' ').any(|member| member == text));
    for a in table.join(" ").split(' ') {
        for b in table.join(" ").split(' ') {
            assert_eq!(arch(a).is_same_family(arch(b)), family(a) == family(b), "{a} {b}");
        }
    }
}

/// The matrix for the numbers from 100 on: `y` links, `-` needs a special level of finalization.
#[test]
fn the_matrix_of_blackwell() {
    let numbers = [100, 103, 110, 120, 121];
    let matrix = ["yy-..", ".y-..", "--y..", "...yy", "....y"];
    let widest = CompatRecord { level: 4, ..RELEASE.ordinary_record(false) };
    for (&input, row) in numbers.iter().zip(matrix) {
        for (&target, cell) in numbers.iter().zip(row.chars()) {
            let links = RELEASE.links_sass(Arch::plain(input), Arch::plain(target));
            assert_eq!(links, cell == 'y', "{input} {target}");
            if cell == '-' && input < target {
                assert_eq!(RELEASE.finalizes(Some(widest), input, target), Ok(()), "{input} {target}");
            }
        }
    }
}

/// The lists of what machine code below 100 is meant for; of the rest the documents leave much to finalization.
const LISTS: [(&str, &str); 8] = [
    ("75", "75"),
    ("80", "80 86 87 88 89"),
    ("86", "86 89"),
    ("87", "87"),
    ("88", "88"),
    ("89", "89"),
    ("90", "90 90a"),
    ("90a", "90a 90"),
];

/// The pairs that two rules do not agree about.
fn differing(documented: impl Fn(Arch, Arch) -> bool, used: impl Fn(Arch, Arch) -> bool) -> String {
    let archs = RELEASE.archs();
    let pairs = archs.iter().flat_map(|&a| archs.iter().map(move |&b| (a, b)));
    let differing = pairs.filter(|&(a, b)| documented(a, b) != used(a, b));
    differing.map(|(a, b)| format!("{a}-{b}")).collect::<Vec<_>>().join(" ")
}

#[test]
fn lists_differ_in_two_places() {
    let listed = |a: Arch, b: Arch| {
        let row = LISTS.iter().find(|(input, _)| *input == a.to_string());
        row.is_some_and(|(_, targets)| targets.split(' ').any(|target| target == b.to_string()))
    };
    let links = |a: Arch, b| !a.is_mercury() && RELEASE.links_sass(a, b);
    assert_eq!(differing(listed, links), "80-87 80-88");
}

/// "Code of a lower number links for every higher number of the same decade; `a` code for its own number."
#[test]
fn the_rule_of_decades_differs_in_seven_places() {
    let upward = |a: Arch, b: Arch| match a.suffix {
        Suffix::A => a.number == b.number,
        Suffix::None | Suffix::F => a.number <= b.number && a.is_same_family(b),
    };
    let links = |a, b| RELEASE.links_sass(a, b);
    assert_eq!(differing(upward, links), "80-87 80-88 86-87 86-88 87-88 87-89 88-89");
}

/// "PTX links upward, of an `f` architecture within the decade, of an `a` architecture for its own number."
#[test]
fn ptx_of_a_architectures_links_for_less() {
    let rule = |a: Arch, b: Arch| match a.suffix {
        Suffix::A => a.number == b.number,
        Suffix::F => a.number <= b.number && a.is_same_family(b),
        Suffix::None => a.number <= b.number,
    };
    let expected = "90a-90 100a-100 100a-100f 103a-103 103a-103f 110a-110 110a-110f \
                    120a-120 120a-120f 121a-121 121a-121f";
    assert_eq!(differing(rule, |a, b| RELEASE.links_ptx(a, b)), expected);
}
