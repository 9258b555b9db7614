//! `cargo xtask dist` and `cargo xtask wheel`: what packages install, and the package for pip.

use crate::cache::{self, at};
use crate::foreign::Debian;
use crate::machine::Machine;
use crate::toolkit::{ORACLE, Toolkit};
use crate::workspace::{build_for, workspace};
use crate::{Result, nvjitlink, pip, process, toolkit};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const DIST_USAGE: &str = "\
usage: cargo xtask dist [--profile NAME] [--target MACHINE]

Makes what packages install, in target/dist: the program, the manual page, completions, libnvJitLink, CMake's module and
the licences. Prints the folder. `--target aarch64` makes it for that machine with Debian's cross compiler.";

const WHEEL_USAGE: &str = "\
usage: cargo xtask wheel [--profile NAME] [--target MACHINE] [--check] [-- OPTION…]

Makes the package for pip with maturin, which pip installs into the user's cache folder, and prints where it is.
`--check` installs it into a new environment and uses it there. Options after `--` are for `maturin build`.
`--target aarch64` makes it for that machine with Debian's cross compiler; with `--check` a Debian of that machine, with
Python and a C++ compiler, is unpacked into the cache folder, and the package is installed and used there under qemu.";

/// What builds the package.
const MATURIN: &str = "maturin==1.16.0";

/// Shells, and the names under which each looks for completions.
const COMPLETIONS: [(&str, &str); 3] = [("bash", "solder.bash"), ("zsh", "_solder"), ("fish", "solder.fish")];

/// Parsed words.
struct Options {
    profile: String,
    /// The machine to make it for, if that is not this one.
    machine: Option<&'static Machine>,
    checks: bool,
    /// For maturin.
    rest: Vec<String>,
}

impl Options {
    fn parse(args: &[String], usage: &str) -> Result<Self> {
        let mut options = Self { profile: "release".into(), machine: None, checks: false, rest: Vec::new() };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--profile" => {
                    options.profile.clone_from(args.next().ok_or_else(|| usage.to_string())?);
                }
                "--target" => {
                    options.machine = Some(Machine::find(args.next().ok_or_else(|| usage.to_string())?)?);
                }
                "--check" => options.checks = true,
                "--" => options.rest = args.by_ref().cloned().collect(),
                _ => return Err(format!("unknown word '{arg}'\n\n{usage}")),
            }
        }
        Ok(options)
    }

    /// The library unwinds, and has a profile of its own for that.
    fn library_profile(&self) -> &str {
        if self.profile == "release" { "library" } else { &self.profile }
    }
}

fn wants_help(args: &[String]) -> bool {
    args.iter().any(|arg| arg == "-h" || arg == "--help")
}

pub fn run(args: &[String]) -> Result<u8> {
    if wants_help(args) {
        println!("{DIST_USAGE}");
        return Ok(0);
    }
    println!("{}", make(&Options::parse(args, DIST_USAGE)?)?.display());
    Ok(0)
}

/// Fills the folder.
fn make(options: &Options) -> Result<PathBuf> {
    let root = workspace()?;
    let machine = options.machine;
    let solder = build_for(machine, "solder", "solder", &options.profile)?;
    let libraries = nvjitlink::library::build(options.library_profile(), machine)?;
    let dist = root.join("target/dist");
    let _ = fs::remove_dir_all(&dist);
    let put = |folder: &str, name: &str, bytes: &[u8]| {
        let folder = dist.join(folder);
        let path = folder.join(name);
        fs::create_dir_all(&folder).and_then(|()| fs::write(&path, bytes)).map_err(|e| at(&path, &e))
    };
    put("man", "solder.1", &printed_by(machine, &solder, &["man"])?)?;
    for (shell, name) in COMPLETIONS {
        put("completions", name, &printed_by(machine, &solder, &["completions", shell])?)?;
    }
    put_program(machine, &solder, &dist.join("bin/solder"))?;
    for (major, _) in nvjitlink::library::MAJORS {
        let name = nvjitlink::library::file_name(*major);
        put_program(machine, &libraries.join(&name), &dist.join("lib").join(&name))?;
    }
    put("cmake", "SolderCUDA.cmake", &read(&root.join("cmake/SolderCUDA.cmake"))?)?;
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        put("", name, &read(&root.join(name))?)?;
    }
    Ok(dist)
}

/// Copies a program or library without its debug information, which is most of it.
fn put_program(machine: Option<&Machine>, from: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|e| at(folder, &e))?;
    let strip = machine.map_or("strip".into(), |machine| machine.tool("strip"));
    process::succeed(Command::new(strip).arg("--strip-unneeded").arg("-o").arg(to).arg(from))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|e| at(path, &e))
}

fn printed_by(machine: Option<&Machine>, program: &Path, words: &[&str]) -> Result<Vec<u8>> {
    let mut command = match machine {
        Some(machine) => machine.command(&machine.emulator()?, program),
        None => Command::new(program),
    };
    let output = process::capture(command.args(words))?;
    if output.status.success() { Ok(output.stdout) } else { Err(format!("solder {} fails", words.join(" "))) }
}

pub fn wheel(args: &[String]) -> Result<u8> {
    if wants_help(args) {
        println!("{WHEEL_USAGE}");
        return Ok(0);
    }
    let options = Options::parse(args, WHEEL_USAGE)?;
    // Without the tool there is nothing to test, which is not a fault of the package.
    let maturin = match pip::ensure(MATURIN) {
        Ok(site) => site.join("bin/maturin"),
        Err(reason) if options.checks => {
            println!("SKIPPED: the package for pip: {reason}");
            return Ok(0);
        }
        Err(reason) => return Err(reason),
    };
    let wheel = make_wheel(&options, &maturin)?;
    println!("{}", wheel.display());
    if options.checks {
        match options.machine {
            Some(machine) => check_on(machine, &wheel)?,
            None => check(&wheel)?,
        }
    }
    Ok(0)
}

fn make_wheel(options: &Options, maturin: &Path) -> Result<PathBuf> {
    let dist = make(options)?;
    let root = workspace()?;
    let package = root.join("python/src/solder");
    for folder in ["lib", "cmake"] {
        let (from, to) = (dist.join(folder), package.join(folder));
        let _ = fs::remove_dir_all(&to);
        fs::create_dir_all(&to).map_err(|e| at(&to, &e))?;
        for file in fs::read_dir(&from).map_err(|e| at(&from, &e))?.flatten() {
            fs::copy(file.path(), to.join(file.file_name())).map_err(|e| at(&to, &e))?;
        }
    }
    let out = root.join("target/wheels");
    let _ = fs::remove_dir_all(&out);
    let mut command = Command::new(maturin);
    command.args(["build", "--quiet", "--profile", &options.profile, "--out"]).arg(&out).args(&options.rest);
    if let Some(machine) = options.machine {
        command.args(machine.cargo_words()?);
    }
    let output = process::capture(command.current_dir(root.join("python")))?;
    if !output.status.success() {
        return Err(format!("maturin: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let files = fs::read_dir(&out).map_err(|e| at(&out, &e))?.flatten().map(|entry| entry.path());
    let mut wheels = files.filter(|path| path.extension().is_some_and(|ending| ending == "whl"));
    wheels.next().ok_or("maturin made no wheel".into())
}

/// The tests of the package, below the repository's root, and what they link.
const TESTS: &str = "python/tests/test_package.py";
const QUICKSTART: &str = "examples/quickstart";

/// Installs the wheel where there is nothing else, and runs its tests there.
fn check(wheel: &Path) -> Result<()> {
    let root = workspace()?;
    let scratch = Scratch::new()?;
    let venv = &scratch.0;
    let python = venv.join("bin/python");
    printed(Command::new("python3").args(["-m", "venv"]).arg(venv))?;
    printed(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--no-index"]).arg(wheel))?;
    let mut test = Command::new(&python);
    // Nothing of this machine but the system's programs, and the environment's own.
    let path = format!("{}:/usr/bin:/bin", venv.join("bin").display());
    process::clean_environment(&mut test, path.as_ref());
    test.env("QUICKSTART", root.join(QUICKSTART)).env("TOOLKIT", toolkit::ensure()?);
    print!("{}", printed(test.arg(root.join(TESTS)))?);
    Ok(())
}

/// The same on another machine.
fn check_on(machine: &Machine, wheel: &Path) -> Result<()> {
    let debian = match Debian::of(machine) {
        Ok(debian) => debian,
        Err(reason) => {
            println!("SKIPPED: the package on {}: {reason}", machine.name);
            return Ok(());
        }
    };
    let (root, scratch, toolkit) =
        (workspace()?, Scratch::new()?, machine.toolkit(Toolkit::find(ORACLE.name)?)?);
    let wheels = wheel.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(&scratch.0).map_err(|e| at(&scratch.0, &e))?;
    let folders: [(&Path, &str); 4] =
        [(&root, "/solder"), (wheels, "/wheel"), (&scratch.0, "/tmp"), (&toolkit, "/cuda")];
    let python = "/tmp/venv/bin/python";
    let name = wheel.file_name().unwrap_or_default().to_string_lossy();
    printed(debian.command(&folders, "/usr/bin/python3").args(["-m", "venv", "/tmp/venv"]))?;
    let mut install = debian.command(&folders, python);
    printed(install.args(["-m", "pip", "install", "--quiet", "--no-index", &format!("/wheel/{name}")]))?;
    let mut test = debian.command(&folders, python);
    test.env("PATH", "/tmp/venv/bin:/usr/bin:/bin");
    test.env("QUICKSTART", format!("/solder/{QUICKSTART}")).env("TOOLKIT", "/cuda");
    print!("{}", printed(test.arg(format!("/solder/{TESTS}")))?);
    Ok(())
}

/// What a command that must succeed prints beside its output.
fn printed(command: &mut Command) -> Result<String> {
    let output = process::capture(command)?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(text) } else { Err(text) }
}

/// A folder that is removed in the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self> {
        Ok(Self(cache::root()?.join("scratch").join(format!("wheel-{}", std::process::id()))))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
