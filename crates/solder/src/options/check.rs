//! Checks on the command line as a whole, in nvlink's order: the first fault is the one reported.

use solder_arch::Kind;

use super::values::{api_version, fast_compile};
use super::{Id, Options};
use crate::diagnostics::{Message, Sink, Stop};

/// The first architecture on which nvlink says that it does not fully keep relocations.
const PRESERVE_RELOCS_WARNING_FROM: u16 = 90;

/// Checks what some releases look at before all else, also where no device code is linked.
pub fn check_first(options: &Options, sink: &Sink) -> Result<(), Stop> {
    if options.release.checks_conflicts_first() { check_conflicts(options, sink) } else { Ok(()) }
}

/// Checks the options of a device link.
pub fn check(options: &Options, sink: &Sink) -> Result<(), Stop> {
    check_first(options, sink)?;
    let Some(target) = options.target else {
        return Err(sink.fatal(Message::UnknownArch { arch: "(null)".into() }));
    };
    // A virtual target writes no file and needs no name for one.
    if options.output.is_none() && !target.is_virtual() {
        return Err(sink.fatal(Message::NoOutputFile));
    }
    if options.inputs.is_empty() {
        return Err(sink.fatal(Message::NoInputFiles));
    }
    check_conflicts(options, sink)?;
    if options.values().is_true(Id::UseHostInfo)
        && (options.kernels_used.is_some() || options.variables_used.is_some())
    {
        sink.report(Message::HostInfoIgnored);
    }
    if target.kind == Kind::Lto {
        return Err(sink.fatal(Message::VirtualTarget { arch: target.to_string().into() }));
    }
    check_lto(options, sink)?;
    if options.preserve_relocs && target.arch.number >= PRESERVE_RELOCS_WARNING_FROM {
        // Promoted by -Werror it is counted, and ends the run when the inputs have been read.
        sink.report(Message::PreserveRelocsIncomplete { arch: target.to_string().into() });
    }
    if options.fdcmpt && !options.uumn {
        return Err(sink.fatal(Message::UnknownOption { word: "-fdcmpt".into() }));
    }
    if let Some(rule) = options.remap_path_prefix.iter().find(|rule| !rule.contains(&b'=')) {
        return Err(sink.fatal(Message::NotAPair { value: rule.into() }));
    }
    check_api_version(options, sink)
}

fn check_conflicts(options: &Options, sink: &Sink) -> Result<(), Stop> {
    let values = options.values();
    let conflicts = [
        (options.suppress_debug_info && !options.debug, "-suppress-debug-info", "no -g"),
        (
            values.is_true(Id::DumpCallgraph) && values.is_true(Id::DumpCallgraphNoDemangle),
            "-dump-callgraph",
            "-dump-callgraph-no-demangle",
        ),
        (
            values.is_true(Id::UseHostInfo) && values.is_true(Id::IgnoreHostInfo),
            "-use-host-info",
            "-ignore-host-info",
        ),
    ];
    first_conflict(&conflicts, sink)
}

fn check_lto(options: &Options, sink: &Sink) -> Result<(), Stop> {
    let values = options.values();
    if !options.lto {
        return first_conflict(
            &[
                (values.is_true(Id::ForcePartialLto), "-force-partial-lto", "no -dlto"),
                (options.whole_lto, "-force-whole-lto", "no -dlto"),
                (options.emit_ptx, "-emit-ptx", "no -dlto"),
                (values.is_given(Id::OfastCompile), "--Ofast-compile", "no -dlto"),
            ],
            sink,
        );
    }
    if options.nvvm_path.is_none() {
        return Err(sink.fatal(Message::NvvmPathMissing));
    }
    first_conflict(
        &[(options.partial_lto && options.whole_lto, "-force-partial-lto", "-force-whole-lto")],
        sink,
    )?;
    if options.emit_ptx && values.number(Id::SplitCompileExtended).is_some_and(|threads| threads != 1) {
        sink.report(Message::IncompatibleOptions {
            first: "-emit-ptx",
            second: "-split-compile-extended",
            used: "-split-compile",
        });
    }
    if values.scalar(Id::OfastCompile).is_some_and(|name| fast_compile(name).is_none()) {
        return Err(sink.fatal(Message::InvalidArgument { option: "--Ofast-compile" }));
    }
    Ok(())
}

fn first_conflict(conflicts: &[(bool, &'static str, &'static str)], sink: &Sink) -> Result<(), Stop> {
    match conflicts.iter().find(|(fault, ..)| *fault) {
        Some((_, first, second)) => Err(sink.fatal(Message::ConflictingOptions { first, second })),
        None => Ok(()),
    }
}

fn check_api_version(options: &Options, sink: &Sink) -> Result<(), Stop> {
    let Some(text) = options.values().scalar(Id::CudaApiVersion) else { return Ok(()) };
    match api_version(text) {
        None => Err(sink.fatal(Message::ApiVersionUnparsable)),
        Some((major, _)) if i64::from(major) != i64::from(options.release.major()) => {
            Err(sink.fatal(Message::ApiVersionMajor))
        }
        Some(_) => Ok(()),
    }
}
