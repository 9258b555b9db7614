//! What the phases speak of: ids, input objects, symbols, the call graph, output sections. It imports no phase.

pub mod calls;
pub mod graph;
pub mod ids;
pub mod mercury;
pub mod merged;
pub mod object;
pub mod symbols;
pub mod twins;
