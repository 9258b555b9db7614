//! Links for several architectures in one run: `-arch=sm_80,sm_90 … -o out.fatbin`, or `-o out.%a.cubin`.
//!
//! nvlink takes one architecture. Each link is what it would be alone, so that each image is that of a single link; but files are
//! opened once for all of them, as many links run at a time as there are processors, and the memory of one link serves the
//! next on its thread. What they print comes in the order of the architectures.

use std::cmp::Reverse;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::{env, fs, io, thread};

use bstr::ByteSlice;
use solder_arch::Arch;

use crate::commands::container;
use crate::console::Console;
use crate::dependencies;
use crate::load::{Arena, Shared};
use crate::options;
use crate::os::signals::{self, Temporary};
use crate::os::{memory, threads};
use crate::output::write_file;
use crate::single::{self, OPTIONS_VARIABLE, OWN_NAME};

/// The exit code if a link could not be done at all.
const FAILED: u8 = 255;

/// In the name of an output: the architecture.
const PLACE: &str = "%a";

/// What a command line asks for.
struct Asked {
    /// The words, with nothing where the architecture and the output are named.
    words: Vec<OsString>,
    archs: Vec<String>,
    output: OsString,
    /// Where the rule for make goes, and its target if that is not what is written.
    dependencies: Option<OsString>,
    target: Option<OsString>,
}

/// Files about a link: each link has one of its own.
const ABOUT_LINK: [&str; 2] = ["--map", "--report"];
const DEPENDENCY_FILE: [&str; 3] = ["-MF", "--dependency-file", "-dependency-file"];
const DEPENDENCY_TARGET: [&str; 3] = ["-MT", "--dependency-target", "-dependency-target"];
/// The options that say how many threads a link may have.
const THREADS: [&[u8]; 3] = [b"--threads", b"-threads", b"-j"];

/// Does the links, if the words name several architectures; the exit code.
pub fn run(words: &[OsString]) -> Option<u8> {
    let asked = match Asked::parse(&with_files(words, &mut { MOST_FILES })).or_else(refused_variable)? {
        Ok(asked) => asked,
        Err(reason) => return Some(fail(&reason)),
    };
    Some(match asked.link() {
        Ok(code) => code,
        Err(reason) => fail(&reason),
    })
}

const OPTIONS_FILE: [&str; 4] = ["-optf", "--optf", "-options-file", "--options-file"];

/// More are left to the links, which end at a file that names itself.
const MOST_FILES: usize = 64;

/// The words with those of options files in the place of these, of at most `left` files. What is no file or cannot be read is left
/// to the links.
fn with_files(words: &[OsString], left: &mut usize) -> Vec<OsString> {
    let mut all = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut rest = words.clone();
        let of_files = value(word, &OPTIONS_FILE, &mut rest).and_then(|names| words_of_files(&names, left));
        match of_files {
            Some(of_files) => {
                all.extend(with_files(&of_files, left));
                words = rest;
            }
            None => all.push(word.clone()),
        }
    }
    all
}

/// `None` for names in quotes, and for what is not a regular file: a pipe can be read once, and a device has no end.
fn words_of_files(names: &OsStr, left: &mut usize) -> Option<Vec<OsString>> {
    const QUOTES: [u8; 2] = *b"\"\\";
    let mut all = Vec::new();
    for name in names.as_bytes().split(|&byte| byte == b',') {
        *left = left.checked_sub(1)?;
        let path = Path::new(OsStr::from_bytes(name));
        let is_file = fs::metadata(path).is_ok_and(|found| found.is_file());
        if !is_file || name.iter().any(|byte| QUOTES.contains(byte)) {
            return None;
        }
        // A NUL ends the text.
        let text = fs::read(path).ok()?;
        let words = options::split_words(text.split(|&byte| byte == 0).next()?)?;
        all.extend(words.into_iter().map(OsString::from_vec));
    }
    Some(all)
}

/// The words that are added to every link cannot name several architectures: each link has one.
fn refused_variable() -> Option<Result<Asked, String>> {
    let words = options::split_words(env::var_os(OPTIONS_VARIABLE)?.as_bytes())?;
    let words: Vec<OsString> = words.into_iter().map(OsString::from_vec).collect();
    let refused =
        || format!("{OPTIONS_VARIABLE} cannot name several architectures; name them on the command line");
    Asked::parse(&words).map(|_| Err(refused()))
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
        let (mut dependencies, mut target) = (None, None);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if let Some(value) = value(word, &["-arch", "--arch"], &mut words) {
                if !is_list(&value) {
                    return None;
                }
                archs = Some(value);
            } else if let Some(value) = value(word, &["-o", "--output-file"], &mut words) {
                output = Some(value);
            } else if let Some(value) = value(word, &DEPENDENCY_FILE, &mut words) {
                dependencies = Some(value);
            } else if let Some(value) = value(word, &DEPENDENCY_TARGET, &mut words) {
                target = Some(value);
            } else if let Some((name, value)) =
                ABOUT_LINK.iter().find_map(|name| Some((name, value(word, &[name], &mut words)?)))
            {
                rest.extend([OsString::from(name), with_place(&value)]);
            } else {
                rest.push(word.clone());
            }
        }
        let archs: Vec<String> = archs?.to_string_lossy().split(',').map(str::to_owned).collect();
        Some(Self::check(archs, output, rest).map(|asked| Self { dependencies, target, ..asked }))
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
        Ok(Self { words, archs, output, dependencies: None, target: None })
    }

    fn link(&self) -> Result<u8, String> {
        let output = self.output.as_bytes();
        let is_apart = output.contains_str(PLACE);
        let scratch = if is_apart && self.dependencies.is_none() { None } else { Some(Scratch::new()?) };
        let in_scratch = |end: &str| -> Vec<OsString> {
            let folder =
                scratch.iter().flat_map(|scratch| self.archs.iter().map(move |arch| (scratch, arch)));
            folder.map(|(scratch, arch)| scratch.path.join(format!("{arch}{end}")).into()).collect()
        };
        let rules = if self.dependencies.is_some() { in_scratch(".d") } else { Vec::new() };
        let _rules: Vec<Temporary> = rules.iter().map(|name| Temporary::file(Path::new(name))).collect();
        let code = if is_apart {
            let name = |arch: &String| OsString::from_vec(output.replace(PLACE, arch));
            let names: Vec<OsString> = self.archs.iter().map(name).collect();
            self.link_all(&names, &rules)?
        } else {
            let names = in_scratch("");
            let _files: Vec<Temporary> = names.iter().map(|name| Temporary::file(Path::new(name))).collect();
            let code = self.link_into(&names, &rules)?;
            // A link that is not an error may write nothing, as one of no inputs.
            if code == 0 {
                self.put_together(&names)?;
            }
            code
        };
        if let Some(file) = self.dependencies.as_ref().filter(|_| code == 0) {
            Self::write_rule(file, &rules)?;
        }
        Ok(code)
    }

    /// One rule for make: what the links write, and all that they read.
    fn write_rule(file: &OsStr, rules: &[OsString]) -> Result<(), String> {
        // A link of no inputs has none.
        let texts: Vec<Vec<u8>> = rules.iter().filter_map(|rule| fs::read(rule).ok()).collect();
        if texts.is_empty() {
            return Ok(());
        }
        let text = dependencies::joined(&texts);
        let written = if file == "-" {
            io::stdout().write_all(&text).is_ok()
        } else {
            write_file(Path::new(file), &mut |file| file.write_all(&text)).is_ok()
        };
        let failed = || format!("Could not write output file '{}'", file.to_string_lossy());
        written.then_some(()).ok_or_else(failed)
    }

    /// Links into files of their own. If one link fails, the files of the others go: what is there belongs together.
    fn link_all(&self, names: &[OsString], rules: &[OsString]) -> Result<u8, String> {
        let before: Vec<_> = names.iter().map(|name| identity(Path::new(name))).collect();
        let outcome = self.link_into(names, rules);
        if !matches!(outcome, Ok(0)) {
            for (name, before) in names.iter().zip(before) {
                let now = identity(Path::new(name));
                if now.is_some() && now != before {
                    let _ = fs::remove_file(name);
                }
            }
        }
        outcome
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

    /// Does the links, and prints what they printed; the exit code of the first that failed.
    fn link_into(&self, names: &[OsString], rules: &[OsString]) -> Result<u8, String> {
        signals::explain_panics();
        memory::keep_freed();
        let arena = Arena::shared();
        let shared = Shared::new(&arena);
        let results: Vec<OnceLock<Linked>> = names.iter().map(|_| OnceLock::new()).collect();
        let processors = threads::count(None);
        let next = AtomicUsize::new(0);
        // Links for new architectures take longest, as their code is made anew: they begin first.
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by_key(|index| Reverse(number(&self.archs[*index]).map(|arch| arch.number)));
        let work = || {
            let mut has_pool = false;
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(index) = order.get(at).copied() else { break };
                // The last ones have the processors of those that have ended.
                let threads = processors / (names.len() - at).min(processors);
                let rule = rules.get(index).map(OsString::as_os_str);
                let linked = self.one(index, (&names[index], rule), threads, &shared, &mut has_pool);
                let _ = results[index].set(linked);
            }
        };
        thread::scope(|scope| {
            // This thread is one of them.
            for _ in 1..processors.min(names.len()) {
                start(scope, work);
            }
            work();
        });
        let mut code = 0;
        for result in results {
            let linked = result.into_inner().ok_or("a link was not done")?;
            let (out, err) = linked.console.take();
            let _ = io::stdout().write_all(&out);
            let _ = io::stderr().write_all(&err);
            if code == 0 {
                code = linked.code;
            }
        }
        Ok(code)
    }

    /// One link, on this thread and perhaps on others, and its rule for make. `has_pool` says whether this thread belongs to a pool already.
    fn one(
        &self,
        index: usize,
        (output, rule): (&OsStr, Option<&OsStr>),
        threads: usize,
        shared: &Shared<'_>,
        has_pool: &mut bool,
    ) -> Linked {
        let mut words = vec![OsString::from(format!("-arch={}", self.archs[index]))];
        words.extend_from_slice(&self.words);
        words.extend([OsString::from("-o"), output.into()]);
        if let Some(rule) = rule {
            let is_apart = self.output.as_bytes().contains_str(PLACE);
            let written = if is_apart { output } else { &self.output };
            let target = self.target.as_deref().unwrap_or(written);
            words.extend([
                "--dependency-file".into(),
                rule.into(),
                "--dependency-target".into(),
                target.into(),
            ]);
        }
        let is_asked_for = |word: &OsString| THREADS.iter().any(|option| word.as_bytes().starts_with(option));
        let is_given = self.words.iter().any(is_asked_for);
        if !is_given {
            words.push(format!("--threads={threads}").into());
        }
        let console = Console::in_memory();
        let link = || single::run(OsStr::new(OWN_NAME), words, &console, Some(shared));
        let has_threads = threads > 1 || is_given;
        let code = if has_threads && *has_pool {
            // A thread can belong to the pool of one link only.
            thread::scope(|scope| start(scope, link)?.join().ok())
        } else {
            *has_pool |= has_threads;
            Some(link())
        };
        Linked { code: code.unwrap_or(FAILED), console }
    }
}

/// What tells a regular file from another of the same name, and from itself written anew.
fn identity(path: &Path) -> Option<(u64, u64, i64, i64)> {
    let found = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    Some((found.dev(), found.ino(), found.mtime(), found.mtime_nsec()))
}

/// As much as the first thread of a program has.
const STACK: usize = 8 << 20;

/// Starts a thread for links; `None` where the system starts none.
fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, T>> {
    thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work).ok()
}

/// What a link came to.
struct Linked {
    code: u8,
    console: Console,
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

/// The name of a file that each link writes: with the architecture in it, before the extension if the user did not say where.
fn with_place(name: &OsStr) -> OsString {
    let path = Path::new(name);
    let stem = path.file_stem().filter(|_| name != "-" && !name.as_bytes().contains_str(PLACE));
    let Some(stem) = stem else { return name.into() };
    let mut own = stem.to_owned();
    own.push(".");
    own.push(PLACE);
    if let Some(extension) = path.extension() {
        own.push(".");
        own.push(extension);
    }
    path.with_file_name(own).into()
}

fn number(arch: &str) -> Option<Arch> {
    Arch::parse(arch.strip_prefix("sm_")?)
}

/// A folder for images that become members, removed at the end.
struct Scratch {
    path: PathBuf,
    _guard: Temporary,
}

impl Scratch {
    fn new() -> Result<Self, String> {
        let path = env::temp_dir().join(format!("solder-several-{}", std::process::id()));
        let guard = Temporary::folder(&path);
        fs::create_dir_all(&path).map_err(|error| format!("'{}': {error}", path.display()))?;
        Ok(Self { path, _guard: guard })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
