//! Makes the code of objects for sm_100 and later what the link needs. New schedules, which move nothing, are made for the
//! kernels that prevail, when they are written (`crate::write`).

use crate::diagnostics::{Message, Sink, Stop};
use crate::model::object::{Damage, Object};
use crate::options::Options;
use crate::pool::Pool;
use solder_sass::finalize::{self, Finalize, Problem};

/// Holds the objects that are made during a link.
pub type Arena = typed_arena::Arena<Vec<u8>>;

/// The objects, those for sm_100 and later with their code as nvlink makes it for this link.
pub fn finalize<'data>(
    mut objects: Vec<Object<'data>>,
    options: &Options<'_>,
    is_large: bool,
    arena: &'data Arena,
    pool: &Pool,
    sink: &Sink,
) -> Result<Vec<Object<'data>>, Stop> {
    let is_for_debugger =
        |object: &Object<'_>| object.mercury.is_some() && finalize::is_for_debugger(&object.cubin);
    let what = Finalize {
        release: options.release,
        sm: options.sm(),
        has_barriers: options.debug || objects.iter().any(is_for_debugger),
        is_whole: !options.relocatable && !options.debug,
    };
    let code = |object: &Object<'_>| match object.mercury {
        Some(_) => finalize::finalize(&object.cubin, what),
        None => Ok(None),
    };
    let finalized = pool.map(&objects, is_large, code);
    for (object, finalized) in objects.iter_mut().zip(finalized) {
        let bytes = finalized.map_err(|Problem::UnknownCapsule { function }| {
            let (file, function) = ((&object.name).into(), function.into());
            sink.fatal(Message::CodeOfOtherToolkit { file, function, toolkit: options.release.name })
        })?;
        let Some(bytes) = bytes else { continue };
        let name = std::mem::take(&mut object.name);
        let file = (&name).into();
        *object = Object::parse(name, arena.alloc(bytes), pool).map_err(|Damage { place, reason }| {
            sink.fatal(Message::DamagedInput { file, place: place.into(), reason: reason.into() })
        })?;
    }
    Ok(objects)
}
