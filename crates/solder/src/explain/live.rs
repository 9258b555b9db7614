//! `--why-live` and `--print-gc`: why a function stays, and which ones do not.

use bstr::{BStr, ByteSlice};
use std::collections::VecDeque;
use std::fmt::Write;

use super::context::counted;
use super::names::{self, shown};
use solder_cubin::raw;
use solder_link::model::graph::Edges;
use solder_link::model::ids::{EntityId, FileId};
use solder_link::model::object::Object;
use solder_link::roots::Roots;
use solder_link::view::View;

/// How a function came to stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Root,
    Called(u32),
    /// By an indirect call of this function, through a prototype.
    Indirect(u32),
}

/// The first reason found for each function, from the kernels down.
struct Reasons(Vec<Option<Reason>>);

impl Reasons {
    fn new(view: View<'_, '_>) -> Self {
        let (symbols, graph) = (view.symbols, view.graph);
        let count = symbols.entities.len();
        let Edges { calls, indirect, by_prototype } = Edges::new(count, graph);
        let mut reasons = vec![None; count];
        let mut queue = VecDeque::new();
        for kernel in solder_link::gc::kernels(symbols).filter(|kernel| view.live.is_root(*kernel)) {
            reasons[kernel.index()] = Some(Reason::Root);
            queue.push_back(kernel.number());
        }
        while let Some(node) = queue.pop_front() {
            let direct = calls.of(node as usize).iter().map(|to| (*to, Reason::Called(node)));
            let prototypes = indirect.of(node as usize).iter().flat_map(|p| by_prototype.of(*p as usize));
            let through = prototypes.map(|to| (*to, Reason::Indirect(node)));
            for (to, reason) in direct.chain(through) {
                if reasons[to as usize].is_none() {
                    reasons[to as usize] = Some(reason);
                    queue.push_back(to);
                }
            }
        }
        Self(reasons)
    }

    /// The chain from a root to an entity.
    fn chain(&self, view: View<'_, '_>, entity: EntityId) -> Option<String> {
        let mut parts = Vec::new();
        let mut at = entity.number();
        loop {
            let name = shown(view.symbols.entities[at as usize].name);
            match self.0[at as usize]? {
                Reason::Root => {
                    parts.push(format!("kernel {name}"));
                    break;
                }
                Reason::Called(from) => {
                    parts.push(name);
                    at = from;
                }
                Reason::Indirect(from) => {
                    parts.push(format!("(indirectly) {name}"));
                    at = from;
                }
            }
        }
        parts.reverse();
        Some(parts.join(" -> "))
    }
}

/// The path from a root to each of the names.
pub fn why(view: View<'_, '_>, objects: &[Object<'_>], wanted: &[String]) -> String {
    let mut text = String::new();
    let reasons = Reasons::new(view);
    for name in wanted {
        let found = names::entities(view.symbols, name);
        if found.is_empty() {
            let all = view.symbols.entities.iter().map(|entity| entity.name);
            let _ = writeln!(text, "'{name}': no input defines or mentions it");
            text.push_str(&names::suggestion(all, name));
        }
        for entity in found {
            write_why(&mut text, view, objects, &reasons, entity);
        }
    }
    text
}

fn write_why(text: &mut String, view: View<'_, '_>, objects: &[Object<'_>], reasons: &Reasons, id: EntityId) {
    let entity = view.symbols.get(id);
    let name = shown(entity.name);
    let _ = write!(text, "{name}");
    if let Some(origin) = entity.definition {
        let _ = write!(text, " ('{}')", objects[origin.file.index()].name);
    }
    if !entity.function {
        let _ = writeln!(text, " is a variable: variables are never removed");
    } else if view.live.is_live(id) {
        let _ = match reasons.chain(view, id) {
            Some(chain) => writeln!(text, " stays:\n    {chain}\n    {}", root_reason(view)),
            None => writeln!(text, " stays: {}", without_path(view, id)),
        };
    } else {
        let _ = writeln!(text, " was removed: no kernel that stays reaches it");
        let callers = view.graph.calls.iter().filter(|(_, to)| *to == id).map(|(from, _)| *from);
        let mut callers: Vec<String> = callers.map(|from| shown(view.symbols.get(from).name)).collect();
        callers.sort_unstable();
        callers.dedup();
        if !callers.is_empty() {
            let _ = writeln!(text, "    its callers were removed too: {}", callers.join(", "));
        }
    }
}

/// A function that no kernel reaches and that stays all the same.
fn without_path(view: View<'_, '_>, id: EntityId) -> String {
    if !view.removes_dead_code {
        return "nothing is removed with -r, -g or -preserve-relocs".into();
    }
    let takers = view.graph.takes.iter().filter(|(_, to)| *to == id);
    let mut takers: Vec<String> = takers.map(|(from, _)| shown(view.symbols.get(*from).name)).collect();
    takers.dedup();
    let of_table = view.graph.taken.get(id).is_some();
    match (takers.is_empty(), of_table) {
        (false, _) => format!("its address is taken by {}", takers.join(", ")),
        (true, true) => "its address is taken by data".into(),
        (true, false) => "a function whose address is taken calls it, and nothing defines it".into(),
    }
}

fn root_reason(view: View<'_, '_>) -> &'static str {
    match view.roots {
        _ if !view.removes_dead_code => "nothing is removed with -r, -g or -preserve-relocs",
        Roots::All => "every kernel is kept: not all inputs say which ones host code refers to",
        Roots::Containing(_) => "the kernel is named by -kernels-used",
        Roots::Matching(_) | Roots::Compiled(_) => {
            "host code refers to the kernel, or device code launches it"
        }
    }
}

/// A function that was removed.
#[derive(Debug)]
pub struct Removed<'a> {
    pub name: &'a BStr,
    pub kernel: bool,
    pub size: u64,
    pub file: &'a BStr,
    pub input: FileId,
}

pub fn removed<'a>(view: View<'a, '_>, objects: &'a [Object<'_>]) -> Vec<Removed<'a>> {
    let mut found = Vec::new();
    for (index, entity) in view.symbols.entities.iter().enumerate() {
        let Some(origin) = entity.definition.filter(|_| entity.function) else { continue };
        if view.live.is_live(EntityId::at(index)) {
            continue;
        }
        let object = &objects[origin.file.index()];
        let symbol = object.symbol(origin.symbol);
        found.push(Removed {
            name: entity.name,
            kernel: symbol.other & raw::STO_ENTRY != 0,
            size: symbol.size.get(),
            file: object.name.as_bstr(),
            input: origin.file,
        });
    }
    found
}

/// What was removed, in the order of the inputs.
pub fn gc(view: View<'_, '_>, objects: &[Object<'_>]) -> String {
    let mut text = String::new();
    let removed = removed(view, objects);
    for function in &removed {
        let kind = if function.kernel { "kernel" } else { "function" };
        let size = counted(function.size, "byte");
        let _ = writeln!(text, "removed {kind} {} ({size}) of '{}'", shown(function.name), function.file);
    }
    let total = counted(removed.iter().map(|function| function.size).sum(), "byte");
    let count = counted(removed.len() as u64, "function");
    let why =
        if view.removes_dead_code { "" } else { ": nothing is removed with -r, -g or -preserve-relocs" };
    let _ = writeln!(text, "{count} removed, {total} of code{why}");
    text
}
