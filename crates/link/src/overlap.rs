//! Work that is done beside a phase, on another thread where there is one. The results do not depend on it.

use crate::diagnostics::{Sink, Stop};
use crate::fastpath;
use crate::gc::Live;
use crate::image::{GraphRecords, Notes};
use crate::merge::{self, Globals};
use crate::model::graph::CallGraph;
use crate::model::merged::Merged;
use crate::model::object::Object;
use crate::model::symbols::Symbols;
use crate::notes;
use crate::options::Options;
use crate::pool::Pool;
use crate::resources::{self, Resources};
use crate::roots::Roots;

/// The merge and the notes. Global symbols have no names yet: nothing but the string table depends on them.
pub(crate) struct Drafted<'data> {
    merged: Merged<'data>,
    globals: Option<Globals>,
    tool_note: Vec<u8>,
    virtual_sm: u16,
}

/// Merges, and makes the notes meanwhile.
pub(crate) fn merge<'data>(
    objects: &[Object<'data>],
    (symbols, graph): (&Symbols<'data>, &CallGraph<'data>),
    live: &Live,
    roots: &Roots<'_>,
    options: &Options<'data>,
    pool: &Pool,
    sink: &Sink,
) -> Result<Drafted<'data>, Stop> {
    let settings = merge::Settings::new(options, roots);
    let (merged, (tool_note, virtual_sm)) = pool.join(
        || merge::merge(settings, objects, symbols, graph, live, pool, sink),
        || {
            (
                notes::own_note(options, objects),
                notes::lowest_virtual_sm(objects, options.sm(), options.release),
            )
        },
    );
    let (merged, globals) = merged?;
    Ok(Drafted { merged, globals, tool_note, virtual_sm })
}

/// What the sections that the linker makes are written from.
#[derive(Debug)]
pub(crate) struct Records {
    tool_note: Vec<u8>,
    virtual_sm: u16,
    graph: GraphRecords,
}

impl Records {
    /// With the compatibility records, which depend on the code that stays.
    pub(crate) fn with_compat(
        self,
        objects: &[Object<'_>],
        merged: &Merged<'_>,
        options: &Options<'_>,
    ) -> Notes {
        let Self { tool_note, virtual_sm, graph } = self;
        let cuda_note = notes::cuda_note(virtual_sm, options.release);
        let fastpath = fastpath::fastpath(merged, options.sm());
        let compat = notes::compat(objects, options.target.arch, fastpath, options.release);
        Notes { tool_note, cuda_note, compat, virtual_sm, graph }
    }
}

/// Computes what the kernels need, and gives the global symbols their names meanwhile.
pub(crate) fn resources<'data>(
    drafted: Drafted<'data>,
    objects: &[Object<'data>],
    symbols: &Symbols<'data>,
    graph: &CallGraph<'data>,
    options: &Options<'_>,
    pool: &Pool,
    sink: &Sink,
) -> (Merged<'data>, Resources<'data>, Records) {
    let Drafted { mut merged, mut globals, tool_note, virtual_sm } = drafted;
    let (resources, graph) = pool.join(
        || resources::compute(&merged, objects, options, pool, sink),
        || {
            if let Some(globals) = &mut globals {
                globals.name(&merged, symbols, objects);
            }
            GraphRecords::new(&merged, graph, options.relocatable)
        },
    );
    if let Some(globals) = globals {
        merged.take_globals(globals, options.relocatable);
    }
    (merged, resources, Records { tool_note, virtual_sm, graph })
}
