//! `--target aarch64`: both linkers as programs of another machine, run by qemu. nvlink, libnvvm and the libraries come
//! from the packages of that machine. nvcc runs here, and has the host's code made by a cross compiler.

use crate::cache::{self, at};
use crate::machine::Machine;
use crate::toolkit::Toolkit;
use crate::workspace;
use crate::{Result, process};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the binary tools for the machine are, under their plain names, in its toolkit.
const TOOLS: &str = "cross";
const CROSS: [&str; 5] = ["gcc", "g++", "ld", "ar", "objcopy"];

/// Runs programs of another machine.
#[derive(Debug)]
pub struct Emulator {
    machine: &'static Machine,
    program: PathBuf,
    /// The machine's toolkit, and its nvlink.
    pub toolkit: PathBuf,
    pub nvlink: PathBuf,
    /// Solder, built for the machine.
    pub solder: PathBuf,
}

impl Emulator {
    pub fn new(name: &str, toolkit: &Toolkit) -> Result<Self> {
        let machine = Machine::find(name)?;
        let program = machine.emulator()?;
        let toolkit = toolkit_of(machine, toolkit)?;
        let (nvlink, solder) = (toolkit.join("bin/nvlink"), solder(machine)?);
        let emulator = Self { machine, program, toolkit, nvlink, solder };
        for linker in [&emulator.nvlink, &emulator.solder] {
            let output = process::capture(emulator.command(linker).arg("--version"))?;
            if !output.status.success() {
                let text = String::from_utf8_lossy(&output.stderr).into_owned();
                return Err(format!("{} does not run under qemu: {text}", linker.display()));
            }
        }
        Ok(emulator)
    }

    /// The path on which `ld` and its like are those for the machine.
    pub fn path(&self, own: &OsStr) -> OsString {
        let mut path = self.toolkit.join(TOOLS).into_os_string();
        path.push(":");
        path.push(own);
        path
    }

    /// What makes the host's code in inputs.
    pub fn compiler(&self, name: &str) -> String {
        self.machine.tool(name)
    }

    pub fn name(&self) -> &'static str {
        self.machine.name
    }

    /// The command that runs a program under its own name.
    pub fn command(&self, program: &Path) -> Command {
        self.machine.command(&self.program, program)
    }
}

/// A copy of the machine's toolkit in which the tools but nvlink are this machine's: what nvlink starts runs as it is.
fn toolkit_of(machine: &Machine, toolkit: &Toolkit) -> Result<PathBuf> {
    let root = cache::root()?.join(format!("toolkit-{}-{}-emulated", toolkit.version, machine.name));
    let theirs = machine.toolkit(toolkit)?;
    cache::make(&root, &format!("CUDA {} for qemu", toolkit.version), |staged| {
        let tree = staged.join("tree");
        process::succeed(Command::new("cp").arg("-al").arg(&theirs).arg(&tree))?;
        for tool in ["ptxas", "fatbinary", "nvcc"] {
            let (own, other) = (toolkit.ensure()?.join("bin").join(tool), tree.join("bin").join(tool));
            let _ = fs::remove_file(&other);
            symlink(&own, &other).map_err(|e| at(&other, &e))?;
        }
        let tools = tree.join(TOOLS);
        fs::create_dir_all(&tools).map_err(|e| at(&tools, &e))?;
        for name in CROSS {
            let link = tools.join(name);
            symlink(machine.path_of(name)?, &link).map_err(|e| at(&link, &e))?;
        }
        Ok(tree)
    })
}

/// Solder for the machine: the program that `SOLDER_BIN` names, or a new build.
fn solder(machine: &Machine) -> Result<PathBuf> {
    match workspace::named_solder() {
        Some(named) => named,
        None => workspace::build_for(Some(machine), "solder", "solder", "release"),
    }
}
