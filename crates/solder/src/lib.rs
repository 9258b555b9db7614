//! solder: a device linker for CUDA. `link()` lists the phases; see docs/design.md.

mod ahead;
mod cache;
mod callees;
mod callgraph;
mod commands;
mod contents;
pub mod diagnostics;
pub mod driver;
mod explain;
mod gc;
mod host_script;
mod ids;
mod json;
mod keep;
mod layout;
pub mod load;
mod lto;
mod mercury;
mod merge;
pub mod mode;
mod name_index;
mod notes;
mod object;
pub mod options;
pub mod os;
mod parallel;
mod pipeline;
mod propagate;
mod recorded_paths;
mod references;
pub mod register;
mod relocate;
mod reports;
mod resolve;
mod resources;
mod roots;
mod shared;
pub mod side_files;
mod textures;
pub mod time_table;
pub mod toolchain;
mod undefined;
mod write;

pub use reports::demangle::demangle;

use diagnostics::{Message, Sink, Stop};
use explain::Explain;
use load::{Arena, DeviceObject, Inputs};
use lto::Outcome;
use mode::Mode;
use object::{Damage, Object};
use options::Options;
use os::{ending, signals};
use resolve::Resolver;
use roots::Roots;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Links of this many objects, or of so many bytes, are worth the start of threads and not worth tidying up after.
const MANY_OBJECTS: usize = 48;
const MANY_BYTES: usize = 1 << 20;

fn is_large<'a>(objects: impl ExactSizeIterator<Item = &'a [u8]>) -> bool {
    objects.len() >= MANY_OBJECTS || objects.map(<[u8]>::len).sum::<usize>() >= MANY_BYTES
}

/// Links the inputs that the options name.
pub fn link(options: &Options, mode: &Mode, sink: &Sink) -> Result<(), Stop> {
    parallel::set_threads(options.threads);
    let side_files = side_files::read(options, sink)?;
    sink.phase("loading");
    let arena = Arena::new();
    let mut reader = lto::Reader::default();
    let mut inputs = load::load(options, sink, &arena, &mut reader)?;
    let mut mode = *mode;
    if options.lto && inputs.ir.is_empty() {
        sink.report(Message::NoLtoObjects);
        sink.check().map_err(|_| sink.fatal(Message::MergeFailed))?;
        mode = mode.without_ir(options);
    } else if options.lto {
        // Before the other inputs are looked into: their number decides how the IR is compiled, and its code is
        // one of them.
        match lto::optimise(options, &mut inputs, reader, &arena, sink)? {
            Outcome::Ptx(text) => return pipeline::write_output(options.output_file(sink)?, &text, sink),
            Outcome::Whole(cubin) => {
                pipeline::write_output(options.output_file(sink)?, &cubin, sink)?;
                if let Some(explain) = Explain::new(options, &inputs) {
                    explain.compiled(&cubin, sink)?;
                }
                inputs.only_ir(options.keep_system_libraries);
                return write_registrations(options, &inputs, sink);
            }
            Outcome::ToLink => {}
        }
    }
    if mode.output == mode::Output::Nothing {
        return write_registrations(options, &inputs, sink);
    }
    sink.phase("parsing");
    let is_large = is_large(inputs.objects.iter().map(|object| object.bytes));
    let (mut objects, names) = parse(&inputs, is_large, sink)?;
    let kept = inputs.leave_out_runtime(&mut objects, options.keep_system_libraries, sink);
    if let (Err(_), Some(explain)) = (kept, Explain::new(options, &inputs)) {
        explain.stopped(&objects, sink);
    }
    kept?;
    keep::linked(options, &objects, sink)?;
    finalize(&mut objects, mercury::as_current, is_large, &arena, sink)?;
    check_capsules(&objects, sink)?;
    if options.link_target().arch.number == mercury::OTHER_MEMBER {
        finalize(&mut objects, mercury::for_other_member, is_large, &arena, sink)?;
    }
    let for_debugger = options.debug && !options.suppress_debug_info;
    if for_debugger || objects.iter().any(mercury::is_for_debugger) {
        finalize(&mut objects, mercury::with_barriers, is_large, &arena, sink)?;
    }
    if mode.output == mode::Output::Executable && !for_debugger {
        let sm = options.link_target().arch.number;
        let code = |object: &Object<'_>| mercury::without_precautions(object, sm);
        finalize(&mut objects, code, is_large, &arena, sink)?;
    }
    let roots = Roots::new(options, &inputs.references);
    let explain = Explain::new(options, &inputs);
    let host = side_files.nv_host.as_deref();
    let linked = pipeline::link_objects(options, mode, (&objects, names), &roots, host, explain, sink);
    if let (Some(explain), Err(_)) = (explain, &linked) {
        explain.stopped(&objects, sink);
    }
    let linked = linked?;
    match linked.written {
        Some(written) => written?,
        None => check_inputs(sink)?,
    }
    // These are written even if symbols are undefined, but not after a fatal error.
    write_registrations(options, &inputs, sink)?;
    if let (Some(file), Some(drawing)) = (&options.dot_file, &linked.call_graph) {
        pipeline::write_output(file, drawing.as_bytes(), sink)?;
    }
    pipeline::abandon(is_large, (objects, linked));
    if is_large && !options.no_fork {
        ending::leaves_much();
    }
    sink.check()
}

/// Makes code for sm_100 and later from that of the inputs.
fn finalize<'data>(
    objects: &mut [Object<'data>],
    code: impl Fn(&Object<'_>) -> Option<Vec<u8>> + Send + Sync,
    is_large: bool,
    arena: &'data Arena,
    sink: &Sink,
) -> Result<(), Stop> {
    let finalized = parallel::map(objects, is_large, code);
    for (object, finalized) in objects.iter_mut().zip(finalized) {
        let Some(bytes) = finalized else { continue };
        let name = std::mem::take(&mut object.name);
        let file = name.as_str().into();
        *object = Object::parse(name, arena.own(bytes)).map_err(|Damage { place, reason }| {
            sink.fatal(Message::DamagedInput { file, place: place.into(), reason: reason.into() })
        })?;
    }
    Ok(())
}

/// A capsule of 12.8 that has something unknown in it would be taken for other code.
fn check_capsules(objects: &[Object<'_>], sink: &Sink) -> Result<(), Stop> {
    let found = objects.iter().find_map(|object| Some((object, mercury::not_converted(object)?)));
    let Some((object, function)) = found else { return Ok(()) };
    let file = object.name.as_str().into();
    Err(sink.fatal(Message::CodeOfOtherToolkit { file, function: function.into() }))
}

/// What was read from an input that has changed since is worth nothing.
fn check_inputs(sink: &Sink) -> Result<(), Stop> {
    let changed = |file: &std::path::Path| Err(sink.fatal(Message::InputChanged { file: file.into() }));
    signals::changed_input().map_or(Ok(()), changed)
}

fn write_registrations(options: &Options, inputs: &Inputs<'_>, sink: &Sink) -> Result<(), Stop> {
    let Some(file) = &options.register_link_binaries else { return Ok(()) };
    register::write(file, &inputs.registrations, sink)
}

/// Parses the inputs, and binds the names of the first ones meanwhile: up to one that may not stay what it is.
fn parse<'data>(
    inputs: &Inputs<'data>,
    is_large: bool,
    sink: &Sink,
) -> Result<(Vec<Object<'data>>, Resolver<'data, 'data>), Stop> {
    let parse = |input: &DeviceObject<'data>| {
        let name = String::from_utf8_lossy(input.name.as_bytes()).into_owned();
        Object::parse(name, input.bytes)
    };
    let files = inputs.objects.len();
    let mut parsed: Vec<OnceLock<Result<Object<'data>, Damage>>> = Vec::new();
    parsed.resize_with(files, OnceLock::new);
    let next = AtomicUsize::new(0);
    let parse_next = || {
        let file = next.fetch_add(1, Ordering::Relaxed);
        if file < files {
            parsed[file].get_or_init(|| parse(&inputs.objects[file]));
        }
        file < files
    };
    let mut names = Resolver::new(files);
    let is_lasting = |object: &Object<'_>| object.mercury.is_none();
    parallel::with_help(is_large, &parse_next, |beside| {
        for (place, input) in parsed.iter().zip(&inputs.objects) {
            // Others are at work on it when there is no next one.
            while place.get().is_none() && parse_next() {}
            match place.get_or_init(|| parse(input)) {
                Ok(object) if is_lasting(object) && !input.is_runtime => {
                    names.bind_early(object);
                }
                _ => break,
            }
            let pages = names.pages_ahead();
            if !pages.is_empty() {
                beside.run(|| ahead::ask_for(pages));
            }
        }
        while parse_next() {}
    });
    let names = names.with(Vec::new());
    // In this order they stay where they are.
    let checked = parsed.into_iter().zip(&inputs.objects).map(|(parsed, input)| {
        let parsed = parsed.into_inner().unwrap_or_else(|| parse(input));
        parsed.map_err(|Damage { place, reason }| {
            let (file, place, reason) = (input.name.clone(), place.into(), reason.into());
            sink.fatal(Message::DamagedInput { file, place, reason })
        })
    });
    Ok((checked.collect::<Result<_, _>>()?, names))
}
