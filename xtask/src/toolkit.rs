//! The pinned CUDA toolkit: the linker that solder is compared with, and the compilers of the tests.
//!
//! NVIDIA publishes the pieces as Python wheels. They unpack to one tree that lacks a few links; with
//! those it is a toolkit like an installed one.

use crate::assembler::{RELEASES, Release};
use crate::cache::{self, at};
pub(crate) use crate::pip::pip_install;
use crate::{Result, process};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The release that solder is compared with.
pub const ORACLE: &solder_arch::Release = solder_arch::Release::CUDA_13_0;

/// The linker's version, and the name of the installed tree.
pub const VERSION: &str = ORACLE.version;

const PACKAGES: &[&str] = &[
    "nvidia-cuda-nvcc==13.0.88",
    "nvidia-nvvm==13.0.88",
    "nvidia-cuda-crt==13.0.88",
    "nvidia-cuda-runtime==13.0.96",
    "nvidia-cuda-cccl==13.0.85",
    "nvidia-nvjitlink==13.0.88",
    "nvidia-nvfatbin==13.0.85",
];

const USAGE: &str = "\
usage: cargo xtask toolkit [RELEASE…]

Installs the pinned CUDA toolkit into the user's cache folder unless it is there already, and prints
its root. SOLDER_TOOLKIT names another root to use instead.

With releases (11.8, 12.0 … 12.9, or older for all of them) it installs their assemblers instead, for the
tests with objects of older toolkits, and prints where they are.";

pub fn run(args: &[String]) -> Result<u8> {
    if args.is_empty() {
        println!("{}", ensure()?.display());
    }
    for arg in args {
        match arg.as_str() {
            "-h" | "--help" => println!("{USAGE}"),
            "older" => {
                for release in RELEASES {
                    println!("{}", release.ensure()?.display());
                }
            }
            name => {
                let release = Release::find(name).map_err(|e| format!("toolkit: {e}\n\n{USAGE}"))?;
                println!("{}", release.ensure()?.display());
            }
        }
    }
    Ok(0)
}

/// The toolkit's root, installed first if need be.
pub fn ensure() -> Result<PathBuf> {
    if let Some(root) = std::env::var_os("SOLDER_TOOLKIT").filter(|root| !root.is_empty()) {
        let root = PathBuf::from(root);
        if !root.join("bin/nvlink").is_file() {
            return Err(format!("SOLDER_TOOLKIT is {}, but there is no bin/nvlink in it", root.display()));
        }
        return fs::canonicalize(&root).map_err(|e| at(&root, &e));
    }
    let root = cache::root()?.join(format!("toolkit-{VERSION}"));
    if root.is_dir() {
        return Ok(root);
    }
    let _lock = cache::lock(&root.with_file_name(format!("toolkit-{VERSION}.lock")))?;
    if !root.is_dir() {
        install(&root)?;
    }
    Ok(root)
}

fn install(root: &Path) -> Result<()> {
    eprintln!("installing CUDA {VERSION} into {} (a download of 140 MB, once)", root.display());
    cache::remove_staged(root);
    let staged = cache::staging(root);
    let outcome = unpack(&staged).and_then(|tree| {
        lay_out(&tree)?;
        check(&tree)?;
        cache::publish(&tree, root)
    });
    // Also after a failure: the download is of no use to the next attempt, pip has its own cache.
    let _ = fs::remove_dir_all(&staged);
    outcome
}

/// Lets pip unpack the wheels under `staged`; the value is the toolkit tree among them.
fn unpack(staged: &Path) -> Result<PathBuf> {
    fs::create_dir_all(staged).map_err(|e| at(staged, &e))?;
    let site = staged.join("site");
    pip_install(staged, &site, PACKAGES).map_err(|reason| {
        format!(
            "could not install the CUDA toolkit: {reason}\n\
             Where CUDA {VERSION} is installed already, set SOLDER_TOOLKIT to its root instead."
        )
    })?;
    let tree = site.join("nvidia/cu13");
    let notices = tree.join("share/packages");
    fs::create_dir_all(&notices).map_err(|e| at(&notices, &e))?;
    for entry in fs::read_dir(&site).map_err(|e| at(&site, &e))?.flatten() {
        // The packages' metadata hold their licences; they stay with the files they are about.
        if entry.file_name().to_string_lossy().ends_with(".dist-info") {
            fs::rename(entry.path(), notices.join(entry.file_name())).map_err(|e| at(&notices, &e))?;
        }
    }
    Ok(tree)
}

/// Adds what an installed toolkit has and the wheels lack.
fn lay_out(tree: &Path) -> Result<()> {
    let link = |target: &str, name: PathBuf| match name.symlink_metadata() {
        Ok(_) => Ok(()),
        Err(_) => symlink(target, &name).map_err(|e| at(&name, &e)),
    };
    link("lib", tree.join("lib64"))?;
    let nvvm = tree.join("nvvm/lib64");
    fs::create_dir_all(&nvvm).map_err(|e| at(&nvvm, &e))?;
    link("../../lib/libnvvm.so.4", nvvm.join("libnvvm.so"))?;
    let lib = tree.join("lib");
    for entry in fs::read_dir(&lib).map_err(|e| at(&lib, &e))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some((stem, _)) = name.split_once(".so.") {
            link(&name, lib.join(format!("{stem}.so")))?;
        }
    }
    Ok(())
}

fn check(tree: &Path) -> Result<()> {
    for part in
        ["bin/nvcc", "bin/nvlink", "bin/ptxas", "bin/fatbinary", "nvvm/lib64/libnvvm.so", "include/cuda.h"]
    {
        if !tree.join(part).exists() {
            return Err(format!("the CUDA packages unpacked without {part}"));
        }
    }
    let output = process::capture(Command::new(tree.join("bin/nvlink")).arg("--version"))?;
    if !String::from_utf8_lossy(&output.stdout).contains(VERSION) {
        return Err(format!("the installed nvlink does not run, or is not version {VERSION}"));
    }
    Ok(())
}
