//! `cargo xtask fuzz`: builds the fuzzer and runs it over every input that this machine has.

use crate::{Result, cache, conformance};
use std::path::PathBuf;
use std::process::{Command, Stdio};

const USAGE: &str = "\
usage: cargo xtask fuzz [--minutes N | --seconds N | --runs N] [--seed S] [--target NAME]… [--keep DIR] [--export DIR]

Feeds damaged inputs to the readers and to whole links: crashes, hangs, memory without end and outputs that are not
whole are failures, and each is printed with the command that repeats it. The inputs to begin with are the cubins in
the repository and all that the conformance run has built. --keep puts the inputs that failed into a folder, --export
writes undamaged inputs for libFuzzer (see fuzz/README.md).";

/// Device code in the repository.
const COMMITTED: [&str; 3] =
    ["crates/fuzzing/corpus", "crates/cubin-diff/tests/fixtures", "examples/quickstart"];

pub fn run(args: &[String]) -> Result<u8> {
    if args.iter().any(|arg| arg == "-h" || arg == "--help") {
        println!("{USAGE}");
        return Ok(0);
    }
    let workspace = conformance::workspace()?;
    let mut command = Command::new(build()?);
    command.args(args).stdin(Stdio::null());
    for folder in COMMITTED {
        command.arg("--corpus").arg(workspace.join(folder));
    }
    let built = cache::root()?.join("conformance/inputs");
    if built.is_dir() {
        command.arg("--corpus").arg(built);
    }
    let status = command.status().map_err(|e| format!("cannot start the fuzzer: {e}"))?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(2))
}

/// The fuzzer, in the profile that checks arithmetic and unwinds.
fn build() -> Result<PathBuf> {
    conformance::build("solder-fuzzing", "solder-fuzz", &[])
}
