//! The libraries libnvJitLink, which hold a linker also for the releases whose nvlink cannot be had.

use crate::Result;
use crate::assembler::Release as Assembler;
use crate::cache::{self, at};
use crate::pip::pip_install;
use crate::toolkit::{ORACLE, TOOLKITS, Toolkit};
use std::fs;
use std::path::{Path, PathBuf};

/// One release of the library.
pub struct Library {
    /// As in `cargo xtask nvjitlink 12.6`.
    pub name: &'static str,
    /// The Python package that holds it.
    pip: &'static str,
}

/// All that are published, the newest version of each release.
pub const LIBRARIES: &[Library] = &[
    Library { name: "12.0", pip: "nvidia-nvjitlink-cu12==12.0.140" },
    Library { name: "12.1", pip: "nvidia-nvjitlink-cu12==12.1.105" },
    Library { name: "12.2", pip: "nvidia-nvjitlink-cu12==12.2.140" },
    Library { name: "12.3", pip: "nvidia-nvjitlink-cu12==12.3.101" },
    Library { name: "12.4", pip: "nvidia-nvjitlink-cu12==12.4.127" },
    Library { name: "12.5", pip: "nvidia-nvjitlink-cu12==12.5.82" },
    Library { name: "12.6", pip: "nvidia-nvjitlink-cu12==12.6.85" },
    Library { name: "12.8", pip: "nvidia-nvjitlink-cu12==12.8.93" },
    Library { name: "12.9", pip: "nvidia-nvjitlink-cu12==12.9.86" },
    Library { name: "13.0", pip: "nvidia-nvjitlink==13.0.88" },
    Library { name: "13.1", pip: "nvidia-nvjitlink==13.1.115" },
    Library { name: "13.2", pip: "nvidia-nvjitlink==13.2.86" },
    Library { name: "13.3", pip: "nvidia-nvjitlink==13.3.33" },
    Library { name: "13.4", pip: "nvidia-nvjitlink==13.4.92" },
    Library { name: "13.5", pip: "nvidia-nvjitlink==13.5.37" },
];

/// Whether words are names of releases, or `all`, and nothing else.
pub fn are_releases(words: &[String]) -> bool {
    !words.is_empty() && words.iter().all(|word| word == "all" || Library::find(word).is_ok())
}

/// Installs the libraries of releases, and prints where they are.
pub fn install(names: &[String]) -> Result<u8> {
    for name in names {
        let one = Library::find(name).ok();
        let all = LIBRARIES.iter().filter(|_| name == "all");
        for library in one.into_iter().chain(all) {
            println!("{}", library.ensure()?.display());
        }
    }
    Ok(0)
}

impl Library {
    pub fn find(name: &str) -> Result<&'static Self> {
        LIBRARIES.iter().find(|library| library.name == name).ok_or_else(|| {
            let names: Vec<_> = LIBRARIES.iter().map(|library| library.name).collect();
            format!("there is no library of release '{name}'; there are {}", names.join(", "))
        })
    }

    /// The release that solder is to be when it is compared with this library.
    pub fn release(&self) -> Result<&'static solder_arch::Release> {
        let unknown = || format!("solder does not know CUDA {} yet", self.name);
        solder_arch::Release::of_version(self.name).ok_or_else(unknown)
    }

    /// The assembler that makes its inputs, where there is a package of that alone; otherwise its toolkit has one.
    pub fn assembler(&self) -> Option<&'static Assembler> {
        Assembler::find(self.name).ok()
    }

    /// The toolkit that makes its inputs. One that is not published is replaced by the newest before it; where all inputs
    /// are assembled, it is the usual one.
    pub fn toolkit(&self) -> Result<&'static Toolkit> {
        if self.assembler().is_some() {
            return Toolkit::find(ORACLE.name);
        }
        let number = self.release()?.toolkit;
        let is_not_newer =
            |toolkit: &&Toolkit| toolkit.release().is_ok_and(|release| release.toolkit <= number);
        let newest = TOOLKITS.iter().rfind(is_not_newer);
        newest.ok_or_else(|| format!("no toolkit makes inputs for the library of CUDA {}", self.name))
    }

    /// The library itself, installed first if need be.
    pub fn ensure(&self) -> Result<PathBuf> {
        let root = cache::root()?.join(format!("nvjitlink-{}", self.name));
        if !root.is_dir() {
            let _lock = cache::lock(&root.with_added_extension("lock"))?;
            if !root.is_dir() {
                self.install(&root)?;
            }
        }
        library_in(&root.join("lib"))
    }

    fn install(&self, root: &Path) -> Result<()> {
        eprintln!(
            "installing nvJitLink {} into {} (a download of 20 to 40 MB, once)",
            self.name,
            root.display()
        );
        cache::remove_staged(root);
        let staged = cache::staging(root);
        let outcome = self.unpack(&staged).and_then(|tree| cache::publish(&tree, root));
        let _ = fs::remove_dir_all(&staged);
        outcome.map_err(|e| format!("could not install nvJitLink {}: {e}", self.name))
    }

    fn unpack(&self, staged: &Path) -> Result<PathBuf> {
        fs::create_dir_all(staged).map_err(|e| at(staged, &e))?;
        let site = staged.join("site");
        pip_install(staged, &site, &[self.pip])?;
        let trees = ["nvidia/cu13", "nvidia/nvjitlink"].map(|tree| site.join(tree));
        let tree = trees.into_iter().find(|tree| tree.is_dir()).ok_or("the package holds no library")?;
        for entry in fs::read_dir(&site).map_err(|e| at(&site, &e))?.flatten() {
            // The metadata hold the licence.
            if entry.file_name().to_string_lossy().ends_with(".dist-info") {
                fs::rename(entry.path(), tree.join(entry.file_name())).map_err(|e| at(&tree, &e))?;
            }
        }
        library_in(&tree.join("lib"))?;
        Ok(tree)
    }
}

fn library_in(folder: &Path) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).map_err(|e| at(folder, &e))?;
    let mut found = entries.flatten().map(|entry| entry.path());
    let is_library = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libnvJitLink.so."))
    };
    found.find(is_library).ok_or_else(|| format!("there is no libnvJitLink in {}", folder.display()))
}
