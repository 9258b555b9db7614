//! The command line of the runner.

use std::path::PathBuf;
use std::time::Duration;

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub targets: Vec<String>,
    pub runs: Option<u64>,
    pub time: Option<Duration>,
    pub seed: u64,
    pub corpus: Vec<PathBuf>,
    pub keep: Option<PathBuf>,
    pub export: Option<PathBuf>,
    pub nvlink: Option<PathBuf>,
    /// The worker's: where it notes what it does.
    pub notes: Option<PathBuf>,
}

impl Settings {
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
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
