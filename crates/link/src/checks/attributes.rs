//! Attributes that must not come together in a kernel.

use super::arrivals::arrivals;
use crate::diagnostics::{Message, Sink, Stop};
use crate::model::ids::FileId;
use crate::model::merged::{Content, Merged};
use crate::model::object::{Object, Role};
use crate::model::symbols::{Origin, Symbols};
use crate::resources::Own;
use solder_arch::Release;
use solder_cubin::info::{attr, records};

/// A function has one attribute that says how much stack its branches need.
pub fn check_call_stacks(own: &[Own], sink: &Sink) -> Result<(), Stop> {
    let conflict = own.iter().any(|own| own.has_two_call_stacks);
    if conflict { Err(sink.fatal(Message::CallStackConflict)) } else { Ok(()) }
}

/// The attributes of a function that are among `wanted`, one bit each.
fn attributes(merged: &Merged<'_>, function: u32, wanted: &[u8]) -> u8 {
    let Some(info) = merged.functions[function as usize].info else { return 0 };
    if !matches!(merged.section(info).content, Content::Info(_)) {
        return 0;
    }
    let bit = |attr: u8| wanted.iter().position(|w| *w == attr).map_or(0, |at| 1 << at);
    merged.info_records(info).iter().fold(0, |bits, record| bits | bit(record.attr))
}

/// The functions with one of the attributes, which kernels inherit, in the order in which these were read.
fn sources(merged: &Merged<'_>, own: &[Own], wanted: &[u8]) -> Vec<u32> {
    let has = |f: &u32| {
        let is_plain = own[*f as usize].is_inherited && !merged.functions[*f as usize].entry;
        is_plain && attributes(merged, *f, wanted) != 0
    };
    let mut list: Vec<u32> = (0..merged.functions.len() as u32).filter(has).collect();
    list.sort_by_key(|f| merged.functions[*f as usize].attributes_read);
    list
}

/// A kernel whose functions use both kinds of tensor memory. One that says so of itself is believed.
pub fn check_cta_groups(merged: &Merged<'_>, of_functions: &[Own], release: &Release, sink: &Sink) {
    const BOTH: &[u8] = &[attr::TCGEN05_1CTA_USED, attr::TCGEN05_2CTA_USED];
    let sources = sources(merged, of_functions, BOTH);
    if sources.is_empty() {
        return;
    }
    let own: Vec<u8> = (0..merged.functions.len() as u32).map(|f| attributes(merged, f, BOTH)).collect();
    let mut bits = own.clone();
    let single = merged.only_root();
    if let Some(kernel) = single.filter(|_| !release.compares_cta_groups_as_read()) {
        // Each attribute that is new to the only kernel is compared with those of all functions.
        let name = merged.function_name(kernel);
        let (had, all) = (own[kernel as usize], own.iter().fold(0, |all, bits| all | bits));
        let new = if all == 3 { (all & !had).count_ones() } else { 0 };
        (0..new).for_each(|_| sink.report(Message::CtaGroups { function: name.into() }));
        return;
    }
    let conflicts = arrivals(merged, &sources, single.is_some(), |kernel, source| {
        let (from, to) = (own[source as usize], &mut bits[kernel as usize]);
        let new = from & !*to != 0;
        *to |= from;
        // The only kernel of a link is compared with each function as it was in the input.
        new && if single.is_some() { own[kernel as usize] != 0 } else { *to == 3 }
    });
    for conflict in conflicts {
        sink.report(Message::CtaGroups { function: merged.function_name(conflict.kernel.0).into() });
    }
}

/// Whether another definition prevails.
fn is_other_copy(symbols: &Symbols<'_>, origin: Origin) -> bool {
    symbols.entity(origin.file, origin.symbol).is_some_and(|id| symbols.get(id).definition != Some(origin))
}

/// `-disable-smem-reservation` with code that relies on the reserved part: first the kernels that
/// inherit it, the last one first, then every function of the inputs that says so, dead ones by no name. Copies that
/// were discarded or replaced are left out (core/limit-reserved-copies). Where there is a Mercury view, its attributes are read.
pub fn check_reserved_shared(
    merged: &Merged<'_>,
    own: &[Own],
    objects: &[Object<'_>],
    symbols: &Symbols<'_>,
    relocatable: bool,
    sink: &Sink,
) {
    const RESERVED: &[u8] = &[attr::RESERVED_SMEM_USED];
    let report = |function: &[u8]| sink.report(Message::ReservedShared { function: function.into() });
    if !relocatable {
        let sources = sources(merged, own, RESERVED);
        let mut uses: Vec<bool> =
            (0..merged.functions.len() as u32).map(|f| attributes(merged, f, RESERVED) != 0).collect();
        let single = merged.only_root().is_some();
        let inherited = arrivals(merged, &sources, single, |kernel, _| {
            !std::mem::replace(&mut uses[kernel as usize], true)
        });
        inherited.iter().rev().for_each(|arrival| report(merged.function_name(arrival.kernel.0)));
    }
    for (file, object) in objects.iter().enumerate().map(|(file, object)| (FileId::at(file), object)) {
        for section in &object.cubin.sections {
            let text = match object.role(section.index) {
                Role::FunctionInfo => Some(section.info()),
                // Assemblers of 12.0 and 12.1 say it of the file (older/reserved-shared-of-files).
                Role::Info => None,
                _ => continue,
            };
            let owner = text.and_then(|text| object.text_owner(text));
            if owner.is_some_and(|owner| is_other_copy(symbols, Origin { file, symbol: owner })) {
                continue;
            }
            let twin = object.mercury.as_ref().and_then(|twins| twins.partner(section.index));
            let list = twin.map_or(section, |twin| object.section(twin));
            let uses = records(list.data).flatten().filter(|r| r.attr == attr::RESERVED_SMEM_USED);
            for _ in uses {
                let text = text.and_then(|text| merged.files[file.index()].sections[text as usize]);
                let function = text.and_then(|(text, _)| merged.section(text).function);
                report(function.map_or(b"(null)", |f| merged.symbol(f).name));
            }
        }
    }
}

/// `-link-as-tools-patch`: the first function of the output that was not compiled as a patch (cli/tools-patch).
pub fn check_tools_patch(
    objects: &[Object<'_>],
    merged: &Merged<'_>,
    symbols: &Symbols<'_>,
    release: &Release,
    sink: &Sink,
) -> Result<(), Stop> {
    const PATCH: &[u8] = &[attr::TOOLS_PATCH_FUNC];
    let lacks = |f: &u32| merged.functions[*f as usize].text.is_some() && attributes(merged, *f, PATCH) == 0;
    let Some(function) = (0..merged.functions.len() as u32).find(lacks) else { return Ok(()) };
    let definition = symbols.get(merged.functions[function as usize].entity).definition;
    let file = definition.map(|origin| objects[origin.file.index()].name.clone()).unwrap_or_default();
    let function = merged.function_name(function).into();
    Err(sink.fatal(Message::NotToolsPatch {
        function,
        file: (&file).into(),
        option: release.tools_patch_option().into(),
    }))
}
