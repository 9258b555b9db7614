//! Compares two links of one object function by function, and says where their code first differs.

use super::build::Linked;
use crate::Result;
use bstr::BStr;
use solder_cubin::Cubin;
use solder_cubin::raw::{STO_ENTRY, STT_FUNC};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What one pair of links came to.
#[derive(Debug, Default)]
pub struct Comparison {
    pub outcome: Outcome,
    pub functions: Vec<Function>,
    /// Kinds of sections that differ, with how many of each.
    pub sections: BTreeMap<String, usize>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    #[default]
    Exact,
    Differs,
    /// solder fails where nvlink does not: its first message.
    Refused(String),
    /// nvlink fails or the endings differ otherwise.
    Other(String),
}

#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    pub is_kernel: bool,
    pub difference: Option<Difference>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Only nvlink's output has it, or only solder's.
    Missing(&'static str),
    Length {
        nvlink: usize,
        solder: usize,
    },
    Code(Place),
}

/// The first instruction that differs, and how much else does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub offset: usize,
    pub opcode: u16,
    pub fields: Vec<&'static str>,
    /// No branch comes before it.
    pub in_first_block: bool,
    pub origin: Origin,
    pub differing: usize,
    pub instructions: usize,
    pub nvlink: [u64; 2],
    pub solder: [u64; 2],
}

/// Whose code is that of the object, in the bits that differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    NvlinkKept,
    SolderKept,
    Neither,
    /// The object has other code at this place: nvlink moved it, or it is of a library.
    Unknown,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NvlinkKept => "nvlink kept the input, solder changed it",
            Self::SolderKept => "nvlink changed the input, solder kept it",
            Self::Neither => "both changed the input",
            Self::Unknown => "other code in the input there",
        })
    }
}

impl Difference {
    /// What is taken for the same reason in the summary.
    pub fn reason(&self) -> String {
        match self {
            Self::Missing(side) => format!("only {side} has it"),
            Self::Length { .. } => "other length".into(),
            Self::Code(place) => {
                let block = if place.in_first_block { "first block" } else { "later" };
                format!("{}; {block}; {}", place.fields.join(" + "), place.origin)
            }
        }
    }
}

/// Parts of the control word, by their bits in the upper half of an instruction.
const FIELDS: &[(&str, u32, u32)] = &[
    ("stall", 41, 4),
    ("yield", 45, 1),
    ("write scoreboard", 46, 3),
    ("read scoreboard", 49, 3),
    ("wait mask", 52, 6),
    ("reuse", 58, 4),
];

const INSTRUCTION: usize = 16;

/// Of the lower half.
const OPCODE: u64 = 0xfff;

pub fn compare(object: &[u8], nvlink: &Linked, solder: &Linked) -> Result<Comparison> {
    if !nvlink.succeeded() || !solder.succeeded() {
        return Ok(Comparison { outcome: failure(nvlink, solder), ..Comparison::default() });
    }
    let read = |bytes| Cubin::parse(bytes).map_err(|e| e.to_string());
    let (input, theirs, ours) = (read(object)?, read(&nvlink.file)?, read(&solder.file)?);
    let functions = functions(&input, &theirs, &ours);
    let options = cubin_diff::Options { ignore_tkinfo: true };
    let differences = cubin_diff::diff(&nvlink.file, &solder.file, &options);
    let names: BTreeSet<&str> = functions.iter().map(|function| function.name.as_str()).collect();
    let places: BTreeSet<_> = differences.iter().map(|d| (d.place.as_str(), d.kind.as_str())).collect();
    let mut sections = BTreeMap::new();
    for (place, kind) in places {
        *sections.entry(section_kind(place, kind, &names)).or_default() += 1;
    }
    for (stream, a, b) in
        [("stdout", &nvlink.stdout, &solder.stdout), ("stderr", &nvlink.stderr, &solder.stderr)]
    {
        if a != b {
            sections.insert(format!("({stream})"), 1);
        }
    }
    let outcome = if sections.is_empty() { Outcome::Exact } else { Outcome::Differs };
    Ok(Comparison { outcome, functions, sections })
}

fn failure(nvlink: &Linked, solder: &Linked) -> Outcome {
    let message = |linked: &Linked| {
        let text = linked.stderr.lines().chain(linked.stdout.lines()).find(|line| !line.contains("warning"));
        format!("{}: {}", linked.ending, text.unwrap_or("no message"))
    };
    if nvlink.succeeded() {
        return Outcome::Refused(message(solder));
    }
    if nvlink == solder {
        return Outcome::Exact;
    }
    Outcome::Other(format!("nvlink {}; solder {}", message(nvlink), message(solder)))
}

/// A section's name with a star for the function that it belongs to.
fn section_kind(place: &str, kind: &str, functions: &BTreeSet<&str>) -> String {
    let own = |(dot, _): &(usize, &str)| functions.contains(&place[dot + 1..]);
    let kind_of_section = match place.match_indices('.').find(own) {
        Some((dot, _)) => format!("{}.*", &place[..dot]),
        None if place.is_empty() => "(file)".into(),
        None => place.into(),
    };
    format!("{kind_of_section}: {kind}")
}

fn functions(input: &Cubin<'_>, nvlink: &Cubin<'_>, solder: &Cubin<'_>) -> Vec<Function> {
    let (before, theirs, ours) = (code(input), code(nvlink), code(solder));
    let kernels: BTreeSet<&BStr> = kernels(nvlink).chain(kernels(solder)).collect();
    let names: BTreeSet<&BStr> = theirs.keys().chain(ours.keys()).copied().collect();
    let difference = |name: &BStr| match (theirs.get(name), ours.get(name)) {
        (Some(a), Some(b)) => code_difference(before.get(name).copied(), a, b),
        (Some(_), None) => Some(Difference::Missing("nvlink")),
        _ => Some(Difference::Missing("solder")),
    };
    let function = |name: &&BStr| Function {
        name: (*name).to_string(),
        is_kernel: kernels.contains(name),
        difference: difference(name),
    };
    names.iter().map(function).collect()
}

fn code<'data>(cubin: &Cubin<'data>) -> BTreeMap<&'data BStr, &'data [u8]> {
    let text = |section: &solder_cubin::Section<'data>| {
        Some((BStr::new(section.name.strip_prefix(b".text.")?), section.data))
    };
    cubin.sections.iter().filter_map(text).collect()
}

fn kernels<'data>(cubin: &Cubin<'data>) -> impl Iterator<Item = &'data BStr> {
    let symbols = (0..).zip(cubin.symbols);
    symbols
        .filter(|(_, symbol)| symbol.kind() == STT_FUNC && symbol.other & STO_ENTRY != 0)
        .filter_map(|(index, _)| cubin.symbol_name(index).ok())
}

fn words(code: &[u8], offset: usize) -> Option<[u64; 2]> {
    let (halves, _) = code.get(offset..offset + INSTRUCTION)?.as_chunks::<8>();
    Some([u64::from_le_bytes(halves[0]), u64::from_le_bytes(halves[1])])
}

fn code_difference(input: Option<&[u8]>, nvlink: &[u8], solder: &[u8]) -> Option<Difference> {
    if nvlink == solder {
        return None;
    }
    if nvlink.len() != solder.len() {
        return Some(Difference::Length { nvlink: nvlink.len(), solder: solder.len() });
    }
    let pairs = nvlink.chunks(INSTRUCTION).zip(solder.chunks(INSTRUCTION)).enumerate();
    let unequal: Vec<usize> =
        pairs.filter(|(_, (a, b))| a != b).map(|(index, _)| index * INSTRUCTION).collect();
    let offset = *unequal.first()?;
    let (theirs, ours) = (words(nvlink, offset)?, words(solder, offset)?);
    let before =
        input.and_then(|input| words(input, offset)).filter(|before| (before[0] ^ theirs[0]) & OPCODE == 0);
    let blocks_before = nvlink[..offset].chunks(INSTRUCTION).filter_map(|chunk| words(chunk, 0));
    Some(Difference::Code(Place {
        offset,
        opcode: (theirs[0] & OPCODE) as u16,
        fields: fields(theirs, ours),
        in_first_block: !blocks_before.into_iter().any(ends_block),
        origin: origin(before, theirs, ours),
        differing: unequal.len(),
        instructions: nvlink.len() / INSTRUCTION,
        nvlink: theirs,
        solder: ours,
    }))
}

fn fields(a: [u64; 2], b: [u64; 2]) -> Vec<&'static str> {
    let (low, mut high) = (a[0] ^ b[0], a[1] ^ b[1]);
    let mut found = Vec::new();
    for (name, shift, width) in FIELDS {
        let mask = ((1 << width) - 1) << shift;
        if high & mask != 0 {
            found.push(*name);
        }
        high &= !mask;
    }
    if low & OPCODE != 0 {
        found.insert(0, "opcode");
    } else if low != 0 || high != 0 {
        found.insert(0, "operands");
    }
    found
}

fn origin(input: Option<[u64; 2]>, nvlink: [u64; 2], solder: [u64; 2]) -> Origin {
    let Some(input) = input else { return Origin::Unknown };
    let kept = |output: [u64; 2]| {
        (0..2).all(|half| (input[half] ^ output[half]) & (nvlink[half] ^ solder[half]) == 0)
    };
    match (kept(nvlink), kept(solder)) {
        (true, _) => Origin::NvlinkKept,
        (_, true) => Origin::SolderKept,
        _ => Origin::Neither,
    }
}

/// Whether control may go elsewhere after this instruction. The upper bits of an opcode say what its operands are.
fn ends_block([low, _]: [u64; 2]) -> bool {
    const BSYNC: u64 = 0x141;
    const BREAK: u64 = 0x142;
    const CALL: [u64; 2] = [0x143, 0x144];
    const BRANCH: [u64; 4] = [0x147, 0x149, 0x158, 0x159];
    const JUMP: [u64; 2] = [0x14a, 0x14c];
    const EXIT: u64 = 0x14d;
    const RET: u64 = 0x150;
    let opcode = low & 0x1ff;
    [BSYNC, BREAK, EXIT, RET].contains(&opcode)
        || CALL.contains(&opcode)
        || BRANCH.contains(&opcode)
        || JUMP.contains(&opcode)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(instructions: &[[u64; 2]]) -> Vec<u8> {
        instructions.iter().flatten().flat_map(|half| half.to_le_bytes()).collect()
    }

    #[test]
    fn the_first_difference_is_found_and_named() {
        let input = code(&[[0x7b82, 0], [0x947, 0], [0x221, 1 << 52]]);
        let nvlink = code(&[[0x7b82, 0], [0x947, 0], [0x221, 3 << 52]]);
        let Some(Difference::Code(place)) = code_difference(Some(&input), &nvlink, &input) else { panic!() };
        assert_eq!((place.offset, place.opcode, place.differing), (32, 0x221, 1));
        assert_eq!(place.fields, ["wait mask"]);
        assert_eq!((place.in_first_block, place.origin), (false, Origin::SolderKept));
        assert_eq!(code_difference(None, &input, &input), None);
    }

    #[test]
    fn fields_of_a_control_word() {
        assert_eq!(fields([0x221, 0], [0x220, 1 << 46]), ["opcode", "write scoreboard"]);
        assert_eq!(fields([0x1221, 0], [0x221, 0]), ["operands"]);
        assert_eq!(fields([0, 15 << 41], [0, 1 << 45 | 1 << 61]), ["stall", "yield", "reuse"]);
        assert_eq!(fields([0, 1 << 62], [0, 0]), ["operands"]);
    }

    #[test]
    fn names_of_functions_become_stars() {
        let functions = BTreeSet::from(["f", "g.cold"]);
        assert_eq!(section_kind(".nv.info.f", "nv.info", &functions), ".nv.info.*: nv.info");
        assert_eq!(section_kind(".text.g.cold", "contents", &functions), ".text.*: contents");
        assert_eq!(section_kind(".symtab", "symbols", &functions), ".symtab: symbols");
    }
}
