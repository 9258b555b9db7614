//! The call graph of all inputs, over entities: who calls whom, directly or by prototype.

use crate::ids::{EntityId, FileId, PrototypeId, Rare};
use crate::object::Object;
use crate::resolve::Symbols;
use hashbrown::HashMap;
use solder_cubin::callgraph::{Part, records};

/// What the call graph sections of the inputs say, in reading order.
///
/// Records about a copy of a function that was never taken do not count.
#[derive(Debug, Default)]
pub struct CallGraph<'data> {
    pub prototypes: Vec<&'data str>,
    /// caller, callee
    pub calls: Vec<(EntityId, EntityId)>,
    /// caller, prototype
    pub indirect: Vec<(EntityId, PrototypeId)>,
    /// caller, function whose address it takes
    pub takes: Vec<(EntityId, EntityId)>,
    /// The prototype of each function whose address is taken.
    pub taken: Rare<PrototypeId>,
    /// Those functions in the order of the records.
    pub taken_order: Vec<EntityId>,
    /// The prototype of each function that `.nv.prototype` lists.
    pub prototype_of: Rare<PrototypeId>,
}

/// Reads the call graph object by object, as soon as the names of one are bound.
#[derive(Debug, Default)]
pub struct Reader<'data> {
    graph: CallGraph<'data>,
    index: HashMap<&'data str, PrototypeId, foldhash::fast::FixedState>,
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

/// The graph as lists, for a walk from function to function.
#[derive(Debug)]
pub struct Edges {
    /// The functions that a function calls.
    pub calls: Adjacency,
    /// The prototypes of its indirect calls.
    pub indirect: Adjacency,
    /// The functions of a prototype whose address is taken.
    pub by_prototype: Adjacency,
}

impl Edges {
    pub fn new(count: usize, graph: &CallGraph<'_>) -> Self {
        let taken =
            graph.taken_order.iter().filter_map(|f| Some((graph.taken.get(*f)?.number(), f.number())));
        Self {
            calls: Adjacency::new(count, graph.calls.iter().map(|(a, b)| (a.number(), b.number()))),
            indirect: Adjacency::new(count, graph.indirect.iter().map(|(a, p)| (a.number(), p.number()))),
            by_prototype: Adjacency::new(graph.prototypes.len(), taken),
        }
    }
}

/// Lists of neighbours in one allocation: `of(i)` in the order in which the pairs came.
#[derive(Debug, Clone)]
pub struct Adjacency {
    /// Where the list of each node begins and, behind the last, where that ends; empty if there is no pair.
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Adjacency {
    pub fn new(nodes: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        if pairs.clone().next().is_none() {
            return Self { starts: Vec::new(), targets: Vec::new() };
        }
        // The place behind that of a node counts up to its end while its list is filled.
        let mut starts = vec![0u32; nodes + 2];
        for (from, _) in pairs.clone() {
            starts[from as usize + 2] += 1;
        }
        for i in 2..nodes + 2 {
            starts[i] += starts[i - 1];
        }
        let mut targets = vec![0; starts[nodes + 1] as usize];
        for (from, to) in pairs {
            let at = &mut starts[from as usize + 1];
            targets[*at as usize] = to;
            *at += 1;
        }
        Self { starts, targets }
    }

    pub fn of(&self, node: usize) -> &[u32] {
        let bounds = self.starts.get(node..node + 2);
        bounds.map_or(&[], |bounds| &self.targets[bounds[0] as usize..bounds[1] as usize])
    }
}
