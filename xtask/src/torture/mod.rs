//! `cargo xtask torture`: seeded random programs, linked by nvlink and by solder, and compared.

mod execute;
mod features;
mod generate;
mod program;
mod reduce;
mod render;
pub(crate) mod rng;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Result;
use crate::assembler::{RELEASES, Release};
use crate::jit::{self, published};
use crate::toolkit::{ORACLE, Toolkit};
use execute::{Bench, Form, Judge, Verdict};
use render::Arch;
use solder_arch::{MERCURY_FROM, Target};

const USAGE: &str = "\
usage: cargo xtask torture [OPTION…]

Links seeded random programs with nvlink and with solder (SOLDER_BIN, or a release build) and compares
files, messages and exit codes. Prints the seeds that differ and how often each construct occurred.

  --toolkit R     compare with the nvlink of this release, such as 13.2 (13.0)
  --library R     compare with the libnvJitLink of this release instead, such as 12.6, whose own assembler makes the
                  modules: only what is made, and whether there is an error
  --seeds N       how many seeds (100)
  --from S        the first one (0)
  --seed S        this one only
  --arch LIST     architectures, such as 75,90a,100f, of those that the release knows (all below 100)
  --spread        one architecture per seed, in turn, instead of all
  --form FORM     exec, r or r-then-link: executable (default) or relocatable links, or executable
                  links of what nvlink's relocatable links made of some of the modules
  --option TEXT   give every link this option too
  --ptxas LIST    assemblers of these releases: 12.4 and so on, 13.0 for the toolkit's own, mixed for all. Of
                  several that know the architecture each module takes another
  --assemble TEXT give every assembler this option too, such as --position-independent-code=true
  --feature LIST  ask for these constructs in every program
  --keep DIR      leave every program's files in DIR/SEED-ARCH
  --oracle-only   do not run solder: checks the generator
  --check COMMAND instead of solder, a shell command in the folder of nvlink's link (nvlink.cubin,
                  nvlink.stderr, m0.cubin …; $ARCH) decides: an exit code other than 0 is a difference
  --reduce S      make the failing program of seed S as small as possible; leaves its files in
                  the folder of --keep, or in target/torture
  --like TEXT     with --reduce: keep a difference that holds TEXT instead of one like the first
  --jobs N        programs at a time (the machine's cores)";

/// The architectures of a release, by number. Those with a Mercury view are not among the default.
fn known(release: &'static solder_arch::Release) -> impl Iterator<Item = Arch> {
    release.archs().iter().filter_map(|arch| {
        let target = Target::sm(*arch).to_string();
        let name = release.names().iter().find(|name| **name == target)?;
        Some(Arch { name, sm: u32::from(arch.number) })
    })
}

/// Differences printed for one program; the rest is seldom news.
const SHOWN: usize = 6;

struct Settings {
    toolkit: &'static Toolkit,
    /// Instead of the toolkit's nvlink.
    library: Option<&'static published::Library>,
    seeds: u64,
    from: u64,
    archs: Vec<Arch>,
    spread: bool,
    form: Form,
    options: Vec<String>,
    /// None for the toolkit's own assembler.
    assemblers: Vec<Option<&'static Release>>,
    /// Options for the assemblers.
    assemble: Vec<String>,
    wanted: Vec<String>,
    keep: Option<PathBuf>,
    judge: Judge,
    reduce: Option<u64>,
    like: Option<String>,
    jobs: usize,
}

pub fn run(args: &[String]) -> Result<u8> {
    let Some(mut settings) = parse(args)? else {
        println!("{USAGE}");
        return Ok(0);
    };
    let knows = |arch: &Arch| {
        let mut assemblers = settings.assemblers.iter();
        let known = |release: &'static Release| release.knows(arch.name);
        settings.assemblers.is_empty() || assemblers.any(|release| release.is_none_or(known))
    };
    settings.archs = settings.archs.iter().copied().filter(knows).collect();
    if settings.archs.is_empty() {
        return Err("torture: the assemblers know none of the architectures".into());
    }
    let judge = std::mem::replace(&mut settings.judge, Judge::Nobody);
    let mut bench =
        Bench::new(settings.toolkit, settings.form, settings.options.clone(), &settings.assemblers, judge)?;
    bench.assemble.clone_from(&settings.assemble);
    if let Some(library) = settings.library {
        (bench.library, bench.version) = (Some(jit::link::Library::new(library)?), library.name);
    }
    match settings.reduce {
        Some(seed) => reduce_seed(&bench, &settings, seed),
        None => run_seeds(&bench, &settings),
    }
}

fn parse(args: &[String]) -> Result<Option<Settings>> {
    let library = value_of(args, "--library")
        .map(published::Library::find)
        .transpose()
        .map_err(|e| format!("torture: {e}"))?;
    let toolkit = toolkit(args, library)?;
    let release = match library {
        Some(library) => library.release().map_err(|e| format!("torture: {e}"))?,
        None => toolkit.release()?,
    };
    let mut settings = Settings {
        toolkit,
        library,
        seeds: 100,
        from: 0,
        archs: known(release).filter(|arch| arch.sm < u32::from(MERCURY_FROM)).collect(),
        spread: false,
        form: Form::Executable,
        options: Vec::new(),
        assemblers: Vec::new(),
        assemble: Vec::new(),
        wanted: Vec::new(),
        keep: None,
        judge: Judge::Solder,
        reduce: None,
        like: None,
        jobs: std::thread::available_parallelism().map_or(2, usize::from),
    };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let (name, joined) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (word.as_str(), None),
        };
        let mut value = || {
            joined
                .clone()
                .or_else(|| words.next().cloned())
                .ok_or_else(|| format!("torture: {name} needs a value"))
        };
        match name {
            "--seeds" => settings.seeds = number(&value()?)?,
            "--from" => settings.from = number(&value()?)?,
            "--seed" => (settings.from, settings.seeds) = (number(&value()?)?, 1),
            "--toolkit" | "--library" => drop(value()?),
            "--arch" => settings.archs = archs(&value()?, release)?,
            "--spread" => settings.spread = true,
            "--form" => settings.form = form(&value()?)?,
            "--option" => settings.options.push(value()?),
            "--ptxas" => settings.assemblers.extend(assemblers(&value()?, toolkit)?),
            "--assemble" => settings.assemble.push(value()?),
            "--feature" => settings.wanted.extend(constructs(&value()?)?),
            "--keep" => settings.keep = Some(PathBuf::from(value()?)),
            "--oracle-only" => settings.judge = Judge::Nobody,
            "--check" => settings.judge = Judge::Command(value()?),
            "--reduce" => settings.reduce = Some(number(&value()?)?),
            "--like" => settings.like = Some(value()?),
            "--jobs" | "-j" => settings.jobs = number(&value()?)?.max(1) as usize,
            "-h" | "--help" => return Ok(None),
            other => return Err(format!("torture: unexpected argument '{other}'\n\n{USAGE}")),
        }
    }
    if settings.assemblers.is_empty() {
        settings.assemblers.extend(library.map(published::Library::assembler));
    }
    Ok(Some(settings))
}

/// The value of an option, wherever it is: which architectures there are depends on some, which are looked for first.
fn value_of<'a>(args: &'a [String], name: &str) -> Option<&'a str> {
    args.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(name)? {
        "" => args.get(at + 1).map(String::as_str),
        joined => joined.strip_prefix('='),
    })
}

fn toolkit(args: &[String], library: Option<&published::Library>) -> Result<&'static Toolkit> {
    let toolkit = match (value_of(args, "--toolkit"), library) {
        (Some(name), _) => Toolkit::find(name),
        (None, Some(library)) => library.toolkit(),
        (None, None) => Toolkit::find(ORACLE.name),
    };
    toolkit.map_err(|e| format!("torture: {e}"))
}

fn number(text: &str) -> Result<u64> {
    text.parse().map_err(|_| format!("torture: '{text}' is no number"))
}

fn form(text: &str) -> Result<Form> {
    match text {
        "exec" => Ok(Form::Executable),
        "r" => Ok(Form::Relocatable),
        "r-then-link" => Ok(Form::RelocatableThenLink),
        _ => Err(format!("torture: '{text}' is none of exec, r and r-then-link")),
    }
}

fn archs(list: &str, release: &'static solder_arch::Release) -> Result<Vec<Arch>> {
    let words = list.split([',', ' ']).filter(|word| !word.is_empty());
    words
        .map(|word| {
            let number = word.trim_start_matches("sm_");
            let found = known(release).find(|arch| &arch.name[3..] == number);
            found.ok_or_else(|| format!("torture: '{word}' is no architecture that is known"))
        })
        .collect()
}

/// `mixed` is every release, the toolkit's own included.
fn assemblers(list: &str, toolkit: &Toolkit) -> Result<Vec<Option<&'static Release>>> {
    let mut found = Vec::new();
    for word in list.split([',', ' ']).filter(|word| !word.is_empty()) {
        match word {
            name if name == toolkit.name => found.push(None),
            "mixed" => {
                found.extend(RELEASES.iter().map(Some));
                found.push(None);
            }
            _ => found.push(Some(Release::find(word).map_err(|e| format!("torture: {e}"))?)),
        }
    }
    Ok(found)
}

fn constructs(list: &str) -> Result<Vec<String>> {
    let words = list.split(',').filter(|word| !word.is_empty());
    words
        .map(|word| {
            if features::FEATURES.iter().any(|(name, _)| *name == word) {
                return Ok(word.to_string());
            }
            let names: Vec<_> = features::FEATURES.iter().map(|(name, _)| *name).collect();
            Err(format!("torture: no construct '{word}'; there are {}", names.join(", ")))
        })
        .collect()
}

/// What all the links of a run came to.
#[derive(Default)]
struct Tally {
    same: usize,
    linked: usize,
    differing: Vec<String>,
    rejected: usize,
    no_oracle: usize,
    constructs: BTreeMap<&'static str, usize>,
    /// Constructs of the programs that differ: which of them to suspect.
    suspects: BTreeMap<&'static str, usize>,
}

fn run_seeds(bench: &Bench, settings: &Settings) -> Result<u8> {
    let jobs: Vec<(u64, Arch)> = (settings.from..settings.from + settings.seeds)
        .flat_map(|seed| {
            let archs = if settings.spread {
                vec![settings.archs[seed as usize % settings.archs.len()]]
            } else {
                settings.archs.clone()
            };
            archs.into_iter().map(move |arch| (seed, arch))
        })
        .collect();
    let scratch = std::env::temp_dir().join(format!("solder-torture-{}", std::process::id()));
    let next = AtomicUsize::new(0);
    let tally = Mutex::new(Tally::default());
    let failure = Mutex::new(None);
    std::thread::scope(|scope| {
        for worker in 0..settings.jobs {
            let (jobs, next, tally, failure, scratch) = (&jobs, &next, &tally, &failure, &scratch);
            scope.spawn(move || {
                let own = scratch.join(worker.to_string());
                while let Some((seed, arch)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let folder = match &settings.keep {
                        Some(keep) => keep.join(format!("{seed}-{}", arch.name)),
                        None => own.clone(),
                    };
                    match one(bench, settings, *seed, *arch, &folder) {
                        Ok(verdict) => record(tally, settings, *seed, *arch, &verdict),
                        Err(message) => {
                            *failure.lock().unwrap() = Some(message);
                            next.store(jobs.len(), Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    let _ = std::fs::remove_dir_all(&scratch);
    if let Some(message) = failure.into_inner().unwrap() {
        return Err(message);
    }
    let mut tally = tally.into_inner().unwrap();
    for seed in settings.from..settings.from + settings.seeds {
        for name in features::of(&generate::program(seed, &settings.wanted)) {
            *tally.constructs.entry(name).or_default() += 1;
        }
    }
    print_tally(&tally, settings, jobs.len());
    Ok(u8::from(!tally.differing.is_empty() || tally.rejected > 0))
}

fn one(bench: &Bench, settings: &Settings, seed: u64, arch: Arch, folder: &Path) -> Result<Verdict> {
    bench.run(&generate::program(seed, &settings.wanted), arch, folder)
}

fn record(tally: &Mutex<Tally>, settings: &Settings, seed: u64, arch: Arch, verdict: &Verdict) {
    let mut tally = tally.lock().unwrap();
    match verdict {
        Verdict::Same { linked } => {
            tally.same += 1;
            tally.linked += usize::from(*linked);
        }
        Verdict::Rejected(message) => {
            println!("seed {seed} {}: the assembler refused it: {message}", arch.name);
            tally.rejected += 1;
        }
        Verdict::NoOracle(ending) => {
            println!("seed {seed} {}: nvlink gives no answer ({ending})", arch.name);
            tally.no_oracle += 1;
        }
        Verdict::Differs(lines) => {
            println!("seed {seed} {}:", arch.name);
            for line in lines.iter().take(SHOWN) {
                println!("    {line}");
            }
            if lines.len() > SHOWN {
                println!("    … {} more", lines.len() - SHOWN);
            }
            tally.differing.push(format!("{seed} {}", arch.name));
            for name in features::of(&generate::program(seed, &settings.wanted)) {
                *tally.suspects.entry(name).or_default() += 1;
            }
        }
    }
}

fn print_tally(tally: &Tally, settings: &Settings, links: usize) {
    println!("\nconstructs in {} programs", settings.seeds);
    for (name, count) in &tally.constructs {
        let permille = 1000 * *count as u64 / settings.seeds.max(1);
        let suspect = match tally.suspects.get(name) {
            Some(suspect) => format!("   in {suspect} that differ"),
            None => String::new(),
        };
        println!("{count:7} {:3}.{} %  {name}{suspect}", permille / 10, permille % 10);
    }
    println!(
        "\n{links} links: {} the same ({} of them with a file), {} differ, {} refused by the assembler, \
         {} without an answer of nvlink",
        tally.same,
        tally.linked,
        tally.differing.len(),
        tally.rejected,
        tally.no_oracle
    );
    if let Some(first) = tally.differing.first() {
        let (seed, arch) = first.split_once(' ').unwrap_or((first, ""));
        let wanted = if settings.wanted.is_empty() {
            String::new()
        } else {
            format!(" --feature {}", settings.wanted.join(","))
        };
        println!("differing: {}", tally.differing.join(", "));
        println!("one again:  cargo xtask torture --seed {seed} --arch {arch}{wanted} --keep DIR");
        println!("smaller:    cargo xtask torture --reduce {seed} --arch {arch}{wanted}");
    }
}

/// A difference without its numbers and quoted names: what stays of it while the program shrinks.
fn kind_of(line: &str) -> String {
    let unquoted: Vec<_> = line.split('\'').step_by(2).collect();
    let words = unquoted.concat();
    let words = words.split_whitespace().filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
    words.take(4).collect::<Vec<_>>().join(" ")
}

fn reduce_seed(bench: &Bench, settings: &Settings, seed: u64) -> Result<u8> {
    let program = generate::program(seed, &settings.wanted);
    let folder = settings.keep.clone().unwrap_or_else(|| {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/torture").join(seed.to_string())
    });
    let differences = |program: &program::Program, arch: Arch| match bench.run(program, arch, &folder) {
        Ok(Verdict::Differs(lines)) => lines,
        Ok(_) => Vec::new(),
        Err(message) => {
            eprintln!("xtask: {message}");
            Vec::new()
        }
    };
    let first = |arch: &Arch| differences(&program, *arch).first().map(|line| (*arch, kind_of(line)));
    let Some((arch, kind)) = settings.archs.iter().find_map(first) else {
        println!("seed {seed} does not differ on any of the architectures");
        return Ok(0);
    };
    let wanted = settings.like.clone().unwrap_or(kind);
    let mut tried = 0usize;
    let smallest = reduce::reduce(program.clone(), |candidate| {
        tried += 1;
        let lines = differences(candidate, arch);
        lines.iter().any(|line| kind_of(line) == wanted || line.contains(&wanted))
    });
    let verdict = bench.run(&smallest, arch, &folder)?;
    let constructs: Vec<_> = features::of(&smallest).into_iter().collect();
    println!("seed {seed} {}: {tried} programs tried, left: {}", arch.name, constructs.join(", "));
    if let Verdict::Differs(lines) = verdict {
        for line in lines.iter().take(4 * SHOWN) {
            println!("    {line}");
        }
    }
    println!("files in {}", folder.display());
    Ok(1)
}
