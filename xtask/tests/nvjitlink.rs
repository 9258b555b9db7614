//! solder's libnvJitLink beside NVIDIA's, as a test of the workspace: the exported names, and some of the runs that `cargo xtask
//! nvjitlink` makes of the cases.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // Each library is called in a process of its own, which is this program.
    if args.first().is_some_and(|arg| arg == "nvjitlink-run") {
        return ExitCode::from(xtask::run(&args));
    }
    // The standard runner's options, and filters that are meant for other tests.
    if !args.is_empty() {
        return ExitCode::SUCCESS;
    }
    let command = ["nvjitlink", "--profile", "dev", "--runs", "150"].map(String::from);
    ExitCode::from(xtask::run(&command))
}
