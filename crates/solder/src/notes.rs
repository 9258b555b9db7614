//! `.note.nv.tkinfo`, `.note.nv.cuinfo` and `.nv.compat` of the output.

use crate::mercury;
use crate::object::{Object, Role};
use solder_arch::{Arch, Suffix};
use solder_cubin::info::{format, records, write_record};
use solder_cubin::note::{self, CudaInfo, ToolInfo};
use solder_cubin::raw;

/// The toolkit whose linker this one stands in for.
pub const TOOLKIT: u32 = 130;

/// The linker's own note, then those of the inputs in their order.
pub fn tool_note(own: &ToolInfo<'_>, objects: &[Object<'_>], with_inputs: bool) -> Vec<u8> {
    let mut out = Vec::new();
    note::write_note(&mut out, note::TYPE_TKINFO, &own.descriptor());
    if with_inputs {
        for section in objects.iter().filter_map(|o| o.first(Role::ToolNote)) {
            out.extend(section.data);
        }
    }
    out
}

/// The lowest virtual architecture among the inputs.
pub fn cuda_note(objects: &[Object<'_>], target: u16) -> Vec<u8> {
    let virtual_sm = objects.iter().map(virtual_sm).min().unwrap_or(target);
    CudaInfo { version: 2, virtual_sm, toolkit: TOOLKIT }.section()
}

/// What an object says about its origin, in the note that the header's flags point to.
fn cuda_info(object: &Object<'_>) -> Option<CudaInfo> {
    let index = object.cubin.header.flags.get() >> 24;
    let note = object.cubin.section_at(index).filter(|s| s.sh_type() == raw::SHT_NOTE)?;
    if object.cubin.header.is_current() { CudaInfo::parse(note.data) } else { None }
}

fn virtual_sm(object: &Object<'_>) -> u16 {
    if !object.cubin.header.is_current() {
        return (object.cubin.header.flags.get() >> 16 & 0xff) as u16;
    }
    cuda_info(object).map_or(0, |info| info.virtual_sm)
}

/// The toolkit of the tool that made an object, if it is another than the linker's. (The number in the other note came
/// with 13.0.)
pub fn other_toolkit(object: &Object<'_>) -> Option<String> {
    let notes = object.first(Role::ToolNote)?.data;
    let tool = note::notes(notes).find_map(|note| ToolInfo::parse(note.desc))?;
    let release = tool.version.split_once("release ")?.1.split(',').next()?;
    let own = format!("{}.{}", TOOLKIT / 10, TOOLKIT % 10);
    (release != own).then(|| release.to_owned())
}

/// Whether an object comes from a toolkit older than 10.0, or does not say where it comes from.
pub fn is_older_than_10(object: &Object<'_>) -> bool {
    if let Some(toolkit) = object.cubin.header.older_toolkit() {
        return toolkit < 100;
    }
    object.mercury.is_none() && cuda_info(object).is_none_or(|info| info.version < 2 || info.toolkit < 100)
}

mod compat_attr {
    pub const ISA_CLASS: u8 = 0x02;
    pub const INST_TENSORMAP_V1: u8 = 0x03;
    pub const INST_TCGEN05_MMA: u8 = 0x05;
    pub const OPPORTUNISTIC_FINALIZATION: u8 = 0x06;
    pub const MERCURY_ISA_VERSION: u8 = 0x07;
    pub const ACCELERATOR_TARGET: u8 = 0x09;
    pub const FASTPATH_FINALIZE: u8 = 0x0b;
}

/// The version of Mercury in objects that do not name one: 1.0.
pub const OLDEST_MERCURY: [u8; 2] = [0, 1];

/// The first architecture whose code has compatibility records.
pub const COMPAT_FROM: u16 = 90;

/// The compatibility records of the first input, each merged with those of the others. Where no
/// input has any (objects of toolkits before 13.0) it says only whether the target is an `a` architecture.
pub fn compat(objects: &[Object<'_>], target: Arch, fastpath: u64) -> Vec<u8> {
    let accelerated = target.suffix == Suffix::A;
    let mut out = Vec::new();
    let mut sections: Vec<_> = objects.iter().filter_map(|o| o.first(Role::Compat)).collect();
    if sections.is_empty() {
        write_record(&mut out, format::BYTE, compat_attr::ACCELERATOR_TARGET, &[u8::from(accelerated), 0]);
        if target.number >= mercury::FROM {
            write_record(&mut out, format::SIZED, compat_attr::FASTPATH_FINALIZE, &fastpath.to_le_bytes());
        }
        return out;
    }
    // Objects of one compilation say the same, and to hear it once is enough for all that follows.
    sections.dedup_by_key(|section| section.data);
    let Some(first) = sections.first() else { return out };
    // Objects of 12.9 lack the newer records. They get the one for `a` architectures at the beginning and the others
    // at the end.
    let has = |attr| records(first.data).flatten().any(|r| r.attr == attr);
    let adds = |attr| target.number >= mercury::FROM && !has(attr);
    if adds(compat_attr::ACCELERATOR_TARGET) {
        write_record(&mut out, format::BYTE, compat_attr::ACCELERATOR_TARGET, &[u8::from(accelerated), 0]);
    }
    for record in records(first.data).flatten() {
        let values = || {
            let of = |data| records(data).flatten().find(|r| r.attr == record.attr);
            sections.iter().filter_map(move |s| of(s.data)).map(|r| r.payload)
        };
        let byte = |at: usize| values().filter_map(move |p| p.get(at).copied());
        let own = record.payload.first().copied().unwrap_or(0);
        let max = |at: usize| byte(at).max().unwrap_or(0);
        let merged = match record.attr {
            compat_attr::ACCELERATOR_TARGET => [u8::from(accelerated), 0],
            compat_attr::ISA_CLASS => [max(0), 0],
            compat_attr::INST_TCGEN05_MMA => [merge_tcgen05(&byte(0), own), 0],
            compat_attr::MERCURY_ISA_VERSION => [max(0), max(1)],
            compat_attr::INST_TENSORMAP_V1 => [byte(0).fold(0, |a, b| a | b), 0],
            compat_attr::OPPORTUNISTIC_FINALIZATION => [if byte(0).all(|b| b == own) { own } else { 1 }, 0],
            compat_attr::FASTPATH_FINALIZE if target.number < mercury::FROM => continue,
            compat_attr::FASTPATH_FINALIZE => {
                write_record(&mut out, record.format, record.attr, &fastpath.to_le_bytes());
                continue;
            }
            _ => {
                record.write(&mut out);
                continue;
            }
        };
        write_record(&mut out, record.format, record.attr, &merged);
    }
    if adds(compat_attr::MERCURY_ISA_VERSION) {
        write_record(&mut out, format::HALF, compat_attr::MERCURY_ISA_VERSION, &OLDEST_MERCURY);
    }
    if adds(compat_attr::FASTPATH_FINALIZE) {
        write_record(&mut out, format::SIZED, compat_attr::FASTPATH_FINALIZE, &fastpath.to_le_bytes());
    }
    out
}

/// Two fields of two bits: 0 if any input has 0 there, else the largest; the rest from the first.
fn merge_tcgen05(values: &(impl Iterator<Item = u8> + Clone), first: u8) -> u8 {
    let field = |shift: u32| {
        let values = values.clone().map(move |v| v >> shift & 3);
        let largest = values.clone().max().unwrap_or(0);
        if values.clone().any(|v| v == 0) { 0 } else { largest << shift }
    };
    first & 0xf0 | field(0) | field(2)
}
