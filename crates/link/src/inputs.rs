//! The inputs of a link, and which of them take part.
//!
//! The device runtime comes with every link and stays out of those that do not need it. nvlink does not ask what the
//! runtime defines: at its place in the link order it is merged if any symbol is then undefined, whoever is to define
//! it. No code may follow one that was left out, unless it is the first of the link and comes from an archive.

use bstr::BStr;
use hashbrown::HashMap;
use solder_cubin::raw;

use crate::checks::undefined;
use crate::diagnostics::{Message, Sink, Stop, Text};
use crate::model::object::Object;
use crate::observer::Observer;
use crate::options::Options;

/// Where device code came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A cubin, fat binary or PTX file of its own.
    File,
    /// A host object.
    HostObject,
    /// A host object in an archive.
    Archive,
}

/// Machine code that takes part in the link.
#[derive(Clone, Debug)]
pub struct Input<'data> {
    /// As messages name it: the file as given, for archives `libfg.a:f2.o`.
    pub name: Text,
    /// A device ELF that passed the checks on its header; its tables have not been looked at.
    pub bytes: &'data [u8],
    /// Where it came from.
    pub origin: Origin,
    /// Place among all inputs, IR for link-time optimization included.
    pub position: usize,
    /// The device runtime, known by its file name. It is merged only if, at its place in the link order, a symbol
    /// that the driver does not provide is undefined, or with `-keep-system-libraries`. Left out, it leaves no trace,
    /// but other code after it is then an error ([`Message::UnexpectedAfterRuntime`]).
    pub is_runtime: bool,
}

/// The inputs of a link, in link order.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a, 'data> {
    /// The device code.
    pub objects: &'a [Input<'data>],
    /// The place of the first host object with device code, for whatever architecture.
    pub first_host_code: Option<usize>,
}

impl Inputs<'_, '_> {
    fn has_code_before(&self, position: usize) -> bool {
        let is_before = |at: usize| at < position;
        self.first_host_code.is_some_and(is_before)
            || self.objects.iter().any(|object| is_before(object.position))
    }
}

/// The inputs that take part, and of each whether it does: all but the device runtime where it is not needed; if it is
/// to be kept in any case, only where its archive comes before all other code. `objects` are the inputs, parsed.
pub(crate) fn taking_part<'data>(
    inputs: Inputs<'_, '_>,
    mut objects: Vec<Object<'data>>,
    options: &Options<'_>,
    observer: &dyn Observer,
    sink: &Sink,
) -> Result<(Vec<Object<'data>>, Vec<bool>), Stop> {
    if !inputs.objects.iter().any(|object| object.is_runtime) {
        let all = vec![true; objects.len()];
        return Ok((objects, all));
    }
    let mut names = Names::default();
    let mut kept = Vec::with_capacity(objects.len());
    let mut was_left_out = false;
    for (object, input) in objects.iter().zip(inputs.objects) {
        // The first code of a link may be the runtime's archive, from 13.0 on.
        let comes_first = options.release.lets_runtime_come_first()
            && input.origin == Origin::Archive
            && !inputs.has_code_before(input.position);
        let keep = !input.is_runtime || names.undefined > 0 || options.keep_system_libraries && !comes_first;
        if keep {
            names.add(object);
        }
        if was_left_out && !input.is_runtime {
            let stop = sink.fatal(Message::UnexpectedAfterRuntime);
            observer.stopped(&objects, None);
            return Err(stop);
        }
        was_left_out |= !keep && !comes_first;
        kept.push(keep);
    }
    let mut stays = kept.iter();
    objects.retain(|_| *stays.next().unwrap_or(&true));
    Ok((objects, kept))
}

/// The global names so far, and how many of them are of functions that nobody has defined.
#[derive(Default)]
struct Names<'data> {
    is_defined: HashMap<&'data BStr, bool>,
    undefined: usize,
}

impl<'data> Names<'data> {
    fn add(&mut self, object: &Object<'data>) {
        for (index, symbol) in object.symbols() {
            let name = object.names[index as usize];
            let defined = symbol.shndx.get() != raw::SHN_UNDEF;
            if symbol.bind() == raw::STB_LOCAL || (!defined && undefined::is_provided(symbol.kind(), name)) {
                continue;
            }
            // Data that nobody defines does not ask for the runtime (core/runtime-not-for-data).
            if !defined && (symbol.bind() == raw::STB_WEAK || symbol.kind() != raw::STT_FUNC) {
                continue;
            }
            match self.is_defined.insert(name, defined) {
                None => self.undefined += usize::from(!defined),
                Some(false) => self.undefined -= usize::from(defined),
                Some(true) => drop(self.is_defined.insert(name, true)),
            }
        }
    }
}
