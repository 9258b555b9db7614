//! NVIDIA's compilers at run time: `ptxas`, libnvvm and nvJitLink, found in the user's toolkit, started or loaded, and
//! their results kept in a cache.
//!
//! The crate knows nothing of linking, of a command line or of messages: it takes typed values and returns results or
//! its own errors. It has no globals, reads no environment variable and installs no signal handler. The caller says what
//! its surroundings are ([`Environment`]) and looks after what must not outlive it ([`Supervisor`]).
//!
//! ```no_run
//! use solder_arch::{Arch, Release};
//! use solder_toolchain::{Cache, Environment, Flags, Ptx, Toolchain, Unsupervised};
//!
//! let environment = Environment::new("nvlink", |name| std::env::var_os(name), std::env::temp_dir());
//! let cache = Cache::new(None, &Unsupervised);
//! let toolchain = Toolchain { environment, release: Release::CUDA_13_0, cache, supervisor: &Unsupervised };
//! let ptx = Ptx { text: b".version 9.0\n.target sm_90\n.address_size 64\n", stored_options: None };
//! let assembled = toolchain.assembler().assemble(&ptx, &Flags::new(Arch::plain(90)))?;
//! # Ok::<(), solder_toolchain::AssembleError>(())
//! ```
#![deny(missing_docs)]
#![deny(unsafe_code)]

mod beside;
pub mod cache;
mod compile;
mod environment;
mod ir;
#[allow(unsafe_code, reason = "the one module that opens shared libraries and calls their functions")]
mod library;
mod ptxas;
mod supervise;
mod toolkit;

pub use beside::{Beside, SHADOW_MARKER, beside, version_in};
pub use cache::{Cache, Key, Store};
pub use compile::{is_library, nvvm_library};
pub use environment::{Environment, NVJITLINK_VARIABLE, VARIABLES};
pub use ir::{CompileError, CompileRequest, Compiled, Module, ModuleKind, Packed};
pub use library::nvvm::Program;
pub use ptxas::{AssembleError, Assembled, Assembler, FastCompile, Flags, Ptx, with_build};
pub use supervise::{Guard, Supervisor, Unsupervised};
pub use toolkit::{Toolkit, ToolkitError};

use solder_arch::Release;

/// The compilers, as one link uses them.
#[derive(Debug)]
pub struct Toolchain<'a> {
    /// Where they may be.
    pub environment: Environment,
    /// Whose tools they are.
    pub release: &'static Release,
    /// What they have made before.
    pub cache: Cache<'a>,
    /// Looks after processes and temporary files.
    pub supervisor: &'a dyn Supervisor,
}
