//! The device ELF ("cubin"): what its bytes mean, apart from what a linker decides about them.
//!
//! [`Cubin`] reads a file without copying; [`info`], [`callgraph`] and [`note`] read the contents of
//! the sections that only device code has; [`lines`] and [`frames`] the debug
//! information that names places in code, which [`strip`] removes; [`reloc`] is the table of relocation types; [`strings`]
//! and [`raw`] are what a writer needs.

pub mod bits;
pub mod callgraph;
pub mod edit;
pub mod file;
pub mod frames;
pub mod info;
pub mod lines;
pub mod mercury;
pub mod note;
pub mod raw;
pub mod reloc;
pub mod strings;
pub mod strip;

pub use file::{Cubin, Error, Names, Relocations, Section, elf_header, string_at};
