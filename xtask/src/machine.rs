//! Other machines than this one: how programs for them are built here, and run.

use crate::toolkit::Toolkit;
use crate::{Result, cache};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What it takes to build and to run programs of a machine.
#[derive(Debug)]
pub struct Machine {
    /// As the option `--target` has it.
    pub name: &'static str,
    /// The platform of its Python packages.
    pub platform: &'static str,
    /// What Debian calls it.
    pub debian: &'static str,
    /// What Rust calls it.
    target: &'static str,
    /// Before the names of its compilers and binary tools.
    prefix: &'static str,
    /// Names of the emulator; the first that is installed is used.
    emulators: [&'static str; 2],
    /// Where Debian's packages for cross compilation put the C library.
    sysroot: &'static str,
}

const MACHINES: [Machine; 1] = [Machine {
    name: "aarch64",
    platform: "manylinux2014_aarch64",
    debian: "arm64",
    target: "aarch64-unknown-linux-gnu",
    prefix: "aarch64-linux-gnu-",
    emulators: ["qemu-aarch64-static", "qemu-aarch64"],
    sysroot: "/usr/aarch64-linux-gnu",
}];

impl Machine {
    pub fn find(name: &str) -> Result<&'static Self> {
        let found = MACHINES.iter().find(|machine| machine.name == name);
        found.ok_or_else(|| format!("there is no target '{name}'; there is aarch64"))
    }

    /// The program that runs its programs.
    pub fn emulator(&self) -> Result<PathBuf> {
        self.emulators.iter().find_map(|name| on_path(name)).ok_or_else(|| {
            format!("--target {} needs {} (Debian: qemu-user-static)", self.name, self.emulators.join(" or "))
        })
    }

    /// The command that runs a program under its own name, with the C library that it was compiled for.
    pub fn command(&self, emulator: &Path, program: &Path) -> Command {
        let mut command = Command::new(emulator);
        command.args(["-L", self.sysroot, "-0"]).arg(program).arg(program);
        command
    }

    /// The name of a compiler or binary tool for it.
    pub fn tool(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Where that tool is.
    pub fn path_of(&self, name: &str) -> Result<PathBuf> {
        let tool = self.tool(name);
        on_path(&tool).ok_or_else(|| {
            format!("--target {} needs {tool} (Debian: g++-{})", self.name, self.prefix.trim_end_matches('-'))
        })
    }

    /// Cargo's words for a build. The linker that the environment names wins.
    pub fn cargo_words(&self) -> Result<[String; 4]> {
        let linker = format!("target.{}.linker='{}'", self.target, self.path_of("gcc")?.display());
        Ok(["--target".into(), self.target.into(), "--config".into(), linker])
    }

    /// What to do where a build fails.
    pub fn advice(&self) -> String {
        format!("is the target there (rustup target add {})?", self.target)
    }

    /// The machine's toolkit, installed first if need be.
    pub fn toolkit(&self, toolkit: &Toolkit) -> Result<PathBuf> {
        let root = cache::root()?.join(format!("toolkit-{}-{}", toolkit.version, self.name));
        cache::make(&root, &format!("CUDA {} for {}", toolkit.version, self.name), |staged| {
            toolkit.unpack_for(self.platform, staged)
        })
    }
}

pub fn on_path(name: &str) -> Option<PathBuf> {
    let path: OsString = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}
