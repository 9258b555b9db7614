//! A device ELF without its debug and line information.
//!
//! The sections go, with their relocations. Symbols keep their numbers, because attributes, call graphs and capsules refer to
//! them: the symbol of a section that is gone becomes an empty one, as the assembler leaves them itself. What stays moves
//! up in the file, and its alignment stays.

use std::fmt;
use std::ops::Range;

use zerocopy::IntoBytes;

use crate::file::{Cubin, Error as ReadError, Section};
use crate::raw::{self, FileHeader, ProgramHeader, SectionHeader, Symbol};

/// Why debug information cannot be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    Read(ReadError),
    /// Something that stays refers to a section that would go: what, and the section.
    Refers(&'static str, String),
    /// The tables of a file do not fit one another.
    Tables,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Refers(what, section) => write!(f, "{what} refers to debug section '{section}'"),
            Self::Tables => f.write_str("the tables of the ELF do not fit one another"),
        }
    }
}

impl std::error::Error for Error {}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

/// Whether a section holds debug or line information. `.debug_frame` does not: the assembler writes it for all code.
pub fn is_debug(name: &[u8]) -> bool {
    let name = name.strip_prefix(b".nv.merc").unwrap_or(name);
    name.starts_with(b".nv_debug_") || name.starts_with(b".debug_") && name != b".debug_frame"
}

/// The file without debug and line information; `None` if it has none.
pub fn without_debug(bytes: &[u8]) -> Result<Option<Vec<u8>>, Error> {
    let cubin = Cubin::parse(bytes)?;
    let stripper = Stripper::new(&cubin)?;
    if !stripper.goes.contains(&true) {
        return Ok(None);
    }
    stripper.check()?;
    stripper.write().map(Some)
}

/// Relocations of another section, which their header names.
fn is_relocations(section: &Section<'_>) -> bool {
    matches!(
        section.sh_type(),
        raw::SHT_REL
            | raw::SHT_RELA
            | raw::SHT_MERC_RELA
            | raw::SHT_CUDA_RESOLVED_RELA
            | raw::SHT_MERC_RESOLVED_RELA
    )
}

struct Stripper<'a, 'data> {
    cubin: &'a Cubin<'data>,
    segments: &'data [ProgramHeader],
    goes: Vec<bool>,
    /// The new number of each section, 0 of those that go.
    numbers: Vec<u32>,
}

impl<'a, 'data> Stripper<'a, 'data> {
    fn new(cubin: &'a Cubin<'data>) -> Result<Self, Error> {
        let mut goes: Vec<bool> = cubin.sections.iter().map(|section| is_debug(section.name)).collect();
        for section in cubin.sections.iter().filter(|section| is_relocations(section)) {
            let target = goes.get(section.info() as usize).copied().unwrap_or(false);
            goes[section.index as usize] |= target;
        }
        let mut next = 0;
        let number = |goes: &bool| {
            let number = next;
            next += u32::from(!goes);
            if *goes { 0 } else { number }
        };
        let numbers = goes.iter().map(number).collect();
        Ok(Self { cubin, segments: cubin.program_headers()?, goes, numbers })
    }

    fn refers(&self, what: &'static str, section: u32) -> Error {
        let name = self.cubin.section_at(section).map(|section| section.name.to_string());
        Error::Refers(what, name.unwrap_or_default())
    }

    /// Nothing that stays may need what goes.
    fn check(&self) -> Result<(), Error> {
        for section in self.stays() {
            if self.is_gone(section.link()) {
                return Err(self.refers("a section", section.link()));
            }
            if section.flags() & raw::SHF_INFO_LINK != 0 && self.is_gone(section.info()) {
                return Err(self.refers("a section", section.info()));
            }
            if !is_relocations(section) {
                continue;
            }
            let symbols = self.symbols_of(section)?;
            for entry in section.relocations()?.iter() {
                let symbol = symbols.get(entry.symbol.get() as usize);
                let home = symbol.map_or(0, |symbol| self.home(symbol, entry.symbol.get() as usize));
                if self.is_gone(home) {
                    return Err(self.refers("a relocation", home));
                }
            }
        }
        for table in self.stays().filter(|section| is_symbols(section)) {
            for (index, symbol) in table.entries::<Symbol>()?.iter().enumerate() {
                let home = self.home(symbol, index);
                if self.is_gone(home) && symbol.kind() != raw::STT_SECTION {
                    return Err(self.refers("a symbol", home));
                }
            }
        }
        Ok(())
    }

    fn symbols_of(&self, relocations: &Section<'_>) -> Result<&'data [Symbol], Error> {
        let table = self.cubin.section_at(relocations.link()).filter(|table| is_symbols(table));
        Ok(table.map_or(Ok(self.cubin.symbols), Section::entries)?)
    }

    fn stays(&self) -> impl Iterator<Item = &Section<'data>> {
        self.cubin.sections.iter().filter(|section| !self.goes[section.index as usize])
    }

    fn is_gone(&self, section: u32) -> bool {
        self.goes.get(section as usize).copied().unwrap_or(false)
    }

    /// The section that a symbol is in. Numbers that do not fit into a symbol are in a table of their own.
    fn home(&self, symbol: &Symbol, index: usize) -> u32 {
        match symbol.shndx.get() {
            raw::SHN_XINDEX => self.wide_homes().get(index).map_or(0, |home| home.get()),
            reserved if reserved >= raw::SHN_LORESERVE => 0,
            home => home.into(),
        }
    }

    fn wide_homes(&self) -> &'data [zerocopy::little_endian::U32] {
        let table = self.cubin.sections.iter().find(|section| section.sh_type() == raw::SHT_SYMTAB_SHNDX);
        table.and_then(|table| table.entries().ok()).unwrap_or(&[])
    }

    fn write(&self) -> Result<Vec<u8>, Error> {
        let (old, pieces) = (self.cubin.bytes, self.pieces()?);
        let mut image = Vec::with_capacity(old.len());
        for piece in &pieces {
            image.resize(piece.to as usize, 0);
            image.extend_from_slice(&old[piece.from.start as usize..piece.from.end as usize]);
        }
        let moved = |offset: u64| place(&pieces, offset);
        let headers = self.headers(&moved);
        let segments: Vec<ProgramHeader> = self
            .segments
            .iter()
            .map(|segment| ProgramHeader { offset: moved(segment.offset.get()).into(), ..*segment })
            .collect();
        let mut header: FileHeader = *self.cubin.header;
        header.shoff = moved(header.shoff.get()).into();
        header.phoff = moved(header.phoff.get()).into();
        header.flags = self.flags().into();
        if header.shnum.get() != 0 {
            header.shnum = (headers.len() as u16).into();
        }
        if header.shstrndx.get() != raw::SHN_XINDEX {
            let names = self.numbers.get(usize::from(header.shstrndx.get())).copied().unwrap_or(0);
            header.shstrndx = (names as u16).into();
        }
        put(&mut image, 0, header.as_bytes())?;
        put(&mut image, header.shoff.get(), headers.as_bytes())?;
        put(&mut image, header.phoff.get(), segments.as_bytes())?;
        for table in self.stays() {
            let at = headers[self.numbers[table.index as usize] as usize].offset.get();
            if is_symbols(table) {
                put(&mut image, at, self.symbols(table)?.as_bytes())?;
            } else if table.sh_type() == raw::SHT_SYMTAB_SHNDX {
                let homes = self.wide_homes().iter().map(|home| self.number(home.get()).into());
                let homes: Vec<zerocopy::little_endian::U32> = homes.collect();
                put(&mut image, at, homes.as_bytes())?;
            } else if table.sh_type() == raw::SHT_CUDA_CAPSULE
                && let Some((code, _)) = table.data.split_first_chunk()
            {
                // A capsule begins with the number of the section whose code it accompanies.
                put(&mut image, at, &self.number(u32::from_le_bytes(*code)).to_le_bytes())?;
            }
        }
        Ok(image)
    }

    /// The flags of the header, which end with the number of the section that has the note of the toolkit.
    fn flags(&self) -> u32 {
        const NOTE: u32 = 24;
        let flags = self.cubin.header.flags.get();
        let note = self.cubin.section(".note.nv.cuinfo").map(|note| note.index);
        match note.filter(|note| self.cubin.header.is_current() && note << NOTE == flags >> NOTE << NOTE) {
            Some(note) => self.number(note) << NOTE | flags << (32 - NOTE) >> (32 - NOTE),
            None => flags,
        }
    }

    fn number(&self, old: u32) -> u32 {
        self.numbers.get(old as usize).copied().unwrap_or(old)
    }

    /// The headers of the sections that stay.
    fn headers(&self, moved: &dyn Fn(u64) -> u64) -> Vec<SectionHeader> {
        let mut headers = Vec::with_capacity(self.goes.len());
        for section in self.stays() {
            let mut header = *section.header;
            header.offset = moved(header.offset.get()).into();
            header.link = self.number(header.link.get()).into();
            if header.flags.get() & raw::SHF_INFO_LINK != 0 {
                header.info = self.number(header.info.get()).into();
            }
            headers.push(header);
        }
        // Of a file with very many sections the first header has their number, and that of the section of names.
        if self.cubin.header.shnum.get() == 0 {
            let count = headers.len() as u64;
            if let Some(first) = headers.first_mut() {
                first.size = count.into();
            }
        }
        headers
    }

    fn symbols(&self, table: &Section<'data>) -> Result<Vec<Symbol>, Error> {
        let symbol = |(index, symbol): (usize, &Symbol)| {
            let home = self.home(symbol, index);
            if self.is_gone(home) {
                return Symbol { other: raw::STV_INTERNAL, ..Symbol::default() };
            }
            let is_number = symbol.shndx.get() < raw::SHN_LORESERVE;
            let shndx = if is_number { (self.number(home) as u16).into() } else { symbol.shndx };
            Symbol { shndx, ..*symbol }
        };
        Ok(table.entries::<Symbol>()?.iter().enumerate().map(symbol).collect())
    }

    /// What stays of the file, in order. Parts that lie in one another stay together, so that a segment is as it was.
    fn pieces(&self) -> Result<Vec<Piece>, Error> {
        let header = self.cubin.header;
        let count = self.goes.iter().filter(|goes| !**goes).count() as u64;
        let mut parts = vec![
            (0, raw::HEADER_SIZE, 1),
            (header.shoff.get(), count * raw::SECTION_HEADER_SIZE, 8),
            (header.phoff.get(), self.segments.len() as u64 * raw::PROGRAM_HEADER_SIZE, 8),
        ];
        let sections = self.stays().filter(|section| !section.data.is_empty());
        parts.extend(sections.map(|section| (section.header.offset.get(), section.size(), section.align())));
        let segments = self.segments.iter();
        parts.extend(segments.map(|s| (s.offset.get(), s.filesz.get(), s.align.get())));
        parts.retain(|(_, size, _)| *size > 0);
        parts.sort_unstable();
        let mut pieces: Vec<Piece> = Vec::with_capacity(parts.len());
        for (start, size, align) in parts {
            let end = start.checked_add(size).filter(|end| *end <= self.cubin.bytes.len() as u64);
            let end = end.ok_or(Error::Tables)?;
            match pieces.last_mut() {
                Some(last) if start < last.from.end => {
                    last.from.end = last.from.end.max(end);
                    last.align = last.align.max(align);
                }
                _ => pieces.push(Piece { from: start..end, align: align.max(1), to: 0 }),
            }
        }
        let mut end = 0;
        for piece in &mut pieces {
            // The next place that is as far from a multiple of the alignment as the old one: never after the old one.
            let apart = (piece.from.start - end) % piece.align;
            piece.to = end + apart;
            end = piece.to + (piece.from.end - piece.from.start);
        }
        Ok(pieces)
    }
}

fn is_symbols(section: &Section<'_>) -> bool {
    matches!(section.sh_type(), raw::SHT_SYMTAB | raw::SHT_MERC_SYMTAB)
}

/// Whether a section has numbers of sections in it.
fn has_numbers(section: &Section<'_>) -> bool {
    is_symbols(section) || matches!(section.sh_type(), raw::SHT_SYMTAB_SHNDX | raw::SHT_CUDA_CAPSULE)
}

/// A part of the file, and where it goes.
struct Piece {
    from: Range<u64>,
    align: u64,
    to: u64,
}

/// Where something is that was at an offset. What has no bytes is at the end of what was before it.
fn place(pieces: &[Piece], offset: u64) -> u64 {
    let before = pieces.partition_point(|piece| piece.from.start <= offset);
    let Some(piece) = before.checked_sub(1).map(|at| &pieces[at]) else { return 0 };
    piece.to + (offset.min(piece.from.end) - piece.from.start)
}

fn put(image: &mut [u8], offset: u64, bytes: &[u8]) -> Result<(), Error> {
    let place = usize::try_from(offset).ok().and_then(|at| image.get_mut(at..)).ok_or(Error::Tables)?;
    place.get_mut(..bytes.len()).ok_or(Error::Tables)?.copy_from_slice(bytes);
    Ok(())
}

/// Whether a file is another one without its debug information: all other sections, and their contents, are as they were.
pub fn is_same_code(old: &[u8], new: &[u8]) -> Result<bool, ReadError> {
    let (old, new) = (Cubin::parse(old)?, Cubin::parse(new)?);
    let kept = old.sections.iter().filter(|section| !is_debug(section.name));
    let kept = kept.filter(|s| {
        !is_relocations(s) || !old.section_at(s.info()).is_some_and(|target| is_debug(target.name))
    });
    let is_same = |(a, b): (&Section<'_>, &Section<'_>)| {
        let shape = |s: &Section<'_>| (s.sh_type(), s.flags(), s.size(), s.align(), s.header.entsize.get());
        a.name == b.name && (a.index == 0 || shape(a) == shape(b)) && (has_numbers(a) || a.data == b.data)
    };
    let count = kept.clone().count();
    Ok(count == new.sections.len() && kept.zip(&new.sections).all(is_same))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// Objects with line information, with debug information, and with a Mercury view.
    const FILES: [&str; 5] = [
        "link/tests/golden/inputs/lines.sm_90.cubin",
        "link/tests/golden/inputs/weak_one.debug.sm_90.cubin",
        "fuzzing/corpus/callee.debug.sm_80.cubin",
        "fuzzing/corpus/caller.lines.sm_80.cubin",
        "sass/tests/data/finalize/exits.linked.cubin",
    ];

    fn read(name: &str) -> Vec<u8> {
        fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name))
            .expect("a file of the repository")
    }

    #[test]
    fn code_stays_and_debug_information_goes() {
        for name in FILES {
            let old = read(name);
            let new = without_debug(&old).expect("readable").expect("it has debug information");
            assert!(new.len() < old.len(), "{name}");
            assert_eq!(is_same_code(&old, &new), Ok(true), "{name}");
            assert_eq!(without_debug(&new), Ok(None), "{name}");
            let (a, b) = (Cubin::parse(&old).expect("a cubin"), Cubin::parse(&new).expect("a cubin"));
            assert_eq!(a.symbols.len(), b.symbols.len());
            for index in 1..a.symbols.len() as u32 {
                let home = |cubin: &Cubin<'_>| {
                    let symbol = &cubin.symbols[index as usize];
                    let section = cubin.section_at(symbol.shndx.get().into());
                    (cubin.symbol_name(index).map(ToString::to_string), section.map(|s| s.name.to_string()))
                };
                let is_gone = home(&a).1.is_some_and(|name| is_debug(name.as_bytes()));
                assert!(is_gone || home(&a) == home(&b), "{name}: symbol {index}");
            }
            for section in &b.sections {
                let target = |cubin: &Cubin<'_>, section: &Section<'_>| {
                    let of = |number| cubin.section_at(number).map(|section| section.name.to_string());
                    (
                        of(section.link()),
                        (section.flags() & raw::SHF_INFO_LINK != 0).then(|| of(section.info())),
                    )
                };
                let old = a.section(section.name).expect("it was there");
                assert_eq!(target(&b, section), target(&a, old), "{name}: {}", section.name);
                assert!(section.align() <= 1 || section.header.offset.get().is_multiple_of(section.align()));
            }
            let note = |cubin: &Cubin<'_>| {
                let number = cubin.header.flags.get() >> 24;
                cubin.section_at(number).filter(|_| cubin.header.is_current()).map(|s| s.name.to_string())
            };
            assert_eq!(note(&a), note(&b), "{name}");
            for (old, new) in a.program_headers().unwrap().iter().zip(b.program_headers().unwrap()) {
                assert_eq!((old.filesz, old.memsz, old.vaddr), (new.filesz, new.memsz, new.vaddr));
            }
        }
    }

    #[test]
    fn a_file_without_debug_information_stays() {
        assert_eq!(without_debug(&read("link/tests/golden/inputs/kernel.sm_90.cubin")), Ok(None));
    }

    #[test]
    fn what_is_needed_is_refused() {
        let old = read(FILES[0]);
        let cubin = Cubin::parse(&old).expect("a cubin");
        let line = cubin.section(".debug_line").expect("line information").index;
        let text = cubin.sections.iter().find(|section| section.name.starts_with(b".text.")).expect("code");
        // Code whose symbols would be in a section that goes.
        let link = cubin.header.shoff.get() as usize + 64 * text.index as usize + 40;
        let mut changed = old.clone();
        changed[link..link + 4].copy_from_slice(&line.to_le_bytes());
        assert_eq!(without_debug(&changed), Err(Error::Refers("a section", ".debug_line".into())));
        let symbol =
            cubin.symbols.iter().position(|symbol| symbol.kind() == raw::STT_FUNC).expect("a function");
        let table = cubin.section_at(cubin.symtab).expect("symbols").header.offset.get() as usize;
        let mut changed = old.clone();
        changed[table + 24 * symbol + 6..][..2].copy_from_slice(&(line as u16).to_le_bytes());
        let error = without_debug(&changed).expect_err("a function in a section that goes");
        assert!(error.to_string().ends_with("refers to debug section '.debug_line'"), "{error}");
    }

    #[test]
    fn damaged_files_are_errors_or_files() {
        let old = read(FILES[0]);
        for end in 0..old.len() {
            let _ = without_debug(&old[..end]);
        }
        for at in 0..old.len() {
            for value in [0, 0xff, 0x80] {
                let mut changed = old.clone();
                changed[at] = value;
                if let Ok(Some(new)) = without_debug(&changed) {
                    assert!(new.len() <= changed.len(), "byte {at}");
                }
            }
        }
    }
}
