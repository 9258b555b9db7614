//! Runs one linker through the steps of a case and records all that can be seen from outside.

use super::build::Input;
use super::case::Run;
use super::context::Context;
use crate::cache::{self, Key, at};
use crate::process::{self, Ending};
use crate::{Result, words};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// What a linker did.
#[derive(Debug, Default)]
pub struct Outcome {
    pub steps: Vec<Step>,
    pub files: Files,
}

#[derive(Debug)]
pub struct Step {
    pub ending: Ending,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

pub type Files = BTreeMap<String, Entry>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// An input, as it was before.
    Untouched,
    File {
        mode: u32,
        bytes: Vec<u8>,
    },
    Link(String),
    Folder,
    Other,
}

/// The folder of one run. Both linkers work under the same absolute name, one after the other, because
/// the name of the working folder gets into some outputs.
pub struct Scratch<'a> {
    pub run: &'a Run<'a>,
    pub context: &'a Context,
    pub inputs: &'a [Input],
    pub folder: PathBuf,
}

/// Long enough for link-time optimization on a busy machine.
const LIMIT: Duration = Duration::from_mins(2);

impl Scratch<'_> {
    /// nvlink's outcome for the given steps: from the cache, or by running it.
    pub fn nvlink(&self, steps: &[String], name: &str) -> Result<Outcome> {
        let slot = self.slot(steps);
        if !self.context.fresh
            && !self.context.keep
            && let Some(outcome) = load(&slot)
        {
            return Ok(outcome);
        }
        let (outcome, _) = self.execute(&self.program(), steps, name)?;
        if self.context.fresh {
            let _ = fs::remove_dir_all(&slot);
        }
        // An ending that the machine's load may have caused says nothing about nvlink.
        let by_load = |step: &Step| match step.ending {
            Ending::Timeout => self.run.case.timeout.is_none(),
            ref ending => *ending == Ending::Signal(9),
        };
        if !outcome.steps.iter().any(by_load) {
            store(&outcome, &slot)?;
        }
        Ok(outcome)
    }

    /// What nvlink does another time, for cases in which that varies.
    pub fn nvlink_again(&self, steps: &[String]) -> Result<Outcome> {
        let _ = fs::remove_dir_all(self.folder.join("nvlink"));
        Ok(self.execute(&self.program(), steps, "nvlink")?.0)
    }

    /// Makes an outcome of nvlink the one that is known.
    pub fn remember(&self, steps: &[String], outcome: &Outcome) -> Result<()> {
        let slot = self.slot(steps);
        let _ = fs::remove_dir_all(&slot);
        store(outcome, &slot)
    }

    fn program(&self) -> PathBuf {
        match &self.context.emulator {
            Some(emulator) => emulator.nvlink.clone(),
            None => self.context.toolkit.join("bin/nvlink"),
        }
    }

    /// solder's outcome, and the state of the folder before its last step.
    pub fn solder(&self, steps: &[String]) -> Result<(Outcome, Files)> {
        let bin = self.folder.join("bin");
        fs::create_dir_all(&bin).map_err(|e| at(&bin, &e))?;
        let program = bin.join("nvlink");
        std::os::unix::fs::symlink(&self.context.solder, &program).map_err(|e| at(&program, &e))?;
        self.execute(&program, steps, "solder")
    }

    /// The cache entry of an nvlink run: everything that its outcome may depend on is in the key.
    fn slot(&self, steps: &[String]) -> PathBuf {
        let mut key = Key::new("nvlink 2");
        key.text(&self.context.fingerprint).text(&self.folder.to_string_lossy());
        let expanded = |list: &[String]| list.iter().map(|text| self.run.expand(text)).collect::<Vec<_>>();
        key.list(&expanded(&self.run.case.setup)).list(&expanded(&self.run.case.env)).list(steps);
        key.text(self.run.case.stdout.as_deref().unwrap_or_default());
        for input in self.inputs {
            key.text(&input.name).text(&input.digest);
        }
        if let Some(emulator) = &self.context.emulator {
            key.text(emulator.name());
        }
        let key = key.hex();
        self.context.cache.join("nvlink").join(&key[..2]).join(&key)
    }

    fn execute(&self, program: &Path, steps: &[String], name: &str) -> Result<(Outcome, Files)> {
        let work = self.folder.join("work");
        fs::create_dir_all(&work).map_err(|e| at(&work, &e))?;
        let mut before = HashMap::new();
        for input in self.inputs {
            input.place(&work)?;
            before.insert(input.name.clone(), input.bytes()?);
        }
        for line in &self.run.case.setup {
            let line = self.substitute(&self.run.expand(line));
            let mut shell = Command::new("sh");
            self.environment(shell.args(["-ec", &line]));
            let (ending, _, stderr) = process::watch(&mut shell, LIMIT)?;
            if ending != Ending::Exit(0) {
                return Err(format!("setup: {line}: {ending}\n{}", String::from_utf8_lossy(&stderr)));
            }
        }
        let mut outcome = Outcome::default();
        let mut before_last = Files::new();
        for (index, step) in steps.iter().enumerate() {
            if index + 1 == steps.len() && self.run.case.deviation.is_some() {
                before_last = snapshot(&work, &before)?;
            }
            let args = words::split(&self.substitute(step)).map_err(|e| format!("link: {step}: {e}"))?;
            let emulated = self.context.emulator.as_ref().map(|emulator| emulator.command(program));
            let mut command = emulated.unwrap_or_else(|| Command::new(program));
            self.environment(command.args(args));
            let limit = self.run.case.timeout.unwrap_or(LIMIT);
            let (ending, stdout, stderr) = process::watch_into(&mut command, self.stdout(&work)?, limit)?;
            outcome.steps.push(Step { ending, stdout, stderr });
        }
        outcome.files = snapshot(&work, &before)?;
        let kept = self.folder.join(name);
        fs::rename(&work, &kept).map_err(|e| at(&kept, &e))?;
        Ok((outcome, before_last))
    }

    /// A pipe, or the file that the case names.
    fn stdout(&self, work: &Path) -> Result<Stdio> {
        let Some(name) = &self.run.case.stdout else { return Ok(Stdio::piped()) };
        let path = work.join(name);
        Ok(fs::File::create(&path).map_err(|e| at(&path, &e))?.into())
    }

    fn substitute(&self, text: &str) -> String {
        let cwd = self.folder.join("work");
        let emulated = self.context.emulator.as_ref().map(|emulator| &emulator.toolkit);
        let toolkit = emulated.unwrap_or(&self.context.toolkit);
        text.replace("{toolkit}", &toolkit.to_string_lossy()).replace("{cwd}", &cwd.to_string_lossy())
    }

    fn environment(&self, command: &mut Command) {
        process::clean_environment(command, &self.context.path);
        // nvlink does not look at it.
        command.env("SOLDER_AS", self.context.release.version);
        command.envs(self.context.env.iter().map(|(name, value)| (name, value)));
        command.current_dir(self.folder.join("work"));
        for pair in &self.run.case.env {
            let pair = self.substitute(&self.run.expand(pair));
            let (name, value) = pair.split_once('=').unwrap_or((&pair, ""));
            command.env(name, value);
        }
    }
}

fn snapshot(work: &Path, before: &HashMap<String, Vec<u8>>) -> Result<Files> {
    let mut files = Files::new();
    walk(work, "", before, &mut files)?;
    Ok(files)
}

fn walk(folder: &Path, prefix: &str, before: &HashMap<String, Vec<u8>>, files: &mut Files) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(|e| at(folder, &e))?.flatten() {
        let path = entry.path();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let metadata = entry.metadata().map_err(|e| at(&path, &e))?;
        let found = if metadata.is_symlink() {
            Entry::Link(fs::read_link(&path).map_err(|e| at(&path, &e))?.to_string_lossy().into_owned())
        } else if metadata.is_dir() {
            // A folder that a case made unreadable is known by its name.
            let _ = walk(&path, &format!("{name}/"), before, files);
            Entry::Folder
        } else if metadata.is_file() {
            let bytes = fs::read(&path).unwrap_or_default();
            match before.get(&name) {
                Some(old) if *old == bytes => Entry::Untouched,
                _ => Entry::File { mode: metadata.permissions().mode() & 0o7777, bytes },
            }
        } else {
            Entry::Other
        };
        files.insert(name, found);
    }
    Ok(())
}

/// On disk an outcome is a folder: `index` with a line per step and file, and numbered contents.
fn store(outcome: &Outcome, slot: &Path) -> Result<()> {
    let staged = cache::staging(slot);
    fs::create_dir_all(&staged).map_err(|e| at(&staged, &e))?;
    let mut index = Vec::new();
    let mut contents = 0;
    let mut put = |bytes: &[u8]| -> Result<usize> {
        let path = staged.join(contents.to_string());
        fs::write(&path, bytes).map_err(|e| at(&path, &e))?;
        contents += 1;
        Ok(contents - 1)
    };
    for step in &outcome.steps {
        let (stdout, stderr) = (put(&step.stdout)?, put(&step.stderr)?);
        index.push(format!("step\t{}\t{stdout}\t{stderr}\n", step.ending));
    }
    for (name, entry) in &outcome.files {
        index.push(match entry {
            Entry::Untouched => format!("same\t{name}\n"),
            Entry::File { mode, bytes } => format!("file\t{name}\t{mode}\t{}\n", put(bytes)?),
            Entry::Link(target) => format!("link\t{name}\t{target}\n"),
            Entry::Folder => format!("folder\t{name}\n"),
            Entry::Other => format!("other\t{name}\n"),
        });
    }
    fs::write(staged.join("index"), index.concat()).map_err(|e| at(&staged, &e))?;
    cache::publish(&staged, slot)
}

/// `None` when there is no entry, or one that cannot be read: then nvlink runs again.
fn load(slot: &Path) -> Option<Outcome> {
    let index = fs::read_to_string(slot.join("index")).ok()?;
    let content = |number: &str| fs::read(slot.join(number)).ok();
    let mut outcome = Outcome::default();
    for line in index.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let (name, entry) = match fields[..] {
            ["step", ending, stdout, stderr] => {
                let ending = Ending::parse(ending)?;
                outcome.steps.push(Step { ending, stdout: content(stdout)?, stderr: content(stderr)? });
                continue;
            }
            ["same", name] => (name, Entry::Untouched),
            ["file", name, mode, number] => {
                (name, Entry::File { mode: mode.parse().ok()?, bytes: content(number)? })
            }
            ["link", name, target] => (name, Entry::Link(target.to_string())),
            ["folder", name] => (name, Entry::Folder),
            ["other", name] => (name, Entry::Other),
            _ => return None,
        };
        outcome.files.insert(name.to_string(), entry);
    }
    Some(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_survive_the_cache() {
        let slot = std::env::temp_dir().join(format!("solder-outcome-{}", std::process::id()));
        let mut outcome = Outcome::default();
        let step = Step { ending: Ending::Signal(11), stdout: b"out\n".to_vec(), stderr: vec![0xff, 0] };
        outcome.steps.push(step);
        outcome.files.insert("a".into(), Entry::Untouched);
        outcome.files.insert("b".into(), Entry::File { mode: 0o644, bytes: b"x\ty\n".to_vec() });
        outcome.files.insert("c".into(), Entry::Link("a".into()));
        outcome.files.insert("d".into(), Entry::Folder);
        store(&outcome, &slot).unwrap();
        let loaded = load(&slot).unwrap();
        fs::remove_dir_all(&slot).unwrap();
        assert_eq!(loaded.files, outcome.files);
        assert_eq!(loaded.steps[0].ending, Ending::Signal(11));
        assert_eq!(loaded.steps[0].stderr, outcome.steps[0].stderr);
    }
}
