//! The names of the format's numbers.

use solder_cubin::{raw, reloc};
use std::fmt::Write;

const SECTION_TYPES: &[(u32, &str)] = &[
    (raw::SHT_NULL, "NULL"),
    (raw::SHT_PROGBITS, "PROGBITS"),
    (raw::SHT_SYMTAB, "SYMTAB"),
    (raw::SHT_STRTAB, "STRTAB"),
    (raw::SHT_RELA, "RELA"),
    (raw::SHT_NOTE, "NOTE"),
    (raw::SHT_NOBITS, "NOBITS"),
    (raw::SHT_REL, "REL"),
    (raw::SHT_SYMTAB_SHNDX, "SYMTAB_SHNDX"),
    (raw::SHT_CUDA_INFO, "CUDA_INFO"),
    (raw::SHT_CUDA_CALLGRAPH, "CUDA_CALLGRAPH"),
    (raw::SHT_CUDA_PROTOTYPE, "CUDA_PROTOTYPE"),
    (raw::SHT_CUDA_RESOLVED_RELA, "CUDA_RESOLVED_RELA"),
    (raw::SHT_CUDA_GLOBAL, "CUDA_GLOBAL"),
    (raw::SHT_CUDA_GLOBAL_INIT, "CUDA_GLOBAL_INIT"),
    (raw::SHT_CUDA_LOCAL, "CUDA_LOCAL"),
    (raw::SHT_CUDA_SHARED, "CUDA_SHARED"),
    (raw::SHT_CUDA_REL_ACTION, "CUDA_RELOCINFO"),
    (raw::SHT_CUDA_SHARED_RESERVED, "CUDA_SHARED_RESERVED"),
    (raw::SHT_CUDA_CAPSULE, "MERCURY_CAPSULE"),
    (raw::SHT_MERC_CONSTANT_USER, "MERCURY_CONSTANT_USER"),
    (raw::SHT_MERC_RELA, "MERCURY_RELA"),
    (raw::SHT_MERC_INFO, "MERCURY_INFO"),
    (raw::SHT_MERC_SYMTAB, "MERCURY_SYMTAB"),
    (raw::SHT_MERC_RESOLVED_RELA, "MERCURY_RESOLVED_RELA"),
    (raw::SHT_CUDA_COMPAT, "CUDA_COMPAT"),
    (raw::SHT_CUDA_HOST, "CUDA_HOST"),
];

const SECTION_FLAGS: &[(u64, &str)] = &[
    (raw::SHF_WRITE, "WRITE"),
    (raw::SHF_ALLOC, "ALLOC"),
    (raw::SHF_EXECINSTR, "EXEC"),
    (raw::SHF_INFO_LINK, "INFO_LINK"),
    (raw::SHF_MERCURY, "MERCURY"),
    (raw::SHF_NOTE_TKINFO, "TKINFO"),
    (raw::SHF_NOTE_CUINFO, "CUINFO"),
];

const SYMBOL_OTHER: &[(u64, &str)] = &[
    (raw::STO_MANAGED as u64, "MANAGED"),
    (raw::STO_ENTRY as u64, "ENTRY"),
    (raw::STO_GLOBAL as u64, "GLOBAL"),
    (raw::STO_SHARED as u64, "SHARED"),
    (raw::STO_CONSTANT as u64, "CONSTANT"),
];

const SEGMENT_FLAGS: &[(u64, &str)] =
    &[(raw::PF_R as u64, "R"), (raw::PF_W as u64, "W"), (raw::PF_X as u64, "X")];

const FILE_TYPES: &[(u32, &str)] = &[(raw::ET_REL as u32, "REL"), (raw::ET_EXEC as u32, "EXEC")];
const SEGMENT_TYPES: &[(u32, &str)] = &[(raw::PT_LOAD, "PT_LOAD"), (raw::PT_PHDR, "PT_PHDR")];
const BINDINGS: &[(u32, &str)] = &[(0, "LOCAL"), (1, "GLOBAL"), (2, "WEAK")];
const SYMBOL_TYPES: &[(u32, &str)] = &[
    (raw::STT_NOTYPE as u32, "NOTYPE"),
    (raw::STT_OBJECT as u32, "OBJECT"),
    (raw::STT_FUNC as u32, "FUNC"),
    (raw::STT_SECTION as u32, "SECTION"),
    (raw::STT_TEXTURE as u32, "TEXTURE"),
    (raw::STT_SAMPLER as u32, "SAMPLER"),
    (raw::STT_SURFACE as u32, "SURFACE"),
    (raw::STT_CUDA_OBJECT as u32, "CUDA_OBJECT"),
];

fn one_of(table: &[(u32, &str)], value: u32) -> String {
    table.iter().find(|row| row.0 == value).map_or_else(|| format!("{value:#x}"), |row| row.1.to_owned())
}

fn set_of(table: &[(u64, &str)], value: u64) -> String {
    let mut rest = value;
    let mut text = String::new();
    for (bit, name) in table.iter().filter(|row| value & row.0 != 0) {
        rest &= !bit;
        let _ = write!(text, "{}{name}", if text.is_empty() { "" } else { "+" });
    }
    if rest != 0 || text.is_empty() {
        let _ = write!(text, "{}{rest:#x}", if text.is_empty() { "" } else { "+" });
    }
    text
}

pub fn section_type(value: u32) -> String {
    if (raw::SHT_CUDA_CONSTANT..=raw::SHT_CUDA_CONSTANT_LAST).contains(&value) {
        return format!("CUDA_CONSTANT{}", value - raw::SHT_CUDA_CONSTANT);
    }
    one_of(SECTION_TYPES, value)
}

pub fn section_flags(value: u64) -> String {
    set_of(SECTION_FLAGS, value)
}

pub fn file_type(value: u16) -> String {
    one_of(FILE_TYPES, u32::from(value))
}

pub fn segment_type(value: u32) -> String {
    one_of(SEGMENT_TYPES, value)
}

pub fn segment_flags(value: u32) -> String {
    set_of(SEGMENT_FLAGS, u64::from(value))
}

pub fn binding(value: u8) -> String {
    one_of(BINDINGS, u32::from(value))
}

pub fn symbol_type(value: u8) -> String {
    one_of(SYMBOL_TYPES, u32::from(value))
}

/// The visibility, then the bits of `st_other` that only device code uses.
pub fn symbol_other(value: u8) -> String {
    let visibility = ["DEFAULT", "INTERNAL", "HIDDEN", "PROTECTED"][usize::from(value & 3)];
    match value & !3 {
        0 => visibility.to_owned(),
        bits => format!("{visibility}+{}", set_of(SYMBOL_OTHER, u64::from(bits))),
    }
}

pub fn relocation(r_type: u32) -> String {
    match reloc::kind_of(r_type).map(|kind| kind.name) {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => format!("type {r_type:#x}"),
    }
}

/// Bytes in hexadecimal, in words where they are words.
pub fn hex(bytes: &[u8]) -> String {
    let unit = if bytes.len().is_multiple_of(4) { 4 } else { 1 };
    let mut text = String::with_capacity(bytes.len() * 3);
    for (i, chunk) in bytes.chunks(unit).enumerate() {
        if i > 0 {
            text.push(' ');
        }
        for byte in chunk.iter().rev() {
            let _ = write!(text, "{byte:02x}");
        }
    }
    text
}
