//! Debian's packages, fetched and unpacked, but not installed: apt-get reads a sources list of our own.

use crate::cache::at;
use crate::{Result, process};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const MIRROR: &str = "http://deb.debian.org/debian";

/// apt-get with folders of its own.
#[derive(Debug)]
pub struct Apt {
    folder: PathBuf,
    options: Vec<String>,
}

impl Apt {
    /// One that knows the packages of a suite and its parts, such as `trixie main`; works below `staged`.
    pub fn new(staged: &Path, suite: &str) -> Result<Self> {
        Self::with(staged, suite, &[])
    }

    /// One for another architecture, on which nothing is installed.
    pub fn of(architecture: &str, staged: &Path, suite: &str) -> Result<Self> {
        let status = staged.join("status");
        fs::write(&status, "").map_err(|e| at(&status, &e))?;
        let options = [
            format!("APT::Architecture={architecture}"),
            format!("APT::Architectures::={architecture}"),
            "APT::Install-Recommends=false".into(),
            format!("Dir::State::status={}", status.display()),
        ];
        Self::with(staged, suite, &options)
    }

    fn with(staged: &Path, suite: &str, more: &[String]) -> Result<Self> {
        let folder = staged.join("apt");
        for part in ["lists/partial", "cache/archives/partial", "fetched"] {
            let folder = folder.join(part);
            fs::create_dir_all(&folder).map_err(|e| at(&folder, &e))?;
        }
        let sources = folder.join("sources.list");
        fs::write(&sources, format!("deb {MIRROR} {suite}\n")).map_err(|e| at(&sources, &e))?;
        let mut options = vec![
            format!("Dir::Etc::sourcelist={}", sources.display()),
            "Dir::Etc::sourceparts=-".into(),
            format!("Dir::State::lists={}", folder.join("lists").display()),
            format!("Dir::Cache={}", folder.join("cache").display()),
        ];
        options.extend_from_slice(more);
        let apt = Self { folder, options };
        process::succeed(apt.get().arg("update"))?;
        Ok(apt)
    }

    fn get(&self) -> Command {
        let mut command = Command::new("apt-get");
        command.current_dir(self.folder.join("fetched")).arg("--quiet");
        for option in &self.options {
            command.arg("-o").arg(option);
        }
        command
    }

    /// Fetches these packages, as `name` or `name=version`.
    pub fn download(&self, packages: &[&str]) -> Result<Vec<PathBuf>> {
        process::succeed(self.get().arg("download").args(packages))?;
        self.files("fetched")
    }

    /// Fetches these packages and all that they need.
    pub fn download_whole(&self, packages: &[&str]) -> Result<Vec<PathBuf>> {
        process::succeed(self.get().args(["install", "--yes", "--download-only"]).args(packages))?;
        self.files("cache/archives")
    }

    fn files(&self, folder: &str) -> Result<Vec<PathBuf>> {
        let folder = self.folder.join(folder);
        let entries = fs::read_dir(&folder).map_err(|e| at(&folder, &e))?;
        let files = entries.flatten().map(|entry| entry.path());
        Ok(files.filter(|path| path.extension().is_some_and(|ending| ending == "deb")).collect())
    }
}

/// Unpacks a package below `root`, without running anything of it.
pub fn unpack(package: &Path, root: &Path) -> Result<()> {
    process::succeed(Command::new("dpkg-deb").arg("-x").arg(package).arg(root))
}
