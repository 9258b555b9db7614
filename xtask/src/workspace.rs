//! The workspace: its folder, and the programs that are built from it.

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
    match std::env::var_os("SOLDER_BIN").filter(|bin| !bin.is_empty()) {
        Some(bin) => fs::canonicalize(&bin).map_err(|e| cache::at(Path::new(&bin), &e)),
        None => build("solder", "solder", &["--release"]),
    }
}

/// Builds a program of the workspace; cargo's messages say where it lies, whatever the target folder.
pub fn build(package: &str, program: &str, options: &[&str]) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--package", package, "--bin", program]).args(options);
    command.arg("--message-format=json-render-diagnostics").current_dir(workspace()?);
    let output =
        command.stderr(std::process::Stdio::inherit()).output().map_err(|e| format!("cargo: {e}"))?;
    if !output.status.success() {
        return Err(format!("{package} does not build"));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let executable = messages.split("\"executable\":\"").nth(1).and_then(|rest| rest.split('"').next());
    executable.map(PathBuf::from).ok_or("cargo does not say where the program is".into())
}
