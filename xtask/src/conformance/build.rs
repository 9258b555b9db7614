//! Makes the inputs of a case from its sources, once: the results lie in the cache, keyed by the rule,
//! the content of what it reads, and the toolkit.

use super::case::{Run, file_name};
use super::context::Context;
use super::plant;
use crate::assembler::{self, Release};
use crate::cache::{self, Key, at};
use crate::{Result, process, words};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// A file that the links find in their folder.
#[derive(Clone)]
pub struct Input {
    pub name: String,
    pub content: Content,
    pub digest: String,
}

#[derive(Clone)]
pub enum Content {
    Text(Arc<str>),
    Existing(PathBuf),
}

impl Input {
    pub fn bytes(&self) -> Result<Vec<u8>> {
        match &self.content {
            Content::Text(text) => Ok(text.as_bytes().to_vec()),
            Content::Existing(path) => fs::read(path).map_err(|e| at(path, &e)),
        }
    }

    /// Puts a copy under `folder`; never a hard link, since a linker may be told to overwrite its input.
    pub fn place(&self, folder: &Path) -> Result<()> {
        let target = folder.join(&self.name);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(|e| at(parent, &e))?;
        }
        fs::write(&target, self.bytes()?).map_err(|e| at(&target, &e))
    }
}

/// The version that the PTX of cases asks for.
const USUAL_PTX: (u32, u32) = (9, 0);

/// A compilation that takes longer than this is stuck.
const LIMIT: Duration = Duration::from_mins(5);

/// Every part of the case and every built file, in the order of the case file.
pub fn inputs(run: &Run<'_>, context: &Context) -> Result<Vec<Input>> {
    let mut inputs: Vec<Input> = Vec::new();
    let packs = run.case.builds.iter().any(|rule| rule.contains("fatbinary"));
    for (name, text) in &run.case.parts {
        let mut text = run.readable(&run.expand_arch(text));
        // An older toolkit gets what is written for the usual one in its own version; a newer version than that is meant.
        if has_extension(name, &["ptx"])
            && context.ptx < USUAL_PTX
            && !assembler::asks_for_more(&text, USUAL_PTX)
        {
            text = assembler::lower(&text, context.ptx);
            // fatbinary of CUDA 12 leaves the first line out, which is a comment in nvcc's PTX.
            if packs && text.starts_with(".version") {
                text.insert_str(0, "//\n");
            }
        }
        let digest = Key::new("content").text(&text).hex();
        inputs.push(Input { name: name.clone(), content: Content::Text(text.into()), digest });
    }
    for rule in &run.case.builds {
        let text = run.expand(rule);
        let rule = Rule::parse(&text, run).map_err(|e| format!("build: {text}: {e}"))?;
        let made = rule.make(&inputs, context).map_err(|e| format!("build: {text}\n{e}"))?;
        inputs.retain(|input| input.name != made.name);
        inputs.push(made);
    }
    Ok(inputs)
}

fn has_extension(name: &str, extensions: &[&str]) -> bool {
    Path::new(name).extension().is_some_and(|found| extensions.iter().any(|wanted| found == *wanted))
}

struct Rule {
    out: String,
    tool: String,
    /// For `sh` one element, the command as written.
    args: Vec<String>,
}

impl Rule {
    fn parse(text: &str, run: &Run<'_>) -> Result<Self> {
        let (out, recipe) = text.split_once('=').ok_or("expected OUT = TOOL …")?;
        let recipe = recipe.trim();
        let (tool, rest) = recipe.split_once(' ').unwrap_or((recipe, ""));
        let mut rule =
            Self { out: file_name(out.trim())?, tool: tool.to_string(), args: words::split(rest)? };
        rule.complete(rest, run)?;
        Ok(rule)
    }

    /// Adds what every rule of a kind would otherwise repeat.
    fn complete(&mut self, rest: &str, run: &Run<'_>) -> Result<()> {
        let given = |args: &[String], names: &[&str]| {
            args.iter()
                .any(|arg| names.iter().any(|name| arg == name || arg.starts_with(&format!("{name}="))))
        };
        let out = self.out.clone();
        let tool = if Release::of_tool(&self.tool).is_some() { "ptxas" } else { &self.tool };
        match tool {
            "ptxas" | "nvcc" | "nvlink" => {
                let arch_options =
                    ["-arch", "--arch", "-gencode", "--generate-code", "--gpu-name", "--gpu-architecture"];
                if let (false, Some(n)) = (given(&self.args, &arch_options), &run.arch) {
                    self.args.push(format!("-arch=sm_{n}"));
                }
                if tool == "ptxas" && !given(&self.args, &["-c", "--compile-only"]) {
                    self.args.push("-c".into());
                }
                if !given(&self.args, &["-o", "--output-file"]) {
                    self.args.extend(["-o".into(), out]);
                }
            }
            "fatbinary" => {
                if !given(&self.args, &["-create", "--create"]) {
                    self.args.insert(0, format!("--create={out}"));
                }
                if !given(&self.args, &["-64", "--64", "-32", "--32"]) {
                    self.args.insert(0, "-64".into());
                }
            }
            "ar" => self.args.splice(0..0, ["rcsD".to_string(), out]).for_each(drop),
            "cc" => {
                if has_extension(&out, &["o"]) && !given(&self.args, &["-c", "-r", "-shared", "-S", "-E"]) {
                    self.args.push("-c".into());
                }
                self.args.extend(["-o".into(), out]);
            }
            "file" if self.args.len() == 1 => {}
            "file" => return Err("expected OUT = file PATH".into()),
            "plant" if self.args.is_empty() => return Err("expected OUT = plant IN EDITS…".into()),
            "plant" => {}
            "sh" => self.args = vec![rest.to_string()],
            other => return Err(format!("unknown tool '{other}'")),
        }
        Ok(())
    }

    /// The inputs that the recipe can see: for most tools those it names, plus headers for compilers. A
    /// file not seen is not there either, so that a dependency cannot be missed silently.
    fn reads<'a>(&self, inputs: &'a [Input]) -> Vec<&'a Input> {
        let sees_all = matches!(self.tool.as_str(), "sh" | "nvlink");
        let compiles = matches!(self.tool.as_str(), "nvcc" | "cc");
        let is_header = |name: &str| has_extension(name, &["h", "cuh", "hpp", "inc", "inl"]);
        let named = |name: &str| self.args.iter().any(|arg| arg.contains(name));
        let seen = |input: &&Input| sees_all || named(&input.name) || (compiles && is_header(&input.name));
        inputs.iter().filter(seen).collect()
    }

    /// Whether the output depends on the machine that the host's code is for.
    fn makes_host_code(&self) -> bool {
        let only_device = ["-cubin", "--cubin", "-fatbin", "--fatbin", "-ptx", "--ptx"];
        match self.tool.as_str() {
            "cc" | "sh" => true,
            "nvcc" => !self.args.iter().any(|arg| only_device.contains(&arg.as_str())),
            _ => false,
        }
    }

    fn make(&self, inputs: &[Input], context: &Context) -> Result<Input> {
        if self.tool == "file" {
            let path = super::workspace()?.join(&self.args[0]);
            let bytes = fs::read(&path).map_err(|e| at(&path, &e))?;
            let digest = Key::new("content").bytes(&bytes).hex();
            return Ok(Input { name: self.out.clone(), content: Content::Existing(path), digest });
        }
        let reads = self.reads(inputs);
        let mut key = Key::new("input 1");
        key.text(&context.fingerprint).text(&self.out).text(&self.tool);
        key.list(&self.args);
        for input in &reads {
            key.text(&input.name).text(&input.digest);
        }
        if let Some(emulator) = context.emulator.as_ref().filter(|_| self.makes_host_code()) {
            key.text(emulator.name());
        }
        let key = key.hex();
        let slot = context.cache.join("inputs").join(&key[..2]).join(&key);
        let guard = context.in_progress.of(&key);
        let _guard = guard.lock().unwrap_or_else(PoisonError::into_inner);
        if !slot.is_dir() {
            self.fill(&slot, &reads, context)?;
        }
        let digest = fs::read_to_string(slot.join("digest")).map_err(|e| at(&slot, &e))?;
        Ok(Input { name: self.out.clone(), content: Content::Existing(slot.join("out")), digest })
    }

    fn fill(&self, slot: &Path, reads: &[&Input], context: &Context) -> Result<()> {
        let staged = cache::staging(slot);
        let work = staged.join("work");
        fs::create_dir_all(&work).map_err(|e| at(&work, &e))?;
        let made = reads.iter().try_for_each(|input| self.place(input, &work, context)).and_then(|()| {
            let out = work.join(&self.out);
            if let Some(parent) = out.parent() {
                fs::create_dir_all(parent).map_err(|e| at(parent, &e))?;
            }
            self.execute(&work, context)?;
            let bytes = fs::read(&out).map_err(|_| format!("it made no file '{}'", self.out))?;
            let digest = Key::new("content").bytes(&bytes).hex();
            fs::write(staged.join("out"), &bytes).map_err(|e| at(&staged, &e))?;
            fs::write(staged.join("digest"), digest).map_err(|e| at(&staged, &e))?;
            fs::remove_dir_all(&work).map_err(|e| at(&work, &e))?;
            cache::publish(&staged, slot)
        });
        if made.is_err() {
            let _ = fs::remove_dir_all(&staged);
        }
        made
    }

    /// Older assemblers get PTX that asks for a version they know.
    fn place(&self, input: &Input, work: &Path, context: &Context) -> Result<()> {
        let release = Release::of_tool(&self.tool);
        let text = match &input.content {
            Content::Text(text) => Some(text.to_string()),
            Content::Existing(_) if has_extension(&input.name, &["ptx"]) => {
                String::from_utf8(input.bytes()?).ok()
            }
            Content::Existing(_) => None,
        };
        let lowered = match (release, text) {
            (Some(release), Some(text)) => release.lower(&text),
            (None, Some(text)) if self.tool == "ptxas" => assembler::lower(&text, context.ptx),
            _ => return input.place(work),
        };
        Input { content: Content::Text(lowered.into()), ..input.clone() }.place(work)
    }

    fn execute(&self, work: &Path, context: &Context) -> Result<()> {
        if self.tool == "plant" {
            return self.plant(work);
        }
        let bin = context.toolkit.join("bin");
        let mut command = match self.tool.as_str() {
            "sh" => Command::new("sh"),
            "cc" => Command::new(
                context.emulator.as_ref().map_or("gcc".into(), |emulator| emulator.compiler("gcc")),
            ),
            "ar" => Command::new("ar"),
            tool => match Release::of_tool(tool) {
                Some(release) => Command::new(context.assemblers.get(release)?),
                None => match context.assembler.filter(|_| tool == "ptxas") {
                    Some(assembler) => Command::new(assembler.ensure()?),
                    None => Command::new(bin.join(tool)),
                },
            },
        };
        if self.tool == "sh" {
            command.arg("-ec");
        }
        if let Some(emulator) =
            context.emulator.as_ref().filter(|_| self.tool == "nvcc" && self.makes_host_code())
        {
            command.arg("-ccbin").arg(emulator.compiler("g++"));
        }
        let toolkit = context.toolkit.to_string_lossy();
        command.args(self.args.iter().map(|arg| arg.replace("{toolkit}", &toolkit)));
        let path = context
            .emulator
            .as_ref()
            .filter(|_| self.tool == "sh")
            .map(|emulator| emulator.path(&context.path));
        process::clean_environment(&mut command, path.as_ref().unwrap_or(&context.path));
        command.current_dir(work).env("OUT", &self.out);
        let (ending, stdout, stderr) = process::watch(&mut command, LIMIT)?;
        if ending == process::Ending::Exit(0) {
            return Ok(());
        }
        let text = [stdout, stderr].concat();
        let text = String::from_utf8_lossy(&text);
        Err(format!("{ending}\n{}", text.lines().take(12).collect::<Vec<_>>().join("\n")))
    }

    fn plant(&self, work: &Path) -> Result<()> {
        let source = work.join(&self.args[0]);
        let mut bytes = fs::read(&source).map_err(|e| at(Path::new(&self.args[0]), &e))?;
        for edit in &self.args[1..] {
            plant::apply(&mut bytes, edit).map_err(|e| format!("{edit}: {e}"))?;
        }
        let out = work.join(&self.out);
        fs::write(&out, bytes).map_err(|e| at(&out, &e))
    }
}
