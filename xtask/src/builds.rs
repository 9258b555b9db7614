//! `cargo xtask builds`: programs built by nvcc, make and CMake, once with the toolkit and once with its shadow, in
//! which nvlink is solder. The device code of both must be the same.

use crate::cache::{self, Key, at};
use crate::conformance::elf::Elf;
use crate::{Result, conformance, process, toolkit};
use solder_fatbin::{Container, Kind, Member};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const USAGE: &str = "\
usage: cargo xtask builds [NAME…]

Builds the projects of tests/builds, all or these, with the toolkit and through `solder shadow`, and compares the
device code. Needs make and g++; pip installs CMake and Ninja into the user's cache folder.";

/// From a package index; any version of the last years will do.
const PACKAGES: [&str; 2] = ["cmake>=3.24", "ninja"];

const LIMIT: Duration = Duration::from_mins(10);

pub fn run(args: &[String]) -> Result<u8> {
    if args.iter().any(|arg| arg == "-h" || arg == "--help") {
        println!("{USAGE}");
        return Ok(0);
    }
    let context = Context::new()?;
    let projects = projects(&conformance::workspace()?.join("tests/builds"), args)?;
    let outcomes: Vec<Result<Vec<String>>> = std::thread::scope(|scope| {
        let started: Vec<_> =
            projects.iter().map(|project| scope.spawn(|| context.compare(project))).collect();
        let panicked = |_| Err("the comparison panicked".to_string());
        started.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect()
    });
    let mut failed = 0;
    for (project, outcome) in projects.iter().zip(outcomes) {
        let differences = outcome.unwrap_or_else(|message| vec![message]);
        println!("{}: {}", project.name, if differences.is_empty() { "equal" } else { "FAILED" });
        for difference in &differences {
            println!("  {}", difference.replace('\n', "\n  "));
        }
        failed += usize::from(!differences.is_empty());
    }
    println!("{} builds equal, {failed} not", projects.len() - failed);
    Ok(u8::from(failed > 0))
}

struct Project {
    name: String,
    folder: PathBuf,
}

fn projects(folder: &Path, wanted: &[String]) -> Result<Vec<Project>> {
    let mut projects = Vec::new();
    for entry in fs::read_dir(folder).map_err(|e| at(folder, &e))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if wanted.is_empty() || wanted.contains(&name) {
            projects.push(Project { name, folder: entry.path() });
        }
    }
    projects.sort_by(|a, b| a.name.cmp(&b.name));
    match wanted.iter().find(|name| !projects.iter().any(|project| project.name == **name)) {
        Some(name) => Err(format!("there is no project {name} in {}", folder.display())),
        None => Ok(projects),
    }
}

/// What all builds share.
struct Context {
    toolkit: PathBuf,
    shadow: PathBuf,
    /// Where CMake and Ninja are.
    tools: Vec<PathBuf>,
    scratch: PathBuf,
    cache: PathBuf,
    _lock: fs::File,
}

impl Context {
    fn new() -> Result<Self> {
        let toolkit = toolkit::ensure()?;
        let solder = conformance::solder()?;
        let root = cache::root()?;
        let (scratch, cache) = (root.join("scratch/builds"), root.join("builds"));
        for folder in [&scratch, &cache] {
            fs::create_dir_all(folder).map_err(|e| at(folder, &e))?;
        }
        let lock = cache::lock(&root.join("scratch/builds.lock"))?;
        let shadow = scratch.join("toolkit");
        let own_name = scratch.join("solder");
        // The subcommand goes by the name, which SOLDER_BIN may not have.
        let _ = fs::remove_file(&own_name);
        std::os::unix::fs::symlink(&solder, &own_name).map_err(|e| at(&own_name, &e))?;
        let mut command = Command::new(&own_name);
        let output = process::capture(command.arg("shadow").arg(&shadow).arg("--toolkit").arg(&toolkit))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(Self { toolkit, shadow, tools: build_tools()?, scratch, cache, _lock: lock })
    }

    /// How the device code of the two builds differs.
    fn compare(&self, project: &Project) -> Result<Vec<String>> {
        let theirs = self.reference(project)?;
        let ours = self.build(project, &self.shadow, "solder")?;
        let (theirs, ours) = (device_code(&theirs)?, device_code(&ours)?);
        let mut differences = Vec::new();
        if theirs.len() != ours.len() {
            differences.push(format!("{} members with nvlink, {} with solder", theirs.len(), ours.len()));
        }
        for (a, b) in theirs.iter().zip(&ours) {
            if a.what != b.what {
                differences.push(format!("{} with nvlink, {} with solder", a.what, b.what));
            }
            let options = cubin_diff::Options { ignore_tkinfo: true };
            let found = cubin_diff::diff(&a.content, &b.content, &options);
            if !found.is_empty() {
                differences.push(format!("{}: {}", a.what, cubin_diff::report(&found, Some(10))));
            }
            let made_by_solder = b.content.windows(6).any(|part| part == b"solder");
            if b.is_code && !made_by_solder {
                differences.push(format!("{}: not linked by solder", b.what));
            }
        }
        if ours.is_empty() {
            differences.push("there is no device code in the program".into());
        }
        Ok(differences)
    }

    /// What the toolkit's own linker makes of it, which is always the same.
    fn reference(&self, project: &Project) -> Result<Vec<u8>> {
        let mut key = Key::new("build");
        key.text(toolkit::VERSION).text(&project.name);
        let mut files: Vec<_> = fs::read_dir(&project.folder)
            .map_err(|e| at(&project.folder, &e))?
            .flatten()
            .map(|entry| entry.path())
            .collect();
        files.sort();
        for file in &files {
            key.text(&file.to_string_lossy()).bytes(&fs::read(file).map_err(|e| at(file, &e))?);
        }
        let known = self.cache.join(key.hex());
        if let Ok(program) = fs::read(&known) {
            return Ok(program);
        }
        let program = self.build(project, &self.toolkit, "nvlink")?;
        let staged = cache::staging(&known);
        fs::write(&staged, &program)
            .and_then(|()| fs::rename(&staged, &known))
            .map_err(|e| at(&known, &e))?;
        Ok(program)
    }

    fn build(&self, project: &Project, toolkit: &Path, side: &str) -> Result<Vec<u8>> {
        let folder = self.scratch.join(&project.name).join(side);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(|e| at(&folder, &e))?;
        let mut path = vec![toolkit.join("bin")];
        path.extend(self.tools.iter().cloned());
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let path = std::env::join_paths(path).unwrap_or_else(|_| OsString::new());
        let mut command = Command::new("bash");
        process::clean_environment(&mut command, &path);
        command.arg("-eu").arg(project.folder.join("build.sh")).current_dir(&folder);
        command.env("SRC", &project.folder).env("TOOLKIT", toolkit);
        let (ending, stdout, stderr) = process::watch(&mut command, LIMIT)?;
        let program = folder.join("program");
        if ending != process::Ending::Exit(0) || !program.is_file() {
            let text = [stdout, stderr].concat();
            let text = String::from_utf8_lossy(&text);
            return Err(format!("the build with {side} failed ({ending}):\n{text}"));
        }
        let bytes = fs::read(&program).map_err(|e| at(&program, &e))?;
        let _ = fs::remove_dir_all(&folder);
        Ok(bytes)
    }
}

/// One member of a fat binary in a program.
struct DeviceCode {
    what: String,
    is_code: bool,
    content: Vec<u8>,
}

/// The linked fat binaries of a program, one after the other with padding between them.
fn device_code(program: &[u8]) -> Result<Vec<DeviceCode>> {
    let elf = Elf::parse(program)?;
    let mut found = Vec::new();
    for section in elf.sections.iter().filter(|section| section.name == ".nv_fatbin") {
        let start = section.offset as usize;
        let mut data = program.get(start..start + section.size as usize).ok_or("cut short")?;
        while Container::matches(data) {
            let container = Container::parse(data).map_err(|e| e.to_string())?;
            for member in container.members() {
                found.push(member.and_then(|member| read(&member)).map_err(|e| e.to_string())?);
            }
            data = &data[container.size()..];
            data = &data[data.iter().position(|&byte| byte != 0).unwrap_or(data.len())..];
        }
    }
    Ok(found)
}

fn read(member: &Member<'_>) -> std::result::Result<DeviceCode, solder_fatbin::Error> {
    let what = format!("{:?} for {}", member.kind(), member.arch());
    let content = member.content()?.into_owned();
    Ok(DeviceCode { what, is_code: member.kind() == Kind::Elf, content })
}

/// The folders of CMake and Ninja, installed first if need be.
fn build_tools() -> Result<Vec<PathBuf>> {
    let root = cache::root()?.join("build-tools");
    let _lock = cache::lock(&root.with_file_name("build-tools.lock"))?;
    if !root.is_dir() {
        eprintln!("installing CMake and Ninja into {}", root.display());
        cache::remove_staged(&root);
        let staged = cache::staging(&root);
        let site = staged.join("site");
        let installed = toolkit::pip_install(&staged, &site, &PACKAGES)
            .and_then(|()| cache::publish(&site, &root))
            .map_err(|e| format!("could not install CMake and Ninja: {e}"));
        let _ = fs::remove_dir_all(&staged);
        installed?;
    }
    Ok(vec![root.join("cmake/data/bin"), root.join("bin")])
}
