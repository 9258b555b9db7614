//! Fat binaries.

use solder_arch::{Arch, Suffix};
use solder_cubin::Cubin;
use solder_fatbin::{Builder, Flags, Kind, NewMember, Packing, compat_record};

use super::{bytes, elf};
use crate::corpus::{Corpus, Device};
use crate::rng::Rng;

const CONTAINER: &[(usize, usize)] = &[(0, 4), (4, 2), (6, 2), (8, 8), (8, 8)];
const CONTAINER_SIZE: usize = 16;
const MEMBER: &[(usize, usize)] = &[
    (0, 2),
    (2, 2),
    (4, 4),
    (4, 4),
    (8, 8),
    (8, 8),
    (16, 4),
    (16, 4),
    (20, 4),
    (24, 2),
    (26, 2),
    (28, 4),
    (32, 4),
    (36, 4),
    (40, 8),
    (40, 4),
    (41, 1),
    (48, 8),
    (56, 8),
    (56, 8),
];
/// In the fixed header of a member: its size, and that of the payload.
const HEADER_SIZE: usize = 4;
const PAYLOAD_SIZE: usize = 8;

/// A fat binary of device code, some of it in a group.
pub(super) fn build<'a>(rng: &mut Rng, devices: impl IntoIterator<Item = &'a Device>) -> Vec<u8> {
    let (mut builder, mut group) = (Builder::new(), Vec::new());
    let grouped = [0, 0, 50, 100][rng.below(4)];
    for device in devices {
        let arch = Arch::new(device.sm, suffix(device));
        let mut member = NewMember::new(Kind::Elf, arch, &device.bytes);
        member.compression = [Packing::None, Packing::Lz4, Packing::Zstd, Packing::Zstd][rng.below(4)];
        if rng.percent(50) {
            member.identifier = Some(b"f.cu");
        }
        if rng.percent(grouped) { group.push(member) } else { builder.push(&member) }
    }
    if !group.is_empty() {
        let packing = [Packing::Lz4, Packing::Zstd][rng.below(2)];
        builder.push_group(&group, packing, Flags(0)).expect("the inputs are short");
    }
    builder.finish()
}

fn suffix(device: &Device) -> Suffix {
    let cubin = Cubin::parse(&device.bytes).ok();
    let compat = cubin.as_ref().and_then(|cubin| cubin.section(".nv.compat"));
    let accelerated = compat.is_some_and(|section| compat_record(section.data).accelerated == 1);
    if accelerated { Suffix::A } else { Suffix::None }
}

/// Where the members begin, as far as their sizes can be followed.
fn members(file: &[u8]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut at = CONTAINER_SIZE;
    while let (Some(header), Some(payload)) =
        (bytes::get(file, at + HEADER_SIZE, 4), bytes::get(file, at + PAYLOAD_SIZE, 8))
    {
        starts.push(at);
        let next = (at as u64).saturating_add(header).saturating_add(payload);
        if header == 0 || next >= file.len() as u64 {
            break;
        }
        at = next as usize;
    }
    starts
}

pub(super) fn mutate(rng: &mut Rng, file: &mut Vec<u8>, corpus: &Corpus) {
    match rng.below(10) {
        0 => bytes::change_entry(rng, file, (0, CONTAINER_SIZE, 1), CONTAINER),
        1..=5 => {
            if let Some(&member) = rng.pick(&members(file)) {
                bytes::change_entry(rng, file, (member, 64, 1), MEMBER);
            }
        }
        // The list of a group, and the headers of its members.
        6 => {
            if let Some(&member) = rng.pick(&members(file)) {
                let list = member + 64;
                match rng.below(4) {
                    0 => bytes::change_entry(rng, file, (list, 8, 1), &[(0, 4), (4, 4)]),
                    _ => bytes::change_entry(rng, file, (list + 8, 64, 2), MEMBER),
                }
            }
        }
        // The strings after the fixed header, and the beginning of the payload.
        7 => {
            if let Some(&member) = rng.pick(&members(file)) {
                let at = member + 64 + rng.below(128);
                bytes::change(rng, file, at, 1);
            }
        }
        8 => {
            let at = rng.below(file.len());
            bytes::change(rng, file, at, 1);
        }
        _ => {
            // Sound containers with damaged code.
            let chosen = corpus.linked_together(rng);
            let damaged: Vec<Device> = chosen.iter().map(|&index| damage(rng, corpus, index)).collect();
            *file = build(rng, &damaged);
        }
    }
}

fn damage(rng: &mut Rng, corpus: &Corpus, index: usize) -> Device {
    let mut bytes = corpus.devices[index].bytes.clone();
    elf::mutate(rng, &mut bytes, corpus);
    corpus.devices[index].with_bytes(bytes)
}
