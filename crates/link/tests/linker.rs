//! The linker as a library: kinds of inputs, destinations, observers, and what cannot be linked.

mod common;

use common::{input, target, unit};
use solder_arch::Arch;
use solder_fatbin::{Builder, Kind, NewMember, Packing};
use solder_link::inputs::Origin;
use solder_link::roots::HostReferences;
use solder_link::{
    Destination, Diagnostic, Linker, Message, Observer, Pool, Receiver, Release, Severity, Stream, Target,
};
use std::io;
use std::sync::Mutex;

fn linker(target_name: &str) -> Linker<'static> {
    Linker::new(target(target_name), Release::CUDA_13_0)
}

fn codes(diagnostics: &[Diagnostic]) -> Vec<&'static str> {
    diagnostics.iter().map(Diagnostic::code).collect()
}

/// The first problem of a link that must fail.
fn first_problem(linker: &Linker<'_>) -> (&'static str, String) {
    let problems = linker.link().expect_err("it cannot be linked");
    (problems[0].code(), problems[0].to_string())
}

#[test]
fn a_fat_binary_gives_its_member_for_the_target() {
    let (kernel, function) = (input("kernel.sm_90"), input("function.sm_90"));
    let plain = linker("sm_90").object("a", &kernel).object("b", &function).link().expect("it links");
    for compression in [Packing::None, Packing::Lz4, Packing::Zstd] {
        let older = input("kernel.sm_75");
        let fatbin = Builder::new()
            .member(&NewMember::new(Kind::Elf, Arch::plain(75), &older))
            .member(&NewMember { compression, ..NewMember::new(Kind::Elf, Arch::plain(90), &kernel) })
            .finish();
        let output = linker("sm_90").object("a", fatbin).object("b", &function).link().expect("it links");
        // An uncompressed member keeps its padding, which is not linked.
        assert!(output.image == plain.image, "{compression:?}");
        assert_eq!(output.report.took_part, [true, true]);
    }
}

#[test]
fn a_fat_binary_without_code_for_the_target_takes_no_part() {
    let (kernel, function) = (input("kernel.sm_75"), input("function.sm_90"));
    let fatbin = Builder::new().member(&NewMember::new(Kind::Elf, Arch::plain(75), &kernel)).finish();
    let link = |origin| {
        let mut linker = linker("sm_90");
        linker.object_from(origin, "a.fatbin", fatbin.clone()).object("b", &function);
        linker.link().expect("it links").report
    };
    let report = link(Origin::File);
    assert_eq!(codes(&report.diagnostics), ["arch-not-found"]);
    assert_eq!(report.took_part, [false, true]);
    assert!(link(Origin::Archive).diagnostics.is_empty());
}

#[test]
fn what_is_linked_already_takes_no_part() {
    let linked = linker("sm_90").object("a", input("barriers.sm_90")).link().expect("it links").image;
    let (kernel, function) = (input("kernel.sm_90"), input("function.sm_90"));
    let mut linker = linker("sm_90");
    let output = linker.object("a", kernel).object("linked", linked).object("b", function).link();
    assert_eq!(output.expect("it links").report.took_part, [true, false, true]);
}

#[test]
fn other_inputs_are_named_for_what_they_are() {
    let ptx = NewMember::new(Kind::Ptx, Arch::plain(90), b".version 9.0\n");
    let ir = NewMember::new(Kind::LtoIr, Arch::plain(90), &[0xed, 0x43, 0x4e, 0x7f]);
    let mut host = input("kernel.sm_90");
    host[18] = 62;
    for (bytes, kind) in [
        (b".version 9.0\n".to_vec(), "PTX"),
        (b"!<arch>\n".to_vec(), "an archive"),
        (vec![0xed, 0x43, 0x4e, 0x7f], "LTO IR"),
        (Vec::new(), "no kind of device input"),
        (vec![0; 100], "no kind of device input"),
        (host, "a host object"),
    ] {
        let (code, text) = first_problem(linker("sm_90").object("this one", bytes));
        assert_eq!(code, "input-kind");
        assert!(text.contains(&format!("'this one' is {kind}")), "{text}");
    }
    for (bytes, code) in [
        (Builder::new().member(&ptx).finish(), "no-compiler"),
        (Builder::new().member(&ir).finish(), "lto-objects-without-lto"),
        (b".version 9.0\n".to_vec(), "no-compiler"),
        (vec![0xed, 0x43, 0x4e, 0x7f], "nvvm-without-lto"),
        (b"!<arch>\nno member".to_vec(), "archive-format"),
        (vec![0; 100], "input-kind"),
    ] {
        assert_eq!(first_problem(linker("sm_90").input("this one", bytes)).0, code);
    }
}

/// The section by which a program finds its device code.
const WRAPPER: (&str, &[u8]) = (".nvFatBinSegment", b"");

/// A host object with fat binaries in it, as a compiler makes it: ELF header, contents, names, section headers.
fn host_object(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let mut file = vec![0; 64];
    file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    (file[16], file[18], file[52], file[58]) = (1, 62, 64, 64);
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
    file.extend(headers.iter().flatten().flat_map(|word| word.to_le_bytes()));
    file[40..48].copy_from_slice(&table.to_le_bytes());
    (file[60], file[62]) = (headers.len() as u8, headers.len() as u8 - 1);
    file
}

fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, data) in members {
        let header =
            format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", format!("{name}/"), 0, 0, 0, 644, data.len());
        archive.extend_from_slice(header.as_bytes());
        archive.extend_from_slice(data);
        archive.resize(archive.len().next_multiple_of(2), b'\n');
    }
    archive
}

fn fatbin_of(code: &[u8]) -> Vec<u8> {
    Builder::new().member(&NewMember::new(Kind::Elf, Arch::plain(90), code)).finish()
}

/// The same code links to the same image, whatever it is in.
#[test]
fn host_objects_and_archives_are_opened() {
    let (kernel, function) = (input("kernel.sm_90"), input("function.sm_90"));
    let plain = linker("sm_90").object("a", &kernel).object("b", &function).link().expect("it links").image;
    let hosts =
        [&kernel, &function].map(|code| host_object(&[("__nv_relfatbin", &fatbin_of(code)), WRAPPER]));
    let mut of_hosts = linker("sm_90");
    of_hosts.input("a.o", hosts[0].clone()).input("plain.o", host_object(&[(".text", b"")]));
    let output = of_hosts.input("b.o", hosts[1].clone()).link().expect("it links");
    assert!(output.image == plain);
    assert_eq!(output.report.took_part, [true, false, true]);
    let library = archive(&[("a.o", &hosts[0]), ("b.o", &hosts[1])]);
    let output = linker("sm_90").input("lib.a", library).link().expect("it links");
    assert!(output.image == plain && output.report.took_part == [true]);
}

/// Host objects say which kernels stay, unless that is to be ignored.
#[test]
fn host_objects_name_their_kernels() {
    let objects = ["kernel.sm_90", "second_kernel.sm_90", "function.sm_90"].map(|name| {
        host_object(&[("__nv_relfatbin", &fatbin_of(&input(name))), WRAPPER, (".nvHRKE", b"second*\0")])
    });
    for ignored in [false, true] {
        let mut linker = linker("sm_90");
        linker.ignore_host_info(ignored);
        for object in &objects {
            linker.input("a.o", object);
        }
        let image = linker.link().expect("it links").image;
        let has = |name: &[u8]| image.windows(name.len()).any(|part| part == name);
        assert_eq!((has(b".text.k\0"), has(b".text.second\0")), (ignored, true));
    }
}

#[test]
fn options_are_checked() {
    let kernel = input("kernel.sm_90");
    let unknown = Target::sm(Arch::plain(42));
    let mut of_no_release = Linker::new(unknown, Release::CUDA_13_0);
    assert_eq!(first_problem(of_no_release.object("a", &kernel)).0, "unknown-arch");
    assert_eq!(first_problem(linker("compute_90").object("a", &kernel)).0, "virtual-target");
    assert_eq!(first_problem(&linker("sm_90")).0, "no-input-files");
    assert_eq!(
        first_problem(linker("sm_90").object("a", &kernel).suppress_debug_info(true)).0,
        "conflicting-options"
    );
    assert_eq!(
        first_problem(linker("sm_90").object("a", &kernel).cuda_api_version(12, 0)).0,
        "api-version-major"
    );
}

/// Host code names the kernels that stay, unless some device code came without host code.
#[test]
fn kernels_that_host_code_does_not_name_are_removed() {
    let mut references = HostReferences { any_kernel: true, ..HostReferences::default() };
    references.patterns[0].push(b"second*");
    for (origin, is_removed) in [(Origin::HostObject, true), (Origin::File, false)] {
        let mut linker = linker("sm_90");
        linker.host_references(&references);
        for name in ["kernel.sm_90", "second_kernel.sm_90", "function.sm_90"] {
            linker.object_from(origin, name, input(name));
        }
        let image = linker.link().expect("it links").image;
        let has = |name: &[u8]| image.windows(name.len()).any(|part| part == name);
        assert_eq!((has(b".text.k\0"), has(b".text.second\0")), (!is_removed, true));
    }
}

/// Wherever an input ends, the link ends with a diagnostic that names it.
#[test]
fn inputs_that_are_cut_short_are_named() {
    let code = input("kernel.sm_100");
    let member = NewMember::new(Kind::Elf, Arch::plain(100), &code);
    let fatbin = Builder::new().member(&NewMember { compression: Packing::Zstd, ..member }).finish();
    for whole in [&code, &fatbin] {
        for length in (0..whole.len()).filter(|length| *length < 200 || length % 37 == 0) {
            let problems =
                linker("sm_100").object("cut short", &whole[..length]).link().expect_err("it is not whole");
            let last = problems.last().expect("a reason");
            assert_eq!(last.severity, Severity::Fatal);
            assert!(last.fields().contains(&("file", b"cut short".to_vec())), "{length}: {last}");
        }
    }
}

/// Whatever byte is wrong, the link ends by itself.
#[test]
fn damaged_inputs_do_no_harm() {
    let function = input("weak_one.sm_100");
    let whole = input("kernel.sm_100");
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0xff;
        drop(linker("sm_100").object("a", damaged).object("b", &function).link());
    }
}

/// Takes the bytes of an image in any order.
struct Anywhere {
    bytes: Mutex<Vec<u8>>,
}

impl Destination for Anywhere {
    fn takes_any_order(&self) -> bool {
        true
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut all = self.bytes.lock().expect("no panic");
        let (start, end) = (offset as usize, offset as usize + bytes.len());
        let length = all.len().max(end);
        all.resize(length, 0);
        all[start..end].copy_from_slice(bytes);
        Ok(())
    }
}

/// The objects of a link whose image is written in several runs.
fn many() -> Vec<(String, Vec<u8>)> {
    let units = (0..600).map(|number| (format!("unit_{number}.cubin"), unit(number)));
    units.chain([("root.cubin".into(), input("unit_root.sm_90"))]).collect()
}

/// An image of more than a megabyte is the same whether it is kept or written, in order or not, on one thread or more.
#[test]
fn a_large_image_does_not_depend_on_how_it_is_written() {
    let objects = many();
    let pool = Pool::new(3);
    let mut linker = linker("sm_90");
    for (name, bytes) in &objects {
        linker.object(name, bytes);
    }
    let image = linker.link().expect("it links").image;
    assert!(image.len() > 1 << 20);
    linker.pool(&pool);
    assert!(linker.link().expect("it links").image == image);
    let stream = Stream::new(Vec::new());
    linker.link_to(&stream).expect("it links");
    assert!(stream.into_inner() == image);
    let anywhere = Anywhere { bytes: Mutex::default() };
    linker.link_to(&anywhere).expect("it links");
    assert!(anywhere.bytes.into_inner().expect("no panic") == image);
}

/// Full from the beginning.
struct Full;

impl Destination for Full {
    fn takes_any_order(&self) -> bool {
        false
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::StorageFull.into())
    }
}

#[test]
fn what_cannot_be_written_is_reported() {
    let (kernel, function) = (input("kernel.sm_90"), input("function.sm_90"));
    let mut linker = linker("sm_90");
    linker.object("a", kernel).object("b", function).record("out.cubin", "");
    let problems = linker.link_to(&Full).expect_err("there is no room");
    assert_eq!(codes(&problems), ["output-not-written"]);
    assert_eq!(problems[0].fields()[0], ("file", b"out.cubin".to_vec()));
}

/// Notes what it is told.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Observer for Notes {}

impl Receiver for Notes {
    fn message(&self, severity: Severity, message: &Message) {
        self.0.lock().expect("no panic").push(format!("{}: {}", severity.name(), message.row().code));
    }

    fn phase(&self, name: &'static str) {
        self.0.lock().expect("no panic").push(name.into());
    }
}

#[test]
fn an_observer_sees_phases_and_messages() {
    let notes = Notes::default();
    let mut linker = linker("sm_90");
    linker.object("a", input("kernel.sm_90")).object("b", input("recursion.sm_90"));
    let report = linker.observer(&notes).warnings_are_errors(true).link().expect_err("a warning is an error");
    assert_eq!(codes(&report), ["stack-size-unknown"]);
    let notes = notes.0.into_inner().expect("no panic");
    let phases = ["loading", "parsing", "resolving", "removing dead code", "merging", "registers and memory"];
    assert_eq!(notes[..phases.len()], phases);
    assert_eq!(notes[phases.len()..], ["error: stack-size-unknown"]);
}
