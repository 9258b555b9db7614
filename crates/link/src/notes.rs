//! `.note.nv.tkinfo`, `.note.nv.cuinfo` and `.nv.compat` of the output.

use crate::fastpath::Fastpath;
use crate::model::mercury;
use crate::model::object::{Object, Role};
use crate::options::{Options, Tool};
use bstr::BStr;
use solder_arch::{Arch, Release, Suffix};
use solder_cubin::info::{Record, compat_attr, format, records, write_record};
use solder_cubin::note::{self, CudaInfo, ToolInfo};
use solder_cubin::raw;

/// The linker's own note, then those of the inputs in their order.
fn tool_note(own: &ToolInfo<'_>, objects: &[Object<'_>], with_inputs: bool) -> Vec<u8> {
    let mut out = Vec::new();
    note::write_note(&mut out, note::TYPE_TKINFO, &own.descriptor());
    if with_inputs {
        for section in objects.iter().filter_map(|o| o.first(Role::ToolNote)) {
            out.extend(section.data);
        }
    }
    out
}

const VERSION: &str = concat!("solder ", env!("CARGO_PKG_VERSION"));

/// The words of the linker's own entry of the tool note. They are as long as those of the linker that is replaced, so that
/// two outputs differ in nothing but these words.
struct Words {
    tool: &'static str,
    replaced: &'static str,
    build_length: usize,
}

const fn words(tool: Tool) -> Words {
    match tool {
        Tool::Nvlink => Words { tool: "solder", replaced: "nvlink", build_length: 41 },
        Tool::NvJitLink => Words { tool: "solderJIT", replaced: "nvJitLink", build_length: 47 },
    }
}

/// The length of the version in the entry of the linker that is replaced.
fn version_length(release: &Release) -> usize {
    format!("Cuda compilation tools, release {}, V{}", release.name, release.version).len()
}

fn padded(text: &str, length: usize) -> String {
    format!("{text:<length$.length$}")
}

/// The tool note of the output.
pub fn own_note(options: &Options<'_>, objects: &[Object<'_>]) -> Vec<u8> {
    let crate::options::Record { tool, object, command_line, paths } = &options.record;
    let Words { tool, replaced, build_length } = words(*tool);
    let version = format!("{VERSION}, as {replaced} {}", options.release.version);
    let version = padded(&version, version_length(options.release));
    let build = padded(VERSION, build_length);
    let own = ToolInfo {
        object: BStr::new(object),
        tool: BStr::new(tool),
        version: BStr::new(&version),
        build: BStr::new(&build),
        command_line: BStr::new(command_line),
    };
    paths.applied(tool_note(&own, objects, !options.relocatable))
}

/// The note with the toolkit.
pub fn cuda_note(virtual_sm: u16, release: &Release) -> Vec<u8> {
    CudaInfo { version: 2, virtual_sm, toolkit: release.toolkit }.section()
}

/// The lowest virtual architecture among the inputs.
pub fn lowest_virtual_sm(objects: &[Object<'_>], target: u16, release: &Release) -> u16 {
    objects.iter().map(|object| virtual_sm(object, release)).min().unwrap_or(target)
}

/// Whether all inputs were compiled for architectures on which the threads of a warp run in step. Such code may rely on it, so that
/// none of it lets other threads of a warp run (reloc/yields).
pub fn run_in_step(objects: &[Object<'_>], release: &Release) -> bool {
    objects.iter().all(|object| virtual_sm(object, release) < FIRST_INDEPENDENT)
}

/// The first architecture that schedules the threads of a warp independently.
const FIRST_INDEPENDENT: u16 = 70;

/// Whether an object has the header of 13.0, and the release knows it.
fn is_current(object: &Object<'_>, release: &Release) -> bool {
    release.reads_abi_8() && object.cubin.header.is_current()
}

/// What an object says about its origin, in the note that the header's flags point to.
fn cuda_info(object: &Object<'_>) -> Option<CudaInfo> {
    let index = object.cubin.header.flags.get() >> 24;
    let note = object.cubin.section_at(index).filter(|s| s.sh_type() == raw::SHT_NOTE)?;
    if object.cubin.header.is_current() { CudaInfo::parse(note.data) } else { None }
}

/// Whether the note is in the form of 12.x, which names no toolkit.
pub fn has_older_note(object: &Object<'_>) -> bool {
    cuda_info(object).is_none_or(|info| info.version < 2)
}

/// The virtual architecture that an object was compiled for.
pub fn virtual_sm(object: &Object<'_>, release: &Release) -> u16 {
    if !is_current(object, release) || !release.reads_notes() {
        return (object.cubin.header.flags.get() >> 16 & 0xff) as u16;
    }
    cuda_info(object).map_or(0, |info| info.virtual_sm)
}

/// Whether an object comes from a toolkit older than 10.0, or does not say where it comes from.
pub fn is_older_than_10(object: &Object<'_>, release: &Release) -> bool {
    if !is_current(object, release) || !release.reads_notes() {
        return object.cubin.header.version.get() < 100;
    }
    if !release.reads_toolkit_of_notes() {
        return true;
    }
    object.mercury.is_none() && cuda_info(object).is_none_or(|info| info.version < 2 || info.toolkit < 100)
}

/// The version of Mercury in objects that do not name one: 1.0.
pub const OLDEST_MERCURY: [u8; 2] = [0, 1];

/// The first architecture whose code has compatibility records.
pub const COMPAT_FROM: u16 = 90;

/// Values of two of them with which code is for one architecture only.
const OWN_ARCHITECTURE: u8 = 4;
const OWN_TCGEN05: u8 = 2;

/// The same of those that all architectures of the family have.
const ALL_TCGEN05: u8 = 1;

/// A record that an input may have.
struct Known {
    format: u8,
    attr: u8,
    /// What nvlink assumes where an input does not have it.
    default: [u8; 2],
    /// The toolkit that knows it first.
    since: u32,
    /// The toolkit from which on it is not written if it has the default value.
    implied_since: u32,
}

const fn known(format: u8, attr: u8, default: [u8; 2], since: u32, implied_since: u32) -> Known {
    Known { format, attr, default, since, implied_since }
}

/// No toolkit leaves it out.
const NEVER: u32 = u32::MAX;

/// The records that every input should have, in the order in which nvlink looks for them.
const KNOWN: [Known; 7] = [
    known(format::BYTE, compat_attr::ISA_CLASS, [0, 0], 0, NEVER),
    known(format::BYTE, compat_attr::INST_TENSORMAP_V1, [3, 0], 0, NEVER),
    known(format::BYTE, compat_attr::INST_TCGEN05_MMA, [0, 0], 0, 131),
    known(format::BYTE, compat_attr::OPPORTUNISTIC_FINALIZATION, [1, 0], 0, 131),
    known(format::HALF, compat_attr::MERCURY_ISA_VERSION, OLDEST_MERCURY, 0, 133),
    known(format::BYTE, compat_attr::INTERNAL_TARGET, [2, 0], 134, NEVER),
    known(format::HALF, compat_attr::ISA_VERSION, OLDEST_MERCURY, 133, NEVER),
];

fn known_to(release: &Release) -> impl Iterator<Item = &'static Known> {
    KNOWN.iter().filter(|known| known.since <= release.toolkit)
}

/// The compatibility records of all inputs that have any, each merged with the values of the others. Objects of
/// toolkits before 13.0 have none for sm_90.
pub fn compat(objects: &[Object<'_>], target: Arch, fastpath: Fastpath, release: &Release) -> Vec<u8> {
    let mut sections: Vec<_> = objects.iter().filter_map(|o| o.first(Role::Compat)).collect();
    // Objects of one compilation say the same, and to hear it once is enough for all that follows.
    sections.dedup_by_key(|section| section.data);
    let is_accelerated = target.suffix == Suffix::A;
    let mut merged = vec![CompatValue {
        format: format::BYTE,
        attr: compat_attr::ACCELERATOR_TARGET,
        value: u64::from(is_accelerated),
    }];
    for section in &sections {
        take_compat(&mut merged, section.data, release);
    }
    // Mercury code gets both of these anew, whatever the inputs say.
    let is_mercury = target.number >= mercury::FROM;
    let in_all = |attr| sections.iter().all(|section| has(section.data, attr));
    merged.retain(|value| value.attr != compat_attr::FINALIZER_VERSION || !is_mercury && in_all(value.attr));
    if is_mercury {
        let is_tied = merged.iter().any(|value| value.keeps_to_its_number(is_accelerated, release));
        set(&mut merged, format::SIZED, compat_attr::FASTPATH_FINALIZE, fastpath.bits(is_tied));
        if release.names_its_finalizer() {
            set(
                &mut merged,
                format::HALF,
                compat_attr::FINALIZER_VERSION,
                release.finalizer_version().into(),
            );
        }
    }
    let mut out = Vec::new();
    for value in merged.iter().filter(|value| !value.is_implied(release)) {
        let length = if value.format == format::SIZED { 8 } else { 2 };
        write_record(&mut out, value.format, value.attr, &value.value.to_le_bytes()[..length]);
    }
    out
}

fn has(section: &[u8], attr: u8) -> bool {
    records(section).flatten().any(|record| record.attr == attr)
}

fn set(merged: &mut Vec<CompatValue>, format: u8, attr: u8, value: u64) {
    match merged.iter_mut().find(|known| known.attr == attr) {
        Some(known) => known.value = value,
        None => merged.push(CompatValue { format, attr, value }),
    }
}

/// Merges the records of one more input. What is not known is not taken over.
fn take_compat(merged: &mut Vec<CompatValue>, section: &[u8], release: &Release) {
    let is_taken = |attr: u8| {
        known_to(release).any(|known| known.attr == attr)
            || attr == compat_attr::FASTPATH_FINALIZE && release.keeps_fastpath_record()
            || attr == compat_attr::FINALIZER_VERSION && release.names_its_finalizer()
    };
    for Record { format, attr, payload } in records(section).flatten() {
        let value = if format == format::SIZED { first_eight(payload) } else { first_two(payload) };
        match merged.iter_mut().find(|known| known.attr == attr) {
            Some(known) => known.merge(value),
            None if is_taken(attr) => merged.push(CompatValue { format, attr, value }),
            None => {}
        }
    }
    for known in known_to(release).filter(|known| !has(section, known.attr)) {
        let (format, attr, value) = (known.format, known.attr, u16::from_le_bytes(known.default).into());
        match merged.iter_mut().find(|known| known.attr == attr) {
            Some(known) => known.merge(value),
            None => merged.push(CompatValue { format, attr, value }),
        }
    }
}

fn first_two(payload: &[u8]) -> u64 {
    payload.first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes).into())
}

fn first_eight(payload: &[u8]) -> u64 {
    payload.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// A record of the output on its way.
struct CompatValue {
    format: u8,
    attr: u8,
    value: u64,
}

impl CompatValue {
    /// Takes the value of one more input into account.
    fn merge(&mut self, other: u64) {
        let own = self.value;
        // Of all but versions and bits only the first byte matters.
        let (low, other_low) = (own & 0xff, other & 0xff);
        self.value = match self.attr {
            // 0 is code that runs on one architecture only.
            compat_attr::ISA_CLASS if low == 0 || other_low == 0 => 0,
            compat_attr::ISA_CLASS | compat_attr::INTERNAL_TARGET => low.max(other_low),
            compat_attr::INST_TCGEN05_MMA => merge_tcgen05(low as u8, other_low as u8).into(),
            compat_attr::MERCURY_ISA_VERSION | compat_attr::ISA_VERSION | compat_attr::FINALIZER_VERSION => {
                own.max(other)
            }
            compat_attr::INST_TENSORMAP_V1 => low | other_low,
            compat_attr::OPPORTUNISTIC_FINALIZATION if low != other_low => 1,
            compat_attr::FASTPATH_FINALIZE => own & other,
            _ => own,
        };
    }

    /// Whether a reader assumes the value where it is not written.
    fn is_implied(&self, release: &Release) -> bool {
        let known = KNOWN.iter().find(|known| known.attr == self.attr);
        known.is_some_and(|known| {
            known.implied_since <= release.toolkit && self.value == u16::from_le_bytes(known.default).into()
        })
    }

    /// Whether it says that the code is for its own architecture and not for later ones of the family.
    fn keeps_to_its_number(&self, is_accelerated: bool, release: &Release) -> bool {
        let value = (self.value & 0xff) as u8;
        let fields = [value & 3, value >> 2 & 3];
        match self.attr {
            compat_attr::ISA_CLASS => value == OWN_ARCHITECTURE,
            compat_attr::INST_TCGEN05_MMA if release.tcgen05_ties_accelerated_code() => {
                is_accelerated && fields != [ALL_TCGEN05; 2]
            }
            compat_attr::INST_TCGEN05_MMA => fields.contains(&OWN_TCGEN05),
            _ => false,
        }
    }
}

/// Two fields of two bits: 0 if either has 0 there, else the larger; the rest from the first.
fn merge_tcgen05(a: u8, b: u8) -> u8 {
    let field = |shift: u32| {
        let (a, b) = (a >> shift & 3, b >> shift & 3);
        if a == 0 || b == 0 { 0 } else { a.max(b) << shift }
    };
    a & 0xf0 | field(0) | field(2)
}
