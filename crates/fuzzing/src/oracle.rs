//! The same damaged links with nvlink: on which of them it crashes or hangs, and what solder says to those.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use solder_fuzzing::link::{Job, Outcome};
use solder_fuzzing::rng::Rng;

use crate::Settings;
use crate::work;

/// nvlink takes milliseconds for links of this size.
const LONGEST: Duration = Duration::from_secs(10);
/// Its address space, in KiB.
const MEMORY: u64 = 4 << 20;

pub fn run(settings: &Settings) -> Result<bool, String> {
    let corpus = work::read_corpus(settings)?;
    let nvlink = settings.nvlink.as_deref().ok_or("no nvlink")?;
    let folder = work::scratch("oracle");
    let mut endings: BTreeMap<String, u64> = BTreeMap::new();
    let mut crashes: BTreeMap<(String, String), Vec<u64>> = BTreeMap::new();
    for seed in settings.seed..settings.seed.saturating_add(settings.runs.unwrap_or(1000)) {
        let job = Job::generate(&mut Rng::new(seed), &corpus);
        let _ = fs::remove_dir_all(&folder);
        job.write(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let ending = ending(nvlink, &job, &folder)?;
        *endings.entry(ending.clone()).or_default() += 1;
        if ending.starts_with("exit") {
            continue;
        }
        let _ = fs::remove_dir_all(&folder);
        let answer = match job.run(&folder)? {
            Outcome::Linked => "links".to_string(),
            Outcome::NoCode => "finds nothing to link".to_string(),
            Outcome::Refused(said) => without_details(&said, &folder),
        };
        crashes.entry((ending, answer)).or_default().push(seed);
    }
    let _ = fs::remove_dir_all(&folder);
    for (ending, count) in &endings {
        println!("nvlink: {ending}: {count}");
    }
    for ((ending, answer), seeds) in &crashes {
        println!("{ending} × {} | {answer} | seeds {:?}", seeds.len(), &seeds[..seeds.len().min(3)]);
    }
    Ok(true)
}

fn ending(nvlink: &Path, job: &Job, folder: &Path) -> Result<String, String> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &format!("ulimit -c 0; ulimit -v {MEMORY}; exec \"$0\" \"$@\"")]).arg(nvlink);
    command.args(job.command_line(Path::new(""))).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|e| format!("nvlink: {e}"))?;
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            return Ok(match (status.code(), status.signal()) {
                (Some(code), _) => format!("exit {code}"),
                (None, signal) => format!("signal {}", signal.unwrap_or_default()),
            });
        }
        if begun.elapsed() > LONGEST {
            child.kill().and_then(|()| child.wait()).map_err(|e| e.to_string())?;
            return Ok("hangs".into());
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// The last message, without what is different for every file.
fn without_details(said: &str, folder: &Path) -> String {
    let message = said.lines().rfind(|line| line.contains(" : ")).unwrap_or("nothing");
    let message = message.replace(&format!("{}/", folder.display()), "");
    let message = message.split_once(" : ").map_or(message.as_str(), |(_, message)| message);
    message.chars().map(|c| if c.is_ascii_digit() { 'N' } else { c }).collect()
}
