//! Damaged inputs for the linker: real ones, changed in the terms of their formats, and what is done with them.
//!
//! [`targets`] lists what is fuzzed; each takes bytes, so that both the runner of this crate and libFuzzer can
//! drive it. [`mutate`] changes an input by its kind, [`corpus`] holds the inputs to begin with.

pub mod calls;
pub mod corpus;
pub mod libfuzzer;
pub mod link;
pub mod mutate;
pub mod rng;
pub mod targets;
