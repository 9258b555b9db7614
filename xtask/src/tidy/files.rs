//! The files of a repository.

use crate::Result;
use std::fs;
use std::path::Path;

/// What a build or a run leaves, and what is not ours.
const LEFT_OUT: &[&str] = &["target", ".git", "artifacts", "corpus", "coverage"];

/// The paths of all files, relative to the root, sorted.
pub fn list(root: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let entries =
            fs::read_dir(root.join(&folder)).map_err(|e| format!("{}: {e}", root.join(&folder).display()))?;
        for entry in entries.map_while(std::io::Result::ok) {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && !LEFT_OUT.contains(&name.as_str()) => folders.push(path),
                Ok(kind) if kind.is_file() => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The text of a file; what is not text is replaced, so that no file can stop the check.
pub fn read(root: &Path, file: &str) -> Result<String> {
    let bytes = fs::read(root.join(file)).map_err(|e| format!("{file}: {e}"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

pub fn has_extension(file: &str, extension: &str) -> bool {
    Path::new(file).extension().is_some_and(|found| found == extension)
}
