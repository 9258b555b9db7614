//! Finalizing: what nvlink makes of the code of an object for sm_100 and later before it links it.
//!
//! Objects hold code that an assembler has finished for one file. nvlink finishes it again for the link, from the Mercury
//! view, by rules of its own. [`finalize`] takes the functions of an object through these steps, in this order:
//!
//! 1. [`older`]: code of other assemblers than that of 13.0.88 becomes what that one would have made.
//!    [`meetings`]: later releases put a workaround into it.
//! 2. [`members`]: code of sm_100 becomes code for sm_103, and that of both code for sm_107.
//! 3. [`exits`]: code for a debugger gets barriers before its exits.
//! 4. [`fences`]: kernels lose what the assembler puts before fences in case of other functions.
//! 5. [`sums`]: sums of two numbers are another instruction in later releases, with other cycles.
//! 6. [`older`] again: later releases schedule code of earlier assemblers anew, by these cycles.
//!
//! A step looks at one function, its code and its capsule, and makes new ones or leaves the function alone. After the last one
//! the object is written once with the new code ([`image`]), and everything in it that names places in the code is moved:
//! symbols, relocations, attributes, jump tables, frames, lines.
//!
//! A last step waits until the output is written, because it makes no instruction move: [`release_stack_pointer`].
//!
//! What is not understood stays as the assembler made it, which is always valid, with two exceptions: the caller has to refuse
//! code of sm_100 that is not fit for sm_103 ([`is_fit_for_103`](crate::is_fit_for_103)), and a capsule of 12.8 that
//! cannot be converted is a [`Problem`].

mod exits;
mod fences;
mod function;
mod image;
mod meetings;
mod members;
mod moves;
mod object;
mod older;
mod stack_pointer;
mod sums;

use crate::schedule::Family;
use crate::unscheduled::{self, Pace};
use bstr::BString;
use function::Function;
use object::Object;
use solder_arch::Release;
use solder_cubin::mercury::is_older_capsule;
use solder_cubin::{Cubin, info};
pub use stack_pointer::{branch_targets, has_indirect_branches, release_stack_pointer};

/// What the code of an object is finalized for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finalize<'a> {
    /// The toolkit whose linker this one is.
    pub release: &'a Release,
    /// The number of the target architecture.
    pub sm: u16,
    /// Code waits for its memory accesses before it exits: the link has `-g`, or an input is for a debugger
    /// ([`is_for_debugger`]).
    pub has_barriers: bool,
    /// The output is an executable without `-g`: what a kernel does not call is not there.
    pub is_whole: bool,
}

/// Why an object cannot be finalized.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The capsule of this function is of 12.8 and has something unknown in it, so that it would be taken for other code.
    UnknownCapsule { function: BString },
}

/// The object with its code finalized; `None` if it stays as it is.
pub fn finalize(cubin: &Cubin<'_>, what: Finalize<'_>) -> Result<Option<Vec<u8>>, Problem> {
    let Some(object) = Object::new(cubin) else { return Ok(None) };
    let origin = older::Origin::of(&object, what.release);
    let family = Family::of(what.sm, what.release);
    let is_for_member = members::applies(cubin.sm(), what.sm);
    let mut changed = Vec::new();
    for (text, capsule) in object.code() {
        let mut function = Function::new(&object, text, capsule);
        function.take(older::expand(&object, &function, origin));
        function.take(older::step(&object, &function, origin));
        refuse_older_capsule(&object, &function)?;
        if what.release.names_workaround() {
            function.take(meetings::step(&function));
        }
        function.take(older::release(&object, &function, origin));
        function.take(older::undelay(&object, &function, origin));
        function.take(older::hold(&object, &function, origin));
        let is_moved = is_for_member || members::applies_107(cubin.sm(), what.sm);
        let pace = unscheduled::pace(&function.code);
        // Code that moves to another machine is scheduled before: double precision has other rules there.
        let is_moved_anew = is_moved && pace.is_none();
        if is_moved_anew {
            function.take(older::schedule(&object, &function, origin));
        }
        if is_for_member {
            function.take(match pace {
                None => members::step(&object, &function, what.release),
                Some(Pace::Waiting) => members::step_waiting(&function),
                Some(Pace::Unpaced) => None,
            });
        }
        if members::applies_107(cubin.sm(), what.sm) {
            function.take(match pace {
                None => members::step_107(&object, &function, what.release),
                Some(_) => members::step_107_unscheduled(&function),
            });
        }
        if what.has_barriers {
            function.take(exits::step(&function, family));
        }
        if what.is_whole {
            function.take(fences::step(&function, family, is_moved_anew || !origin.is_scheduled_last()));
        }
        if what.release.adds_two_numbers(what.sm) {
            function.take(sums::step(&function, &function.jumps(&object), family));
        }
        if pace == Some(Pace::Waiting) {
            function.take(older::unschedule(&function, origin));
        } else if !is_moved {
            function.take(older::schedule(&object, &function, origin));
        }
        if function.is_changed() {
            changed.push(function);
        }
    }
    if changed.is_empty() {
        return Ok(None);
    }
    let image = image::with_functions(&object, &changed);
    if image.is_none() {
        let as_it_came = |(text, capsule)| Function::new(&object, text, capsule);
        object.code().map(as_it_came).try_for_each(|function| refuse_older_capsule(&object, &function))?;
    }
    Ok(image)
}

fn refuse_older_capsule(object: &Object<'_, '_>, function: &Function<'_, '_>) -> Result<(), Problem> {
    if !is_older_capsule(&function.capsule) {
        return Ok(());
    }
    let owner = object.owner_name(function.text);
    owner.map_or(Ok(()), |name| Err(Problem::UnknownCapsule { function: name.into() }))
}

/// Whether an input makes the link one for a debugger, whatever the options say: it has functions that were compiled so.
pub fn is_for_debugger(cubin: &Cubin<'_>) -> bool {
    /// What Mercury's view says of a whole object.
    const INFO: &str = ".nv.merc.nv.info";
    let is_mark = |record: info::Record<'_>| record.attr == info::attr::GEN_ERRBAR_AT_EXIT;
    let mut lists = cubin.sections.iter().filter(|s| s.name == INFO);
    object::has_mercury(cubin)
        && lists.any(|list| info::records(list.data).map_while(Result::ok).any(is_mark))
}
