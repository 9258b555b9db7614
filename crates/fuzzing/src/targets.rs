//! What is fuzzed. A target takes any bytes; those that it is given come from its generator.

use bstr::{BStr, ByteSlice};
use std::ffi::OsString;
use std::fs;
use std::hint::black_box;
use std::path::Path;

use solder::diagnostics::{Printer, Settings};
use solder::mode::Mode;
use solder::options::{self, Options, Values};
use solder_arch::{Arch, Release, Target as Architecture};
use solder_cubin::bits::Bits;
use solder_cubin::mercury::Pace;
use solder_cubin::raw::{self, Rel, Rela, WordPair};
use solder_cubin::{Cubin, callgraph, edit, info, mercury, note, reloc};
use solder_fatbin::{Container, Request, Stream, compat_record, select};
use zerocopy::FromBytes;

use crate::calls;
use crate::corpus::{Corpus, Kind};
use crate::link::{Job, Outcome};
use crate::mutate;
use crate::rng::Rng;

/// One thing that is fuzzed.
pub struct Target {
    pub name: &'static str,
    /// An undamaged input.
    pub sample: fn(&mut Rng, &Corpus) -> Vec<u8>,
    pub mutate: fn(&mut Rng, &mut Vec<u8>, &Corpus),
    /// Feeds an input to the reader, with a folder for files, and says whether it was accepted. The failure is a
    /// promise that was not kept.
    pub run: fn(&[u8], &Path) -> Result<bool, String>,
}

pub const TARGETS: [Target; 14] = [
    Target { name: "device-elf", sample: cubin, mutate: mutate_cubin, run: device_elf },
    Target { name: "nv-info", sample: attributes, mutate: mutate_bytes, run: nv_info },
    Target { name: "relocations", sample: relocation_entries, mutate: mutate_bytes, run: relocations },
    Target { name: "fatbin", sample: fatbin, mutate: mutate_fatbin, run: read_fatbin },
    Target { name: "archive", sample: archive, mutate: mutate_archive, run: link_archive },
    Target { name: "host-elf", sample: host_object, mutate: mutate_host, run: link_host },
    Target { name: "option-file", sample: option_file, mutate: mutate_options, run: read_options },
    Target { name: "inspect", sample: anything, mutate: mutate_anything, run: inspect },
    Target { name: "prune", sample: anything, mutate: mutate_anything, run: prune },
    Target { name: "extract", sample: anything, mutate: mutate_anything, run: extract },
    Target { name: "demangle", sample: name, mutate: mutate_name, run: demangle },
    Target { name: "nvjitlink", sample: calls::sample, mutate: mutate_bytes, run: make_calls },
    Target { name: "reports", sample: report, mutate: mutate_report, run: run_link },
    Target { name: "link", sample: link, mutate: mutate_link, run: run_link },
];

impl Target {
    pub fn named(name: &str) -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// A damaged input.
    pub fn generate(&self, rng: &mut Rng, corpus: &Corpus) -> Vec<u8> {
        if self.name == "link" {
            return Job::generate(rng, corpus).to_bytes();
        }
        if self.name == "reports" {
            return Job::generate_report(rng, corpus).to_bytes();
        }
        let mut input = (self.sample)(rng, corpus);
        for _ in 0..[1, 1, 1, 2, 2, 3, 5][rng.below(7)] {
            (self.mutate)(rng, &mut input, corpus);
        }
        input
    }
}

fn cubin(rng: &mut Rng, corpus: &Corpus) -> Vec<u8> {
    mutate::any(rng, Kind::Cubin, corpus)
}

fn mutate_cubin(rng: &mut Rng, input: &mut Vec<u8>, corpus: &Corpus) {
    mutate::mutate(rng, Kind::Cubin, input, corpus);
}

#[allow(clippy::unnecessary_wraps, reason = "all targets have one signature")]
fn device_elf(input: &[u8], _: &Path) -> Result<bool, String> {
    let cubin = match Cubin::parse(input) {
        Ok(cubin) => cubin,
        Err(error) => {
            black_box((error.to_string(), error.section()));
            return Ok(false);
        }
    };
    black_box((cubin.sm(), cubin.program_headers().is_ok(), cubin.section(".nv.info")));
    for index in 0..=cubin.symbols.len() as u32 {
        black_box(cubin.symbol_name(index).map_err(|error| error.to_string()).is_ok());
    }
    for section in &cubin.sections {
        black_box((section.flags(), section.size(), section.align(), section.info()));
        if let Ok(entries) = section.relocations() {
            black_box(entries.is_empty());
            black_box(entries.iter().filter(|entry| reloc::kind_of(entry.r_type.get()).is_some()).count());
        }
        if section.sh_type() == raw::SHT_CUDA_CAPSULE {
            capsule(section.data);
        }
        black_box(mercury::code_name(section.name));
        black_box(cubin.section_at(section.link()).map(|linked| linked.name));
    }
    for index in [0, 1, cubin.sections.len() / 2, cubin.sections.len()] {
        black_box(edit::with_section(input, index, b"other contents"));
    }
    Ok(true)
}

/// The loads of a capsule, and how many machine instructions each of its instructions takes.
fn capsule(data: &[u8]) {
    black_box(mercury::loads(data).map_err(|damage| damage.to_string())).ok();
    for pace in mercury::paces(data, data.len()).into_iter().flatten() {
        let first = pace.entry.as_ref().map_or(0, |entry| data[entry.start]);
        black_box((pace.is_about_barriers(), Pace::entry(first, pace.count + 1)));
    }
}

/// The contents of the sections of some types.
fn contents(rng: &mut Rng, corpus: &Corpus, types: &[u32]) -> Vec<u8> {
    let Some(device) = rng.pick(&corpus.devices) else { return Vec::new() };
    let Ok(cubin) = Cubin::parse(&device.bytes) else { return Vec::new() };
    let found: Vec<&[u8]> =
        cubin.sections.iter().filter(|s| types.contains(&s.sh_type())).map(|s| s.data).collect();
    rng.pick(&found).map(|data| data.to_vec()).unwrap_or_default()
}

fn attributes(rng: &mut Rng, corpus: &Corpus) -> Vec<u8> {
    let types = [
        raw::SHT_CUDA_INFO,
        raw::SHT_CUDA_INFO,
        raw::SHT_MERC_INFO,
        raw::SHT_CUDA_COMPAT,
        raw::SHT_NOTE,
        raw::SHT_CUDA_CALLGRAPH,
        raw::SHT_CUDA_CAPSULE,
    ];
    let chosen = types[rng.below(types.len())];
    contents(rng, corpus, &[chosen])
}

fn relocation_entries(rng: &mut Rng, corpus: &Corpus) -> Vec<u8> {
    contents(rng, corpus, &[raw::SHT_REL, raw::SHT_RELA, raw::SHT_MERC_RELA])
}

fn make_calls(input: &[u8], _: &Path) -> Result<bool, String> {
    calls::run(input)
}

fn mutate_bytes(rng: &mut Rng, input: &mut Vec<u8>, _: &Corpus) {
    mutate::records(rng, input);
}

/// Attributes, compatibility records, notes, call graphs and capsules: all that is inside of sections.
fn nv_info(input: &[u8], _: &Path) -> Result<bool, String> {
    let mut copy = Vec::new();
    for record in info::records(input).map_while(Result::ok) {
        black_box((record.word(0), record.word(4), record.size(), info::attr_name(record.attr)));
        black_box(info::compat_name(record.attr));
        record.write(&mut copy);
    }
    if !input.starts_with(&copy[..copy.len().min(input.len())]) && copy.len() <= input.len() {
        // Formats that are not counted have two bytes, which are written as they were read.
        return Err("records do not write back as they were read".into());
    }
    black_box(compat_record(input));
    let mut notes = Vec::new();
    for read in note::notes(input) {
        black_box(note::ToolInfo::parse(read.desc).map(|tool| tool.descriptor()));
        let (text, none) = (read.desc.as_bstr(), BStr::new(""));
        let own = note::ToolInfo { object: none, tool: text, version: none, build: text, command_line: none };
        note::write_note(&mut notes, read.kind, &own.descriptor());
    }
    black_box(notes);
    black_box(note::CudaInfo::parse(input).map(|info| info.section()));
    let (pairs, _) = <[WordPair]>::ref_from_prefix_with_elems(input, input.len() / 8).map_err(|_| "pairs")?;
    black_box(callgraph::records(pairs).count());
    capsule(input);
    Ok(true)
}

fn relocations(input: &[u8], _: &Path) -> Result<bool, String> {
    let (entries, rest) = <[Rela]>::ref_from_prefix_with_elems(input, input.len() / size_of::<Rela>())
        .map_err(|_| "entries")?;
    black_box(<[Rel]>::ref_from_bytes(input).map(<[Rel]>::len).ok());
    let mut place = [0; 16];
    for entry in entries {
        let Some(kind) = reloc::kind_of(entry.r_type.get()) else { continue };
        let value = kind.value.extract(entry.addend.get() as u64);
        for field in [kind.field, kind.bank] {
            insert(field, &mut place, value)?;
            // A field that is cut off is refused, not written in part.
            black_box(field.insert(&mut rest.to_vec(), value));
        }
    }
    Ok(true)
}

fn insert(field: Bits, place: &mut [u8; 16], value: u64) -> Result<(), String> {
    field.insert(place, value).ok_or_else(|| format!("{field:?} does not fit an instruction"))
}

fn fatbin(rng: &mut Rng, corpus: &Corpus) -> Vec<u8> {
    mutate::any(rng, Kind::Fatbin, corpus)
}

fn mutate_fatbin(rng: &mut Rng, input: &mut Vec<u8>, corpus: &Corpus) {
    mutate::mutate(rng, Kind::Fatbin, input, corpus);
}

#[allow(clippy::unnecessary_wraps, reason = "all targets have one signature")]
fn read_fatbin(input: &[u8], _: &Path) -> Result<bool, String> {
    let Ok(container) = Container::parse(input) else { return Ok(false) };
    for member in container.members().map_while(Result::ok) {
        black_box((member.identifier().is_ok(), member.options().is_ok(), member.version(), member.arch()));
        black_box((member.packed_size(), member.unpacked_size(), member.alone()));
        black_box(member.content().map_or(0, |content| content.len()));
    }
    for group in container.entries().map_while(Result::ok).filter_map(|entry| entry.group()?.ok()) {
        let stream = Stream::default();
        let members = group.members_in(&stream).map_while(Result::ok);
        for member in members {
            black_box(member.content().map_or(0, |content| content.len()));
        }
    }
    for number in [75, 90, 100, 103] {
        for (lto, release) in
            [(false, Release::CUDA_13_0), (true, Release::CUDA_13_0), (false, Release::NEWEST)]
        {
            let target = Architecture::sm(Arch::plain(number));
            black_box(select(&container, Request { target, release, lto }).is_ok());
        }
    }
    Ok(true)
}

fn archive(rng: &mut Rng, corpus: &Corpus) -> Vec<u8> {
    mutate::any(rng, Kind::Archive, corpus)
}

fn mutate_archive(rng: &mut Rng, input: &mut Vec<u8>, corpus: &Corpus) {
    mutate::mutate(rng, Kind::Archive, input, corpus);
}

fn link_archive(input: &[u8], folder: &Path) -> Result<bool, String> {
    link_file(input, Kind::Archive, folder)
}

fn host_object(rng: &mut Rng, corpus: &Corpus) -> Vec<u8> {
    mutate::any(rng, Kind::HostObject, corpus)
}

fn mutate_host(rng: &mut Rng, input: &mut Vec<u8>, corpus: &Corpus) {
    mutate::mutate(rng, Kind::HostObject, input, corpus);
}

fn link_host(input: &[u8], folder: &Path) -> Result<bool, String> {
    link_file(input, Kind::HostObject, folder)
}

/// Links a file for one of the architectures, which its size decides.
fn link_file(input: &[u8], kind: Kind, folder: &Path) -> Result<bool, String> {
    let sm = [75, 80, 90, 100][input.len() / 8 % 4];
    Job::of_file(sm, kind, input.to_vec()).run(folder).map(|outcome| outcome == Outcome::Linked)
}

fn option_file(rng: &mut Rng, _: &Corpus) -> Vec<u8> {
    mutate::option_file(rng)
}

fn mutate_options(rng: &mut Rng, input: &mut Vec<u8>, corpus: &Corpus) {
    mutate::mutate(rng, Kind::OptionFile, input, corpus);
}

fn read_options(input: &[u8], folder: &Path) -> Result<bool, String> {
    let file = folder.join("options");
    fs::create_dir_all(folder).and_then(|()| fs::write(&file, input)).map_err(|error| error.to_string())?;
    let printer = Printer::in_memory(Settings::default());
    let sink = printer.sink();
    let words = vec![b"-optf".to_vec(), file.into_os_string().into_encoded_bytes()];
    let Ok(values) = Values::parse(words, Release::CUDA_13_0, &sink) else {
        return if printer.into_text().is_empty() { Err("refused without a word".into()) } else { Ok(false) };
    };
    let options = Options::new(values, "nvlink".as_ref(), false);
    let printer = Printer::in_memory(options.message_settings());
    let sink = printer.sink();
    if options::check(&options, &sink).is_err() {
        return Ok(false);
    }
    black_box((Mode::of(&options), options.recorded_command_line(), options.recorded_object_name()));
    Ok(true)
}

fn anything(rng: &mut Rng, corpus: &Corpus) -> Vec<u8> {
    let kinds = [Kind::Cubin, Kind::Cubin, Kind::Fatbin, Kind::HostObject, Kind::Archive];
    let kind = kinds[rng.below(kinds.len())];
    mutate::any(rng, kind, corpus)
}

fn mutate_anything(rng: &mut Rng, input: &mut Vec<u8>, corpus: &Corpus) {
    let kind = Kind::of(input).unwrap_or(Kind::Cubin);
    mutate::mutate(rng, kind, input, corpus);
}

fn inspect(input: &[u8], folder: &Path) -> Result<bool, String> {
    let file = folder.join("inspected");
    fs::create_dir_all(folder).and_then(|()| fs::write(&file, input)).map_err(|error| error.to_string())?;
    let forms = [
        &["--json"][..],
        &[],
        &["--list", "--json"],
        &["--all", "--arch=90"],
        &["--sort=shared"],
        &["--res-usage", "--symbols"],
        &["--list=elf", "--all"],
    ];
    let form = forms[input.len() / 8 % forms.len()].iter().map(OsString::from);
    let words = ["solder".into(), "inspect".into()].into_iter().chain(form).chain([file.into()]);
    Ok(solder::driver::run(words) == 0)
}

/// A file that is refused leaves nothing; one that is pruned can be pruned again, to the same bytes.
fn prune(input: &[u8], folder: &Path) -> Result<bool, String> {
    let [file, once, twice] = ["before", "once", "twice"].map(|name| folder.join(name));
    let text = |error: std::io::Error| error.to_string();
    for old in [&once, &twice] {
        let _ = fs::remove_file(old);
    }
    fs::create_dir_all(folder).and_then(|()| fs::write(&file, input)).map_err(text)?;
    let forms = [
        &["--keep=sm_90"][..],
        &["--keep=75,80", "--dedup"],
        &["--drop-ptx", "--keep=sm_80"],
        &["--strip-debug"],
        &["--strip-debug", "--keep=sm_90", "--drop-ptx"],
    ];
    let form = forms[input.len() / 8 % forms.len()];
    let pruned = |from: &Path, to: &Path| {
        let words = ["solder".into(), "prune".into()].into_iter().chain(form.iter().map(OsString::from));
        solder::driver::run(words.chain([from.into(), "-o".into(), to.into()])) == 0
    };
    if !pruned(&file, &once) {
        return if once.exists() { Err("refused, and yet written".into()) } else { Ok(false) };
    }
    if fs::read(&file).map_err(text)? != input {
        return Err("the input was changed".into());
    }
    if !pruned(&once, &twice) {
        return Err("what was pruned cannot be pruned again".into());
    }
    let same = fs::read(&once).map_err(text)? == fs::read(&twice).map_err(text)?;
    if same { Ok(true) } else { Err("pruned again, it is another file".into()) }
}

fn extract(input: &[u8], folder: &Path) -> Result<bool, String> {
    let (file, into) = (folder.join("packed"), folder.join("members"));
    let _ = fs::remove_dir_all(&into);
    fs::create_dir_all(folder).and_then(|()| fs::write(&file, input)).map_err(|error| error.to_string())?;
    let forms = [&["--names=plain"][..], &["--all"], &["--arch=90", "--kind=elf,ptx"]];
    let form = forms[input.len() / 8 % forms.len()].iter().map(OsString::from);
    let words = ["solder".into(), "extract".into()].into_iter().chain(form);
    Ok(solder::driver::run(words.chain([file.into(), "-d".into(), into.into()])) == 0)
}

fn name(rng: &mut Rng, _: &Corpus) -> Vec<u8> {
    mutate::names::sample(rng)
}

fn mutate_name(rng: &mut Rng, input: &mut Vec<u8>, _: &Corpus) {
    mutate::names::mutate(rng, input);
}

/// A name is printed as it is, or within bounds; the same way every time.
fn demangle(input: &[u8], _: &Path) -> Result<bool, String> {
    const LONGEST: usize = 1 << 20;
    let printed = solder_link::demangle::demangle(input);
    if printed.len() > LONGEST.max(input.len()) {
        return Err(format!("{} bytes for a name of {}", printed.len(), input.len()));
    }
    if solder_link::demangle::demangle(input) != printed {
        return Err("another text the second time".into());
    }
    Ok(printed != input)
}

fn report(rng: &mut Rng, corpus: &Corpus) -> Vec<u8> {
    let mut job = Job::from_bytes(&link(rng, corpus));
    job.words.push("-dump-callgraph".into());
    job.to_bytes()
}

fn mutate_report(rng: &mut Rng, input: &mut Vec<u8>, corpus: &Corpus) {
    let mut job = Job::from_bytes(input);
    if rng.percent(50) {
        job.rename(rng);
    } else {
        job.mutate(rng, corpus);
    }
    *input = job.to_bytes();
}

fn link(rng: &mut Rng, corpus: &Corpus) -> Vec<u8> {
    let chosen = corpus.linked_together(rng);
    let mut job = Job::default();
    for &index in chosen.iter().filter(|&&index| index < corpus.devices.len()) {
        let device = &corpus.devices[index];
        job.words = vec![format!("-arch=sm_{}", device.sm)];
        job.files.push((format!("{}.cubin", job.files.len()), device.bytes.clone()));
    }
    job.to_bytes()
}

fn mutate_link(rng: &mut Rng, input: &mut Vec<u8>, corpus: &Corpus) {
    let mut job = Job::from_bytes(input);
    job.mutate(rng, corpus);
    *input = job.to_bytes();
}

fn run_link(input: &[u8], folder: &Path) -> Result<bool, String> {
    Job::from_bytes(input).run(folder).map(|outcome| outcome == Outcome::Linked)
}
