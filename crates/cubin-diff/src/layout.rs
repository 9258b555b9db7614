//! Where everything lies in the file: offsets, segments, and the bytes between.
//!
//! An offset is compared by the rule it follows (after what precedes it, rounded up to the alignment),
//! so that a section of another size, or a linker's note of another length, is not reported again for
//! every section after it.

use crate::sink::{Kind, Sink};
use crate::view::{Both, View};
use crate::words;
use solder_cubin::Section;
use solder_cubin::raw::{self, ProgramHeader};
use std::collections::BTreeMap;

/// How an offset follows from what precedes it in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    /// So many bytes after where its alignment would put it; normally none.
    Next(i128),
    /// At the same place as this section: the Mercury view of data that both views share.
    With(String),
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Next(0) => write!(f, "right behind what precedes it"),
            Self::Next(gap @ 1..) => write!(f, "{gap:#x} bytes behind where its alignment puts it"),
            Self::Next(gap) => write!(f, "{:#x} bytes before where its alignment puts it", -gap),
            Self::With(section) => write!(f, "where {section} lies"),
        }
    }
}

struct Position<'v> {
    what: &'v str,
    offset: u64,
    rule: Rule,
}

const SECTION_TABLE: &str = "section header table";
const PROGRAM_TABLE: &str = "program header table";

pub fn compare(sink: &mut Sink, both: &Both) {
    let (in_a, in_b) = (positions(both.a), positions(both.b));
    let moved = offsets(sink, both, &in_a, &in_b);
    segments(sink, both, !moved);
    padding(sink, both);
}

fn round_up(value: i128, align: u64) -> i128 {
    let align = i128::from(align.max(1));
    (value + align - 1) / align * align
}

/// The offset of every section in index order, of both tables, and the end of the file.
fn positions<'v>(view: &'v View) -> Vec<Position<'v>> {
    let header = view.cubin.header;
    let mut found: Vec<Position<'v>> = Vec::new();
    let mut starts: BTreeMap<u64, u32> = BTreeMap::new();
    let mut cursor = raw::HEADER_SIZE;
    let null = view.cubin.sections.first().map(|s| Position {
        what: "null",
        offset: s.header.offset.get(),
        rule: Rule::Next(i128::from(s.header.offset.get())),
    });
    found.extend(null);
    for section in view.cubin.sections.iter().skip(1) {
        let offset = section.header.offset.get();
        let gap = i128::from(offset) - round_up(cursor.into(), section.align());
        let rule = match starts.get(&offset) {
            Some(&other) if gap < 0 => Rule::With(view.label(other)),
            _ => Rule::Next(gap),
        };
        if let Rule::Next(_) = rule {
            cursor = offset.saturating_add(section.data.len() as u64);
            // Of several that begin here, all but one are empty.
            if !section.data.is_empty() || !starts.contains_key(&offset) {
                starts.insert(offset, section.index);
            }
        }
        found.push(Position { what: &view.labels()[section.index as usize], offset, rule });
    }
    let mut place = |what: &'static str, offset: u64, size: u64| {
        let rule = Rule::Next(i128::from(offset) - round_up(cursor.into(), 8));
        cursor = cursor.max(offset.saturating_add(size));
        found.push(Position { what, offset, rule });
    };
    place(SECTION_TABLE, header.shoff.get(), view.cubin.sections.len() as u64 * raw::SECTION_HEADER_SIZE);
    if header.phnum.get() != 0 {
        place(PROGRAM_TABLE, header.phoff.get(), u64::from(header.phnum.get()) * raw::PROGRAM_HEADER_SIZE);
    }
    place("end of the file", view.cubin.bytes.len() as u64, 0);
    if header.phnum.get() == 0 {
        // Without segments the field is not an offset of anything; it is compared as it is.
        let phoff = header.phoff.get();
        found.push(Position { what: PROGRAM_TABLE, offset: phoff, rule: Rule::Next(i128::from(phoff)) });
    }
    found
}

/// Whether anything lies elsewhere; says so unless the sizes (reported already) or the ignored notes
/// explain it.
fn offsets(sink: &mut Sink, both: &Both, a: &[Position], b: &[Position]) -> bool {
    let by_name: BTreeMap<&str, &Position> = b.iter().map(|p| (p.what, p)).collect();
    let pairs: Vec<_> = a.iter().filter_map(|x| Some((x, *by_name.get(x.what)?))).collect();
    for (x, y) in pairs.iter().filter(|(x, y)| x.rule != y.rule) {
        let text = format!("{} at {:#x} vs {:#x}: {} vs {}", x.what, x.offset, y.offset, x.rule, y.rule);
        sink.push(Kind::Layout, x.what, text);
    }
    let moved: Vec<_> = pairs.iter().filter(|(x, y)| x.offset != y.offset).collect();
    let Some((x, y)) = moved.first() else { return false };
    if !both.notes.shift() {
        let text = format!(
            "file offsets differ from {} on: {:#x} vs {:#x} ({} of {} positions)",
            x.what,
            x.offset,
            y.offset,
            moved.len(),
            pairs.len()
        );
        sink.push(Kind::Layout, "", text);
    }
    true
}

/// The program headers. Their ranges are compared by number if nothing moved, and otherwise by what
/// begins or ends where they do.
fn segments(sink: &mut Sink, both: &Both, exact: bool) {
    let (in_a, in_b) = match (both.a.cubin.program_headers(), both.b.cubin.program_headers()) {
        (Ok(a), Ok(b)) => (a, b),
        (a, b) => {
            for (side, error) in [("A", a.err()), ("B", b.err())] {
                if let Some(error) = error {
                    sink.push(Kind::Unreadable, "", format!("{side}: {error}"));
                }
            }
            return;
        }
    };
    for i in 0..in_a.len().max(in_b.len()) {
        let text = match (in_a.get(i), in_b.get(i)) {
            (Some(x), Some(y)) => {
                let changed = segment(both, x, y, exact);
                if changed.is_empty() {
                    continue;
                }
                changed.join(", ")
            }
            (Some(x), None) => format!("only in A: {}", describe(both.a, x)),
            (None, Some(y)) => format!("only in B: {}", describe(both.b, y)),
            (None, None) => continue,
        };
        sink.push(Kind::Segment, "segments", format!("segment {i}: {text}"));
    }
}

fn describe(view: &View, segment: &ProgramHeader) -> String {
    let start = segment.offset.get();
    let end = start.saturating_add(segment.filesz.get());
    let name = |offset| landmarks(view, offset).into_iter().next().unwrap_or_else(|| format!("{offset:#x}"));
    format!(
        "{} {} from {} to {}, {:#x} bytes in memory",
        words::segment_type(segment.p_type.get()),
        words::segment_flags(segment.flags.get()),
        name(start),
        name(end),
        segment.memsz.get()
    )
}

/// What begins or ends at an offset.
fn landmarks(view: &View, offset: u64) -> Vec<String> {
    let header = view.cubin.header;
    let mut found = Vec::new();
    let mut region = |name: &str, start: u64, size: u64| {
        if start == offset {
            found.push(format!("the start of {name}"));
        }
        if start.saturating_add(size) == offset {
            found.push(format!("the end of {name}"));
        }
    };
    for section in view.cubin.sections.iter().skip(1) {
        region(
            &view.labels()[section.index as usize],
            section.header.offset.get(),
            section.data.len() as u64,
        );
    }
    let tables = view.cubin.sections.len() as u64 * raw::SECTION_HEADER_SIZE;
    region(&format!("the {SECTION_TABLE}"), header.shoff.get(), tables);
    let segments = u64::from(header.phnum.get()) * raw::PROGRAM_HEADER_SIZE;
    region(&format!("the {PROGRAM_TABLE}"), header.phoff.get(), segments);
    found
}

fn segment(both: &Both, x: &ProgramHeader, y: &ProgramHeader, exact: bool) -> Vec<String> {
    let mut changed = Vec::new();
    let mut field = |name: &str, a: String, b: String| {
        if a != b {
            changed.push(format!("{name} {a} vs {b}"));
        }
    };
    field("type", words::segment_type(x.p_type.get()), words::segment_type(y.p_type.get()));
    field("flags", words::segment_flags(x.flags.get()), words::segment_flags(y.flags.get()));
    for (name, a, b) in [
        ("virtual address", x.vaddr, y.vaddr),
        ("physical address", x.paddr, y.paddr),
        ("alignment", x.align, y.align),
    ] {
        field(name, format!("{a:#x}"), format!("{b:#x}"));
    }
    let (end_a, end_b) =
        (x.offset.get().wrapping_add(x.filesz.get()), y.offset.get().wrapping_add(y.filesz.get()));
    for (name, a, b) in [("begins at", x.offset.get(), y.offset.get()), ("ends at", end_a, end_b)] {
        if exact && a == b {
            continue;
        }
        let (at_a, at_b) = (landmarks(both.a, a), landmarks(both.b, b));
        let same = !exact && (at_a.iter().any(|mark| at_b.contains(mark)) || (a == b && at_a == at_b));
        if !same {
            let shown = |offset: u64, at: Vec<String>| match at.into_iter().next() {
                Some(mark) => format!("{offset:#x} ({mark})"),
                None => format!("{offset:#x}"),
            };
            field(name, shown(a, at_a), shown(b, at_b));
        }
    }
    let (memory_a, memory_b) = (x.memsz.get(), y.memsz.get());
    if exact || memory_excess(both.a, x) != memory_excess(both.b, y) {
        field("size in memory", format!("{memory_a:#x}"), format!("{memory_b:#x}"));
    }
    changed
}

/// How much more memory a segment takes than its bytes and the sections without bytes after them, laid
/// out one after the other.
fn memory_excess(view: &View, segment: &ProgramHeader) -> i128 {
    let (start, size) = (segment.offset.get(), segment.filesz.get());
    let mut end = 0;
    if segment.flags.get() & raw::PF_W != 0 {
        let within = start..=start.saturating_add(size);
        let empty = view.cubin.sections.iter().filter(|s| s.sh_type() == raw::SHT_NOBITS);
        for section in empty.filter(|s| within.contains(&s.header.offset.get())) {
            end = round_up(end, section.align()) + i128::from(section.size());
        }
    }
    i128::from(segment.memsz.get()) - i128::from(size) - end
}

/// Bytes that belong to nothing, by what they follow.
///
/// They are zero in what the tools write, but for one case: nvlink gives `.nv.merc.nv.shared.reserved.0`
/// (sm_110) room in the file and writes nothing to it. What is left there moves with the length of its
/// own note, so it is left out together with that note.
fn padding(sink: &mut Sink, both: &Both) {
    let (in_a, in_b) = (gaps(both.a, both.ignore_tkinfo), gaps(both.b, both.ignore_tkinfo));
    let places: std::collections::BTreeSet<&str> = in_a.keys().chain(in_b.keys()).copied().collect();
    for place in places {
        let (a, b) = (in_a.get(place), in_b.get(place));
        let bytes = |gap: Option<&(u64, &[u8])>| gap.map_or(0, |gap| gap.1.len());
        for i in 0..bytes(a).max(bytes(b)) {
            let byte = |gap: Option<&(u64, &[u8])>| gap.and_then(|gap| gap.1.get(i).copied()).unwrap_or(0);
            if byte(a) != byte(b) {
                let at = a.or(b).map_or(0, |gap| gap.0) + i as u64;
                let text = format!(
                    "padding byte at {at:#x}, {i:#x} behind {place}: {:02x} vs {:02x}",
                    byte(a),
                    byte(b)
                );
                sink.push(Kind::Padding, place, text);
            }
        }
    }
}

/// The gaps of a file: what precedes each, its offset and its bytes.
fn gaps<'v, 'data>(view: &'v View<'data>, ignore_reserved: bool) -> BTreeMap<&'v str, (u64, &'data [u8])> {
    let header = view.cubin.header;
    let mut regions: Vec<(u64, u64, &str)> = vec![(0, raw::HEADER_SIZE, "the ELF header")];
    for section in view.cubin.sections.iter().filter(|s| !s.data.is_empty()) {
        regions.push((
            section.header.offset.get(),
            section.data.len() as u64,
            &view.labels()[section.index as usize],
        ));
    }
    let reserved = |s: &&Section| ignore_reserved && s.sh_type() == raw::SHT_CUDA_SHARED_RESERVED;
    for section in view.cubin.sections.iter().filter(reserved) {
        regions.push((section.header.offset.get(), section.size(), &view.labels()[section.index as usize]));
    }
    let sections = view.cubin.sections.len() as u64 * raw::SECTION_HEADER_SIZE;
    regions.push((header.shoff.get(), sections, SECTION_TABLE));
    if let Ok(segments @ [_, ..]) = view.cubin.program_headers() {
        let size = size_of_val(segments) as u64;
        regions.push((header.phoff.get(), size, PROGRAM_TABLE));
    }
    regions.sort_unstable();
    let mut found = BTreeMap::new();
    let (mut end, mut last) = (0, "");
    let file_end = (view.cubin.bytes.len() as u64, 0, "");
    for (start, size, name) in regions.into_iter().chain([file_end]) {
        if let Some(gap) = view.cubin.bytes.get(end as usize..start as usize)
            && !gap.is_empty()
        {
            found.insert(last, (end, gap));
        }
        if start.saturating_add(size) > end {
            (end, last) = (start.saturating_add(size), name);
        }
    }
    found
}
