//! CUDA toolkits: the linkers that solder is compared with, and the compilers of the tests.
//!
//! Each is pinned to one version and installed into the user's cache folder, once. Those of CUDA 13 come from NVIDIA's Python
//! packages, those of CUDA 12 with a linker from Debian's.

mod debian;
mod wheels;

use crate::assembler::{RELEASES, Release as Assembler};
use crate::cache::{self, at};
pub(crate) use crate::pip::pip_install;
use crate::{Result, process};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The release that solder is compared with where nothing else is asked for.
pub const ORACLE: &solder_arch::Release = solder_arch::Release::CUDA_13_0;

/// The linker's version, and the name of the installed tree.
pub const VERSION: &str = ORACLE.version;

const USAGE: &str = "\
usage: cargo xtask toolkit [RELEASE…]

Installs the CUDA toolkit of each release (13.0, 13.1, 13.2, 13.3, 13.4, 12.4, 12.5, or all; 13.0 if none is
named) into the user's cache folder unless it is there already, and prints its root. SOLDER_TOOLKIT names
another root to use instead of that of 13.0. 12.4 and 12.5 take apt-get and 1 GB of download each.

ptxas-11.7, ptxas-12.0 … ptxas-12.9, ptxas-13.0.48, or older for all of them, install only an assembler, for the tests with
objects of older toolkits.";

/// A toolkit that tests can be run against.
#[derive(Debug)]
pub struct Toolkit {
    /// As in `cargo xtask toolkit 13.2`.
    pub name: &'static str,
    /// The version of its nvlink.
    pub version: &'static str,
    /// The newest version of PTX that its assembler reads.
    pub ptx: (u32, u32),
    source: Source,
}

#[derive(Debug)]
enum Source {
    Wheels(&'static [&'static str]),
    Debian(debian::Packages),
}

/// All of them, the oldest first.
pub const TOOLKITS: &[Toolkit] = &[
    Toolkit {
        name: "12.4",
        version: "12.4.131",
        ptx: (8, 4),
        source: Source::Debian(debian::Packages {
            suite: "trixie",
            tools: &["nvidia-cuda-toolkit=12.4.131~12.4.1-2"],
            libraries: &[
                "libnvvm4=12.4.131~12.4.1-2",
                "libnvjitlink12=12.4.127~12.4.1-2",
                "libcudart12=12.4.127~12.4.1-2",
            ],
            headers: "nvidia-cuda-dev=12.4.127~12.4.1-2",
        }),
    },
    Toolkit {
        name: "12.5",
        version: "12.5.40",
        ptx: (8, 5),
        source: Source::Debian(debian::Packages {
            suite: "experimental",
            tools: &["nvidia-cuda-toolkit=12.5.40~12.5.0-2+b1"],
            libraries: &[
                "libnvvm4=12.5.40~12.5.0-2+b1",
                "libnvjitlink12=12.5.40~12.5.0-2+b1",
                "libcudart12=12.5.39~12.5.0-2+b1",
            ],
            headers: "nvidia-cuda-dev=12.5.39~12.5.0-2+b1",
        }),
    },
    Toolkit {
        name: "13.0",
        version: VERSION,
        ptx: (9, 0),
        source: Source::Wheels(&[
            "nvidia-cuda-nvcc==13.0.88",
            "nvidia-nvvm==13.0.88",
            "nvidia-cuda-crt==13.0.88",
            "nvidia-cuda-runtime==13.0.96",
            "nvidia-cuda-cccl==13.0.85",
            "nvidia-nvjitlink==13.0.88",
            "nvidia-nvfatbin==13.0.85",
        ]),
    },
    Toolkit {
        name: "13.1",
        version: "13.1.115",
        ptx: (9, 1),
        source: Source::Wheels(&[
            "nvidia-cuda-nvcc==13.1.115",
            "nvidia-nvvm==13.1.115",
            "nvidia-cuda-crt==13.1.115",
            "nvidia-cuda-runtime==13.1.80",
            "nvidia-cuda-cccl==13.1.115",
            "nvidia-nvjitlink==13.1.115",
            "nvidia-nvfatbin==13.1.115",
        ]),
    },
    Toolkit {
        name: "13.2",
        version: "13.2.86",
        ptx: (9, 2),
        source: Source::Wheels(&[
            "nvidia-cuda-nvcc==13.2.86",
            "nvidia-nvvm==13.2.86",
            "nvidia-cuda-crt==13.2.86",
            "nvidia-cuda-runtime==13.2.86",
            "nvidia-cuda-cccl==13.2.86",
            "nvidia-nvjitlink==13.2.86",
            "nvidia-nvfatbin==13.2.86",
        ]),
    },
    Toolkit {
        name: "13.3",
        version: "13.3.73",
        ptx: (9, 3),
        source: Source::Wheels(&[
            "nvidia-cuda-nvcc==13.3.73",
            // Of the build that the only published nvJitLink of 13.3 is of: PTX names the build of its compiler.
            "nvidia-nvvm==13.3.33",
            "nvidia-cuda-crt==13.3.73",
            "nvidia-cuda-runtime==13.3.29",
            "nvidia-cuda-cccl==13.3.3.3.1",
            "nvidia-nvjitlink==13.3.33",
            "nvidia-nvfatbin==13.3.29",
        ]),
    },
    Toolkit {
        name: "13.4",
        version: "13.4.92",
        ptx: (9, 4),
        source: Source::Wheels(&[
            "nvidia-cuda-nvcc==13.4.92",
            "nvidia-nvvm==13.4.92",
            "nvidia-cuda-crt==13.4.92",
            "nvidia-cuda-runtime==13.4.92",
            "nvidia-cuda-cccl==13.3.5.0.6",
            "nvidia-nvjitlink==13.4.92",
            "nvidia-nvfatbin==13.4.92",
        ]),
    },
];

pub fn run(args: &[String]) -> Result<u8> {
    if args.is_empty() {
        println!("{}", ensure()?.display());
    }
    for arg in args {
        match arg.as_str() {
            "-h" | "--help" => println!("{USAGE}"),
            "all" => {
                for toolkit in TOOLKITS {
                    println!("{}", toolkit.ensure()?.display());
                }
            }
            "older" => {
                for release in RELEASES {
                    println!("{}", release.ensure()?.display());
                }
            }
            name => {
                let root = match Assembler::of_tool(name) {
                    Some(assembler) => assembler.ensure()?,
                    None => Toolkit::find(name).map_err(|e| format!("toolkit: {e}\n\n{USAGE}"))?.ensure()?,
                };
                println!("{}", root.display());
            }
        }
    }
    Ok(0)
}

/// The root of the toolkit that solder is compared with where nothing else is asked for.
pub fn ensure() -> Result<PathBuf> {
    Toolkit::find(ORACLE.name)?.ensure()
}

impl Toolkit {
    /// The toolkit of a release, such as `13.2`, or of its version.
    pub fn find(name: &str) -> Result<&'static Self> {
        let found = TOOLKITS.iter().find(|toolkit| toolkit.name == name || toolkit.version == name);
        found.ok_or_else(|| {
            let names: Vec<_> = TOOLKITS.iter().map(|toolkit| toolkit.name).collect();
            format!("there is no toolkit '{name}'; there are {}", names.join(", "))
        })
    }

    /// The release that solder is to be when it is compared with this toolkit's nvlink.
    pub fn release(&self) -> Result<&'static solder_arch::Release> {
        let unknown = || format!("solder does not know CUDA {} yet", self.name);
        solder_arch::Release::of_version(self.version).ok_or_else(unknown)
    }

    /// The toolkit of another platform, such as `manylinux2014_aarch64`, unpacked somewhere below `staged`.
    pub fn unpack_for(&self, platform: &str, staged: &Path) -> Result<PathBuf> {
        let Source::Wheels(packages) = &self.source else {
            return Err(format!("CUDA {} has no packages for other machines", self.name));
        };
        fs::create_dir_all(staged).map_err(|e| at(staged, &e))?;
        wheels::unpack(staged, packages, Some(platform))
    }

    /// The root, installed first if need be.
    pub fn ensure(&self) -> Result<PathBuf> {
        let named = std::env::var_os("SOLDER_TOOLKIT").filter(|root| !root.is_empty());
        if let Some(root) = named.filter(|_| self.name == ORACLE.name) {
            let root = PathBuf::from(root);
            if !root.join("bin/nvlink").is_file() {
                return Err(format!(
                    "SOLDER_TOOLKIT is {}, but there is no bin/nvlink in it",
                    root.display()
                ));
            }
            return fs::canonicalize(&root).map_err(|e| at(&root, &e));
        }
        let root = cache::root()?.join(format!("toolkit-{}", self.version));
        if root.is_dir() {
            return Ok(root);
        }
        let _lock = self.lock(&root)?;
        if !root.is_dir() {
            self.install(&root)?;
        }
        Ok(root)
    }

    /// The same, for whole programs: adds what an earlier version of this command left out.
    pub fn ensure_for_programs(&self) -> Result<PathBuf> {
        let root = self.ensure()?;
        let Source::Debian(packages) = &self.source else { return Ok(root) };
        let _lock = self.lock(&root)?;
        if !debian::Packages::is_complete(&root) {
            eprintln!("completing CUDA {} in {} (a download of 90 MB, once)", self.version, root.display());
            let staged = cache::staging(&root);
            let outcome = packages.complete(&root, &staged);
            let _ = fs::remove_dir_all(&staged);
            outcome?;
        }
        Ok(root)
    }

    fn lock(&self, root: &Path) -> Result<fs::File> {
        cache::lock(&root.with_file_name(format!("toolkit-{}.lock", self.version)))
    }

    fn install(&self, root: &Path) -> Result<()> {
        let size = match self.source {
            Source::Wheels(_) => "140 MB",
            Source::Debian(_) => "1 GB",
        };
        eprintln!("installing CUDA {} into {} (a download of {size}, once)", self.version, root.display());
        cache::remove_staged(root);
        let staged = cache::staging(root);
        let outcome = self.unpack(&staged).and_then(|tree| {
            self.check(&tree)?;
            cache::publish(&tree, root)
        });
        // Also after a failure: the download is of no use to the next attempt, pip has its own cache.
        let _ = fs::remove_dir_all(&staged);
        outcome
    }

    /// The toolkit's tree, somewhere below `staged`.
    fn unpack(&self, staged: &Path) -> Result<PathBuf> {
        fs::create_dir_all(staged).map_err(|e| at(staged, &e))?;
        let tree = match &self.source {
            Source::Wheels(packages) => wheels::unpack(staged, packages, None),
            Source::Debian(packages) => packages.unpack(staged),
        };
        tree.map_err(|reason| {
            format!(
                "could not install the CUDA toolkit: {reason}\n\
                 Where CUDA {VERSION} is installed already, set SOLDER_TOOLKIT to its root instead."
            )
        })
    }

    fn check(&self, tree: &Path) -> Result<()> {
        for part in [
            "bin/nvcc",
            "bin/nvlink",
            "bin/ptxas",
            "bin/fatbinary",
            "nvvm/lib64/libnvvm.so",
            "include/cuda.h",
        ] {
            if !tree.join(part).exists() {
                return Err(format!("the CUDA packages unpacked without {part}"));
            }
        }
        let output = process::capture(Command::new(tree.join("bin/nvlink")).arg("--version"))?;
        if !String::from_utf8_lossy(&output.stdout).contains(self.version) {
            return Err(format!("the installed nvlink does not run, or is not version {}", self.version));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_release_with_a_linker_has_its_toolkit() {
        for release in solder_arch::Release::ALL {
            // The linkers of the others are not published; there is only their library.
            let has_linker = match release.major() {
                12 => ["12.4", "12.5"].contains(&release.name),
                _ => release != solder_arch::Release::CUDA_13_5,
            };
            if has_linker {
                assert_eq!(Toolkit::find(release.name).unwrap().version, release.version);
            }
        }
        assert!(Toolkit::find("12.7").is_err());
    }
}
