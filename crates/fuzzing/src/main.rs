//! The runner on stable Rust: seeded inputs, a process that works and one that watches it.
//!
//! An input follows from the corpus, the target and its seed alone. The worker notes the seed before each input, so
//! that a crash, a hang or memory without end leads back to it.

mod oracle;
mod settings;
mod watch;
mod work;

use settings::Settings;
use std::process::ExitCode;

const USAGE: &str = "\
usage: solder-fuzz [--target NAME]… [--runs N | --minutes N | --seconds N] [--seed S] [--corpus DIR]… [--keep DIR]
                   [--export DIR] [--nvlink FILE]

Feeds damaged inputs to the readers and to whole links. Without --target all targets take turns, whole links most
often. The run that failed is repeated with the command that the report prints; --keep puts its input files there.
--export writes a corpus for each target and runs nothing. --nvlink runs that program on the links instead, and lists
those on which it crashes or hangs with what solder says to them.";

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
