//! One run of the program, from the words of the command line to the exit code.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bstr::ByteSlice;

use crate::commands;
use crate::console::Console;
use crate::os::{addresses, signals};
use crate::several;
use crate::single::{self, OWN_NAME};

/// Runs the linker with the program's arguments, the program's own name first; the exit code.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let mut args = args.into_iter();
    let program = args.next().unwrap_or_else(|| OWN_NAME.into());
    let name = Path::new(&program).file_name().unwrap_or(OsStr::new(OWN_NAME));
    let mut words: Vec<OsString> = args.collect();
    if splits_compilation(&words) {
        addresses::settle(&program, &words);
    }
    if name == OWN_NAME {
        if let Some(code) = commands::run(&words) {
            return code;
        }
        if words.first().is_some_and(|word| word == commands::LINK) {
            words.remove(0);
        }
        if let Some(code) = several::run(&words) {
            return code;
        }
    }
    signals::explain_panics();
    single::run(name, words, &Console::default(), None)
}

/// Whether NVIDIA's compiler is asked for threads of its own.
fn splits_compilation(words: &[OsString]) -> bool {
    let has = |is: &dyn Fn(&[u8]) -> bool| {
        words.iter().any(|word| is(word.as_bytes().trim_start_with(|letter| letter == '-')))
    };
    has(&|word| word.starts_with(b"split-compile"))
        && has(&|word| matches!(word, b"lto" | b"dlto" | b"link-time-opt"))
}
