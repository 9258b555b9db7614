//! `-v`: the memory of the module, and what each kernel uses.

use crate::diagnostics::{Banks, Barriers, Handles, Message, Sink};
use crate::model::merged::{Function, InfoRecord, Kind, Merged, OutputSection};
use crate::resources::Resources;
use crate::shared::SharedLayout;
use crate::textures::Textures;
use solder_arch::Release;
use solder_cubin::info::attr;
use solder_cubin::raw;

/// The results that the lines show.
#[derive(Clone, Copy, Debug)]
pub struct Uses<'a, 'data> {
    pub merged: &'a Merged<'data>,
    pub resources: &'a Resources<'data>,
    pub shared: &'a SharedLayout,
    pub textures: &'a Textures,
    pub release: &'a Release,
    pub relocatable: bool,
}

/// Kernels come out in the order of their definition, last one first.
pub fn report(uses: Uses<'_, '_>, sink: &Sink) {
    sink.report(module(uses.merged));
    let mut kernels: Vec<_> = uses.merged.kernels().collect();
    kernels.sort_by_key(|(_, function)| std::cmp::Reverse(function.text));
    let mut before = if uses.release.counts_sections_for_barriers() { without_bytes(uses) } else { 0 };
    for (kernel, function) in kernels {
        let barriers = barriers(uses, kernel, function)
            .map(u32::from)
            .or(uses.release.repeats_barriers().then_some(before))
            .unwrap_or(0);
        before = barriers;
        sink.report(Message::FunctionProperties { function: uses.merged.function_name(kernel).into() });
        sink.report(of_kernel(uses, kernel, function, barriers));
    }
}

/// How many sections of the machine code's view have no bytes in the file: variables without a value, and shared memory.
fn without_bytes(Uses { merged, shared, .. }: Uses<'_, '_>) -> u32 {
    let kernel = |text| merged.function_of_symbol(merged.section(text).function?);
    let has_none = |section: &&OutputSection<'_>| match section.kind {
        Kind::KernelShared => {
            section.of.and_then(kernel).is_some_and(|k| shared.kernels[k as usize].is_some())
        }
        Kind::FileShared => shared.keeps_file_section,
        Kind::Global | Kind::ReservedShared => true,
        _ => false,
    };
    merged.sections.iter().filter(has_none).count() as u32
}

fn module(merged: &Merged<'_>) -> Message {
    let global = merged.sections.iter().filter(|s| matches!(s.kind, Kind::Global | Kind::GlobalInit));
    let global = global.map(|s| s.size).sum();
    let mut banks: Vec<(u8, u64)> = merged
        .sections
        .iter()
        // Those of the Mercury view have no bank number.
        .filter(|s| s.twin.is_none())
        .filter_map(|s| if let Kind::Constant(bank) = s.kind { Some((bank, s.size)) } else { None })
        .collect();
    banks.sort_unstable();
    Message::MemoryUse { global, constant: used(banks) }
}

fn used(mut banks: Vec<(u8, u64)>) -> Banks {
    banks.retain(|(_, size)| *size > 0);
    Banks(banks)
}

fn of_kernel(uses: Uses<'_, '_>, kernel: u32, function: &Function, barriers: u32) -> Message {
    let at = kernel as usize;
    let resources = uses.resources;
    let own = resources.own[at];
    let registers = if uses.relocatable { own.registers } else { resources.registers[at] };
    let stack = match resources.stack[at] {
        _ if uses.relocatable => 0,
        // Where recursion makes the total unknown, or what the kernel calls is not followed, its own frame is told.
        0 | crate::resources::UNKNOWN_STACK => own.frame,
        total => total,
    };
    // nvlink speaks of the Mercury view, which has no numbered banks and nothing reserved.
    let mercury = uses.merged.well_known.info.is_some_and(|info| uses.merged.section(info).twin.is_some());
    let reserved = if mercury { uses.shared.reserved } else { 0 };
    let shared = uses.shared.kernels[at].map_or(0, |s| s.size.saturating_sub(reserved));
    let constant = if mercury { Banks(Vec::new()) } else { used(banks(uses, function)) };
    // Nor are handles parameters there.
    let handles = function.constant.filter(|_| !mercury);
    let count = |kind: u8| {
        let all = handles.map(|constant| uses.textures.handles(uses.merged, constant)).into_iter().flatten();
        all.filter(|(symbol, _)| uses.merged.symbol(*symbol).kind == kind).count() as u64
    };
    let kinds =
        [("textures", raw::STT_TEXTURE), ("surfaces", raw::STT_SURFACE), ("samplers", raw::STT_SAMPLER)];
    let counts = kinds.into_iter().map(|(what, kind)| (what, count(kind)));
    Message::ResourceUse {
        function: uses.merged.function_name(kernel).into(),
        registers,
        barriers: Barriers(uses.release.prints_barriers().then_some(barriers)),
        stack,
        shared,
        constant,
        handles: Handles(counts.filter(|(_, count)| *count > 0).collect()),
    }
}

fn banks(uses: Uses<'_, '_>, function: &Function) -> Vec<(u8, u64)> {
    let size = |section| uses.merged.section(section).size;
    // Static kernels of one name that a relocatable link joined have their parameters together.
    let symbol_name = |f: &Function| uses.merged.symbol(f.symbol).name;
    let of_namesake = || {
        let mut others = uses.merged.functions.iter().filter(|f| f.constant.is_some());
        others.find(|f| symbol_name(f) == symbol_name(function)).and_then(|f| f.constant)
    };
    let parameters =
        function.constant.or_else(of_namesake).map(|c| (0, uses.textures.end(c).unwrap_or(size(c))));
    let others = function.constants.iter().map(|(bank, section)| (*bank, size(*section)));
    let mut banks: Vec<(u8, u64)> = parameters.into_iter().chain(others).collect();
    banks.sort_unstable();
    banks
}

/// What the attributes of a kernel say; `None` for one that uses no barrier.
/// A relocatable link leaves those of assemblers before 13.0 in the header of the code (older/barriers-of-kernels-kept), and so
/// does any link before 13.0 (compat/abi-7). From 13.1 on they are not looked for there.
fn barriers(uses: Uses<'_, '_>, kernel: u32, function: &Function) -> Option<u8> {
    let info = function.info?;
    let counts = |record: &&InfoRecord<'_>| record.attr == attr::NUM_BARRIERS;
    let record = uses.resources.records(uses.merged, info).iter().find(counts);
    let own = uses.resources.own[kernel as usize].barriers;
    let in_header = match uses.release.lists_barriers() {
        true if uses.relocatable && !uses.release.repeats_barriers() => own,
        true => 0,
        false => function.text.and_then(|text| uses.resources.barriers.get(&text).copied()).unwrap_or(own),
    };
    let in_header = Some(in_header).filter(|count| *count > 0);
    record.and_then(|record| record.value.bytes().first().copied()).or(in_header)
}
