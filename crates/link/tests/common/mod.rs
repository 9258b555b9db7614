//! What the tests of the library share: inputs, and images as text.
#![allow(dead_code, reason = "each test uses a part of it")]

use solder_cubin::Cubin;
use solder_cubin::note::{self, ToolInfo};
use solder_link::{Release, Target};
use std::fmt::Write;
use std::path::Path;

pub const NOTE: &str = ".note.nv.tkinfo";

/// A cubin of `golden/inputs`.
pub fn input(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/inputs/{name}.cubin"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A target of CUDA 13.0.
pub fn target(name: &str) -> Target {
    Release::CUDA_13_0.target(name).expect("a name of CUDA 13.0")
}

/// One of many objects: `unit.ptx` with another number in all its names.
pub fn unit(number: usize) -> Vec<u8> {
    let mut bytes = input("unit.sm_90");
    let digits = format!("_{number:04}");
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(5).position(|part| part == b"_0000") {
        at += found;
        bytes[at..at + 5].copy_from_slice(digits.as_bytes());
        at += 5;
    }
    bytes
}

/// FNV-1a, of 64 bits.
pub fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// The image without the linker's own entry in the note: its tool, version and build.
pub fn without_own_entry(image: &[u8]) -> Vec<u8> {
    let mut bytes = image.to_vec();
    let cubin = Cubin::parse(image).expect("an image that can be read");
    let Some(section) = cubin.sections.iter().find(|section| shown(section.name) == NOTE) else {
        return bytes;
    };
    let Some(first) = note::notes(section.data).next() else { return bytes };
    let start = first.desc.as_ptr() as usize - image.as_ptr() as usize;
    bytes[start..start + first.desc.len()].fill(0);
    bytes
}

/// A name as text.
pub fn shown(name: impl AsRef<[u8]>) -> String {
    String::from_utf8_lossy(name.as_ref()).into_owned()
}

/// An image as text: what it is, its sections with the hashes of their contents, its symbols, and the hash of all of it.
pub fn dump(image: &[u8]) -> String {
    let bytes = without_own_entry(image);
    let cubin = Cubin::parse(&bytes).expect("an image that can be read");
    let header = cubin.header;
    let mut text = String::new();
    let (kind, flags) = (header.e_type.get(), header.flags.get());
    let _ = writeln!(
        text,
        "image of {} bytes, type {kind:#x}, flags {flags:#x}, hash {:016x}",
        bytes.len(),
        hash(&bytes)
    );
    let own = Cubin::parse(image).expect("an image that can be read");
    let note = own.sections.iter().find(|section| shown(section.name) == NOTE).map(|section| section.data);
    let entry = note.and_then(|note| note::notes(note).next()).and_then(|note| ToolInfo::parse(note.desc));
    if let Some(ToolInfo { object, command_line, .. }) = entry {
        let _ = writeln!(text, "made as '{}' by '{}'", shown(object), shown(command_line));
    }
    for segment in cubin.program_headers().expect("segments") {
        let (offset, file, memory) = (segment.offset.get(), segment.filesz.get(), segment.memsz.get());
        let _ = writeln!(text, "segment at {offset:#x}, {file:#x} bytes of {memory:#x}");
    }
    for section in &cubin.sections {
        let (index, name, offset) = (section.index, shown(section.name), section.header.offset.get());
        let (kind, flags, link, info) = (section.sh_type(), section.flags(), section.link(), section.info());
        let (size, align, hash) = (section.size(), section.align(), hash(section.data));
        let _ = writeln!(
            text,
            "section {index} {name}: type {kind:#x}, flags {flags:#x}, at {offset:#x}, size {size:#x}, \
            align {align}, link {link}, info {info:#x}, hash {hash:016x}"
        );
    }
    for (index, symbol) in cubin.symbols.iter().enumerate() {
        let name = shown(cubin.symbol_name(index as u32).expect("a name"));
        let (info, other, section) = (symbol.info, symbol.other, symbol.shndx.get());
        let (value, size) = (symbol.value.get(), symbol.size.get());
        let _ = writeln!(
            text,
            "symbol {index} '{name}': info {info:#x}, other {other:#x}, section {section:#x}, value {value:#x}, size {size:#x}"
        );
    }
    text
}
