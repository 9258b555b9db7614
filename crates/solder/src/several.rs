//! Links for several architectures in one run: `-arch=sm_80,sm_90 … -o out.fatbin`, or `-o out.%a.cubin`.
//!
//! nvlink takes one architecture. Each link is one of its own, in a process of its own, as many at a time as there are processors; so
//! each image is that of a single link, and what is said comes in the order of the architectures.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, io, thread};

use solder_arch::Arch;

use crate::commands::container;
use crate::output::write_file;

/// In the name of an output: the architecture.
const PLACE: &str = "%a";

/// What a command line asks for.
struct Asked {
    /// The words, with nothing where the architecture and the output are named.
    words: Vec<OsString>,
    archs: Vec<String>,
    output: OsString,
}

/// Does the links, if the words name several architectures; the exit code.
pub fn run(words: &[OsString]) -> Option<u8> {
    let asked = match Asked::parse(words)? {
        Ok(asked) => asked,
        Err(reason) => return Some(fail(&reason)),
    };
    Some(match asked.link() {
        Ok(code) => code,
        Err(reason) => fail(&reason),
    })
}

#[cold]
fn fail(reason: &str) -> u8 {
    let _ = writeln!(io::stderr(), "solder fatal   : {reason}");
    1
}

impl Asked {
    /// `None` if there are not several architectures.
    fn parse(words: &[OsString]) -> Option<Result<Self, String>> {
        let is_list = |value: &OsStr| value.as_bytes().contains(&b',');
        let (mut archs, mut output, mut rest) = (None, None, Vec::new());
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if let Some(value) = value(word, &["-arch", "--arch"], &mut words) {
                if !is_list(&value) {
                    return None;
                }
                archs = Some(value);
            } else if let Some(value) = value(word, &["-o", "--output-file"], &mut words) {
                output = Some(value);
            } else {
                rest.push(word.clone());
            }
        }
        let archs: Vec<String> = archs?.to_string_lossy().split(',').map(str::to_owned).collect();
        Some(Self::check(archs, output, rest))
    }

    fn check(archs: Vec<String>, output: Option<OsString>, words: Vec<OsString>) -> Result<Self, String> {
        for (index, arch) in archs.iter().enumerate() {
            if number(arch).is_none() {
                return Err(format!("'{arch}' is not a real architecture, as sm_90 is; several must be"));
            }
            if archs[..index].contains(arch) {
                return Err(format!("architecture '{arch}' is named twice"));
            }
        }
        let output =
            output.ok_or("several architectures need -o FILE, a fat binary, or -o NAME with %a in it")?;
        Ok(Self { words, archs, output })
    }

    fn link(&self) -> Result<u8, String> {
        let output = self.output.to_string_lossy();
        if output.contains(PLACE) {
            let name = |arch: &String| OsString::from(output.replace(PLACE, arch));
            return self.link_into(&self.archs.iter().map(name).collect::<Vec<_>>());
        }
        let folder = Scratch::new()?;
        let names: Vec<OsString> = self.archs.iter().map(|arch| folder.0.join(arch).into()).collect();
        let code = self.link_into(&names)?;
        // A link that is not an error may write nothing, as one of no inputs.
        if code == 0 {
            self.put_together(&names)?;
        }
        Ok(code)
    }

    fn put_together(&self, names: &[OsString]) -> Result<(), String> {
        let mut images = Vec::new();
        for (arch, name) in self.archs.iter().zip(names) {
            let bytes = fs::read(name).map_err(|_| format!("nothing was linked for '{arch}'"))?;
            let arch = number(arch).ok_or("an architecture without number")?;
            images.push((arch, bytes));
        }
        let bytes = container(&images)?;
        write_file(Path::new(&self.output), &mut |file| file.write_all(&bytes))
            .map_err(|_| format!("Could not write output file '{}'", self.output.to_string_lossy()))
    }

    /// Starts the links, and says what they said; the exit code of the first that failed.
    fn link_into(&self, names: &[OsString]) -> Result<u8, String> {
        let program = env::current_exe().map_err(|error| format!("solder itself is not found: {error}"))?;
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let at_once = processors.min(names.len());
        let threads = (processors / at_once).max(1);
        let next = AtomicUsize::new(0);
        let results: Vec<Mutex<Option<io::Result<Output>>>> =
            names.iter().map(|_| Mutex::default()).collect();
        thread::scope(|scope| {
            for _ in 0..at_once {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(result) = results.get(index) else { break };
                        let output = self.one(&program, index, &names[index], threads).output();
                        if let Ok(mut result) = result.lock() {
                            *result = Some(output);
                        }
                    }
                });
            }
        });
        let mut code = 0;
        for result in results {
            let output = result.into_inner().ok().flatten().ok_or("a link was not done")?;
            let output = output.map_err(|error| format!("a link cannot be started: {error}"))?;
            let _ = io::stdout().write_all(&output.stdout);
            let _ = io::stderr().write_all(&output.stderr);
            if code == 0 && !output.status.success() {
                code = output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(255);
            }
        }
        Ok(code)
    }

    fn one(&self, program: &Path, index: usize, output: &OsStr, threads: usize) -> Command {
        let mut command = Command::new(program);
        command.arg(format!("-arch={}", self.archs[index])).args(&self.words).arg("-o").arg(output);
        // The process that frees memory would keep the pipes open.
        command.arg("--no-fork");
        if !self.words.iter().any(|word| word.as_bytes().starts_with(b"--threads")) {
            command.arg(format!("--threads={threads}"));
        }
        command
    }
}

/// The value of an option, joined by `=` or in the next word.
fn value(word: &OsStr, names: &[&str], rest: &mut std::slice::Iter<'_, OsString>) -> Option<OsString> {
    if names.iter().any(|name| word == *name) {
        return rest.next().cloned();
    }
    let bytes = word.as_bytes();
    let joined = |name: &&str| bytes.strip_prefix(name.as_bytes())?.strip_prefix(b"=");
    names.iter().find_map(joined).map(|value| OsString::from_vec(value.to_vec()))
}

fn number(arch: &str) -> Option<Arch> {
    Arch::parse(arch.strip_prefix("sm_")?)
}

/// A folder for images that become members, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, String> {
        let folder = env::temp_dir().join(format!("solder-several-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| format!("'{}': {error}", folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
