//! `cubin-diff A B [--ignore-tkinfo] [--all]`: 0 if the files are equal, 1 if not, 2 if one of them
//! cannot be read.

use cubin_diff::{Kind, Options, diff, report};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cubin-diff A B [--ignore-tkinfo] [--all]

Says how two cubins differ; `x vs y` is A's value, then B's.
  --ignore-tkinfo  leave out the linker's own entry in .note.nv.tkinfo and the offsets it shifts
  --all            show every difference, not only the first few of each section
Exit status: 0 equal, 1 different, 2 a file cannot be read.";

/// Lines shown for each section.
const FEW: usize = 8;

fn main() -> ExitCode {
    let (mut files, mut options, mut limit) = (Vec::new(), Options::default(), Some(FEW));
    for argument in std::env::args_os().skip(1) {
        match argument.to_str() {
            Some("--ignore-tkinfo") => options.ignore_tkinfo = true,
            Some("--all") => limit = None,
            Some("-h" | "--help") => {
                println!("{USAGE}");
                return ExitCode::SUCCESS;
            }
            Some(other) if other.starts_with("--") => {
                return fail(&format!("unknown option {other}\n{USAGE}"));
            }
            _ => files.push(argument),
        }
    }
    let [a, b] = files.as_slice() else { return fail(USAGE) };
    let read = |path: &std::ffi::OsString| {
        std::fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
    };
    let (a, b) = match (read(a), read(b)) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(message), _) | (_, Err(message)) => return fail(&message),
    };
    let differences = diff(&a, &b, &options);
    let Some(first) = differences.first() else { return ExitCode::SUCCESS };
    print!("{}", report(&differences, limit));
    ExitCode::from(if first.kind == Kind::Unreadable { 2 } else { 1 })
}

fn fail(message: &str) -> ExitCode {
    eprintln!("cubin-diff: {message}");
    ExitCode::from(2)
}
