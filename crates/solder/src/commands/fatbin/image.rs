//! One member of the new fat binary.

use std::fs;

use solder_arch::Arch;
use solder_cubin::{Cubin, raw};
use solder_fatbin::{Kind, NewMember, Packing};

use super::options::{How, Image, Mode};
use super::ptx;

/// The version of machine code; the minor one is that of its ELF.
const ELF_VERSION: u16 = 1;
/// What LTO IR begins with. Its version follows, a byte each for major and minor.
const IR_MAGIC: [u8; 4] = [0xed, 0x43, 0x4e, 0x7f];

/// What is stored of an image.
pub(super) struct Stored {
    kind: Kind,
    arch: Arch,
    content: Vec<u8>,
    version: (u16, u16),
    options: Option<Vec<u8>>,
}

impl Stored {
    pub(super) fn read(image: &Image, how: &How) -> Result<Self, String> {
        let bytes = fs::read(&image.file).map_err(|error| error.to_string())?;
        Self::of(image.kind, image.arch, bytes, how)
    }

    pub(super) fn of(kind: Kind, arch: Arch, bytes: Vec<u8>, how: &How) -> Result<Self, String> {
        let (version, options, content) = match kind {
            Kind::Ptx => {
                let version = ptx::version(&bytes).ok_or("there is no .version in it")?;
                (version, Some(how.command_line.clone().into_bytes()), ptx::stored(&bytes))
            }
            Kind::LtoIr if packing(kind, how) != Packing::None => {
                return Err(
                    "NVIDIA's tools scramble LTO IR when they compress it; give --compress-mode=none".into(),
                );
            }
            Kind::LtoIr => {
                let version = bytes.strip_prefix(&IR_MAGIC).and_then(<[u8]>::first_chunk);
                let [major, minor] = *version.ok_or("it is not LTO IR")?;
                let options = Some(how.compiler_options.clone().into_bytes());
                ((major.into(), minor.into()), options, bytes)
            }
            _ => {
                let options = attributes(&bytes, arch)?;
                ((ELF_VERSION, elf_version(&bytes)), options, bytes)
            }
        };
        Ok(Self { kind, arch, content, version, options })
    }

    pub(super) fn member<'a>(&'a self, how: &'a How) -> NewMember<'a> {
        let member = NewMember::new(self.kind, self.arch, &self.content);
        NewMember {
            compression: packing(self.kind, how),
            version: self.version,
            identifier: how.identifier.as_deref().map(str::as_bytes),
            options: self.options.as_deref(),
            flags: member.flags.with(how.flags()),
            ..member
        }
    }
}

/// The members that fatbinary groups: PTX, machine code, and Mercury. LTO IR is never grouped.
pub(super) const GROUPS: [fn(&NewMember<'_>) -> bool; 3] = [
    |member| member.kind == Kind::Ptx,
    |member| member.kind == Kind::Elf && !member.arch.is_mercury(),
    |member| member.kind == Kind::Elf && member.arch.is_mercury(),
];

/// How a group is compressed, whatever its members are.
pub(super) fn group_packing(how: &How) -> Packing {
    packing(Kind::Ptx, how)
}

/// Which images are compressed: PTX always, machine code that is still to be linked or to be debugged, or if it is asked for.
fn packing(kind: Kind, how: &How) -> Packing {
    let packs = kind != Kind::Elf || how.relocatable || how.debug || how.all || how.mode == Mode::Size;
    match how.mode {
        Mode::None => Packing::None,
        _ if !packs => Packing::None,
        Mode::Default => Packing::Zstd,
        Mode::Size => Packing::Smallest,
        Mode::Speed => Packing::Lz4,
    }
}

/// The version of the code's ELF: 8 of CUDA 13, 7 before.
fn elf_version(bytes: &[u8]) -> u16 {
    bytes.get(8).copied().unwrap_or(0).into()
}

/// Checks that a cubin is for the architecture (fatbinary compares only the number). Gives the compatibility attributes of Mercury
/// code, after an empty text.
fn attributes(bytes: &[u8], arch: Arch) -> Result<Option<Vec<u8>>, String> {
    let cubin = Cubin::parse(bytes).map_err(|error| error.to_string())?;
    if cubin.header.machine.get() != raw::EM_CUDA {
        return Err("it is not a cubin".into());
    }
    let number = cubin.sm();
    if number != arch.number {
        return Err(format!("it is for sm_{number}, not for sm_{arch}"));
    }
    let compat = cubin.section(".nv.compat").map(|section| section.data);
    let text = |records: &[u8]| {
        let mut text = [&[0], records].concat();
        // The length of a text is without the NUL after it, and here one is added.
        text.pop_if(|last| *last == 0);
        text
    };
    Ok(compat.filter(|_| arch.is_mercury()).map(text))
}
