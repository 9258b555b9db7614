//! `cargo xtask builds`: programs built by nvcc, make, CMake, Meson and Clang, once with the toolkit and once with its
//! shadow, in which nvlink is solder. The device code of both must be the same.

use crate::cache::{self, Key, at};
use crate::conformance::elf::Elf;
use crate::{Result, conformance, process, toolkit};
use solder_fatbin::{Container, Kind, Member};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const USAGE: &str = "\
usage: cargo xtask builds [--toolkit RELEASE]… [NAME…]

Builds the projects of tests/builds and the examples that have a build.sh, all or these, with the toolkit and through
`solder shadow`, and compares the device code. An example with a run.sh is run, and compares itself. Needs make and g++; pip installs CMake, Meson and Ninja into the user's
cache folder. A project that needs a tool which is not there is skipped, and named at the end. --toolkit builds with the
toolkits of these releases, such as 13.2; projects that need a certain one take part with that one only.";

/// From a package index; any version of the last years will do.
const PACKAGES: [&str; 3] = ["cmake>=3.24", "meson>=1.0", "ninja"];

/// The folders of projects.
const FOLDERS: [&str; 2] = ["tests/builds", "examples"];

/// What builds a program, and what only runs.
const BUILD: &str = "build.sh";
const RUN: &str = "run.sh";

const LIMIT: Duration = Duration::from_mins(10);

pub fn run(args: &[String]) -> Result<u8> {
    if args.iter().any(|arg| arg == "-h" || arg == "--help") {
        println!("{USAGE}");
        return Ok(0);
    }
    let (toolkits, names) = toolkits_and_names(args)?;
    let projects = projects(&conformance::workspace()?, &toolkits, &names)?;
    let mut context = Context::new()?;
    let mut skipped = Vec::new();
    let projects: Vec<Project> = projects
        .into_iter()
        .filter(|project| match context.prepare(project) {
            Ok(()) => true,
            Err(reason) => {
                skipped.push(format!("{} with {} ({reason})", project.name, project.toolkit));
                false
            }
        })
        .collect();
    let context = &context;
    // The projects of one toolkit are built side by side.
    let of_toolkits = projects.chunk_by(|a, b| a.toolkit == b.toolkit);
    let outcomes = of_toolkits.flat_map(|projects| {
        std::thread::scope(|scope| {
            let started: Vec<_> =
                projects.iter().map(|project| scope.spawn(move || context.compare(project))).collect();
            let panicked = |_| Err("the comparison panicked".to_string());
            let ended = started.into_iter().map(|thread| thread.join().unwrap_or_else(panicked));
            ended.collect::<Vec<_>>()
        })
    });
    let mut failed = 0;
    for (project, outcome) in projects.iter().zip(outcomes) {
        let differences = outcome.unwrap_or_else(|message| vec![message]);
        println!(
            "{} with {}: {}",
            project.name,
            project.toolkit,
            if differences.is_empty() { "equal" } else { "FAILED" }
        );
        for difference in &differences {
            println!("  {}", difference.replace('\n', "\n  "));
        }
        failed += usize::from(!differences.is_empty());
    }
    println!("{} builds equal, {failed} not", projects.len() - failed);
    if !skipped.is_empty() {
        println!("SKIPPED: {}", skipped.join(", "));
    }
    Ok(u8::from(failed > 0))
}

/// The releases that `--toolkit` names, or the usual one; and the projects.
fn toolkits_and_names(args: &[String]) -> Result<(Vec<String>, Vec<String>)> {
    let (mut toolkits, mut names) = (Vec::new(), Vec::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--toolkit" => {
                let name = args.next().ok_or("--toolkit needs a release, such as 13.2")?;
                toolkits.push(toolkit::Toolkit::find(name)?.name.to_owned());
            }
            option if option.starts_with('-') => return Err(format!("builds: {option}?\n\n{USAGE}")),
            name => names.push(name.to_owned()),
        }
    }
    if toolkits.is_empty() {
        toolkits.push(toolkit::ORACLE.name.to_owned());
    }
    Ok((toolkits, names))
}

#[derive(Clone)]
struct Project {
    /// `cmake` in tests/builds, `examples/cmake` among the examples.
    name: String,
    folder: PathBuf,
    script: PathBuf,
    /// Programs without which it cannot be built: `# needs: clang++` at the head of its script.
    needs: Vec<String>,
    /// The toolkit that it is built with.
    toolkit: String,
    /// Whether its script says that it is this one: `# toolkit: 12.4`.
    names_toolkit: bool,
}

impl Project {
    fn read(name: String, script: PathBuf) -> Result<Self> {
        let text = fs::read_to_string(&script).map_err(|e| at(&script, &e))?;
        let said = |key: &str| text.lines().find_map(|line| line.strip_prefix("# ")?.strip_prefix(key));
        let needs = said("needs: ").unwrap_or_default().split_whitespace().map(String::from).collect();
        let toolkit = said("toolkit: ").map(|name| name.trim().to_owned());
        let folder = script.parent().unwrap_or(Path::new("")).to_owned();
        let names_toolkit = toolkit.is_some();
        let toolkit = toolkit.unwrap_or_default();
        Ok(Self { name, folder, script, needs, toolkit, names_toolkit })
    }

    /// Itself, built with each of these toolkits; with its own, if its script names one.
    fn with(self, toolkits: &[String]) -> Vec<Self> {
        if self.names_toolkit {
            return vec![self];
        }
        toolkits.iter().map(|toolkit| Self { toolkit: toolkit.clone(), ..self.clone() }).collect()
    }

    /// Where its builds are: those of one toolkit do not disturb those of another.
    fn place(&self) -> PathBuf {
        Path::new(&self.name).join(&self.toolkit)
    }

    fn only_runs(&self) -> bool {
        self.script.ends_with(RUN)
    }
}

fn projects(root: &Path, toolkits: &[String], wanted: &[String]) -> Result<Vec<Project>> {
    let mut projects = Vec::new();
    for folder in FOLDERS.map(|folder| root.join(folder)) {
        for entry in fs::read_dir(&folder).map_err(|e| at(&folder, &e))?.flatten() {
            let base = entry.file_name().to_string_lossy().into_owned();
            let name = if folder.ends_with("examples") { format!("examples/{base}") } else { base };
            let scripts = [BUILD, RUN].map(|script| entry.path().join(script));
            let script = scripts.into_iter().find(|script| script.is_file());
            if let Some(script) = script.filter(|_| wanted.is_empty() || wanted.contains(&name)) {
                projects.extend(Project::read(name, script)?.with(toolkits));
            }
        }
    }
    projects.sort_by(|a, b| (&a.toolkit, &a.name).cmp(&(&b.toolkit, &b.name)));
    match wanted.iter().find(|name| !projects.iter().any(|project| project.name == **name)) {
        Some(name) => Err(format!("there is no project {name} in {}", FOLDERS.join(" or "))),
        None => Ok(projects),
    }
}

/// What all builds share.
struct Context {
    /// By name, each with its shadow.
    toolkits: BTreeMap<String, (PathBuf, PathBuf)>,
    solder: PathBuf,
    /// Where CMake, Meson and Ninja are.
    tools: Vec<PathBuf>,
    scratch: PathBuf,
    cache: PathBuf,
    _lock: fs::File,
}

impl Context {
    fn new() -> Result<Self> {
        let solder = conformance::solder()?;
        let root = cache::root()?;
        let (scratch, cache) = (root.join("scratch/builds"), root.join("builds"));
        for folder in [&scratch, &cache] {
            fs::create_dir_all(folder).map_err(|e| at(folder, &e))?;
        }
        let lock = cache::lock(&root.join("scratch/builds.lock"))?;
        let own_name = scratch.join("solder");
        // The subcommand goes by the name, which SOLDER_BIN may not have.
        let _ = fs::remove_file(&own_name);
        std::os::unix::fs::symlink(&solder, &own_name).map_err(|e| at(&own_name, &e))?;
        let (toolkits, tools) = (BTreeMap::new(), build_tools()?);
        Ok(Self { toolkits, solder: own_name, tools, scratch, cache, _lock: lock })
    }

    /// Makes sure that a project can be built; else says why not.
    fn prepare(&mut self, project: &Project) -> Result<()> {
        let path = self.path(Path::new(""));
        let is_program = |name: &str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
        // One of several names will do.
        let is_there = |tool: &&String| tool.split('|').any(is_program);
        if let Some(tool) = project.needs.iter().find(|tool| !is_there(tool)) {
            return Err(format!("there is no {tool}"));
        }
        if self.toolkits.contains_key(&project.toolkit) {
            return Ok(());
        }
        let toolkit = toolkit::Toolkit::find(&project.toolkit)?.ensure_for_programs()?;
        let shadow = self.scratch.join(format!("toolkit-{}", project.toolkit));
        let mut command = Command::new(&self.solder);
        let output = process::capture(command.arg("shadow").arg(&shadow).arg("--toolkit").arg(&toolkit))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        self.toolkits.insert(project.toolkit.clone(), (toolkit, shadow));
        Ok(())
    }

    /// The tools of a toolkit first, then those that were installed, then the machine's.
    fn path(&self, toolkit: &Path) -> OsString {
        let mut path = vec![toolkit.join("bin")];
        path.extend(self.tools.iter().cloned());
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        std::env::join_paths(path).unwrap_or_else(|_| OsString::new())
    }

    /// How the device code of the two builds differs.
    fn compare(&self, project: &Project) -> Result<Vec<String>> {
        let (toolkit, shadow) = &self.toolkits[&project.toolkit];
        if project.only_runs() {
            let folder = self.folder(project, "solder")?;
            self.run_script(project, shadow, "solder", &folder)?;
            return fs::remove_dir_all(&folder).map(|()| Vec::new()).map_err(|e| at(&folder, &e));
        }
        let theirs = self.reference(project, toolkit)?;
        let maps = self.maps(project);
        let _ = fs::remove_dir_all(&maps);
        let ours = self.build(project, shadow, "solder")?;
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
            // Before CUDA 13 a linker does not name itself in what it makes; only the map shows that it ran.
            let is_silent = toolkit::Toolkit::find(&project.toolkit)?.release()?.major() < 13;
            let names_solder = is_silent || b.content.windows(6).any(|part| part == b"solder");
            let made_by_solder =
                names_solder && fs::read_dir(&maps).is_ok_and(|mut maps| maps.next().is_some());
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
    fn reference(&self, project: &Project, toolkit: &Path) -> Result<Vec<u8>> {
        let mut key = Key::new("build");
        key.text(&toolkit.to_string_lossy()).text(&project.name);
        let mut files: Vec<_> = fs::read_dir(&project.folder)
            .map_err(|e| at(&project.folder, &e))?
            .flatten()
            .map(|entry| entry.path())
            .collect();
        files.extend(shared_sources(project));
        files.sort();
        for file in files.iter().filter(|file| file.is_file()) {
            key.text(&file.to_string_lossy()).bytes(&fs::read(file).map_err(|e| at(file, &e))?);
        }
        let known = self.cache.join(key.hex());
        if let Ok(program) = fs::read(&known) {
            return Ok(program);
        }
        let program = self.build(project, toolkit, "nvlink")?;
        let staged = cache::staging(&known);
        fs::write(&staged, &program)
            .and_then(|()| fs::rename(&staged, &known))
            .map_err(|e| at(&known, &e))?;
        Ok(program)
    }

    fn build(&self, project: &Project, toolkit: &Path, side: &str) -> Result<Vec<u8>> {
        let folder = self.folder(project, side)?;
        self.run_script(project, toolkit, side, &folder)?;
        let program = folder.join("program");
        let bytes = fs::read(&program).map_err(|e| at(&program, &e))?;
        let _ = fs::remove_dir_all(&folder);
        Ok(bytes)
    }

    /// Where solder's links leave their maps.
    fn maps(&self, project: &Project) -> PathBuf {
        self.scratch.join(project.place()).join("maps")
    }

    /// An empty folder to work in.
    fn folder(&self, project: &Project, side: &str) -> Result<PathBuf> {
        let folder = self.scratch.join(project.place()).join(side);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(|e| at(&folder, &e))?;
        Ok(folder)
    }

    fn run_script(&self, project: &Project, toolkit: &Path, side: &str, folder: &Path) -> Result<()> {
        let mut command = Command::new("bash");
        process::clean_environment(&mut command, &self.path(toolkit));
        // A pipe whose first command fails is a failure.
        command.args(["-eu", "-o", "pipefail"]).arg(&project.script).current_dir(folder);
        command.env("SRC", &project.folder).env("TOOLKIT", toolkit);
        command.env("SIDE", side).env("SOLDER", &self.solder).env("PYTHONPATH", &self.tools[0]);
        // Every link by solder leaves its map, by the name of its target.
        let maps = self.maps(project);
        fs::create_dir_all(&maps).map_err(|e| at(&maps, &e))?;
        command.env("SOLDER_OPTIONS", format!("--map={}/%a", maps.display()));
        let (ending, stdout, stderr) = process::watch(&mut command, LIMIT)?;
        if ending == process::Ending::Exit(0) {
            return Ok(());
        }
        let text = [stdout, stderr].concat();
        Err(format!("the build with {side} failed ({ending}):\n{}", String::from_utf8_lossy(&text)))
    }
}

/// The sources that all examples build.
fn shared_sources(project: &Project) -> Vec<PathBuf> {
    let entries = fs::read_dir(project.folder.with_file_name("program"));
    entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect()
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

/// pip's script names the Python that pip ran with, which is gone.
fn write_meson(path: &Path) -> Result<()> {
    let script = "#!/bin/sh\nexec python3 -m mesonbuild.mesonmain \"$@\"\n";
    fs::write(path, script).map_err(|e| at(path, &e))
}

/// The folder of the packages of CMake, Meson and Ninja, installed first if need be, and those of the programs.
fn build_tools() -> Result<Vec<PathBuf>> {
    let root = cache::root()?.join("build-tools-2");
    let _lock = cache::lock(&root.with_file_name("build-tools-2.lock"))?;
    if !root.is_dir() {
        eprintln!("installing CMake, Meson and Ninja into {}", root.display());
        cache::remove_staged(&root);
        let staged = cache::staging(&root);
        let site = staged.join("site");
        let installed = toolkit::pip_install(&staged, &site, &PACKAGES)
            .and_then(|()| write_meson(&site.join("bin/meson")))
            .and_then(|()| cache::publish(&site, &root))
            .map_err(|e| format!("could not install CMake, Meson and Ninja: {e}"));
        let _ = fs::remove_dir_all(&staged);
        installed?;
    }
    Ok(vec![root.clone(), root.join("cmake/data/bin"), root.join("bin")])
}
