//! The CUDA toolkit: where it is, and which one.

use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::os::children::{self, Group, Running};

/// Variables that name a toolkit, in the order in which they are asked.
pub const VARIABLES: [&str; 3] = ["SOLDER_TOOLKIT", "CUDA_HOME", "CUDA_PATH"];

/// The releases whose nvlink solder stands in for.
pub const SUPPORTED: [&str; 1] = ["13.0"];

/// What makes a folder a toolkit that can be built with. The profile lies only beside a real nvcc, not beside a
/// wrapper of that name.
const PARTS: [&str; 3] = ["bin/nvcc", "bin/nvcc.profile", "bin/nvlink"];

/// Why there is no toolkit.
#[derive(Debug)]
pub enum Error {
    /// The folder that was asked for lacks a part.
    Incomplete { root: PathBuf, part: &'static str },
    /// None was found here.
    NotFound { looked: Vec<String> },
    /// Its nvcc does not say which release it is.
    UnknownRelease { root: PathBuf, reason: String },
    /// Its release is another than solder knows.
    Unsupported { root: PathBuf, version: String },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incomplete { root, part } => {
                write!(f, "'{}' is no CUDA toolkit: there is no {part} in it", root.display())
            }
            Self::NotFound { looked } => write!(
                f,
                "no CUDA toolkit found; looked at {}. Name one with --toolkit ROOT",
                looked.join(", ")
            ),
            Self::UnknownRelease { root, reason } => {
                write!(f, "cannot tell the version of the toolkit in '{}': {reason}", root.display())
            }
            Self::Unsupported { root, version } => write!(
                f,
                "the toolkit in '{}' is CUDA {version}; solder supports CUDA {}",
                root.display(),
                SUPPORTED.join(", ")
            ),
        }
    }
}

/// A toolkit that solder supports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolkit {
    pub root: PathBuf,
    /// As `13.0.88`.
    pub version: String,
}

impl Toolkit {
    /// The toolkit that was asked for, or else the one that the environment points to.
    pub fn find(asked_for: Option<&Path>) -> Result<Self, Error> {
        let root = match asked_for {
            Some(root) => match missing_part(root) {
                Some(part) => return Err(Error::Incomplete { root: root.to_owned(), part }),
                None => root.to_owned(),
            },
            None => from_environment()?,
        };
        let root = root.canonicalize().unwrap_or(root);
        let version =
            version(&root).map_err(|reason| Error::UnknownRelease { root: root.clone(), reason })?;
        if !SUPPORTED.iter().any(|release| is_of_release(&version, release)) {
            return Err(Error::Unsupported { root, version });
        }
        Ok(Self { root, version })
    }
}

fn missing_part(root: &Path) -> Option<&'static str> {
    PARTS.into_iter().find(|part| !root.join(part).is_file())
}

fn from_environment() -> Result<PathBuf, Error> {
    let mut looked = Vec::new();
    for name in VARIABLES {
        let Some(root) = env::var_os(name).filter(|root| !root.is_empty()) else {
            looked.push(format!("{name} (not set)"));
            continue;
        };
        let root = PathBuf::from(root);
        if missing_part(&root).is_none() {
            return Ok(root);
        }
        looked.push(format!("{name} ('{}' is none)", root.display()));
    }
    looked.push("nvcc on PATH".into());
    let path = env::var_os("PATH").unwrap_or_default();
    on_path(&path).ok_or(Error::NotFound { looked })
}

/// The toolkit of the first nvcc on the path that belongs to one: as it stands there, or where a link leads.
fn on_path(path: &OsStr) -> Option<PathBuf> {
    let nvcc = env::split_paths(path).map(|folder| folder.join("nvcc")).filter(|nvcc| nvcc.is_file());
    let roots = nvcc.flat_map(|nvcc| [nvcc.canonicalize().ok(), Some(nvcc)].into_iter().flatten().rev());
    roots
        .filter_map(|nvcc| Some(nvcc.parent()?.parent()?.to_owned()))
        .find(|root| missing_part(root).is_none())
}

/// The version that a toolkit's nvcc says it has.
fn version(root: &Path) -> Result<String, String> {
    let nvcc = root.join("bin/nvcc");
    let mut command = Command::new(&nvcc);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = children::start(&mut command, Group::Own)
        .and_then(Running::wait_with_output)
        .map_err(|error| format!("bin/nvcc does not run: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.lines().find_map(|line| line.split_once("release ")?.1.split_once(", V"));
    let version = version.map(|(_, version)| version.trim().to_owned());
    version.ok_or_else(|| "bin/nvcc --version does not say it".into())
}

/// Whether 13.0.88 is of release 13.0.
fn is_of_release(version: &str, release: &str) -> bool {
    version.strip_prefix(release).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases() {
        assert!(is_of_release("13.0.88", "13.0"));
        assert!(!is_of_release("13.01.88", "13.0"));
        assert!(!is_of_release("12.9.86", "13.0"));
    }

    #[test]
    fn errors_name_what_is_wanted() {
        let error = Error::Unsupported { root: "/opt/cuda".into(), version: "12.4.131".into() };
        assert_eq!(
            error.to_string(),
            "the toolkit in '/opt/cuda' is CUDA 12.4.131; solder supports CUDA 13.0"
        );
    }
}
