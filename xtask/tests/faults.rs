//! Faults from outside, each tried a few times, as a test of the workspace.

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args().skip(1).any(|arg| arg == "--list") {
        return ExitCode::SUCCESS;
    }
    let command = ["faults", "--short"].map(String::from);
    ExitCode::from(xtask::run(&command))
}
