//! `cargo xtask bench`: times nvlink and solder on generated workloads, in turn, and compares what they make.

// Sizes and kibibytes are far below the 2^52 that a float holds exactly.
#![allow(clippy::cast_precision_loss)]

pub(crate) mod figures;
pub(crate) mod inputs;
mod maker;
pub mod measure;
mod plot;
pub(crate) mod report;
mod sources;
pub(crate) mod template;
pub(crate) mod workloads;

use crate::cache::at;
use crate::nvjitlink::library;
use crate::process::Ending;
use crate::{Result, cache, conformance, toolkit};
use figures::{Figures, Row, exponent};
use inputs::Inputs;
use measure::Program;
use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use workloads::{WORKLOADS, Workload};

const USAGE: &str = "\
usage: cargo xtask bench [OPTIONS]

  --only LIST     these workloads; lto* selects every workload whose name begins with lto
  --sizes LIST    these sizes instead of every workload's own
  --runs N        runs of each program (10; 3 where one takes more than 5 s, 1 where it takes more than 30 s)
  --json FILE     write the figures to FILE as well
  --docs          write docs/performance.md and docs/performance.svg
  --page LIST     write them from the figures that earlier runs wrote to these files, and run nothing
  --solder-only   do not run nvlink, and compare nothing
  --list          list the workloads

Inputs are made once and kept in the user's cache folder. SOLDER_BIN names the binary to time; without it a
release build is made.";

/// Runs of a program that takes longer than `LONG`.
const FEW: usize = 3;
const LONG: Duration = Duration::from_secs(5);
/// The same where two sizes are run in turn.
const LONG_IN_TURN: Duration = Duration::from_secs(1);
/// What takes this long is run once.
const TOO_LONG: Duration = Duration::from_secs(30);

struct Settings {
    only: Vec<String>,
    sizes: Vec<usize>,
    runs: usize,
    json: Option<PathBuf>,
    docs: bool,
    alone: bool,
}

pub fn run(args: &[String]) -> Result<u8> {
    let mut settings =
        Settings { only: Vec::new(), sizes: Vec::new(), runs: 10, json: None, docs: false, alone: false };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().cloned().ok_or_else(|| format!("bench: {word} needs a value"));
        match word.as_str() {
            "--only" => settings.only.extend(value()?.split(',').map(String::from)),
            "--sizes" => {
                for size in value()?.split(',') {
                    settings.sizes.push(number(size)?);
                }
            }
            "--runs" => settings.runs = number(&value()?)?.max(1),
            "--json" => settings.json = Some(value()?.into()),
            "--docs" => settings.docs = true,
            "--page" => {
                let mut rows = Vec::new();
                for file in value()?.split(',') {
                    let text = fs::read_to_string(file).map_err(|e| at(Path::new(file), &e))?;
                    rows.extend(report::from_json(&text));
                }
                rows.sort_by_key(|row| {
                    (WORKLOADS.iter().position(|w| w.name == row.workload.name), row.size)
                });
                write_docs(&rows)?;
                return Ok(0);
            }
            "--solder-only" => settings.alone = true,
            "--list" => {
                list();
                return Ok(0);
            }
            "-h" | "--help" => {
                println!("{USAGE}");
                return Ok(0);
            }
            other => return Err(format!("bench: unexpected argument '{other}'\n\n{USAGE}")),
        }
    }
    if let Some(unknown) = settings.only.iter().find(|name| !WORKLOADS.iter().any(|w| is_meant(name, w))) {
        return Err(format!("bench: no workload '{unknown}'; --list shows them"));
    }
    let bench = Bench::new(settings.runs)?;
    let rows = bench.all(&settings)?;
    if let Some(path) = &settings.json {
        fs::write(path, report::json(&rows)).map_err(|e| at(path, &e))?;
    }
    if settings.docs {
        write_docs(&rows)?;
    }
    Ok(u8::from(rows.iter().any(|row| !row.differences.is_empty())))
}

/// What follows this line in the page is not written by the bench.
const BY_HAND: &str = "<!-- Written by hand from here on. -->\n";

fn write_docs(rows: &[Row]) -> Result<()> {
    let docs = conformance::workspace()?.join("docs");
    let (page, picture) = (docs.join("performance.md"), docs.join("performance.svg"));
    let old = fs::read_to_string(&page).unwrap_or_default();
    let by_hand = old.split_once(BY_HAND).map_or("", |(_, rest)| rest);
    let text = format!("{}\n{BY_HAND}{by_hand}", report::markdown(rows));
    fs::write(&page, text).map_err(|e| at(&page, &e))?;
    fs::write(&picture, plot::svg(rows)).map_err(|e| at(&picture, &e))
}

fn number(text: &str) -> Result<usize> {
    text.parse().map_err(|_| format!("bench: '{text}' is no number"))
}

fn list() {
    for workload in WORKLOADS {
        println!("{:14} {} ({:?} {})", workload.name, workload.about, workload.sizes, workload.unit);
    }
}

/// Whether a word after `--only` names a workload.
fn is_meant(word: &str, workload: &Workload) -> bool {
    word.strip_suffix('*').map_or(word == workload.name, |start| workload.name.starts_with(start))
}

/// What links.
enum Tool {
    Command(PathBuf),
    /// A libnvJitLink.
    Library(PathBuf),
}

struct Bench {
    toolkit: PathBuf,
    /// NVIDIA's and solder's; each pair is built when a workload needs it.
    commands: OnceCell<[Tool; 2]>,
    libraries: OnceCell<[Tool; 2]>,
    /// Outputs go here; both linkers get the same names.
    out: PathBuf,
    runs: usize,
}

/// All that one run of a linker leaves.
struct Outcome {
    wall: Duration,
    processor: Duration,
    peak: u64,
    endings: Vec<Ending>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    file: Option<Vec<u8>>,
}

impl Bench {
    fn new(runs: usize) -> Result<Self> {
        let scratch = cache::root()?.join("bench").join(format!("scratch-{}", std::process::id()));
        let out = scratch.join("out");
        fs::create_dir_all(&out).map_err(|e| at(&out, &e))?;
        let (commands, libraries) = (OnceCell::new(), OnceCell::new());
        Ok(Self { toolkit: toolkit::ensure()?, commands, libraries, out, runs })
    }

    /// NVIDIA's tool for a workload, and solder's.
    fn tools(&self, workload: &Workload) -> Result<&[Tool; 2]> {
        let tools = if workload.in_library { &self.libraries } else { &self.commands };
        if let Some(tools) = tools.get() {
            return Ok(tools);
        }
        let found = if workload.in_library { self.find_libraries()? } else { self.find_commands()? };
        Ok(tools.get_or_init(|| found))
    }

    fn find_commands(&self) -> Result<[Tool; 2]> {
        // solder is given the name of nvlink, so that messages agree.
        let bin = self.out.with_file_name("bin");
        fs::create_dir_all(&bin).map_err(|e| at(&bin, &e))?;
        let solder = bin.join("nvlink");
        std::os::unix::fs::symlink(conformance::solder()?, &solder).map_err(|e| at(&solder, &e))?;
        Ok([Tool::Command(self.toolkit.join("bin/nvlink")), Tool::Command(solder)])
    }

    fn find_libraries(&self) -> Result<[Tool; 2]> {
        let name = library::file_name(13);
        let own = library::build("library", None)?.join(&name);
        Ok([Tool::Library(self.toolkit.join("lib64").join(&name)), Tool::Library(own)])
    }

    fn all(&self, settings: &Settings) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        println!("{}", report::HEAD);
        for workload in WORKLOADS {
            if !settings.only.is_empty() && !settings.only.iter().any(|name| is_meant(name, workload)) {
                continue;
            }
            let both = if settings.sizes.is_empty() { workload.sizes } else { &settings.sizes };
            let alone = if settings.sizes.is_empty() { workload.alone } else { &[] };
            for size in both.iter().chain(alone) {
                let alone = settings.alone || alone.contains(size);
                let inputs = inputs::ensure(&self.toolkit, workload, *size)?;
                let row = self.row(workload, *size, &inputs, alone)?;
                println!("{}", report::line(&row));
                row.differences.iter().take(5).for_each(|line| println!("    {line}"));
                rows.push(row);
            }
            if let [.., smaller, largest] = &mut rows[..]
                && smaller.workload.name == largest.workload.name
                && !workload.warm_cache
            {
                largest.growth = Some(self.growth(smaller, largest)?);
            }
        }
        Ok(rows)
    }

    fn row(&self, workload: &'static Workload, size: usize, inputs: &Inputs, alone: bool) -> Result<Row> {
        let cache = self.out.with_file_name("cache");
        let _ = fs::remove_dir_all(&cache);
        let extra =
            if workload.warm_cache { vec![format!("--cache-dir={}", cache.display())] } else { Vec::new() };
        let [nvlink, solder] = self.tools(workload)?;
        let (before, inputs) = if workload.is_edited { inputs.split() } else { (None, inputs.clone()) };
        let inputs = &inputs;
        let fill = || match &before {
            Some(before) => {
                let _ = fs::remove_dir_all(&cache);
                self.link(solder, before, &extra).map(|_| ())
            }
            None => Ok(()),
        };
        // The first of each is compared, and applies only where reading cold files does not matter.
        fill()?;
        let first = self.link(solder, inputs, &extra)?;
        let expected = if alone { None } else { Some(self.link(nvlink, inputs, &[])?) };
        let differences = expected.as_ref().map_or_else(Vec::new, |expected| compare(expected, &first));
        let mut row = Row {
            workload,
            size,
            nvlink: expected.as_ref().map(|_| Figures::default()),
            solder: Figures::default(),
            copy: Figures::default(),
            growth: None,
            differences,
        };
        let mut wanted = self.runs;
        if let (Some(figures), Some(first)) = (&mut row.nvlink, expected)
            && first.wall > LONG
        {
            figures.add(first.wall, first.processor, first.peak);
            wanted = if first.wall > TOO_LONG { 1 } else { wanted.min(FEW) };
        }
        while row.solder.walls.len() < wanted {
            if let Some(figures) = row.nvlink.as_mut().filter(|figures| figures.walls.len() < wanted) {
                let outcome = self.link(nvlink, inputs, &[])?;
                figures.add(outcome.wall, outcome.processor, outcome.peak);
            }
            fill()?;
            let outcome = self.link(solder, inputs, &extra)?;
            row.solder.add(outcome.wall, outcome.processor, outcome.peak);
            if outcome.file != first.file {
                row.differences.push("two runs of solder give two outputs".into());
            }
            let copy = self.copy(inputs)?;
            row.copy.add(copy.wall, copy.processor, copy.peak);
        }
        Ok(row)
    }

    /// The exponent of growth between two sizes, which are run in turn: minutes lie between their rows, in which the
    /// clock of a machine changes.
    fn growth(&self, smaller: &Row, largest: &Row) -> Result<f64> {
        let mut measured = [(smaller.size, Figures::default()), (largest.size, Figures::default())];
        let [_, solder] = self.tools(largest.workload)?;
        let is_long = largest.solder.median() > LONG_IN_TURN.as_secs_f64();
        for _ in 0..if is_long { self.runs.min(FEW) } else { self.runs } {
            for (size, figures) in &mut measured {
                let inputs = inputs::ensure(&self.toolkit, largest.workload, *size)?;
                let Outcome { wall, processor, peak, .. } = self.link(solder, &inputs, &[])?;
                figures.add(wall, processor, peak);
            }
        }
        let [(small, short), (large, long)] = measured.map(|(size, figures)| (size, figures.processor()));
        Ok(exponent((small, short), (large, long)))
    }

    /// One run of all links of a workload.
    fn link(&self, tool: &Tool, inputs: &Inputs, extra: &[String]) -> Result<Outcome> {
        let _ = fs::remove_dir_all(&self.out);
        fs::create_dir_all(&self.out).map_err(|e| at(&self.out, &e))?;
        let mut outcome = Outcome {
            wall: Duration::ZERO,
            processor: Duration::ZERO,
            peak: 0,
            endings: Vec::new(),
            stdout: Vec::new(),
            stderr: Vec::new(),
            file: None,
        };
        for words in &inputs.links {
            let out = self.out.to_string_lossy();
            let arguments: Vec<_> =
                words.iter().map(|word| word.replace("{out}", &out)).chain(extra.iter().cloned()).collect();
            let (stdout, stderr) = (self.out.join("stdout"), self.out.join("stderr"));
            let path = match tool {
                Tool::Command(path) => path,
                Tool::Library(library) => {
                    (outcome.wall, outcome.processor, outcome.peak) =
                        self.link_in_library(library, &arguments, inputs)?;
                    continue;
                }
            };
            let program = Program { path, arguments: &arguments, folder: &inputs.folder, stdout, stderr };
            let sample = program.measure(&self.toolkit)?;
            outcome.wall += sample.wall;
            outcome.processor += sample.processor;
            outcome.peak = outcome.peak.max(sample.peak);
            outcome.endings.push(sample.ending);
            outcome.stdout.extend(fs::read(&program.stdout).unwrap_or_default());
            outcome.stderr.extend(fs::read(&program.stderr).unwrap_or_default());
        }
        outcome.file = fs::read(self.out.join("out.cubin")).ok();
        Ok(outcome)
    }

    /// A link through a libnvJitLink in a process of its own: its time, that of all processors, and the peak of memory.
    fn link_in_library(
        &self,
        library: &Path,
        arguments: &[String],
        inputs: &Inputs,
    ) -> Result<(Duration, Duration, u64)> {
        let own = std::env::current_exe().map_err(|e| format!("cannot find this program: {e}"))?;
        // nvlink's words for the output say nothing to a library.
        let is_output = |word: &String| word == "-o" || word.ends_with("/out.cubin");
        let words = arguments.iter().filter(|word| !is_output(word)).cloned();
        let mut arguments = vec![library.to_string_lossy().into_owned()];
        arguments.insert(0, "nvjitlink-time".into());
        arguments.push(self.out.join("out.cubin").to_string_lossy().into_owned());
        arguments.extend(words);
        let (stdout, stderr) = (self.out.join("stdout"), self.out.join("stderr"));
        let program = Program { path: &own, arguments: &arguments, folder: &inputs.folder, stdout, stderr };
        let sample = program.measure(&self.toolkit)?;
        let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
        let printed = read(&program.stdout);
        let mut times = printed.split_whitespace().filter_map(|word| word.parse().ok());
        let (Some(wall), Some(processor)) = (times.next(), times.next()) else {
            return Err(format!("{}: {}", library.display(), read(&program.stderr)));
        };
        Ok((Duration::from_nanos(wall), Duration::from_nanos(processor), sample.peak))
    }

    fn copy(&self, inputs: &Inputs) -> Result<measure::Sample> {
        let (stdout, stderr) = (self.out.join("copy"), self.out.join("stderr"));
        let path = Path::new("cat");
        Program { path, arguments: &inputs.files, folder: &inputs.folder, stdout, stderr }
            .measure(&self.toolkit)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Some(scratch) = self.out.parent() {
            let _ = fs::remove_dir_all(scratch);
        }
    }
}

fn compare(expected: &Outcome, got: &Outcome) -> Vec<String> {
    let mut found = Vec::new();
    if expected.endings != got.endings {
        found.push(format!("nvlink ended with {:?}, solder with {:?}", expected.endings, got.endings));
    }
    // A link that fails ends early, and its time says nothing.
    if expected.endings.iter().any(|ending| *ending != Ending::Exit(0)) {
        found.push(format!("nvlink fails: {:?}", expected.endings));
    }
    for (name, a, b) in [("stdout", &expected.stdout, &got.stdout), ("stderr", &expected.stderr, &got.stderr)]
    {
        if a != b {
            found.push(format!("{name} differs"));
        }
    }
    match (&expected.file, &got.file) {
        (Some(a), Some(b)) => {
            let options = cubin_diff::Options { ignore_tkinfo: true };
            found.extend(cubin_diff::diff(a, b, &options).iter().take(20).map(ToString::to_string));
        }
        (None, None) => {}
        _ => found.push("only one of them made a file".into()),
    }
    found
}
