//! Toolkits of Debian's packages, which hold the linkers of CUDA 12 that NVIDIA's Python packages lack.
//!
//! They are not installed: apt-get fetches them with a sources list of our own, and what is needed is moved into the
//! shape of an ordinary toolkit.

use crate::Result;
use crate::apt::{Apt, unpack};
use crate::cache::at;
use crate::pip::pip_install;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The packages of one toolkit, as `name=version`.
#[derive(Debug)]
pub struct Packages {
    pub suite: &'static str,
    pub tools: &'static [&'static str],
    pub libraries: &'static [&'static str],
    /// The package with the headers and the static libraries, and with much that is not needed.
    pub headers: &'static str,
}

/// The headers that cooperative groups include. The package of 12.4 lacks some.
const CCCL: &str = "nvidia-cuda-cccl-cu12==12.5.39";

const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// What is taken of the package with the headers, as patterns of tar.
const OF_HEADERS: [&str; 4] = [
    "./usr/include/*",
    "./usr/lib/x86_64-linux-gnu/libcudadevrt.a",
    "./usr/lib/x86_64-linux-gnu/libcudart_static.a",
    "./usr/lib/x86_64-linux-gnu/libcudart.so",
];

/// Where an ordinary toolkit's nvcc looks for its parts.
const PROFILE: &str = "\
TOP              = $(_HERE_)/..
NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice
PATH            += $(TOP)/nvvm/bin:$(_HERE_):
INCLUDES        += \"-I$(TOP)/include\" $(_SPACE_)
LIBRARIES       =+ $(_SPACE_) \"-L$(TOP)/lib64\"
";

/// What nvcc compiles into programs whose device code it links.
const STUBS: &str = "bin/crt";
const OWN: &str = "usr/lib/nvidia-cuda-toolkit";

impl Packages {
    /// Whether a tree has all that is taken of the packages. Earlier ones lack the stubs.
    pub fn is_complete(root: &Path) -> bool {
        root.join(STUBS).is_dir()
    }

    /// Adds what an earlier tree lacks; `staged` is a folder to work in.
    pub fn complete(&self, root: &Path, staged: &Path) -> Result<()> {
        let system = staged.join("system");
        fs::create_dir_all(&system).map_err(|e| at(&system, &e))?;
        for package in fetch(self.suite, self.tools, staged)? {
            unpack(&package, &system)?;
        }
        let stubs = system.join(OWN).join(STUBS);
        fs::rename(&stubs, root.join(STUBS)).map_err(|e| at(&stubs, &e))
    }

    /// The toolkit's tree below `staged`.
    pub fn unpack(&self, staged: &Path) -> Result<PathBuf> {
        let packages: Vec<_> =
            self.tools.iter().chain(self.libraries).chain([&self.headers]).copied().collect();
        let fetched = fetch(self.suite, &packages, staged)?;
        let system = staged.join("system");
        fs::create_dir_all(&system).map_err(|e| at(&system, &e))?;
        for package in fetched {
            if is_of(&package, self.headers) {
                unpack_headers(&package, &system)?;
            } else {
                unpack(&package, &system)?;
            }
        }
        let tree = staged.join("tree");
        lay_out(&system, &tree)?;
        // Debian has these headers in packages of their own, which no other toolkit fits.
        let site = staged.join("site");
        pip_install(staged, &site, &[CCCL])?;
        for folder in ["cuda", "nv"] {
            let from = site.join("nvidia/cuda_cccl/include").join(folder);
            fs::rename(&from, tree.join("include").join(folder)).map_err(|e| at(&from, &e))?;
        }
        Ok(tree)
    }
}

/// Fetches packages of a suite, as `name=version`.
fn fetch(suite: &str, packages: &[&str], staged: &Path) -> Result<Vec<PathBuf>> {
    Apt::new(staged, &format!("{suite} main contrib non-free"))?.download(packages)
}

fn is_of(file: &Path, package: &str) -> bool {
    let name = package.split_once('=').map_or(package, |(name, _)| name);
    file.file_name().is_some_and(|file| file.to_string_lossy().starts_with(&format!("{name}_")))
}

fn unpack_headers(package: &Path, system: &Path) -> Result<()> {
    let mut packed = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(package)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cannot start dpkg-deb: {e}"))?;
    let stdout = packed.stdout.take().ok_or("dpkg-deb has no output")?;
    let mut tar = Command::new("tar");
    tar.arg("-x").arg("-C").arg(system).arg("--wildcards").args(OF_HEADERS).stdin(Stdio::from(stdout));
    let status = tar.status().map_err(|e| format!("cannot start tar: {e}"))?;
    let packed = packed.wait().map_err(|e| format!("dpkg-deb: {e}"))?;
    if status.success() && packed.success() { Ok(()) } else { Err("the headers do not unpack".into()) }
}

/// Moves what Debian has in many places to where an ordinary toolkit has it.
fn lay_out(system: &Path, tree: &Path) -> Result<()> {
    for folder in ["nvvm/lib64", "nvvm/bin", "share"] {
        let folder = tree.join(folder);
        fs::create_dir_all(&folder).map_err(|e| at(&folder, &e))?;
    }
    let moves = [
        ("usr/bin".to_string(), "bin"),
        (LIBRARIES.to_string(), "lib64"),
        ("usr/include".to_string(), "include"),
        (format!("{OWN}/libdevice"), "nvvm/libdevice"),
        (format!("{OWN}/bin/cicc"), "nvvm/bin/cicc"),
        (format!("{OWN}/{STUBS}"), STUBS),
        ("usr/share/doc".to_string(), "share/packages"),
    ];
    for (from, to) in moves {
        let from = system.join(from);
        fs::rename(&from, tree.join(to)).map_err(|e| at(&from, &e))?;
    }
    // Debian's `bin/nvcc` is a script that starts the real one with Debian's profile.
    let nvcc = tree.join("bin/nvcc");
    fs::rename(system.join(OWN).join("bin/nvcc"), &nvcc).map_err(|e| at(&nvcc, &e))?;
    let profile = tree.join("bin/nvcc.profile");
    fs::write(&profile, PROFILE).map_err(|e| at(&profile, &e))?;
    let links = [
        ("../nvvm/bin/cicc", "bin/cicc"),
        ("../../lib64/libnvvm.so.4", "nvvm/lib64/libnvvm.so"),
        ("libnvJitLink.so.12", "lib64/libnvJitLink.so"),
    ];
    for (target, name) in links {
        let name = tree.join(name);
        symlink(target, &name).map_err(|e| at(&name, &e))?;
    }
    Ok(())
}
