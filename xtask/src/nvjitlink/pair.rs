//! NVIDIA's library of a release and solder's that takes its place, with what both find around them.

use super::library;
use crate::conformance::Context;
use crate::jit::published::Library;
use crate::toolkit::Toolkit;
use crate::{Result, assembler, process};
use solder_arch::Release;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The toolkit that makes the inputs for libraries of CUDA 12 that have none of their own.
const TOOLKIT_12: &str = "12.5";

pub struct Pair {
    pub theirs: PathBuf,
    pub own: PathBuf,
    /// What makes the inputs. Its release is the one that is compared with.
    pub context: Context,
    /// For PTX, where it is not that of the toolkit.
    assembler: Option<PathBuf>,
}

impl Pair {
    pub fn of(name: &str, folder: &Path) -> Result<Self> {
        let release = Release::of_version(name).ok_or(format!("'{name}' is not a release that solder is"))?;
        let toolkit = Toolkit::find(name).or_else(|_| Toolkit::find(TOOLKIT_12))?;
        let mut context = Context::for_inputs(toolkit)?;
        context.release = release;
        let own = folder.join(library::file_name(release.major()));
        let in_toolkit = context.toolkit.join("lib64").join(library::file_name(release.major()));
        if toolkit.name == name && in_toolkit.is_file() {
            return Ok(Self { theirs: in_toolkit, own, context, assembler: None });
        }
        let theirs = Library::find(name)?.ensure()?;
        let assembler = assembler::Release::find(name).and_then(assembler::Release::ensure).ok();
        let assembler = assembler.and_then(|ptxas| Some(ptxas.parent()?.to_path_buf()));
        Ok(Self { theirs, own, context, assembler })
    }

    /// Whether NVIDIA's library has functions for IR as one module.
    pub fn gives_lto_ir(&self) -> bool {
        self.context.release.toolkit >= 133
    }

    /// Gives a process the surroundings from which solder's library takes its release and finds compilers: the toolkit, or where
    /// the release has none, variables and `PATH`.
    pub fn surround(&self, command: &mut Command) {
        let path = match &self.assembler {
            Some(folder) => {
                let mut path: OsString = folder.clone().into();
                path.push(":");
                path.push(&self.context.path);
                path
            }
            None => self.context.path.clone(),
        };
        process::clean_environment(command, &path);
        if self.theirs.starts_with(&self.context.toolkit) {
            command.env("SOLDER_TOOLKIT", &self.context.toolkit);
        } else {
            command.env("SOLDER_AS", self.context.release.name).env("SOLDER_NVJITLINK", &self.theirs);
        }
    }
}
