//! `cargo xtask fuzz`: builds the fuzzer and runs it over every input that this machine has.

mod coverage;
mod guided;
mod runner;

use crate::{Result, conformance};
use runner::{number, start};

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

pub fn run(args: &[String]) -> Result<u8> {
    let given = |option: &str| args.iter().any(|arg| arg == option);
    if given("-h") || given("--help") {
        println!("{USAGE}");
        return Ok(0);
    }
    if given("--coverage") {
        return coverage::run(args);
    }
    let fuzzer = conformance::build("solder-fuzzing", "solder-fuzz", "dev")?;
    if given("--coverage-guided") {
        return guided::run(args, fuzzer);
    }
    start(fuzzer, args)
}
