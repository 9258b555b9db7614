//! What loading gives: device code, IR, and what host code refers to.

use super::content::IrContent;
use super::item::{Item, Product, Settings};
use crate::diagnostics::{Message, Sink, Text};
use crate::inputs::{Input, Origin};
use crate::roots::{HostReferences, REFERENCE_KINDS};
use solder_arch::Release;

/// IR for link-time optimization.
#[derive(Clone, Debug)]
pub struct IrModule<'data> {
    /// As messages name it.
    pub name: Text,
    /// The IR.
    pub content: IrContent<'data>,
    /// The options the module was compiled with; `None` for a file of its own.
    pub options: Option<&'data [u8]>,
    /// Where it came from.
    pub origin: Origin,
    /// Place among all inputs.
    pub position: usize,
    /// The device runtime.
    pub is_runtime: bool,
}

/// A line of the file that `--register-link-binaries` writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// What is registered.
    pub id: RegistrationId,
    /// Left out together with the runtime at this position.
    pub runtime_at: Option<usize>,
}

/// What is registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistrationId {
    /// A module of a host object, by its id.
    Module(Vec<u8>),
    /// A file that is not a host object.
    File(Text),
    /// A fat binary in which nothing is found.
    Nothing,
}

/// All that was loaded.
#[derive(Clone, Debug, Default)]
pub struct Loaded<'data> {
    /// Device code, in link order.
    pub objects: Vec<Input<'data>>,
    /// IR, in link order.
    pub ir: Vec<IrModule<'data>>,
    /// What host code refers to.
    pub references: HostReferences<'data>,
    /// What a host program registers.
    pub registrations: Vec<Registration>,
    /// The further modules of combined host objects: they come after all others, last one first (hostobj/combined-modules).
    pub(super) further: Vec<Registration>,
    /// Place of the first host object with device code, for whatever architecture. An archive of the device runtime
    /// before it is not asked what it refers to, and does not make code incomplete.
    pub first_host_code: Option<usize>,
    /// The device runtime was among what is registered and was left out.
    pub dropped_runtime: bool,
    /// All objects but the device runtime are the IR of the whole program, compiled.
    pub is_optimized: bool,
}

impl<'data> Loaded<'data> {
    /// Leaves only the modules of a program that is all IR, which are listed last first. A runtime that is kept is one
    /// of them, unless it comes before all code where that makes it as good as not given.
    pub fn only_ir(&mut self, keep_runtime: bool, release: &Release) {
        let (first, counts_early) = (self.first_host_code, !release.lets_runtime_come_first());
        let is_late = |position: usize| counts_early || first.is_some_and(|first| first < position);
        self.objects.clear();
        let mut of_runtime = self.registrations.iter().filter_map(|entry| entry.runtime_at);
        self.dropped_runtime = !keep_runtime && of_runtime.any(is_late);
        self.registrations
            .retain(|entry| entry.runtime_at.is_none_or(|position| keep_runtime && is_late(position)));
        self.registrations.reverse();
    }

    /// Leaves out the device runtime where the link did without it: some objects took part, others did not.
    pub fn leave_out(&mut self, took_part: &[bool]) {
        let without = self.objects.iter().zip(took_part).filter(|(_, took_part)| !**took_part);
        let gone: Vec<usize> = without.map(|(object, _)| object.position).collect();
        let others = self.objects.iter().zip(took_part).filter(|(_, took_part)| **took_part);
        let first = others.map(|(object, _)| object.position).min();
        self.dropped_runtime = self
            .registrations
            .iter()
            .filter_map(|entry| entry.runtime_at)
            .any(|position| gone.contains(&position) && first.is_some_and(|first| first < position));
        self.registrations.retain(|entry| entry.runtime_at.is_none_or(|position| !gone.contains(&position)));
    }

    /// Adds what an item gave.
    pub(super) fn take(
        &mut self,
        settings: &Settings,
        position: usize,
        item: Item<'data>,
        product: Product<'data>,
        sink: &Sink,
    ) {
        let lto = settings.lto;
        let is_runtime = settings.knows_runtime && item.is_runtime;
        if let Some(host) = item.host {
            self.references.incomplete |= !host.lists_references;
            let is_early = is_runtime && item.origin == Origin::Archive && self.first_host_code.is_none();
            if host.code.is_some() && !is_early {
                self.first_host_code.get_or_insert(position);
            }
            for (kind, pattern) in host.references {
                self.references.any_kernel |= REFERENCE_KINDS[kind].0.is_kernel() && !is_runtime;
                if !(lto && is_early) {
                    self.references.patterns[kind].push(pattern);
                }
            }
            let runtime_at = is_runtime.then_some(position);
            let module = |id: &[u8]| Registration { id: RegistrationId::Module(id.to_vec()), runtime_at };
            if host.code.is_some() && host.module_ids.is_empty() && host.linked.is_empty() {
                self.registrations
                    .push(Registration { id: RegistrationId::File(item.name.clone()), runtime_at });
            } else if host.code.is_some() {
                let mut modules = host.module_ids.into_iter().map(module);
                self.registrations.extend(modules.next());
                self.further.extend(modules);
            }
        }
        let Item { name, origin, .. } = item;
        match product {
            // PTX that was not assembled does not get here.
            Product::Nothing | Product::Ptx { .. } => return,
            Product::Unmatched { is_registered } => {
                self.references.raw_inputs |= origin == Origin::File;
                if is_registered && origin == Origin::File {
                    let runtime_at = is_runtime.then_some(position);
                    self.registrations.push(Registration { id: RegistrationId::Nothing, runtime_at });
                }
                return;
            }
            Product::Object(bytes) => {
                if lto && !is_runtime {
                    sink.report(Message::PartialLto { file: name.clone() });
                }
                self.objects.push(Input { name: name.clone(), bytes, origin, position, is_runtime });
            }
            Product::Ir { content, options } => {
                if origin == Origin::File && settings.release.registers_files_of_ir() {
                    self.references.incomplete = true;
                    self.registrations.push(Registration { id: RegistrationId::Nothing, runtime_at: None });
                }
                self.ir.push(IrModule { name, content, options, origin, position, is_runtime });
                return;
            }
        }
        if origin == Origin::File {
            self.references.raw_inputs = true;
            let runtime_at = is_runtime.then_some(position);
            self.registrations.push(Registration { id: RegistrationId::File(name), runtime_at });
        }
    }
}
