//! Checks that only end a link or report something about it: limits that it exceeds, undefined references, attributes
//! that do not go together. They run when all sizes are known, in nvlink's order, and none of them changes the link.

mod arrivals;
mod attributes;
pub mod limits;
mod parameters;
mod registers;
pub mod undefined;

use crate::diagnostics::{Message, Sink, Stop};
use crate::fastpath;
use crate::model::mercury;
use crate::model::merged::{Merged, Problem};
use crate::model::object::Object;
use crate::options::{Options, reserved_shared};
use crate::relocate;
use crate::report::{call_graph, verbose};
use crate::view::View;

/// Symbols of the driver's tables need an index file, which no tool of the toolkit writes.
pub fn unified(objects: &[Object<'_>], options: &Options<'_>, sink: &Sink) -> Result<(), Stop> {
    let Some(object) = objects.iter().find(|object| object.has_unified) else { return Ok(()) };
    let what = || format!("'{}': a relocatable link of unified symbols", object.name);
    let message =
        if options.relocatable { Message::Unsupported { what: what().into() } } else { Message::NoUidx };
    Err(sink.fatal(message))
}

/// Everything that nvlink reports about a link before it makes the image.
pub fn of_link(
    objects: &[Object<'_>],
    view: View<'_, '_>,
    options: &Options<'_>,
    sink: &Sink,
) -> Result<(), Stop> {
    let View { symbols, live, graph, merged, resources, shared, textures, .. } = view;
    let relocatable = options.relocatable;
    if options.tools_patch {
        attributes::check_tools_patch(objects, merged, symbols, options.release, sink)?;
    }
    if options.extra_warnings {
        for function in &live.uncalled {
            sink.report(Message::UncalledFunction { function: symbols.get(*function).name.into() });
        }
    }
    if !relocatable {
        attributes::check_call_stacks(&resources.own, sink)?;
    }
    limits::check_references(merged, textures, sink)?;
    // Without a Mercury view, nvlink subtracts what is reserved even if an option says that it is not there.
    let has_mercury = options.sm() >= mercury::FROM;
    let uncounted = if has_mercury { options.reserved_shared() } else { reserved_shared(options.sm()) };
    limits::check(options, merged, shared, uncounted, sink);
    let deleted =
        |problem| if merged.has(problem) { Err(sink.fatal(Message::DeletedSymbol)) } else { Ok(()) };
    if relocatable {
        deleted(Problem::OrphanedAlias)?;
    } else {
        // Undefined references come first (core/alias-deleted-undefined).
        undefined::report(merged, symbols, objects, options.allow_undefined_globals, sink);
        parameters::check(objects, options.sm(), sink);
        deleted(Problem::OrphanedAlias)?;
        deleted(Problem::DeletedAlias)?;
        if options.dump_callgraph && objects.is_empty() {
            sink.write(b"No relocatable objects found. Did not generate callgraph.\n");
        } else if options.dump_callgraph {
            sink.write(&call_graph::dump(options.target, symbols, graph, merged, resources));
        }
        if options.release.knows_tensor_groups() {
            attributes::check_cta_groups(merged, &resources.own, options.release, sink);
        }
        registers::report(merged, resources, options.dump_callgraph, sink);
        if merged.has(Problem::DeletedAliasOfSection) {
            return Err(sink.fatal(Message::DeletedSection));
        }
    }
    let has_moved = options.merges_constants(view.roots) || merged.packed;
    if (has_moved && relocate::has_stale_constant_reloc(merged))
        || (has_mercury && relocate::has_stale_table_reloc(merged))
    {
        return Err(sink.fatal(Message::RelocationPastEnd));
    }
    if options.preserve_relocs && !relocatable && relocate::names_deleted(merged, shared) {
        return Err(sink.fatal(Message::DeletedSymbol));
    }
    if options.disable_smem_reservation && options.release.checks_reserved_shared() {
        attributes::check_reserved_shared(merged, &resources.own, objects, symbols, relocatable, sink);
    }
    if options.verbose {
        let release = options.release;
        verbose::report(verbose::Uses { merged, resources, shared, textures, release, relocatable }, sink);
    }
    Ok(())
}

/// What prevents an image; whether one is made.
pub fn of_image(
    objects: &[Object<'_>],
    merged: &Merged<'_>,
    options: &Options<'_>,
    sink: &Sink,
) -> Result<bool, Stop> {
    if options.relocatable && merged.names_emptied_section() {
        return Err(sink.fatal(Message::DeletedSection));
    }
    if sink.errors() > 0 && !options.image_despite_errors {
        return Ok(false);
    }
    let sm = options.sm();
    let Some((function, object, compiled_for)) = fastpath::wrong_code(merged, objects, sm, options.release)
    else {
        return Ok(true);
    };
    let (file, function) = ((&object.name).into(), function.into());
    let (compiled_for, target) = (compiled_for.into(), sm.into());
    Err(sink.fatal(if sm == fastpath::SLOWER {
        Message::CodeTooEarly { file, compiled_for, function, target }
    } else {
        Message::CodeOfOther { file, compiled_for, function, target }
    }))
}

/// An output is about as long as its inputs. What is aligned far adds to it, and so do headers and notes.
pub fn of_size(objects: &[Object<'_>], size: u64, sink: &Sink) -> Result<(), Stop> {
    const FIXED: u64 = 128 << 20;
    const TIMES: u64 = 32;
    let inputs: u64 = objects.iter().map(|object| object.cubin.bytes.len() as u64).sum();
    let largest = inputs.saturating_mul(TIMES).saturating_add(FIXED);
    if size > largest { Err(sink.fatal(Message::OutputTooLarge { size })) } else { Ok(()) }
}
