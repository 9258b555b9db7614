//! The tables of a host ELF: its sections, segments, and the sections with fat binaries.

use std::ops::Range;

use solder_cubin::raw::{self, FileHeader, ProgramHeader, SectionHeader};
use zerocopy::{FromBytes, Immutable, KnownLayout};

use super::containers::{Counts, Rebuilt};
use super::policy::Policy;

const CODE: [&[u8]; 2] = [b".nv_fatbin", b"__nv_relfatbin"];

pub(super) const EM_X86_64: u16 = 62;
pub(super) const EM_AARCH64: u16 = 183;
pub(super) const ET_DYN: u16 = 3;

/// Relocations of x86-64 that count from the end of their field of four bytes.
pub(super) const FROM_END: [u32; 2] = [2, 4];

pub(super) const SHT_PROGBITS: u32 = 1;
pub(super) const SHT_SYMTAB: u32 = 2;
pub(super) const SHT_STRTAB: u32 = 3;
pub(super) const SHT_RELA: u32 = 4;
pub(super) const SHT_DYNAMIC: u32 = 6;
pub(super) const SHT_NOTE: u32 = 7;
pub(super) const SHT_NOBITS: u32 = 8;
pub(super) const SHT_REL: u32 = 9;
pub(super) const SHT_DYNSYM: u32 = 11;
const SHT_SYMTAB_SHNDX: u32 = 18;
pub(super) const SHF_ALLOC: u64 = 2;
pub(super) const SHF_EXECINSTR: u64 = 4;
const SHF_COMPRESSED: u64 = 1 << 11;

/// A section of fat binaries.
pub(super) struct Code<'data> {
    pub(super) section: usize,
    /// In the file.
    pub(super) range: Range<u64>,
    pub(super) address: u64,
    pub(super) new: Rebuilt<'data>,
    /// Where in memory it goes if it no longer fits where it was.
    pub(super) moved: Option<u64>,
}

impl Code<'_> {
    /// Whether an address, or in an object an offset, lies in the section or is its end.
    pub(super) fn holds(&self, address: u64) -> bool {
        (self.address..=self.address + self.size()).contains(&address)
    }

    /// Where something is that was at an address in the section.
    pub(super) fn new_address(&self, old: u64) -> Option<u64> {
        let new = self.new.new_place(old.checked_sub(self.address)?)?;
        Some(self.moved.unwrap_or(self.address) + new)
    }

    /// The addresses that something in the section had and no longer has.
    pub(super) fn changed(&self) -> impl Iterator<Item = u64> {
        let is_elsewhere = self.moved.is_some_and(|moved| moved != self.address);
        let places = self.new.places().filter(move |(old, new)| is_elsewhere || old != new);
        places.map(|(old, _)| self.address + old)
    }

    /// The addresses at which something else is now, or nothing; what begins where it did is among them.
    pub(super) fn lost(&self) -> Range<u64> {
        let is_elsewhere = self.moved.is_some_and(|moved| moved != self.address);
        let same = if is_elsewhere { 0 } else { self.new.same.min(self.size()) };
        self.address + same..self.address + self.size()
    }

    pub(super) fn size(&self) -> u64 {
        self.range.end - self.range.start
    }
}

pub(super) struct Host<'data> {
    pub(super) data: &'data [u8],
    pub(super) header: FileHeader,
    pub(super) sections: &'data [SectionHeader],
    pub(super) segments: &'data [ProgramHeader],
    names: &'data [u8],
}

impl<'data> Host<'data> {
    pub(super) fn read(data: &'data [u8]) -> Result<Self, String> {
        let (header, _) =
            FileHeader::read_from_prefix(data).map_err(|_| "the file is too short for an ELF header")?;
        if is_foreign(data) {
            return Err("an ELF for another machine than x86-64 and AArch64".into());
        }
        if header.shnum.get() == 0 || header.shnum.get() >= raw::SHN_LORESERVE {
            return Err("an ELF without a section table, or with one too large".into());
        }
        let has_sizes =
            header.shentsize.get() == 64 && (header.phnum.get() == 0 || header.phentsize.get() == 56);
        if !has_sizes {
            return Err("the tables of the ELF have entries of an unknown size".into());
        }
        let sections = table::<SectionHeader>(data, header.shoff.get(), header.shnum.get().into())
            .ok_or("the section table is cut short")?;
        let segments = table::<ProgramHeader>(data, header.phoff.get(), header.phnum.get().into())
            .ok_or("the table of segments is cut short")?;
        let mut host = Self { data, header, sections, segments, names: &[] };
        let names = sections.get(usize::from(header.shstrndx.get())).ok_or("no names of sections")?;
        host.names = host.contents(names)?;
        for section in sections {
            host.contents(section)?;
            if section.sh_type.get() == SHT_SYMTAB_SHNDX {
                return Err("the object has more than 65,000 sections".into());
            }
        }
        Ok(host)
    }

    pub(super) fn contents(&self, section: &SectionHeader) -> Result<&'data [u8], String> {
        if matches!(section.sh_type.get(), 0 | SHT_NOBITS) {
            return Ok(&[]);
        }
        let start = section.offset.get();
        let end = start.checked_add(section.size.get()).filter(|end| *end <= self.data.len() as u64);
        match end {
            Some(end) => Ok(&self.data[start as usize..end as usize]),
            None => Err(format!("section '{}' reaches past the end of the file", self.name(section))),
        }
    }

    pub(super) fn name(&self, section: &SectionHeader) -> String {
        String::from_utf8_lossy(self.name_bytes(section)).into_owned()
    }

    pub(super) fn name_bytes(&self, section: &SectionHeader) -> &'data [u8] {
        let rest = self.names.get(section.name.get() as usize..).unwrap_or(&[]);
        &rest[..rest.iter().position(|&byte| byte == 0).unwrap_or(rest.len())]
    }

    /// Rebuilds the sections of fat binaries, in the order of the file.
    pub(super) fn code(&self, policy: &Policy) -> Result<Vec<Code<'data>>, String> {
        let mut found = Vec::new();
        for (index, section) in self.sections.iter().enumerate() {
            let is_code = CODE.contains(&self.name_bytes(section)) && section.sh_type.get() == SHT_PROGBITS;
            if !is_code || section.size.get() == 0 {
                continue;
            }
            if section.flags.get() & SHF_COMPRESSED != 0 {
                return Err(format!("section '{}' is compressed", self.name(section)));
            }
            let data = self.contents(section)?;
            let new = Rebuilt::of(data, section.align.get(), policy)
                .map_err(|reason| format!("section '{}': {reason}", self.name(section)))?;
            let range = section.offset.get()..section.offset.get() + section.size.get();
            found.push(Code { section: index, range, address: section.addr.get(), new, moved: None });
        }
        found.sort_by_key(|code| code.range.start);
        self.is_alone(&found)?;
        Ok(found)
    }

    /// Nothing else may lie in what is rebuilt.
    fn is_alone(&self, found: &[Code<'_>]) -> Result<(), String> {
        let header = &self.header;
        let tables = [
            (0, 64),
            (header.shoff.get(), u64::from(header.shnum.get()) * 64),
            (header.phoff.get(), u64::from(header.phnum.get()) * 56),
        ];
        let sections = self
            .sections
            .iter()
            .enumerate()
            .filter(|(_, section)| !matches!(section.sh_type.get(), 0 | SHT_NOBITS));
        let places = sections.map(|(index, section)| (index, section.offset.get(), section.size.get()));
        for (index, start, size) in
            places.chain(tables.iter().map(|(start, size)| (usize::MAX, *start, *size)))
        {
            for code in found.iter().filter(|code| code.section != index) {
                if start < code.range.end && start + size > code.range.start {
                    return Err("something else lies inside of the fat binaries".into());
                }
            }
        }
        Ok(())
    }
}

/// Whether an ELF is for a machine for which there is no CUDA.
pub(super) fn is_foreign(data: &[u8]) -> bool {
    // Headers of 32 bits are shorter, and begin in the same way.
    let (Some([class, order]), Some(machine)) = (data.get(4..6), data.get(18..20)) else { return false };
    let machine = u16::from_le_bytes([machine[0], machine[1]]);
    (*class, *order) != (raw::ELFCLASS64, 1) || ![EM_X86_64, EM_AARCH64].contains(&machine)
}

pub(super) fn counts(code: &[Code<'_>]) -> Counts {
    let mut sum = Counts::default();
    for code in code {
        sum.add(code.new.counts);
    }
    sum
}

/// The entries of a table in the file.
pub(super) fn table<T: FromBytes + Immutable + KnownLayout + zerocopy::Unaligned>(
    data: &[u8],
    offset: u64,
    count: usize,
) -> Option<&[T]> {
    let rest = data.get(usize::try_from(offset).ok()?..)?;
    <[T]>::ref_from_prefix_with_elems(rest, count).ok().map(|(table, _)| table)
}

/// All of a section as entries of a table.
pub(super) fn entries<T: FromBytes + Immutable + KnownLayout + zerocopy::Unaligned>(data: &[u8]) -> &[T] {
    table(data, 0, data.len() / size_of::<T>()).unwrap_or(&[])
}
