//! `cargo xtask fuzz`: builds the fuzzer and runs it over every input that this machine has.

mod coverage;
mod guided;

use crate::{Result, cache, conformance};
use std::path::PathBuf;
use std::process::{Command, Stdio};

const USAGE: &str = "\
usage: cargo xtask fuzz [--minutes N | --seconds N | --runs N] [--seed S] [--target NAME]… [--keep DIR] [--export DIR]
       cargo xtask fuzz --coverage-guided [--minutes N] [--target NAME]…
       cargo xtask fuzz --coverage [--runs N]
       cargo xtask fuzz --nvlink FILE [--runs N] [--seed S]

Feeds damaged inputs to the readers and to whole links: crashes, hangs, memory without end and outputs that are not
whole are failures, and each is printed with the command that repeats it. The inputs to begin with are the cubins in
the repository and all that the conformance run has built. --keep puts the inputs that failed into a folder, --export
writes undamaged inputs for libFuzzer.

--coverage-guided runs the same targets under libFuzzer (fuzz/README.md), in turn and N minutes together.
--coverage says which share of the lines of each reader its target reaches; it needs the llvm-tools of rustup.
--nvlink runs that program on the damaged links, and lists those on which it crashes or hangs with solder's answer.";

/// Device code in the repository.
const COMMITTED: [&str; 3] =
    ["crates/fuzzing/corpus", "crates/cubin-diff/tests/fixtures", "examples/quickstart"];

pub fn run(args: &[String]) -> Result<u8> {
    let given = |option: &str| args.iter().any(|arg| arg == option);
    if given("-h") || given("--help") {
        println!("{USAGE}");
        return Ok(0);
    }
    if given("--coverage") {
        return coverage::run(args);
    }
    let fuzzer = conformance::build("solder-fuzzing", "solder-fuzz", &[])?;
    if given("--coverage-guided") {
        return guided::run(args, fuzzer);
    }
    start(fuzzer, args)
}

/// Runs the fuzzer with the corpora that there are.
fn start(fuzzer: PathBuf, args: &[String]) -> Result<u8> {
    let mut command = Command::new(fuzzer);
    command.args(args).stdin(Stdio::null());
    let workspace = conformance::workspace()?;
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

/// The value of `--name N`.
fn number(args: &[String], name: &str) -> Result<Option<u64>> {
    let Some(at) = args.iter().position(|arg| arg == name) else { return Ok(None) };
    let value = args.get(at + 1).and_then(|value| value.parse().ok());
    value.map(Some).ok_or(format!("{name} needs a number"))
}
