//! `cargo xtask realcode`: programs that instantiate the code of libraries, linked by nvlink and by solder, and
//! compared function by function.

mod build;
mod compare;
mod mutants;
mod packages;
mod program;
mod report;

use crate::assembler::Release;
use crate::cache::at;
use crate::toolkit::{ORACLE, Toolkit};
use crate::{Result, conformance};
use build::Tools;
use program::{Program, Set};
use report::Run;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

const USAGE: &str = "\
usage: cargo xtask realcode [OPTION…] [FILTER…]

Compiles the programs of tests/realcode (those whose names contain a filter), which instantiate code of CUB, Thrust,
CUTLASS and other libraries, links every object alone, or with the archive of a library, with nvlink and with solder (SOLDER_BIN, or a release build),
and compares the outputs, and the code of every function. What nvcc, ptxas and nvlink make is cached.

  --arch LIST     architectures (sm_100,sm_100a,sm_103,sm_110,sm_120,sm_121). Programs that need features of sm_100a
                  take part on that one only
  --from ARCH     link objects of this architecture for those of --arch
  --toolkit R     ask the ptxas and the nvlink of this release, such as 13.2 (13.0). nvcc stays that of 13.0
  --ptxas R       let the assembler of this release, such as 12.9, make the objects
  --options LIST  option sets: o3, o1, o2-r32, o3-r64 (these are usual); o0, o2, r128, uncached, no-expensive,
                  lineinfo, no-fmad, fast, debug; all
  --report FILE   write every difference into this file, as Markdown
  --keep DIR      leave the objects and both outputs of links that are not exact in DIR
  --at-most N     exit with 0 if no more links than this are not exact (0)
  --mutants N     instead of linking with solder, change one wait or scoreboard in nvlink's code, about N times in all, and
                  see that the checker of rewritten code refuses every change that does harm
  --programs DIR  take the sources below this folder instead of tests/realcode; those that do not compile are counted
  --include LIST  folders of headers for them
  --ptx DIR       only compile the programs, into DIR
  --list          only list the programs
  --jobs N        at a time (the machine's cores)";

const ARCHS: &str = "sm_100,sm_100a,sm_103,sm_110,sm_120,sm_121";

struct Settings {
    toolkit: &'static Toolkit,
    archs: Vec<String>,
    from: Option<String>,
    assembler: Option<&'static Release>,
    sets: Vec<&'static Set>,
    report: Option<PathBuf>,
    keep: Option<PathBuf>,
    ptx: Option<PathBuf>,
    programs: Option<PathBuf>,
    includes: Vec<PathBuf>,
    mutants: Option<usize>,
    at_most: usize,
    list: bool,
    jobs: usize,
    filters: Vec<String>,
}

/// One object to make and to link.
struct Job<'a> {
    program: &'a Program,
    set: &'static Set,
    /// The package whose archive it is linked with.
    archive: Option<&'a str>,
    /// The architecture of the object, and the one to link for.
    object: &'a str,
    target: &'a str,
}

pub fn run(args: &[String]) -> Result<u8> {
    let Some(settings) = parse(args)? else {
        println!("{USAGE}");
        return Ok(0);
    };
    let programs = match &settings.programs {
        Some(folder) => Program::load_foreign(folder, &settings.includes, &settings.filters)?,
        None => Program::load_all(&conformance::workspace()?.join("tests/realcode"), &settings.filters)?,
    };
    if settings.list {
        for program in &programs {
            println!("{}", program.name);
        }
        return Ok(0);
    }
    let jobs = settings.jobs_of(&programs);
    let tools = Tools::new(settings.toolkit, settings.assembler)?;
    compile(&tools, &jobs, settings.jobs);
    if let Some(folder) = &settings.ptx {
        return copy_ptx(&tools, &jobs, folder);
    }
    if let Some(count) = settings.mutants {
        return test_mutants(&tools, &jobs, settings.jobs, count);
    }
    let scratch = std::env::temp_dir().join(format!("solder-realcode-{}", std::process::id()));
    let runs = parallel(&jobs, settings.jobs, |number, job| {
        let folder = scratch.join(number.to_string());
        let outcome = link(&tools, job, &folder, settings.keep.as_deref());
        let _ = fs::remove_dir_all(&folder);
        Run { program: job.name(), arch: job.arch(), set: job.set.name, outcome }
    });
    let _ = fs::remove_dir_all(&scratch);
    print!("{}", report::summary(&runs));
    if let Some(file) = &settings.report {
        fs::write(file, report::markdown(&runs)).map_err(|e| at(file, &e))?;
    }
    Ok(u8::from(report::failures(&runs) > settings.at_most))
}

fn parse(args: &[String]) -> Result<Option<Settings>> {
    let archs = |list: &str| list.split(',').filter(|word| !word.is_empty()).map(String::from).collect();
    let number = |text: String| text.parse::<usize>().map_err(|_| format!("realcode: '{text}' is no number"));
    let mut settings = Settings {
        toolkit: Toolkit::find(ORACLE.name)?,
        archs: archs(ARCHS),
        from: None,
        assembler: None,
        sets: program::sets("usual")?,
        report: None,
        keep: None,
        ptx: None,
        programs: None,
        includes: Vec::new(),
        mutants: None,
        at_most: 0,
        list: false,
        jobs: std::thread::available_parallelism().map_or(2, usize::from),
        filters: Vec::new(),
    };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let (name, joined) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_string())),
            _ => (word.as_str(), None),
        };
        let mut value = || {
            let given = joined.clone().or_else(|| words.next().cloned());
            given.ok_or_else(|| format!("realcode: {name} needs a value\n\n{USAGE}"))
        };
        match name {
            "--arch" => settings.archs = archs(&value()?),
            "--from" => settings.from = Some(value()?),
            "--toolkit" => settings.toolkit = Toolkit::find(&value()?)?,
            "--ptxas" => settings.assembler = Some(Release::find(&value()?)?),
            "--options" => settings.sets = program::sets(&value()?)?,
            "--report" => settings.report = Some(value()?.into()),
            "--keep" => settings.keep = Some(value()?.into()),
            "--mutants" => settings.mutants = Some(number(value()?)?),
            "--programs" => settings.programs = Some(value()?.into()),
            "--include" => settings.includes = value()?.split(',').map(PathBuf::from).collect(),
            "--ptx" => settings.ptx = Some(value()?.into()),
            "--at-most" => settings.at_most = number(value()?)?,
            "--list" => settings.list = true,
            "--jobs" | "-j" => settings.jobs = number(value()?)?.max(1),
            "-h" | "--help" => return Ok(None),
            _ if name.starts_with('-') => {
                return Err(format!("realcode: unknown option '{name}'\n\n{USAGE}"));
            }
            _ => settings.filters.push(word.clone()),
        }
    }
    Ok(Some(settings))
}

impl Settings {
    fn jobs_of<'a>(&'a self, programs: &'a [Program]) -> Vec<Job<'a>> {
        let mut jobs = Vec::new();
        for target in &self.archs {
            let object = self.from.as_ref().unwrap_or(target);
            for program in programs.iter().filter(|program| program.fits(object)) {
                for set in self.sets.iter().filter(|set| program.takes(set)) {
                    let job = |archive| Job { program, set, archive, object, target };
                    jobs.extend(program.links().map(job));
                }
            }
        }
        jobs
    }
}

impl Job<'_> {
    fn name(&self) -> String {
        match self.archive {
            Some(archive) => format!("{} with {archive}", self.program.name),
            None => self.program.name.clone(),
        }
    }

    fn archive(&self) -> Result<Option<PathBuf>> {
        self.archive.map(packages::archive).transpose()
    }

    fn arch(&self) -> String {
        if self.object == self.target {
            return self.target.to_string();
        }
        format!("{} for {}", self.object, self.target)
    }

    fn object(&self, tools: &Tools) -> Result<PathBuf> {
        let ptx = tools.ptx(self.program, self.object, self.set)?;
        tools.object(&ptx, self.object, self.set)
    }
}

/// Runs the front end first, once for each program: many objects share its result. Who needs a result that cannot be
/// made says so.
fn compile(tools: &Tools, jobs: &[Job<'_>], threads: usize) {
    let mut seen = BTreeSet::new();
    let mut first = Vec::new();
    for job in jobs {
        if seen.insert((&job.program.name, job.program.virtual_arch(job.object), job.set.nvcc)) {
            first.push(job);
        }
    }
    parallel(&first, threads, |_, job| drop(tools.ptx(job.program, job.object, job.set)));
}

/// Tests the checker of rewritten code on wrong versions of nvlink's code.
fn test_mutants(tools: &Tools, jobs: &[Job<'_>], threads: usize, count: usize) -> Result<u8> {
    let each = count.div_ceil(jobs.len().max(1));
    let tallies = parallel(jobs, threads, |_, job| {
        let object = job.object(tools)?;
        let bytes = fs::read(&object).map_err(|e| at(&object, &e))?;
        mutants::test(&bytes, &tools.nvlink(&object, job.archive()?.as_deref(), job.target)?, each)
    });
    let mut all = mutants::Tally::default();
    for tally in tallies {
        all.add(tally?);
    }
    print!("{}", all.summary());
    Ok(u8::from(all.has_failed()))
}

fn copy_ptx(tools: &Tools, jobs: &[Job<'_>], folder: &Path) -> Result<u8> {
    fs::create_dir_all(folder).map_err(|e| at(folder, &e))?;
    for job in jobs {
        let target = folder.join(format!("{}.ptx", job.program.name));
        fs::copy(tools.ptx(job.program, job.object, job.set)?, &target).map_err(|e| at(&target, &e))?;
    }
    Ok(0)
}

fn link(tools: &Tools, job: &Job<'_>, folder: &Path, keep: Option<&Path>) -> Result<compare::Comparison> {
    let object = job.object(tools)?;
    let archive = job.archive()?;
    let nvlink = tools.nvlink(&object, archive.as_deref(), job.target)?;
    let solder = tools.solder(&object, archive.as_deref(), job.target, folder)?;
    let bytes = fs::read(&object).map_err(|e| at(&object, &e))?;
    let comparison = compare::compare(&bytes, &nvlink, &solder)?;
    if let Some(keep) = keep.filter(|_| comparison.outcome != compare::Outcome::Exact) {
        let name = format!("{}-{}-{}", job.name(), job.arch(), job.set.name).replace(' ', "-");
        let folder = keep.join(name);
        fs::create_dir_all(&folder).map_err(|e| at(&folder, &e))?;
        let files = [("program.o", &bytes), ("nvlink.cubin", &nvlink.file), ("solder.cubin", &solder.file)];
        for (name, content) in files {
            fs::write(folder.join(name), content).map_err(|e| at(&folder, &e))?;
        }
    }
    Ok(comparison)
}

/// Does something with every item, several at a time; the results come in the order of the items.
fn parallel<T: Sync, R: Send>(items: &[T], threads: usize, work: impl Fn(usize, &T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<R>>> = Mutex::new(items.iter().map(|_| None).collect());
    std::thread::scope(|scope| {
        for _ in 0..threads.min(items.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { break };
                    let result = work(index, item);
                    results.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(result);
                }
            });
        }
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
}
