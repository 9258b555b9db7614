//! NVIDIA's libnvJitLink as a linker: which ones are published, how a link line becomes calls, and what comes of it.

pub mod link;
pub mod published;
pub mod script;
