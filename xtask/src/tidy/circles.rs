//! Circles of modules.
//!
//! Modules with the same parent are compared with one another, and with what the parent defines itself. A module imports
//! another if a path in its files, or in those of the modules below it, leads to something that is defined in the other or
//! below it. Names that a module only hands on (`pub use`) lead to where they are defined.

use super::crates::Manifest;
use super::finding::{Check, Finding};
use super::modules::{Mention, ModuleId, Modules};
use crate::Result;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

/// Names may lead from import to import; a longer chain than this is a circle of its own.
const LONGEST_CHAIN: usize = 16;

/// What modules below one parent import from one another: from, to, and the first place. The parent's own id is what it
/// defines itself.
type Graph = BTreeMap<ModuleId, BTreeMap<ModuleId, Place>>;

#[derive(Clone)]
struct Place {
    file: String,
    line: usize,
    path: String,
}

pub fn check(root: &Path, manifest: &Manifest, findings: &mut Vec<Finding>) -> Result<()> {
    for name in ["lib.rs", "main.rs"] {
        let file = format!("{}/src/{name}", manifest.folder);
        if root.join(&file).is_file() {
            let modules = Modules::read(root, &file)?;
            for (parent, graph) in &graphs(&modules) {
                let parent = *parent;
                let mut children = graph.clone();
                children.remove(&parent);
                for imported in children.values_mut() {
                    imported.remove(&parent);
                }
                for circle in circles(&children) {
                    findings.push(describe(
                        Check::Circle,
                        &manifest.krate,
                        &modules,
                        parent,
                        &children,
                        &circle,
                    ));
                }
                if let Some(circle) = shortest(graph, parent) {
                    findings.push(describe(Check::Parent, &manifest.krate, &modules, parent, graph, &circle));
                }
            }
        }
    }
    Ok(())
}

/// Where a path leads.
struct Target {
    module: ModuleId,
    /// To something in the module, not only to the module.
    is_item: bool,
}

/// Follows a path that is written in a module. Paths into other crates, and local names, lead nowhere.
fn resolve(modules: &Modules, from: ModuleId, path: &[String], depth: usize) -> Option<Target> {
    let (first, rest) = path.split_first()?;
    let module = &modules.all[from];
    match first.as_str() {
        "crate" => walk(modules, 0, rest, depth),
        "self" => walk(modules, from, rest, depth),
        "super" => walk(modules, module.parent?, rest, depth),
        name if module.children.contains_key(name) || module.items.contains(name) => {
            walk(modules, from, path, depth)
        }
        name => {
            if let Some(import) = module.imports.get(name).filter(|_| depth < LONGEST_CHAIN) {
                // `use name::…` of another crate.
                if import.first().is_some_and(|first| first == name) && !module.children.contains_key(name) {
                    return None;
                }
                return resolve(modules, from, &[import, rest].concat(), depth + 1);
            }
            by_globs(modules, from, path, depth)
        }
    }
}

/// Follows the rest of a path from a module on.
fn walk(modules: &Modules, from: ModuleId, path: &[String], depth: usize) -> Option<Target> {
    let Some((first, rest)) = path.split_first() else {
        return Some(Target { module: from, is_item: false });
    };
    let module = &modules.all[from];
    if first == "super" {
        return walk(modules, module.parent?, rest, depth);
    }
    if let Some(&child) = module.children.get(first) {
        return walk(modules, child, rest, depth);
    }
    if first == "*" || module.items.contains(first) || depth >= LONGEST_CHAIN {
        return Some(Target { module: from, is_item: first != "*" || !module.items.is_empty() });
    }
    match module.imports.get(first) {
        Some(import) => resolve(modules, from, &[import, rest].concat(), depth + 1),
        None => by_globs(modules, from, path, depth),
    }
}

/// Looks for a name among those that `use …::*` brings in.
fn by_globs(modules: &Modules, from: ModuleId, path: &[String], depth: usize) -> Option<Target> {
    if depth >= LONGEST_CHAIN {
        return None;
    }
    modules.all[from].globs.iter().find_map(|glob| {
        let source = resolve(modules, from, glob, depth + 1)
            .filter(|source| !source.is_item && source.module != from)?;
        let first = path.first()?;
        let module = &modules.all[source.module];
        let is_there = module.children.contains_key(first)
            || module.items.contains(first)
            || module.imports.contains_key(first);
        if is_there || !module.globs.is_empty() {
            walk(modules, source.module, path, depth + 1)
        } else {
            None
        }
    })
}

/// The imports, for each parent of modules.
fn graphs(modules: &Modules) -> BTreeMap<ModuleId, Graph> {
    let mut graphs: BTreeMap<ModuleId, Graph> = BTreeMap::new();
    for (id, module) in modules.all.iter().enumerate() {
        for mention in &module.mentions {
            if let Some((parent, from, to)) = arrow(modules, id, mention) {
                let place =
                    || Place { file: module.file.clone(), line: mention.line, path: mention.path.join("::") };
                graphs.entry(parent).or_default().entry(from).or_default().entry(to).or_insert_with(place);
            }
        }
    }
    graphs
}

/// What a mention means: the parent of two modules, and which of them imports which.
fn arrow(modules: &Modules, id: ModuleId, mention: &Mention) -> Option<(ModuleId, ModuleId, ModuleId)> {
    let target = resolve(modules, id, &mention.path, 0)?;
    // A name alone is never a module, but may be a variable that is called like one.
    if mention.path.len() == 1 && !target.is_item {
        return None;
    }
    let from = modules.ancestry(modules.file_module(id));
    let to = modules.ancestry(modules.file_module(target.module));
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let parent = from[common - 1];
    match (from.get(common), to.get(common)) {
        (Some(&from), Some(&to)) => Some((parent, from, to)),
        // The parent uses a child, unless it only hands its names on.
        (None, Some(&to)) if !mention.is_reexport => Some((parent, parent, to)),
        // A child uses what the parent defines.
        (Some(&from), None) if target.is_item => Some((parent, from, parent)),
        _ => None,
    }
}

/// A shortest circle through each group of modules that import one another.
fn circles(graph: &Graph) -> Vec<Vec<ModuleId>> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for &start in graph.keys() {
        if seen.contains(&start) {
            continue;
        }
        if let Some(circle) = shortest(graph, start) {
            let around = reachable(graph, start);
            seen.extend(around.into_iter().filter(|&module| reachable(graph, module).contains(&start)));
            found.push(circle);
        }
    }
    found
}

fn reachable(graph: &Graph, start: ModuleId) -> BTreeSet<ModuleId> {
    let mut found = BTreeSet::new();
    let mut queue = vec![start];
    while let Some(module) = queue.pop() {
        queue.extend(
            graph.get(&module).into_iter().flat_map(BTreeMap::keys).filter(|&&next| found.insert(next)),
        );
    }
    found
}

/// The shortest way from a module back to itself.
fn shortest(graph: &Graph, start: ModuleId) -> Option<Vec<ModuleId>> {
    let mut before: BTreeMap<ModuleId, ModuleId> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(module) = queue.pop_front() {
        for &next in graph.get(&module).into_iter().flat_map(BTreeMap::keys) {
            if next == start {
                let mut way: Vec<_> =
                    std::iter::successors(Some(module), |module| before.get(module).copied()).collect();
                way.reverse();
                return Some(way);
            }
            before.entry(next).or_insert_with(|| {
                queue.push_back(next);
                module
            });
        }
    }
    None
}

fn describe(
    check: Check,
    krate: &str,
    modules: &Modules,
    parent: ModuleId,
    graph: &Graph,
    circle: &[ModuleId],
) -> Finding {
    let name = |id: ModuleId| modules.all[id].name.clone() + if id == parent { " itself" } else { "" };
    let next = |place: usize| circle[(place + 1) % circle.len()];
    let names: Vec<String> = circle.iter().chain(&circle[..1]).map(|&id| name(id)).collect();
    let places = circle.iter().enumerate().filter_map(|(place, from)| graph.get(from)?.get(&next(place)));
    let places: Vec<&Place> = places.collect();
    let said: Vec<String> =
        places.iter().map(|place| format!("{}:{} names {}", place.file, place.line, place.path)).collect();
    let start = circle[0];
    let others = reachable(graph, start)
        .into_iter()
        .filter(|&module| reachable(graph, module).contains(&start))
        .count();
    let more = if others > circle.len() {
        format!("; {others} modules are in circles with it")
    } else {
        String::new()
    };
    let text = format!(
        "modules of {krate} import one another in a circle: {} ({}){more}",
        names.join(" -> "),
        said.join(", ")
    );
    Finding { krate: krate.into(), ..Finding::new(check, &places[0].file, places[0].line, text) }
}
