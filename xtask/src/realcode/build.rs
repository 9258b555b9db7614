//! Compiles the programs and links them with both linkers. What nvcc, ptxas and nvlink make is the same every time,
//! and is kept in the cache.

use super::packages;
use super::program::{Program, Set};
use crate::assembler::Release;
use crate::cache::{self, Key, at};
use crate::process::{self, Ending};
use crate::toolkit::Toolkit;
use crate::{Result, conformance, toolkit};
use solder_cubin::Cubin;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The largest template programs take half a minute; what takes this long hangs.
const LIMIT: Duration = Duration::from_mins(10);

pub struct Tools {
    /// The toolkit whose nvcc makes the PTX, for every release the same.
    compiler: PathBuf,
    /// The one whose ptxas and nvlink are asked.
    toolkit: PathBuf,
    /// The release whose nvlink solder replaces.
    version: &'static str,
    /// An assembler other than the toolkit's.
    assembler: Option<(&'static Release, PathBuf)>,
    solder: PathBuf,
    cache: PathBuf,
    path: OsString,
    /// The versions of what is not in the keys otherwise: of the compiler, and of the assembler and linker.
    compiler_versions: String,
    versions: String,
}

/// What came of one link.
#[derive(Debug, PartialEq, Eq)]
pub struct Linked {
    pub ending: Ending,
    pub stdout: String,
    pub stderr: String,
    pub file: Vec<u8>,
}

impl Linked {
    pub fn succeeded(&self) -> bool {
        self.ending == Ending::Exit(0)
    }
}

impl Tools {
    pub fn new(of: &'static Toolkit, assembler: Option<&'static Release>) -> Result<Self> {
        let (compiler, toolkit) = (toolkit::ensure()?, of.ensure()?);
        let assembler = match assembler {
            Some(release) => Some((release, release.ensure()?)),
            None => None,
        };
        let solder = conformance::solder()?;
        let cache = cache::root()?.join("realcode");
        let mut path = compiler.join("bin").into_os_string();
        if let Some(host) = std::env::var_os("PATH") {
            path.push(":");
            path.push(host);
        }
        let (compiler_versions, versions) = (versions(&compiler)?, versions(&toolkit)?);
        let version = of.version;
        Ok(Self { compiler, toolkit, version, assembler, solder, cache, path, compiler_versions, versions })
    }

    /// The program's PTX for an architecture and an option set.
    pub fn ptx(&self, program: &Program, arch: &str, set: &Set) -> Result<PathBuf> {
        let source = fs::read(&program.path).map_err(|e| at(&program.path, &e))?;
        let mut options: Vec<String> =
            ["-ptx", "-rdc=true", "-std=c++17", "-w"].iter().map(ToString::to_string).collect();
        options.push(format!("-arch={}", program.virtual_arch(arch)));
        options.extend(program.options.iter().cloned());
        options.extend(set.nvcc.iter().map(ToString::to_string));
        for package in &program.packages {
            options.extend(packages::ensure(package)?);
        }
        let mut key = Key::new("realcode ptx 1");
        key.text(&self.compiler_versions).text(&program.name).bytes(&source).list(&options);
        let folder = self.entry("ptx", &key, |folder| {
            let source_name = format!("{}.cu", program.name);
            fs::write(folder.join(&source_name), &source).map_err(|e| at(folder, &e))?;
            options.extend([source_name, "-o".into(), "out.ptx".into()]);
            self.execute(&self.compiler.join("bin/nvcc"), &options, folder)
        })?;
        Ok(folder.join("out.ptx"))
    }

    /// The object that ptxas makes of it.
    pub fn object(&self, ptx: &Path, arch: &str, set: &Set) -> Result<PathBuf> {
        let text = fs::read_to_string(ptx).map_err(|e| at(ptx, &e))?;
        let mut options = vec!["-c".to_string(), format!("-arch={arch}")];
        options.extend(set.ptxas.iter().map(ToString::to_string));
        let mut key = Key::new("realcode object 1");
        key.text(&self.versions).text(&text).list(&options);
        if let Some((release, _)) = &self.assembler {
            key.text(release.name);
        }
        let folder = self.entry("objects", &key, |folder| {
            let outputs = ["-o".into(), "out.o".into()];
            let Some((release, assembler)) = &self.assembler else {
                options.extend([ptx.display().to_string()].into_iter().chain(outputs));
                return self.execute(&self.toolkit.join("bin/ptxas"), &options, folder);
            };
            fs::write(folder.join("in.ptx"), release.lower(&text)).map_err(|e| at(folder, &e))?;
            options.extend(["in.ptx".into()].into_iter().chain(outputs));
            self.execute(assembler, &options, folder)
        })?;
        Ok(folder.join("out.o"))
    }

    /// What nvlink makes of an object.
    pub fn nvlink(&self, object: &Path, archive: Option<&Path>, arch: &str) -> Result<Linked> {
        let bytes = fs::read(object).map_err(|e| at(object, &e))?;
        let mut key = Key::new("realcode link 1");
        key.text(&self.versions).bytes(&bytes).text(arch);
        if let Some(archive) = archive {
            // The version of its package is in it.
            key.text(&archive.to_string_lossy());
        }
        let folder = self.entry("links", &key, |folder| {
            let linked = self.link(&self.toolkit.join("bin/nvlink"), &bytes, archive, arch, folder)?;
            let _ = fs::remove_file(folder.join("program.o"));
            if linked.ending == Ending::Timeout {
                return Err(format!("nvlink took longer than {} minutes", LIMIT.as_secs() / 60));
            }
            let texts =
                [("ending", linked.ending.to_string()), ("stdout", linked.stdout), ("stderr", linked.stderr)];
            texts
                .iter()
                .try_for_each(|(name, text)| fs::write(folder.join(name), text))
                .map_err(|e| at(folder, &e))
        })?;
        let text = |name: &str| fs::read_to_string(folder.join(name)).map_err(|e| at(&folder, &e));
        let ending = Ending::parse(&text("ending")?).ok_or("the cache is damaged")?;
        let file = fs::read(folder.join("out.cubin")).unwrap_or_default();
        Ok(Linked { ending, stdout: text("stdout")?, stderr: text("stderr")?, file })
    }

    /// What solder makes of an object, in an empty folder of its own.
    pub fn solder(&self, object: &Path, archive: Option<&Path>, arch: &str, folder: &Path) -> Result<Linked> {
        let bytes = fs::read(object).map_err(|e| at(object, &e))?;
        fs::create_dir_all(folder).map_err(|e| at(folder, &e))?;
        let folder = fs::canonicalize(folder).map_err(|e| at(folder, &e))?;
        // Messages begin with the name of the program.
        let program = folder.join("nvlink");
        let _ = fs::remove_file(&program);
        symlink(&self.solder, &program).map_err(|e| at(&program, &e))?;
        self.link(&program, &bytes, archive, arch, &folder)
    }

    fn link(
        &self,
        linker: &Path,
        object: &[u8],
        archive: Option<&Path>,
        arch: &str,
        folder: &Path,
    ) -> Result<Linked> {
        fs::write(folder.join("program.o"), object).map_err(|e| at(folder, &e))?;
        let output = folder.join("out.cubin");
        let _ = fs::remove_file(&output);
        let mut command = Command::new(linker);
        process::clean_environment(&mut command, &self.path);
        command.env("SOLDER_AS", self.version);
        command.current_dir(folder).arg(format!("-arch={arch}")).arg("program.o").args(archive);
        if calls_runtime(object)? {
            command.arg(self.toolkit.join("lib/libcudadevrt.a"));
        }
        let (ending, stdout, stderr) = process::watch(command.args(["-o", "out.cubin"]), LIMIT)?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let file = fs::read(&output).unwrap_or_default();
        Ok(Linked { ending, stdout: text(stdout), stderr: text(stderr), file })
    }

    fn execute(&self, tool: &Path, options: &[String], folder: &Path) -> Result<()> {
        let mut command = Command::new(tool);
        process::clean_environment(&mut command, &self.path);
        command.args(options).current_dir(folder);
        let (ending, stdout, stderr) = process::watch(&mut command, LIMIT)?;
        if ending == Ending::Exit(0) {
            return Ok(());
        }
        let text = [stdout, stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let tool = tool.file_name().unwrap_or_default().display();
        Err(format!("{tool}: {ending}\n{}", text.lines().take(8).collect::<Vec<_>>().join("\n")))
    }

    /// The folder of a cache entry, filled first if it is not there.
    fn entry(&self, kind: &str, key: &Key, fill: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
        let key = key.hex();
        let slot = self.cache.join(kind).join(&key[..2]).join(&key);
        if slot.is_dir() {
            return Ok(slot);
        }
        let staged = cache::staging(&slot);
        fs::create_dir_all(&staged).map_err(|e| at(&staged, &e))?;
        let made = fill(&staged).and_then(|()| cache::publish(&staged, &slot));
        if made.is_err() {
            let _ = fs::remove_dir_all(&staged);
        }
        made.map(|()| slot)
    }
}

/// What a toolkit's linker and the host's compiler say of themselves.
fn versions(toolkit: &Path) -> Result<String> {
    let mut text = String::new();
    for (tool, option) in [(toolkit.join("bin/nvlink"), "-V"), ("gcc".into(), "--version")] {
        let output = process::capture(Command::new(tool).arg(option))?;
        text += &String::from_utf8_lossy(&output.stdout);
    }
    Ok(text)
}

/// Whether an object needs the device runtime's library.
fn calls_runtime(object: &[u8]) -> Result<bool> {
    let cubin = Cubin::parse(object).map_err(|e| e.to_string())?;
    let undefined = (1..).zip(cubin.symbols.iter().skip(1)).filter(|(_, symbol)| !symbol.is_defined());
    Ok(undefined
        .filter_map(|(index, _)| cubin.symbol_name(index).ok())
        .any(|name| name.starts_with(b"cuda") || name.starts_with(b"__cudaCDP")))
}
