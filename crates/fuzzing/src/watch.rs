//! The watcher: starts the worker, ends it when an input takes too long, and starts it again after what ended it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use solder_fuzzing::rng::Rng;
use solder_fuzzing::targets::TARGETS;

use crate::Settings;
use crate::work::{self, FAILURES, NOTES_SIZE, SEED_AT, count_at};

/// An input may take this much of a processor. On a busy machine that is more time than it seems.
const LONGEST: Duration = Duration::from_secs(2);
/// What waits for something without working waits for ever.
const LONGEST_WAIT: Duration = Duration::from_mins(1);
/// The address space of the worker, in KiB: its code and stacks, the inputs and all that is made of them.
const MEMORY: u64 = 1 << 20;

const DEFAULT_TIME: Duration = Duration::from_mins(1);

pub fn run(settings: &Settings) -> Result<bool, String> {
    let scratch = work::scratch("watch");
    fs::create_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
    let outcome = Watch::new(settings, &scratch).and_then(Watch::run);
    let _ = fs::remove_dir_all(&scratch);
    outcome
}

struct Watch<'a> {
    settings: Settings,
    scratch: &'a Path,
    notes: PathBuf,
    begun: Instant,
    counts: [[u64; 2]; TARGETS.len()],
    /// What the worker did not survive: target, seed, how it ended.
    ended: Vec<(String, u64, String)>,
}

impl<'a> Watch<'a> {
    fn new(settings: &Settings, scratch: &'a Path) -> Result<Self, String> {
        let mut settings = settings.clone();
        if settings.runs.is_none() && settings.time.is_none() {
            settings.time = Some(DEFAULT_TIME);
        }
        if let Some(unknown) = settings.targets.iter().find(|name| TARGETS.iter().all(|t| t.name != *name)) {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            return Err(format!("no target is called '{unknown}'; there are {}", names.join(", ")));
        }
        let notes = scratch.join("notes");
        fs::write(&notes, vec![0; NOTES_SIZE]).map_err(|e| e.to_string())?;
        let counts = [[0; 2]; TARGETS.len()];
        Ok(Self { settings, scratch, notes, begun: Instant::now(), counts, ended: Vec::new() })
    }

    fn run(mut self) -> Result<bool, String> {
        let (mut seed, end) =
            (self.settings.seed, self.settings.seed.saturating_add(self.settings.runs.unwrap_or(u64::MAX)));
        while seed < end && self.settings.time.is_none_or(|time| self.begun.elapsed() < time) {
            let mut child = self.start(seed, end - seed)?;
            let ending = self.watch(&mut child)?;
            self.add_counts();
            let Some(ending) = ending else { break };
            let last = self.note(SEED_AT);
            if last == 0 {
                return Err(format!("the worker did not start: {ending}"));
            }
            let target = work::target_of(&self.settings, last).map_or("?", |target| target.name);
            self.keep(last);
            self.ended.push((target.to_string(), last, ending));
            seed = last + 1;
        }
        Ok(self.report())
    }

    fn start(&self, seed: u64, runs: u64) -> Result<Child, String> {
        fs::write(&self.notes, vec![0; NOTES_SIZE]).map_err(|e| e.to_string())?;
        let program = std::env::current_exe().map_err(|e| e.to_string())?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!("ulimit -c 0; ulimit -v {MEMORY}; exec \"$0\" \"$@\"")]).arg(program);
        // Without a path nothing is found that assembles.
        command.env_clear().env("PATH", "/nowhere").stdin(Stdio::null()).stdout(Stdio::null());
        if let Some(profile) = std::env::var_os("LLVM_PROFILE_FILE") {
            command.env("LLVM_PROFILE_FILE", profile);
        }
        command.arg("--notes").arg(&self.notes).arg("--seed").arg(seed.to_string());
        command.arg("--runs").arg(runs.to_string());
        if let Some(time) = self.settings.time {
            let left = time.saturating_sub(self.begun.elapsed()).as_secs().max(1);
            command.arg("--seconds").arg(left.to_string());
        }
        for target in &self.settings.targets {
            command.arg("--target").arg(target);
        }
        for folder in &self.settings.corpus {
            command.arg("--corpus").arg(folder);
        }
        if let Some(folder) = &self.settings.keep {
            command.arg("--keep").arg(folder);
        }
        let errors = fs::File::create(self.scratch.join("errors")).map_err(|e| e.to_string())?;
        command.stderr(errors).spawn().map_err(|e| format!("cannot start the worker: {e}"))
    }

    /// Waits for the worker's end; `None` if it did all that it was to do.
    fn watch(&self, child: &mut Child) -> Result<Option<String>, String> {
        let mut last = (0, Instant::now(), Duration::ZERO);
        loop {
            if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
                return Ok(self.ending(status));
            }
            let (seed, used) = (self.note(SEED_AT), processor_time(child.id()));
            if seed != last.0 || seed == 0 {
                last = (seed, Instant::now(), used);
            } else if used.saturating_sub(last.2) > LONGEST || last.1.elapsed() > LONGEST_WAIT {
                child.kill().and_then(|()| child.wait()).map_err(|e| e.to_string())?;
                return Ok(Some("hangs".into()));
            }
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn ending(&self, status: ExitStatus) -> Option<String> {
        let said = fs::read_to_string(self.scratch.join("errors")).unwrap_or_default();
        let said = said.lines().find(|line| !line.is_empty()).unwrap_or_default();
        match (status.code(), status.signal()) {
            (Some(0), _) => None,
            (Some(code), _) => Some(format!("exit {code}: {said}")),
            (None, signal) => Some(format!("signal {}: {said}", signal.unwrap_or_default())),
        }
    }

    fn note(&self, at: u64) -> u64 {
        let notes = fs::read(&self.notes).unwrap_or_default();
        let at = at as usize;
        notes.get(at..at + 8).and_then(|word| word.try_into().ok()).map_or(0, u64::from_le_bytes)
    }

    fn add_counts(&mut self) {
        for index in 0..TARGETS.len() {
            for part in 0..2 {
                self.counts[index][part] += self.note(count_at(index, part));
            }
        }
    }

    /// Makes the input again that the worker did not survive.
    fn keep(&self, seed: u64) {
        let (Ok(corpus), Some(target)) =
            (work::read_corpus(&self.settings), work::target_of(&self.settings, seed))
        else {
            return;
        };
        work::keep(&self.settings, target, seed, &target.generate(&mut Rng::new(seed), &corpus));
    }

    fn report(self) -> bool {
        let listed = fs::read_to_string(self.scratch.join(FAILURES)).unwrap_or_default();
        let mut kinds: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
        for line in listed.lines() {
            let mut words = line.splitn(3, ' ');
            let (Some(target), Some(seed), Some(reason)) = (words.next(), words.next(), words.next()) else {
                continue;
            };
            kinds.entry(reason.to_string()).or_default().push((target.to_string(), seed.to_string()));
        }
        for (target, seed, reason) in self.ended {
            kinds.entry(reason).or_default().push((target, seed.to_string()));
        }
        let seconds = self.begun.elapsed().as_secs_f64();
        for (target, [count, accepted]) in
            TARGETS.iter().zip(self.counts).filter(|(_, [count, _])| *count > 0)
        {
            println!("{:<12} {count:>9} inputs, {accepted:>9} accepted", target.name);
        }
        let total: u64 = self.counts.iter().map(|[count, _]| count).sum();
        for (reason, seeds) in &kinds {
            println!("{} × {reason}", seeds.len());
            for (target, seed) in seeds.iter().take(3) {
                println!("    cargo xtask fuzz --target {target} --seed {seed} --runs 1");
            }
        }
        let failed: usize = kinds.values().map(Vec::len).sum();
        println!("{total} inputs in {seconds:.0} s from seed {}, {failed} failures", self.settings.seed);
        failed == 0
    }
}

/// The time that a process has had of a processor, in user and system.
fn processor_time(id: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // Behind the name, which may hold blanks, come the state and then numbers; a tick is a hundredth of a second.
    let fields = stat.rsplit(')').next().unwrap_or_default().split(' ');
    let ticks: u64 = fields.skip(12).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}
