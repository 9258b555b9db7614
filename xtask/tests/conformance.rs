//! The conformance cases as a test of the workspace: `cargo test` runs them all, and words after `--`
//! are filters.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // The standard runner's options (as `--nocapture` or `--test-threads=1`) have no meaning here.
    if args.iter().any(|arg| arg == "--list") {
        return ExitCode::SUCCESS;
    }
    let filters = args.into_iter().filter(|arg| !arg.starts_with('-')).collect::<Vec<_>>();
    let mut command = vec!["conformance".to_string(), "--none-is-fine".to_string()];
    command.extend(filters);
    ExitCode::from(xtask::run(&command))
}
