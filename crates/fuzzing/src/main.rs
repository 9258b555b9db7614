//! The runner on stable Rust: seeded inputs, a process that works and one that watches it.
//!
//! An input follows from the corpus, the target and its seed alone. The worker notes the seed before each input, so
//! that a crash, a hang or memory without end leads back to it.

mod oracle;
mod watch;
mod work;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "\
usage: solder-fuzz [--target NAME]… [--runs N | --minutes N | --seconds N] [--seed S] [--corpus DIR]… [--keep DIR]
                   [--export DIR] [--nvlink FILE]

Feeds damaged inputs to the readers and to whole links. Without --target all targets take turns, whole links most
often. The run that failed is repeated with the command that the report prints; --keep puts its input files there.
--export writes a corpus for each target and runs nothing. --nvlink runs that program on the links instead, and lists
those on which it crashes or hangs with what solder says to them.";

/// What was asked for.
#[derive(Clone, Debug, Default)]
struct Settings {
    targets: Vec<String>,
    runs: Option<u64>,
    time: Option<Duration>,
    seed: u64,
    corpus: Vec<PathBuf>,
    keep: Option<PathBuf>,
    export: Option<PathBuf>,
    nvlink: Option<PathBuf>,
    /// The worker's: where it notes what it does.
    notes: Option<PathBuf>,
}

impl Settings {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut settings = Self { seed: 1, ..Self::default() };
        while let Some(word) = words.next() {
            if matches!(word.as_str(), "-h" | "--help") {
                return Ok(None);
            }
            let value = words.next().ok_or(format!("{word} needs a value"))?;
            let number = || value.parse::<u64>().map_err(|_| format!("{word} {value}: not a number"));
            match word.as_str() {
                "--target" => settings.targets.push(value),
                "--runs" => settings.runs = Some(number()?),
                "--minutes" => settings.time = Some(Duration::from_mins(number()?)),
                "--seconds" => settings.time = Some(Duration::from_secs(number()?)),
                "--seed" => settings.seed = number()?,
                "--corpus" => settings.corpus.push(value.into()),
                "--keep" => settings.keep = Some(value.into()),
                "--export" => settings.export = Some(value.into()),
                "--nvlink" => settings.nvlink = Some(value.into()),
                "--notes" => settings.notes = Some(value.into()),
                _ => return Err(format!("unknown option '{word}'")),
            }
        }
        Ok(Some(settings))
    }
}

fn main() -> ExitCode {
    let outcome = match Settings::parse(std::env::args().skip(1)) {
        Ok(None) => {
            println!("{USAGE}");
            Ok(true)
        }
        Ok(Some(settings)) if settings.notes.is_some() => work::run(&settings),
        Ok(Some(settings)) if settings.export.is_some() => work::export(&settings),
        Ok(Some(settings)) if settings.nvlink.is_some() => oracle::run(&settings),
        Ok(Some(settings)) => watch::run(&settings),
        Err(reason) => Err(format!("{reason}\n\n{USAGE}")),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            eprintln!("solder-fuzz: {reason}");
            ExitCode::from(2)
        }
    }
}
