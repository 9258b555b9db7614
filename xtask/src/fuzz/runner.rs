//! The fuzzer as a program: how it is started.

use crate::{Result, cache, conformance};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Device code in the repository.
const COMMITTED: [&str; 3] =
    ["crates/fuzzing/corpus", "crates/cubin-diff/tests/fixtures", "examples/quickstart"];

/// Runs the fuzzer with the corpora that there are.
pub fn start(fuzzer: PathBuf, args: &[String]) -> Result<u8> {
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
pub fn number(args: &[String], name: &str) -> Result<Option<u64>> {
    let Some(at) = args.iter().position(|arg| arg == name) else { return Ok(None) };
    let value = args.get(at + 1).and_then(|value| value.parse().ok());
    value.map(Some).ok_or(format!("{name} needs a number"))
}
