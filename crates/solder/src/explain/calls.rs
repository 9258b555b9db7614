//! Ways through the call graph: who calls whom, and where it turns back on itself.

use bstr::BStr;
use std::collections::VecDeque;

use super::names::shown;
use solder_link::model::calls::Calls;
use solder_link::view::View;

/// The shortest way from a node to one that is wanted, both included.
pub fn path(calls: &Calls, from: u32, wanted: impl Fn(u32) -> bool) -> Option<Vec<u32>> {
    walk(calls, from, wanted, |_| true)
}

/// The shortest way from a node back to itself.
pub fn cycle(calls: &Calls, node: u32) -> Option<Vec<u32>> {
    let within = |other: u32| calls.together(node, other);
    let starts = calls.edges(node).iter().filter(|callee| within(**callee));
    let ways = starts.filter_map(|callee| walk(calls, *callee, |at| at == node, within));
    let way = ways.min_by_key(Vec::len)?;
    Some([node].into_iter().chain(way).collect())
}

fn walk(
    calls: &Calls,
    from: u32,
    wanted: impl Fn(u32) -> bool,
    enters: impl Fn(u32) -> bool,
) -> Option<Vec<u32>> {
    let mut before = vec![None; calls.nodes()];
    let mut queue = VecDeque::from([from]);
    before[from as usize] = Some(from);
    while let Some(node) = queue.pop_front() {
        if wanted(node) {
            let mut way = vec![node];
            let mut at = node;
            while at != from {
                at = before[at as usize]?;
                way.push(at);
            }
            way.reverse();
            return Some(way);
        }
        for &next in calls.edges(node) {
            if before[next as usize].is_none() && enters(next) {
                before[next as usize] = Some(node);
                queue.push_back(next);
            }
        }
    }
    None
}

/// What names the functions and calls of a link.
pub trait Named {
    /// The function of this name, as an index; kernels come first.
    fn function(&self, name: &BStr) -> Option<u32>;
    /// Whether a node of the call graph is a function.
    fn is_function(&self, node: u32) -> bool;
    /// A function's name, or what an indirect call goes by.
    fn node_name(&self, node: u32) -> String;
    /// `a -> b -> c`, each function with what `tell` says about it.
    fn chain(&self, way: &[u32], tell: impl Fn(u32) -> String) -> String;
}

impl Named for View<'_, '_> {
    fn function(&self, name: &BStr) -> Option<u32> {
        let is_it = |(_, function): &(usize, &solder_link::model::merged::Function)| {
            self.merged.symbol(function.symbol).name == name
        };
        let named = || self.merged.functions.iter().enumerate().filter(is_it);
        let found = named().find(|(_, f)| f.entry).or_else(|| named().next());
        found.map(|(index, _)| index as u32)
    }

    fn is_function(&self, node: u32) -> bool {
        (node as usize) < self.merged.calls.functions
    }

    fn node_name(&self, node: u32) -> String {
        if let Some(function) = self.merged.functions.get(node as usize) {
            return shown(self.merged.symbol(function.symbol).name);
        }
        let prototype = self.graph.prototypes.get(node as usize - self.merged.calls.functions);
        format!("(any function of prototype '{}')", prototype.copied().unwrap_or_default())
    }

    fn chain(&self, way: &[u32], tell: impl Fn(u32) -> String) -> String {
        let step = |node: &u32| {
            let told = if self.is_function(*node) { tell(*node) } else { String::new() };
            format!("{}{told}", self.node_name(*node))
        };
        way.iter().map(step).collect::<Vec<_>>().join(" -> ")
    }
}
