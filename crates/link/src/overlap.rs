//! Work that is done beside a phase, on another thread where there is one. The results do not depend on it.

use crate::diagnostics::{Sink, Stop};
use crate::fastpath;
use crate::gc::Live;
use crate::image::{GraphRecords, Notes};
use crate::merge;
use crate::model::graph::CallGraph;
use crate::model::merged::Merged;
use crate::model::object::Object;
use crate::model::symbols::Symbols;
use crate::notes;
use crate::options::Options;
use crate::pool::Pool;
use crate::resources::{self, Resources};
use crate::roots::Roots;

/// What of the notes does not depend on the merge.
pub(crate) struct ToolNotes {
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
) -> Result<(Merged<'data>, ToolNotes), Stop> {
    let settings = merge::Settings::new(options, roots);
    let (merged, notes) = pool.join(
        || merge::merge(settings, objects, symbols, graph, live, pool, sink),
        || ToolNotes {
            tool_note: notes::own_note(options, objects),
            virtual_sm: notes::lowest_virtual_sm(objects, options.sm(), options.release),
        },
    );
    Ok((merged?, notes))
}

/// What the sections that the linker makes are written from.
pub(crate) struct Records {
    tools: ToolNotes,
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
        let Self { tools: ToolNotes { tool_note, virtual_sm }, graph } = self;
        let cuda_note = notes::cuda_note(virtual_sm, options.release);
        let fastpath = fastpath::fastpath(merged, options.sm(), options.release);
        let compat = notes::compat(objects, options.target.arch, fastpath, options.release);
        Notes { tool_note, cuda_note, compat, virtual_sm, graph }
    }
}

/// Computes what the kernels need, and makes the records of the call graph meanwhile.
pub(crate) fn resources<'data>(
    merged: &Merged<'data>,
    tools: ToolNotes,
    objects: &[Object<'data>],
    graph: &CallGraph<'data>,
    options: &Options<'_>,
    pool: &Pool,
    sink: &Sink,
) -> (Resources<'data>, Records) {
    let (resources, graph) = pool.join(
        || resources::compute(merged, objects, options, pool, sink),
        || GraphRecords::new(merged, graph, options),
    );
    (resources, Records { tools, graph })
}
