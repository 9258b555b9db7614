//! `cargo xtask bench`: times nvlink and solder on generated workloads, in turn, and compares what they make.

// Sizes and kibibytes are far below the 2^52 that a float holds exactly.
#![allow(clippy::cast_precision_loss)]

mod figures;
mod inputs;
mod maker;
pub mod measure;
mod plot;
mod report;
mod sources;
mod template;
mod workloads;

use crate::cache::at;
use crate::process::Ending;
use crate::{Result, cache, conformance, toolkit};
use figures::{Figures, Row, exponent};
use inputs::Inputs;
use measure::Program;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use workloads::{WORKLOADS, Workload};

const USAGE: &str = "\
usage: cargo xtask bench [OPTIONS]

  --only LIST     these workloads
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
    if let Some(unknown) = settings.only.iter().find(|name| !WORKLOADS.iter().any(|w| w.name == **name)) {
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

struct Bench {
    toolkit: PathBuf,
    nvlink: PathBuf,
    /// solder under the name of nvlink, so that messages agree.
    solder: PathBuf,
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
        let (bin, out) = (scratch.join("bin"), scratch.join("out"));
        for folder in [&bin, &out] {
            fs::create_dir_all(folder).map_err(|e| at(folder, &e))?;
        }
        let solder = bin.join("nvlink");
        std::os::unix::fs::symlink(conformance::solder()?, &solder).map_err(|e| at(&solder, &e))?;
        let toolkit = toolkit::ensure()?;
        Ok(Self { nvlink: toolkit.join("bin/nvlink"), toolkit, solder, out, runs })
    }

    fn all(&self, settings: &Settings) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        println!("{}", report::HEAD);
        for workload in WORKLOADS {
            if !settings.only.is_empty() && !settings.only.iter().any(|name| name == workload.name) {
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
        // The first of each is compared, and applies only where reading cold files does not matter.
        let first = self.link(&self.solder, inputs, &extra)?;
        let expected = if alone { None } else { Some(self.link(&self.nvlink, inputs, &[])?) };
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
                let outcome = self.link(&self.nvlink, inputs, &[])?;
                figures.add(outcome.wall, outcome.processor, outcome.peak);
            }
            let outcome = self.link(&self.solder, inputs, &extra)?;
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
        let is_long = largest.solder.median() > LONG_IN_TURN.as_secs_f64();
        for _ in 0..if is_long { self.runs.min(FEW) } else { self.runs } {
            for (size, figures) in &mut measured {
                let inputs = inputs::ensure(&self.toolkit, largest.workload, *size)?;
                let Outcome { wall, processor, peak, .. } = self.link(&self.solder, &inputs, &[])?;
                figures.add(wall, processor, peak);
            }
        }
        let [(small, short), (large, long)] = measured.map(|(size, figures)| (size, figures.processor()));
        Ok(exponent((small, short), (large, long)))
    }

    /// One run of all links of a workload.
    fn link(&self, linker: &Path, inputs: &Inputs, extra: &[String]) -> Result<Outcome> {
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
            let program =
                Program { path: linker, arguments: &arguments, folder: &inputs.folder, stdout, stderr };
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
