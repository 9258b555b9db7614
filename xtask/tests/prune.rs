//! `solder prune` beside nvprune, and real libraries, as a test of the workspace.

use std::process::ExitCode;

fn main() -> ExitCode {
    // The standard runner's options, and filters that are meant for other tests.
    if std::env::args().len() > 1 {
        return ExitCode::SUCCESS;
    }
    ExitCode::from(xtask::run(&["prune".into()]))
}
