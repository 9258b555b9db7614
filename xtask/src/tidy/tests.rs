//! Small repositories, each with one thing planted in it.

use super::finding::Check;
use super::{check, excuse};
use std::fs;
use std::path::PathBuf;

/// A repository of a few files, removed at the end.
struct Planted(PathBuf);

impl Planted {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let root = std::env::temp_dir().join(format!("solder-tidy-{}-{name}", std::process::id()));
        let planted = Self(root);
        for (file, text) in files {
            planted.add(file, text);
        }
        planted
    }

    fn add(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder can be made");
        fs::write(path, text).expect("a file can be written");
    }

    /// All findings, as printed.
    fn findings(&self) -> Vec<String> {
        check(&self.0).expect("everything can be read").iter().map(ToString::to_string).collect()
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const MANIFEST: (&str, &str) = ("crates/link/Cargo.toml", "[package]\nname = \"solder-link\"\n");

fn link_crate(name: &str, files: &[(&str, &str)]) -> Vec<String> {
    let planted = Planted::new(name, &[MANIFEST]);
    for (file, text) in files {
        planted.add(&format!("crates/link/src/{file}"), text);
    }
    planted.findings()
}

#[test]
fn circles_of_modules_are_found() {
    let found = link_crate(
        "circle",
        &[
            ("lib.rs", "mod a;\nmod b;\nmod c;\n"),
            ("a.rs", "use crate::{b::B, c};\npub struct A(B, c::C);\n"),
            ("b.rs", "pub struct B;\nfn f(_: &super::c::C) {}\n"),
            ("c/mod.rs", "mod deep;\npub struct C;\n"),
            ("c/deep.rs", "//! Below.\nfn f() { println!(\"{}\", crate::a::A); }\n"),
        ],
    );
    let expected = "crates/link/src/a.rs:1: modules of link import one another in a circle: a -> c -> a \
         (crates/link/src/a.rs:1 names crate::c, crates/link/src/c/deep.rs:2 names crate::a::A); 3 modules are in circles with it";
    assert_eq!(found, [expected]);
}

#[test]
fn imports_in_one_direction_are_fine() {
    let files = [
        (
            "lib.rs",
            "mod a;\nmod b;\nmod folder;\npub use a::A;\n#[cfg(test)]\nmod tests { use super::*; use crate::b; }\n",
        ),
        ("a.rs", "use crate::b::B;\npub struct A(B);\n#[cfg(test)]\nmod tests { use super::A; }\n"),
        // The variable is not the module, and a test may know everything.
        (
            "b.rs",
            "pub struct B;\npub fn f() { let a = 1; let _ = a; }\n#[cfg(test)]\nmod tests { use crate::a::A; }\n",
        ),
        // A parent may hand on the names of its children, and these may import one another by the parent's name.
        ("folder/mod.rs", "mod first;\nmod second;\npub use first::First;\npub use second::Second;\n"),
        ("folder/first.rs", "pub struct First;\n"),
        ("folder/second.rs", "use super::First;\npub struct Second(First);\n"),
    ];
    assert_eq!(link_crate("line", &files), [""; 0]);
}

#[test]
fn a_reexport_leads_to_the_definition() {
    let found = link_crate(
        "reexport",
        &[
            ("lib.rs", "mod folder;\n"),
            (
                "folder/mod.rs",
                "mod first;\nmod second;\npub use first::*;\npub use second::Second as Other;\n",
            ),
            ("folder/first.rs", "pub struct First(super::Other);\n"),
            ("folder/second.rs", "use super::*;\npub struct Second(First);\n"),
        ],
    );
    let expected = "crates/link/src/folder/first.rs:1: modules of link import one another in a circle: first -> second -> first \
         (crates/link/src/folder/first.rs:1 names super::Other, crates/link/src/folder/second.rs:2 names First)";
    assert_eq!(found, [expected]);
}

#[test]
fn a_parent_and_its_child_are_a_circle() {
    let found = link_crate(
        "parent",
        &[
            ("lib.rs", "mod folder;\n"),
            ("folder/mod.rs", "mod child;\npub struct Own;\nfn f() { child::g(&Own); }\n"),
            ("folder/child.rs", "pub fn g(_: &super::Own) {}\n"),
        ],
    );
    let expected = "crates/link/src/folder/mod.rs:3: modules of link import one another in a circle: folder itself -> child -> \
         folder itself (crates/link/src/folder/mod.rs:3 names child::g, crates/link/src/folder/child.rs:1 names super::Own)";
    assert_eq!(found, [expected]);
}

#[test]
fn crates_depend_on_those_below_them() {
    let planted = Planted::new(
        "layers",
        &[
            MANIFEST,
            (
                "crates/arch/Cargo.toml",
                "[package]\nname = \"solder-arch\"\n\n[dependencies]\nsolder-link.workspace = true\n",
            ),
            ("crates/arch/src/lib.rs", "\n"),
            ("crates/link/src/lib.rs", "\n"),
            (
                "crates/stray/Cargo.toml",
                "[package]\nname = \"stray\"\n[dev-dependencies]\nsolder-link = { path = \"../link\" }\n",
            ),
            ("crates/stray/src/lib.rs", "\n"),
        ],
    );
    let expected = [
        "crates/arch/Cargo.toml:5: arch depends on link, which is not below it in the table of layers",
        "crates/stray/Cargo.toml:1: the crate stray is not in the table of layers (xtask/src/tidy/tables.rs): say there what it may \
         depend on",
    ];
    assert_eq!(planted.findings(), expected);
}

#[test]
fn unsafe_stays_in_its_rooms() {
    let code = "/// Not unsafe: \"unsafe\".\nfn f() {\n    println!(\"{}\", unsafe { g() });\n}\n";
    let planted = Planted::new(
        "unsafe",
        &[
            ("crates/solder/src/os/signals.rs", code),
            ("crates/solder/src/osmosis.rs", code),
            ("crates/arch/src/lib.rs", "// unsafe\n"),
        ],
    );
    let expected = "crates/solder/src/osmosis.rs:3: unsafe code is outside of its rooms (xtask/src/tidy/tables.rs lists them)";
    assert_eq!(planted.findings(), [expected]);
}

#[test]
fn files_and_link_have_a_length() {
    let long = "\n".repeat(1001);
    let link = format!("\nimpl L {{\n    pub fn link() {{\n{}    }}\n}}\n", "        f();\n".repeat(79));
    let short = "pub fn link() {\n}\n";
    let planted = Planted::new(
        "length",
        &[
            MANIFEST,
            ("crates/link/src/lib.rs", short),
            ("crates/link/src/link.rs", &link),
            ("tests/long.sh", &long),
        ],
    );
    let expected = [
        "crates/link/src/link.rs:3: link() has 81 lines, more than 80: it is a table of contents",
        "tests/long.sh:1001: the file has 1001 lines, more than 1000: divide it",
    ];
    assert_eq!(planted.findings(), expected);
}

#[test]
fn documents_name_what_exists() {
    let document = "# Title\n\n`docs/a.md`, `docs/b.md`, `crates/<name>/src`, `target/debug`, [a](docs/a.md#a-heading-2), [b](b.md)\n\
         [a](docs/a.md#gone), `c.md`\n```\ngpu/run.sh out.md\n```\n";
    let planted = Planted::new("documents", &[("README.md", document), ("docs/a.md", "## A heading, 2\n")]);
    let expected = [
        "README.md:3: the document links to b.md, which does not exist",
        "README.md:3: the document names docs/b.md, which does not exist",
        "README.md:4: the document links to the heading docs/a.md#gone, which does not exist",
        "README.md:4: the document names c.md, which does not exist",
        "README.md:6: the document names gpu/run.sh, which does not exist",
    ];
    assert_eq!(planted.findings(), expected);
}

#[test]
fn comments_name_cases_and_files_that_exist() {
    // The comments of the planted file are none of this one.
    let code = "@ The first wins (core/weak, core/gone), see docs/gone.md and tests/own.rs.\n\
         const TEXT: &str = \"(core/text)\"; @ Shown by `core/lost`, not by core/free words, `core/pattern-…` or `core/file.rs`.\n"
        .replace('@', "//");
    let planted = Planted::new(
        "comments",
        &[
            ("tests/cases/core/weak.case", "# about: x\n"),
            ("crates/arch/src/a.rs", &code),
            ("crates/arch/tests/own.rs", "\n"),
        ],
    );
    let expected = [
        "crates/arch/src/a.rs:1: the comment names docs/gone.md, which does not exist",
        "crates/arch/src/a.rs:1: there is no case core/gone",
        "crates/arch/src/a.rs:2: there is no case core/lost",
    ];
    assert_eq!(planted.findings(), expected);
}

#[test]
fn rules_have_cases_and_modules() {
    let page = "# Merge\n\n1. **Right.** Of two the first.\n   Cases: `core/weak`. Modules: `merge/data.rs`, `crates/arch/src/a.rs`.\n\n\
         2. No case.\n   Module: `merge/gone.rs`.\n4. Gone. Case: `core/gone`. Module: `merge.rs`.\n\nNot a rule.\n";
    let planted = Planted::new(
        "rules",
        &[
            ("tests/cases/core/weak.case", "# about: x\n"),
            ("crates/solder/src/merge/data.rs", "\n"),
            ("crates/solder/src/merge/mod.rs", "\n"),
            ("crates/arch/src/a.rs", "\n"),
            ("docs/reference/merge.md", page),
        ],
    );
    let expected = [
        "docs/reference/merge.md:6: rule 2 names no case (`Case: …`)",
        "docs/reference/merge.md:6: rule 2 names the module merge/gone.rs, which does not exist",
        "docs/reference/merge.md:8: there is no case core/gone",
        "docs/reference/merge.md:8: rule 4 comes where rule 3 is expected",
        "docs/reference/merge.md:8: rule 4 names the case core/gone, which does not exist",
    ];
    assert_eq!(planted.findings(), expected);
}

#[test]
fn excuses_hold_as_long_as_they_are_needed() {
    let planted = Planted::new("excuses", &[("crates/arch/src/a.rs", "unsafe fn f() {}\n")]);
    let findings = check(&planted.0).expect("everything can be read");
    assert_eq!(excuse(findings.clone(), &[("arch", Check::Unsafe)]), []);
    assert_eq!(excuse(findings.clone(), &[]), findings);
    // An excuse does not excuse another one.
    let left =
        excuse(findings, &[("arch", Check::Unsafe), ("cubin", Check::Unsafe), ("xtask", Check::Unsafe)]);
    let expected = ["cubin", "xtask"].map(|krate| {
        format!(
            "xtask/src/tidy/tables.rs:1: NOT_YET excuses {krate} for unsafe code, and nothing is found there any more: \
             remove the entry"
        )
    });
    assert_eq!(left.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
}
