//! NVIDIA's compilers as a link uses them: the options and the surroundings of the process in the toolchain's own
//! types.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use solder_toolchain::{Environment, Flags, Guard, Supervisor, Toolchain, is_library, nvvm_library};

use crate::cache::Settings;
use crate::diagnostics::{Message, Sink, Stop};
use crate::options::Options;
use crate::os::children::{self, Group, Running};
use crate::os::signals::Temporary;
use crate::os::{memory, threads};

/// The handlers of this process: they end what was started and remove what was written.
#[derive(Debug)]
pub struct Signals;

impl Supervisor for Signals {
    fn run(&self, command: &mut Command) -> io::Result<Output> {
        children::start(command, Group::Own).and_then(Running::wait_with_output)
    }

    fn temporary_file(&self, path: &Path) -> Guard {
        Guard::new(Temporary::file(path))
    }

    fn temporary_folder(&self, path: &Path) -> Guard {
        Guard::new(Temporary::folder(path))
    }
}

/// The surroundings of this process.
pub fn environment() -> Environment {
    let invoked_as = std::env::args_os().next().unwrap_or_default();
    Environment::new(invoked_as, |name| std::env::var_os(name), std::env::temp_dir())
}

/// The compilers of a link.
pub fn of(options: &Options) -> Toolchain<'static> {
    let cache = Settings::new(options.cache_dir.as_deref()).cache(&Signals);
    let of_compiler = options.nvvm_path.as_ref().map(|path| path.join(".."));
    let environment = Environment { of_compiler, ..environment() };
    Toolchain { environment, release: options.release, cache, supervisor: &Signals }
}

/// The bytes of PTX from which on threads of the assembler make a difference.
const WORTH_THREADS: usize = 1 << 16;

/// How PTX of the inputs is assembled.
pub fn flags(options: &Options) -> Flags {
    let splits = options.release.splits_assembly();
    Flags {
        registers: options.maxrregcount,
        debug: options.debug && !options.suppress_debug_info,
        verbose2: options.verbose2,
        stack_protector: options.device_stack_protector,
        split_compile: options.split_compile.filter(|_| options.release.splits_assembly()),
        threads: if splits { threads::count(options.threads) } else { 1 },
        least_text: if options.split_assembly { 0 } else { WORTH_THREADS },
        memory: options.lto_memory.or_else(|| splits.then(memory::half)?),
        fast_compile: options.fast_compile,
        extra: options.xptxas.clone(),
        ..Flags::new(options.release.assembled_arch(options.link_target().arch))
    }
}

/// The compiler library of `-lto`.
pub fn nvvm(options: &Options) -> Option<PathBuf> {
    options.nvvm_path.as_deref().filter(|_| options.lto).map(nvvm_library)
}

/// Ends a run with `-lto` that has no compiler library. nvlink does so before it opens any input.
pub fn check_nvvm(options: &Options, sink: &Sink) -> Result<(), Stop> {
    match nvvm(options) {
        Some(library) if !is_library(&library) => Err(sink.fatal(Message::LibraryLoad)),
        _ => Ok(()),
    }
}
