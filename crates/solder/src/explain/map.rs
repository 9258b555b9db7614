//! `--map`: what went where.

use std::fmt::Write;

use solder_cubin::raw;
use solder_fatbin::{Container, Kind, Member, Request, select};

use super::inputs::member_name;
use super::names::shown;
use super::{Explain, View, in_parts, live, registers};
use crate::ids::{FileId, SectionId, SymbolId};
use crate::layout::Layout;
use crate::load::survey::{Content, Fate, FileState, Input};
use crate::object::Object;
use crate::resources::UNKNOWN_STACK;

/// The whole map.
pub fn text(
    explain: Explain<'_, '_>,
    objects: &[Object<'_>],
    view: View<'_, '_>,
    layout: &Layout<'_>,
) -> String {
    let target = explain.options.link_target();
    let output = explain.options.output.as_ref().map_or(String::new(), |path| path.display().to_string());
    let mut text = format!("Map of {output} for {target}, {} bytes\n", layout.file_size);
    inputs(&mut text, explain);
    kernels(&mut text, view);
    sections(&mut text, objects, view, layout);
    symbols(&mut text, objects, view, layout);
    removed(&mut text, objects, view);
    text
}

fn heading(text: &mut String, title: &str) {
    let _ = write!(text, "\n{title}\n{}\n", "=".repeat(title.len()));
}

fn inputs(text: &mut String, explain: Explain<'_, '_>) {
    heading(text, "Inputs");
    let survey = explain.survey;
    let request = Request { target: explain.options.link_target(), lto: explain.options.lto };
    let line = |input: &Input<'_>| match input.content {
        Content::Archive => String::new(),
        _ => format!("{}: {}\n", input.name, fate(input, request)),
    };
    text.extend(in_parts(&survey.inputs, |inputs| inputs.iter().map(line).collect()));
    for file in &survey.files {
        let state = match file.state {
            FileState::Read => continue,
            FileState::PassedOver => "passed over: empty, or no device input by its name and contents",
            FileState::Repeated => "an archive that was read before",
        };
        let _ = writeln!(text, "{}: {state}", file.path.display());
    }
}

fn fate(input: &Input<'_>, request: Request) -> String {
    match (input.fate, input.content) {
        (fate, Content::Container(bytes)) => container_fate(fate, bytes, request),
        (Fate::Linked, Content::Cubin(_)) => "cubin, linked".into(),
        (Fate::Assembled, _) => "PTX, assembled and linked".into(),
        (Fate::Ir, _) => "LTO IR, compiled".into(),
        (Fate::PassedOver, _) => "an executable, passed over".into(),
        (Fate::Nothing, Content::HostCode) => "host object without relocatable device code".into(),
        (Fate::Refused, _) => "refused".into(),
        _ => "nothing taken".into(),
    }
}

fn container_fate(fate: Fate, bytes: &[u8], request: Request) -> String {
    let Ok(container) = Container::parse(bytes) else { return "damaged".into() };
    let members: Vec<String> = container.members().flatten().map(|member| member_name(&member)).collect();
    let held = members.join(", ");
    let chosen = select(&container, request).ok().and_then(|selection| selection.member);
    match (chosen, fate) {
        (None, _) => format!("nothing of {held} links for {}", request.target),
        (Some(member), Fate::PassedOver) => format!("{} is an executable, passed over", member_name(&member)),
        (Some(member), _) => format!("{} of {held}: {}", member_name(&member), why(&member, request)),
    }
}

/// Why a member was chosen over the others.
fn why(member: &Member<'_>, request: Request) -> &'static str {
    let exact = member.arch().number == request.target.arch.number;
    match (member.kind(), exact) {
        (Kind::LtoIr, _) => "IR comes first with -lto",
        (Kind::Ptx, true) => "PTX of the target, with no machine code for it",
        (Kind::Ptx, false) => "the newest PTX that can be assembled, with no newer machine code that links",
        (_, true) => "machine code of the target",
        (_, false) => "the newest machine code that links",
    }
}

fn kernels(text: &mut String, view: View<'_, '_>) {
    heading(text, "Kernels");
    let _ = writeln!(text, "{:>9} {:>9} {:>9} {:>8}  name", "registers", "stack", "shared", "barriers");
    for (kernel, function) in view.merged.kernels() {
        let at = kernel as usize;
        let stack = match view.resources.stack[at] {
            UNKNOWN_STACK => "unknown".to_string(),
            bytes => bytes.to_string(),
        };
        let shared = view.shared.kernels[at].map_or(0, |shared| shared.size);
        let (registers, barriers) = (view.resources.registers[at], registers::final_barriers(view, function));
        let name = view.merged.symbol(function.symbol).name;
        let _ = writeln!(text, "{registers:>9} {stack:>9} {shared:>9} {barriers:>8}  {name}");
    }
}

/// A section of an input in a section of the output.
struct Piece<'a> {
    out: SectionId,
    offset: u64,
    size: u64,
    file: FileId,
    name: &'a str,
}

fn pieces<'a>(objects: &'a [Object<'_>], view: View<'_, '_>) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    for (file, (map, object)) in view.merged.files.iter().zip(objects).enumerate() {
        for (section, place) in object.cubin.sections.iter().zip(&map.sections) {
            if let Some((out, offset)) = *place {
                let (size, file, name) = (section.size(), FileId::at(file), section.name);
                pieces.push(Piece { out, offset, size, file, name });
            }
        }
    }
    pieces.sort_by_key(|piece| (piece.out, piece.offset));
    pieces
}

fn sections(text: &mut String, objects: &[Object<'_>], view: View<'_, '_>, layout: &Layout<'_>) {
    heading(text, "Sections");
    let _ = writeln!(text, "{:>10} {:>10} {:>6}  name, and what it is made of", "offset", "size", "align");
    let pieces = pieces(objects, view);
    let numbers = &layout.numbers;
    let of = |id: SectionId| {
        let start = pieces.partition_point(|piece| piece.out < id);
        pieces[start..].iter().take_while(move |piece| piece.out == id)
    };
    let part = |ids: &[SectionId]| {
        let mut text = String::new();
        for id in ids {
            let header = &layout.headers[numbers.section(*id) as usize];
            let (offset, size, align) = (header.offset.get(), header.size.get(), header.align.get());
            let name = solder_cubin::string_at(&layout.section_names, header.name.get()).unwrap_or("");
            let _ = writeln!(text, "{offset:#10x} {size:#10x} {align:>6}  {name}");
            for piece in of(*id).filter(|piece| piece.size > 0) {
                let file = &objects[piece.file.index()].name;
                let (offset, size) = (piece.offset, piece.size);
                let source = if piece.name == name { String::new() } else { format!(" {}", piece.name) };
                let _ = writeln!(text, "{:>10} {size:#10x} {:>6}    +{offset:#x} '{file}'{source}", "", "");
            }
        }
        text
    };
    text.extend(in_parts(&numbers.section_order, part));
}

fn symbols(text: &mut String, objects: &[Object<'_>], view: View<'_, '_>, layout: &Layout<'_>) {
    heading(text, "Symbols");
    let _ = writeln!(text, "{:>10} {:>10}  {:6} {:8} name, section, origin", "value", "size", "bind", "kind");
    let part = |ids: &[SymbolId]| {
        let mut text = String::new();
        for id in ids {
            let symbol = view.merged.symbol(*id);
            if symbol.kind != raw::STT_SECTION {
                let (section, value) = match &view.shared.debug {
                    Some(debug) if symbol.shared => debug.place(view.merged, *id),
                    _ => (symbol.section, symbol.value),
                };
                let _ = write!(
                    text,
                    "{value:#10x} {:#10x}  {:6} {:8}",
                    symbol.size,
                    bind(symbol.bind),
                    kind(symbol.kind, symbol.other)
                );
                let section = section.map_or("undefined", |section| view.merged.section_name(section));
                let _ = write!(text, " {} {section}", symbol.name);
                if let Some(origin) = symbol.origin {
                    let _ = write!(text, " '{}'", objects[origin.file.index()].name);
                }
                text.push('\n');
            }
        }
        text
    };
    text.extend(in_parts(&layout.numbers.symbol_order, part));
}

fn bind(bind: u8) -> &'static str {
    match bind {
        raw::STB_LOCAL => "local",
        raw::STB_WEAK => "weak",
        _ => "global",
    }
}

fn kind(kind: u8, other: u8) -> &'static str {
    match kind {
        raw::STT_FUNC if other & raw::STO_ENTRY != 0 => "kernel",
        raw::STT_FUNC => "function",
        raw::STT_TEXTURE => "texture",
        raw::STT_SAMPLER => "sampler",
        raw::STT_SURFACE => "surface",
        _ => "variable",
    }
}

fn removed(text: &mut String, objects: &[Object<'_>], view: View<'_, '_>) {
    let removed = live::removed(view, objects);
    heading(text, "Removed functions");
    if removed.is_empty() {
        text.push_str("none\n");
    }
    for function in removed {
        let kind = if function.kernel { "kernel" } else { "function" };
        let _ =
            writeln!(text, "{:#10x}  {kind:8} {} '{}'", function.size, shown(function.name), function.file);
    }
}
