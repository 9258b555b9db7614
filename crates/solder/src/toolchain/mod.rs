//! The tools of the user's toolkit. Processes are started nowhere else.

pub mod ptxas;
