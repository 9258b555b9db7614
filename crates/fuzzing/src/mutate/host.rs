//! Host objects.

use solder_cubin::edit::with_section;
use solder_cubin::raw::{self, FileHeader, SectionHeader};
use zerocopy::IntoBytes;

use super::{bytes, elf, fatbin};
use crate::corpus::{Corpus, Device, Kind};
use crate::rng::Rng;

const EM_X86_64: u16 = 62;
/// The sections of a host object with device code, in the order in which [`of_device`] writes them.
const NAMES: [&str; 6] = ["", "__nv_relfatbin", "__nv_module_id", ".nvHRKE", ".nvFatBinSegment", ".shstrtab"];

/// A host object as the host compiler leaves it, as far as the device linker looks.
pub(super) fn of_device(rng: &mut Rng, device: &Device) -> Vec<u8> {
    let code = fatbin::build(rng, [device]);
    let mut names = Vec::new();
    let mut file = vec![0; size_of::<FileHeader>()];
    let mut sections = Vec::new();
    for (index, name) in NAMES.into_iter().enumerate() {
        let mut header = SectionHeader::default();
        header.name.set(names.len() as u32);
        names.extend_from_slice(name.as_bytes());
        names.push(0);
        let data: &[u8] = match index {
            1 => &code,
            2 => b"module_0\0",
            3 => b"_Z1kPi\0",
            5 => &names,
            _ => &[],
        };
        if index > 0 {
            file.resize(file.len().next_multiple_of(8), 0);
            header.sh_type.set(raw::SHT_PROGBITS);
            header.offset.set(file.len() as u64);
            header.size.set(data.len() as u64);
            header.align.set(8);
            file.extend_from_slice(data);
        }
        sections.push(header);
    }
    file.resize(file.len().next_multiple_of(8), 0);
    let mut header = FileHeader::default();
    header.ident[..4].copy_from_slice(&raw::ELF_MAGIC);
    header.ident[4..7].copy_from_slice(&[raw::ELFCLASS64, 1, 1]);
    header.e_type.set(raw::ET_REL);
    header.machine.set(EM_X86_64);
    header.version.set(1);
    header.ehsize.set(64);
    header.shentsize.set(64);
    header.shoff.set(file.len() as u64);
    header.shnum.set(sections.len() as u16);
    header.shstrndx.set(sections.len() as u16 - 1);
    file[..size_of::<FileHeader>()].copy_from_slice(header.as_bytes());
    file.extend_from_slice(sections.as_bytes());
    file
}

pub(super) fn mutate(rng: &mut Rng, file: &mut Vec<u8>, corpus: &Corpus) {
    match rng.below(8) {
        0 => bytes::change_entry(
            rng,
            file,
            (0, 64, 1),
            &[(4, 1), (5, 1), (16, 2), (40, 8), (58, 2), (60, 2), (62, 2)],
        ),
        1 | 2 => elf::section_header(rng, file),
        3 => elf::entry(rng, file),
        4 => {
            let at = rng.below(file.len());
            bytes::change(rng, file, at, 1);
        }
        _ => code(rng, file, corpus),
    }
}

/// Damages the fat binary in the object, which may grow.
fn code(rng: &mut Rng, file: &mut Vec<u8>, corpus: &Corpus) {
    let sections = elf::sections(file);
    let is_code =
        |place: &elf::Place| Kind::of(&file[place.start..place.start + place.size]) == Some(Kind::Fatbin);
    let Some(index) = sections.iter().position(is_code) else { return };
    let place = sections[index];
    let mut data = file[place.start..place.start + place.size].to_vec();
    fatbin::mutate(rng, &mut data, corpus);
    if rng.percent(20) {
        data.resize(data.len().next_multiple_of(8), 0);
        data.extend_from_within(..);
    }
    if let Some(changed) = with_section(file, index, &data) {
        *file = changed;
    }
}
