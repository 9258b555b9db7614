//! The device runtime comes with every link and stays out of those that do not need it.
//!
//! nvlink does not ask what the runtime defines: at its place in the link order it is merged if any symbol is then
//! undefined, whoever is to define it. No code may follow one that was left out, unless it is the first of the link
//! and comes from an archive.

use hashbrown::HashMap;
use solder_cubin::raw;

use super::{DeviceObject, Inputs, Origin};
use crate::diagnostics::{Message, Sink, Stop};
use crate::object::Object;
use crate::undefined;

impl Inputs<'_> {
    /// Takes the runtime out of the objects, and out of the list of modules, where it is not needed; if it is to be kept in any
    /// case, only where its archive comes before all other code. `objects` are [`Inputs::objects`], parsed.
    pub fn leave_out_runtime(
        &mut self,
        objects: &mut Vec<Object<'_>>,
        is_kept: bool,
        sink: &Sink,
    ) -> Result<(), Stop> {
        if !self.objects.iter().any(|object| object.is_runtime) {
            return Ok(());
        }
        let mut names = Names::default();
        let mut kept = Vec::with_capacity(objects.len());
        let mut was_left_out = false;
        for (object, input) in objects.iter().zip(&self.objects) {
            // The first code of a link may be the runtime's archive.
            let comes_first = input.origin == Origin::Archive && !self.has_code_before(input.position);
            let keep = !input.is_runtime || names.undefined > 0 || is_kept && !comes_first;
            if keep {
                names.add(object);
            }
            if was_left_out && !input.is_runtime {
                return Err(sink.fatal(Message::UnexpectedAfterRuntime));
            }
            was_left_out |= !keep && !comes_first;
            kept.push(keep);
        }
        let gone: Vec<usize> = positions(&self.objects, &kept, false);
        self.registrations.retain(|entry| entry.runtime_at.is_none_or(|position| !gone.contains(&position)));
        let mut flags = kept.iter();
        objects.retain(|_| *flags.next().unwrap_or(&true));
        let mut flags = kept.iter();
        self.objects.retain(|_| *flags.next().unwrap_or(&true));
        Ok(())
    }
}

impl Inputs<'_> {
    fn has_code_before(&self, position: usize) -> bool {
        let is_before = |at: usize| at < position;
        self.first_host_code.is_some_and(is_before)
            || self.objects.iter().any(|object| is_before(object.position))
    }
}

fn positions(objects: &[DeviceObject<'_>], kept: &[bool], which: bool) -> Vec<usize> {
    objects.iter().zip(kept).filter(|(_, kept)| **kept == which).map(|(object, _)| object.position).collect()
}

/// The global names so far, and how many of them nobody has defined.
#[derive(Default)]
struct Names<'data> {
    is_defined: HashMap<&'data str, bool>,
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
            // The dynamic part of shared memory has no definition, and needs none.
            let is_shared = symbol.other & raw::STO_SPACE == raw::STO_SHARED;
            if !defined && (symbol.bind() == raw::STB_WEAK || is_shared) {
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
