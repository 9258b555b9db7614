//! The device link proper: from parsed objects to the bytes of the output.

use crate::callgraph;
use crate::contents::{GraphRecords, Notes};
use crate::diagnostics::{Message, Sink, Stop};
use crate::gc;
use crate::layout::{self, Parts};
use crate::mercury;
use crate::merge;
use crate::mode::{Mode, Output};
use crate::notes;
use crate::object::Object;
use crate::options::Options;
use crate::references::DeadReferences;
use crate::relocate;
use crate::resolve;
use crate::resources;
use crate::roots::Roots;
use crate::shared;
use crate::textures;
use crate::undefined;
use crate::write;
use solder_cubin::note::ToolInfo;

/// Links parsed objects into the bytes of the output file.
pub fn link_objects(
    options: &Options,
    mode: Mode,
    objects: &[Object<'_>],
    roots: &Roots<'_>,
    host: Option<&[u8]>,
    sink: &Sink,
) -> Result<Vec<u8>, Stop> {
    let target = options.link_target();
    let sm = target.arch.number;
    let relocatable = mode.output == Output::Relocatable;
    // Names are bound before anything is removed: duplicates among dead functions are errors too.
    let symbols = resolve::resolve(objects, sink)?;
    let graph = callgraph::read(objects, &symbols);
    let live = if mode.removes_dead_code {
        gc::collect(objects, &symbols, &graph, |kernel| roots.contain(kernel))
    } else {
        gc::Live::everything(&symbols)
    };
    // From here on dead functions do not exist; no symbol or section is added after the merge.
    let by_host = matches!(roots, Roots::Matching(_));
    let settings = merge::Settings { sm, relocatable, host, kernels_removed_by_host: by_host };
    let merged = merge::merge(settings, objects, &symbols, &graph, &live, sink)?;
    let has_old_object = !relocatable && objects.iter().any(notes::is_older_than_10);
    let resources =
        resources::compute(&merged, &merged.calls, options.suppress_stack_size_warning, has_old_object, sink);
    undefined::report(&merged, &symbols, objects, options, sink);
    sink.check()?;
    if merged.deleted_alias {
        return Err(sink.fatal(Message::DeletedSymbol));
    }
    let referenced = DeadReferences::new(objects, &symbols, &merged);
    let shared = shared::layout(&merged, &merged.calls, sm, &|id| referenced.contains(id));
    let textures = if relocatable {
        textures::unallocated(&merged)
    } else {
        textures::allocate(&merged, &merged.calls, sm, &|id| referenced.contains(id))
    };
    // All values are known: decide about the relocations before sizes are fixed.
    let relocated = relocate::relocate(&merged, &shared, &textures, objects, sink)?;
    let notes = Notes {
        tool_note: own_note(options, objects, !relocatable),
        cuda_note: notes::cuda_note(objects, sm),
        compat: notes::compat(objects, target.arch, mercury::fastpath(&merged, sm)),
        graph: GraphRecords::new(&merged, &graph),
    };
    let parts = Parts {
        merged: &merged,
        resources: &resources,
        shared: &shared,
        textures: &textures,
        relocated: &relocated,
        notes: &notes,
        sm,
        relocatable,
    };
    let layout = layout::layout(parts);
    Ok(write::image(parts, &layout))
}

/// The linker's own entry in the tool note.
fn own_note(options: &Options, objects: &[Object<'_>], with_inputs: bool) -> Vec<u8> {
    let object = options.recorded_object_name();
    let command_line = options.recorded_command_line();
    let own = ToolInfo {
        object: &String::from_utf8_lossy(&object),
        tool: "solder",
        version: concat!("solder ", env!("CARGO_PKG_VERSION"), ", as nvlink 13.0.88"),
        build: concat!("solder ", env!("CARGO_PKG_VERSION")),
        command_line: &String::from_utf8_lossy(&command_line),
    };
    notes::tool_note(&own, objects, with_inputs)
}

/// Writes the output file.
pub fn write_output(options: &Options, image: &[u8], sink: &Sink) -> Result<(), Stop> {
    let path = options.link_output();
    write::write_file(path, image).map_err(|error| {
        sink.fatal(match error {
            write::WriteError::Open => Message::OutputNotOpened { file: path.into() },
            write::WriteError::Write(error) => {
                Message::OutputNotWritten { file: path.into(), reason: error.to_string().into() }
            }
        })
    })
}
