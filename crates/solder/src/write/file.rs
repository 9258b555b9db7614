//! The output file: a temporary file beside the target, renamed at the end, so that the target is
//! either the old file or the complete new one.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Why the output could not be written.
#[derive(Debug)]
pub enum WriteError {
    /// It could not be opened.
    Open,
    /// Opened, but the bytes could not be written.
    Write(io::Error),
}

/// Writes the whole file at once. Symbolic links are followed; what is not a regular file (a pipe,
/// `/dev/null`) is written directly, and so is a file in a folder that takes no new files.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    match fs::metadata(&target) {
        Ok(meta) if meta.is_dir() => return Err(WriteError::Open),
        Ok(meta) if !meta.is_file() => return write_directly(&target, bytes),
        Ok(meta) => {
            // nvlink opens the existing file for writing: one that does not allow it is an error,
            // although a rename would replace it.
            OpenOptions::new().write(true).open(&target).map_err(|_| WriteError::Open)?;
            match temporary(&target) {
                Err(_) => return write_directly(&target, bytes),
                Ok((file, temporary)) => {
                    // An existing file keeps its permissions.
                    drop(file.set_permissions(meta.permissions()));
                    return finish(file, &temporary, &target, bytes);
                }
            }
        }
        Err(_) => {}
    }
    let (file, temporary) = temporary(&target).map_err(|_| WriteError::Open)?;
    finish(file, &temporary, &target, bytes)
}

fn write_directly(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(path).map_err(|_| WriteError::Open)?;
    file.write_all(bytes).map_err(WriteError::Write)
}

/// A new file beside the target. It has a name only while it is written; a signal in just that moment
/// leaves it behind, never a partial target.
fn temporary(target: &Path) -> io::Result<(File, PathBuf)> {
    let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = target.file_name().unwrap_or(OsStr::new("output"));
    for attempt in 0..100u32 {
        let mut temporary = std::ffi::OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}.{attempt}.tmp", std::process::id()));
        let temporary = folder.join(temporary);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
            Ok(file) => return Ok((file, temporary)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

fn finish(mut file: File, temporary: &Path, target: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let result = file.write_all(bytes).and_then(|()| fs::rename(temporary, target));
    if result.is_err() {
        drop(fs::remove_file(temporary));
    }
    result.map_err(WriteError::Write)
}
