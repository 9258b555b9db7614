//! What inspect says of the kernels of real libraries, as a test of the workspace.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // What a program takes is measured by a process of its own, which is this program.
    if args.first().is_some_and(|arg| arg == "measure") {
        return ExitCode::from(xtask::run(&args));
    }
    // The standard runner's options, and filters that are meant for other tests.
    if !args.is_empty() {
        return ExitCode::SUCCESS;
    }
    ExitCode::from(xtask::run(&["libraries".into()]))
}
