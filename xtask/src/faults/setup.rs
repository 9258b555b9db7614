//! The linker, its inputs and a folder for each fault, and what is looked at afterwards.

use crate::cache::at;
use crate::process::Ending;
use crate::{Result, conformance, process};
use solder_cubin::Cubin;
use solder_cubin::edit::with_section;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A link that takes longer than this hangs.
pub const LIMIT: Duration = Duration::from_mins(1);

/// The linker, inputs for it and a folder to work in.
pub struct Context {
    /// A copy that every user can run.
    pub solder: PathBuf,
    pub folder: PathBuf,
    pub short: bool,
    /// Two objects, and a third so large that writing it takes a while.
    pub caller: Vec<u8>,
    pub callee: Vec<u8>,
    pub large: Vec<u8>,
}

/// Bytes that the large object has beside its code.
const LARGE: usize = 12 << 20;

impl Context {
    pub fn new(short: bool) -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("solder-faults-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|e| at(&folder, &e))?;
        let solder = folder.join("nvlink");
        let built = conformance::solder()?;
        fs::copy(&built, &solder).map_err(|e| at(&built, &e))?;
        mode(&folder, 0o755)?;
        mode(&solder, 0o755)?;
        let read = |name: &str| {
            let path = conformance::workspace()?.join("crates/fuzzing/corpus").join(name);
            fs::read(&path).map_err(|e| at(&path, &e))
        };
        let (caller, callee) = (read("caller.sm_90.cubin")?, read("callee.sm_90.cubin")?);
        let large = grown(&callee, LARGE).ok_or("the corpus has no initialised data to make larger")?;
        Ok(Self { solder, folder, short, caller, callee, large })
    }

    /// How often something is tried.
    pub fn times(&self, full: usize) -> usize {
        if self.short { full.div_ceil(10) } else { full }
    }

    /// An empty folder with the inputs, as `caller.cubin`, `callee.cubin` and `large.cubin`.
    pub fn scratch(&self, name: &str) -> Result<Scratch> {
        let path = self.folder.join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).map_err(|e| at(&path, &e))?;
        let inputs =
            [("caller.cubin", &self.caller), ("callee.cubin", &self.callee), ("large.cubin", &self.large)];
        for (name, bytes) in inputs {
            put(&path.join(name), bytes)?;
        }
        Ok(Scratch { path })
    }

    /// A link in a folder, with a small environment.
    pub fn link(&self, folder: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(&self.solder);
        process::clean_environment(&mut command, "/usr/bin:/bin".as_ref());
        command.args(ALWAYS).args(words).current_dir(folder);
        command
    }

    /// What the link of some inputs makes when nothing goes wrong. The note names the output, so that is part of it.
    pub fn reference(&self, words: &[&str]) -> Result<Vec<u8>> {
        let scratch = self.scratch("reference")?;
        expect(&mut self.link(&scratch.path, words), &Ending::Exit(0))?;
        get(&scratch.path.join(OUTPUT))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

pub const OUTPUT: &str = "out.cubin";
/// The inputs are recursive, and what is said about their stack is not what is looked for.
pub const ALWAYS: [&str; 2] = ["-arch=sm_90", "-suppress-stack-size-warning"];
/// The words of a link, small and large.
pub const SMALL: [&str; 4] = ["caller.cubin", "callee.cubin", "-o", OUTPUT];
pub const BIG: [&str; 4] = ["caller.cubin", "large.cubin", "-o", OUTPUT];

pub struct Scratch {
    pub path: PathBuf,
}

impl Scratch {
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Fails if a file is there that is neither an input nor one of these.
    pub fn only(&self, others: &[&str]) -> Result<()> {
        let known = ["caller.cubin", "callee.cubin", "large.cubin"];
        for entry in fs::read_dir(&self.path).map_err(|e| at(&self.path, &e))?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !known.contains(&&*name) && !others.contains(&&*name) {
                return Err(format!("'{name}' is left behind"));
            }
        }
        Ok(())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = mode(&self.path, 0o755);
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// An object with more initialised data.
fn grown(object: &[u8], by: usize) -> Option<Vec<u8>> {
    let cubin = Cubin::parse(object).ok()?;
    let section = cubin.section(".nv.global.init")?;
    let mut contents = section.data.to_vec();
    contents.resize(contents.len() + by, 0x5a);
    with_section(object, section.index as usize, &contents)
}

pub fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).map_err(|e| at(path, &e))
}

pub fn get(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|e| at(path, &e))
}

pub fn mode(path: &Path, mode: u32) -> Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(|e| at(path, &e))
}

/// Runs a link that must end in one way; the value is what it said on standard error.
pub fn expect(command: &mut Command, wanted: &Ending) -> Result<String> {
    let (ending, _, stderr) = process::watch(command, LIMIT)?;
    let said = String::from_utf8_lossy(&stderr).into_owned();
    if ending != *wanted {
        return Err(format!("{ending} instead of {wanted}: {said}"));
    }
    if said.is_empty() && ending != Ending::Exit(0) {
        return Err(format!("{ending} without a word"));
    }
    Ok(said)
}

/// Runs a link that must be refused with a message that holds this text.
pub fn refused(command: &mut Command, text: &str) -> Result<()> {
    let said = expect(command, &Ending::Exit(1))?;
    if said.contains(text) && said.lines().count() == 1 {
        return Ok(());
    }
    Err(format!("expected one line with '{text}', got: {said}"))
}

pub fn same(found: &[u8], wanted: &[u8], what: &str) -> Result<()> {
    if found == wanted {
        return Ok(());
    }
    Err(format!("{what}: {} bytes, not the {} that it should have", found.len(), wanted.len()))
}
