//! The rules of the house that are data: who may depend on whom, where `unsafe` may be, how long things may get.

use super::finding::Check;

/// Findings that are known and not mended yet, by crate and check. An entry that nothing needs any more is a finding
/// itself, so that the list can only get shorter.
pub const NOT_YET: &[(&str, Check)] = &[];

/// The crates, by folder, with the crates of the workspace that each may depend on. An arrow that is not here points up.
pub const LAYERS: &[(&str, &[&str])] = &[
    ("arch", &[]),
    ("cubin", &["arch"]),
    ("fatbin", &["arch"]),
    ("sass", &["arch", "cubin"]),
    ("link", &["arch", "cubin", "fatbin", "sass"]),
    ("toolchain", &["arch", "cubin", "fatbin"]),
    ("cubin-diff", &["arch", "cubin", "fatbin"]),
    ("solder", &["arch", "cubin", "fatbin", "sass", "link", "toolchain", "cubin-diff"]),
    ("nvjitlink", &["arch", "cubin", "fatbin", "link", "toolchain"]),
    // The tools of developers; nothing of the product depends on them.
    ("fuzzing", &["arch", "cubin", "fatbin", "sass", "link", "toolchain", "solder", "nvjitlink"]),
    ("xtask", &["arch", "cubin", "fatbin", "sass", "link", "toolchain", "solder", "cubin-diff", "fuzzing"]),
];

/// The rooms of `unsafe`: files, or folders with all that is in them.
pub const UNSAFE_ROOMS: &[(&str, &str)] = &[
    ("crates/solder/src/load/file.rs", "mapping files"),
    ("crates/toolchain/src/library", "shared libraries"),
    ("crates/nvjitlink/src/c", "the C interface"),
    ("crates/solder/src/os", "the command's operating system"),
    ("crates/solder/src/main.rs", "the command's operating system: the C library calls its `main`"),
    ("crates/solder/tests/ending.rs", "a test of the command's operating system"),
    ("xtask/src/nvjitlink/driver.rs", "a tool that calls libraries of nvJitLink's interface"),
    ("xtask/src/signals.rs", "a tool that starts programs with the default handling of signals"),
    ("xtask/src/bench/measure.rs", "a tool that asks the system what a child used"),
];

/// Lines of a file, and of the function that lists the phases.
pub const LONGEST_FILE: usize = 1000;
pub const LONGEST_LINK: usize = 80;

/// The crates in which `link()` lists the phases.
pub const LINK_CRATES: &[&str] = &["link", "solder"];

/// The crates in which the pages of `docs/reference` look for a module that is named without its crate.
pub const RULE_CRATES: &[&str] = &["link", "solder", "toolchain", "sass", "cubin", "fatbin", "arch"];

/// The folders at the root of the repository: a word of a document that begins with one is a path.
pub const FOLDERS: &[&str] = &[".ci", "crates", "docs", "examples", "fuzz", "gpu", "tests", "xtask"];
