//! `--report`: one page about the link that needs nothing but a browser.

use super::calls::Named;
use bstr::ByteSlice;
use solder_cubin::raw;
use std::path::PathBuf;

use super::context::{Explain, in_parts};
use super::names::shown;
use super::{live, registers};
use crate::diagnostics::Printer;
use crate::json::Json;
use crate::options::Options;
use solder_link::checks::limits::shared_limit;
use solder_link::layout::Layout;
use solder_link::model::calls::BitSet;
use solder_link::model::ids::SectionId;
use solder_link::model::merged::{Kind, OutputSymbol};
use solder_link::model::object::Object;
use solder_link::pool::Pool;
use solder_link::resources::UNKNOWN_STACK;
use solder_link::view::View;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
/// In this order: each uses what is before it.
const SCRIPTS: [&str; 6] = [
    include_str!("page/core.js"),
    include_str!("page/map.js"),
    include_str!("page/calls.js"),
    include_str!("page/lists.js"),
    include_str!("page/search.js"),
    include_str!("page/start.js"),
];

/// The version of the data, which a comparison of two links asks for.
pub const FORMAT: u32 = 1;

/// The whole page, or only its data for a file whose name ends in `.json`.
pub fn page(
    explain: Explain<'_, '_>,
    objects: &[Object<'_>],
    view: View<'_, '_>,
    layout: &Layout<'_, '_>,
) -> String {
    written(explain.options, &content(explain, objects, view, Some(layout), &[]))
}

/// The data as the file that was asked for.
pub fn written(options: &Options, content: &Json) -> String {
    let is_data = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "json");
    if options.report.as_ref().is_some_and(is_data) { content.line() } else { filled(content) }
}

/// The page with its data. `solder size` makes one too, whose data say `sizes`.
pub fn filled(content: &Json) -> String {
    // No text in the data can end the element that holds it.
    let data = content.compact().replace('<', "\\u003c");
    let fill = |page: &str, mark: &str, text: &str| page.replacen(mark, text, 1);
    let page = fill(PAGE, "/*STYLE*/", STYLE);
    let page = fill(&page, "/*SCRIPT*/", &SCRIPTS.concat());
    fill(&page, "/*DATA*/", &data)
}

/// The data; without a layout and with errors, of a link that failed.
pub fn content(
    explain: Explain<'_, '_>,
    objects: &[Object<'_>],
    view: View<'_, '_>,
    layout: Option<&Layout<'_, '_>>,
    errors: &[String],
) -> Json {
    let output = explain.options.output.as_ref().map_or(String::new(), |path| path.display().to_string());
    let removed = live::removed(view, objects);
    let (shared, variables) = shared_memory(view);
    Json::Object(vec![
        ("format", FORMAT.into()),
        ("errors", errors.iter().cloned().map(Json::Text).collect()),
        ("output", Json::Text(output)),
        ("target", Json::Text(explain.options.link_target().to_string())),
        ("size", layout.map_or(0, |layout| layout.file_size).into()),
        ("inputs", objects.iter().map(|object| object.name.as_bstr()).collect()),
        ("functions", functions(view, explain.pool)),
        ("removed", removed_functions(&removed)),
        (
            "sharedLimit",
            shared_limit(explain.options.link_target(), explain.options.enable_extended_smem == Some(true))
                .into(),
        ),
        ("reservedShared", view.shared.reserved.into()),
        ("shared", shared),
        ("variables", variables),
        ("constants", constants(view)),
        ("phases", phases(explain.printer)),
    ])
}

/// How many functions were removed, their size, and each with its name, whether it is a kernel, size and input.
pub fn removed_functions(removed: &[live::Removed<'_>]) -> Json {
    let size: u64 = removed.iter().map(|function| function.size).sum();
    let row = |function: &live::Removed<'_>| {
        Json::List(vec![
            Json::Text(shown(function.name)),
            u32::from(function.kernel).into(),
            function.size.into(),
            function.input.number().into(),
        ])
    };
    Json::Object(vec![
        ("count", (removed.len() as u64).into()),
        ("size", size.into()),
        ("list", removed.iter().map(row).collect()),
    ])
}

fn functions(view: View<'_, '_>, pool: &Pool) -> Json {
    let indices: Vec<u32> = (0..view.merged.functions.len() as u32).collect();
    let part = |indices: &[u32]| {
        let mut text = String::new();
        for index in indices {
            text.push(if *index == 0 { '[' } else { ',' });
            text.push_str(&function(view, *index).compact());
        }
        text
    };
    let mut text = in_parts(pool, &indices, part).concat();
    text.push_str(if indices.is_empty() { "[]" } else { "]" });
    Json::written(text)
}

fn function(view: View<'_, '_>, node: u32) -> Json {
    let index = node as usize;
    let function = &view.merged.functions[index];
    let symbol = view.merged.symbol(function.symbol);
    let own = view.resources.own[index];
    let graph = &view.merged.calls;
    let (direct, prototypes): (Vec<u32>, Vec<u32>) =
        graph.edges(node).iter().partition(|node| view.is_function(**node));
    let indirect = prototypes.into_iter().flat_map(|node| graph.edges(node).iter().copied());
    let stack = match view.resources.stack[index] {
        UNKNOWN_STACK => Json::Signed(-1),
        bytes => bytes.into(),
    };
    let is_kernel = function.entry && function.text.is_some();
    Json::Object(vec![
        ("name", Json::Text(shown(symbol.name))),
        ("symbol", Json::from(is_kernel.then_some(symbol.name))),
        ("kernel", is_kernel.into()),
        ("size", if function.text.is_some() && !function.alias { symbol.size } else { 0 }.into()),
        ("input", input(symbol)),
        ("registers", own.registers.into()),
        ("total", view.resources.registers[index].into()),
        ("frame", own.frame.into()),
        ("stack", stack),
        ("barriers", registers::final_barriers(view, function).into()),
        ("calls", direct.into_iter().collect()),
        ("indirect", indirect.collect()),
    ])
}

fn input(symbol: &OutputSymbol<'_>) -> Json {
    symbol.origin.map_or(Json::Signed(-1), |origin| origin.file.number().into())
}

/// What each kernel has of shared memory, and the names of the variables.
fn shared_memory(view: View<'_, '_>) -> (Json, Json) {
    let merged = view.merged;
    let kernels: Vec<u32> = merged.kernels().map(|(kernel, _)| kernel).collect();
    let mut parts: Vec<Vec<(usize, u64)>> = vec![Vec::new(); kernels.len()];
    let users = solder_link::shared::find_users(merged);
    let mut interesting: Vec<u32> = users.iter().flatten().copied().collect();
    interesting.sort_unstable();
    interesting.dedup();
    let reached = merged.calls.reached_by(&interesting, &kernels);
    for (index, (object, users)) in merged.shared.iter().zip(&users).enumerate() {
        let owner = object.owner.and_then(|owner| kernels.binary_search(&owner).ok());
        let sets =
            users.iter().filter_map(|user| interesting.binary_search(user).ok()).map(|at| &reached[at]);
        let mut of: Vec<usize> = sets.flat_map(BitSet::iter).chain(owner).collect();
        of.sort_unstable();
        of.dedup();
        for kernel in of.into_iter().filter(|_| object.size > 0) {
            parts[kernel].push((index, object.size));
        }
    }
    let row = |(kernel, mut parts): (&u32, Vec<(usize, u64)>)| {
        parts.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
        let total = view.shared.kernels[*kernel as usize].map_or(0, |shared| shared.size);
        let pair = |(variable, size): (usize, u64)| Json::List(vec![(variable as u64).into(), size.into()]);
        Json::Object(vec![
            ("kernel", (*kernel).into()),
            ("total", total.into()),
            ("parts", parts.into_iter().map(pair).collect()),
        ])
    };
    let rows = kernels.iter().zip(parts).map(row).collect();
    let names = merged.shared.iter().map(|object| Json::Text(shown(merged.symbol(object.symbol).name)));
    (rows, names.collect())
}

/// The banks of the module, with their variables.
fn constants(view: View<'_, '_>) -> Json {
    let merged = view.merged;
    let mut banks = Vec::new();
    for (index, section) in merged.sections.iter().enumerate() {
        let id = SectionId::at(index);
        if !matches!(section.kind, Kind::Constant(_)) || section.size == 0 {
            continue;
        }
        let of_it = |symbol: &&OutputSymbol<'_>| symbol.section == Some(id) && symbol.kind == raw::STT_OBJECT;
        let mut variables: Vec<&OutputSymbol<'_>> = merged.symbols.iter().filter(of_it).collect();
        variables.sort_by_key(|symbol| std::cmp::Reverse(symbol.size));
        let part = |symbol: &&OutputSymbol<'_>| {
            Json::List(vec![Json::Text(shown(symbol.name)), symbol.size.into(), input(symbol)])
        };
        banks.push(Json::Object(vec![
            ("name", merged.section_name(id).into()),
            ("size", section.size.into()),
            ("parts", variables.iter().map(part).collect()),
        ]));
    }
    Json::List(banks)
}

/// Microseconds of each phase so far.
pub fn phases(printer: &Printer) -> Json {
    let pair = |(name, time): (&'static str, std::time::Duration)| {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Json::List(vec![name.into(), micros.into()])
    };
    printer.phases().into_iter().map(pair).collect()
}
