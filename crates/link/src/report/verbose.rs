//! `-v`: the memory of the module, and what each kernel uses.

use crate::diagnostics::{Message, Sink};
use crate::model::merged::{Function, InfoRecord, Kind, Merged};
use crate::resources::Resources;
use crate::shared::SharedLayout;
use crate::textures::Textures;
use solder_arch::Release;
use solder_cubin::info::attr;
use solder_cubin::raw;
use std::fmt::Write;

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
    sink.report(Message::MemoryUse { summary: module(uses.merged).into() });
    let mut kernels: Vec<_> = uses.merged.kernels().collect();
    kernels.sort_by_key(|(_, function)| std::cmp::Reverse(function.text));
    let mut before = 0;
    for (kernel, function) in kernels {
        let barriers =
            barriers(uses, function).or(uses.release.repeats_barriers().then_some(before)).unwrap_or(0);
        before = barriers;
        sink.report(Message::FunctionProperties { function: uses.merged.function_name(kernel).into() });
        sink.report(Message::ResourceUse { summary: kernel_line(uses, kernel, function, barriers).into() });
    }
}

fn module(merged: &Merged<'_>) -> String {
    let global = merged.sections.iter().filter(|s| matches!(s.kind, Kind::Global | Kind::GlobalInit));
    let mut line = format!("{} bytes gmem", global.map(|s| s.size).sum::<u64>());
    let mut banks: Vec<(u8, u64)> = merged
        .sections
        .iter()
        // Those of the Mercury view have no bank number.
        .filter(|s| s.twin.is_none())
        .filter_map(|s| if let Kind::Constant(bank) = s.kind { Some((bank, s.size)) } else { None })
        .collect();
    banks.sort_unstable();
    write_banks(&mut line, &banks);
    line
}

fn write_banks(line: &mut String, banks: &[(u8, u64)]) {
    for (bank, size) in banks.iter().filter(|(_, size)| *size > 0) {
        let _ = write!(line, ", {size} bytes cmem[{bank}]");
    }
}

fn kernel_line(uses: Uses<'_, '_>, kernel: u32, function: &Function, barriers: u8) -> String {
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
    let barriers =
        if uses.release.prints_barriers() { format!(" used {barriers} barriers,") } else { String::new() };
    let mut line = format!("used {registers} registers,{barriers} {stack} stack, {shared} bytes smem");
    if !mercury {
        write_banks(&mut line, &banks(uses, function));
    }
    line.push_str(", 0 bytes lmem");
    for (kind, what) in
        [(raw::STT_TEXTURE, "textures"), (raw::STT_SURFACE, "surfaces"), (raw::STT_SAMPLER, "samplers")]
    {
        // Nor are handles parameters there.
        let Some(constant) = function.constant.filter(|_| !mercury) else { break };
        let handles = uses.textures.handles(uses.merged, constant);
        let count = handles.filter(|(symbol, _)| uses.merged.symbol(*symbol).kind == kind).count();
        if count > 0 {
            let _ = write!(line, ", {count} {what}");
        }
    }
    line
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
fn barriers(uses: Uses<'_, '_>, function: &Function) -> Option<u8> {
    let info = function.info?;
    let counts = |record: &&InfoRecord<'_>| record.attr == attr::NUM_BARRIERS;
    let record = uses.resources.records(uses.merged, info).iter().find(counts);
    record.and_then(|record| record.value.bytes().first().copied())
}
