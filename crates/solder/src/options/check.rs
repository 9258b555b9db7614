//! Checks on the command line as a whole, in nvlink's order: the first fault is the one reported.

use solder_arch::Kind;

use super::{Id, Options};
use crate::diagnostics::{Message, Sink, Stop};

/// The release this linker stands in for.
const TOOLKIT_MAJOR: u32 = 13;

/// The first architecture on which nvlink says that it does not fully keep relocations.
const PRESERVE_RELOCS_WARNING_FROM: u16 = 90;

/// Checks the options of a device link.
pub fn check(options: &Options, sink: &Sink) -> Result<(), Stop> {
    let Some(target) = options.target else {
        return Err(sink.fatal(Message::UnknownArch { arch: "(null)".into() }));
    };
    let virtual_target = Message::VirtualTarget { arch: target.to_string().into() };
    let is_lto_target = target.kind == Kind::Lto;
    if options.output.is_none() {
        // The one check that depends on another's absence: an lto_ target without an output.
        return Err(sink.fatal(if is_lto_target { virtual_target } else { Message::NoOutputFile }));
    }
    if options.inputs.is_empty() {
        return Err(sink.fatal(Message::NoInputFiles));
    }
    check_conflicts(options, sink)?;
    if is_lto_target {
        return Err(sink.fatal(virtual_target));
    }
    check_lto(options, sink)?;
    if options.preserve_relocs && target.arch.number >= PRESERVE_RELOCS_WARNING_FROM {
        sink.report(Message::PreserveRelocsIncomplete { arch: target.to_string().into() });
        if sink.errors() > 0 {
            return Err(sink.fatal(Message::InternalError));
        }
    }
    if options.fdcmpt && !options.uumn {
        return Err(sink.fatal(Message::UnknownOption { word: "-fdcmpt".into() }));
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
    if values.scalar(Id::OfastCompile).is_some_and(|name| super::fast_compile(name).is_none()) {
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
        Some((major, _)) if major != TOOLKIT_MAJOR => Err(sink.fatal(Message::ApiVersionMajor)),
        Some(_) => Ok(()),
    }
}

/// `major.minor`.
pub(super) fn api_version(text: &[u8]) -> Option<(u32, u32)> {
    let (major, minor) = std::str::from_utf8(text).ok()?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
