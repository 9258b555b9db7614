//! The call graph of all inputs, over entities: who calls whom, directly or by prototype.

use crate::ids::{EntityId, FileId};
use crate::object::Object;
use crate::resolve::Symbols;
use hashbrown::HashMap;
use solder_cubin::callgraph::{Part, records};

/// A prototype string, numbered by first mention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrototypeId(pub u32);

impl PrototypeId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

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
    pub taken: Vec<Option<PrototypeId>>,
    /// Those functions in the order of the records.
    pub taken_order: Vec<EntityId>,
    /// The prototype of each function that `.nv.prototype` lists.
    pub prototype_of: Vec<Option<PrototypeId>>,
}

pub fn read<'data>(objects: &[Object<'data>], symbols: &Symbols<'data>) -> CallGraph<'data> {
    let count = symbols.entities.len();
    let mut graph =
        CallGraph { taken: vec![None; count], prototype_of: vec![None; count], ..CallGraph::default() };
    let mut index: HashMap<&'data str, PrototypeId, foldhash::fast::FixedState> = HashMap::default();
    let mut known_prototype = vec![None; count];
    let mut taken = Vec::new();
    for (file, object) in objects.iter().enumerate() {
        let file = FileId::at(file);
        let mut intern = |graph: &mut CallGraph<'data>, offset| {
            let text = object.string(offset);
            *index.entry(text).or_insert_with(|| {
                graph.prototypes.push(text);
                PrototypeId(graph.prototypes.len() as u32 - 1)
            })
        };
        for (part, a, b) in records(object.call_graph) {
            // A copy of a function that does not count says nothing, except which prototype it has.
            let counts = symbols.accepted(file, a);
            if !counts && part != Part::Taken {
                continue;
            }
            let prototype = matches!(part, Part::Taken | Part::Indirect).then(|| intern(&mut graph, b));
            let Some(function) = symbols.entity(file, a) else { continue };
            match (part, prototype) {
                (Part::Taken, Some(prototype)) => {
                    known_prototype[function.index()].get_or_insert(prototype);
                    if counts {
                        known_prototype[function.index()] = Some(prototype);
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
            let prototype = intern(&mut graph, pair.b.get());
            let Some(function) = symbols.entity(file, pair.a.get()) else { continue };
            graph.prototype_of[function.index()].get_or_insert(prototype);
        }
    }
    // Taken is what a counting record says is taken, be it by a table or by a function.
    for function in taken {
        let prototype = known_prototype[function.index()];
        if prototype.is_some() && graph.taken[function.index()].is_none() {
            graph.taken[function.index()] = prototype;
            graph.taken_order.push(function);
        }
    }
    graph
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
        let taken = graph.taken_order.iter().filter_map(|f| Some((graph.taken[f.index()]?.0, f.number())));
        Self {
            calls: Adjacency::new(count, graph.calls.iter().map(|(a, b)| (a.number(), b.number()))),
            indirect: Adjacency::new(count, graph.indirect.iter().map(|(a, p)| (a.number(), p.0))),
            by_prototype: Adjacency::new(graph.prototypes.len(), taken),
        }
    }
}

/// Lists of neighbours in one allocation: `of(i)` in the order in which the pairs came.
#[derive(Debug, Clone)]
pub struct Adjacency {
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Adjacency {
    pub fn new(nodes: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut starts = vec![0u32; nodes + 1];
        for (from, _) in pairs.clone() {
            starts[from as usize + 1] += 1;
        }
        for i in 0..nodes {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut targets = vec![0; starts[nodes] as usize];
        for (from, to) in pairs {
            let at = &mut next[from as usize];
            targets[*at as usize] = to;
            *at += 1;
        }
        Self { starts, targets }
    }

    pub fn of(&self, node: usize) -> &[u32] {
        &self.targets[self.starts[node] as usize..self.starts[node + 1] as usize]
    }
}
