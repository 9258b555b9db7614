//! NVIDIA's Python package with solder's library inside.

use super::compare;
use crate::cache::{self, at};
use crate::pip::pip_install;
use crate::workspace::workspace;
use crate::{Result, process};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The package, and what it imports to find a library.
const PACKAGES: &[&str] = &["cuda-bindings==13.0.3", "cuda-pathfinder==1.2.3"];

/// Runs the example with each library, and says what differs. It needs neither a GPU nor a driver.
pub fn run(theirs: &Path, ours: &Path) -> Result<Vec<String>> {
    let site = packages()?;
    let root = workspace()?;
    let scratch = cache::root()?.join("scratch").join(format!("nvjitlink-python-{}", std::process::id()));
    fs::create_dir_all(&scratch).map_err(|e| at(&scratch, &e))?;
    let link = |library: &Path, name: &str| -> Result<Vec<u8>> {
        let output = scratch.join(name);
        let inputs = ["blur.cubin", "weights.cubin"].map(|file| root.join("examples/quickstart").join(file));
        let mut python = Command::new("python3");
        python.arg(root.join("examples/jit/link.py")).arg(library).arg("sm_90").arg(&output).args(inputs);
        let ran = process::capture(python.env("PYTHONPATH", &site))?;
        if !ran.status.success() {
            return Err(format!("{}: {}", library.display(), String::from_utf8_lossy(&ran.stderr)));
        }
        fs::read(&output).map_err(|e| at(&output, &e))
    };
    let images = link(theirs, "theirs.cubin").and_then(|a| Ok((a, link(ours, "ours.cubin")?)));
    let _ = fs::remove_dir_all(&scratch);
    let (theirs, ours) = images?;
    Ok(compare::images(&theirs, &ours))
}

fn packages() -> Result<PathBuf> {
    let site = cache::root()?.join("cuda-bindings-13.0.3");
    if !site.is_dir() {
        let _lock = cache::lock(&site.with_added_extension("lock"))?;
        if !site.is_dir() {
            let staged = cache::staging(&site);
            let new = staged.join("site");
            fs::create_dir_all(&new).map_err(|e| at(&new, &e))?;
            let outcome = pip_install(&staged, &new, PACKAGES).and_then(|()| cache::publish(&new, &site));
            let _ = fs::remove_dir_all(&staged);
            outcome?;
        }
    }
    Ok(site)
}
