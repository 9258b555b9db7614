//! The Mercury view of objects for sm_100 and later.
//!
//! Such an object describes its code twice: as machine code in the ordinary sections, and as Mercury in
//! twins of them. nvlink links the Mercury view by the rules of earlier architectures and then makes the
//! machine code's view from the result. Here one link is done on the ordinary sections, each carrying
//! its twin along; where the two views differ, order and names follow Mercury.

mod exits;
mod fences;
mod first_block;
mod frames;
mod lines;
mod members;
mod moves;
mod older;
mod operands;
mod pending;
mod places;
mod rewrite;
mod scoreboards;
mod waits;

pub use exits::{is_for_debugger, with_barriers};
pub use fences::without_precautions;
pub use frames::{Event, Frame, Frames};
pub use lines::{
    REGISTER_TABLE, is_line_table, places_of as register_places, translated as translated_lines,
    units as line_units,
};
pub use members::{TO as OTHER_MEMBER, for_other_member};
pub use older::{as_current, not_converted};
pub use places::Places;
pub use scoreboards::{branch_targets, has_indirect_branches, release_stack_pointer};

use crate::diagnostics::{Message, Sink, Stop};
use crate::model::object::{Damage, Object};
use crate::options::Options;
use crate::pool::Pool;

/// Holds the objects that are made during a link.
pub type Arena = typed_arena::Arena<Vec<u8>>;

/// Makes the code of objects for sm_100 and later what the link needs: in the current format, for the target, for a
/// debugger or without what the assembler adds for fear of other functions.
pub fn finalize<'data>(
    mut objects: Vec<Object<'data>>,
    options: &Options<'_>,
    is_large: bool,
    arena: &'data Arena,
    pool: &Pool,
    sink: &Sink,
) -> Result<Vec<Object<'data>>, Stop> {
    let sm = options.target.arch.number;
    let current = |object: &Object<'_>| as_current(object, options.release);
    rewrite_all(&mut objects, current, is_large, arena, pool, sink)?;
    check_capsules(&objects, options, sink)?;
    if sm == OTHER_MEMBER {
        rewrite_all(&mut objects, for_other_member, is_large, arena, pool, sink)?;
    }
    if options.debug || objects.iter().any(is_for_debugger) {
        rewrite_all(&mut objects, with_barriers, is_large, arena, pool, sink)?;
    }
    if !options.relocatable && !options.debug {
        rewrite_all(&mut objects, |object| without_precautions(object, sm), is_large, arena, pool, sink)?;
    }
    Ok(objects)
}

fn rewrite_all<'data>(
    objects: &mut [Object<'data>],
    code: impl Fn(&Object<'_>) -> Option<Vec<u8>> + Send + Sync,
    is_large: bool,
    arena: &'data Arena,
    pool: &Pool,
    sink: &Sink,
) -> Result<(), Stop> {
    let finalized = pool.map(objects, is_large, code);
    for (object, finalized) in objects.iter_mut().zip(finalized) {
        let Some(bytes) = finalized else { continue };
        let name = std::mem::take(&mut object.name);
        let file = name.as_str().into();
        *object = Object::parse(name, arena.alloc(bytes), pool).map_err(|Damage { place, reason }| {
            sink.fatal(Message::DamagedInput { file, place: place.into(), reason: reason.into() })
        })?;
    }
    Ok(())
}

/// A capsule of 12.8 that has something unknown in it would be taken for other code.
fn check_capsules(objects: &[Object<'_>], options: &Options<'_>, sink: &Sink) -> Result<(), Stop> {
    let found = objects.iter().find_map(|object| Some((object, not_converted(object)?)));
    let Some((object, function)) = found else { return Ok(()) };
    let file = object.name.as_str().into();
    Err(sink.fatal(Message::CodeOfOtherToolkit {
        file,
        function: function.into(),
        toolkit: options.release.name,
    }))
}
