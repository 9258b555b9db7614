//! The surroundings of the program that uses this crate, as values.

use std::env;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Variables that name a toolkit, in the order in which they are asked.
pub const VARIABLES: [&str; 3] = ["SOLDER_TOOLKIT", "CUDA_HOME", "CUDA_PATH"];

/// The variable that names NVIDIA's nvJitLink, where that of the toolkit is not the one to use.
pub const NVJITLINK_VARIABLE: &str = "SOLDER_NVJITLINK";

/// What says where a toolkit is.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// The name that the program was invoked by: a path, or a bare name that `PATH` finds.
    pub invoked_as: PathBuf,
    /// The folders of `PATH`.
    pub path: Vec<PathBuf>,
    /// The roots that [`VARIABLES`] name; `None` for one that is not set, or empty.
    pub toolkits: [Option<PathBuf>; VARIABLES.len()],
    /// The root of the toolkit whose compiler library the user named.
    pub of_compiler: Option<PathBuf>,
    /// The file that [`NVJITLINK_VARIABLE`] names.
    pub nvjitlink: Option<PathBuf>,
    /// The folder for temporary folders.
    pub temporary: PathBuf,
}

impl Environment {
    /// `variable` returns the value of an environment variable; it is asked for [`VARIABLES`],
    /// [`NVJITLINK_VARIABLE`] and `PATH`.
    pub fn new(
        invoked_as: impl Into<PathBuf>,
        variable: impl Fn(&str) -> Option<OsString>,
        temporary: PathBuf,
    ) -> Self {
        let root = |name| variable(name).filter(|root| !root.is_empty()).map(PathBuf::from);
        let path = variable("PATH").unwrap_or_default();
        Self {
            invoked_as: invoked_as.into(),
            path: env::split_paths(&path).collect(),
            toolkits: VARIABLES.map(root),
            of_compiler: None,
            nvjitlink: root(NVJITLINK_VARIABLE),
            temporary,
        }
    }

    /// A program of the toolkit, or the places where it was looked for: beside the name that this program was invoked by, in
    /// the toolkit of the compiler library, in the toolkits that are named, and in `PATH`.
    pub fn find_tool(&self, name: &str) -> Result<PathBuf, Vec<PathBuf>> {
        let toolkits = self.of_compiler.iter().chain(self.roots()).map(|root| root.join("bin"));
        let mut looked = Vec::new();
        for folder in self.invoked_from().into_iter().chain(toolkits).chain(self.path.iter().cloned()) {
            let candidate = folder.join(name);
            if candidate.is_file() {
                return Ok(candidate);
            }
            if !looked.contains(&candidate) {
                looked.push(candidate);
            }
        }
        Err(looked)
    }

    /// The folder of the program as it was invoked: a path as given, a bare name as `PATH` finds it.
    fn invoked_from(&self) -> Option<PathBuf> {
        let invoked = &self.invoked_as;
        if invoked.as_os_str().as_bytes().contains(&b'/') {
            return invoked.parent().map(Path::to_path_buf);
        }
        self.path.iter().find(|folder| folder.join(invoked).is_file()).cloned()
    }

    /// The roots that are named.
    pub(crate) fn roots(&self) -> impl Iterator<Item = &PathBuf> {
        self.toolkits.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_variable_names_no_toolkit() {
        let variable = |name: &str| match name {
            "SOLDER_TOOLKIT" => Some(OsString::new()),
            "CUDA_PATH" => Some("/opt/cuda".into()),
            "PATH" => Some("/usr/bin:/bin".into()),
            _ => None,
        };
        let environment = Environment::new("nvlink", variable, "/tmp".into());
        assert_eq!(environment.toolkits, [None, None, Some("/opt/cuda".into())]);
        assert_eq!(environment.path, [PathBuf::from("/usr/bin"), "/bin".into()]);
    }

    #[test]
    fn tools_are_those_of_the_named_compiler() {
        let folder = std::env::temp_dir().join(format!("solder-tools-{}", std::process::id()));
        let bin = folder.join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::write(bin.join("ptxas"), "").unwrap();
        let found = |of_compiler, root: &str| {
            let toolkits = [Some(root.into()), None, None];
            Environment { toolkits, of_compiler, ..Environment::default() }.find_tool("ptxas")
        };
        let nvvm = folder.join("nvvm");
        assert_eq!(found(Some(nvvm.join("..")), "/nowhere").ok(), None, "there is no nvvm");
        std::fs::create_dir_all(&nvvm).unwrap();
        assert_eq!(found(Some(nvvm.join("..")), "/nowhere"), Ok(nvvm.join("../bin/ptxas")));
        assert_eq!(found(None, "/nowhere"), Err(vec!["/nowhere/bin/ptxas".into()]));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
