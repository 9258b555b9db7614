//! The CUDA toolkit: where it is, and which one.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Environment, Supervisor, VARIABLES};

/// What makes a folder a toolkit that can be built with. The profile lies only beside a real nvcc, not beside a
/// wrapper of that name.
const PARTS: [&str; 3] = ["bin/nvcc", "bin/nvcc.profile", "bin/nvlink"];

/// Folders below `targets` that hold what belongs to a host: x86-64, AArch64 servers, AArch64 boards; this machine's
/// own kind first.
pub(crate) const TARGETS: [&str; 3] = if cfg!(target_arch = "aarch64") {
    ["sbsa-linux", "aarch64-linux", "x86_64-linux"]
} else {
    ["x86_64-linux", "sbsa-linux", "aarch64-linux"]
};

/// Why there is no toolkit.
#[derive(Debug)]
pub enum ToolkitError {
    /// The folder that was asked for lacks a part.
    Incomplete {
        /// The folder.
        root: PathBuf,
        /// What is not in it.
        part: &'static str,
    },
    /// None was found here.
    NotFound {
        /// Where it was looked for, and what was there.
        looked: Vec<String>,
    },
    /// Its nvcc does not say which release it is.
    UnknownRelease {
        /// The toolkit.
        root: PathBuf,
        /// What its nvcc did instead.
        reason: String,
    },
}

impl std::error::Error for ToolkitError {}

impl fmt::Display for ToolkitError {
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
        }
    }
}

/// A toolkit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolkit {
    /// Its folder.
    pub root: PathBuf,
    /// As `13.0.88`.
    pub version: String,
}

impl Toolkit {
    /// The toolkit that was asked for, or else the one that the environment points to.
    pub fn find(
        asked_for: Option<&Path>,
        environment: &Environment,
        supervisor: &dyn Supervisor,
    ) -> Result<Self, ToolkitError> {
        let root = match asked_for {
            Some(root) => match missing_part(root) {
                Some(part) => return Err(ToolkitError::Incomplete { root: root.to_owned(), part }),
                None => root.to_owned(),
            },
            None => from_environment(environment)?,
        };
        let root = root.canonicalize().unwrap_or(root);
        let version = version_of_nvcc(&root, supervisor)
            .map_err(|reason| ToolkitError::UnknownRelease { root: root.clone(), reason })?;
        Ok(Self { root, version })
    }
}

fn missing_part(root: &Path) -> Option<&'static str> {
    PARTS.into_iter().find(|part| !root.join(part).is_file())
}

fn from_environment(environment: &Environment) -> Result<PathBuf, ToolkitError> {
    let mut looked = Vec::new();
    for (name, root) in VARIABLES.iter().zip(&environment.toolkits) {
        let Some(root) = root else {
            looked.push(format!("{name} (not set)"));
            continue;
        };
        if missing_part(root).is_none() {
            return Ok(root.clone());
        }
        looked.push(format!("{name} ('{}' is none)", root.display()));
    }
    looked.push("nvcc on PATH".into());
    on_path(&environment.path).ok_or(ToolkitError::NotFound { looked })
}

/// The toolkit of the first nvcc on the path that belongs to one: as it is there, or where a link leads.
fn on_path(path: &[PathBuf]) -> Option<PathBuf> {
    let nvcc = path.iter().map(|folder| folder.join("nvcc")).filter(|nvcc| nvcc.is_file());
    let roots = nvcc.flat_map(|nvcc| [nvcc.canonicalize().ok(), Some(nvcc)].into_iter().flatten().rev());
    roots
        .filter_map(|nvcc| Some(nvcc.parent()?.parent()?.to_owned()))
        .find(|root| missing_part(root).is_none())
}

/// The version that a toolkit's nvcc says it has.
pub(crate) fn version_of_nvcc(root: &Path, supervisor: &dyn Supervisor) -> Result<String, String> {
    let mut command = Command::new(root.join("bin/nvcc"));
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = supervisor.run(&mut command).map_err(|error| format!("bin/nvcc does not run: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.lines().find_map(|line| line.split_once("release ")?.1.split_once(", V"));
    let version = version.map(|(_, version)| version.trim().to_owned());
    version.ok_or_else(|| "bin/nvcc --version does not say it".into())
}
