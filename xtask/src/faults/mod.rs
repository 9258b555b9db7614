//! `cargo xtask faults`: what happens to the files when something goes wrong outside of the linker.

mod assembler;
mod changes;
mod determinism;
mod endings;
mod output;
mod setup;

use crate::Result;
use setup::{ALWAYS, BIG, Context, LIMIT, OUTPUT, SMALL, Scratch, expect, get, mode, put, refused, same};

const USAGE: &str = "\
usage: cargo xtask faults [--short] [NAME…]

Kills and interrupts links, takes away space and permissions, changes inputs while they are linked, replaces the
assembler by ones that hang and crash, and looks at what is left. --short does each a few times instead of hundreds.
SOLDER_BIN names a linker to test instead of building solder.";

/// One fault: its name and what tries it. The text says what was done, the failure what went wrong.
type Fault = (&'static str, fn(&Context) -> Result<String>);

const FAULTS: [Fault; 19] = [
    ("killed", endings::killed),
    ("interrupted", endings::interrupted),
    ("closed-streams", endings::closed_streams),
    ("too-large", output::too_large),
    ("disk-full", output::disk_full),
    ("full-device", output::full_device),
    ("unwritable", output::unwritable),
    ("over-an-input", output::over_an_input),
    ("symbolic-links", output::symbolic_links),
    ("no-regular-file", output::no_regular_file),
    ("read-only-inputs", output::read_only_inputs),
    ("concurrent", output::concurrent),
    ("input-cut-short", changes::cut_short),
    ("input-rewritten", changes::rewritten),
    ("input-replaced", changes::replaced),
    ("inputs-in-motion", changes::in_motion),
    ("assembler", assembler::misbehaving),
    ("assembler-hangs", assembler::hanging),
    ("determinism", determinism::same_bytes),
];

pub fn run(args: &[String]) -> Result<u8> {
    if args.iter().any(|arg| arg == "-h" || arg == "--help") {
        println!("{USAGE}");
        return Ok(0);
    }
    let short = args.iter().any(|arg| arg == "--short");
    let names: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let wanted = |(name, _): &&Fault| names.is_empty() || names.iter().any(|wanted| name.contains(&**wanted));
    let context = Context::new(short)?;
    let (mut passed, mut failed) = (0, 0);
    for (name, fault) in FAULTS.iter().filter(wanted) {
        match fault(&context) {
            Ok(text) => {
                passed += 1;
                println!("{name}: {text}");
            }
            Err(reason) => {
                failed += 1;
                println!("{name}: FAILED\n  {}", reason.replace('\n', "\n  "));
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    Ok(u8::from(failed > 0))
}
