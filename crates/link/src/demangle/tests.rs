//! The expected texts are what nvlink printed for functions of these names: one pair per two lines.

use super::parser::LONGEST;
use super::{TOO_LONG, demangle};

const PRINTED: &str = include_str!("printed.txt");

#[track_caller]
fn is_printed(name: impl AsRef<[u8]>, printed: impl AsRef<[u8]>) {
    let (name, printed) = (name.as_ref(), printed.as_ref());
    let found = demangle(name);
    assert!(found == printed, "{}: {}", name.escape_ascii(), found.escape_ascii());
}

#[track_caller]
fn is_kept(name: impl AsRef<[u8]>) {
    is_printed(&name, &name);
}

#[test]
fn names_print_as_nvlink_prints_them() {
    let lines: Vec<&str> = PRINTED.lines().collect();
    for pair in lines.chunks_exact(2) {
        is_printed(pair[0], pair[1]);
    }
}

#[test]
fn unfinished_names_are_kept() {
    for name in ["", "$", "_Z", "_ZN", "_ZSt", "_Z1fS_", "_ZN3abc3d", "_Z1fP", "__nv_static_"] {
        is_kept(name);
    }
    for pair in PRINTED.lines().collect::<Vec<_>>().chunks_exact(2) {
        for end in 0..pair[0].len() {
            demangle(&pair[0].as_bytes()[..end]);
        }
    }
}

#[test]
fn bytes_that_no_identifier_has() {
    for name in ["_ZTS1édddddd", "_Z5naïfv", "_Z3a-bv", "_Z3a.bv", "_Z1fé", "_Z1f$é"] {
        is_kept(name);
    }
    for byte in 0x80..=0xff {
        is_kept([b"_Z3a", &[byte][..], b"bv"].concat());
        is_kept([b"_Z1fP", &[byte][..]].concat());
    }
    is_printed("_Z3a$bv", "a$b()");
    // Some parts of a name are not checked.
    is_printed(b"_Z1fB1\xc3ii", b"f[abi:\xc3](int, int)");
    is_printed(b"_Zli1\xc3i", b"operator \"\"\xc3(int)");
    is_printed(b"_ZN12_GLOBAL__N_\xc31fEv", "<unnamed>::f()");
    is_printed("__nv_static_2_é__Z1fv", "f()");
    is_kept("__nv_static_1_é__Z1fv");
}

#[test]
fn large_numbers_begin_anew_at_zero() {
    is_kept("_Z99ffffv");
    is_kept("_Z4294967297fv");
    is_printed("_Z18446744073709551617fv", "f()");
    is_printed("_Z1fDv18446744073709551617_i", "f(int __attribute((vector_size(1*sizeof(int)))) )");
    is_printed("_Z1fA18446744073709551617_i", "f(int [18446744073709551617])");
    is_printed("_Z1fA010_i", "f(int [010])");
    is_printed("_ZTh99999999999999999999999999999_1fv", "Thunk for (offset 7886392056514347007) f()");
    is_printed("_Z1fIiEvT4294967295_", "void f<int>(T4294967297)");
    is_kept("_Z1fIiEvT18446744073709551615_");
    is_printed("_Z1fPiS1Z141Z3_", "f(int *, int *)");
    is_kept("_Z1fPiS1Z141Z4_");
    is_kept("__nv_static_18446744073709551617_a__Z1fv");
}

#[test]
fn floating_point_numbers() {
    for (bits, printed) in [
        ("d3fd5555555555555", "(double)0.333333333333333"),
        ("d430c6bf526340000", "(double)1e+15"),
        ("d40f86a0000000000", "(double)100000.0"),
        ("d8000000000000000", "(double)-0.0"),
        ("d0000000000000001", "(double)4.94065645841247e-324"),
        ("dfff0000000000000", "(double)-inf"),
        ("d7ff8000000000000", "(double)nan"),
        ("e400921fb54442d18", "(long double)3.14159265358979"),
        ("f3727c5ac", "(float)1e-05"),
        ("f4996b438", "(float)1.23457e+06"),
        ("fc8a2d3ba", "(float)-333470.0"),
        ("f3f800000", "(float)1.0"),
    ] {
        is_printed(format!("_Z1fIL{bits}EEvv"), format!("void f<{printed}>()"));
    }
    is_kept("_Z1fILd4000cccDcccccccdEEvv");
    is_kept("_Z1fILf3f80000EEvv");
}

#[test]
fn long_names_are_kept() {
    let parameters = |count: usize| format!("_Z1f{}", "i".repeat(count));
    let longest = parameters(10_000);
    assert_ne!(demangle(longest.as_bytes()), longest.as_bytes());
    is_kept(parameters(TOO_LONG - 4));
}

#[test]
fn what_grows_without_bound_is_kept() {
    for (before, level, after) in [
        ("_Z1f", "P", "i"),
        ("_Z1f", "FvPFv", "E"),
        ("_Z1f", "1AI", "iE"),
        ("_Z1fIX", "ng", "Li1EEEvv"),
        ("_Z1fIX", "srN", "1a"),
        ("_Z", "Z1f", "vE1a"),
        ("_Z1fI", "J", "iE"),
        ("_Z1fI", "L_Z1fI", "iE"),
        ("_Z", "Th0_", "1f"),
    ] {
        is_kept([before, &level.repeat(14_000 / level.len()), after].concat());
        is_kept([before, &level.repeat(100_000), after].concat());
    }
    // Every level prints the one below twice.
    is_kept(format!("_Z1f{}i", "Dv1_".repeat(3_000)));
    // Every parameter doubles the one before.
    let mut wide = String::from("_Z1f1AI1BS0_E");
    for i in 0..60u32 {
        let number = char::from_digit(i % 36, 36).map_or('0', |c| c.to_ascii_uppercase());
        wide.extend(["1AIS", &number.to_string(), "_S", &number.to_string(), "_E"]);
    }
    assert!(demangle(wide.as_bytes()).len() <= LONGEST);
    // Every component is a prefix that could be referred to.
    is_printed(format!("_ZN{}Ev", "1a".repeat(1_000)), format!("{}()", vec!["a"; 1_000].join("::")));
    is_kept(format!("_ZN{}Ev", "1a".repeat(7_000)));
    // Clones of clones.
    let clones = demangle("_Z1fv$".repeat(2_000).as_bytes());
    assert!(clones.starts_with(b"[clone f()] [clone f()] "));
}
