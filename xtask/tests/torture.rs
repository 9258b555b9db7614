//! A hundred generated programs, over all architectures in turn, as a test of the workspace.

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args().skip(1).any(|arg| arg == "--list") {
        return ExitCode::SUCCESS;
    }
    let command = ["torture", "--seeds", "100", "--spread"].map(String::from);
    ExitCode::from(xtask::run(&command))
}
