//! The call graph of all inputs, over entities: who calls whom, directly or by prototype.

use crate::model::graph::CallGraph;
use crate::model::ids::{EntityId, FileId, PrototypeId, Rare};
use crate::model::object::Object;
use crate::model::symbols::Symbols;
use bstr::BStr;
use hashbrown::HashMap;
use solder_cubin::callgraph::{Part, records};

/// Reads the call graph object by object, as soon as the names of one are bound.
#[derive(Debug, Default)]
pub struct Reader<'data> {
    graph: CallGraph<'data>,
    index: HashMap<&'data BStr, PrototypeId, foldhash::fast::FixedState>,
    known_prototype: Rare<PrototypeId>,
    taken: Vec<EntityId>,
}

impl<'data> Reader<'data> {
    pub fn read(&mut self, file: FileId, object: &Object<'data>, symbols: &Symbols<'data>) {
        let Self { graph, index, known_prototype, taken } = self;
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
        for pair in object.prototypes {
            let prototype = intern(graph, pair.b.get());
            let Some(function) = symbols.entity(file, pair.a.get()) else { continue };
            // Of several, which may differ in what they say about the calling convention, the last one.
            *graph.prototype_of.get_mut(function) = Some(prototype);
        }
    }

    /// The call graph of all that was read.
    pub fn finish(self) -> CallGraph<'data> {
        let Self { mut graph, known_prototype, taken, .. } = self;
        // Taken is what a counting record says is taken, be it by a table or by a function.
        for function in taken {
            let prototype = known_prototype.get(function);
            if prototype.is_some() && graph.taken.get(function).is_none() {
                *graph.taken.get_mut(function) = prototype;
                graph.taken_order.push(function);
            }
        }
        graph
    }
}
