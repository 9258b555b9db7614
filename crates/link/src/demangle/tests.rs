//! The expected texts are what nvlink printed for functions of these names: one pair per two lines.

use super::demangle;

const PRINTED: &str = include_str!("printed.txt");

#[test]
fn names_print_as_nvlink_prints_them() {
    let lines: Vec<&str> = PRINTED.lines().collect();
    for pair in lines.chunks_exact(2) {
        assert_eq!(demangle(pair[0]), pair[1], "{}", pair[0]);
    }
}

#[test]
fn odd_names_end() {
    for name in
        ["", "$", "_Z", "_ZN", "_ZSt", "_Z1fS_", "_Z99999999999999999999f", "__nv_static_", "_Z1fé", "_Z1f$é"]
    {
        assert_eq!(demangle(name), name);
    }
    let deep = format!("_Z1f{}i", "P".repeat(100_000));
    assert_eq!(demangle(&deep), deep);
    // Every parameter doubles the one before.
    let mut wide = String::from("_Z1f1AI1BS0_E");
    for i in 0..60u32 {
        let number = char::from_digit(i % 36, 36).map_or('0', |c| c.to_ascii_uppercase());
        wide.extend(["1AIS", &number.to_string(), "_S", &number.to_string(), "_E"]);
    }
    assert!(demangle(&wide).len() < 1 << 17);
}
