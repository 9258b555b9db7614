//! `cargo xtask test`: every test of the workspace in one command, and one line at its end.

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
    let mut total = Totals::default();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines().map_while(std::io::Result::ok) {
            println!("{line}");
            total.add(&line);
        }
    }
    let status = child.wait().map_err(|e| format!("cargo test: {e}"))?;
    let sum = total.units + total.conformance;
    if !status.success() && sum.failed == 0 {
        return Err(format!("cargo test ended with {status}: not every test could run"));
    }
    println!("\nunit tests: {}\nconformance: {}\n{sum}", total.units, total.conformance);
    Ok(u8::from(!status.success()))
}

#[derive(Clone, Copy, Default, Debug, PartialEq)]
struct Counts {
    passed: usize,
    failed: usize,
}

#[derive(Default, Debug, PartialEq)]
struct Totals {
    units: Counts,
    conformance: Counts,
}

impl Totals {
    /// Adds what a closing line says: `test result: ok. 3 passed; 0 failed; …` of the standard runner or
    /// `3 passed, 0 failed` of the conformance run.
    fn add(&mut self, line: &str) {
        let counts = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". "));
        if let Some(counts) = counts.and_then(|(_, counts)| Counts::parse(counts, ';')) {
            self.units = self.units + counts;
        } else if let Some(counts) = Counts::parse(line, ',') {
            self.conformance = self.conformance + counts;
        }
    }
}

impl Counts {
    fn parse(text: &str, separator: char) -> Option<Self> {
        let mut fields = text.split(separator);
        let mut field = |unit: &str| fields.next()?.trim().strip_suffix(unit)?.trim_end().parse().ok();
        Some(Self { passed: field("passed")?, failed: field("failed")? })
    }
}

impl std::ops::Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { passed: self.passed + other.passed, failed: self.failed + other.failed }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, Totals};

    #[test]
    fn closing_lines() {
        let mut totals = Totals::default();
        totals.add("test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out");
        totals.add("20 passed, 2 failed");
        totals.add("test a::b ... ok");
        assert_eq!(totals.units, Counts { passed: 3, failed: 1 });
        assert_eq!(totals.conformance, Counts { passed: 20, failed: 2 });
    }
}
