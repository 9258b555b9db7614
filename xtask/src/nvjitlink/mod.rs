//! `cargo xtask nvjitlink`: builds solder's libnvJitLink, and calls it and NVIDIA's alike.

mod compare;
#[allow(unsafe_code, reason = "it calls functions of a shared library")]
pub mod driver;
mod examples;
mod known;
pub mod library;
mod pair;
mod python;
mod sanitize;

use crate::Result;
use crate::cache::at;
use crate::conformance::compare::with_barriers_of;
use crate::conformance::releases::is_complete;
use crate::conformance::{Run, build_inputs, load_cases};
use crate::jit::{published, script};
use crate::process::{self, Ending};
use crate::toolkit::ORACLE;
use compare::{Outcome, Verdict};
use known::Known;
use pair::Pair;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const USAGE: &str = "\
usage: cargo xtask nvjitlink [FILTER…] [options]

Builds libnvJitLink.so.12 and .so.13, compares their names with those of NVIDIA's libraries, and makes calls of the link
lines of tests/cases, from Create to Destroy, with both: codes, logs and what was made must be equal.

  build           only build, and print where the libraries are
  RELEASE…        only install NVIDIA's library of each release (12.0 … 12.6, 12.8, 12.9, 13.0 … 13.5, or all) into the
                  user's cache folder, and print where it is
  names           only build and compare names
  python [CLONE]  only build, and link through NVIDIA's Python package (cuda-bindings 12.9.4 and 13.0.3) with both libraries; with
                  a clone of NVIDIA/cuda-python, run the package's own tests of the linker too, and cuda.core's
  examples        only build, and run the programs of examples/jit in C and in Rust
  sanitize        only run the stress of the C interface, 16 threads with 1,000 links each, under the sanitizers for addresses and
                  for threads, or one of them (sanitize thread); needs a nightly toolchain with rust-src
  --release R     compare with NVIDIA's library of this release (12.4, 12.5, 12.6, 12.8, 12.9, 13.0 … 13.4; default 13.0)
  --runs N        at most N runs, spread over all cases (default: all)
  --jobs N        runs at once (default: the machine's cores)
  --profile NAME  how the libraries are built (default library)
  --keep          leave the folders of runs that differ, and say where they are
  --bless         write the differences of these runs to tests/nvjitlink/RELEASE.txt; read the change before you keep it";

/// A library that hangs is ended after this.
const LIMIT: Duration = Duration::from_mins(1);

struct Options {
    filters: Vec<String>,
    release: String,
    runs: usize,
    jobs: Option<usize>,
    profile: String,
    keep: bool,
    bless: bool,
}

pub fn run(args: &[String]) -> Result<u8> {
    let mut options = Options {
        filters: Vec::new(),
        release: ORACLE.name.into(),
        runs: usize::MAX,
        jobs: None,
        profile: "library".into(),
        keep: false,
        bless: false,
    };
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let mut number =
            || rest.next().and_then(|value| value.parse().ok()).ok_or(format!("{arg} needs a number"));
        match arg.as_str() {
            "-h" | "--help" => {
                println!("{USAGE}");
                return Ok(0);
            }
            "--runs" => options.runs = number()?,
            "--jobs" => options.jobs = Some(number()?),
            "--release" => options.release.clone_from(rest.next().ok_or("--release needs a release")?),
            "--profile" => options.profile.clone_from(rest.next().ok_or("--profile needs a name")?),
            "--keep" => options.keep = true,
            "--bless" => options.bless = true,
            _ if arg.starts_with('-') => return Err(format!("unknown option '{arg}'\n\n{USAGE}")),
            _ => options.filters.push(arg.clone()),
        }
    }
    if published::are_releases(&options.filters) {
        return published::install(&options.filters);
    }
    if let [first, names @ ..] = &options.filters[..]
        && first == "sanitize"
    {
        return sanitize::run(names);
    }
    let folder = library::build(&options.profile, None)?;
    if options.filters == ["build"] {
        println!("{}", folder.display());
        return Ok(0);
    }
    if let [first, clone @ ..] = &options.filters[..]
        && first == "python"
    {
        return Ok(u8::from(python::run(&folder, clone.first().map(String::as_str))? > 0));
    }
    if options.filters == ["examples"] {
        return Ok(u8::from(examples::run(&folder)? > 0));
    }
    let missing = library::missing_names(&folder)?;
    for name in &missing {
        println!("missing: {name}");
    }
    println!("names: {}", if missing.is_empty() { "all there" } else { "some are missing" });
    if options.filters == ["names"] {
        return Ok(u8::from(!missing.is_empty()));
    }
    let failed = compare_all(&options, &folder)?;
    Ok(u8::from(failed > 0 || !missing.is_empty()))
}

/// A run of a case, as calls.
struct Session<'a> {
    run: Run<'a>,
    script: String,
}

fn compare_all(options: &Options, folder: &Path) -> Result<usize> {
    let cases = load_cases()?;
    let pair = Pair::of(&options.release, folder)?;
    let mut sessions: Vec<Session<'_>> = cases
        .iter()
        .filter(|case| case.mistake.is_none() && case.setup.is_empty() && case.env.is_empty())
        .flat_map(|case| case.runs(pair.context.release, None))
        // What solder does not link as the release yet says nothing of the library.
        .filter(|run| options.release == ORACLE.name || is_complete(run, pair.context.release))
        .filter(|run| {
            options.filters.is_empty() || options.filters.iter().any(|filter| run.id().contains(filter))
        })
        .filter_map(|run| {
            let line = run.expand(run.case.links.first()?);
            // Paths of the machine are of no use in a script.
            let script = script::of(&line, salt(&run.id())).filter(|script| !script.contains('{'))?;
            Some(Session { run, script })
        })
        .collect();
    let every = sessions.len().div_ceil(options.runs.max(1)).max(1);
    let mut at = 0;
    sessions.retain(|_| {
        at += 1;
        (at - 1) % every == 0
    });
    let known = if options.bless { Known::default() } else { Known::read(&options.release)? };
    let verdicts = judge_all(&sessions, &pair, &known, options);
    if options.bless {
        return known::write(&options.release, &verdicts).map(|()| 0);
    }
    Ok(compare::report(&verdicts))
}

/// A number that a run keeps when others come and go.
fn salt(id: &str) -> usize {
    id.bytes().map(usize::from).sum()
}

fn judge_all(
    sessions: &[Session<'_>],
    pair: &Pair,
    known: &Known,
    options: &Options,
) -> Vec<(String, Verdict)> {
    let jobs =
        options.jobs.or_else(|| std::thread::available_parallelism().ok().map(Into::into)).unwrap_or(1);
    let (next, verdicts) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(session) = sessions.get(at) else { break };
                    let verdict = judge(session, pair, known, options.keep).unwrap_or_else(Verdict::Failed);
                    if let Ok(mut verdicts) = verdicts.lock() {
                        verdicts.push((session.run.id(), verdict));
                    }
                }
            });
        }
    });
    let mut verdicts = verdicts.into_inner().unwrap_or_default();
    verdicts.sort_by(|a, b| a.0.cmp(&b.0));
    verdicts
}

fn judge(session: &Session<'_>, pair: &Pair, known: &Known, keep: bool) -> Result<Verdict> {
    let context = &pair.context;
    let name = session.run.id().replace(['/', ':', '['], ".").replace(']', "");
    let folder = context.scratch.join(format!("nvjitlink.{name}.{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    let inputs = match build_inputs(&session.run, context) {
        Ok(inputs) => inputs,
        Err(message) => return Ok(Verdict::Skipped(message)),
    };
    let work = folder.join("work");
    fs::create_dir_all(&work).map_err(|e| at(&work, &e))?;
    for input in &inputs {
        input.place(&work)?;
    }
    let script = folder.join("script");
    let lines = [session.script.as_str(), if pair.gives_lto_ir() { script::LTO_IR } else { "" }].join("\n");
    fs::write(&script, lines.trim_end()).map_err(|e| at(&script, &e))?;
    let mut theirs = perform(&pair.theirs, pair, &script, &work, &folder.join("nvidia"))?;
    let ours = perform(&pair.own, pair, &script, &work, &folder.join("solder"))?;
    // NVIDIA's library prints numbers of barriers that mean nothing.
    if context.release.repeats_barriers() {
        theirs.info = with_barriers_of(&theirs.info, &ours.info);
    }
    let mut verdict = compare::outcomes(&theirs, &ours);
    if let Verdict::Differs(differences) = &verdict
        && known.is(&session.run.id(), differences)
    {
        verdict = Verdict::Deviates;
    }
    if !keep || !matches!(verdict, Verdict::Differs(_)) {
        let _ = fs::remove_dir_all(&folder);
    }
    Ok(verdict)
}

/// Runs the script with one library, in a process of its own.
fn perform(library: &Path, pair: &Pair, script: &Path, work: &Path, out: &Path) -> Result<Outcome> {
    fs::create_dir_all(out).map_err(|e| at(out, &e))?;
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut command = Command::new(own);
    command.arg("nvjitlink-run").args([library, script, out]).current_dir(work);
    pair.surround(&mut command);
    let (ending, mut printed, stderr) = process::watch(&mut command, LIMIT)?;
    printed.extend(stderr);
    let read = |name: &str| fs::read(out.join(name)).ok();
    Ok(Outcome {
        is_whole: ending == Ending::Exit(0),
        ending,
        printed,
        codes: String::from_utf8_lossy(&read("codes").unwrap_or_default()).into_owned(),
        cubin: read("cubin"),
        ptx: read("ptx"),
        lto_ir: read("ltoir"),
        error: read("error").unwrap_or_default(),
        info: read("info").unwrap_or_default(),
    })
}
