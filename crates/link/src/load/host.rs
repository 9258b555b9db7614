//! Host objects: the sections in which the host compiler keeps relocatable device code and what the host refers to.

use crate::roots::{REFERENCE_KINDS, ReferenceKind};
use object::elf::{FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, SectionHeader, SectionTable};
use object::{Endianness, ReadRef, SectionIndex};

const DEVICE_CODE: &[u8] = b"__nv_relfatbin";
/// Device code of whole programs, which is not linked.
const WHOLE_PROGRAM: &[u8] = b".nv_fatbin";
/// What the program finds its device code by. Without it nvlink looks for none.
const WRAPPER: &[u8] = b".nvFatBinSegment";
const MODULE_ID: &[u8] = b"__nv_module_id";
/// What all these names begin with.
const PREFIXES: [&[u8]; 4] = [b".nvHR", b"__nv_", b".nv_f", b".nvFa"];

/// What the ids of modules begin with that an earlier link has linked.
pub const LINKED: &[u8] = b"def ";

/// What a host object holds for the device linker.
#[derive(Clone, Debug, Default)]
pub struct HostObject<'data> {
    /// The section with the fat binaries.
    pub code: Option<&'data [u8]>,
    /// There is a wrapper for device code, but no section that holds any.
    pub lacks_code: bool,
    /// Ids of the modules in it, if there is code: more than one when host objects were combined.
    pub module_ids: Vec<&'data [u8]>,
    /// Of the output of a link (`nvcc -dlink`), the modules that were linked: texts that begin with [`LINKED`].
    pub linked: Vec<&'data [u8]>,
    /// Patterns in the order of reading, with the place of their kind among [`REFERENCE_KINDS`].
    pub references: Vec<(usize, &'data [u8])>,
    /// Whether the object says which kernels it refers to, even if there are none.
    pub lists_references: bool,
}

/// The section table cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

impl<'data> HostObject<'data> {
    /// Finds the sections of a relocatable ELF for the host.
    pub fn parse<R: ReadRef<'data>>(data: R) -> Result<Self, Unreadable> {
        // Only little-endian hosts run CUDA; the machine does not matter.
        match object::FileKind::parse(data) {
            Ok(object::FileKind::Elf64) => Self::read::<FileHeader64<Endianness>, R>(data),
            Ok(object::FileKind::Elf32) => Self::read::<FileHeader32<Endianness>, R>(data),
            _ => Err(Unreadable),
        }
    }

    /// Whether nothing in it concerns the device.
    pub fn is_empty(&self) -> bool {
        let has_references = self.lists_references || !self.references.is_empty();
        self.code.is_none() && !self.lacks_code && !has_references && self.linked.is_empty()
    }

    fn read<Elf: FileHeader<Endian = Endianness>, R: ReadRef<'data>>(data: R) -> Result<Self, Unreadable> {
        let header = Elf::parse(data).map_err(|_| Unreadable)?;
        let endian = header.endian().map_err(|_| Unreadable)?;
        if endian != Endianness::Little {
            return Err(Unreadable);
        }
        let sections: SectionTable<'_, Elf, _> = header.sections(endian, data).map_err(|_| Unreadable)?;
        if sections.is_empty() {
            return Err(Unreadable);
        }
        let size = data.len().map_err(|()| Unreadable)?;
        let mut found = Self::default();
        let mut module_ids = Vec::new();
        let (mut has_wrapper, mut has_whole_program) = (false, false);
        let names = names(header, endian, data, &sections);
        for section in sections.iter() {
            let name = match names {
                Some(names) => names.get(section.sh_name(endian) as usize..).filter(|name| !name.is_empty()),
                None => sections.section_name(endian, section).ok(),
            };
            let name = name.ok_or(Unreadable)?;
            if !PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
                continue;
            }
            has_wrapper |= is_named(name, WRAPPER);
            has_whole_program |= is_named(name, WHOLE_PROGRAM);
            let kind = REFERENCE_KINDS.iter().position(|(_, section)| is_named(name, section));
            let is_module_id = is_named(name, MODULE_ID);
            if kind.is_none() && !is_named(name, DEVICE_CODE) && !is_module_id {
                continue;
            }
            if is_module_id {
                let lies_in =
                    |(start, length): (u64, u64)| start.checked_add(length).is_some_and(|end| end <= size);
                if !section.file_range(endian).is_none_or(lies_in) {
                    return Err(Unreadable);
                }
                module_ids.push(section);
                continue;
            }
            let data = section.data(endian, data).map_err(|_| Unreadable)?;
            if let Some(kind) = kind {
                found.lists_references |= REFERENCE_KINDS[kind].0 == ReferenceKind::ExternalKernel;
                found.references.extend(strings(data).map(|pattern| (kind, pattern)));
            } else if found.code.is_none() {
                found.code = Some(data);
            }
        }
        found.lacks_code = has_wrapper && found.code.is_none() && !has_whole_program;
        found.code = found.code.filter(|_| has_wrapper);
        for section in module_ids {
            let data = section.data(endian, data).map_err(|_| Unreadable)?;
            if data.starts_with(LINKED) {
                found.linked.extend(strings(data));
            } else if found.code.is_some() {
                found.module_ids.extend(strings(data));
                if found.module_ids.is_empty() {
                    found.module_ids.push(b"");
                }
            }
        }
        Ok(found)
    }
}

/// The names of the sections, if each of them ends: then a name is all there is from its beginning on, and those that say
/// nothing to the device need not be read to their ends.
fn names<'data, Elf: FileHeader<Endian = Endianness>, R: ReadRef<'data>>(
    header: &Elf,
    endian: Endianness,
    data: R,
    sections: &SectionTable<'data, Elf, R>,
) -> Option<&'data [u8]> {
    let index = header.shstrndx(endian, data).ok()?;
    let section = sections.section(SectionIndex(index as usize)).ok()?;
    section.data(endian, data).ok().filter(|names| names.last() == Some(&0))
}

/// Whether a name, to its end or to the end of all names, is this one.
fn is_named(name: &[u8], known: &[u8]) -> bool {
    name.strip_prefix(known).is_some_and(|rest| rest.first().is_none_or(|byte| *byte == 0))
}

/// NUL-terminated strings, one after the other; padding makes empty ones.
fn strings(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    data.split(|&byte| byte == 0).filter(|string| !string.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A relocatable x86-64 ELF with these sections, the names after the header and the table at the end.
    fn elf(sections: &[(&str, &[u8])]) -> Vec<u8> {
        let mut file = vec![0; 64];
        file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        file[16..18].copy_from_slice(&1u16.to_le_bytes());
        file[18..20].copy_from_slice(&62u16.to_le_bytes());
        let mut names = vec![0];
        let mut headers = vec![[0u64; 8]];
        for (name, data) in sections {
            headers.push([names.len() as u64 | 1 << 32, 0, 0, file.len() as u64, data.len() as u64, 0, 1, 0]);
            names.extend_from_slice(name.as_bytes());
            names.push(0);
            file.extend_from_slice(data);
        }
        headers.push([3 << 32, 0, 0, file.len() as u64, names.len() as u64, 0, 1, 0]);
        file.extend_from_slice(&names);
        let table = file.len() as u64;
        for header in &headers {
            file.extend(header.iter().flat_map(|word| word.to_le_bytes()));
        }
        file[40..48].copy_from_slice(&table.to_le_bytes());
        file[52..54].copy_from_slice(&64u16.to_le_bytes());
        file[58..60].copy_from_slice(&64u16.to_le_bytes());
        file[60..62].copy_from_slice(&(headers.len() as u16).to_le_bytes());
        file[62..64].copy_from_slice(&(headers.len() as u16 - 1).to_le_bytes());
        file
    }

    fn sample() -> Vec<u8> {
        elf(&[
            (".text", b"code"),
            ("__nv_relfatbin", b"fat"),
            (".nvFatBinSegment", b"wrapper"),
            ("__nv_module_id", b"_one_cu\0_two_cu\0"),
            (".nvHRKE", b"_Z1kPi*\0\0"),
            (".nvHRDE", b"\0"),
        ])
    }

    #[test]
    fn sections_are_found() {
        let data = sample();
        let host = HostObject::parse(data.as_slice()).expect("readable");
        assert_eq!(host.code, Some(&b"fat"[..]));
        assert_eq!(host.module_ids, [b"_one_cu", b"_two_cu"]);
        assert_eq!(host.references, [(0, &b"_Z1kPi*"[..])]);
        assert!(host.lists_references);
        let data = elf(&[(".text", b"code"), ("__nv_module_id", b"def _one_cu\0\0def _two_cu")]);
        let linked = HostObject::parse(data.as_slice()).expect("readable");
        assert!(linked.code.is_none() && !linked.is_empty());
        assert_eq!(linked.linked, [b"def _one_cu", b"def _two_cu"]);
        let data = elf(&[(".text", b"code")]);
        let plain = HostObject::parse(data.as_slice()).expect("readable");
        assert!(plain.code.is_none() && !plain.lists_references);
    }

    #[test]
    fn cut_at_every_byte_it_is_unreadable() {
        let data = sample();
        for end in 0..data.len() {
            assert!(HostObject::parse(&data[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn every_byte_changed_never_panics() {
        let data = sample();
        for at in 0..data.len() {
            for value in [0x00, 0x01, 0x7f, 0x80, 0xff] {
                let mut data = data.clone();
                data[at] = value;
                let _ = HostObject::parse(data.as_slice());
            }
        }
    }
}
