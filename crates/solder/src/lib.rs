//! The command: nvlink's command line, files, messages and subcommands, over the linker of `solder-link`.

mod cache;
mod commands;
mod compilers;
mod console;
mod dependencies;
pub mod diagnostics;
pub mod driver;
mod explain;
mod host_script;
mod json;
mod keep;
pub mod load;
pub mod mode;
mod near;
pub mod options;
pub mod os;
mod output;
pub mod register;
mod release;
pub mod run;
mod several;
mod shell;
pub mod side_files;
mod single;
pub mod time_table;
mod toolchain;
