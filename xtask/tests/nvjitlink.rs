//! solder's libnvJitLink beside NVIDIA's, as a test of the workspace: the exported names, the runs that `cargo xtask nvjitlink`
//! makes of the cases, and the examples.

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
    let command = |words: &[&str]| {
        let words = ["nvjitlink", "--profile", "dev"].iter().chain(words);
        xtask::run(&words.map(|word| (*word).to_owned()).collect::<Vec<_>>())
    };
    let of_13_4 = ["--release", "13.4", "lto/relocatable:90", "lto/no-ir", "core/weak-variables"];
    let codes = [command(&["examples"]), command(&[]), command(&of_13_4)];
    ExitCode::from(codes.into_iter().max().unwrap_or_default())
}
