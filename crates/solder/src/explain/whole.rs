//! Link-time optimisation of a whole program: the compiler made the output, and what there is to tell is read from it.

use bstr::BStr;
use std::fmt::Write;

use solder_cubin::info::{self, attr};
use solder_cubin::{Cubin, callgraph, raw};

use super::context::Explain;
use super::names::shown;
use super::{map, report};
use crate::diagnostics::{Sink, Stop};
use crate::json::Json;
use solder_link::checks::limits::shared_limit;
use solder_link::resources::UNKNOWN_STACK;

/// The only origin that is left.
const ORIGIN: &str = "compiled IR";

impl Explain<'_, '_> {
    /// Writes the files that were asked for about the output, if it is a cubin.
    pub fn compiled(self, output: &[u8], sink: &Sink) -> Result<(), Stop> {
        let asked = &self.options;
        let others = asked.explain_regs.is_some()
            || asked.print_gc
            || !asked.why_live.is_empty()
            || !asked.trace.is_empty();
        if others {
            super::context::print(
                "the compiler made the output: there are no calls, removals or names to report\n",
            );
        }
        let Ok(cubin) = Cubin::parse(output) else { return Ok(()) };
        if let Some(file) = &asked.map {
            super::context::write(file, &map_text(self, &cubin, output.len()), sink)?;
        }
        if let Some(file) = &asked.report {
            super::context::write(file, &report::filled(&content(self, &cubin, output.len())), sink)?;
        }
        Ok(())
    }
}

fn symbols<'a>(cubin: &'a Cubin<'a>) -> impl Iterator<Item = (u32, &'a raw::Symbol, &'a BStr)> {
    let named = |(index, symbol)| Some((index as u32, symbol, cubin.symbol_name(index as u32).ok()?));
    cubin.symbols.iter().enumerate().filter_map(named)
}

fn map_text(explain: Explain<'_, '_>, cubin: &Cubin<'_>, size: usize) -> String {
    let mut text = map::head(explain, size as u64);
    map::heading(&mut text, "Sections");
    let _ = writeln!(text, "{:>10} {:>10} {:>6}  name", "offset", "size", "align");
    for section in cubin.sections.iter().skip(1) {
        let (offset, size) = (section.header.offset.get(), section.size());
        let _ = writeln!(text, "{offset:#10x} {size:#10x} {:>6}  {}", section.align(), section.name);
    }
    map::heading(&mut text, "Symbols");
    let _ = writeln!(text, "{:>10} {:>10} kind     name", "value", "size");
    for (_, symbol, name) in
        symbols(cubin).filter(|(_, s, name)| s.kind() != raw::STT_SECTION && !name.is_empty())
    {
        let kind = map::kind(symbol.kind(), symbol.other);
        let _ = writeln!(text, "{:#10x} {:#10x} {kind}{name}", symbol.value.get(), symbol.size.get());
    }
    text
}

/// A value of `.nv.info` for each symbol.
fn module_values(cubin: &Cubin<'_>, attr: u8) -> Vec<u32> {
    let mut values = vec![0; cubin.symbols.len()];
    let info = cubin.section(".nv.info").map_or(&[][..], |section| section.data);
    for record in info::records(info).flatten().filter(|record| record.attr == attr) {
        if let (Some(symbol), Some(value)) = (record.word(0), record.word(4))
            && let Some(slot) = values.get_mut(symbol as usize)
        {
            *slot = value;
        }
    }
    values
}

fn content(explain: Explain<'_, '_>, cubin: &Cubin<'_>, size: usize) -> Json {
    let registers = module_values(cubin, attr::REGCOUNT);
    let frames = module_values(cubin, attr::FRAME_SIZE);
    let stacks = module_values(cubin, attr::MIN_STACK_SIZE);
    let functions: Vec<_> =
        symbols(cubin).filter(|(_, s, _)| s.kind() == raw::STT_FUNC && s.is_defined()).collect();
    let number = |symbol: u32| functions.binary_search_by_key(&symbol, |(index, ..)| *index).ok();
    let graph = cubin.section(".nv.callgraph").and_then(|section| section.entries().ok()).unwrap_or(&[]);
    let mut calls = vec![Vec::new(); functions.len()];
    for (part, from, to) in callgraph::records(graph) {
        if let (callgraph::Part::Call, Some(from), Some(to)) = (part, number(from), number(to)) {
            calls[from].push(to as u64);
        }
    }
    let function = |((index, symbol, name), calls): (&(u32, &raw::Symbol, &BStr), Vec<u64>)| {
        let at = *index as usize;
        let stack = if stacks[at] == UNKNOWN_STACK { Json::Signed(-1) } else { stacks[at].into() };
        Json::Object(vec![
            ("name", Json::Text(shown(name))),
            ("kernel", (symbol.other & raw::STO_ENTRY != 0).into()),
            ("size", symbol.size.get().into()),
            ("input", 0u32.into()),
            ("registers", registers[at].into()),
            ("total", registers[at].into()),
            ("frame", frames[at].into()),
            ("stack", stack),
            ("barriers", 0u32.into()),
            ("calls", calls.into_iter().collect()),
            ("indirect", Json::List(Vec::new())),
        ])
    };
    let (shared, variables) = shared_memory(cubin, &functions);
    let output = explain.options.output.as_ref().map_or(String::new(), |path| path.display().to_string());
    Json::Object(vec![
        ("output", Json::Text(output)),
        ("target", Json::Text(explain.options.link_target().to_string())),
        ("size", (size as u64).into()),
        ("inputs", [ORIGIN].into_iter().collect()),
        ("functions", functions.iter().zip(calls).map(function).collect()),
        ("removed", Json::Object(vec![("count", 0u32.into()), ("size", 0u32.into())])),
        (
            "sharedLimit",
            shared_limit(explain.options.link_target(), explain.options.enable_extended_smem == Some(true))
                .into(),
        ),
        ("shared", shared),
        ("variables", variables),
        ("constants", constants(cubin)),
        ("phases", report::phases(explain.printer)),
    ])
}

/// The sections `.nv.shared.K`, each as one variable.
fn shared_memory(cubin: &Cubin<'_>, functions: &[(u32, &raw::Symbol, &BStr)]) -> (Json, Json) {
    let (mut rows, mut names) = (Vec::new(), Vec::new());
    for section in &cubin.sections {
        let Some(kernel) = section.name.strip_prefix(b".nv.shared.") else { continue };
        let Some(at) = functions.iter().position(|(_, _, name)| *name == kernel) else { continue };
        let part = Json::List(vec![(names.len() as u64).into(), section.size().into()]);
        rows.push(Json::Object(vec![
            ("kernel", (at as u64).into()),
            ("total", section.size().into()),
            ("parts", Json::List(vec![part])),
        ]));
        names.push(section.name.into());
    }
    (Json::List(rows), Json::List(names))
}

fn constants(cubin: &Cubin<'_>) -> Json {
    let is_bank = |name: &BStr| name.strip_prefix(b".nv.constant").is_some_and(|bank| !bank.contains(&b'.'));
    let bank = |section: &solder_cubin::Section<'_>| {
        let of_it =
            |s: &raw::Symbol| u32::from(s.shndx.get()) == section.index && s.kind() == raw::STT_OBJECT;
        let variables = symbols(cubin).filter(|(_, symbol, _)| of_it(symbol));
        let part = |(_, symbol, name): (u32, &raw::Symbol, &BStr)| {
            Json::List(vec![Json::Text(shown(name)), symbol.size.get().into(), 0u32.into()])
        };
        Json::Object(vec![
            ("name", section.name.into()),
            ("size", section.size().into()),
            ("parts", variables.map(part).collect()),
        ])
    };
    cubin.sections.iter().filter(|section| is_bank(section.name)).map(bank).collect()
}
