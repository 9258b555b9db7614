//! What each kernel needs: registers, barriers and stack of everything it can reach, and the undefined
//! functions among that.
//!
//! The call graph is condensed into strongly connected components once, with one extra node per
//! prototype so that indirect calls cost one edge; every propagated value is then a single sweep from
//! the callees up. (nvlink walks every path, which is exponential on layered graphs.)

use crate::callgraph::{Adjacency, CallGraph};
use crate::diagnostics::{Message, Sink};
use crate::ids::{FileId, SectionId, SymbolId};
use crate::merge::{Content, InfoRecord, InfoValue, Merged};
use solder_cubin::info::{attr, format};
use solder_cubin::raw;

/// Stack size of a kernel that reaches recursion.
const UNKNOWN_STACK: u32 = 0xffff_ffff;

/// Callees of each function, indirect ones through prototype nodes.
#[derive(Debug)]
pub struct Calls {
    /// Nodes below this are functions (indices into `Merged::functions`), the rest prototypes.
    pub functions: usize,
    pub edges: Adjacency,
    /// The component of each node; callees have lower or equal numbers.
    component: Vec<u32>,
    /// The nodes of each component.
    members: Vec<Vec<u32>>,
}

impl Calls {
    pub fn new(merged: &Merged<'_>, graph: &CallGraph<'_>) -> Self {
        let functions = merged.functions.len();
        let nodes = functions + graph.prototypes.len();
        let node = |entity: crate::ids::EntityId| merged.function_of[entity.index()];
        let direct = graph.calls.iter().filter_map(|(a, b)| Some((node(*a)?, node(*b)?)));
        let sites = graph.indirect.iter().filter_map(|(a, p)| Some((node(*a)?, functions as u32 + p.0)));
        let targets = graph
            .taken_order
            .iter()
            .filter_map(|f| Some((functions as u32 + graph.taken[f.index()]?.0, node(*f)?)));
        let edges = Adjacency::new(nodes, direct.chain(sites).chain(targets));
        let (component, members) = components(nodes, &edges);
        Self { functions, edges, component, members }
    }

    pub fn nodes(&self) -> usize {
        self.component.len()
    }

    fn is_cyclic(&self, component: usize) -> bool {
        let members = &self.members[component];
        members.len() > 1 || self.edges.of(members[0] as usize).contains(&members[0])
    }

    /// For every node, `own` of it combined with the results of everything it reaches.
    pub fn fold<T: Clone>(&self, own: impl Fn(usize) -> T, combine: impl Fn(&mut T, &T)) -> Vec<T> {
        let mut result: Vec<T> = Vec::with_capacity(self.members.len());
        for (index, members) in self.members.iter().enumerate() {
            let mut value = own(members[0] as usize);
            for &node in &members[1..] {
                combine(&mut value, &own(node as usize));
            }
            for &node in members {
                for &callee in self.edges.of(node as usize) {
                    let callee = self.component[callee as usize] as usize;
                    if callee != index {
                        combine(&mut value, &result[callee]);
                    }
                }
            }
            result.push(value);
        }
        (0..self.nodes()).map(|node| result[self.component[node] as usize].clone()).collect()
    }

    /// The functions that a node reaches, itself included.
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
fn components(nodes: usize, edges: &Adjacency) -> (Vec<u32>, Vec<Vec<u32>>) {
    const NONE: u32 = u32::MAX;
    let mut index = vec![NONE; nodes];
    let mut low = vec![0u32; nodes];
    let mut component = vec![NONE; nodes];
    let mut members = Vec::new();
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
                let mut group = Vec::new();
                while let Some(member) = stack.pop() {
                    component[member as usize] = members.len() as u32;
                    group.push(member);
                    if member == node {
                        break;
                    }
                }
                members.push(group);
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

/// The resources of the link.
#[derive(Debug)]
pub struct Resources<'data> {
    /// Final register count of each function.
    pub registers: Vec<u32>,
    /// Barriers of each function and all it reaches.
    pub barriers: Vec<u8>,
    /// Stack of each kernel; 0 for other functions.
    pub stack: Vec<u32>,
    /// The final records of each attribute section, by section.
    pub records: Vec<Vec<InfoRecord<'data>>>,
}

/// What the attributes of one function say.
#[derive(Clone, Copy, Debug, Default)]
struct Own {
    registers: u32,
    frame: u32,
    barriers: u8,
    max_registers: Option<u32>,
}

/// The earliest moment at which something was defined.
type Moment = u32;
const NEVER: Moment = u32::MAX;

pub fn compute<'data>(
    merged: &Merged<'data>,
    calls: &Calls,
    suppress_stack_warning: bool,
    sink: &Sink,
) -> Resources<'data> {
    let own = own_values(merged);
    let of = |node: usize| own.get(node).copied().unwrap_or_default();
    let registers = calls.fold(|n| of(n).registers, |a, b| *a = (*a).max(*b));
    let barriers = calls.fold(|n| of(n).barriers, |a, b| *a = (*a).max(*b));
    let stack = stack_depths(calls, &of);
    let mut resources = Resources {
        registers: own.iter().map(|o| o.registers).collect(),
        stack: vec![0; calls.functions],
        barriers: barriers[..calls.functions].to_vec(),
        records: final_records(merged),
    };
    check_register_limits(merged, calls, &own, &registers, sink);
    for (kernel, function) in merged.kernels() {
        let at = kernel as usize;
        resources.registers[at] = registers[at];
        resources.stack[at] = stack[at].unwrap_or(UNKNOWN_STACK);
        if stack[at].is_none() && !suppress_stack_warning {
            let kernel = merged.symbol(function.symbol).name;
            sink.report(Message::StackSizeUnknown { kernel: kernel.into() });
        }
    }
    KernelRecords::new(merged, calls, &own).apply(&mut resources);
    update_module_records(merged, &mut resources);
    resources
}

fn own_values(merged: &Merged<'_>) -> Vec<Own> {
    let mut own = vec![Own::default(); merged.functions.len()];
    let function = |symbol: SymbolId| {
        let entity = merged.symbol(symbol).entity?;
        merged.function_of[entity.index()]
    };
    if let Some(info) = merged.well_known.info {
        for record in merged.info_records(info) {
            let InfoValue::Symbol(symbol, value) = record.value else { continue };
            let Some(function) = function(symbol) else { continue };
            match record.attr {
                attr::REGCOUNT => own[function as usize].registers = value,
                attr::FRAME_SIZE => own[function as usize].frame = value,
                _ => {}
            }
        }
    }
    for (own, function) in own.iter_mut().zip(&merged.functions) {
        let Some(info) = function.info else { continue };
        for record in merged.info_records(info) {
            let InfoValue::Bytes(bytes) = record.value else { continue };
            match (record.attr, bytes) {
                (attr::NUM_BARRIERS, [n, ..]) => own.barriers = *n,
                (attr::MAXREG_COUNT, [low, high, ..]) => {
                    let limit = u32::from(u16::from_le_bytes([*low, *high]));
                    own.max_registers = (limit != 0xff).then_some(limit);
                }
                _ => {}
            }
        }
    }
    own
}

/// The deepest stack from each node; `None` where recursion is reachable.
fn stack_depths(calls: &Calls, own: &impl Fn(usize) -> Own) -> Vec<Option<u32>> {
    let mut depth: Vec<Option<u32>> = Vec::with_capacity(calls.members.len());
    for (index, members) in calls.members.iter().enumerate() {
        let node = members[0] as usize;
        let mut value = (!calls.is_cyclic(index)).then(|| own(node).frame);
        let mut deepest = Some(0u32);
        for &member in members {
            for &callee in calls.edges.of(member as usize) {
                let callee = calls.component[callee as usize] as usize;
                if callee != index {
                    deepest = deepest.zip(depth[callee]).map(|(a, b)| a.max(b));
                }
            }
        }
        value = value.zip(deepest).map(|(a, b)| a.wrapping_add(b));
        depth.push(value);
    }
    (0..calls.nodes()).map(|node| depth[calls.component[node] as usize]).collect()
}

fn check_register_limits(merged: &Merged<'_>, calls: &Calls, own: &[Own], reached: &[u32], sink: &Sink) {
    for (kernel, function) in merged.kernels() {
        let Some(limit) = own[kernel as usize].max_registers else { continue };
        if reached[kernel as usize] <= limit {
            continue;
        }
        for callee in calls.reach(kernel) {
            let registers = own[callee as usize].registers;
            if callee != kernel && registers > limit {
                sink.report(Message::RegisterLimit {
                    kernel: merged.symbol(function.symbol).name.into(),
                    limit,
                    callee: merged.symbol(merged.functions[callee as usize].symbol).name.into(),
                    registers,
                });
            }
        }
    }
}

/// The records of every attribute section in output order, as read.
fn final_records<'data>(merged: &Merged<'data>) -> Vec<Vec<InfoRecord<'data>>> {
    merged
        .sections
        .iter()
        .enumerate()
        .map(|(i, section)| match section.content {
            Content::Info { .. } => merged.info_records(SectionId::at(i)).cloned().collect(),
            _ => Vec::new(),
        })
        .collect()
}

/// The records that a link changes in or adds to the attributes of kernels.
struct KernelRecords<'a> {
    merged: &'a Merged<'a>,
    calls: &'a Calls,
    /// Undefined functions in the order of creation.
    undefined: Vec<u32>,
    /// With one kernel nvlink does not ask what it reaches.
    single: bool,
    /// When the first undefined function, and the first one with barriers, was met below a node.
    first_undefined: Vec<Moment>,
    first_barrier: Vec<Moment>,
}

impl<'a> KernelRecords<'a> {
    fn new(merged: &'a Merged<'_>, calls: &'a Calls, own: &[Own]) -> Self {
        let functions = &merged.functions;
        let is_undefined = |n: usize| functions.get(n).is_some_and(|f| f.text.is_none());
        let order = |n: usize, yes: bool| if yes { functions[n].order } else { NEVER };
        let earliest = |a: &mut Moment, b: &Moment| *a = (*a).min(*b);
        let has_barriers = |n: usize| own.get(n).is_some_and(|o| o.barriers > 0);
        let mut first_undefined = calls.fold(|n| order(n, is_undefined(n)), earliest);
        let mut first_barrier = calls.fold(|n| order(n, has_barriers(n)), earliest);
        let single = merged.kernels().count() == 1;
        if single {
            let all_undefined =
                (0..functions.len()).map(|n| order(n, is_undefined(n))).min().unwrap_or(NEVER);
            let all_barrier = (0..functions.len()).map(|n| order(n, has_barriers(n))).min().unwrap_or(NEVER);
            first_undefined.fill(all_undefined);
            first_barrier.fill(all_barrier);
        }
        let undefined = (0..functions.len() as u32).filter(|f| is_undefined(*f as usize)).collect();
        Self { merged, calls, undefined, single, first_undefined, first_barrier }
    }

    fn apply(&self, resources: &mut Resources<'_>) {
        let reached = self.reached_undefined();
        let all_barriers = resources.barriers.iter().copied().max().unwrap_or(0);
        for (kernel, function) in self.merged.kernels() {
            let at = kernel as usize;
            let Some(info) = function.info else { continue };
            if self.single {
                resources.barriers[at] = all_barriers;
            }
            let recursive = resources.stack[at] == UNKNOWN_STACK;
            let records = &mut resources.records[info.index()];
            if recursive {
                records.push(new_record(format::SIZED, attr::CRS_STACK_SIZE, &UNKNOWN_STACK.to_le_bytes()));
            }
            let barriers_first = self.first_barrier[at] < self.first_undefined[at];
            if barriers_first {
                set_barriers(records, resources.barriers[at]);
            }
            self.set_externs(records, &reached[at]);
            if !barriers_first {
                set_barriers(records, resources.barriers[at]);
            }
        }
    }

    /// The undefined functions that each node reaches, as positions in `self.undefined`.
    fn reached_undefined(&self) -> Vec<Vec<u64>> {
        let words = self.undefined.len().div_ceil(64);
        let mut position = vec![None; self.calls.nodes()];
        for (i, function) in self.undefined.iter().enumerate() {
            position[*function as usize] = Some(i);
        }
        self.calls.fold(
            |node| {
                let mut bits = vec![0u64; words];
                if let Some(i) = position[node] {
                    bits[i / 64] |= 1 << (i % 64);
                }
                bits
            },
            |a, b| a.iter_mut().zip(b).for_each(|(a, b)| *a |= b),
        )
    }

    fn set_externs(&self, records: &mut Vec<InfoRecord<'_>>, reached: &[u64]) {
        let symbol = |function: u32| self.merged.functions[function as usize].symbol;
        let stays = |id: &SymbolId| {
            let symbol = self.merged.symbol(*id);
            !symbol.is_defined() || symbol.other & raw::STO_ENTRY != 0
        };
        let at = records.iter().position(|r| r.attr == attr::EXTERNS);
        let mut list = match at.map(|at| &mut records[at].value) {
            Some(InfoValue::Symbols(list)) => std::mem::take(list),
            _ => Vec::new(),
        };
        list.retain(stays);
        if self.single {
            let complete = self.undefined.iter().all(|f| list.contains(&symbol(*f)));
            if let (Some(at), true) = (at, complete) {
                records[at].value = InfoValue::Symbols(list);
                return;
            }
            if let Some(at) = at {
                records.remove(at);
            }
            let all: Vec<_> = self.undefined.iter().rev().map(|f| symbol(*f)).collect();
            if !all.is_empty() {
                records.push(list_record(all));
            }
            return;
        }
        for (i, function) in self.undefined.iter().enumerate() {
            let id = symbol(*function);
            if reached[i / 64] & (1 << (i % 64)) != 0 && !list.contains(&id) {
                list.push(id);
            }
        }
        match at {
            Some(at) => records[at].value = InfoValue::Symbols(list),
            None if list.is_empty() => {}
            None => records.push(list_record(list)),
        }
    }
}

fn new_record<'data>(format: u8, attr: u8, bytes: &[u8]) -> InfoRecord<'data> {
    InfoRecord { format, attr, value: InfoValue::Owned(bytes.to_vec()), file: FileId(0) }
}

fn list_record<'data>(list: Vec<SymbolId>) -> InfoRecord<'data> {
    InfoRecord {
        format: format::SIZED,
        attr: attr::EXTERNS,
        value: InfoValue::Symbols(list),
        file: FileId(0),
    }
}

/// The kernel's record gets the largest count it reaches; a kernel without one gets one at the end.
fn set_barriers(records: &mut Vec<InfoRecord<'_>>, barriers: u8) {
    if barriers == 0 {
        return;
    }
    match records.iter_mut().find(|r| r.attr == attr::NUM_BARRIERS) {
        Some(record) => {
            let own = match &record.value {
                InfoValue::Bytes([n, ..]) => *n,
                _ => 0,
            };
            record.value = InfoValue::Owned(vec![own.max(barriers), 0]);
        }
        None => records.push(new_record(format::BYTE, attr::NUM_BARRIERS, &[barriers, 0])),
    }
}

/// `.nv.info`: kernels show their propagated register counts; their stack sizes come at the end, in
/// the order of the final symbol table (which has global symbols last).
fn update_module_records(merged: &Merged<'_>, resources: &mut Resources<'_>) {
    let Some(info) = merged.well_known.info else { return };
    let records = &mut resources.records[info.index()];
    for record in records.iter_mut().filter(|r| r.attr == attr::REGCOUNT) {
        let InfoValue::Symbol(symbol, value) = &mut record.value else { continue };
        let entity = merged.symbol(*symbol).entity;
        if let Some(function) = entity.and_then(|e| merged.function_of[e.index()]) {
            *value = resources.registers[function as usize];
        }
    }
    let mut kernels: Vec<_> = merged.kernels().map(|(i, f)| (i, f.symbol)).collect();
    kernels.sort_by_key(|(_, symbol)| (merged.symbol(*symbol).bind == raw::STB_GLOBAL, *symbol));
    for (kernel, symbol) in kernels {
        records.push(InfoRecord {
            format: format::SIZED,
            attr: attr::MIN_STACK_SIZE,
            value: InfoValue::Symbol(symbol, resources.stack[kernel as usize]),
            file: FileId(0),
        });
    }
}
