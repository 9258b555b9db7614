//! `solder inspect`: what is inside a cubin, fat binary, host object or archive.
//!
//! Nothing here trusts its input: what cannot be read is said in its place, and the rest is shown.

mod cubin;
mod fatbin;
mod host;
mod item;
mod text;

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::words::{eprint, print};
use crate::json::Json;
use item::{DEEPEST, Item};

const USAGE: &str = "\
usage: solder inspect [--json] FILE…

Says what is inside cubins, fat binaries, host objects, executables and archives: members, architectures, sizes
packed and unpacked, options, kernels and what they need. --json writes the same for programs.
";

pub fn run(words: &[OsString]) -> Result<(), String> {
    let mut json = false;
    let mut files = Vec::new();
    for word in words {
        if word == "--json" {
            json = true;
        } else if word == "-h" || word == "--help" {
            print(USAGE);
            return Ok(());
        } else if word.len() > 1 && word.as_bytes().starts_with(b"-") {
            return Err(format!("unknown option '{}'\n\n{USAGE}", word.to_string_lossy()));
        } else {
            files.push(PathBuf::from(word));
        }
    }
    if files.is_empty() {
        return Err(format!("no file given\n\n{USAGE}"));
    }
    let mut items = Vec::new();
    let mut unread = 0;
    for path in &files {
        match fs::read(path) {
            Ok(data) => items.push(Item::of(&path.to_string_lossy(), &data, path, DEEPEST)),
            Err(error) => {
                eprint(&format!("solder inspect: '{}': {error}\n", path.display()));
                unread += 1;
            }
        }
    }
    if json {
        print(&format!("{}\n", items.iter().map(Item::json).collect::<Json>()));
    } else {
        print(&text::of(&items));
    }
    let damaged = items.iter().filter(|item| item.is_damaged()).count();
    match (unread, damaged) {
        (0, 0) => Ok(()),
        (0, count) => Err(format!("{count} of {} files damaged", files.len())),
        (count, _) => Err(format!("{count} of {} files not read", files.len())),
    }
}
