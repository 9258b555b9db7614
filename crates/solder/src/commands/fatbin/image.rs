//! One member of the new fat binary.

use std::fs;

use solder_arch::Arch;
use solder_cubin::{Cubin, raw};
use solder_fatbin::{Builder, Flags, Kind, NewMember, Packing};

use super::options::{How, Image, Mode};
use super::ptx;

/// The version of machine code.
const ELF_VERSION: (u16, u16) = (1, 8);
/// What LTO IR begins with. Its version follows, a byte each for major and minor.
const IR_MAGIC: [u8; 4] = [0xed, 0x43, 0x4e, 0x7f];

pub(super) fn add(image: &Image, how: &How, builder: &mut Builder) -> Result<(), String> {
    let bytes = fs::read(&image.file).map_err(|error| error.to_string())?;
    add_bytes(image.kind, image.arch, &bytes, how, builder)
}

pub(super) fn add_bytes(
    kind: Kind,
    arch: Arch,
    bytes: &[u8],
    how: &How,
    builder: &mut Builder,
) -> Result<(), String> {
    let packing = packing(kind, how);
    let debug = if how.debug { Flags::DEBUG } else { Flags(0) };
    let identifier = how.identifier.as_deref().map(str::as_bytes);
    let make = |content: &[u8], version, options: Option<&[u8]>, builder: &mut Builder| {
        let member = NewMember::new(kind, arch, content);
        let flags = member.flags.with(debug);
        builder.push(&NewMember { compression: packing, version, identifier, options, flags, ..member });
    };
    match kind {
        Kind::Ptx => {
            let version = ptx::version(bytes).ok_or("there is no .version in it")?;
            make(&ptx::stored(bytes), version, Some(how.command_line.as_bytes()), builder);
        }
        Kind::LtoIr if packing != Packing::None => {
            return Err(
                "NVIDIA's tools scramble LTO IR when they compress it; give --compress-mode=none".into()
            );
        }
        Kind::LtoIr => {
            let version = bytes.strip_prefix(&IR_MAGIC).and_then(<[u8]>::first_chunk);
            let [major, minor] = *version.ok_or("it is not LTO IR")?;
            let options = Some(how.compiler_options.as_bytes());
            make(bytes, (major.into(), minor.into()), options, builder);
        }
        _ => make(bytes, ELF_VERSION, attributes(bytes, arch)?.as_deref(), builder),
    }
    Ok(())
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
