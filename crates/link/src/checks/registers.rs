//! The registers of functions as they reach kernels, one step at a time: nvlink tells each step of it
//! under `-dump-callgraph`, and complains at each that exceeds the kernel's limit.

use super::arrivals::arrivals;
use crate::demangle::demangle;
use crate::diagnostics::{Message, Sink};
use crate::model::merged::Merged;
use crate::resources::Resources;

/// Functions are taken in the order of their definition.
pub fn report(merged: &Merged<'_>, resources: &Resources<'_>, tell: bool, sink: &Sink) {
    let limit = |kernel: u32| resources.own[kernel as usize].max_registers.unwrap_or(u32::MAX);
    if !tell && merged.kernels().all(|(k, _)| resources.registers[k as usize] <= limit(k)) {
        return;
    }
    let mut sources: Vec<u32> = (0..merged.functions.len() as u32)
        .filter(|f| merged.functions[*f as usize].text.is_some() && !merged.functions[*f as usize].entry)
        .collect();
    sources.sort_by_key(|f| merged.functions[*f as usize].text);
    let mut registers: Vec<u32> = resources.own.iter().map(|own| own.registers).collect();
    let steps = arrivals(merged, &sources, false, |kernel, source| {
        let (from, to) = (registers[source as usize], &mut registers[kernel as usize]);
        let more = from > *to;
        *to = from.max(*to);
        more
    });
    for step in steps {
        let (source, kernel) = (sources[step.source], step.kernel.0);
        let registers = resources.own[source as usize].registers;
        if registers > limit(kernel) {
            sink.report(Message::RegisterLimit {
                kernel: merged.function_name(kernel).into(),
                limit: limit(kernel),
                callee: merged.function_name(source).into(),
                registers,
            });
        }
        if tell {
            let shown = |function| demangle(merged.function_name(function));
            let mut line = format!("regcount {registers} for ").into_bytes();
            line.extend(shown(source));
            line.extend_from_slice(b" propagated to entry ");
            line.extend(shown(kernel));
            line.push(b'\n');
            sink.write(&line);
        }
    }
}
