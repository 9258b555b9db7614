//! Link-time optimisation of a whole program: the compiler made the output, and what there is to tell is read from it.

use bstr::BStr;
use std::fmt::Write;

use hashbrown::HashMap;
use object::Endianness;
use object::elf::{FileHeader64, SHT_SYMTAB, STT_FUNC, Sym64};
use object::read::elf::{FileHeader, Sym};
use solder_cubin::info::{self, attr};
use solder_cubin::{Cubin, callgraph, raw};

use super::context::Explain;
use super::names::shown;
use super::{map, report};
use crate::diagnostics::{Sink, Stop};
use crate::json::Json;
use crate::load::Survey;
use crate::load::survey::Fate;
use solder_link::checks::limits::shared_limit;
use solder_link::resources::UNKNOWN_STACK;

impl Explain<'_, '_> {
    /// Writes the files that were asked for about the output, if it is a cubin.
    pub fn compiled(self, output: &[u8], sink: &Sink) -> Result<(), Stop> {
        let asked = &self.options;
        let others = asked.explain_regs.is_some()
            || asked.print_gc
            || !asked.why_live.is_empty()
            || !asked.trace.is_empty();
        if others {
            self.print("the compiler made the output: there are no calls, removals or names to report\n");
        }
        let Ok(cubin) = Cubin::parse(output) else { return Ok(()) };
        if let Some(file) = &asked.map {
            super::context::write(self.options, file, &map_text(self, &cubin, output.len()), sink)?;
        }
        if let Some(file) = &asked.report {
            super::context::write(
                self.options,
                file,
                &report::written(self.options, &content(self, &cubin, output.len())),
                sink,
            )?;
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

/// The modules that the program was compiled from, and the host objects' symbols that tell where a kernel is from: the
/// compiler of the host code defines a function with the name of each kernel, which launches it.
struct Modules<'a> {
    names: Vec<&'a BStr>,
    by_symbol: HashMap<&'a [u8], u32>,
}

impl<'a> Modules<'a> {
    fn new(survey: &'a Survey<'_>) -> Self {
        let mut modules = Self { names: Vec::new(), by_symbol: HashMap::new() };
        for input in survey.inputs.iter().filter(|input| input.fate == Fate::Ir) {
            let number = modules.names.len() as u32;
            modules.names.push(input.name.as_bstr());
            for name in defined_functions(input.bytes).unwrap_or_default() {
                modules.by_symbol.entry(name).or_insert(number);
            }
        }
        modules
    }

    /// The module of a function, or -1 if nothing says it.
    fn of(&self, name: &BStr) -> Json {
        self.by_symbol.get(&**name).map_or(Json::Signed(-1), |number| (*number).into())
    }
}

/// The functions that a host object defines.
fn defined_functions(bytes: &[u8]) -> Option<Vec<&[u8]>> {
    let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, bytes).ok()?;
    let symbols = sections.symbols(endian, bytes, SHT_SYMTAB).ok()?;
    let is_function =
        |symbol: &&Sym64<Endianness>| symbol.st_type() == STT_FUNC && !symbol.is_undefined(endian);
    let functions = symbols.iter().filter(is_function);
    Some(functions.filter_map(|symbol| symbols.symbol_name(endian, symbol).ok()).collect())
}

fn is_kernel(symbol: &raw::Symbol) -> bool {
    symbol.other & raw::STO_ENTRY != 0
}

/// The barriers of each section of code.
fn barriers(cubin: &Cubin<'_>) -> HashMap<u32, u32> {
    let mut found = HashMap::new();
    for section in cubin.sections.iter().filter(|section| section.sh_type() == raw::SHT_CUDA_INFO) {
        for record in info::records(section.data).flatten().filter(|record| record.attr == attr::NUM_BARRIERS)
        {
            found.insert(section.info(), record.payload.first().copied().unwrap_or(0).into());
        }
    }
    found
}

fn content(explain: Explain<'_, '_>, cubin: &Cubin<'_>, size: usize) -> Json {
    let modules = Modules::new(explain.survey);
    let barriers = barriers(cubin);
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
    // Functions that the compiler did not inline are parts of the kernel's own code: their size is in its size, and its
    // registers are theirs.
    let owner = |symbol: &raw::Symbol| {
        let is_owner =
            |(_, other, _): &&(u32, &raw::Symbol, &BStr)| is_kernel(other) && other.shndx == symbol.shndx;
        functions.iter().find(is_owner).filter(|_| !is_kernel(symbol))
    };
    let mut inner = vec![0; functions.len()];
    for (at, (_, symbol, _)) in functions.iter().enumerate() {
        if let Some(kernel) = owner(symbol).and_then(|(index, ..)| number(*index)) {
            inner[kernel] += symbol.size.get();
            calls[kernel].push(at as u64);
        }
    }
    for calls in &mut calls {
        calls.sort_unstable();
        calls.dedup();
    }
    let function = |((index, symbol, name), calls): (&(u32, &raw::Symbol, &BStr), Vec<u64>)| {
        let (at, kernel) = (*index as usize, owner(symbol));
        let own_size = symbol.size.get().saturating_sub(number(*index).map_or(0, |at| inner[at]));
        let registers = registers[kernel.map_or(at, |(index, ..)| *index as usize)];
        let is_kernel = is_kernel(symbol);
        let text = u32::from(symbol.shndx.get());
        let stack = if stacks[at] == UNKNOWN_STACK { Json::Signed(-1) } else { stacks[at].into() };
        Json::Object(vec![
            ("name", Json::Text(shown(name))),
            ("symbol", Json::from(is_kernel.then_some(*name))),
            ("kernel", is_kernel.into()),
            ("size", own_size.into()),
            ("input", modules.of(kernel.map_or(name, |(_, _, name)| name))),
            ("registers", registers.into()),
            ("total", registers.into()),
            ("frame", frames[at].into()),
            ("stack", stack),
            ("barriers", barriers.get(&text).copied().unwrap_or(0).into()),
            ("calls", calls.into_iter().collect()),
            ("indirect", Json::List(Vec::new())),
        ])
    };
    let reserved = reserved_shared(cubin, explain.options.link_target().arch.number);
    let (shared, variables) = shared_memory(cubin, &functions, reserved);
    let output = explain.options.output.as_ref().map_or(String::new(), |path| path.display().to_string());
    Json::Object(vec![
        ("format", report::FORMAT.into()),
        ("errors", Json::List(Vec::new())),
        ("wholeProgram", true.into()),
        ("output", Json::Text(output)),
        ("target", Json::Text(explain.options.link_target().to_string())),
        ("size", (size as u64).into()),
        ("inputs", modules.names.iter().copied().collect()),
        ("functions", functions.iter().zip(calls).map(function).collect()),
        ("removed", Json::Object(vec![("count", 0u32.into()), ("size", 0u32.into())])),
        (
            "sharedLimit",
            shared_limit(explain.options.link_target(), explain.options.enable_extended_smem == Some(true))
                .into(),
        ),
        ("reservedShared", reserved.into()),
        ("shared", shared),
        ("variables", variables),
        ("constants", constants(cubin)),
        ("phases", report::phases(explain.printer)),
    ])
}

/// What the assembler reserves for the system in each section `.nv.shared.K`, from sm_90 on.
fn reserved_shared(cubin: &Cubin<'_>, number: u16) -> u64 {
    const RESERVED: u64 = 1024;
    let mut sizes =
        cubin.sections.iter().filter(|section| is_shared(section)).map(solder_cubin::Section::size);
    if number >= 90 && sizes.all(|size| size >= RESERVED) { RESERVED } else { 0 }
}

fn is_shared(section: &solder_cubin::Section<'_>) -> bool {
    section.info() != 0 && section.name.starts_with(b".nv.shared.")
}

/// The sections `.nv.shared.K`, each as one variable.
fn shared_memory(cubin: &Cubin<'_>, functions: &[(u32, &raw::Symbol, &BStr)], reserved: u64) -> (Json, Json) {
    let (mut rows, mut names) = (Vec::new(), Vec::new());
    for section in &cubin.sections {
        let Some(kernel) = section.name.strip_prefix(b".nv.shared.") else { continue };
        let Some(at) = functions.iter().position(|(_, _, name)| *name == kernel) else { continue };
        let own = section.size().saturating_sub(reserved);
        let part = Json::List(vec![(names.len() as u64).into(), own.into()]);
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
            Json::List(vec![Json::Text(shown(name)), symbol.size.get().into(), Json::Signed(-1)])
        };
        Json::Object(vec![
            ("name", section.name.into()),
            ("size", section.size().into()),
            ("parts", variables.map(part).collect()),
        ])
    };
    cubin.sections.iter().filter(|section| is_bank(section.name)).map(bank).collect()
}
