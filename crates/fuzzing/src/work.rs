//! The worker: makes inputs and feeds them to their targets until it is done or does not survive one.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::panic;
use std::path::{Path, PathBuf};
use std::time::Instant;

use solder_fuzzing::corpus::Corpus;
use solder_fuzzing::link::Job;
use solder_fuzzing::rng::Rng;
use solder_fuzzing::targets::{TARGETS, Target};

use crate::Settings;

/// In the notes: the seed in progress, then for each target how many inputs it has had, and accepted.
pub const SEED_AT: u64 = 0;
const COUNTS_AT: u64 = 8;
pub const NOTES_SIZE: usize = 8 + 16 * TARGETS.len();

pub fn count_at(target: usize, part: usize) -> u64 {
    COUNTS_AT + 16 * target as u64 + 8 * part as u64
}

/// Failures, a line each, in a file beside the notes.
pub const FAILURES: &str = "failures";

/// Of a hundred inputs without a chosen target, as many are whole links.
const LINKS: usize = 50;

thread_local! {
    /// Where and why the last panic was.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The target of a seed.
pub fn target_of(settings: &Settings, seed: u64) -> Option<&'static Target> {
    let mut rng = Rng::new(seed ^ 0x7461_7267_6574);
    let chosen = match settings.targets.as_slice() {
        [] if rng.percent(LINKS) => "link",
        [] => TARGETS[rng.below(TARGETS.len() - 1)].name,
        names => names[rng.below(names.len())].as_str(),
    };
    Target::named(chosen)
}

/// A folder in memory where there is one.
pub fn scratch(name: &str) -> PathBuf {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    base.join(format!("solder-fuzz-{name}-{}", std::process::id()))
}

pub fn run(settings: &Settings) -> Result<bool, String> {
    let corpus = read_corpus(settings)?;
    let notes = settings.notes.as_deref().ok_or("no notes")?;
    let state =
        OpenOptions::new().write(true).open(notes).map_err(|e| format!("{}: {e}", notes.display()))?;
    let mut failures = File::options()
        .append(true)
        .create(true)
        .open(notes.with_file_name(FAILURES))
        .map_err(|e| e.to_string())?;
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(|at| format!("{}:{}", at.file(), at.line())).unwrap_or_default();
        let text = info.payload_as_str().unwrap_or("a panic").lines().next().unwrap_or_default().to_string();
        PANIC.with_borrow_mut(|last| *last = format!("panic at {place}: {text}"));
    }));
    let folder = notes.with_file_name("files");
    let begun = Instant::now();
    let mut counts = [[0u64; 2]; TARGETS.len()];
    for seed in settings.seed..settings.seed.saturating_add(settings.runs.unwrap_or(u64::MAX)) {
        if settings.time.is_some_and(|time| begun.elapsed() > time) {
            break;
        }
        let target = target_of(settings, seed).ok_or("no such target")?;
        let note = |bytes: [u8; 8], at: u64| state.write_all_at(&bytes, at).map_err(|e| e.to_string());
        note(seed.to_le_bytes(), SEED_AT)?;
        let mut input = Vec::new();
        let outcome = survive(&folder, || {
            input = target.generate(&mut Rng::new(seed), &corpus);
            (target.run)(&input, &folder)
        });
        if let Err(reason) = &outcome {
            keep(settings, target, seed, &input);
            writeln!(failures, "{} {seed} {reason}", target.name).map_err(|e| e.to_string())?;
        }
        let index = TARGETS.iter().position(|known| known.name == target.name).unwrap_or_default();
        counts[index][0] += 1;
        counts[index][1] += u64::from(outcome == Ok(true));
        for (part, count) in counts[index].into_iter().enumerate() {
            note(count.to_le_bytes(), count_at(index, part))?;
        }
    }
    Ok(true)
}

pub fn read_corpus(settings: &Settings) -> Result<Corpus, String> {
    let corpus = Corpus::read(&settings.corpus);
    if corpus.devices.is_empty() { Err("the corpus holds no device code".into()) } else { Ok(corpus) }
}

fn survive(folder: &Path, work: impl FnOnce() -> Result<bool, String>) -> Result<bool, String> {
    let _ = fs::remove_dir_all(folder);
    match panic::catch_unwind(panic::AssertUnwindSafe(work)) {
        Ok(kept) => kept,
        Err(_) => Err(PANIC.with_borrow(String::clone)),
    }
}

/// Puts the input of a failure where it can be looked at.
pub fn keep(settings: &Settings, target: &Target, seed: u64, input: &[u8]) {
    let Some(folder) = &settings.keep else { return };
    let folder = folder.join(format!("{}-{seed}", target.name));
    let written = if matches!(target.name, "link" | "reports") {
        let job = Job::from_bytes(input);
        let line = job.command_line(Path::new("")).join(" ");
        job.write(&folder).and_then(|()| fs::write(folder.join("command"), line))
    } else {
        fs::create_dir_all(&folder).and_then(|()| fs::write(folder.join("input"), input))
    };
    drop(written);
}

/// Writes samples for each target, to begin with under libFuzzer.
pub fn export(settings: &Settings) -> Result<bool, String> {
    let corpus = read_corpus(settings)?;
    let to = settings.export.as_deref().ok_or("no folder")?;
    for target in &TARGETS {
        let folder = to.join(target.name);
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        for seed in 0..settings.runs.unwrap_or(200) {
            let sample = (target.sample)(&mut Rng::new(seed), &corpus);
            fs::write(folder.join(format!("sample-{seed}")), sample).map_err(|e| e.to_string())?;
        }
    }
    Ok(true)
}
