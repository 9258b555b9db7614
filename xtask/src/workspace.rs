//! The workspace: its folder, and the programs that are built from it.

use crate::machine::Machine;
use crate::{Result, cache};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The workspace's folder: cargo says it, and without cargo it is looked for from here upwards.
pub fn workspace() -> Result<PathBuf> {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    if let Some(root) = manifest.as_deref().and_then(Path::parent) {
        return Ok(root.to_path_buf());
    }
    let here = std::env::current_dir().map_err(|e| e.to_string())?;
    let root = here.ancestors().find(|folder| folder.join("tests/cases").is_dir());
    root.map(Path::to_path_buf).ok_or("run this inside the solder workspace".into())
}

/// The linker to test.
pub fn solder() -> Result<PathBuf> {
    match named_solder() {
        Some(named) => named,
        None => build("solder", "solder", "release"),
    }
}

/// The one that `SOLDER_BIN` names.
pub fn named_solder() -> Option<Result<PathBuf>> {
    let bin = std::env::var_os("SOLDER_BIN").filter(|bin| !bin.is_empty())?;
    Some(fs::canonicalize(&bin).map_err(|e| cache::at(Path::new(&bin), &e)))
}

/// Builds a program of the workspace; cargo's messages say where it lies, whatever the target folder.
pub fn build(package: &str, program: &str, profile: &str) -> Result<PathBuf> {
    build_for(None, package, program, profile)
}

/// The same for another machine.
pub fn build_for(machine: Option<&Machine>, package: &str, program: &str, profile: &str) -> Result<PathBuf> {
    let messages = cargo(machine, &["build", "--package", package, "--bin", program, "--profile", profile])?;
    let executable = messages.split("\"executable\":\"").nth(1).and_then(|rest| rest.split('"').next());
    executable.map(PathBuf::from).ok_or("cargo does not say where the program is".into())
}

/// Has cargo build something for a machine, or for this one, and gives its messages.
pub fn cargo(machine: Option<&Machine>, words: &[&str]) -> Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(words).args(["--quiet", "--message-format=json-render-diagnostics"]);
    if let Some(machine) = machine {
        command.args(machine.cargo_words()?);
    }
    command.current_dir(workspace()?).stderr(std::process::Stdio::inherit());
    let output = command.output().map_err(|e| format!("cargo: {e}"))?;
    if !output.status.success() {
        let advice = machine.map(Machine::advice).unwrap_or_default();
        return Err(format!("cargo {} fails {advice}", words.join(" ")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
