//! What each kernel needs: registers, barriers and stack of everything it can reach, and what the
//! attributes of the functions it reaches say about it.

use crate::callees::Calls;
use crate::diagnostics::{Message, Sink};
use crate::ids::{FileId, SectionId, SymbolId};
use crate::merge::{Content, InfoRecord, InfoValue, Merged};
use crate::parallel;
use crate::propagate;
use solder_cubin::info::{attr, format};

/// Stack size of a kernel that reaches recursion.
pub const UNKNOWN_STACK: u32 = 0xffff_ffff;

/// As many warnings about it as anybody may want to read; of more only the number is said.
const WARNINGS_OF_RECURSION: usize = 100_000;

/// The resources of the link.
#[derive(Debug)]
pub struct Resources<'data> {
    /// Final register count of each function.
    pub registers: Vec<u32>,
    /// What the attributes of each function say of itself.
    pub own: Vec<Own>,
    /// Stack of each kernel; 0 for other functions.
    pub stack: Vec<u32>,
    /// The final records of each attribute section, by section.
    pub records: Vec<Vec<InfoRecord<'data>>>,
}

/// What the attributes of one function say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own {
    pub registers: u32,
    pub frame: u32,
    call_stack: u32,
    pub max_registers: Option<u32>,
}

pub fn compute<'data>(
    merged: &Merged<'data>,
    calls: &Calls,
    suppress_stack_warning: bool,
    has_old_object: bool,
    sink: &Sink,
) -> Resources<'data> {
    let own = own_values(merged);
    let of = |node: usize| own.get(node).copied().unwrap_or_default();
    let registers = calls.fold(|n| of(n).registers, |a, b| *a = (*a).max(*b));
    let stack = calls.deepest(|n| of(n).frame);
    let call_stack = calls.deepest(|n| of(n).call_stack);
    let mut resources = Resources {
        registers: own.iter().map(|o| o.registers).collect(),
        own: Vec::new(),
        stack: vec![0; calls.functions],
        records: final_records(merged),
    };
    for (kernel, function) in merged.roots() {
        let at = kernel as usize;
        resources.registers[at] = registers[at];
        resources.stack[at] = stack[at].unwrap_or(UNKNOWN_STACK);
        if let Some(info) = function.info {
            let total = call_stack[at].unwrap_or(UNKNOWN_STACK);
            propagate::set_call_stack(&mut resources.records[info.index()], total);
        }
    }
    if !suppress_stack_warning {
        warn_of_recursion(merged, calls, &stack, sink);
    }
    resources.own = own;
    propagate::propagate(merged, calls, &mut resources.records);
    update_module_records(merged, &mut resources, has_old_object);
    resources
}

/// Of each kernel, one warning for every function that it calls and from which recursion is reached. With indirect
/// calls that can be every function of the program for every kernel.
fn warn_of_recursion(merged: &Merged<'_>, calls: &Calls, stack: &[Option<u32>], sink: &Sink) {
    let kernels: Vec<_> = merged.roots().collect();
    let callees = kernels.iter().map(|(kernel, _)| *kernel);
    let recursive = calls.count_callees(callees, |callee| stack[callee as usize].is_none());
    let mut left = WARNINGS_OF_RECURSION;
    for ((_, function), count) in kernels.iter().zip(&recursive) {
        let said = left.min(*count);
        for _ in 0..said {
            let kernel = merged.symbol(function.symbol).name;
            sink.report(Message::StackSizeUnknown { kernel: kernel.into() });
        }
        left -= said;
    }
    let more = recursive.iter().sum::<usize>() - (WARNINGS_OF_RECURSION - left);
    if more > 0 {
        sink.report(Message::MoreStackSizesUnknown { count: more as u64 });
    }
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
                (attr::CRS_STACK_SIZE | attr::SYNC_STACK, [a, b, c, d]) => {
                    own.call_stack = u32::from_le_bytes([*a, *b, *c, *d]);
                }
                (attr::MAXREG_COUNT, [low, high]) => {
                    let limit = u32::from(u16::from_le_bytes([*low, *high]));
                    own.max_registers = (limit != 0xff).then_some(limit);
                }
                _ => {}
            }
        }
    }
    own
}

/// The records of every attribute section in output order, as read; a relocatable link says no more.
pub fn final_records<'data>(merged: &Merged<'data>) -> Vec<Vec<InfoRecord<'data>>> {
    parallel::map_numbers(merged.sections.len(), |index| match &merged.sections[index].content {
        Content::Info { read, appended, .. } => {
            let mut records = Vec::with_capacity(read.len() + appended.len());
            records.extend(merged.info_records(SectionId::at(index)).cloned());
            records
        }
        _ => Vec::new(),
    })
}

/// `.nv.info`: kernels show their propagated register counts; their stack sizes come at the end, in
/// the order of the final symbol table (which has global symbols last). A mark before them says that an object came
/// from a toolkit older than 10.0.
fn update_module_records(merged: &Merged<'_>, resources: &mut Resources<'_>, has_old_object: bool) {
    let Some(info) = merged.well_known.info else { return };
    let records = &mut resources.records[info.index()];
    for record in records.iter_mut().filter(|r| r.attr == attr::REGCOUNT) {
        let InfoValue::Symbol(symbol, value) = &mut record.value else { continue };
        let entity = merged.symbol(*symbol).entity;
        if let Some(function) = entity.and_then(|e| merged.function_of[e.index()]) {
            *value = resources.registers[function as usize];
        }
    }
    if has_old_object {
        let value = InfoValue::Bytes(&[0, 0]);
        records.push(InfoRecord {
            format: format::NONE,
            attr: attr::HAS_PRE_V10_OBJECT,
            value,
            file: FileId(0),
            code: None,
        });
    }
    let mut kernels: Vec<_> = merged.roots().map(|(i, f)| (i, f.symbol)).collect();
    kernels.sort_by_key(|(_, symbol)| (merged.symbol(*symbol).among_globals, *symbol));
    for (kernel, symbol) in kernels {
        records.push(InfoRecord {
            format: format::SIZED,
            attr: attr::MIN_STACK_SIZE,
            value: InfoValue::Symbol(symbol, resources.stack[kernel as usize]),
            file: FileId(0),
            code: None,
        });
    }
}
