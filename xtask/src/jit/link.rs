//! The linker of a release whose nvlink cannot be had: its libnvJitLink, which makes the same cubins.

use super::{published, script};
use crate::Result;
use crate::cache::at;
use crate::process::{self, Ending};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// What the log says of an input that is not even looked into.
const REFUSED: &[u8] = b"ERROR 3: bad input:";

/// The library of one release.
pub struct Library(PathBuf);

/// What came of a link with it.
pub enum Linked {
    /// The image, if there was no error.
    Done(Option<Vec<u8>>),
    /// It crashed, or does not have the options.
    NoOracle(String),
}

impl Library {
    pub fn new(of: &published::Library) -> Result<Self> {
        Ok(Self(of.ensure()?))
    }

    /// Links in a process of its own, from memory.
    pub fn link(&self, arguments: &[String], folder: &Path, limit: Duration) -> Result<Linked> {
        let Some(script) = script::from_memory(arguments) else {
            return Ok(Linked::NoOracle("the library does not have these options".into()));
        };
        let (path, out) = (folder.join("script"), folder.join("library"));
        fs::write(&path, script).map_err(|e| at(&path, &e))?;
        fs::create_dir_all(&out).map_err(|e| at(&out, &e))?;
        let own = std::env::current_exe().map_err(|e| e.to_string())?;
        let mut command = Command::new(own);
        command.arg("nvjitlink-run").args([&self.0, &path, &out]).current_dir(folder);
        let (ending, printed, more) = process::watch(&mut command, limit)?;
        if ending != Ending::Exit(0) {
            return Ok(Linked::NoOracle(ending.to_string()));
        }
        // It prints some errors that end a link of nvlink, and goes on.
        let log = fs::read(out.join("error")).unwrap_or_default();
        // Libraries up to 12.2 take no input as a cubin that is not a relocatable file; nvlink does not ask.
        if log.windows(REFUSED.len()).any(|text| text == REFUSED) {
            return Ok(Linked::NoOracle("it refuses an input when that is added".into()));
        }
        let says_error = |line: &[u8]| line.starts_with(b"ERROR") || line.starts_with(b"error");
        let is_error = [log, printed, more].concat().split(|byte| *byte == b'\n').any(says_error);
        Ok(Linked::Done(if is_error { None } else { fs::read(out.join("cubin")).ok() }))
    }
}

/// What differs: the image, or whether there is an error. The library's messages are other ones than nvlink's.
pub fn compare(expected: Option<&[u8]>, got: Option<&[u8]>) -> Vec<String> {
    match (expected, got) {
        (Some(expected), Some(got)) => {
            let options = cubin_diff::Options { ignore_tkinfo: true };
            cubin_diff::diff(expected, got, &options).iter().map(ToString::to_string).collect()
        }
        (None, None) => Vec::new(),
        (Some(_), None) => vec!["solder made no file".into()],
        (None, Some(_)) => vec!["solder made a file, the library has an error".into()],
    }
}
