//! `--target aarch64`: both linkers as programs of another machine, run by qemu. nvlink, libnvvm and the libraries come
//! from the packages of that machine. nvcc runs here, and has the host's code made by a cross compiler.

use crate::cache::{self, at};
use crate::toolkit::Toolkit;
use crate::workspace::build;
use crate::{Result, process};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What it takes to run programs of a machine.
#[derive(Debug)]
struct Machine {
    /// As the option has it.
    name: &'static str,
    /// The platform of its Python packages.
    platform: &'static str,
    /// What Rust calls it, the variable that names the linker for it, and that linker.
    target: &'static str,
    linker: (&'static str, &'static str),
    /// The C++ compiler for it, which nvcc starts.
    cxx: &'static str,
    /// Before the names of its binary tools.
    prefix: &'static str,
    /// Names of the emulator; the first that is installed is used.
    emulators: [&'static str; 2],
    /// Where Debian's packages for cross compilation put the C library.
    sysroot: &'static str,
}

const MACHINES: [Machine; 1] = [Machine {
    name: "aarch64",
    platform: "manylinux2014_aarch64",
    target: "aarch64-unknown-linux-gnu",
    linker: ("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc"),
    cxx: "aarch64-linux-gnu-g++",
    prefix: "aarch64-linux-gnu-",
    emulators: ["qemu-aarch64-static", "qemu-aarch64"],
    sysroot: "/usr/aarch64-linux-gnu",
}];

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
        let machine = MACHINES.iter().find(|machine| machine.name == name);
        let machine = machine.ok_or_else(|| format!("there is no target '{name}'; there is aarch64"))?;
        let program = machine.emulators.iter().find_map(|name| on_path(name)).ok_or_else(|| {
            format!("--target {name} needs {} (Debian: qemu-user-static)", machine.emulators.join(" or "))
        })?;
        let toolkit = machine.toolkit(toolkit)?;
        let (nvlink, solder) = (toolkit.join("bin/nvlink"), machine.solder()?);
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
    pub fn c_compiler(&self) -> &'static str {
        self.machine.linker.1
    }

    pub fn cxx_compiler(&self) -> &'static str {
        self.machine.cxx
    }

    pub fn name(&self) -> &'static str {
        self.machine.name
    }

    /// The command that runs a program under its own name.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["-L", self.machine.sysroot, "-0"]).arg(program).arg(program);
        command
    }
}

impl Machine {
    /// The machine's toolkit. The tools in it but nvlink are this machine's: what nvlink starts runs as it is.
    fn toolkit(&self, toolkit: &Toolkit) -> Result<PathBuf> {
        let root = cache::root()?.join(format!("toolkit-{}-{}", toolkit.version, self.name));
        let _lock = cache::lock(&root.with_added_extension("lock"))?;
        if root.is_dir() {
            return Ok(root);
        }
        eprintln!("installing CUDA {} for {} into {}", toolkit.version, self.name, root.display());
        cache::remove_staged(&root);
        let staged = cache::staging(&root);
        let made = || -> Result<()> {
            let tree = toolkit.unpack_for(self.platform, &staged)?;
            for tool in ["ptxas", "fatbinary", "nvcc"] {
                let (own, other) = (toolkit.ensure()?.join("bin").join(tool), tree.join("bin").join(tool));
                let _ = fs::remove_file(&other);
                symlink(&own, &other).map_err(|e| at(&other, &e))?;
            }
            let tools = tree.join(TOOLS);
            fs::create_dir_all(&tools).map_err(|e| at(&tools, &e))?;
            for name in CROSS {
                let link = tools.join(name);
                let target = on_path(&format!("{}{name}", self.prefix));
                let target = target.ok_or_else(|| format!("there is no {}{name}", self.prefix))?;
                symlink(target, &link).map_err(|e| at(&link, &e))?;
            }
            cache::publish(&tree, &root)
        };
        let outcome = made();
        let _ = fs::remove_dir_all(&staged);
        outcome.map(|()| root)
    }

    /// Solder for the machine: the program that `SOLDER_BIN` names, or a new build.
    fn solder(&self) -> Result<PathBuf> {
        if let Some(bin) = std::env::var_os("SOLDER_BIN").filter(|bin| !bin.is_empty()) {
            return fs::canonicalize(&bin).map_err(|e| at(Path::new(&bin), &e));
        }
        let (variable, linker) = self.linker;
        if on_path(linker).is_none() && std::env::var_os(variable).is_none() {
            return Err(format!("--target {} needs {linker} (Debian: gcc-aarch64-linux-gnu)", self.name));
        }
        // Cargo's configuration for it; the environment wins.
        let config = format!("target.{}.linker='{linker}'", self.target);
        build("solder", "solder", &["--release", "--target", self.target, "--config", &config])
            .map_err(|e| format!("{e}; is the target there (rustup target add {})?", self.target))
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path: OsString = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}
