//! The targets under libFuzzer, which looks for inputs that reach new code.

use super::{number, start};
use crate::cache::at;
use crate::{Result, conformance};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

const TARGETS: [&str; 14] = [
    "device-elf",
    "nv-info",
    "relocations",
    "fatbin",
    "archive",
    "host-elf",
    "option-file",
    "inspect",
    "prune",
    "extract",
    "demangle",
    "nvjitlink",
    "reports",
    "link",
];

/// Whole links get as much time as so many readers.
const LINKS_COUNT: u64 = 4;

pub fn run(args: &[String], fuzzer: PathBuf) -> Result<u8> {
    let minutes = number(args, "--minutes")?.unwrap_or(10);
    let mut named = Vec::new();
    for pair in args.windows(2).filter(|pair| pair[0] == "--target") {
        let known = TARGETS.iter().find(|target| **target == pair[1]);
        named.push(*known.ok_or(format!("no target is called '{}'", pair[1]))?);
    }
    let targets = if named.is_empty() { TARGETS.to_vec() } else { named };
    let folder = conformance::workspace()?.join("fuzz");
    let corpus = folder.join("corpus");
    if start(fuzzer, &["--export".to_string(), corpus.display().to_string()])? != 0 {
        return Err("the corpus cannot be written".into());
    }
    let weight = |target: &str| if target == "link" { LINKS_COUNT } else { 1 };
    let all: u64 = targets.iter().map(|target| weight(target)).sum();
    let mut failed = 0;
    for target in &targets {
        let seconds = minutes * 60 * weight(target) / all;
        fs::create_dir_all(corpus.join(target)).map_err(|e| at(&corpus, &e))?;
        let status = Command::new("cargo")
            .args(["+nightly", "fuzz", "run", "--fuzz-dir"])
            .arg(&folder)
            .args([
                target,
                "--",
                // Two seconds of an ordinary build on a machine at rest; here every access is checked, and the clock
                // is the wall's.
                "-timeout=10",
                "-rss_limit_mb=1024",
                "-max_len=65536",
                "-print_final_stats=1",
            ])
            .arg(format!("-max_total_time={}", seconds.max(1)))
            // A link leaves a few things to the end of the process on purpose.
            .env("ASAN_OPTIONS", "detect_leaks=0")
            .current_dir(&folder)
            .status()
            .map_err(|e| format!("cargo fuzz: {e}"))?;
        println!("{target}: {}", if status.success() { "no crash" } else { "FAILED" });
        failed += usize::from(!status.success());
    }
    println!("{} passed, {failed} failed", targets.len() - failed);
    Ok(u8::from(failed > 0))
}
