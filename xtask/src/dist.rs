//! `cargo xtask dist` and `cargo xtask wheel`: what packages install, and the package for pip.

use crate::cache::{self, at};
use crate::workspace::{build, workspace};
use crate::{Result, nvjitlink, pip, process, toolkit};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const DIST_USAGE: &str = "\
usage: cargo xtask dist [--profile NAME]

Makes what packages install beside the program, in target/dist: the manual page, completions, libnvJitLink, CMake's
module and the licences. Prints the folder.";

const WHEEL_USAGE: &str = "\
usage: cargo xtask wheel [--profile NAME] [--check] [-- OPTION…]

Makes the package for pip with maturin, which pip installs into the user's cache folder, and prints where it is.
`--check` installs it into a new environment and uses it there. Options after `--` are for `maturin build`.";

/// What builds the package.
const MATURIN: &str = "maturin==1.16.0";

/// Shells, and the names under which each looks for completions.
const COMPLETIONS: [(&str, &str); 3] = [("bash", "solder.bash"), ("zsh", "_solder"), ("fish", "solder.fish")];

/// Parsed words.
struct Options {
    profile: String,
    checks: bool,
    /// For maturin.
    rest: Vec<String>,
}

impl Options {
    fn parse(args: &[String], usage: &str) -> Result<Self> {
        let mut options = Self { profile: "release".into(), checks: false, rest: Vec::new() };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--profile" => {
                    options.profile.clone_from(args.next().ok_or_else(|| usage.to_string())?);
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
    let solder = build("solder", "solder", &["--profile", &options.profile])?;
    let libraries = nvjitlink::library::build(options.library_profile())?;
    let dist = root.join("target/dist");
    let _ = fs::remove_dir_all(&dist);
    let put = |folder: &str, name: &str, bytes: &[u8]| {
        let folder = dist.join(folder);
        let path = folder.join(name);
        fs::create_dir_all(&folder).and_then(|()| fs::write(&path, bytes)).map_err(|e| at(&path, &e))
    };
    put("man", "solder.1", &printed_by(&solder, &["man"])?)?;
    for (shell, name) in COMPLETIONS {
        put("completions", name, &printed_by(&solder, &["completions", shell])?)?;
    }
    for (major, _) in nvjitlink::library::MAJORS {
        let name = nvjitlink::library::file_name(*major);
        put("lib", &name, &read(&libraries.join(&name))?)?;
    }
    put("cmake", "SolderCUDA.cmake", &read(&root.join("cmake/SolderCUDA.cmake"))?)?;
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        put("", name, &read(&root.join(name))?)?;
    }
    Ok(dist)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|e| at(path, &e))
}

fn printed_by(program: &Path, words: &[&str]) -> Result<Vec<u8>> {
    let output = process::capture(Command::new(program).args(words))?;
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
        check(&wheel)?;
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
    let output = process::capture(command.current_dir(root.join("python")))?;
    if !output.status.success() {
        return Err(format!("maturin: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let files = fs::read_dir(&out).map_err(|e| at(&out, &e))?.flatten().map(|entry| entry.path());
    let mut wheels = files.filter(|path| path.extension().is_some_and(|ending| ending == "whl"));
    wheels.next().ok_or("maturin made no wheel".into())
}

/// Installs the wheel where there is nothing else, and runs its tests there.
fn check(wheel: &Path) -> Result<()> {
    let root = workspace()?;
    let venv = cache::root()?.join("scratch").join(format!("wheel-{}", std::process::id()));
    let python = venv.join("bin/python");
    let run = |command: &mut Command| {
        let output = process::capture(command)?;
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(text) } else { Err(text) }
    };
    let outcome = run(Command::new("python3").args(["-m", "venv"]).arg(&venv))
        .and_then(|_| {
            run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--no-index"]).arg(wheel))
        })
        .and_then(|_| {
            let mut test = Command::new(&python);
            // Nothing of this machine but the system's programs, and the environment's own.
            let path = format!("{}:/usr/bin:/bin", venv.join("bin").display());
            process::clean_environment(&mut test, path.as_ref());
            test.env("QUICKSTART", root.join("examples/quickstart")).env("TOOLKIT", toolkit::ensure()?);
            run(test.arg(root.join("python/tests/test_package.py")))
        });
    let _ = fs::remove_dir_all(&venv);
    print!("{}", outcome?);
    Ok(())
}
