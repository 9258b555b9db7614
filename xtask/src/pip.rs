//! pip, with which the tools are installed.

use crate::cache;
use crate::{Result, process};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Lets pip unpack packages into `site`; `staged` is a folder for its use.
pub(crate) fn pip_install(staged: &Path, site: &Path, packages: &[&str]) -> Result<()> {
    pip_install_for(staged, site, packages, None)
}

/// The same with packages for another platform.
pub(crate) fn pip_install_for(
    staged: &Path,
    site: &Path,
    packages: &[&str],
    platform: Option<&str>,
) -> Result<()> {
    let mut pip = pip(staged)?;
    pip.args(["install", "--quiet", "--no-deps", "--only-binary=:all:", "--target"]).arg(site).args(packages);
    if let Some(platform) = platform {
        pip.args(["--platform", platform]);
    }
    let output = process::capture(&mut pip)?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "pip failed.\n{}\n\n\
         The tests need these Python packages from a package index, which takes network access:\n  {}",
        last_lines(&output, 6),
        packages.join("\n  ")
    ))
}

/// The folder of a package such as `nvidia-curand==10.4.0.35` in the user's cache. Installs it first if need be.
pub(crate) fn ensure(package: &str) -> Result<PathBuf> {
    let root = cache::root()?.join("packages").join(package.replace("==", "-"));
    cache::make(&root, package, |staged| {
        let site = staged.join("site");
        pip_install(staged, &site, &[package]).map(|()| site)
    })
}

/// A pip to install with: one of our own virtual environment, or, where Python was packaged without
/// `ensurepip`, the machine's.
fn pip(staged: &Path) -> Result<Command> {
    let venv = staged.join("venv");
    let made = process::capture(Command::new("python3").args(["-m", "venv"]).arg(&venv))
        .map_err(|e| format!("{e}\nThe tests need Python 3 to install what they use."))?;
    let own = venv.join("bin/python");
    for python in [own.as_path(), Path::new("python3")] {
        let mut probe = Command::new(python);
        if process::capture(probe.args(["-m", "pip", "--version"])).is_ok_and(|o| o.status.success()) {
            let mut pip = Command::new(python);
            pip.args(["-m", "pip"]);
            return Ok(pip);
        }
    }
    Err(format!("python3 has neither a working venv nor pip.\n{}", last_lines(&made, 4)))
}

fn last_lines(output: &Output, count: usize) -> String {
    let text = [output.stdout.as_slice(), &output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
