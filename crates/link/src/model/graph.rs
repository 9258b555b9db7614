//! The call graph of all inputs, over entities: who calls whom, directly or by prototype.

use super::ids::{EntityId, FileId, PrototypeId, Rare};
use bstr::BStr;

/// What the call graph sections of the inputs say, in reading order.
///
/// Records about a copy of a function that was never taken do not count.
#[derive(Debug, Default)]
pub struct CallGraph<'data> {
    /// The prototypes, in the order of their first mention.
    pub prototypes: Vec<&'data BStr>,
    /// The first file that mentions each.
    pub prototype_files: Vec<FileId>,
    /// caller, callee
    pub calls: Vec<(EntityId, EntityId)>,
    /// caller, prototype
    pub indirect: Vec<(EntityId, PrototypeId)>,
    /// caller, function whose address it takes
    pub takes: Vec<(EntityId, EntityId)>,
    /// The prototype of each function whose address is taken.
    pub taken: Rare<PrototypeId>,
    /// Those functions in the order of the records, and after them those whose prototype no record has.
    pub taken_order: Vec<EntityId>,
    /// The prototype of each function that `.nv.prototype` lists.
    pub prototype_of: Rare<PrototypeId>,
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
    /// The lists of a graph over so many entities.
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
    /// Where the list of each node begins and, after the last, where that ends; empty if there is no pair.
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Adjacency {
    /// The lists of so many nodes, from pairs of a node and its neighbour.
    pub fn new(nodes: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        if pairs.clone().next().is_none() {
            return Self { starts: Vec::new(), targets: Vec::new() };
        }
        // The place after that of a node moves up to its end while its list is filled.
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

    /// The neighbours of a node.
    pub fn of(&self, node: usize) -> &[u32] {
        let bounds = self.starts.get(node..node + 2);
        bounds.map_or(&[], |bounds| &self.targets[bounds[0] as usize..bounds[1] as usize])
    }
}
