//! Host objects, executables and shared libraries: the device code in them, and what host code refers to.

use object::elf::{EM_AARCH64, EM_X86_64, ET_DYN, ET_EXEC, ET_REL, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, FileKind};

use crate::json::Json;
use solder_link::roots::REFERENCE_KINDS;

/// Sections with fat binaries: code to be linked, and code that is linked or never needed it.
const CODE: [(&[u8], &str); 2] = [(b"__nv_relfatbin", "relocatable"), (b".nv_fatbin", LINKED)];
const LINKED: &str = "linked";
const MODULE_ID: &[u8] = b"__nv_module_id";

pub struct Host {
    pub kind: &'static str,
    pub machine: &'static str,
    pub module_ids: Vec<String>,
    /// Patterns of the kernels and variables that host code refers to.
    pub references: Vec<String>,
}

/// Containers one after the other, with whether they are still to be linked.
type Containers<'data> = (&'static str, &'data [u8]);

impl Host {
    pub fn read(data: &[u8]) -> Result<(Self, Vec<Containers<'_>>), String> {
        match FileKind::parse(data) {
            Ok(FileKind::Elf64) => Self::read_class::<FileHeader64<Endianness>>(data),
            Ok(FileKind::Elf32) => Self::read_class::<FileHeader32<Endianness>>(data),
            _ => Err("an ELF of no known class".into()),
        }
    }

    fn read_class<Elf: FileHeader<Endian = Endianness>>(
        data: &[u8],
    ) -> Result<(Self, Vec<Containers<'_>>), String> {
        let text = |error: object::Error| error.to_string();
        let header = Elf::parse(data).map_err(text)?;
        let endian = header.endian().map_err(text)?;
        let sections = header.sections(endian, data).map_err(text)?;
        let mut host = Self {
            kind: match header.e_type(endian) {
                ET_REL => "host object",
                ET_EXEC => "host executable",
                ET_DYN => "host executable or shared library",
                _ => "host file",
            },
            machine: match header.e_machine(endian) {
                EM_X86_64 => "x86-64",
                EM_AARCH64 => "AArch64",
                _ => "another machine",
            },
            module_ids: Vec::new(),
            references: Vec::new(),
        };
        let mut containers = Vec::new();
        for section in sections.iter() {
            let name = sections.section_name(endian, section).map_err(text)?;
            let code = CODE.iter().find(|(known, _)| *known == name);
            let refers = REFERENCE_KINDS.iter().any(|(_, known)| *known == name);
            if code.is_none() && !refers && name != MODULE_ID {
                continue;
            }
            let data = section.data(endian, data).map_err(text)?;
            if let Some((_, form)) = code {
                containers.push((*form, data));
            } else if refers {
                host.references.extend(strings(data));
            } else {
                host.module_ids.extend(strings(data));
            }
        }
        // cuobjdump counts those of linked code first, wherever the sections are.
        containers.sort_by_key(|(form, _)| *form != LINKED);
        Ok((host, containers))
    }

    pub fn fields(&self) -> Vec<(&'static str, Json)> {
        vec![
            ("machine", self.machine.into()),
            ("module_ids", self.module_ids.iter().collect()),
            ("references", self.references.iter().collect()),
        ]
    }
}

fn strings(data: &[u8]) -> impl Iterator<Item = String> {
    let strings = data.split(|&byte| byte == 0).filter(|string| !string.is_empty());
    strings.map(|string| String::from_utf8_lossy(string).into_owned())
}
