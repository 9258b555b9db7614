//! `solder diff`: how two cubins differ, in the words of the format.

use std::ffi::OsString;
use std::path::Path;

use cubin_diff::{Options, diff, report};

use super::reader::{Known, Reader, Word, flag};
use super::words::{open, print};
use crate::load::Arena;

const USAGE: &str = "\
usage: solder diff [--ignore-tkinfo] [--all] A B

Says how two cubins differ: sections, symbols, attributes, relocations, code, and whatever bytes are left. `x vs y` is A's
value, then B's. Other files are compared as bytes; solder extract takes cubins out of them. The file - is standard input.

  --ignore-tkinfo  leave out the linker's own entry in .note.nv.tkinfo and the offsets it shifts
  --all            show every difference, not only the first few of each section
";

const OPTIONS: [Known; 2] = [flag("--ignore-tkinfo"), flag("--all")];

/// Lines shown for each section.
const FEW: usize = 8;

pub fn run(words: &[OsString]) -> Result<(), String> {
    let (mut files, mut options, mut limit) = (Vec::new(), Options::default(), Some(FEW));
    let mut words = Reader::new(words, &OPTIONS, USAGE);
    while let Some(word) = words.next()? {
        match word {
            Word::File(file) => files.push(file),
            Word::Option("--ignore-tkinfo", _) => options.ignore_tkinfo = true,
            Word::Option("--all", _) => limit = None,
            Word::Option(..) => {
                print(USAGE);
                return Ok(());
            }
        }
    }
    let [a, b] = &files[..] else { return Err(words.wrong("give two files")) };
    let arena = Arena::default();
    let read = |path: &OsString| {
        open(Path::new(path), &arena).map_err(|error| format!("'{}': {error}", path.display()))
    };
    let differences = diff(read(a)?.data, read(b)?.data, &options);
    if differences.is_empty() {
        return Ok(());
    }
    print(&report(&differences, limit));
    Err("the files differ".into())
}
