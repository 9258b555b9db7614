//! `cargo xtask test`: every test of the workspace behind one command, and one line at its end.

use crate::{Result, toolkit};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const USAGE: &str = "\
usage: cargo xtask test [ARGUMENTS OF cargo test]

Installs the pinned CUDA toolkit if need be, runs `cargo test --workspace` (the conformance cases are
one of its tests) and ends with the sum of it all.";

pub fn run(args: &[String]) -> Result<u8> {
    if matches!(args.first().map(String::as_str), Some("-h" | "--help")) {
        println!("{USAGE}");
        return Ok(0);
    }
    toolkit::ensure()?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut child = Command::new(cargo)
        .args(["test", "--workspace", "--no-fail-fast"])
        .args(args)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cannot start cargo: {e}"))?;
    let mut total = Counts::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines().map_while(std::io::Result::ok) {
            println!("{line}");
            total.add(&line);
        }
    }
    let status = child.wait().map_err(|e| format!("cargo test: {e}"))?;
    println!("\nall tests: {} passed, {} failed", total.passed, total.failed);
    Ok(u8::from(!status.success()))
}

#[derive(Default, Debug, PartialEq)]
struct Counts {
    passed: usize,
    failed: usize,
}

impl Counts {
    /// Adds what a closing line says: `test result: ok. 3 passed; 0 failed; …` of the standard runner or
    /// `3 passed, 0 failed` of the conformance run.
    fn add(&mut self, line: &str) {
        let counts =
            line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". ")).map(|(_, c)| c);
        let mut fields = counts.unwrap_or(line).split([',', ';']);
        let mut field = |unit: &str| -> Option<usize> {
            fields.next()?.trim().strip_suffix(unit)?.trim_end().parse().ok()
        };
        if let (Some(passed), Some(failed)) = (field("passed"), field("failed")) {
            self.passed += passed;
            self.failed += failed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn closing_lines() {
        let mut counts = Counts::default();
        counts.add("test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out");
        counts.add("20 passed, 2 failed");
        counts.add("test a::b ... ok");
        assert_eq!(counts, Counts { passed: 23, failed: 3 });
    }
}
