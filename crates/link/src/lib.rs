//! A device linker for CUDA, as a library: device code in, an image and diagnostics out.
//!
//! Programs that link start with [`Linker`]: inputs from memory and options as values in, an image or [`Diagnostic`]s out.
//! The library does not touch files, the environment, streams or processes, has no global state, and uses no threads but
//! those of a [`Pool`] that it is given. An [`Observer`] sees what happens meanwhile.
//!
//! ```
//! use solder_link::{Linker, Pool, Release};
//!
//! # let blur: &[u8] = include_bytes!("../../../examples/quickstart/blur.cubin");
//! # let weights: &[u8] = include_bytes!("../../../examples/quickstart/weights.cubin");
//! let release = Release::CUDA_13_0;
//! let target = release.target("sm_90").expect("CUDA 13.0 links for sm_90");
//! let pool = Pool::new(2);
//! let mut linker = Linker::new(target, release);
//! linker.pool(&pool).kernels_used(["blur"]).verbose(true);
//! for (name, bytes) in [("blur.cubin", blur), ("weights.cubin", weights)] {
//!     linker.object(name, bytes);
//! }
//! match linker.link() {
//!     Ok(output) => assert!(output.report.diagnostics.iter().all(|info| info.severity.name() == "info")),
//!     Err(problems) => panic!("{problems:?}"),
//! }
//! ```
//!
//! Readers of the code start with [`link::link`], which lists the phases.

#![deny(missing_docs)]

pub mod accept;
mod call_graph;
pub mod checks;
mod contents;
pub mod demangle;
pub mod diagnostics;
mod fastpath;
mod finalize;
pub mod form;
pub mod gc;
mod image;
pub mod inputs;
pub mod layout;
pub mod link;
pub mod linker;
pub mod load;
mod merge;
pub mod model;
mod notes;
pub mod observer;
pub mod options;
mod overlap;
pub mod parse;
pub mod pool;
mod prefault;
pub mod recorded_paths;
mod references;
mod relocate;
mod report;
pub mod resolve;
pub mod resources;
pub mod roots;
pub mod shared;
pub mod textures;
pub mod view;
pub mod write;

pub use diagnostics::{Diagnostic, Message, Receiver, Severity};
pub use linker::{AnyCompilers, Linker, Output, Report, Stream};
pub use load::Compilers;
pub use observer::Observer;
pub use pool::Pool;
pub use solder_arch::{Arch, Release, Target};
pub use write::Destination;
