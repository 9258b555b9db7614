//! `--explain-regs`: what each kernel needs beside its own, and through which calls it came.

use super::calls::Named;
use std::fmt::Write;

use super::context::counted;
use super::{calls, names};
use solder_cubin::info::attr;
use solder_link::model::calls::{Need, OfNodes};
use solder_link::model::merged::{Function, InfoRecord};
use solder_link::resources::UNKNOWN_STACK;
use solder_link::view::View;

/// The stack that call paths from each function need.
type Depths<'a> = OfNodes<'a, Need>;

/// The kernels with this name, or all for an empty one, in the order of the output.
pub fn text(view: View<'_, '_>, wanted: &str) -> String {
    let mut text = String::new();
    let depths = view.merged.calls.needs(|node| (0, [own_frame(view, node as u32), 0]));
    let mut found = false;
    for (kernel, function) in view.merged.kernels() {
        let name = view.merged.symbol(function.symbol).name;
        if wanted.is_empty() || names::matches(name, wanted) {
            found = true;
            write_kernel(&mut text, view, &depths, kernel, function);
        }
    }
    if !found {
        let _ = match wanted {
            "" => writeln!(text, "the output has no kernel"),
            name => writeln!(text, "the output has no kernel '{name}'"),
        };
        let kernels = view.merged.kernels().map(|(_, function)| view.merged.symbol(function.symbol).name);
        text.push_str(&names::suggestion(kernels.filter(|_| !wanted.is_empty()), wanted));
    }
    text
}

fn write_kernel(
    text: &mut String,
    view: View<'_, '_>,
    depths: &Depths<'_>,
    kernel: u32,
    function: &Function,
) {
    let at = kernel as usize;
    let own = view.resources.own[at];
    let _ = write!(text, "kernel {}: {} registers", view.node_name(kernel), view.resources.registers[at]);
    if let Some(limit) = own.max_registers {
        let _ = write!(text, " (at most {limit} allowed)");
    }
    let stack = view.resources.stack[at];
    let _ = match stack {
        UNKNOWN_STACK => write!(text, ", unknown stack"),
        bytes => write!(text, ", {bytes} bytes of stack"),
    };
    let barriers = final_barriers(view, function);
    let _ = writeln!(text, ", {}", counted(barriers.into(), "barrier"));
    let registers = |node: u32| view.resources.own.get(node as usize).map_or(0, |own| own.registers);
    write_raised(text, view, "registers", kernel, &registers, view.resources.registers[at]);
    write_stack(text, view, depths, kernel, stack);
    let barriers_of = |node: u32| own_barriers(view, node);
    write_raised(text, view, "barriers", kernel, &barriers_of, barriers);
}

/// The shortest chain to a function that alone accounts for the total.
fn write_raised(
    text: &mut String,
    view: View<'_, '_>,
    what: &str,
    kernel: u32,
    own: &dyn Fn(u32) -> u32,
    total: u32,
) {
    if own(kernel) >= total {
        if total > 0 {
            let _ = writeln!(text, "    {what}: its own");
        }
        return;
    }
    let tell = |node: u32| format!(" [{}]", own(node));
    let is_it = |node: u32| view.is_function(node) && own(node) == total;
    let _ = match calls::path(&view.merged.calls, kernel, is_it) {
        Some(way) => writeln!(text, "    {what}: {}", view.chain(&way, tell)),
        // With one kernel every function is of interest, reached or not.
        None => match (0..view.merged.functions.len() as u32).find(|function| is_it(*function)) {
            Some(function) => {
                let name = view.node_name(function);
                writeln!(text, "    {what}: {name} [{total}], which counts because this is the only kernel")
            }
            None => writeln!(text, "    {what}: its own {}", own(kernel)),
        },
    };
}

fn own_frame(view: View<'_, '_>, node: u32) -> u32 {
    view.resources.own.get(node as usize).map_or(0, |own| own.frame)
}

/// The deepest chain of calls, down to the last function with a frame.
fn write_stack(text: &mut String, view: View<'_, '_>, depths: &Depths<'_>, kernel: u32, total: u32) {
    let graph = &view.merged.calls;
    let tell = |node: u32| format!(" [{}]", own_frame(view, node));
    if total == UNKNOWN_STACK {
        let way = calls::path(graph, kernel, |node| graph.is_recursive(node)).unwrap_or_default();
        let cycle = way.last().and_then(|node| calls::cycle(graph, *node)).unwrap_or_default();
        let rest = cycle.get(1..).unwrap_or_default();
        let whole: Vec<u32> = way.iter().chain(rest).copied().collect();
        let _ = writeln!(text, "    stack: recursion, {}", view.chain(&whole, tell));
        return;
    }
    if total == own_frame(view, kernel) {
        if total > 0 {
            let _ = writeln!(text, "    stack: its own");
        }
        return;
    }
    let mut way = vec![kernel];
    let depth = |node: u32| depths[node as usize].sums.map_or(0, |[frames, _]| frames);
    let mut at = kernel;
    while let Some(next) =
        graph.edges(at).iter().copied().max_by_key(|node| depth(*node)).filter(|n| depth(*n) > 0)
    {
        way.push(next);
        at = next;
    }
    let _ = writeln!(text, "    stack: {}", view.chain(&way, tell));
}

fn own_barriers(view: View<'_, '_>, node: u32) -> u32 {
    let info = view.merged.functions.get(node as usize).and_then(|function| function.info);
    info.and_then(|info| barriers(view.merged.info_records(info).iter())).unwrap_or(0)
}

pub fn final_barriers(view: View<'_, '_>, function: &Function) -> u32 {
    let info = function.info;
    info.and_then(|info| barriers(view.resources.records(view.merged, info).iter())).unwrap_or(0)
}

fn barriers<'a, 'data: 'a>(mut records: impl Iterator<Item = &'a InfoRecord<'data>>) -> Option<u32> {
    let record = records.find(|record| record.attr == attr::NUM_BARRIERS)?;
    record.value.bytes().first().copied().map(u32::from)
}
