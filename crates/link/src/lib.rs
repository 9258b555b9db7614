//! A device linker for CUDA, as a library: device code in, an image and diagnostics out.
//!
//! [`link::link`] lists the phases.

mod call_graph;
pub mod checks;
mod contents;
pub mod demangle;
pub mod diagnostics;
mod fastpath;
mod finalize;
pub mod gc;
mod image;
pub mod inputs;
pub mod layout;
pub mod link;
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
