//! Other programs and libraries: the only place that starts a process or loads a library.

pub mod shell;
