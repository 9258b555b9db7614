//! Assembles a program, links it with both linkers, and says what differs.

use std::collections::HashSet;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::features;
use super::program::Program;
use super::render::{self, Arch};
use crate::assembler::{Release, lower, raise};
use crate::cache::at;
use crate::conformance::compare::with_barriers_of;
use crate::jit::link::{self, Library, Linked};
use crate::process::{self, Ending};
use crate::toolkit::Toolkit;
use crate::{Result, conformance};
use solder_cubin::Cubin;
use solder_cubin::raw::{STB_LOCAL, STT_FUNC, Symbol};

/// A link of such small programs takes milliseconds; what takes this long hangs.
const LIMIT: Duration = Duration::from_secs(30);

/// What nvlink says of some programs for Blackwell with which nothing is wrong.
const INTERNAL_ERROR: &str = "Internal error: unexpected reloc";
const DELETED_SECTION: &str = "Internal error: reference to deleted section";

/// The construct of static functions that have one name in several modules.
const EQUAL_STATICS: &str = "equal-named-static-functions";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Executable,
    Relocatable,
    /// Executable links of what relocatable links made of some modules, with the rest.
    RelocatableThenLink,
}

pub struct Bench {
    toolkit: PathBuf,
    /// The linker in the place of the toolkit's.
    pub library: Option<Library>,
    /// The release that both linkers are.
    pub version: &'static str,
    /// nvlink prints numbers of barriers that mean nothing.
    prints_stale_barriers: bool,
    /// The newest version of PTX that the toolkit's assembler reads.
    ptx: (u32, u32),
    /// Empty where solder is not the judge.
    solder: PathBuf,
    judge: Judge,
    form: Form,
    /// Options for every link, beside the program's own.
    options: Vec<String>,
    assemblers: Vec<Assembler>,
    /// Options for the assemblers.
    pub assemble: Vec<String>,
}

struct Assembler {
    program: PathBuf,
    /// None for the toolkit's own.
    release: Option<&'static Release>,
}

/// Who says whether a link is right.
pub enum Judge {
    /// solder must do what nvlink does.
    Solder,
    /// Nobody: this only tries the generator.
    Nobody,
    /// A shell command, run beside the files of nvlink's link, must succeed.
    Command(String),
}

/// What came of one program on one architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Both made the same file, or ended with the same messages.
    Same {
        linked: bool,
    },
    Differs(Vec<String>),
    /// The assembler refused a module: the generator is at fault.
    Rejected(String),
    /// nvlink crashed or hung, so there is nothing to compare with.
    NoOracle(String),
}

struct Outcome {
    ending: Ending,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    file: Option<Vec<u8>>,
}

impl Bench {
    pub fn new(
        of: &Toolkit,
        form: Form,
        options: Vec<String>,
        releases: &[Option<&'static Release>],
        judge: Judge,
    ) -> Result<Self> {
        let solder = match judge {
            Judge::Solder => conformance::solder()?,
            Judge::Nobody | Judge::Command(_) => PathBuf::new(),
        };
        let (toolkit, version, ptx) = (of.ensure()?, of.version, of.ptx);
        let prints_stale_barriers = of.release()?.repeats_barriers();
        let mut assemblers = Vec::new();
        for &release in if releases.is_empty() { &[None] } else { releases } {
            let program = match release {
                Some(release) => release.ensure()?,
                None => toolkit.join("bin/ptxas"),
            };
            assemblers.push(Assembler { program, release });
        }
        let assemble = Vec::new();
        Ok(Bench {
            toolkit,
            library: None,
            version,
            prints_stale_barriers,
            ptx,
            solder,
            judge,
            form,
            options,
            assemblers,
            assemble,
        })
    }

    /// Runs one program in `folder`, which afterwards holds every file of the two links.
    pub fn run(&self, program: &Program, arch: Arch, folder: &Path) -> Result<Verdict> {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder).map_err(|e| at(folder, &e))?;
        // Programs are started from inside the folder, where a relative name would mean another file.
        let folder = &fs::canonicalize(folder).map_err(|e| at(folder, &e))?;
        let mut arguments = vec![format!("-arch={}", arch.name)];
        if self.form == Form::Relocatable {
            arguments.push("-r".into());
        }
        arguments.extend(self.options.iter().cloned());
        arguments.extend(program.options.iter().cloned());
        let mut inputs = Vec::new();
        for index in 0..program.modules.len() {
            match self.assemble(program, index, arch, folder)? {
                Ok(name) => inputs.push(name),
                Err(message) => return Ok(Verdict::Rejected(message)),
            }
        }
        let mut script = String::new();
        if self.form == Form::RelocatableThenLink {
            match self.prelink(inputs, arch, folder, &mut script)? {
                Some(prelinked) => inputs = prelinked,
                None => return Ok(Verdict::Same { linked: false }),
            }
        }
        arguments.extend(inputs);
        let _ = writeln!(script, "nvlink {} -o out.cubin", arguments.join(" "));
        let note = folder.join("command");
        fs::write(&note, script).map_err(|e| at(&note, &e))?;

        if let Some(library) = &self.library {
            return self.against(library, &arguments, folder);
        }
        let mut expected = self.link(&self.toolkit.join("bin/nvlink"), &arguments, folder, "nvlink.cubin")?;
        if !matches!(expected.ending, Ending::Exit(_)) {
            return Ok(Verdict::NoOracle(expected.ending.to_string()));
        }
        // An internal error is not behaviour to copy; solder links such programs.
        if says(&expected, INTERNAL_ERROR) {
            return Ok(Verdict::NoOracle(INTERNAL_ERROR.into()));
        }
        let linked = expected.ending == Ending::Exit(0);
        let differences = match &self.judge {
            Judge::Nobody => Vec::new(),
            Judge::Command(text) => ask(text, arch, folder)?,
            Judge::Solder => {
                let linker = named_nvlink(&self.solder, folder)?;
                let got = self.link(&linker, &arguments, folder, "solder.cubin")?;
                if self.prints_stale_barriers {
                    expected.stderr = with_barriers_of(&expected.stderr, &got.stderr);
                }
                compare(&expected, &got)
            }
        };
        let inputs = arguments.iter().map(|argument| folder.join(argument));
        if let Some(why) = deviation(program, arch, &expected, &differences, inputs) {
            return Ok(Verdict::NoOracle(why.into()));
        }
        Ok(verdict(linked, differences))
    }

    /// What the library and solder make of a link.
    fn against(&self, library: &Library, arguments: &[String], folder: &Path) -> Result<Verdict> {
        let expected = match library.link(arguments, folder, LIMIT)? {
            Linked::Done(image) => image,
            Linked::NoOracle(why) => return Ok(Verdict::NoOracle(why)),
        };
        let linker = named_nvlink(&self.solder, folder)?;
        let got = self.link(&linker, arguments, folder, "solder.cubin")?;
        let differences = link::compare(expected.as_deref(), got.file.as_deref());
        Ok(verdict(expected.is_some(), differences))
    }

    /// Lets nvlink make one object of the first half of the modules: in two steps if there are enough of them, and
    /// once more if their number is even. `None` if nvlink refuses them.
    fn prelink(
        &self,
        mut inputs: Vec<String>,
        arch: Arch,
        folder: &Path,
        script: &mut String,
    ) -> Result<Option<Vec<String>>> {
        let again = inputs.len().is_multiple_of(2);
        let rest = inputs.split_off(inputs.len().div_ceil(2));
        let rounds = [inputs.len().min(2), inputs.len(), usize::from(again)];
        for (round, count) in rounds.into_iter().enumerate() {
            let count = count.min(inputs.len());
            if count == 0 || (round == 1 && count == 1) {
                continue;
            }
            let output = format!("r{round}.cubin");
            let mut arguments = vec![format!("-arch={}", arch.name), "-r".into()];
            arguments.extend(inputs.drain(..count));
            let _ = writeln!(script, "nvlink {} -o {output}", arguments.join(" "));
            let made = self.link(&self.toolkit.join("bin/nvlink"), &arguments, folder, &output)?;
            if made.ending != Ending::Exit(0) {
                return Ok(None);
            }
            inputs.insert(0, output);
        }
        inputs.extend(rest);
        Ok(Some(inputs))
    }

    fn assemble(
        &self,
        program: &Program,
        index: usize,
        arch: Arch,
        folder: &Path,
    ) -> Result<std::result::Result<String, String>> {
        let source = format!("m{index}.ptx");
        let object = format!("m{index}.cubin");
        let path = folder.join(&source);
        let Some(assembler) = self.assembler(program, index, arch) else {
            return Ok(Err("no assembler of the list knows the architecture".into()));
        };
        let mut text = render::module(program, index, arch);
        text = lower(&text, assembler.release.map_or(self.ptx, |release| release.ptx));
        if arch.sm == 107 {
            // New in that version.
            text = raise(&text, (9, 4));
        }
        fs::write(&path, text).map_err(|e| at(&path, &e))?;
        let mut ptxas = Command::new(&assembler.program);
        ptxas.current_dir(folder).args(["-c", "-arch", arch.name, &source, "-o", &object]);
        ptxas.args(&self.assemble);
        if program.modules[index].line_info {
            ptxas.arg("-lineinfo");
        }
        let (ending, _, stderr) = process::watch(&mut ptxas, LIMIT)?;
        if ending == Ending::Exit(0) {
            return Ok(Ok(object));
        }
        let text = String::from_utf8_lossy(&stderr);
        Ok(Err(format!("{ending}: {}", text.lines().next().unwrap_or("no message"))))
    }
}

impl Bench {
    fn link(&self, linker: &Path, arguments: &[String], folder: &Path, output: &str) -> Result<Outcome> {
        let mut command = Command::new(linker);
        command.env("SOLDER_AS", self.version).current_dir(folder).args(arguments).args(["-o", output]);
        let (ending, stdout, stderr) = process::watch(&mut command, LIMIT)?;
        let path = folder.join(output);
        for (name, text) in [("stdout", &stdout), ("stderr", &stderr)] {
            let _ = fs::write(path.with_extension(name), text);
        }
        Ok(Outcome { ending, stdout, stderr, file: fs::read(&path).ok() })
    }

    /// The module's choice among the assemblers that know the architecture.
    fn assembler(&self, program: &Program, index: usize, arch: Arch) -> Option<&Assembler> {
        let known = |assembler: &&Assembler| assembler.release.is_none_or(|release| release.knows(arch.name));
        let assemblers: Vec<_> = self.assemblers.iter().filter(known).collect();
        assemblers.get(program.modules[index].assembler % assemblers.len().max(1)).copied()
    }
}

/// Why nvlink's output is no measure for what differs (docs/deviations.md, *Code of sm_100 and later*).
fn deviation(
    program: &Program,
    arch: Arch,
    expected: &Outcome,
    differences: &[String],
    mut inputs: impl Iterator<Item = PathBuf>,
) -> Option<&'static str> {
    if differences.is_empty() {
        return None;
    }
    // Removed static functions of one name, with jump tables: on all architectures.
    if features::of(program).contains(&EQUAL_STATICS) && says(expected, DELETED_SECTION) {
        return Some(DELETED_SECTION);
    }
    if arch.sm < 100 {
        return None;
    }
    if depends_on_memory(program, differences) {
        return Some("tables from nvlink's memory");
    }
    inputs.any(|input| has_equal_statics(&input)).then_some("static functions of one name in one object")
}

/// Whether all that differs are tables of static functions of one name, or of replaced weak copies, which nvlink translates with the
/// code of another, or with what is in its memory (docs/deviations.md, *Code of sm_100 and later*).
fn depends_on_memory(program: &Program, differences: &[String]) -> bool {
    const CONSTRUCTS: [&str; 3] = [EQUAL_STATICS, "weak-functions", "weak-kernels"];
    const TABLES: [&str; 2] = [".nv_debug_info_reg_sass", ".nv.resolvedrela.text."];
    let is_of_table = |line: &String| TABLES.iter().any(|table| line.trim_start().starts_with(table));
    differences.iter().all(is_of_table)
        && features::of(program).iter().any(|feature| CONSTRUCTS.contains(feature))
}

/// Whether an object of a relocatable link has several static functions of one name, with which nvlink makes an image that does not
/// work (docs/deviations.md, *Code of sm_100 and later*).
fn has_equal_statics(input: &Path) -> bool {
    let bytes = fs::read(input).unwrap_or_default();
    let Ok(cubin) = Cubin::parse(&bytes) else { return false };
    let is_static = |symbol: &&Symbol| symbol.kind() == STT_FUNC && symbol.bind() == STB_LOCAL;
    let mut names = HashSet::new();
    !cubin.symbols.iter().filter(is_static).all(|symbol| names.insert(cubin.strings.at(symbol.name.get())))
}

fn says(outcome: &Outcome, text: &str) -> bool {
    String::from_utf8_lossy(&outcome.stderr).contains(text)
}

fn verdict(linked: bool, differences: Vec<String>) -> Verdict {
    if differences.is_empty() { Verdict::Same { linked } } else { Verdict::Differs(differences) }
}

/// Runs a judge of the user's own; what it prints says what is wrong.
fn ask(text: &str, arch: Arch, folder: &Path) -> Result<Vec<String>> {
    let mut shell = Command::new("sh");
    shell.current_dir(folder).env("ARCH", arch.name).args(["-c", text]);
    let (ending, stdout, _) = process::watch(&mut shell, LIMIT)?;
    if ending == Ending::Exit(0) {
        return Ok(Vec::new());
    }
    let lines: Vec<_> = String::from_utf8_lossy(&stdout).lines().map(String::from).collect();
    Ok(if lines.is_empty() { vec![ending.to_string()] } else { lines })
}

/// Messages begin with the name of the program, so solder must be called nvlink here.
fn named_nvlink(solder: &Path, folder: &Path) -> Result<PathBuf> {
    let link = folder.join("nvlink");
    if link.symlink_metadata().is_err() {
        symlink(solder, &link).map_err(|e| at(&link, &e))?;
    }
    Ok(link)
}

/// One line per difference, what explains the most first.
fn compare(expected: &Outcome, got: &Outcome) -> Vec<String> {
    let mut found = Vec::new();
    if expected.ending != got.ending {
        found.push(format!("nvlink ended with {}, solder with {}", expected.ending, got.ending));
    }
    let streams = [("stdout", &expected.stdout, &got.stdout), ("stderr", &expected.stderr, &got.stderr)];
    for (name, expected, got) in streams {
        if expected != got {
            found.push(first_unequal_line(name, expected, got));
        }
    }
    match (&expected.file, &got.file) {
        (Some(expected), Some(got)) => {
            let options = cubin_diff::Options { ignore_tkinfo: true };
            let differences = cubin_diff::diff(expected, got, &options);
            found.extend(differences.iter().map(ToString::to_string));
        }
        (None, None) => {}
        (Some(_), None) => found.push("solder made no file".into()),
        (None, Some(_)) => found.push("solder made a file, nvlink did not".into()),
    }
    found
}

fn first_unequal_line(stream: &str, expected: &[u8], got: &[u8]) -> String {
    let (expected, got) = (String::from_utf8_lossy(expected), String::from_utf8_lossy(got));
    let (mut left, mut right) = (expected.lines(), got.lines());
    loop {
        match (left.next(), right.next()) {
            (Some(a), Some(b)) if a == b => {}
            (None, None) => return format!("{stream}: line ends differ"),
            (a, b) => {
                let show = |line: Option<&str>| line.unwrap_or("(nothing)").to_string();
                return format!("{stream}: nvlink says '{}', solder '{}'", show(a), show(b));
            }
        }
    }
}
