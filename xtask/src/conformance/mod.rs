//! `cargo xtask conformance`: links every case with nvlink and with solder and compares all that can be
//! seen from outside: exit code, both streams, every file.

mod bless;
mod build;
mod case;
pub mod compare;
mod context;
mod coverage;
pub(crate) mod elf;
mod emulate;
mod library;
mod link;
mod plant;
pub mod releases;
mod report;

use crate::jit::published;
use crate::toolkit::{ORACLE, TOOLKITS, Toolkit};
pub use crate::workspace::{build, solder, workspace};
use crate::{Result, cache, process};
pub(crate) use build::inputs as build_inputs;
use case::Case;
pub(crate) use case::Run;
pub(crate) use context::Context;
use report::{Report, Verdict};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

const USAGE: &str = "\
usage: cargo xtask conformance [FILTER…] [options]

Runs the cases whose id (category/name:arch[variant]) contains one of the filters; all without one.

  --toolkit R     against the nvlink of this release, such as 13.2, with the objects of its compilers (13.0)
  --library R     against the libnvJitLink of this release, such as 12.3, with objects of its assembler (13.5: of 13.4's): only what
                  is made, and whether there is an error; the cases that it can link
  --all-toolkits  against every release that solder knows, with --table
  --table         write the column of each release into docs/releases.md when it is done; for all cases
  --others        against every release but 13.0 whose toolkit can be had: the cases that name releases, and a tenth of
                  the rest, another one after each commit; without what is known to differ
  --target T      run both linkers as programs of another machine, under qemu: aarch64, against the nvlink of its package
  --tenth         a tenth of the cases, another one after each commit
  --archs LIST    only these architectures (numbers, or core, mercury, all)
  --jobs N        runs at once (default: the machine's cores)
  --list          print the ids and what they are about
  --uncovered     list the facts of tests/coverage.txt that no case covers
  --env NAME=VAL  a variable for solder, such as SOLDER_CACHE_DIR=/tmp/cache
  --fresh         run nvlink even where its outcome is in the cache
  --bless         write what solder does into the cases that deviate, where that is its exit code and what it prints
  --keep          leave the scratch folders and say where they are
  -v, --verbose   a line for every run, and all differences of every failure

SOLDER_BIN names a linker to test instead of building solder; SOLDER_TOOLKIT a toolkit to use.";

#[derive(Default)]
struct Options {
    toolkits: Option<Vec<&'static Toolkit>>,
    /// In the place of an nvlink.
    library: Option<&'static published::Library>,
    /// Every so many runs of cases that name no release, beginning with this one.
    part: Option<(usize, usize)>,
    /// The columns of the releases are written into the table.
    writes_table: bool,
    filters: Vec<String>,
    /// Another machine than this.
    target: Option<String>,
    archs: Option<String>,
    jobs: Option<usize>,
    list: bool,
    uncovered: bool,
    fresh: bool,
    keep: bool,
    bless: bool,
    env: Vec<(String, String)>,
    verbose: bool,
    /// Not for people: filters of `cargo test` are meant for all tests, and mostly match no case.
    none_is_fine: bool,
}

/// All cases.
pub(crate) fn load_cases() -> Result<Vec<Case>> {
    case::load_all(&workspace()?.join("tests/cases"))
}

pub fn run(args: &[String]) -> Result<u8> {
    if args.iter().any(|arg| arg == "-h" || arg == "--help") {
        println!("{USAGE}");
        return Ok(0);
    }
    let options = Options::parse(args)?;
    let tests = workspace()?.join("tests");
    let cases = case::load_all(&tests.join("cases"))?;
    if options.uncovered {
        return coverage::report(&tests.join("coverage.txt"), &cases);
    }
    let default = [Toolkit::find(ORACLE.name)?];
    let toolkits = options.toolkits.as_deref().unwrap_or(&default);
    let mut failed = false;
    let mut skipped = Vec::new();
    for toolkit in toolkits {
        let release = options.library.map_or_else(|| toolkit.release(), published::Library::release)?;
        let runs = options.select(&cases, release)?;
        if options.list {
            for run in &runs {
                println!("{}  {}", run.id(), run.case.about);
            }
            continue;
        }
        if toolkits.len() > 1 {
            println!("CUDA {}", toolkit.version);
        }
        let context = match (&options.target, options.library) {
            (Some(machine), _) => Context::emulated(toolkit, machine, options.fresh, options.keep),
            (None, Some(library)) => Context::for_library(library, options.keep),
            (None, None) => Context::new(toolkit, options.fresh, options.keep, options.bless),
        };
        let mut context = match context {
            Err(reason) if options.part.is_some() => {
                println!("skipped: {reason}");
                skipped.push(toolkit.version);
                continue;
            }
            context => context?,
        };
        context.env.clone_from(&options.env);
        let report = Mutex::new(Report::new(options.verbose, runs.len(), &context));
        run_all(&runs, options.jobs, &context, &report);
        let report = report.into_inner().map_err(|_| "a run panicked")?;
        failed |= report.close() != 0;
        if options.writes_table && options.filters.is_empty() && options.archs.is_none() {
            let mut table = releases::Table::default();
            table.add(toolkit, &report);
            table.write(&workspace()?.join("docs/releases.md"))?;
        }
    }
    if !skipped.is_empty() {
        println!("NOT COMPARED, since they could not be installed: CUDA {}", skipped.join(", "));
    }
    Ok(u8::from(failed))
}

impl Options {
    fn parse(args: &[String]) -> Result<Self> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let (name, joined) = match arg.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value)),
                _ => (arg.as_str(), None),
            };
            let mut value = || {
                joined
                    .or_else(|| args.next().map(String::as_str))
                    .ok_or(format!("{name} needs a value\n\n{USAGE}"))
            };
            match name {
                "--toolkit" => options.toolkits.get_or_insert_default().push(Toolkit::find(value()?)?),
                "--library" => options.library = Some(published::Library::find(value()?)?),
                "--all-toolkits" => {
                    options.toolkits = Some(supported());
                    options.writes_table = true;
                }
                "--table" => options.writes_table = true,
                "--others" => {
                    let others = TOOLKITS.iter().filter(|toolkit| toolkit.name != ORACLE.name);
                    options.toolkits = Some(others.collect());
                    options.part = Some((commits()? % PARTS, PARTS));
                }
                "--tenth" => options.part = Some((commits()? % PARTS, PARTS)),
                "--target" => options.target = Some(value()?.to_string()),
                "--archs" => {
                    let list = value()?;
                    case::arch_list(list, solder_arch::Release::NEWEST)?;
                    options.archs = Some(list.to_string());
                }
                "--jobs" => {
                    let jobs = value()?.parse().ok().filter(|jobs| *jobs > 0);
                    options.jobs = Some(jobs.ok_or("--jobs needs a number above 0")?);
                }
                "--env" => {
                    let (name, value) = value()?.split_once('=').ok_or("--env needs NAME=VALUE")?;
                    options.env.push((name.into(), value.into()));
                }
                "--list" => options.list = true,
                "--uncovered" => options.uncovered = true,
                "--fresh" => options.fresh = true,
                "--keep" => options.keep = true,
                "--bless" => options.bless = true,
                "--none-is-fine" => options.none_is_fine = true,
                "-v" | "--verbose" => options.verbose = true,
                _ if name.starts_with('-') => return Err(format!("unknown option '{arg}'\n\n{USAGE}")),
                _ => options.filters.push(arg.clone()),
            }
        }
        Ok(options)
    }

    fn select<'a>(&self, cases: &'a [Case], release: &solder_arch::Release) -> Result<Vec<Run<'a>>> {
        let archs = self.archs.as_deref().map(|list| case::arch_list(list, release)).transpose()?;
        let mut runs: Vec<Run<'a>> =
            cases.iter().flat_map(|case| case.runs(release, archs.as_deref())).collect();
        if let Some((first, parts)) = self.part {
            let mut at = 0;
            runs.retain(|run| {
                at += 1;
                // What is known to differ is that of other releases.
                let is_complete = || release == ORACLE || releases::is_complete(run, release);
                (run.case.releases.are_named() || at % parts == first) && is_complete()
            });
        }
        let wanted = |run: &Run<'_>| {
            let id = run.id();
            self.filters.is_empty() || self.filters.iter().any(|filter| id.contains(filter))
        };
        runs.retain(wanted);
        if let Some(library) = self.library {
            runs.retain(|run| library::is_possible(run, library, release));
        }
        if runs.is_empty() && !self.filters.is_empty() && !self.none_is_fine {
            return Err(format!("no case matches {}", self.filters.join(" ")));
        }
        Ok(runs)
    }
}

/// The releases that every case is compared with, the oldest first. Those of CUDA 12 are not among them yet: what is known to
/// differ is listed in docs/reference/cuda-12.md.
fn supported() -> Vec<&'static Toolkit> {
    let is_complete = |toolkit: &&Toolkit| toolkit.release().is_ok_and(|release| release.major() > 12);
    TOOLKITS.iter().filter(is_complete).collect()
}

/// How many parts the cases are run in, one after each commit, against releases other than the usual one.
const PARTS: usize = 10;

fn commits() -> Result<usize> {
    let mut git = Command::new("git");
    let output = process::capture(git.args(["rev-list", "--count", "HEAD"]).current_dir(workspace()?))?;
    // A folder that is not a clone runs the first part.
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse().unwrap_or(0))
}

fn run_all(runs: &[Run<'_>], jobs: Option<usize>, context: &Context, report: &Mutex<Report>) {
    let jobs = jobs.or_else(|| std::thread::available_parallelism().ok().map(Into::into)).unwrap_or(1);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(runs.len()) {
            scope.spawn(|| {
                while let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let start = Instant::now();
                    let verdict = judge(run, context);
                    if let Ok(mut report) = report.lock() {
                        report.add(run, verdict, start.elapsed());
                    }
                }
            });
        }
    });
}

/// Performs one run in its own scratch folder.
fn judge(run: &Run<'_>, context: &Context) -> Verdict {
    // Named by the case, not by the process: the folder's name gets into outputs, and so into the cache.
    let name = run.id().replace(['/', ':', '['], ".").replace(']', "");
    let folder = context.scratch.join(&name);
    let outcome = cache::lock(&context.scratch.join(format!("{name}.lock"))).and_then(|_lock| {
        clear(&folder)?;
        let outcome = match &context.library {
            Some(library) => library::differences(run, context, library, &folder),
            None => differences(run, context, &folder).map(Ok),
        };
        if !context.keep {
            clear(&folder)?;
        }
        outcome
    });
    let kept = context.keep.then_some(folder);
    let outcome = match outcome {
        Ok(Err(reason)) => return Verdict::Skipped(reason),
        Ok(Ok(differences)) => Ok(differences),
        Err(message) => Err(message),
    };
    match outcome {
        Ok(differences) if differences.is_empty() && run.case.deviation.is_some() => Verdict::Deviates,
        Ok(differences) if differences.is_empty() => Verdict::Passed,
        Ok(differences) => Verdict::Failed { differences, kept },
        Err(message) => match context.assemblers.missing(&run.releases()) {
            Some(reason) => Verdict::Skipped(reason),
            None => Verdict::Failed { differences: vec![message], kept },
        },
    }
}

/// How often nvlink may do something else in a case in which what it does varies.
const ATTEMPTS: usize = 40;

fn differences(run: &Run<'_>, context: &Context, folder: &Path) -> Result<Vec<String>> {
    if let Some(mistake) = &run.case.mistake {
        return Err(format!("{}: {mistake}", run.case.path.display()));
    }
    let inputs = build::inputs(run, context)?;
    let scratch = link::Scratch { run, context, inputs: &inputs, folder: folder.to_path_buf() };
    let steps: Vec<String> = run.case.links.iter().map(|step| run.expand(step)).collect();
    let mut nvlink = scratch.nvlink(&steps, "nvlink")?;
    let (solder, before_last) = scratch.solder(&steps)?;
    if context.release.repeats_barriers() {
        compare::forget_stale_barriers(&mut nvlink, &solder);
    }
    // What a case says of solder is about the usual release; elsewhere nvlink may do what solder does.
    let is_other = context.release != ORACLE;
    if is_other && compare::outcomes(run.case, &nvlink, &solder).is_empty() {
        return Ok(Vec::new());
    }
    let Some(stated) = &run.case.deviation else {
        let found = compare::outcomes(run.case, &nvlink, &solder);
        for _ in 0..if found.is_empty() || run.case.varies.is_none() { 0 } else { ATTEMPTS } {
            let again = scratch.nvlink_again(&steps)?;
            if compare::outcomes(run.case, &again, &solder).is_empty() {
                scratch.remember(&steps, &again)?;
                return Ok(Vec::new());
            }
        }
        return Ok(found);
    };
    if context.bless {
        return bless::write(run, &solder);
    }
    let stated = stated.expanded(run);
    let reference = match &stated.same_as {
        Some(args) => {
            let mut steps = steps;
            steps.pop();
            steps.push(args.clone());
            Some(scratch.nvlink(&steps, "same-as")?)
        }
        None => None,
    };
    Ok(compare::deviation(run.case, &stated, &nvlink, (&solder, &before_last), reference.as_ref()))
}

/// Removes a scratch folder, also one in which a case took permissions away.
fn clear(folder: &Path) -> Result<()> {
    if !folder.exists() || fs::remove_dir_all(folder).is_ok() {
        return Ok(());
    }
    let _ = process::capture(Command::new("chmod").args(["-R", "u+rwX"]).arg(folder));
    fs::remove_dir_all(folder).map_err(|e| cache::at(folder, &e))
}
