//! The call graph of all inputs, over entities: who calls whom, directly or by prototype.

use crate::model::graph::CallGraph;
use crate::model::ids::{EntityId, FileId, PrototypeId, Rare};
use crate::model::object::{Object, Role};
use crate::model::symbols::Symbols;
use bstr::BStr;
use hashbrown::{HashMap, HashSet};
use solder_cubin::callgraph::{Part, records};
use solder_cubin::{Relocations, Section, reloc};

/// Reads the call graph object by object, as soon as the names of one are bound.
#[derive(Debug, Default)]
pub struct Reader<'data> {
    graph: CallGraph<'data>,
    index: HashMap<&'data BStr, PrototypeId, foldhash::fast::FixedState>,
    known_prototype: Rare<PrototypeId>,
    taken: Vec<EntityId>,
    /// Functions whose descriptor a relocation asks for.
    described: Vec<EntityId>,
}

impl<'data> Reader<'data> {
    pub fn read(&mut self, file: FileId, object: &Object<'data>, symbols: &Symbols<'data>) {
        let Self { graph, index, known_prototype, taken, described } = self;
        let mut intern = |graph: &mut CallGraph<'data>, offset| {
            let text = object.string(offset);
            *index.entry(text).or_insert_with(|| {
                graph.prototypes.push(text);
                graph.prototype_files.push(file);
                PrototypeId::at(graph.prototypes.len() - 1)
            })
        };
        for (part, a, b) in records(object.call_graph) {
            // A copy of a function that does not count says nothing, except which prototype it has.
            let counts = symbols.accepted(file, a);
            if !counts && part != Part::Taken {
                continue;
            }
            let prototype = matches!(part, Part::Taken | Part::Indirect).then(|| intern(graph, b));
            let Some(function) = symbols.entity(file, a) else { continue };
            match (part, prototype) {
                (Part::Taken, Some(prototype)) => {
                    let known = known_prototype.get_mut(function);
                    known.get_or_insert(prototype);
                    if counts {
                        *known = Some(prototype);
                        taken.push(function);
                    }
                }
                (Part::Indirect, Some(prototype)) => graph.indirect.push((function, prototype)),
                (Part::Call, _) => graph.calls.extend(symbols.entity(file, b).map(|b| (function, b))),
                (Part::Takes, _) => {
                    if let Some(b) = symbols.entity(file, b) {
                        graph.takes.push((function, b));
                        taken.push(b);
                    }
                }
                _ => {}
            }
        }
        let accepted = descriptors(object).filter(|symbol| symbols.accepted(file, *symbol));
        described.extend(accepted.filter_map(|symbol| symbols.entity(file, symbol)));
        for pair in object.prototypes {
            let prototype = intern(graph, pair.b.get());
            let Some(function) = symbols.entity(file, pair.a.get()) else { continue };
            // Of several, which may differ in what they say about the calling convention, the last one.
            *graph.prototype_of.get_mut(function) = Some(prototype);
        }
    }

    /// The call graph of all that was read.
    pub fn finish(self) -> CallGraph<'data> {
        let Self { mut graph, known_prototype, taken, described, .. } = self;
        // Taken is what a counting record says is taken, be it by a table or by a function.
        for function in taken {
            let prototype = known_prototype.get(function);
            if prototype.is_some() && graph.taken.get(function).is_none() {
                *graph.taken.get_mut(function) = prototype;
                graph.taken_order.push(function);
            }
        }
        let mut seen: HashSet<EntityId, foldhash::fast::FixedState> = HashSet::default();
        let is_new = |function: &EntityId| graph.taken.get(*function).is_none() && seen.insert(*function);
        graph.taken_order.extend(described.into_iter().filter(is_new));
        graph
    }
}

/// The symbols of functions whose descriptor a relocation asks for. Below sm_100 nvlink takes their address for taken, also where
/// the call graph does not say so: assemblers before 12.2 leave it out for kernels of sm_90 (core/descriptors).
fn descriptors(object: &Object<'_>) -> impl Iterator<Item = u32> {
    let has_any = |section: &&Section<'_>| object.summaries[section.index as usize].has_descriptors;
    let is_possible = object.mercury.is_none();
    let sections =
        object.sections_with(Role::Relocations).filter(move |section| is_possible && has_any(section));
    // The size of every section was checked when the object was parsed.
    let entries = sections.filter_map(|section| section.relocations().ok());
    let symbols = |entries: Relocations<'_>| {
        let asking = entries.iter().filter(|entry| reloc::is_descriptor(entry.r_type.get()));
        asking.map(|entry| entry.symbol.get()).collect::<Vec<_>>()
    };
    entries.flat_map(symbols)
}
