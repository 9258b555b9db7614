//! How the program is linked: a link of two cubins takes little longer than its start.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Some(commit) = commit() {
        println!("cargo::rustc-env=SOLDER_COMMIT={commit}");
    }
    let is = |what: &str, value: &str| std::env::var(what).is_ok_and(|found| found == value);
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        // As a library of its own, the unwinder is searched for, mapped and relocated at every start: a fourteenth of a
        // link of two cubins.
        println!("cargo::rustc-link-lib=static:-bundle=gcc_eh");
    }
}

/// The commit that the program is built from, for `--version`. A source archive has none.
fn commit() -> Option<String> {
    println!("cargo::rerun-if-env-changed=SOLDER_COMMIT");
    if let Ok(commit) = std::env::var("SOLDER_COMMIT") {
        return Some(commit);
    }
    let git = |words: &[&str]| {
        let output = Command::new("git").args(words).output().ok()?;
        let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
        Some(text.trim().to_owned())
    };
    // The reflog has a new line with every commit.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}
