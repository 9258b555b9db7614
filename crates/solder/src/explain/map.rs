//! `--map`: what went where.

use bstr::{BStr, ByteSlice};
use std::fmt::Write;

use solder_cubin::raw;
use solder_fatbin::{Container, Kind, Member, Request, select};

use super::context::{Explain, in_parts};
use super::inputs::member_name;
use super::names::shown;
use super::{live, registers};
use crate::load::survey::{Content, Fate, FileState, Input};
use crate::options::Options;
use solder_link::layout::Layout;
use solder_link::model::ids::{FileId, SectionId, SymbolId};
use solder_link::model::object::Object;
use solder_link::pool::Pool;
use solder_link::resources::UNKNOWN_STACK;
use solder_link::view::View;

/// The whole map.
pub fn text(
    explain: Explain<'_, '_>,
    objects: &[Object<'_>],
    view: View<'_, '_>,
    layout: &Layout<'_, '_>,
) -> String {
    let mut text = head(explain, layout.file_size);
    kernels(&mut text, view);
    sections(&mut text, objects, view, layout, explain.pool);
    symbols(&mut text, objects, view, layout, explain.pool);
    removed(&mut text, objects, view);
    text
}

/// What every map begins with: the output and the inputs.
pub fn head(explain: Explain<'_, '_>, size: u64) -> String {
    let target = explain.options.link_target();
    let output = explain.options.output.as_ref().map_or(String::new(), |path| path.display().to_string());
    let mut text = format!("Map of {output} for {target}, {size} bytes\n");
    inputs(&mut text, explain);
    text
}

/// What is known of a link that failed: the errors, the inputs, and what a view has.
pub fn of_failure(
    explain: Explain<'_, '_>,
    objects: &[Object<'_>],
    view: Option<View<'_, '_>>,
    errors: &[String],
) -> String {
    let mut text = failure_head(explain.options, errors);
    inputs(&mut text, explain);
    if let Some(view) = view {
        kernels(&mut text, view);
        removed(&mut text, objects, view);
    }
    text
}

/// What a map of a link that failed begins with.
pub fn failure_head(options: &Options, errors: &[String]) -> String {
    let output = options.output.as_ref().map_or(String::new(), |path| path.display().to_string());
    let mut text =
        format!("Map of {output} for {}: the link failed and wrote nothing\n", options.link_target());
    heading(&mut text, "Errors");
    for error in errors {
        let _ = writeln!(text, "{error}");
    }
    text
}

pub fn heading(text: &mut String, title: &str) {
    let _ = write!(text, "\n{title}\n{}\n", "=".repeat(title.len()));
}

fn inputs(text: &mut String, explain: Explain<'_, '_>) {
    heading(text, "Inputs");
    let survey = explain.survey;
    let request = explain.options.load_settings().request();
    let line = |input: &Input<'_>| match input.content {
        Content::Archive => String::new(),
        _ => format!("{}: {}\n", input.name, fate(input, request)),
    };
    append(text, &in_parts(explain.pool, &survey.inputs, |inputs| inputs.iter().map(line).collect()));
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
    let reserved = view.shared.reserved;
    if reserved > 0 && view.shared.kernels.iter().any(Option::is_some) {
        let _ = writeln!(
            text,
            "(shared memory includes {reserved} bytes that the system reserves in each kernel that has any)"
        );
    }
}

/// A section of an input in a section of the output.
#[derive(Clone, Copy)]
struct Piece<'a> {
    offset: u64,
    size: u64,
    file: FileId,
    name: &'a BStr,
}

/// The pieces of every output section, in one list that is sorted by counting.
struct Pieces<'a> {
    starts: Vec<usize>,
    list: Vec<Piece<'a>>,
}

impl<'a> Pieces<'a> {
    fn new(objects: &'a [Object<'_>], view: View<'_, '_>) -> Self {
        let placed = || {
            let files = view.merged.files.iter().zip(objects).enumerate();
            files.flat_map(|(file, (map, object))| {
                let sections = object.cubin.sections.iter().zip(&map.sections);
                sections.filter(|(section, _)| section.size() > 0).filter_map(move |(section, place)| {
                    let (out, offset) = (*place)?;
                    let (size, file, name) = (section.size(), FileId::at(file), section.name);
                    Some((out, Piece { offset, size, file, name }))
                })
            })
        };
        let mut starts = vec![0; view.merged.sections.len() + 1];
        placed().for_each(|(out, _)| starts[out.index() + 1] += 1);
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut list = vec![
            Piece { offset: 0, size: 0, file: FileId::at(0), name: BStr::new("") };
            starts[starts.len() - 1]
        ];
        for (out, piece) in placed() {
            list[next[out.index()]] = piece;
            next[out.index()] += 1;
        }
        Self { starts, list }
    }

    fn of(&self, id: SectionId) -> &[Piece<'a>] {
        &self.list[self.starts[id.index()]..self.starts[id.index() + 1]]
    }
}

fn append(text: &mut String, parts: &[String]) {
    text.reserve(parts.iter().map(String::len).sum());
    for part in parts {
        text.push_str(part);
    }
}

/// Appends `0x…`, right-aligned: the formatting machinery takes several times as long, and these are most of a map.
fn hex(text: &mut String, value: u64, width: usize) {
    let digits = (64 - value.leading_zeros() as usize).div_ceil(4).max(1);
    text.extend(std::iter::repeat_n(' ', width.saturating_sub(digits + 2)));
    text.push_str("0x");
    for at in (0..digits).rev() {
        text.push(char::from(b"0123456789abcdef"[(value >> (4 * at) & 15) as usize]));
    }
}

fn quoted(text: &mut String, name: &BStr) {
    for part in [" '", &name.to_str_lossy(), "'"] {
        text.push_str(part);
    }
}

fn sections(
    text: &mut String,
    objects: &[Object<'_>],
    view: View<'_, '_>,
    layout: &Layout<'_, '_>,
    pool: &Pool,
) {
    heading(text, "Sections");
    let _ = writeln!(text, "{:>10} {:>10} {:>6}  name, and what it is made of", "offset", "size", "align");
    let pieces = Pieces::new(objects, view);
    let numbers = &layout.numbers;
    let part = |ids: &[SectionId]| {
        let mut text = String::with_capacity(128 * ids.len());
        for id in ids {
            let header = layout.section_header(numbers.section(*id) as usize);
            let name = solder_cubin::string_at(layout.section_names(), header.name.get()).unwrap_or_default();
            let (offset, size) = (header.offset.get(), header.size.get());
            hex(&mut text, offset, 10);
            hex(&mut text, size, 11);
            let _ = write!(text, " {:>6}  ", header.align.get());
            text.push_str(&name.to_str_lossy());
            let pieces = pieces.of(*id);
            // What one object gave whole needs no second line.
            if let [only] = pieces
                && only.size == size
                && only.name == name
            {
                quoted(&mut text, objects[only.file.index()].name.as_bstr());
                text.push('\n');
                continue;
            }
            text.push('\n');
            for piece in pieces {
                text.extend(std::iter::repeat_n(' ', 10));
                hex(&mut text, piece.size, 11);
                text.push_str("           +");
                hex(&mut text, piece.offset, 0);
                quoted(&mut text, objects[piece.file.index()].name.as_bstr());
                if piece.name != name {
                    text.push(' ');
                    text.push_str(&piece.name.to_str_lossy());
                }
                text.push('\n');
            }
        }
        text
    };
    append(text, &in_parts(pool, &numbers.section_order, part));
}

fn symbols(
    text: &mut String,
    objects: &[Object<'_>],
    view: View<'_, '_>,
    layout: &Layout<'_, '_>,
    pool: &Pool,
) {
    heading(text, "Symbols");
    let _ = writeln!(text, "{:>10} {:>10} bind   kind     name, section of data, origin", "value", "size");
    let part = |ids: &[SymbolId]| {
        let mut text = String::with_capacity(96 * ids.len());
        for id in ids {
            let symbol = view.merged.symbol(*id);
            if symbol.kind == raw::STT_SECTION {
                continue;
            }
            let (section, value) = match &view.shared.debug {
                Some(debug) if symbol.shared => debug.place(view.merged, *id),
                _ => (symbol.section, symbol.value),
            };
            hex(&mut text, value, 10);
            hex(&mut text, symbol.size, 11);
            text.push_str(bind(symbol.bind));
            text.push_str(kind(symbol.kind, symbol.other));
            text.push_str(&symbol.name.to_str_lossy());
            if !symbol.is_function() || section.is_none() {
                text.push(' ');
                let name = section.map(|section| view.merged.section_name(section).to_str_lossy());
                text.push_str(name.as_deref().unwrap_or("undefined"));
            }
            if let Some(origin) = symbol.origin {
                quoted(&mut text, objects[origin.file.index()].name.as_bstr());
            }
            text.push('\n');
        }
        text
    };
    append(text, &in_parts(pool, &layout.numbers.symbol_order, part));
}

/// With the blanks of its column.
fn bind(bind: u8) -> &'static str {
    match bind {
        raw::STB_LOCAL => " local  ",
        raw::STB_WEAK => " weak   ",
        _ => " global ",
    }
}

/// With the blanks of its column.
pub fn kind(kind: u8, other: u8) -> &'static str {
    match kind {
        raw::STT_FUNC if other & raw::STO_ENTRY != 0 => "kernel   ",
        raw::STT_FUNC => "function ",
        raw::STT_TEXTURE => "texture  ",
        raw::STT_SAMPLER => "sampler  ",
        raw::STT_SURFACE => "surface  ",
        _ => "variable ",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_numbers() {
        for value in [0, 1, 15, 16, 0x1234, u64::MAX] {
            let mut text = String::new();
            hex(&mut text, value, 10);
            assert_eq!(text, format!("{value:#10x}"));
        }
    }
}
