//! The command: nvlink's command line, files, messages and subcommands, over the linker of `solder-link`.

mod commands;
pub mod diagnostics;
pub mod driver;
pub mod ending;
mod explain;
mod host_script;
mod json;
mod keep;
pub mod load;
mod lto;
pub mod mode;
pub mod options;
mod output;
pub mod register;
pub mod run;
mod shell;
pub mod side_files;
mod signals;
mod threads;
pub mod time_table;
mod toolchain;
