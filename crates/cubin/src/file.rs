//! A zero-copy, bounds-checked view of a device ELF.

use crate::raw::{self, FileHeader, ProgramHeader, Rel, Rela, SectionHeader, Symbol};
use bstr::BStr;
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

/// Why a file cannot be read. The caller knows the file and says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    TooShort,
    NotElf,
    NotDevice,
    NotElf64,
    SectionTable,
    ProgramHeaders,
    SectionNames,
    SectionName(u32),
    SectionData(u32),
    NoSymbolTable,
    SymbolTable,
    SymbolName(u32),
    EntrySize(u32),
}

impl Error {
    /// The section the error is about, where it is about one.
    pub fn section(self) -> Option<u32> {
        match self {
            Self::SectionName(n) | Self::SectionData(n) | Self::EntrySize(n) => Some(n),
            _ => None,
        }
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooShort => write!(f, "the file is too short for an ELF header"),
            Self::NotElf => write!(f, "not an ELF file"),
            Self::NotDevice => write!(f, "not a device ELF"),
            Self::NotElf64 => write!(f, "not a 64-bit little-endian ELF"),
            Self::SectionTable => write!(f, "the section header table lies outside the file"),
            Self::ProgramHeaders => write!(f, "the program header table lies outside the file"),
            Self::SectionNames => write!(f, "the section name table is missing or damaged"),
            Self::SectionName(n) => write!(f, "section {n} has a name outside the name table"),
            Self::SectionData(n) => write!(f, "the contents of section {n} lie outside the file"),
            Self::NoSymbolTable => write!(f, "there is no symbol table"),
            Self::SymbolTable => write!(f, "the symbol table is damaged"),
            Self::SymbolName(n) => write!(f, "symbol {n} has a name outside the string table"),
            Self::EntrySize(n) => write!(f, "the size of section {n} is no multiple of its entry size"),
        }
    }
}

impl std::error::Error for Error {}

/// One section: its header, name and (for those that have any) bytes.
#[derive(Clone, Copy, Debug)]
pub struct Section<'data> {
    pub index: u32,
    pub name: &'data BStr,
    pub header: &'data SectionHeader,
    pub data: &'data [u8],
}

impl<'data> Section<'data> {
    pub fn sh_type(&self) -> u32 {
        self.header.sh_type.get()
    }
    pub fn flags(&self) -> u64 {
        self.header.flags.get()
    }
    pub fn size(&self) -> u64 {
        self.header.size.get()
    }
    pub fn align(&self) -> u64 {
        self.header.align.get()
    }
    pub fn info(&self) -> u32 {
        self.header.info.get()
    }
    pub fn link(&self) -> u32 {
        self.header.link.get()
    }
    /// The entries of a section that is a table of `T`.
    pub fn entries<T: FromBytes + KnownLayout + Immutable + Unaligned>(&self) -> Result<&'data [T], Error> {
        <[T]>::ref_from_bytes(self.data).map_err(|_| Error::EntrySize(self.index))
    }
    /// The relocations of a `SHT_REL` or `SHT_RELA` section.
    pub fn relocations(&self) -> Result<Relocations<'data>, Error> {
        Ok(match self.sh_type() {
            raw::SHT_REL => Relocations::Rel(self.entries()?),
            _ => Relocations::Rela(self.entries()?),
        })
    }
}

/// The entries of a relocation section, in file order.
#[derive(Clone, Copy, Debug)]
pub enum Relocations<'data> {
    Rel(&'data [Rel]),
    Rela(&'data [Rela]),
}

impl Relocations<'_> {
    pub fn len(&self) -> usize {
        match self {
            Self::Rel(r) => r.len(),
            Self::Rela(r) => r.len(),
        }
    }
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    pub fn iter(&self) -> impl Iterator<Item = Rela> + '_ {
        let (without, with): (&[Rel], &[Rela]) = match self {
            Self::Rel(entries) => (entries, &[]),
            Self::Rela(entries) => (&[], entries),
        };
        let added = |r: &Rel| Rela { offset: r.offset, r_type: r.r_type, symbol: r.symbol, addend: 0.into() };
        without.iter().map(added).chain(with.iter().copied())
    }
}

/// A parsed device ELF, borrowing everything from its bytes.
#[derive(Clone, Debug)]
pub struct Cubin<'data> {
    pub bytes: &'data [u8],
    pub header: &'data FileHeader,
    pub sections: Vec<Section<'data>>,
    pub symbols: &'data [Symbol],
    /// The string table the symbol table refers to.
    pub strings: Names<'data>,
    /// Index of the symbol table section, 0 if there is none.
    pub symtab: u32,
}

/// The NUL-terminated string at `offset`; `None` if it is outside or unterminated.
pub fn string_at(table: &[u8], offset: u32) -> Option<&BStr> {
    let tail = table.get(offset as usize..)?;
    Some(BStr::new(&tail[..nul(tail)?]))
}

/// The place of the first NUL. Names are short, and every processor of this kind can do this: asking what else it can do
/// takes a hundredth of a small link.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
fn nul(bytes: &[u8]) -> Option<usize> {
    memchr::arch::x86_64::sse2::memchr::One::new(0)?.find(bytes)
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
fn nul(bytes: &[u8]) -> Option<usize> {
    memchr::memchr(0, bytes)
}

/// A string table. Names are bytes: tools compare them and nothing else, and the file may change while it is read, so
/// that they must not be taken for text that was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names<'data> {
    bytes: &'data [u8],
}

impl<'data> Names<'data> {
    fn new(bytes: &'data [u8]) -> Self {
        Self { bytes }
    }

    /// How many bytes the table has.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// As `string_at`.
    pub fn at(&self, offset: u32) -> Option<&'data BStr> {
        string_at(self.bytes, offset)
    }
}

fn table<T: FromBytes + KnownLayout + Immutable + Unaligned>(
    bytes: &[u8],
    offset: u64,
    count: usize,
) -> Option<&[T]> {
    let start = usize::try_from(offset).ok()?;
    let len = count.checked_mul(size_of::<T>())?;
    let part = bytes.get(start..start.checked_add(len)?)?;
    <[T]>::ref_from_bytes(part).ok()
}

/// The ELF header, if these bytes begin with one of any machine.
pub fn elf_header(bytes: &[u8]) -> Option<&FileHeader> {
    let (header, _) = FileHeader::ref_from_prefix(bytes).ok()?;
    (header.ident[..4] == raw::ELF_MAGIC).then_some(header)
}

impl<'data> Cubin<'data> {
    pub fn parse(bytes: &'data [u8]) -> Result<Self, Error> {
        let Ok((header, _)) = FileHeader::ref_from_prefix(bytes) else {
            return Err(Error::TooShort);
        };
        if header.ident[..4] != raw::ELF_MAGIC {
            return Err(Error::NotElf);
        }
        if header.machine.get() != raw::EM_CUDA {
            return Err(Error::NotDevice);
        }
        if header.ident[4] != raw::ELFCLASS64 || header.ident[5] != 1 {
            return Err(Error::NotElf64);
        }
        let count = section_count(bytes, header)?;
        let headers: &[SectionHeader] = table(bytes, header.shoff.get(), count).ok_or(Error::SectionTable)?;
        let names = Names::new(names_table(bytes, header, headers)?);
        let mut sections = Vec::with_capacity(count);
        for (index, header) in headers.iter().enumerate() {
            let index = index as u32;
            let name = names.at(header.name.get()).ok_or(Error::SectionName(index))?;
            let data = section_bytes(bytes, header).ok_or(Error::SectionData(index))?;
            sections.push(Section { index, name, header, data });
        }
        let (symtab, symbols, strings) = symbol_table(&sections)?;
        Ok(Self { bytes, header, sections, symbols, strings: Names::new(strings), symtab })
    }

    /// The first section with this name.
    pub fn section(&self, name: impl AsRef<[u8]>) -> Option<&Section<'data>> {
        self.sections.iter().find(|s| s.name == name.as_ref())
    }

    pub fn section_at(&self, index: u32) -> Option<&Section<'data>> {
        self.sections.get(index as usize)
    }

    pub fn symbol_name(&self, index: u32) -> Result<&'data BStr, Error> {
        let symbol = self.symbols.get(index as usize).ok_or(Error::SymbolTable)?;
        self.strings.at(symbol.name.get()).ok_or(Error::SymbolName(index))
    }

    pub fn program_headers(&self) -> Result<&'data [ProgramHeader], Error> {
        let count = usize::from(self.header.phnum.get());
        if count == 0 {
            return Ok(&[]);
        }
        table(self.bytes, self.header.phoff.get(), count).ok_or(Error::ProgramHeaders)
    }

    /// The SM number in the header flags.
    pub fn sm(&self) -> u16 {
        let flags = self.header.flags.get();
        if self.header.is_current() { (flags >> 8) as u16 } else { (flags & 0xff) as u16 }
    }
}

/// The number of sections; past 0xff00 it is in the first header's size field.
fn section_count(bytes: &[u8], header: &FileHeader) -> Result<usize, Error> {
    let count = usize::from(header.shnum.get());
    if count != 0 || header.shoff.get() == 0 {
        return Ok(count);
    }
    let first: &[SectionHeader] = table(bytes, header.shoff.get(), 1).ok_or(Error::SectionTable)?;
    let count = usize::try_from(first[0].size.get()).map_err(|_| Error::SectionTable)?;
    if count > bytes.len() / size_of::<SectionHeader>() {
        return Err(Error::SectionTable);
    }
    Ok(count)
}

fn names_table<'data>(
    bytes: &'data [u8],
    header: &FileHeader,
    headers: &[SectionHeader],
) -> Result<&'data [u8], Error> {
    let mut index = usize::from(header.shstrndx.get());
    if index == 0xffff
        && let Some(first) = headers.first()
    {
        index = first.link.get() as usize;
    }
    if headers.is_empty() {
        return Ok(&[]);
    }
    let names = headers.get(index).ok_or(Error::SectionNames)?;
    section_bytes(bytes, names).ok_or(Error::SectionNames)
}

fn section_bytes<'data>(bytes: &'data [u8], header: &SectionHeader) -> Option<&'data [u8]> {
    if header.sh_type.get() == raw::SHT_NULL || raw::takes_no_file_space(header.sh_type.get()) {
        return Some(&[]);
    }
    let start = usize::try_from(header.offset.get()).ok()?;
    let end = start.checked_add(usize::try_from(header.size.get()).ok()?)?;
    if start == end {
        return Some(&[]);
    }
    bytes.get(start..end)
}

type SymbolTable<'data> = (u32, &'data [Symbol], &'data [u8]);

fn symbol_table<'data>(sections: &[Section<'data>]) -> Result<SymbolTable<'data>, Error> {
    let Some(symtab) = sections.iter().find(|s| s.sh_type() == raw::SHT_SYMTAB) else {
        return Ok((0, &[], &[]));
    };
    let symbols = symtab.entries().map_err(|_| Error::SymbolTable)?;
    let strings = sections.get(symtab.link() as usize).ok_or(Error::SymbolTable)?;
    Ok((symtab.index, symbols, strings.data))
}

#[cfg(test)]
mod tests {
    use super::{BStr, string_at};

    #[test]
    fn a_string_ends_at_the_first_nul_wherever_it_is() {
        for length in 0..20 {
            let text = vec![0xff; length];
            let table = [&text[..], &[0], &text].concat();
            for rest in 0..=length {
                assert_eq!(string_at(&table, (length - rest) as u32), Some(BStr::new(&text[..rest])));
            }
            assert_eq!(string_at(&table, length as u32 + 1), None);
        }
    }
}
