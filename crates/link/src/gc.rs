//! Which functions live. Data is never removed.
//!
//! Roots are the kernels. A function reaches what it calls and, with an indirect call, every
//! function of that prototype whose address is taken anywhere. Functions whose address is taken stay
//! in any case, but what they call is not followed from there: nvlink then drops the call's
//! relocation (core/pointers-unreached).

use crate::model::graph::{CallGraph, Edges};
use crate::model::ids::{EntityId, FileId};
use crate::model::object::Object;
use crate::model::symbols::Symbols;
use crate::options::Options;
use crate::roots::Roots;
use solder_cubin::raw;

/// The functions that stay in the link, by entity.
#[derive(Debug)]
pub struct Live {
    stays: Vec<bool>,
    /// The kernels whose calls are followed, if not all are.
    roots: Option<Vec<bool>>,
    /// The kernels that are asked for, if not all are.
    prepared: Option<Vec<bool>>,
    /// Functions that stay only because their address is taken, in the order of their first mentions.
    pub uncalled: Vec<EntityId>,
}

impl Live {
    /// Whether a function stays.
    pub fn is_live(&self, entity: EntityId) -> bool {
        self.stays[entity.index()]
    }

    /// Nothing is removed: relocatable and debug links.
    pub fn everything(symbols: &Symbols<'_>) -> Self {
        Self { stays: vec![true; symbols.entities.len()], roots: None, prepared: None, uncalled: Vec::new() }
    }

    /// The same before anything is removed.
    #[must_use]
    pub fn with_everything(&self) -> Self {
        Self {
            stays: vec![true; self.stays.len()],
            roots: self.roots.clone(),
            prepared: self.prepared.clone(),
            uncalled: Vec::new(),
        }
    }

    /// Whether the calls of a kernel are followed.
    pub fn is_root(&self, kernel: EntityId) -> bool {
        self.roots.as_ref().is_none_or(|roots| roots[kernel.index()])
    }

    /// Whether a kernel is asked for. One that is not may stay because code has its address; nvlink then prepares
    /// no sections for it.
    pub fn is_prepared(&self, kernel: EntityId) -> bool {
        self.prepared.as_ref().is_none_or(|prepared| prepared[kernel.index()])
    }

    /// Tells the kernels whose calls are followed from the others.
    #[must_use]
    pub fn with_roots(
        mut self,
        symbols: &Symbols<'_>,
        kernels: &[EntityId],
        is_root: impl Fn(EntityId) -> bool,
    ) -> Self {
        let roots = kernels.iter().copied().filter(|kernel| is_root(*kernel));
        self.roots = Some(marked(symbols.entities.len(), roots));
        self
    }

    /// Tells the kernels that are asked for from the others.
    #[must_use]
    pub fn with_prepared(
        mut self,
        symbols: &Symbols<'_>,
        kernels: &[EntityId],
        is_prepared: impl Fn(EntityId) -> bool,
    ) -> Self {
        let prepared = kernels.iter().copied().filter(|kernel| is_prepared(*kernel));
        self.prepared = Some(marked(symbols.entities.len(), prepared));
        self
    }
}

/// The functions that stay: all that a kernel reaches which must stay, or all where nothing is removed.
pub fn live(
    objects: &[Object<'_>],
    symbols: &Symbols<'_>,
    graph: &CallGraph<'_>,
    roots: &Roots<'_>,
    options: &Options<'_>,
) -> Live {
    let kernels: Vec<EntityId> = kernels(symbols).collect();
    let is_asked_for = |kernel: EntityId| roots.contain(symbols.get(kernel).name);
    let asked_for = kernels.iter().filter(|kernel| is_asked_for(**kernel)).take(2).count();
    let with_launched = roots.contain_launched(asked_for);
    let taken = marked(symbols.entities.len(), graph.taken_order.iter().copied());
    let is_taken = |kernel: EntityId| taken[kernel.index()];
    let is_root = |kernel: EntityId| is_asked_for(kernel) || (with_launched && is_taken(kernel));
    let prepares_launched = roots.prepare_launched();
    let is_prepared = |kernel: EntityId| is_asked_for(kernel) || (prepares_launched && is_taken(kernel));
    if !options.keeps_dead_code {
        let mut live = collect(objects, symbols, graph, &kernels, is_root);
        if options.release.keeps_aliases() {
            mark_aliases(objects, symbols, &mut live.stays);
        }
        live.with_prepared(symbols, &kernels, is_prepared)
    } else if options.relocatable {
        // With debug information it does not matter what was asked for (reloc/shared-not-asked-for).
        Live::everything(symbols).with_prepared(symbols, &kernels, |k| options.debug || is_prepared(k))
    } else {
        // Kernels that were not asked for stay, but what they call is not followed; debug information keeps them
        // what they are. Those that host code does not refer to are prepared like the others.
        let all = options.debug;
        let by_host = roots.prepare_launched();
        Live::everything(symbols)
            .with_roots(symbols, &kernels, |kernel| all || is_root(kernel))
            .with_prepared(symbols, &kernels, |kernel| all || by_host || is_asked_for(kernel))
    }
}

/// Removes the functions that none of the `kernels` accepted by `is_root` reaches.
fn collect(
    objects: &[Object<'_>],
    symbols: &Symbols<'_>,
    graph: &CallGraph<'_>,
    kernels: &[EntityId],
    is_root: impl Fn(EntityId) -> bool,
) -> Live {
    let count = symbols.entities.len();
    let Edges { calls, indirect, by_prototype } = Edges::new(count, graph);
    let mut live = vec![false; count];
    let mut followed = vec![false; graph.prototypes.len()];
    let mut stack: Vec<u32> = kernels.iter().copied().filter(|k| is_root(*k)).map(EntityId::number).collect();
    let roots = Some(marked(count, stack.iter().map(|&kernel| EntityId::at(kernel as usize))));
    while let Some(node) = stack.pop() {
        if std::mem::replace(&mut live[node as usize], true) {
            continue;
        }
        stack.extend(calls.of(node as usize));
        for &prototype in indirect.of(node as usize) {
            if !std::mem::replace(&mut followed[prototype as usize], true) {
                stack.extend(by_prototype.of(prototype as usize));
            }
        }
    }
    let mut uncalled: Vec<EntityId> =
        graph.taken_order.iter().copied().filter(|function| !live[function.index()]).collect();
    uncalled.sort_unstable_by_key(|function| function.index());
    uncalled.dedup();
    for function in &graph.taken_order {
        live[function.index()] = true;
        for &callee in calls.of(function.index()) {
            let entity = &symbols.entities[callee as usize];
            if !entity.local && entity.definition.is_none() {
                live[callee as usize] = true;
            }
        }
    }
    mark_pieces(objects, symbols, &mut live);
    Live { stays: live, roots, prepared: None, uncalled }
}

/// Pieces of a function's code that have names of their own stay with it; no call speaks of them.
fn mark_pieces(objects: &[Object<'_>], symbols: &Symbols<'_>, live: &mut [bool]) {
    for (file, object) in objects.iter().enumerate().filter(|(_, object)| object.has_pieces) {
        for (symbol, raw) in object.symbols() {
            let entity = |symbol: u32| symbols.entity(FileId::at(file), symbol);
            let Some(around) = object.function_around(raw).and_then(entity) else { continue };
            if let Some(piece) = entity(symbol).filter(|_| live[around.index()]) {
                live[piece.index()] = true;
            }
        }
    }
}

/// Other names of a function stay with it.
fn mark_aliases(objects: &[Object<'_>], symbols: &Symbols<'_>, live: &mut [bool]) {
    for (file, object) in objects.iter().enumerate() {
        let functions = object.symbols().filter(|(_, raw)| raw.kind() == raw::STT_FUNC && raw.is_defined());
        for (symbol, raw) in functions {
            let entity = |symbol: u32| symbols.entity(FileId::at(file), symbol);
            let owner = object.text_owner(u32::from(raw.shndx.get())).and_then(entity);
            if let (Some(owner), Some(name)) = (owner, entity(symbol)) {
                live[name.index()] |= live[owner.index()];
            }
        }
    }
}

fn marked(count: usize, entities: impl Iterator<Item = EntityId>) -> Vec<bool> {
    let mut marks = vec![false; count];
    for entity in entities {
        marks[entity.index()] = true;
    }
    marks
}

/// The entry functions that some object defines.
pub fn kernels<'a>(symbols: &'a Symbols<'_>) -> impl Iterator<Item = EntityId> + 'a {
    symbols.functions.iter().copied().filter(|function| symbols.get(*function).kernel)
}
