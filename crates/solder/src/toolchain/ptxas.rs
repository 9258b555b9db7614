//! PTX, assembled by the user's `ptxas` as nvlink's built-in assembler would.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use solder_arch::Suffix;
use solder_cubin::Cubin;
use solder_cubin::edit::with_section;
use solder_cubin::note::{TYPE_TKINFO, notes};

use crate::cache::{Cache, Key};
use crate::diagnostics::{Message, Text};
use crate::options::{FastCompile, Options};
use crate::os::children::{self, Group};
use crate::os::signals::Temporary;
use crate::toolchain::toolkit;

const NAME: &str = "ptxas";

/// The assembler in use, or the places where it was looked for.
#[derive(Clone, Debug)]
pub struct Assembler(Result<PathBuf, Vec<PathBuf>>);

impl Assembler {
    /// Looks beside the name that this program was invoked by (a link in a toolkit counts as that toolkit), then in
    /// the toolkits that the environment names, then in `PATH`.
    pub fn find() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        let invoked = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
        let beside = invoked_from(&invoked, &folders);
        let toolkits = toolkit::VARIABLES.iter().filter_map(std::env::var_os).filter(|root| !root.is_empty());
        let toolkits = toolkits.map(|root| PathBuf::from(root).join("bin"));
        let mut looked = Vec::new();
        for folder in beside.into_iter().chain(toolkits).chain(folders.iter().cloned()) {
            let candidate = folder.join(NAME);
            if candidate.is_file() {
                return Self(Ok(candidate));
            }
            looked.push(candidate);
        }
        Self(Err(looked))
    }
}

/// The folder of the program as it was invoked: a path as given, a bare name as `PATH` finds it.
fn invoked_from(invoked: &Path, folders: &[PathBuf]) -> Option<PathBuf> {
    if invoked.as_os_str().as_bytes().contains(&b'/') {
        return invoked.parent().map(Path::to_path_buf);
    }
    folders.iter().find(|folder| folder.join(invoked).is_file()).cloned()
}

/// One PTX to assemble.
#[derive(Clone, Copy, Debug)]
pub struct Job<'data> {
    pub text: &'data [u8],
    /// The options kept with the PTX; those of the link follow and win.
    pub stored_options: &'data [u8],
    /// For PTX that this link compiled.
    pub compiled: Option<Settings>,
}

/// What is different for PTX that this link compiled.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// It is a whole program.
    pub whole: bool,
    /// In the place of the link's own, which its modules had a say in.
    pub registers: Option<i32>,
    pub split_compile: Option<i32>,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Assembled {
    /// `None` if the assembler refused; then `text` says why.
    pub cubin: Option<Vec<u8>>,
    /// The assembler's own lines.
    pub text: Vec<u8>,
    pub milliseconds: f64,
}

/// The assembler could not be asked.
#[derive(Debug)]
pub enum Failure {
    Missing(Vec<PathBuf>),
    NotRun(PathBuf, io::Error),
}

impl Failure {
    pub fn message(self, file: Text) -> Message {
        match self {
            Self::Missing(places) => {
                let places: Vec<_> =
                    places.into_iter().map(|place| place.into_os_string().into_vec()).collect();
                Message::AssemblerMissing { file, places: places.join(&b", "[..]).into() }
            }
            Self::NotRun(assembler, error) => Message::AssemblerNotRun {
                file,
                assembler: assembler.into(),
                reason: error.to_string().into(),
            },
        }
    }
}

/// The input's name is what nvlink's messages call it; the output's is what the tool note records under `-g`.
const INPUT: &str = "application ptx input";
const OUTPUT: &str = "elf.o";

pub fn assemble(assembler: &Assembler, job: &Job<'_>, options: &Options) -> Result<Assembled, Failure> {
    let program = assembler.0.as_ref().map_err(|looked| Failure::Missing(looked.clone()))?;
    let arguments = arguments(job, options);
    let cache = Cache::of(options);
    let mut key = Key::new(NAME);
    let begun = Instant::now();
    if cache.is_on() {
        key.tool(program);
        key.list(arguments.iter().map(|argument| argument.as_bytes()));
        key.field(job.text);
        if let Some([text, cubin]) = cache.get(&key).and_then(|fields| <[Vec<u8>; 2]>::try_from(fields).ok())
        {
            let milliseconds = begun.elapsed().as_secs_f64() * 1000.0;
            return Ok(Assembled { cubin: Some(cubin), text, milliseconds });
        }
    }
    let not_run = |error| Failure::NotRun(program.clone(), error);
    // The working directory changes, so a relative path must not.
    let absolute = std::path::absolute(program).map_err(not_run)?;
    let folder = Folder::create().map_err(not_run)?;
    let _temporary = [INPUT, OUTPUT].map(|name| Temporary::file(&folder.0.join(name)));
    fs::write(folder.0.join(INPUT), job.text).map_err(not_run)?;
    let mut command = Command::new(&absolute);
    command.args(arguments).args([INPUT, "-o", OUTPUT]).current_dir(&folder.0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = children::start(&mut command, Group::Own).map_err(not_run)?;
    let output = running.wait_with_output().map_err(not_run)?;
    let milliseconds = begun.elapsed().as_secs_f64() * 1000.0;
    let mut text = output.stdout;
    text.extend(output.stderr);
    forget_abort_line(&mut text);
    let mut cubin = None;
    if output.status.success() {
        let bytes = fs::read(folder.0.join(OUTPUT)).map_err(not_run)?;
        let bytes = forget_file_names(&bytes).unwrap_or(bytes);
        if cache.is_on() {
            cache.put(&key, &[&text, &bytes]);
        }
        cubin = Some(bytes);
    }
    Ok(Assembled { cubin, text, milliseconds })
}

/// nvlink's built-in assembler ends at an unsupported version without saying that it does.
fn forget_abort_line(text: &mut Vec<u8>) {
    const ABORT: &[u8] = b"ptxas fatal   : Ptx assembly aborted due to errors\n";
    if text.ends_with(ABORT) && find(text, b"; fatal   : Unsupported .version ").is_some() {
        text.truncate(text.len() - ABORT.len());
    }
}

/// The stored options, then those of the link.
pub fn arguments(job: &Job<'_>, options: &Options) -> Vec<OsString> {
    let blank = |byte: &u8| byte.is_ascii_whitespace();
    let words = |text: &[u8]| -> Vec<OsString> {
        let words = text.split(blank).filter(|word| !word.is_empty());
        words.map(|word| OsStr::from_bytes(word).to_owned()).collect()
    };
    let mut arguments = words(job.stored_options);
    let mut push = |text: String| arguments.push(text.into());
    let arch = options.link_target().arch;
    // The assembler is asked for the plain architecture in the place of a family.
    let suffix = if arch.suffix == Suffix::A { "a" } else { "" };
    push(format!("-arch=sm_{}{suffix}", arch.number));
    push("-m64".into());
    if !job.compiled.is_some_and(|settings| settings.whole) {
        push("-c".into());
    }
    let settings = job.compiled;
    if let Some(count) = settings.map_or(options.maxrregcount, |settings| settings.registers) {
        push(format!("-maxrregcount={count}"));
    }
    if options.debug && !options.suppress_debug_info {
        push("-g".into());
    }
    if let Some(on) = options.device_stack_protector {
        push(format!("-device-stack-protector={on}"));
    }
    if let Some(threads) = settings.map_or(options.split_compile, |settings| settings.split_compile) {
        push(format!("-split-compile={threads}"));
    }
    match options.fast_compile {
        FastCompile::Off => {}
        FastCompile::Min => push("-Ofc=min".into()),
        FastCompile::Mid => push("-Ofc=mid".into()),
        FastCompile::Max => push("-Ofc=max".into()),
    }
    arguments.extend(options.xptxas.iter().flat_map(|element| words(element.as_bytes())));
    arguments
}

/// Under `-g` the assembler records the names of its files, which nvlink's built-in one has none of: they go out of
/// the tool note.
fn forget_file_names(bytes: &[u8]) -> Option<Vec<u8>> {
    let cubin = Cubin::parse(bytes).ok()?;
    let index = cubin.sections.iter().position(|section| section.name == ".note.nv.tkinfo")?;
    let section = &cubin.sections[index];
    let note = notes(section.data).find(|note| note.kind == TYPE_TKINFO)?;
    let prefix = format!("{INPUT} ");
    let recorded_output = format!("-o {OUTPUT} ");
    let at = find(note.desc, prefix.as_bytes())?;
    let end = at + note.desc[at..].iter().position(|&byte| byte == 0)?;
    let line = std::str::from_utf8(&note.desc[at..end]).ok()?;
    let line = line.strip_prefix(&prefix)?.replacen(&recorded_output, "", 1);
    // The command line is the last string, so nothing behind it moves.
    let mut desc = note.desc[..at].to_vec();
    desc.extend(line.as_bytes());
    desc.push(0);
    desc.resize(desc.len().next_multiple_of(4), 0);
    let desc_at = note.desc.as_ptr() as usize - section.data.as_ptr() as usize;
    if section.data.len() != desc_at + note.desc.len() {
        return None;
    }
    let mut contents = section.data[..desc_at].to_vec();
    contents[4..8].copy_from_slice(&(desc.len() as u32).to_le_bytes());
    contents.extend(desc);
    with_section(bytes, index, &contents)
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// A folder for one run of the assembler, removed with all that is in it.
struct Folder(PathBuf, #[allow(dead_code, reason = "it only has to live")] Temporary);

impl Folder {
    fn create() -> io::Result<Self> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        loop {
            let name = format!("solder-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let path = std::env::temp_dir().join(name);
            let temporary = Temporary::folder(&path);
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path, temporary)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is no reason to fail a link that has come this far.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::diagnostics::{Settings as SinkSettings, Sink};
    use crate::options::Values;

    /// A program that says something, writes a file and counts how often it ran.
    const SCRIPT: &str = "#!/bin/sh\ndir=$(dirname \"$0\")\necho run >> \"$dir/count\"\necho said\n\
        for last; do :; done\necho code > \"$last\"\n";

    fn options(folder: &Path, words: &[&str]) -> Options {
        let sink = Sink::in_memory(SinkSettings::default());
        let cache = format!("-cache-dir={}", folder.join("cache").display());
        let words = ["-arch=sm_90", &cache].into_iter().chain(words.iter().copied());
        let words = words.map(|word| word.as_bytes().to_vec()).collect();
        Options::new(Values::parse(words, &sink).expect("good options"), OsStr::new("nvlink"))
    }

    #[test]
    fn what_is_kept_is_not_assembled_again() {
        let folder = Folder::create().expect("a folder");
        let program = folder.0.join(NAME);
        fs::write(&program, SCRIPT).expect("writable");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("ours");
        let assembler = Assembler(Ok(program));
        let job = |text| Job { text, stored_options: &[], compiled: None };
        let run = |text, words: &[&str]| {
            let result = assemble(&assembler, &job(text), &options(&folder.0, words)).expect("it runs");
            let count = fs::read(folder.0.join("count")).expect("counted").len() / "run\n".len();
            (result.cubin, result.text, count)
        };
        let code = Some(b"code\n".to_vec());
        assert_eq!(run(b".version 9.0", &[]), (code.clone(), b"said\n".to_vec(), 1));
        assert_eq!(run(b".version 9.0", &[]), (code.clone(), b"said\n".to_vec(), 1));
        assert_eq!(run(b".version 8.0", &[]).2, 2);
        assert_eq!(run(b".version 9.0", &["-maxrregcount=32"]).2, 3);
        assert_eq!(run(b".version 9.0", &["-maxrregcount=32"]).2, 3);
    }
}
