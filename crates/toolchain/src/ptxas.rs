//! PTX, assembled by the user's `ptxas` as nvlink's built-in assembler would.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use bstr::ByteSlice;
use solder_arch::Arch;
use solder_cubin::Cubin;
use solder_cubin::edit::with_section;
use solder_cubin::note::{TYPE_TKINFO, ToolInfo, notes, write_note};
use solder_cubin::raw::Symbol;

use crate::{Guard, Key, Toolchain};

const NAME: &str = "ptxas";

/// One PTX to assemble.
#[derive(Clone, Copy, Debug)]
pub struct Ptx<'data> {
    /// The text.
    pub text: &'data [u8],
    /// The options kept with the PTX in a fat binary; `None` for PTX from elsewhere. Those of the flags follow them and win.
    pub stored_options: Option<&'data [u8]>,
}

/// How much of the assembler's work is left out (`-Ofc`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FastCompile {
    /// Nothing.
    #[default]
    Off,
    /// A little.
    Min,
    /// More.
    Mid,
    /// As much as possible.
    Max,
}

/// How PTX is assembled.
#[derive(Clone, Debug)]
pub struct Flags {
    /// The architecture of the code.
    pub arch: Arch,
    /// The PTX is a whole program, and its code is not linked any further.
    pub whole: bool,
    /// `-maxrregcount`.
    pub registers: Option<i32>,
    /// `-g`.
    pub debug: bool,
    /// `-v2`.
    pub verbose2: bool,
    /// `-device-stack-protector`.
    pub stack_protector: Option<bool>,
    /// `-split-compile`: the number of threads.
    pub split_compile: Option<i32>,
    /// Threads that the assembler may use for a whole program without being told so by `-split-compile`. The functions are the
    /// same then; where symbols and sections may be in another order than with one thread, one does it again.
    pub threads: usize,
    /// They are used for text of at least so many bytes.
    pub least_text: usize,
    /// The most memory that several threads may need; `None` if that is not known.
    pub memory: Option<u64>,
    /// `-Ofc`.
    pub fast_compile: FastCompile,
    /// Other options, each to be split at blanks.
    pub extra: Vec<OsString>,
}

impl Flags {
    /// Nothing but the architecture.
    pub fn new(arch: Arch) -> Self {
        Self {
            arch,
            whole: false,
            registers: None,
            debug: false,
            verbose2: false,
            stack_protector: None,
            split_compile: None,
            threads: 1,
            least_text: 0,
            memory: None,
            fast_compile: FastCompile::Off,
            extra: Vec::new(),
        }
    }

    /// The assembler's words for a PTX in nvlink's order, which matters where an option is given twice, or without its value. The
    /// architecture comes first, so that other options may name another one. The options kept with a PTX are next; those of the
    /// link line that have a name of their own come after all others (`ptx/assembler-options`).
    pub fn arguments(&self, ptx: &Ptx<'_>) -> Vec<OsString> {
        let mut list: Vec<OsString> = vec![format!("-arch=sm_{}", self.arch).into()];
        if let Some(stored) = ptx.stored_options {
            list.extend(self.kind_of_code(false));
            list.extend(words(stored));
            list.extend((!self.whole).then(|| "-c".into()));
        }
        list.extend(self.extra.iter().flat_map(|element| words(element.as_bytes())));
        list.extend(self.named());
        if ptx.stored_options.is_none() {
            list.extend(self.kind_of_code(!self.whole));
        }
        list
    }

    /// What the options of the link line say that have a name of their own.
    fn named(&self) -> impl Iterator<Item = OsString> {
        // No limit, as nvlink has it (`ptx/register-limit`).
        let registers = self.registers.filter(|count| *count > 0);
        let level = match self.fast_compile {
            FastCompile::Off => None,
            FastCompile::Min => Some("min"),
            FastCompile::Mid => Some("mid"),
            FastCompile::Max => Some("max"),
        };
        let words = [
            self.verbose2.then(|| "-v2".to_owned()),
            registers.map(|count| format!("-maxrregcount={count}")),
            level.map(|level| format!("--Ofast-compile={level}")),
            self.stack_protector.map(|on| format!("--device-stack-protector={on}")),
            self.split_compile.map(|threads| format!("{SPLIT}={threads}")),
        ];
        words.into_iter().flatten().map(OsString::from)
    }

    /// What kind of code is made.
    fn kind_of_code(&self, to_link: bool) -> impl Iterator<Item = OsString> {
        let words = [(to_link, "-c"), (self.debug, "-g"), (true, "-m64")];
        words.into_iter().filter(|(on, _)| *on).map(|(_, word)| word.into())
    }

    /// Whether the assembler gets one of some words for a PTX.
    pub fn has_word(&self, ptx: &Ptx<'_>, any: &[&str]) -> bool {
        self.arguments(ptx).iter().any(|word| any.iter().any(|wanted| word == wanted))
    }

    /// The number of threads that the assembler is given beside its arguments. Code that is to be linked further is assembled
    /// by one: with several it is another.
    fn own_threads(&self, ptx: &Ptx<'_>, arguments: &[OsString]) -> Option<usize> {
        /// 200 kernels take a seventh less time with 16 threads than with 8; more were not tried.
        const MOST: usize = 16;
        let is_told = |word: &OsString| word.as_bytes().contains_str("split-compile");
        let needed = ptx.text.len() as u64 * MEMORY_FOR_TEXT;
        // What would be in another order is not begun.
        let has_late = || LATE_IN_TEXT.iter().any(|late| ptx.text.contains_str(late));
        let is_large = ptx.text.len() >= self.least_text;
        let is_possible = self.whole && is_large && !arguments.iter().any(is_told) && !has_late();
        let threads = Some(self.threads.min(MOST)).filter(|threads| *threads > 1 && is_possible);
        threads.filter(|_| self.memory.is_none_or(|memory| needed <= memory))
    }
}

fn words(text: &[u8]) -> impl Iterator<Item = OsString> {
    let words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.map(|word| OsStr::from_bytes(word).to_owned())
}

/// What came of an assembly.
#[derive(Clone, Debug)]
pub struct Assembled {
    /// `None` if the assembler refused; then `text` says why.
    pub cubin: Option<Vec<u8>>,
    /// It was asked about itself (`-V`, `-h`): it made nothing, and `text` is the answer.
    pub is_answer: bool,
    /// The assembler's own lines.
    pub text: Vec<u8>,
    /// How long it took.
    pub milliseconds: f64,
    /// Whether it came from the cache.
    pub is_kept: bool,
}

/// The assembler could not be asked.
#[derive(Debug)]
pub enum AssembleError {
    /// There is none in any of these places.
    Missing {
        /// The files that were looked for.
        looked: Vec<PathBuf>,
    },
    /// It could not be run, or its files could not be written or read.
    NotRun {
        /// The program.
        program: PathBuf,
        /// Why not.
        reason: io::Error,
    },
}

impl fmt::Display for AssembleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { looked } => {
                let looked: Vec<_> = looked.iter().map(|place| place.display().to_string()).collect();
                write!(f, "{NAME} not found; looked for {}", looked.join(", "))
            }
            Self::NotRun { program, reason } => write!(f, "{} could not be run: {reason}", program.display()),
        }
    }
}

impl std::error::Error for AssembleError {}

/// The assembler in use.
#[derive(Debug)]
pub struct Assembler<'a> {
    toolchain: &'a Toolchain<'a>,
    /// The program, or the places where it was looked for.
    program: Result<PathBuf, Vec<PathBuf>>,
    /// The number of the next temporary folder.
    next: AtomicUsize,
}

impl Toolchain<'_> {
    /// Looks for the assembler beside the name that the program was invoked by (a link in a toolkit is taken for that
    /// toolkit), in the toolkit of the compiler library that the user named, then in the toolkits that the environment names, then in `PATH`. That there is none is an error of the
    /// first assembly.
    pub fn assembler(&self) -> Assembler<'_> {
        Assembler { toolchain: self, program: self.environment.find_tool(NAME), next: AtomicUsize::new(0) }
    }
}

/// The input's name is what nvlink's messages call it; the output's is what the tool note records under `-g`.
const INPUT: &str = "application ptx input";
const OUTPUT: &str = "elf.o";

const SPLIT: &str = "-split-compile";

/// Shared memory, functions of the driver and tables of jumps: with these the order of symbols and sections depends on the number of
/// threads (`is_in_order`).
const LATE_IN_TEXT: [&str; 3] = [".shared ", ".extern .func", ".branchtargets"];

/// The bytes of memory that the assembler needs for a byte of text when its work is split.
const MEMORY_FOR_TEXT: u64 = 80;

impl Assembler<'_> {
    /// The program, or the places where it was looked for.
    pub fn program(&self) -> Result<&Path, &[PathBuf]> {
        self.program.as_deref().map_err(Vec::as_slice)
    }

    /// Assembles one PTX, or takes the result of an earlier assembly from the cache. Several threads may ask at a time.
    pub fn assemble(&self, ptx: &Ptx<'_>, flags: &Flags) -> Result<Assembled, AssembleError> {
        let arguments = flags.arguments(ptx);
        self.assemble_in_threads(ptx, &arguments, flags.own_threads(ptx, &arguments))
    }

    /// The same with the assembler's own words, which the tool note of the code records. The options that were kept with the
    /// PTX are not added to them.
    pub fn assemble_with(&self, ptx: &Ptx<'_>, arguments: &[OsString]) -> Result<Assembled, AssembleError> {
        self.assemble_in_threads(ptx, arguments, None)
    }

    /// The same in several threads. The tool note says nothing of them. Where one thread may have made the code with symbols or
    /// sections in another order, it is made again by one.
    fn assemble_in_threads(
        &self,
        ptx: &Ptx<'_>,
        arguments: &[OsString],
        threads: Option<usize>,
    ) -> Result<Assembled, AssembleError> {
        let missing = |looked: &Vec<PathBuf>| AssembleError::Missing { looked: looked.clone() };
        let program = self.program.as_ref().map_err(missing)?;
        let cache = &self.toolchain.cache;
        let begun = Instant::now();
        let milliseconds = || begun.elapsed().as_secs_f64() * 1000.0;
        let files = named_files(arguments);
        // What is in these is not in the key.
        let is_cached = cache.is_on() && files.is_empty();
        let key = is_cached.then(|| key(cache.key(NAME, program), arguments, ptx));
        let kept = key.as_ref().and_then(|key| <[Vec<u8>; 2]>::try_from(cache.get(key)?).ok());
        if let Some([text, cubin]) = kept {
            let milliseconds = milliseconds();
            return Ok(Assembled { cubin: Some(cubin), is_answer: false, text, milliseconds, is_kept: true });
        }
        let not_run = |reason| AssembleError::NotRun { program: program.clone(), reason };
        // The working directory changes, so a relative path must not.
        let absolute = std::path::absolute(program).map_err(not_run)?;
        let folder = self.folder().map_err(not_run)?;
        files.iter().try_for_each(|file| link_into(&folder.path, file)).map_err(not_run)?;
        let run = |threads: Option<usize>| {
            let threads = threads.map(|threads| OsString::from(format!("{SPLIT}={threads}")));
            let arguments: Vec<&OsStr> = arguments.iter().chain(&threads).map(OsString::as_os_str).collect();
            let output = self.run(&absolute, &arguments, ptx, &folder)?;
            let bytes =
                if output.status.success() { made(&output, &folder.path.join(OUTPUT))? } else { None };
            io::Result::Ok((output, bytes))
        };
        let is_in_order = |made: &(Output, Option<Vec<u8>>)| made.1.as_deref().is_some_and(is_in_order);
        let made =
            threads.map(|threads| run(Some(threads))).transpose().map_err(not_run)?.filter(is_in_order);
        let is_split = made.is_some();
        let (output, bytes) = made.map_or_else(|| run(None), Ok).map_err(not_run)?;
        let milliseconds = milliseconds();
        let mut text = output.stdout;
        text.extend(output.stderr);
        forget_abort_line(&mut text);
        let Some(bytes) = bytes else {
            let is_answer = output.status.success();
            return Ok(Assembled { cubin: None, is_answer, text, milliseconds, is_kept: false });
        };
        let cubin = without_own_words(&bytes, is_split).unwrap_or(bytes);
        if let Some(key) = &key {
            cache.put(key, &[&text, &cubin]);
        }
        Ok(Assembled { cubin: Some(cubin), is_answer: false, text, milliseconds, is_kept: false })
    }

    fn run(
        &self,
        program: &Path,
        arguments: &[&OsStr],
        ptx: &Ptx<'_>,
        folder: &Folder,
    ) -> io::Result<Output> {
        fs::write(folder.path.join(INPUT), ptx.text)?;
        let mut command = Command::new(program);
        command.args(arguments).args([INPUT, "-o", OUTPUT]).current_dir(&folder.path);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.toolchain.supervisor.run(&mut command)
    }

    /// A folder for one run.
    fn folder(&self) -> io::Result<Folder> {
        let supervisor = self.toolchain.supervisor;
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let name = format!("solder-{}-{number}", std::process::id());
            let path = self.toolchain.environment.temporary.join(name);
            let guard = supervisor.temporary_folder(&path);
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    let files = [INPUT, OUTPUT].map(|name| supervisor.temporary_file(&path.join(name)));
                    return Ok(Folder { path, _files: files, _guard: guard });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// What the assembler made, if anything: asked about itself, it answers and succeeds without.
fn made(output: &Output, file: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !output.stdout.is_empty() => Ok(None),
        read => read.map(Some),
    }
}

fn key(mut key: Key, arguments: &[OsString], ptx: &Ptx<'_>) -> Key {
    key.list(arguments.iter().map(|argument| argument.as_bytes()));
    key.field(ptx.text);
    key
}

/// The files that words of the assembler name, such as those of `-optf FILE,…`.
fn named_files(arguments: &[OsString]) -> Vec<PathBuf> {
    let words = arguments.iter().map(|word| word.as_bytes());
    let values = words.filter_map(|word| {
        if word.starts_with(b"-") { word.split_once_str("=").map(|(_, value)| value) } else { Some(word) }
    });
    let names = values.flat_map(|value| value.split_str(",")).filter(|name| !name.is_empty());
    names.map(|name| PathBuf::from(OsStr::from_bytes(name))).filter(|path| path.is_file()).collect()
}

/// Has a file that is named from the working directory found in a folder by the same name (ptx/options-file).
fn link_into(folder: &Path, file: &Path) -> io::Result<()> {
    let is_below = file.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let file: PathBuf = file.components().filter(|part| matches!(part, Component::Normal(_))).collect();
    if !is_below || [INPUT, OUTPUT].iter().any(|name| file == Path::new(name)) {
        return Ok(());
    }
    let (target, place) = (std::path::absolute(&file)?, folder.join(&file));
    place.parent().map_or(Ok(()), fs::create_dir_all)?;
    match std::os::unix::fs::symlink(target, place) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// A folder for one run of the assembler, removed with all that is in it.
struct Folder {
    path: PathBuf,
    _files: [Guard; 2],
    _guard: Guard,
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is not a reason to fail after all went well.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// nvlink's built-in assembler ends at an unsupported version without saying that it does.
fn forget_abort_line(text: &mut Vec<u8>) {
    const ABORT: &[u8] = b"ptxas fatal   : Ptx assembly aborted due to errors\n";
    if text.ends_with(ABORT) && text.contains_str("; fatal   : Unsupported .version ") {
        text.truncate(text.len() - ABORT.len());
    }
}

/// The same code without the words in its tool note that nvlink's built-in assembler does not get: under `-g` the names of
/// the files, and the number of threads if that was not asked for. `None` if there are none.
fn without_own_words(cubin: &[u8], is_split: bool) -> Option<Vec<u8>> {
    with_notes(cubin, |info, desc| {
        let mut line = info.command_line.replacen(format!("{INPUT} "), "", 1);
        if line.len() < info.command_line.len() {
            line = line.replacen(format!("-o {OUTPUT} "), "", 1);
        }
        let at = line.find(format!("{SPLIT} ")).filter(|_| is_split);
        if let Some(at) = at {
            let number = at + SPLIT.len() + 1;
            let end = line[number..].find_byte(b' ').map_or(line.len(), |length| number + length + 1);
            line.drain(at..end);
        }
        // The command line is the last string, so nothing after it moves. Under `-g` the others have another form.
        let old: Vec<u8> = info.command_line.iter().copied().chain([0]).collect();
        let at = desc.rfind(&old).filter(|_| line != **info.command_line)?;
        let mut changed: Vec<u8> = desc[..at].iter().chain(&line).copied().chain([0]).collect();
        changed.resize(changed.len().next_multiple_of(4), 0);
        Some(changed)
    })
}

/// Whether code that several threads made is in the order of one thread. That one makes some symbols, and tables of constants with
/// addresses, when a function first needs them; several make them before all functions.
fn is_in_order(cubin: &[u8]) -> bool {
    const CONSTANTS: &[u8] = b".rela.nv.constant2.";
    /// What comes with the first function, whoever makes it.
    const FIRST: &[u8] = b".nv.reservedSmem.offset0";
    const LATE: &[u8] = b".nv.reservedSmem.cap";
    let Ok(cubin) = Cubin::parse(cubin) else { return false };
    let is_late = |symbol: &Symbol| {
        let Some(name) = cubin.strings.at(symbol.name.get()) else { return true };
        name == LATE || !symbol.is_defined() && name != FIRST
    };
    !cubin.sections.iter().any(|section| section.name.starts_with(CONSTANTS))
        && !cubin.symbols.iter().skip(1).any(is_late)
}

/// The same code with other tool notes; `None` if none changes.
fn with_notes(cubin: &[u8], change: impl Fn(ToolInfo<'_>, &[u8]) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let parsed = Cubin::parse(cubin).ok()?;
    let index = parsed.sections.iter().position(|section| section.name == ".note.nv.tkinfo")?;
    let mut is_changed = false;
    let mut contents = Vec::new();
    for note in notes(parsed.sections[index].data) {
        let info = ToolInfo::parse(note.desc).filter(|_| note.kind == TYPE_TKINFO);
        let changed = info.and_then(|info| change(info, note.desc));
        is_changed |= changed.is_some();
        write_note(&mut contents, note.kind, changed.as_deref().unwrap_or(note.desc));
    }
    is_changed.then(|| with_section(cubin, index, &contents))?
}

/// The same code with another text in the place of the assembler's build in its tool note: that of an assembler that is built
/// into a library says something else, and is not as long.
pub fn with_build(cubin: &[u8], build: &str) -> Option<Vec<u8>> {
    with_notes(cubin, |info, _| Some(ToolInfo { build: build.into(), ..info }.descriptor()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

    use solder_arch::{Release, Suffix};

    use super::*;
    use crate::Environment;
    use crate::{Cache, Supervisor, Unsupervised};

    /// A program that says something, writes a file and counts how often it ran.
    const SCRIPT: &str = "#!/bin/sh\ndir=$(dirname \"$0\")\necho run >> \"$dir/count\"\necho said\n\
        for last; do :; done\necho code > \"$last\"\n";

    /// A folder that is removed at the end of a test.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("solder-ptxas-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).expect("a folder");
            Self(path)
        }

        /// Makes a script the assembler. No other test may start a program while it is written: that one would inherit
        /// the open file, and a file that is open for writing cannot be run.
        fn install(&self, script: &str) -> MutexGuard<'static, ()> {
            static ALONE: Mutex<()> = Mutex::new(());
            let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
            let program = self.0.join(NAME);
            fs::write(&program, script).expect("writable");
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("ours");
            alone
        }

        fn toolchain(&self, caches: bool) -> Toolchain<'static> {
            let environment = Environment {
                invoked_as: self.0.join("nvlink"),
                temporary: self.0.clone(),
                ..Environment::default()
            };
            let cache = Cache::new(caches.then(|| self.0.join("cache")), &Unsupervised);
            Toolchain { environment, release: Release::CUDA_13_0, cache, supervisor: &Unsupervised }
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn ptx(text: &[u8]) -> Ptx<'_> {
        Ptx { text, stored_options: None }
    }

    #[test]
    fn what_is_kept_is_not_assembled_again() {
        let scratch = Scratch::new("kept");
        let _alone = scratch.install(SCRIPT);
        let toolchain = scratch.toolchain(true);
        let run = |text, registers| {
            let flags = Flags { registers, ..Flags::new(Arch::plain(90)) };
            let result = toolchain.assembler().assemble(&ptx(text), &flags).expect("it runs");
            let count = fs::read(scratch.0.join("count")).expect("counted").len() / "run\n".len();
            (result.cubin, result.text, count)
        };
        let code = Some(b"code\n".to_vec());
        assert_eq!(run(b".version 9.0", None), (code.clone(), b"said\n".to_vec(), 1));
        assert_eq!(run(b".version 9.0", None), (code.clone(), b"said\n".to_vec(), 1));
        assert_eq!(run(b".version 8.0", None).2, 2);
        assert_eq!(run(b".version 9.0", Some(32)).2, 3);
        assert_eq!(run(b".version 9.0", Some(32)).2, 3);
        let left = fs::read_dir(&scratch.0).expect("readable").flatten();
        let left = left.filter(|entry| entry.file_name().as_bytes().starts_with(b"solder-")).count();
        assert_eq!(left, 0, "no folder of a run remains");
    }

    /// Remembers what is to be looked after, and how much of it still is when a program runs.
    #[derive(Debug, Default)]
    struct Recorder {
        files: Mutex<Vec<PathBuf>>,
        alive: Arc<()>,
        alive_in_run: AtomicUsize,
    }

    impl Recorder {
        fn guard(&self, path: &Path) -> Guard {
            self.files.lock().expect("whole").push(path.to_path_buf());
            Guard::new(Arc::clone(&self.alive))
        }
    }

    impl Supervisor for Recorder {
        fn run(&self, command: &mut Command) -> io::Result<Output> {
            self.alive_in_run.store(Arc::strong_count(&self.alive) - 1, Ordering::Relaxed);
            Unsupervised.run(command)
        }

        fn temporary_file(&self, path: &Path) -> Guard {
            self.guard(path)
        }

        fn temporary_folder(&self, path: &Path) -> Guard {
            self.guard(path)
        }
    }

    #[test]
    fn the_supervisor_knows_of_all_that_is_temporary() {
        let scratch = Scratch::new("supervised");
        let _alone = scratch.install(SCRIPT);
        let recorder = Recorder::default();
        let toolchain = Toolchain { supervisor: &recorder, ..scratch.toolchain(false) };
        let assembled = toolchain.assembler().assemble(&ptx(b""), &Flags::new(Arch::plain(90)));
        assert!(assembled.expect("it runs").cubin.is_some());
        let folder = scratch.0.join(format!("solder-{}-0", std::process::id()));
        let files = [folder.clone(), folder.join(INPUT), folder.join(OUTPUT)];
        assert_eq!(*recorder.files.lock().expect("whole"), files);
        assert_eq!(recorder.alive_in_run.load(Ordering::Relaxed), files.len());
        assert_eq!(Arc::strong_count(&recorder.alive), 1, "and of nothing more in the end");
    }

    #[test]
    fn a_missing_assembler_is_said_with_the_places() {
        let scratch = Scratch::new("missing");
        let toolchain = scratch.toolchain(false);
        let result = toolchain.assembler().assemble(&ptx(b""), &Flags::new(Arch::plain(90)));
        match result {
            Err(AssembleError::Missing { looked }) => assert_eq!(looked, [scratch.0.join(NAME)]),
            other => panic!("{other:?}"),
        }
    }

    /// Code in which all is defined, and code that refers to other code.
    const WHOLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/whole.sm_90.cubin");
    const REFERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzzing/corpus/caller.sm_90.cubin");

    /// The words that the assembler is started with, once or twice, if it makes this code of text of so many bytes.
    fn said(scratch: &Scratch, made: &str, length: usize, flags: &Flags) -> Vec<String> {
        let log = scratch.0.join("said");
        let _ = fs::remove_file(&log);
        let script = format!(
            "#!/bin/sh\necho \"$@\" >> {}\nfor last; do :; done\ncp {made} \"$last\"\n",
            log.display()
        );
        let _alone = scratch.install(&script);
        let text = vec![b' '; length];
        let result = scratch.toolchain(false).assembler().assemble(&ptx(&text), flags).expect("it runs");
        assert!(result.cubin.is_some());
        let said = fs::read_to_string(&log).expect("it ran");
        let words = |line: &str| line.split_once(" application").expect("a name").0.to_string();
        said.lines().map(words).collect()
    }

    #[test]
    fn threads_of_its_own() {
        let scratch = Scratch::new("threads");
        let said = |length: usize, flags: &Flags| said(&scratch, WHOLE, length, flags).join(", ");
        let plain = "-arch=sm_90 -m64";
        let flags = Flags { whole: true, threads: 32, memory: Some(1 << 30), ..Flags::new(Arch::plain(90)) };
        let (small, huge) = (1000, 1 << 24);
        assert_eq!(said(small, &flags), format!("{plain} -split-compile=16"));
        assert_eq!(said(huge, &flags), plain, "it would need too much memory");
        assert_eq!(said(small, &Flags { threads: 1, ..flags.clone() }), plain);
        assert_eq!(said(small, &Flags { least_text: 1001, ..flags.clone() }), plain);
        assert_eq!(said(small, &Flags { whole: false, ..flags.clone() }), "-arch=sm_90 -c -m64");
        let told = Flags { split_compile: Some(3), ..flags };
        assert_eq!(said(small, &told), "-arch=sm_90 -split-compile=3 -m64");
    }

    #[test]
    fn what_would_be_in_another_order_is_not_begun() {
        let flags = Flags { whole: true, threads: 2, ..Flags::new(Arch::plain(90)) };
        let threads = |text: &[u8]| flags.own_threads(&ptx(text), &[]);
        assert_eq!(threads(b".visible .entry k()"), Some(2));
        assert_eq!(threads(b"\t.shared .align 4 .b8 s[64];"), None);
        assert_eq!(threads(b".extern .func  (.param .b32 func_retval0) vprintf"), None);
    }

    #[test]
    fn another_order_is_made_again_by_one_thread() {
        let scratch = Scratch::new("order");
        let flags = Flags { whole: true, threads: 2, ..Flags::new(Arch::plain(90)) };
        let plain = "-arch=sm_90 -m64";
        assert_eq!(said(&scratch, REFERS, 10, &flags), [&format!("{plain} -split-compile=2"), plain]);
    }

    #[test]
    fn words_are_in_the_order_of_nvlink() {
        let flags = Flags {
            debug: true,
            fast_compile: FastCompile::Mid,
            stack_protector: Some(false),
            split_compile: Some(2),
            extra: vec!["-a -b".into(), "-c".into()],
            ..Flags::new(Arch::new(100, Suffix::F))
        };
        let ptx = Ptx { text: b"", stored_options: Some(b"  -O1 -v") };
        let words = flags.arguments(&ptx);
        let expected = "-arch=sm_100f -g -m64 -O1 -v -c -a -b -c --Ofast-compile=mid --device-stack-protector=false -split-compile=2";
        assert_eq!(words.join(OsStr::new(" ")), expected);
        assert_eq!(
            Flags::new(Arch::new(90, Suffix::A)).arguments(&self::ptx(b"")),
            ["-arch=sm_90a", "-c", "-m64"]
        );
    }
}
