//! Other programs and libraries: the only place that starts a process or loads a library.

mod library;
pub mod nvjitlink;
pub mod nvvm;
pub mod ptxas;
pub mod shell;
pub mod toolkit;
