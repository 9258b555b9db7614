//! Assemblers of older toolkits: real programs mix objects of several releases, and nvlink links them.
//!
//! NVIDIA's Python packages of CUDA 11 and 12 hold ptxas without a linker; those of CUDA 13 hold both. Only ptxas is kept of them.

use crate::cache::{self, at};
use crate::pip::pip_install;
use crate::{Result, process};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// One release of ptxas.
pub struct Release {
    /// As in `cargo xtask toolkit ptxas-12.4`.
    pub name: &'static str,
    /// The Python package that holds it.
    pip: &'static str,
    /// The newest version of PTX that it reads.
    pub ptx: (u32, u32),
    /// The lowest number of an architecture for which it makes no code. Variants such as sm_100f are not all
    /// known to each release that knows sm_100.
    below: u32,
    /// Installed when a case asks for it. The rest take part in the cases once `cargo xtask toolkit` has installed them: rules
    /// differ between few of the releases, and every one is a download.
    usual: bool,
}

pub const RELEASES: &[Release] = &[
    Release { name: "11.7", pip: "nvidia-cuda-nvcc-cu11==11.7.99", ptx: (7, 7), below: 89, usual: false },
    Release { name: "11.8", pip: "nvidia-cuda-nvcc-cu11==11.8.89", ptx: (7, 8), below: 100, usual: true },
    Release { name: "12.0", pip: "nvidia-cuda-nvcc-cu12==12.0.140", ptx: (8, 0), below: 100, usual: true },
    Release { name: "12.1", pip: "nvidia-cuda-nvcc-cu12==12.1.105", ptx: (8, 1), below: 100, usual: false },
    Release { name: "12.2", pip: "nvidia-cuda-nvcc-cu12==12.2.140", ptx: (8, 2), below: 100, usual: false },
    Release { name: "12.3", pip: "nvidia-cuda-nvcc-cu12==12.3.107", ptx: (8, 3), below: 100, usual: false },
    Release { name: "12.4", pip: "nvidia-cuda-nvcc-cu12==12.4.131", ptx: (8, 4), below: 100, usual: true },
    Release { name: "12.5", pip: "nvidia-cuda-nvcc-cu12==12.5.82", ptx: (8, 5), below: 100, usual: false },
    Release { name: "12.6", pip: "nvidia-cuda-nvcc-cu12==12.6.85", ptx: (8, 5), below: 100, usual: true },
    Release { name: "12.8", pip: "nvidia-cuda-nvcc-cu12==12.8.93", ptx: (8, 7), below: 130, usual: true },
    Release { name: "12.9", pip: "nvidia-cuda-nvcc-cu12==12.9.86", ptx: (8, 8), below: 130, usual: true },
    // The first build of the release whose last one is nvlink's own.
    Release { name: "13.0.48", pip: "nvidia-cuda-nvcc==13.0.48", ptx: (9, 0), below: 130, usual: true },
];

impl Release {
    pub fn find(name: &str) -> Result<&'static Release> {
        RELEASES.iter().find(|release| release.name == name).ok_or_else(|| {
            let names: Vec<_> = RELEASES.iter().map(|release| release.name).collect();
            format!("there is no release '{name}'; there are {}", names.join(", "))
        })
    }

    /// The release in the name of a tool, such as `ptxas-12.4`.
    pub fn of_tool(tool: &str) -> Option<&'static Release> {
        Self::find(tool.strip_prefix("ptxas-")?).ok()
    }

    /// Whether it makes code for `arch`, such as `sm_90a`.
    pub fn knows(&self, arch: &str) -> bool {
        let text = arch.trim_start_matches("sm_");
        let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        match text {
            "88" => self.ptx >= (9, 0),
            "90a" => self.ptx >= (8, 0),
            "103" | "103a" | "121" | "121a" => self.ptx >= (8, 8),
            _ if number == "110" => self.ptx >= (9, 0),
            _ if text.ends_with('f') => self.ptx >= (8, 8),
            _ => number.parse().is_ok_and(|number: u32| number < self.below),
        }
    }

    /// PTX that this release reads.
    pub fn lower(&self, ptx: &str) -> String {
        lower(ptx, self.ptx)
    }

    /// What `ptxas --version` prints: `release 12.4, V12.4.131`.
    fn printed(&self) -> String {
        let version = self.pip.rsplit("==").next().unwrap_or_default();
        let name = version.rsplit_once('.').map_or(version, |(name, _)| name);
        format!("release {name}, V{version}")
    }

    fn root(&self) -> Result<PathBuf> {
        Ok(cache::root()?.join(format!("ptxas-{}", self.name)))
    }

    /// The assembler, if it is installed.
    pub fn installed(&self) -> Option<PathBuf> {
        let ptxas = self.root().ok()?.join("bin/ptxas");
        ptxas.is_file().then_some(ptxas)
    }

    /// The assembler, installed first if need be.
    pub fn ensure(&self) -> Result<PathBuf> {
        if let Some(ptxas) = self.installed() {
            return Ok(ptxas);
        }
        let root = self.root()?;
        let _lock = cache::lock(&root.with_added_extension("lock"))?;
        if !root.is_dir() {
            eprintln!(
                "installing ptxas {} into {} (a download of 20 to 40 MB, once)",
                self.name,
                root.display()
            );
            cache::remove_staged(&root);
            let staged = cache::staging(&root);
            let outcome = self.unpack(&staged).and_then(|tree| cache::publish(&tree, &root));
            let _ = fs::remove_dir_all(&staged);
            outcome.map_err(|e| format!("could not install ptxas {}: {e}", self.name))?;
        }
        self.installed().ok_or_else(|| format!("there is no bin/ptxas in {}", root.display()))
    }

    /// Keeps ptxas and its licence of all that the package holds.
    fn unpack(&self, staged: &Path) -> Result<PathBuf> {
        fs::create_dir_all(staged).map_err(|e| at(staged, &e))?;
        let site = staged.join("site");
        pip_install(staged, &site, &[self.pip])?;
        let tree = staged.join("tree");
        let bin = tree.join("bin");
        fs::create_dir_all(&bin).map_err(|e| at(&bin, &e))?;
        let folder = if self.ptx < (9, 0) { "cuda_nvcc" } else { "cu13" };
        let source = site.join("nvidia").join(folder).join("bin/ptxas");
        fs::rename(&source, bin.join("ptxas")).map_err(|e| at(&source, &e))?;
        for entry in fs::read_dir(&site).map_err(|e| at(&site, &e))?.flatten() {
            if entry.file_name().to_string_lossy().ends_with(".dist-info") {
                fs::rename(entry.path(), tree.join(entry.file_name())).map_err(|e| at(&tree, &e))?;
            }
        }
        let output = process::capture(Command::new(bin.join("ptxas")).arg("--version"))?;
        if !String::from_utf8_lossy(&output.stdout).contains(&self.printed()) {
            return Err(format!("its ptxas does not run, or is not of release {}", self.name));
        }
        Ok(tree)
    }
}

/// Lowers the version that PTX asks for to one that an assembler reads, and what it cannot read to what came before it.
pub fn lower(ptx: &str, newest: (u32, u32)) -> String {
    let lower = |line: &str| match version(line) {
        Some(asked) if newest < asked => format!(".version {}.{}\n", newest.0, newest.1),
        _ => line.to_string(),
    };
    let lowered: String = ptx.split_inclusive('\n').map(lower).collect();
    if newest < (8, 5) { lowered.replace("mma.sp::ordered_metadata.", "mma.sp.") } else { lowered }
}

/// Whether PTX asks for a later version than this.
pub fn asks_for_more(ptx: &str, newest: (u32, u32)) -> bool {
    ptx.lines().filter_map(version).any(|asked| asked > newest)
}

/// Raises the version that PTX asks for to the first that has an architecture.
pub fn raise(ptx: &str, oldest: (u32, u32)) -> String {
    let raise = |line: &str| match version(line) {
        Some(asked) if asked < oldest => format!(".version {}.{}\n", oldest.0, oldest.1),
        _ => line.to_string(),
    };
    ptx.split_inclusive('\n').map(raise).collect()
}

/// The version in a line `.version 9.0`.
fn version(line: &str) -> Option<(u32, u32)> {
    let (major, minor) = line.trim().strip_prefix(".version")?.trim().split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Installs each release at most once, and remembers those that cannot be had.
#[derive(Default)]
pub struct Assemblers(Mutex<BTreeMap<&'static str, Result<PathBuf>>>);

impl Assemblers {
    pub fn get(&self, release: &'static Release) -> Result<PathBuf> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let get = || match release.installed() {
            None if !release.usual => {
                let name = release.name;
                Err(format!("ptxas {name} is not installed; 'cargo xtask toolkit ptxas-{name}' does it"))
            }
            _ => release.ensure(),
        };
        known.entry(release.name).or_insert_with(get).clone()
    }

    /// Why one of these could not be installed, if one was asked for and could not.
    pub fn missing(&self, releases: &[&'static Release]) -> Option<String> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        releases.iter().find_map(|release| known.get(release.name)?.as_ref().err().cloned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_lowered_only_where_needed() {
        let old = Release::find("12.0").unwrap();
        assert_eq!(old.lower("// x\n.version 9.0\n.target sm_90\n"), "// x\n.version 8.0\n.target sm_90\n");
        assert_eq!(old.lower(".version 7.5\n"), ".version 7.5\n");
        assert_eq!(raise(".version 9.0\n.target sm_107\n", (9, 4)), ".version 9.4\n.target sm_107\n");
        assert!(Release::find("12.7").is_err());
    }

    #[test]
    fn architectures_of_releases() {
        let knows = |release: &str, arch: &str| Release::find(release).unwrap().knows(arch);
        assert!(knows("11.8", "sm_75") && knows("11.8", "sm_90") && !knows("11.8", "sm_90a"));
        assert!(knows("12.0", "sm_90a") && !knows("12.6", "sm_100") && !knows("12.9", "sm_88"));
        assert!(knows("12.8", "sm_100") && knows("12.8", "sm_120a") && !knows("12.8", "sm_100f"));
        assert!(knows("12.9", "sm_103") && !knows("12.9", "sm_110"));
        assert!(knows("11.7", "sm_87") && !knows("11.7", "sm_89") && !knows("11.7", "sm_90"));
        assert!(knows("13.0.48", "sm_88") && knows("13.0.48", "sm_110f"));
        assert_eq!(Release::find("13.0.48").unwrap().printed(), "release 13.0, V13.0.48");
    }
}
