//! The call graph as text (`-dump-callgraph`) and as a drawing (`-dot`).

use crate::demangle::demangle;
use crate::model::graph::CallGraph;
use crate::model::ids::EntityId;
use crate::model::merged::Merged;
use crate::model::symbols::Symbols;
use crate::resources::Resources;
use hashbrown::HashSet;
use solder_arch::Target;
use std::io::Write as _;

const LEGEND: &str = "\
# A: s -> B // s (number A) potentially calls B
# s [N]     // s uses N registers
# ^s        // s is entry point
# &s        // s has address taken
";

/// What is drawn: the callees of each entity in nvlink's order.
struct Edges {
    of: Vec<Vec<EntityId>>,
}

impl Edges {
    /// Callees are put before those already there: direct calls as they are read, then, for one
    /// indirect call after the other, the last one first, all functions of its prototype.
    fn new(graph: &CallGraph<'_>, count: usize, indirect: bool) -> Self {
        let mut of = vec![Vec::new(); count];
        for (from, to) in &graph.calls {
            of[from.index()].push(*to);
        }
        if indirect {
            let mut targets = vec![Vec::new(); graph.prototypes.len()];
            for (entity, prototype) in graph.taken.iter() {
                targets[prototype.index()].push(entity);
            }
            for (from, prototype) in graph.indirect.iter().rev() {
                of[from.index()].extend(&targets[prototype.index()]);
            }
        }
        for list in &mut of {
            list.reverse();
        }
        Self { of }
    }
}

/// Every function of every input has a number; the removed ones leave an empty line.
pub fn dump(
    target: Target,
    symbols: &Symbols<'_>,
    graph: &CallGraph<'_>,
    merged: &Merged<'_>,
    resources: &Resources<'_>,
) -> Vec<u8> {
    let count = symbols.entities.len();
    let mut numbers = vec![0u32; count];
    let mut next = 0;
    for (number, entity) in numbers.iter_mut().zip(&symbols.entities) {
        if entity.function {
            next += 1;
            *number = next;
        }
    }
    let edges = Edges::new(graph, count, true);
    // Functions within the code of others are known by their symbols alone.
    let of_functions = merged.symbols.iter().filter(|symbol| symbol.is_function());
    let pieces: HashSet<_> = of_functions.filter_map(|symbol| symbol.entity).collect();
    let mut text = format!("callgraph for sm_{}:\n{LEGEND}", target.arch.number).into_bytes();
    for (index, entity) in symbols.entities.iter().enumerate().filter(|(_, e)| e.function) {
        let _ = write!(text, "{}: ", numbers[index]);
        if let Some(function) = merged.function_of[index] {
            let kept = &merged.functions[function as usize];
            let mark = if kept.entry && !kept.launched { "^" } else { "" };
            let taken = if graph.taken.get(EntityId::at(index)).is_some() { "&" } else { "" };
            let _ = write!(text, "{mark}{taken}");
            text.extend(demangle(entity.name));
            if kept.text.is_some() && !kept.alias {
                let _ = write!(text, " [{}]", resources.own[function as usize].registers);
            }
            text.extend_from_slice(b" ->");
            for callee in &edges.of[index] {
                let _ = write!(text, " {}", numbers[callee.index()]);
            }
        } else if pieces.contains(&EntityId::at(index)) {
            text.extend(demangle(entity.name));
            text.extend_from_slice(b" ->");
        }
        text.push(b'\n');
    }
    text
}

/// The kept functions and their calls. A relocatable link does not resolve indirect calls.
pub fn dot(symbols: &Symbols<'_>, graph: &CallGraph<'_>, merged: &Merged<'_>, relocatable: bool) -> Vec<u8> {
    let edges = Edges::new(graph, symbols.entities.len(), !relocatable);
    let kept = |entity: EntityId| merged.function_of[entity.index()].is_some();
    let mut text = b"digraph callgraph {\n".to_vec();
    for (index, entity) in symbols.entities.iter().enumerate() {
        if !entity.function || !kept(EntityId::at(index)) {
            continue;
        }
        // nvlink crashes on a call to a removed function; here it is left out.
        for callee in edges.of[index].iter().filter(|callee| kept(**callee)) {
            for part in [&**entity.name, b" -> ", symbols.get(*callee).name, b";\n"] {
                text.extend_from_slice(part);
            }
        }
    }
    text.extend_from_slice(b"}\n");
    text
}
