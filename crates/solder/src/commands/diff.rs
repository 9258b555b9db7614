//! `solder diff`: how two cubins differ, in the words of the format.

use std::ffi::OsString;
use std::fs;

use cubin_diff::{Options, diff, report};

use super::words::print;

const USAGE: &str = "\
usage: solder diff [--ignore-tkinfo] [--all] A B

Says how two cubins differ: sections, symbols, attributes, relocations, code, and whatever bytes are left. `x vs y` is A's
value, then B's. Other files are compared as bytes; solder extract takes cubins out of them.

  --ignore-tkinfo  leave out the linker's own entry in .note.nv.tkinfo and the offsets it shifts
  --all            show every difference, not only the first few of each section
";

/// Lines shown for each section.
const FEW: usize = 8;

pub fn run(words: &[OsString]) -> Result<(), String> {
    let (mut files, mut options, mut limit) = (Vec::new(), Options::default(), Some(FEW));
    for word in words {
        match word.to_str() {
            Some("-h" | "--help") => {
                print(USAGE);
                return Ok(());
            }
            Some("--ignore-tkinfo") => options.ignore_tkinfo = true,
            Some("--all") => limit = None,
            Some(other) if other.starts_with("--") => {
                return Err(format!("unknown option '{other}'\n\n{USAGE}"));
            }
            _ => files.push(word),
        }
    }
    let [a, b] = files[..] else { return Err(format!("give two files\n\n{USAGE}")) };
    let read = |path: &OsString| fs::read(path).map_err(|error| format!("'{}': {error}", path.display()));
    let differences = diff(&read(a)?, &read(b)?, &options);
    if differences.is_empty() {
        return Ok(());
    }
    print(&report(&differences, limit));
    Err("the files differ".into())
}
