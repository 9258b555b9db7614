//! The link: its phases, one after the other.

use crate::checks;
use crate::diagnostics::{Sink, Stop};
use crate::finalize::{self, Arena};
use crate::gc;
use crate::image::Parts;
use crate::inputs::{self, Inputs};
use crate::layout;
use crate::observer::{Observer, Watch};
use crate::options::Options;
use crate::overlap;
use crate::parse;
use crate::pool::Pool;
use crate::references::DeadReferences;
use crate::relocate::{self, Given};
use crate::report;
use crate::roots::Roots;
use crate::shared;
use crate::textures;
use crate::view::View;
use crate::write::Image;
use std::mem::forget;

/// Takes the image of a link and writes it.
pub type Write<'a> = &'a dyn Fn(Image<'_, '_>) -> Result<(), Stop>;

/// What a link gives beside the image.
#[derive(Debug)]
pub struct Linked {
    /// Whether there was an image to write. There is none after errors.
    pub is_written: bool,
    /// Which of the inputs took part.
    pub takes_part: Vec<bool>,
    /// The call graph, drawn for `dot`, if that was asked for.
    pub drawing: Option<Vec<u8>>,
}

/// Links the inputs.
pub fn link(
    inputs: Inputs<'_, '_>,
    options: &Options<'_>,
    observer: &dyn Observer,
    write: Write<'_>,
    pool: &Pool,
    sink: &Sink,
) -> Result<Linked, Stop> {
    let is_large = parse::is_large(inputs.objects);
    let arena = Arena::default();
    sink.phase("parsing");
    let (objects, names) = parse::parse(inputs.objects, is_large, options.release, pool, sink)?;
    // The device runtime comes with every link and stays out of those that do not need it.
    let (objects, takes_part) = inputs::taking_part(inputs, objects, options, observer, sink)?;
    observer.parsed(&objects)?;
    // Code for sm_100 and later is made anew for this link, so that no later phase knows that places have moved.
    let objects = finalize::finalize(objects, options, is_large, &arena, pool, sink)?;
    let watch = Watch::new(observer, &objects);
    sink.phase("resolving");
    // Names are bound before anything is removed: duplicates among dead functions are errors too.
    let bound = names.finish(&objects, options.release, options.cuda_api_version, sink);
    let (symbols, graph) = bound.inspect_err(|_| observer.unresolved(&objects))?;
    checks::unified(&objects, options, sink)?;
    sink.phase("removing dead code");
    // A removed function leaves no section and no name, so that it is removed before the merge.
    let Options { kernels_used, variables_used, references, is_optimized, .. } = *options;
    let roots = Roots::new(kernels_used, variables_used, references, is_optimized);
    let live = gc::live(&objects, &symbols, &graph, &roots, options);
    sink.phase("merging");
    // From here on dead functions do not exist. What the merge creates is in the order of the file.
    let (merged, tools) = overlap::merge(&objects, (&symbols, &graph), &live, &roots, options, pool, sink)?;
    sink.phase("registers and memory");
    // No symbol or section is added from here on.
    let (resources, records) = overlap::resources(&merged, tools, &objects, &graph, options, pool, sink);
    // Each variable in shared memory and each handle has one place in all kernels that reach it.
    let referenced = DeadReferences::new(&objects, &symbols, &merged);
    let shared = shared::lay_out(&merged, options, &referenced);
    let textures = textures::lay_out(&merged, options, &referenced);
    let view = View {
        symbols: &symbols,
        roots: &roots,
        removes_dead_code: !options.keeps_dead_code,
        live: &live,
        graph: &graph,
        merged: &merged,
        resources: &resources,
        shared: &shared,
        textures: &textures,
    };
    // Problems of a link are reported together, when all sizes are known.
    checks::of_link(&objects, view, options, sink).inspect_err(|_| watch.stopped(view))?;
    let drawing = options.draw_callgraph.then(|| report::draw(view, options));
    observer.linked(&objects, view);
    if !checks::of_image(&objects, &merged, options, sink)? {
        watch.done();
        return Ok(Linked { is_written: false, takes_part, drawing });
    }
    sink.phase("relocating");
    // All values are known. A section of relocations that becomes empty is not in the file: so before the layout.
    let relocating = || relocate::relocate(Given::new(view, &objects, options), &objects, pool, sink);
    let (relocated, notes) = pool.join(relocating, || records.with_compat(&objects, &merged, options));
    let relocated = relocated?;
    let parts = Parts::new(view, &relocated, &notes, options, pool);
    sink.phase("layout");
    // After this nothing moves.
    let layout = layout::layout(parts);
    checks::of_size(&objects, layout.file_size, sink)?;
    observer.laid_out(&objects, view, &layout)?;
    sink.phase("writing");
    write(Image { parts, layout: &layout })?;
    watch.done();
    if options.forgets_memory && is_large {
        forget(layout);
        forget((notes, relocated, textures, shared, resources, merged, live, graph, symbols));
        forget(objects);
        forget(arena);
    }
    Ok(Linked { is_written: true, takes_part, drawing })
}
