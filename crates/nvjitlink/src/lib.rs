//! nvJitLink's C interface over the linker of `solder-link`: programs that link device code at run time get solder by
//! loading another library, without a change.
//!
//! A [`Session`] is a link from `nvJitLinkCreate` to `nvJitLinkDestroy`, in safe Rust. [`c`] is the C interface over it,
//! under every name that NVIDIA's libraries have. It is the only module with `unsafe` code.
//!
//! The library installs no handler and prints nothing. Threads of a large link end with it. PTX is assembled by the toolkit's `ptxas`, and IR
//! compiled by NVIDIA's own nvJitLink or libnvvm, where they are found; the error log says where they were looked for.

#![deny(missing_docs)]
#![deny(unsafe_code)]

#[allow(unsafe_code, reason = "the one module that takes pointers from C")]
pub mod c;
mod code;
mod compilers;
mod explain;
mod input;
mod log;
mod options;
mod session;

pub use code::Code;
pub use input::InputType;
pub use session::Session;
