//! Host objects: the sections in which the host compiler keeps relocatable device code and what the host refers to.

use object::Endianness;
use object::elf::{FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, SectionHeader, SectionTable};

/// The kinds of references that host code makes to device code, with the section that lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceKind {
    ExternalKernel,
    InternalKernel,
    ExternalConstant,
    InternalConstant,
    ExternalVariable,
    InternalVariable,
}

impl ReferenceKind {
    pub const fn is_kernel(self) -> bool {
        matches!(self, Self::ExternalKernel | Self::InternalKernel)
    }
}

pub const REFERENCE_KINDS: [(ReferenceKind, &[u8]); 6] = [
    (ReferenceKind::ExternalKernel, b".nvHRKE"),
    (ReferenceKind::InternalKernel, b".nvHRKI"),
    (ReferenceKind::ExternalConstant, b".nvHRCE"),
    (ReferenceKind::InternalConstant, b".nvHRCI"),
    (ReferenceKind::ExternalVariable, b".nvHRDE"),
    (ReferenceKind::InternalVariable, b".nvHRDI"),
];

const DEVICE_CODE: &[u8] = b"__nv_relfatbin";
const MODULE_ID: &[u8] = b"__nv_module_id";

/// What a host object holds for the device linker.
#[derive(Clone, Debug, Default)]
pub(super) struct HostObject<'data> {
    /// The section with the fat binaries.
    pub code: Option<&'data [u8]>,
    /// Ids of the modules in it: more than one when host objects were combined.
    pub module_ids: Vec<&'data [u8]>,
    /// Patterns by kind, in the order of [`REFERENCE_KINDS`].
    pub references: [Vec<&'data [u8]>; REFERENCE_KINDS.len()],
    /// Whether the object says which kernels it refers to, even if it is none.
    pub lists_references: bool,
}

/// The section table cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

impl<'data> HostObject<'data> {
    pub(super) fn parse(data: &'data [u8]) -> Result<Self, Unreadable> {
        // Only little-endian hosts run CUDA; the machine does not matter.
        match object::FileKind::parse(data) {
            Ok(object::FileKind::Elf64) => Self::read::<FileHeader64<Endianness>>(data),
            Ok(object::FileKind::Elf32) => Self::read::<FileHeader32<Endianness>>(data),
            _ => Err(Unreadable),
        }
    }

    fn read<Elf: FileHeader<Endian = Endianness>>(data: &'data [u8]) -> Result<Self, Unreadable> {
        let header = Elf::parse(data).map_err(|_| Unreadable)?;
        let endian = header.endian().map_err(|_| Unreadable)?;
        if endian != Endianness::Little {
            return Err(Unreadable);
        }
        let sections: SectionTable<'_, Elf, _> = header.sections(endian, data).map_err(|_| Unreadable)?;
        if sections.is_empty() {
            return Err(Unreadable);
        }
        let mut found = Self::default();
        for section in sections.iter() {
            let name = sections.section_name(endian, section).map_err(|_| Unreadable)?;
            let kind = REFERENCE_KINDS.iter().position(|(_, section)| *section == name);
            if kind.is_none() && name != DEVICE_CODE && name != MODULE_ID {
                continue;
            }
            let data = section.data(endian, data).map_err(|_| Unreadable)?;
            if let Some(kind) = kind {
                found.lists_references |= REFERENCE_KINDS[kind].0 == ReferenceKind::ExternalKernel;
                found.references[kind].extend(strings(data));
            } else if name == MODULE_ID {
                found.module_ids.extend(strings(data));
            } else if found.code.is_none() {
                found.code = Some(data);
            }
        }
        Ok(found)
    }
}

/// NUL-terminated strings, one after the other; padding makes empty ones.
fn strings(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    data.split(|&byte| byte == 0).filter(|string| !string.is_empty())
}
