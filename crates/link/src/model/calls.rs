//! The call graph of the functions that stay, condensed.
//!
//! It has one extra node per prototype, so that an indirect call costs one edge, and is reduced to its
//! strongly connected components once; every propagated value is then a single sweep from the callees
//! up. (nvlink walks every path, which is exponential on layered graphs.)

use crate::model::graph::{Adjacency, CallGraph};
use crate::model::ids::EntityId;

/// Words of bit sets held at once, 32 MiB of them, before kernels are walked one by one instead.
const SETS_AT_ONCE: usize = 1 << 22;

/// Callees of each function, indirect ones through prototype nodes.
#[derive(Debug)]
pub struct Calls {
    /// Nodes below this are functions (indices into `Merged::functions`), the rest prototypes.
    pub functions: usize,
    edges: Adjacency,
    /// The component of each node; callees have lower or equal numbers.
    component: Vec<u32>,
    members: Members,
}

/// The nodes of each component, one component after the other.
#[derive(Debug, Default)]
struct Members {
    nodes: Vec<u32>,
    /// Where each component ends.
    ends: Vec<u32>,
}

impl Members {
    fn len(&self) -> usize {
        self.ends.len()
    }

    fn of(&self, component: usize) -> &[u32] {
        let start = component.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.nodes[start as usize..self.ends[component] as usize]
    }

    fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.len()).map(|component| self.of(component))
    }
}

/// A value of every component, known by its nodes.
#[derive(Debug)]
pub struct OfNodes<'a, T> {
    component: &'a [u32],
    values: Vec<T>,
}

impl<T> std::ops::Index<usize> for OfNodes<'_, T> {
    type Output = T;
    fn index(&self, node: usize) -> &T {
        &self.values[self.component[node] as usize]
    }
}

/// What call paths from a node need.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// The most that any function on them needs.
    pub most: u32,
    /// The largest sums along any of them, each on its own; `None` where recursion is reached.
    pub sums: Option<[u32; 2]>,
}

impl Calls {
    /// The calls among so many functions.
    pub fn new(functions: usize, function_of: &[Option<u32>], graph: &CallGraph<'_>) -> Self {
        let nodes = functions + graph.prototypes.len();
        let node = |entity: EntityId| function_of[entity.index()];
        let direct = graph.calls.iter().filter_map(|(a, b)| Some((node(*a)?, node(*b)?)));
        let sites =
            graph.indirect.iter().filter_map(|(a, p)| Some((node(*a)?, functions as u32 + p.number())));
        let targets = graph
            .taken_order
            .iter()
            .filter_map(|f| Some((functions as u32 + graph.taken.get(*f)?.number(), node(*f)?)));
        let edges = Adjacency::new(nodes, direct.chain(sites).chain(targets));
        let (component, members) = components(nodes, &edges);
        Self { functions, edges, component, members }
    }

    /// How many functions and prototypes there are.
    pub fn nodes(&self) -> usize {
        self.component.len()
    }

    /// What a node leads to: functions, and prototypes for indirect calls.
    pub fn edges(&self, node: u32) -> &[u32] {
        self.edges.of(node as usize)
    }

    /// Whether two nodes reach each other.
    pub fn together(&self, a: u32, b: u32) -> bool {
        self.component[a as usize] == self.component[b as usize]
    }

    /// Whether a node can reach itself.
    pub fn is_recursive(&self, node: u32) -> bool {
        self.is_cyclic(self.component[node as usize] as usize)
    }

    fn is_cyclic(&self, component: usize) -> bool {
        let members = self.members.of(component);
        members.len() > 1 || self.edges.of(members[0] as usize).contains(&members[0])
    }

    /// For every node, `own` of it combined with the results of everything it reaches.
    pub fn fold<T>(&self, own: impl Fn(usize) -> T, combine: impl Fn(&mut T, &T)) -> OfNodes<'_, T> {
        let mut result: Vec<T> = Vec::with_capacity(self.members.len());
        for (index, members) in self.members.iter().enumerate() {
            let mut value = own(members[0] as usize);
            for &node in &members[1..] {
                combine(&mut value, &own(node as usize));
            }
            for callee in self.component_callees(index) {
                combine(&mut value, &result[callee]);
            }
            result.push(value);
        }
        OfNodes { component: &self.component, values: result }
    }

    /// The components that a component calls, itself left out.
    fn component_callees(&self, component: usize) -> impl Iterator<Item = usize> + '_ {
        let callees = self.members.of(component).iter().flat_map(|node| self.edges.of(*node as usize));
        callees.map(|callee| self.component[*callee as usize] as usize).filter(move |c| *c != component)
    }

    /// What every node and everything it reaches need: `own` says what a node itself does.
    pub fn needs(&self, own: impl Fn(usize) -> (u32, [u32; 2])) -> OfNodes<'_, Need> {
        let mut needs: Vec<Need> = Vec::with_capacity(self.members.len());
        for (index, members) in self.members.iter().enumerate() {
            let (mut most, sums) = own(members[0] as usize);
            for node in &members[1..] {
                most = most.max(own(*node as usize).0);
            }
            let mut below = (!self.is_cyclic(index)).then_some([0; 2]);
            for callee in self.component_callees(index).map(|callee| needs[callee]) {
                most = most.max(callee.most);
                below = below.zip(callee.sums).map(|([a, b], [c, d])| [a.max(c), b.max(d)]);
            }
            let sums = below.map(|below| [sums[0].wrapping_add(below[0]), sums[1].wrapping_add(below[1])]);
            needs.push(Need { most, sums });
        }
        OfNodes { component: &self.component, values: needs }
    }

    /// Of each of the `kernels`, how many of the functions it calls are `wanted`, indirectly called ones included.
    pub fn count_callees(
        &self,
        kernels: impl Iterator<Item = u32>,
        wanted: impl Fn(u32) -> bool,
    ) -> Vec<usize> {
        let count = |node: usize| self.edges.of(node).iter().filter(|callee| wanted(**callee)).count();
        let by_prototype: Vec<usize> = (self.functions..self.nodes()).map(count).collect();
        let called = |node: &u32| match (*node as usize).checked_sub(self.functions) {
            Some(prototype) => by_prototype[prototype],
            None => usize::from(wanted(*node)),
        };
        kernels.map(|kernel| self.edges.of(kernel as usize).iter().map(called).sum()).collect()
    }

    /// The functions that a function reaches, itself included, in the order of a depth-first walk.
    pub fn reach(&self, start: u32) -> Vec<u32> {
        let mut seen = vec![false; self.nodes()];
        let mut stack = vec![start];
        let mut found = Vec::new();
        while let Some(node) = stack.pop() {
            if std::mem::replace(&mut seen[node as usize], true) {
                continue;
            }
            if (node as usize) < self.functions {
                found.push(node);
            }
            stack.extend(self.edges.of(node as usize));
        }
        found
    }
}

/// Tarjan's algorithm without recursion. Components come out callees first.
fn components(nodes: usize, edges: &Adjacency) -> (Vec<u32>, Members) {
    const NONE: u32 = u32::MAX;
    let mut index = vec![NONE; nodes];
    let mut low = vec![0u32; nodes];
    let mut component = vec![NONE; nodes];
    let mut members = Members { nodes: Vec::with_capacity(nodes), ends: Vec::with_capacity(nodes) };
    let (mut stack, mut work, mut next) = (Vec::new(), Vec::new(), 0);
    for root in 0..nodes as u32 {
        if index[root as usize] != NONE {
            continue;
        }
        work.push((root, 0usize));
        while let Some((node, edge)) = work.pop() {
            let at = node as usize;
            if edge == 0 {
                index[at] = next;
                low[at] = next;
                next += 1;
                stack.push(node);
            }
            if let Some(&callee) = edges.of(at).get(edge) {
                work.push((node, edge + 1));
                let to = callee as usize;
                if index[to] == NONE {
                    work.push((callee, 0));
                } else if component[to] == NONE {
                    low[at] = low[at].min(index[to]);
                }
                continue;
            }
            if low[at] == index[at] {
                while let Some(member) = stack.pop() {
                    component[member as usize] = members.len() as u32;
                    members.nodes.push(member);
                    if member == node {
                        break;
                    }
                }
                members.ends.push(members.nodes.len() as u32);
            }
            if let Some((caller, _)) = work.last() {
                let caller = *caller as usize;
                if component[at] == NONE {
                    low[caller] = low[caller].min(low[at]);
                }
            }
        }
    }
    (component, members)
}

/// A set of small numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitSet(Vec<u64>);

impl BitSet {
    /// An empty set for numbers below `count`.
    pub fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }
    /// Adds a number.
    pub fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }
    /// Adds the numbers of another set.
    pub fn union(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }
    /// Whether both sets have a number.
    pub fn intersects(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }
    /// How many numbers there are.
    pub fn count(&self) -> usize {
        self.0.iter().map(|w| w.count_ones() as usize).sum()
    }
    /// The numbers in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(i, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros();
                (rest != 0).then(|| {
                    rest &= rest - 1;
                    i * 64 + bit as usize
                })
            })
        })
    }
}

/// Which functions of a list something reaches, as positions in the list: a sorted list as long as it is the shorter
/// description, else a set. Most reach few, and sets for all of them would take the square of the number of functions.
#[derive(Clone, Debug, Default)]
pub struct Reached {
    few: Vec<u32>,
    many: Option<BitSet>,
}

impl Reached {
    /// The numbers in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.few.iter().map(|i| *i as usize).chain(self.many.iter().flat_map(BitSet::iter))
    }

    fn words(&self) -> usize {
        self.few.len() / 2 + self.many.as_ref().map_or(0, |set| set.0.len())
    }

    /// Adds numbers below `count`.
    fn union(&mut self, other: &Self, count: usize) {
        let is_short = self.many.is_none() && other.many.is_none();
        if is_short && self.few.len() + other.few.len() <= count / 32 {
            if !other.few.is_empty() {
                self.few.extend_from_slice(&other.few);
                self.few.sort_unstable();
                self.few.dedup();
            }
            return;
        }
        let few = std::mem::take(&mut self.few);
        let many = self.many.get_or_insert_with(|| BitSet::new(count));
        few.iter().chain(&other.few).for_each(|i| many.insert(*i as usize));
        if let Some(other) = &other.many {
            many.union(other);
        }
    }
}

impl Calls {
    /// For each of the `kernels`, which of the `interesting` functions it reaches.
    pub fn reached(&self, interesting: &[u32], kernels: &[u32]) -> Vec<Reached> {
        if interesting.is_empty() {
            return vec![Reached::default(); kernels.len()];
        }
        let mut position = vec![None; self.nodes()];
        for (i, function) in (0..).zip(interesting) {
            position[*function as usize] = Some(i);
        }
        let count = interesting.len();
        let mut words = 0;
        let mut sets: Vec<Reached> = Vec::with_capacity(self.members.len());
        for (component, members) in self.members.iter().enumerate() {
            let mut set = Reached::default();
            for own in members.iter().filter_map(|node| position[*node as usize]) {
                set.union(&Reached { few: vec![own], many: None }, count);
            }
            for callee in self.component_callees(component) {
                set.union(&sets[callee], count);
            }
            words += set.words();
            if words > SETS_AT_ONCE {
                return self.reached_by_walks(count, kernels, &position);
            }
            sets.push(set);
        }
        kernels.iter().map(|kernel| sets[self.component[*kernel as usize] as usize].clone()).collect()
    }

    /// The same by a walk from every kernel: slower for many kernels, but it needs one set at a time.
    fn reached_by_walks(&self, count: usize, kernels: &[u32], position: &[Option<u32>]) -> Vec<Reached> {
        let mut seen_from = vec![0; self.nodes()];
        let mut stack = Vec::new();
        let walk = |(start, kernel): (u32, &u32)| {
            let mut set = BitSet::new(count);
            stack.push(*kernel);
            while let Some(node) = stack.pop() {
                if std::mem::replace(&mut seen_from[node as usize], start) == start {
                    continue;
                }
                if let Some(i) = position[node as usize] {
                    set.insert(i as usize);
                }
                stack.extend(self.edges.of(node as usize));
            }
            Reached { few: Vec::new(), many: Some(set) }
        };
        (1..).zip(kernels).map(walk).collect()
    }

    /// For every interesting function, which of the `kernels` reach it, as positions in that list.
    pub fn reached_by(&self, interesting: &[u32], kernels: &[u32]) -> Vec<BitSet> {
        let mut sets = vec![BitSet::new(kernels.len()); interesting.len()];
        if interesting.is_empty() {
            return sets;
        }
        for (k, reached) in self.reached(interesting, kernels).iter().enumerate() {
            for i in reached.iter() {
                sets[i].insert(k);
            }
        }
        sets
    }
}
