//! The device link proper: from parsed objects to the bytes of the output.

use crate::contents::{GraphRecords, Notes};
use crate::diagnostics::{Message, Sink, Stop};
use crate::explain::{Explain, View};
use crate::gc;
use crate::ids::EntityId;
use crate::layout::{self, Layout, Parts};
use crate::mercury;
use crate::merge;
use crate::mode::{Mode, Output};
use crate::notes;
use crate::object::Object;
use crate::options::Options;
use crate::parallel;
use crate::recorded_paths::Paths;
use crate::references::DeadReferences;
use crate::relocate;
use crate::reports::{attributes, call_graph, limits, registers, verbose};
use crate::resolve::Resolver;
use crate::resources;
use crate::roots::Roots;
use crate::shared;
use crate::signals;
use crate::textures;
use crate::undefined;
use crate::write;
use solder_cubin::note::ToolInfo;
use std::io::{self, Write};
use std::path::Path;

/// Shared memory that the system keeps in front of a kernel's own.
pub fn reserved_shared(sm: u16) -> u64 {
    if sm >= 90 { 0x400 } else { 0 }
}

/// The result of a link.
#[derive(Debug)]
pub struct Linked {
    /// Whether the output file was written; not tried after errors.
    pub written: Option<Result<(), Stop>>,
    /// The call graph for `-dot`.
    pub call_graph: Option<String>,
}

/// Links parsed objects, the names of some of which may be bound, into the bytes of the output file.
pub fn link_objects<'data>(
    options: &Options,
    mode: Mode,
    (objects, names): (&[Object<'data>], Resolver<'data, 'data>),
    roots: &Roots<'_>,
    host: Option<&'data [u8]>,
    explain: Option<Explain<'_, 'data>>,
    sink: &Sink,
) -> Result<Linked, Stop> {
    let target = options.link_target();
    let sm = target.arch.number;
    let relocatable = mode.output == Output::Relocatable;
    sink.phase("resolving");
    // Names are bound before anything is removed: duplicates among dead functions are errors too.
    let bound = names.finish(objects, options.cuda_api_version, sink);
    if let (Err(_), Some(explain)) = (&bound, explain) {
        explain.unresolved(objects, sink);
    }
    let (symbols, graph) = bound?;
    if let Some(object) = objects.iter().find(|object| object.has_unified) {
        // Without an index file nothing can be made of a relocatable one either.
        let what = || format!("'{}': a relocatable link of unified symbols", object.name);
        let message =
            if relocatable { Message::Unsupported { what: what().into() } } else { Message::NoUidx };
        return Err(sink.fatal(message));
    }
    let kernels: Vec<EntityId> = gc::kernels(&symbols).collect();
    let asked_for = kernels.iter().filter(|kernel| roots.contain(symbols.get(**kernel).name));
    let with_launched = roots.contain_launched(asked_for.take(2).count()) && !mode.lto;
    let is_taken = |kernel: EntityId| graph.taken.get(kernel).is_some();
    let is_root =
        |kernel: EntityId| roots.contain(symbols.get(kernel).name) || (with_launched && is_taken(kernel));
    let is_prepared = |kernel: EntityId| {
        roots.contain(symbols.get(kernel).name) || (roots.prepare_launched() && !mode.lto && is_taken(kernel))
    };
    sink.phase("removing dead code");
    let live = if mode.removes_dead_code {
        gc::collect(objects, &symbols, &graph, &kernels, is_root).with_prepared(
            &symbols,
            &kernels,
            is_prepared,
        )
    } else if relocatable {
        gc::Live::everything(&symbols).with_prepared(&symbols, &kernels, is_prepared)
    } else {
        // Kernels that were not asked for stay, but what they call is not followed; debug information keeps them
        // what they are. Those that host code does not refer to are prepared like the others.
        let all = options.debug && !options.suppress_debug_info;
        let by_host = roots.prepare_launched();
        gc::Live::everything(&symbols)
            .with_roots(&symbols, &kernels, |kernel| all || is_root(kernel))
            .with_prepared(&symbols, &kernels, |kernel| {
                all || by_host || roots.contain(symbols.get(kernel).name)
            })
    };
    let live = if mode.lto { live.with_all_roots() } else { live };
    // From here on dead functions do not exist; no symbol or section is added after the merge.
    let by_host = matches!(roots, Roots::Matching(_));
    let unreserved = options.disable_smem_reservation == Some(true);
    let asked_for = options.kernels_used.is_some() || options.variables_used.is_some();
    let debug = options.debug && !options.suppress_debug_info;
    let reserved = if unreserved { 0 } else { reserved_shared(sm) };
    let settings = merge::Settings {
        sm,
        relocatable,
        keeps_shared_symbols: mode.keeps_shared_symbols,
        preserves_relocs: options.preserve_relocs,
        force_rela: options.force_rela,
        host,
        merges_constants: (asked_for || by_host) && !relocatable && !debug,
        drops_constants: asked_for && !relocatable && !mode.keeps_shared_symbols,
        places_dynamic: relocatable && debug,
        reserves_shared: reserved > 0,
        kernels_removed_by_host: by_host,
    };
    sink.phase("merging");
    let variables_used = options.variables_used.as_deref().unwrap_or_default();
    let (merged, (tool_note, cuda_note)) = parallel::join(
        || merge::merge(settings, objects, &symbols, &graph, &live, variables_used, sink),
        || (own_note(options, objects, !relocatable), notes::cuda_note(objects, sm)),
    );
    let (mut merged, mut globals) = merged?;
    sink.phase("registers and memory");
    let silent = options.suppress_stack_size_warning || relocatable;
    let has_old_object = !relocatable && objects.iter().any(notes::is_older_than_10);
    let (mut resources, graph_records) = parallel::join(
        || resources::compute(&merged, &merged.calls, silent, has_old_object, sink),
        || {
            if let Some(globals) = &mut globals {
                globals.name(&merged, &symbols, objects);
            }
            GraphRecords::new(&merged, &graph, relocatable)
        },
    );
    if let Some(globals) = globals {
        merged.take_globals(globals, relocatable);
    }
    if options.extra_warnings {
        for function in &live.uncalled {
            sink.report(Message::UncalledFunction { function: symbols.get(*function).name.into() });
        }
    }
    if relocatable {
        resources.forget_records();
    } else {
        attributes::check_call_stacks(&resources.own, sink)?;
    }
    let referenced = DeadReferences::new(objects, &symbols, &merged);
    let reserves = options.reserve_null_pointer && !options.dont_reserve_null_pointer;
    let start = if reserves { shared::NULL_POINTER } else { 0 };
    let shared = if relocatable {
        shared::unplaced(&merged)
    } else {
        let shown_reserved = if sm >= mercury::FROM { reserved_shared(sm) } else { reserved };
        let settings = shared::Settings {
            reserved,
            shown_reserved,
            start,
            debug: mode.keeps_shared_symbols,
            shows: mode.keeps_shared_symbols || settings.preserves_relocs,
            mercury: sm >= mercury::FROM,
        };
        shared::layout(&merged, &merged.calls, settings, &|id| referenced.contains(id))
    };
    let textures = if relocatable {
        textures::unallocated(&merged, sm)
    } else {
        textures::allocate(&merged, &merged.calls, sm, &|id| referenced.contains(id))
    };
    let view = View {
        symbols: &symbols,
        roots,
        removes_dead_code: mode.removes_dead_code,
        live: &live,
        graph: &graph,
        merged: &merged,
        resources: &resources,
        shared: &shared,
        textures: &textures,
    };
    let limited = limits::check_references(&merged, &textures, sink);
    if let (Err(_), Some(explain)) = (limited, explain) {
        explain.limited(objects, view, sink);
    }
    limited?;
    // Without a Mercury view, nvlink subtracts what is reserved even if an option says that it is not there.
    let uncounted = if sm >= mercury::FROM { reserved } else { reserved_shared(sm) };
    limits::check(options, relocatable, &merged, &shared, uncounted, sink);
    if merged.orphaned_alias {
        return Err(sink.fatal(Message::DeletedSymbol));
    }
    if !relocatable {
        undefined::report(&merged, &symbols, objects, options, sink);
        if merged.deleted_alias {
            return Err(sink.fatal(Message::DeletedSymbol));
        }
        if options.dump_callgraph && objects.is_empty() {
            sink.write(b"No relocatable objects found. Did not generate callgraph.\n");
        } else if options.dump_callgraph {
            sink.write(&call_graph::dump(target, &symbols, &graph, &merged, &resources));
        }
        if merged.deleted_alias_of_static {
            return Err(sink.fatal(Message::DeletedSection));
        }
        attributes::check_cta_groups(&merged, &resources.own, sink);
        registers::report(&merged, &resources, options.dump_callgraph, sink);
    }
    let leaves = (settings.merges_constants || merged.packed) && relocate::leaves_constants(&merged);
    if leaves || (sm >= mercury::FROM && relocate::leaves_tables(&merged)) {
        return Err(sink.fatal(Message::RelocationPastEnd));
    }
    if settings.preserves_relocs && !relocatable && relocate::names_deleted(&merged, &shared) {
        return Err(sink.fatal(Message::DeletedSymbol));
    }
    if unreserved {
        attributes::check_reserved_shared(&merged, &resources.own, objects, &symbols, relocatable, sink);
    }
    if options.verbose {
        let (merged, resources, shared, textures) = (&merged, &resources, &shared, &textures);
        verbose::report(verbose::Uses { merged, resources, shared, textures, relocatable }, sink);
    }
    let call_graph =
        options.dot_file.is_some().then(|| call_graph::dot(&symbols, &graph, &merged, relocatable));
    if let Some(explain) = explain {
        explain.linked(objects, view, sink);
    }
    if relocatable && merged.names_emptied_section() {
        return Err(sink.fatal(Message::DeletedSection));
    }
    if sink.errors() > 0 {
        return Ok(Linked { written: None, call_graph });
    }
    sink.phase("relocating");
    if let Some((function, object, compiled_for)) = mercury::wrong_code(&merged, objects, sm) {
        return Err(sink.fatal(Message::CodeOfOther {
            file: object.name.as_str().into(),
            function: function.into(),
            compiled_for: compiled_for.into(),
            target: sm.into(),
        }));
    }
    // All values are known: decide about the relocations before sizes are fixed.
    let (relocated, notes) = parallel::join(
        || relocate::relocate(&merged, relocatable, &shared, &textures, objects, sink),
        || Notes {
            tool_note,
            cuda_note,
            compat: notes::compat(objects, target.arch, mercury::fastpath(&merged, sm)),
            graph: graph_records,
        },
    );
    let relocated = relocated?;
    let parts = Parts {
        merged: &merged,
        resources: &resources,
        shared: &shared,
        textures: &textures,
        relocated: &relocated,
        notes: &notes,
        sm,
        relocatable,
        debug: mode.keeps_shared_symbols,
    };
    sink.phase("layout");
    let layout = layout::layout(parts);
    if layout.file_size > largest_output(objects) {
        return Err(sink.fatal(Message::OutputTooLarge { size: layout.file_size }));
    }
    if let Some(explain) = explain {
        explain.written(objects, view, &layout, sink)?;
    }
    sink.phase("writing");
    let written = Some(write_image(options.link_output(), parts, &layout, sink));
    let is_large = crate::is_large(objects.iter().map(|object| object.cubin.bytes));
    abandon(is_large, layout);
    abandon(is_large, (notes, relocated, textures, shared, resources, merged, live, graph, symbols));
    Ok(Linked { written, call_graph })
}

/// An output is about as long as its inputs. What is aligned far adds to it, and so do headers and notes.
fn largest_output(objects: &[Object<'_>]) -> u64 {
    const FIXED: u64 = 128 << 20;
    const TIMES: u64 = 32;
    let inputs: u64 = objects.iter().map(|object| object.cubin.bytes.len() as u64).sum();
    inputs.saturating_mul(TIMES).saturating_add(FIXED)
}

/// Leaves what a large link was made of to the end of the process, which is near: to free a million small pieces one
/// by one takes a twentieth of the link.
pub fn abandon<T>(is_large: bool, parts: T) {
    if is_large {
        std::mem::forget(parts);
    }
}

/// The name in the linker's own entry of the tool note, as long as nvlink's.
const TOOL: &str = "solder";
/// The lengths of nvlink's version and build in its own entry. solder's are padded to them, so that two outputs differ in
/// nothing but these words.
const VERSION_LENGTH: usize = 46;
const BUILD_LENGTH: usize = 41;

fn padded(text: &str, length: usize) -> String {
    format!("{text:<length$.length$}")
}

/// The linker's own entry in the tool note.
fn own_note(options: &Options, objects: &[Object<'_>], with_inputs: bool) -> Vec<u8> {
    let object = options.recorded_object_name();
    let command_line = options.recorded_command_line();
    let own = ToolInfo {
        object: &String::from_utf8_lossy(&object),
        tool: TOOL,
        version: &padded(
            concat!("solder ", env!("CARGO_PKG_VERSION"), ", as nvlink 13.0.88"),
            VERSION_LENGTH,
        ),
        build: &padded(concat!("solder ", env!("CARGO_PKG_VERSION")), BUILD_LENGTH),
        command_line: &String::from_utf8_lossy(&command_line),
    };
    let note = notes::tool_note(&own, objects, with_inputs);
    Paths::of(options).applied(note)
}

/// Writes the linked file, unless an input has changed since it was read.
fn write_image(path: &Path, parts: Parts<'_, '_>, layout: &Layout<'_, '_>, sink: &Sink) -> Result<(), Stop> {
    let mut changed = None;
    let written = write::write_file(path, &mut |file| {
        write::image(parts, layout, file)?;
        changed = signals::changed_input();
        if changed.is_some() { Err(io::ErrorKind::InvalidData.into()) } else { Ok(()) }
    });
    match changed {
        None => written.map_err(|error| not_written(path, &error, sink)),
        Some(file) => Err(sink.fatal(Message::InputChanged { file: file.into() })),
    }
}

/// Writes an output file.
pub fn write_output(path: &Path, bytes: &[u8], sink: &Sink) -> Result<(), Stop> {
    let written = write::write_file(path, &mut |file| file.write_all(bytes));
    written.map_err(|error| not_written(path, &error, sink))
}

fn not_written(path: &Path, error: &write::WriteError, sink: &Sink) -> Stop {
    sink.fatal(match error {
        write::WriteError::Open => Message::OutputNotOpened { file: path.into() },
        write::WriteError::Write(error) => {
            Message::OutputNotWritten { file: path.into(), reason: error.to_string().into() }
        }
    })
}
