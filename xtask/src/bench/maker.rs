//! The folder of a workload while it is made: what generators call.

use super::template::{Random, Template, name};
use crate::Result;
use crate::cache::at;
use crate::process::{self, Ending};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const SEED: u64 = 8;
const LIMIT: Duration = Duration::from_mins(10);
/// File names of one run of a tool; a command line has an end.
pub const LINKS: &str = "links";
pub const FLOOR: &str = "inputs";

/// The folder in which a workload is being made.
pub struct Maker<'a> {
    toolkit: &'a Path,
    folder: &'a Path,
    pub random: Random,
    files: Vec<String>,
    links: Vec<Vec<String>>,
    temporary: Vec<PathBuf>,
}

impl<'a> Maker<'a> {
    pub fn new(toolkit: &'a Path, folder: &'a Path) -> Self {
        let random = Random::new(SEED);
        Self { toolkit, folder, random, files: Vec::new(), links: Vec::new(), temporary: Vec::new() }
    }

    pub fn toolkit(&self) -> &Path {
        self.toolkit
    }

    /// An input of the link.
    pub fn add(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.folder.join(name);
        fs::write(&path, bytes).map_err(|e| at(&path, &e))?;
        self.files.push(name.into());
        Ok(())
    }

    /// An input in the place of another one in the links from here on.
    pub fn replace(&mut self, old: &str, name: &str, bytes: &[u8]) -> Result<()> {
        self.add(name, bytes)?;
        let last = self.files.pop().unwrap_or_default();
        self.files.iter_mut().filter(|file| *file == old).for_each(|file| file.clone_from(&last));
        Ok(())
    }

    /// A file that is read but not named in the order of the inputs, such as a library.
    pub fn also_reads(&mut self, path: &Path) {
        self.files.push(path.to_string_lossy().into_owned());
    }

    /// Links all inputs with these options.
    pub fn link(&mut self, options: &[&str]) {
        let options = options.iter().map(ToString::to_string);
        self.links.push(options.chain(self.files.iter().cloned()).collect());
    }

    /// Links with these words alone.
    pub fn link_only(&mut self, words: &[&str]) {
        self.links.push(words.iter().map(ToString::to_string).collect());
    }

    /// PTX, assembled.
    pub fn ptxas(&mut self, text: &str, arch: &str) -> Result<Vec<u8>> {
        self.compile("t.ptx", text, "ptxas", &["-c", &format!("-arch={arch}"), "-o", "t.out", "t.ptx"])
    }

    /// CUDA C++, compiled with these options.
    pub fn nvcc(&mut self, text: &str, options: &[&str]) -> Result<Vec<u8>> {
        self.compile("t.cu", text, "nvcc", &[options, &["-o", "t.out", "t.cu"]].concat())
    }

    fn compile(&mut self, source: &str, text: &str, tool: &str, arguments: &[&str]) -> Result<Vec<u8>> {
        let (source, result) = (self.folder.join(source), self.folder.join("t.out"));
        fs::write(&source, text).map_err(|e| at(&source, &e))?;
        self.tool(tool, arguments)?;
        let bytes = fs::read(&result).map_err(|e| at(&result, &e))?;
        self.temporary.extend([source, result]);
        Ok(bytes)
    }

    /// Runs a program of the toolkit in the folder.
    pub fn tool(&self, tool: &str, arguments: &[&str]) -> Result<()> {
        let mut command = Command::new(self.toolkit.join("bin").join(tool));
        command.args(arguments).current_dir(self.folder);
        let (ending, _, stderr) = process::watch(&mut command, LIMIT)?;
        if ending == Ending::Exit(0) {
            return Ok(());
        }
        Err(format!("{tool}: {ending}\n{}", String::from_utf8_lossy(&stderr)))
    }

    /// `count` modules of a template, each of which refers to another of them.
    pub fn modules(&mut self, template: &Template, count: usize, extension: &str) -> Result<()> {
        for module in 0..count {
            let next = self.random.below(count);
            self.add(&format!("{}.{extension}", name(module)), &template.fill(module, next))?;
        }
        Ok(())
    }

    /// Modules that each refer to the next; the last is made of a template of its own.
    pub fn row(&mut self, template: &Template, last: &Template, count: usize) -> Result<()> {
        for module in 0..count {
            let template = if module + 1 == count { last } else { template };
            self.add(&format!("{}.cubin", name(module)), &template.fill(module, module + 1))?;
        }
        Ok(())
    }

    /// Makes the list of links and files, and removes what is only a step on the way.
    pub fn finish(self) -> Result<()> {
        for path in &self.temporary {
            let _ = fs::remove_file(path);
        }
        let links: String = self.links.iter().map(|words| words.join("\t") + "\n").collect();
        let files: String = self.files.iter().map(|file| file.clone() + "\n").collect();
        for (name, text) in [(LINKS, links), (FLOOR, files)] {
            let path = self.folder.join(name);
            fs::write(&path, text).map_err(|e| at(&path, &e))?;
        }
        Ok(())
    }
}

/// Collects host objects into an archive as `ar` writes it, without an index: device linkers do not look at it.
pub struct Archive(Vec<u8>);

impl Archive {
    pub fn new() -> Self {
        Self(b"!<arch>\n".to_vec())
    }

    pub fn push(&mut self, name: &str, bytes: &[u8]) {
        let header =
            format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", format!("{name}/"), 0, 0, 0, 644, bytes.len());
        self.0.extend_from_slice(header.as_bytes());
        self.0.extend_from_slice(bytes);
        if !bytes.len().is_multiple_of(2) {
            self.0.push(b'\n');
        }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}
