//! `solder prune`: what stays, programs and libraries that still work, and what is refused. `cargo xtask prune` compares it
//! with nvprune.

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{PROGRAM, run, scratch, skipped, text};
use solder_arch::Arch;
use solder_cubin::strip::is_debug;
use solder_cubin::{Cubin, raw};
use solder_fatbin::{Builder, Container, Flags, Kind, NewMember, Packing};

const NUMBERS: [u16; 3] = [75, 80, 90];

/// Bytes that do not compress well, other ones for each seed.
fn content(seed: u64, size: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..size).map(|_| random.u8(..64)).collect()
}

/// Machine code for each architecture, and PTX for the first.
fn fatbin(seed: u64, size: usize) -> Vec<u8> {
    let mut builder = Builder::new();
    for number in NUMBERS {
        let content = content(seed + u64::from(number), size);
        builder.push(&NewMember::new(Kind::Elf, Arch::plain(number), &content));
    }
    builder.push(&NewMember::new(Kind::Ptx, Arch::plain(75), b".version 9.0\n.target sm_75\n\0"));
    builder.finish()
}

fn prune(folder: &Path, words: &[&str]) -> (Option<i32>, String, String) {
    run(Command::new(PROGRAM).arg("prune").args(words).current_dir(folder))
}

fn pruned(folder: &Path, words: &[&str]) {
    let (code, stdout, stderr) = prune(folder, words);
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{words:?}: {stdout}");
}

fn members(path: &Path) -> Vec<(Kind, u16, Vec<u8>)> {
    let bytes = fs::read(path).expect("a file");
    let container = Container::parse(&bytes).expect("a container");
    assert_eq!(container.size(), bytes.len());
    let members = container.members().map(|member| member.expect("a member"));
    members.map(|m| (m.kind(), m.arch().number, m.content().expect("content").into_owned())).collect()
}

#[test]
fn containers() {
    let folder = scratch("prune-containers");
    fs::write(folder.join("all.fatbin"), fatbin(0, 999)).expect("a file");
    let all = members(&folder.join("all.fatbin"));
    let out = folder.join("out.fatbin");
    let kept = |words: &[&str]| {
        pruned(&folder, &[&["all.fatbin", "-o", "out.fatbin"], words].concat());
        members(&out)
    };
    assert_eq!(kept(&["--keep", "sm_80"]), [all[1].clone()]);
    assert_eq!(kept(&["--keep=75,sm_90"]), [all[0].clone(), all[2].clone(), all[3].clone()]);
    assert_eq!(kept(&["--keep=compute_75"]), [all[3].clone()]);
    assert_eq!(kept(&["--drop-ptx"]), all[..3]);
    for how in ["zstd", "max", "none"] {
        let again = kept(&["--compress", how]);
        let same = again.iter().zip(&all).all(|(new, old)| new.2 == old.2);
        assert!(same && again.len() == all.len(), "{how}");
    }
    let (code, _, stderr) = prune(&folder, &["all.fatbin", "--keep=sm_100", "-o", "none.fatbin"]);
    assert!(code == Some(0) && stderr.contains("no device code is left"), "{stderr}");
    assert!(members(&folder.join("none.fatbin")).is_empty());
}

/// Sources of two fat binaries, the second one also in a list, as linked code has one; and a program that
/// prints what it finds through its wrappers.
fn sources(folder: &Path) {
    fs::write(folder.join("one.fatbin"), fatbin(1, 40_000)).expect("a file");
    fs::write(folder.join("two.fatbin"), fatbin(1000, 60_000)).expect("a file");
    let assembly = r#"
        .section .nv_fatbin, "a"
        .align 8
    one: .incbin "one.fatbin"
        .align 8
    again: .incbin "one.fatbin"
        .section __nv_relfatbin, "a"
        .align 8
    first: .incbin "one.fatbin"
    two: .incbin "two.fatbin"
        .section .data.rel, "aw"
        .align 8
    list: .quad first, two, 0
        .section .nvFatBinSegment, "aw"
        .align 8
        .globl wrappers
    wrappers:
        .long 0x466243b1, 1
        .quad one, 0
        .long 0x466243b1, 2
        .quad again, list
        .section .note.GNU-stack, "", %progbits
    "#;
    fs::write(folder.join("wrappers.s"), assembly).expect("a file");
    let program = r#"
        #include <stdio.h>
        #include <string.h>
        struct wrapper { int magic, version; const unsigned char *data; const unsigned char **list; };
        extern struct wrapper wrappers[];
        __thread int in_thread = 7;
        static const char *const words[] = { "some", "words" };
        static void show(const unsigned char *data) {
            unsigned long size; memcpy(&size, data + 8, 8);
            printf("%02x%02x", data[0], data[1]);
            for (const unsigned char *at = data + 16; at < data + 16 + size;) {
                unsigned header; unsigned long payload, sum = 0; unsigned number;
                memcpy(&header, at + 4, 4); memcpy(&payload, at + 8, 8); memcpy(&number, at + 28, 4);
                for (unsigned long i = 0; i < payload; i++) sum = sum * 31 + at[header + i];
                printf(" %u/%u:%lx", at[0], number, sum);
                at += header + payload;
            }
            printf("\n");
        }
        int show_all(void) {
            show(wrappers[0].data); show(wrappers[1].data);
            for (const unsigned char **one = wrappers[1].list; *one; one++) show(*one);
            return printf("%s %s %d\n", words[0], words[1], in_thread) > 0 ? 0 : 1;
        }
    "#;
    fs::write(folder.join("show.c"), program).expect("a file");
    fs::write(folder.join("main.c"), "int show_all(void); int main(void) { return show_all(); }")
        .expect("a file");
}

fn compile(folder: &Path, words: &[&str]) -> bool {
    Command::new("cc").args(words).current_dir(folder).status().expect("a C compiler").success()
}

/// What a program prints of code for one architecture: the lines of all of it without the other members.
fn only(all: &str, number: u16) -> String {
    let keep = |line: &str| {
        let words =
            line.split(' ').filter(|word| !word.contains('/') || word.contains(&format!("/{number}:")));
        words.collect::<Vec<_>>().join(" ")
    };
    all.lines().map(|line| keep(line) + "\n").collect()
}

fn output(program: &Path) -> String {
    let (code, stdout, stderr) = run(&mut Command::new(program));
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{}", program.display());
    stdout
}

#[test]
fn programs_and_libraries() {
    let folder = scratch("prune-programs");
    sources(&folder);
    let forms: [(&str, &[&str]); 6] = [
        ("pie", &["-pie", "-fPIE"]),
        ("fixed", &["-no-pie", "-fno-pie"]),
        ("packed", &["-pie", "-fPIE", "-Wl,-z,pack-relative-relocs"]),
        ("together", &["-pie", "-fPIE", "-Wl,-z,noseparate-code"]),
        ("build-id", &["-pie", "-fPIE", "-Wl,--build-id", "-Wl,--hash-style=both"]),
        ("stripped", &["-pie", "-fPIE", "-s"]),
    ];
    for (name, words) in forms {
        let sources = ["main.c", "show.c", "wrappers.s", "-o", name];
        assert!(compile(&folder, &[&sources, words].concat()), "{name}");
        is_smaller_and_works(&folder, name, name);
    }
}

/// Relocations that the linker left in a program, for other tools, lead to where the fat binaries are.
#[test]
fn relocations_that_stay() {
    let folder = scratch("prune-relocations");
    sources(&folder);
    let words =
        ["main.c", "show.c", "wrappers.s", "-no-pie", "-fno-pie", "-Wl,--emit-relocs", "-o", "program"];
    assert!(compile(&folder, &words));
    let all = output(&folder.join("program"));
    let leads = |name: &str| -> Vec<u64> {
        let listed =
            Command::new("readelf").args(["-rW", name]).current_dir(&folder).output().expect("readelf");
        let text = String::from_utf8(listed.stdout).expect("text");
        let number = |word: &str| u64::from_str_radix(word, 16).expect("a number");
        let lines =
            text.lines().filter(|line| line.contains(".nv_fatbin + ") || line.contains("__nv_relfatbin + "));
        let place = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            number(words[3]) + number(words[words.len() - 1])
        };
        lines.map(place).collect()
    };
    let before = leads("program");
    pruned(&folder, &["--keep=sm_80", "--in-place", "program"]);
    assert_eq!(output(&folder.join("program")), only(&all, 80));
    let (after, bytes) = (leads("program"), fs::read(folder.join("program")).expect("the program"));
    assert!(before.len() == 4 && after.len() == 4 && before != after, "{before:x?} {after:x?}");
    for address in after {
        assert!(bytes.windows(8).any(|word| word == address.to_le_bytes()), "{address:x}");
    }
}

/// After the table of segments of a static program there is room for one more, not for two.
#[test]
fn static_programs() {
    let folder = scratch("prune-static");
    sources(&folder);
    if !compile(&folder, &["-static", "main.c", "show.c", "wrappers.s", "-o", "fixed"]) {
        println!("skipped: no static C library");
        return;
    }
    let size = |name: &str| fs::metadata(folder.join(name)).expect("the file").len();
    pruned(&folder, &["--keep=sm_80", "fixed", "-o", "copy"]);
    assert_eq!(output(&folder.join("copy")), only(&output(&folder.join("fixed")), 80));
    assert!(size("copy") + 100_000 < size("fixed"), "{} and {}", size("copy"), size("fixed"));
}

#[test]
fn shared_libraries() {
    let folder = scratch("prune-libraries");
    sources(&folder);
    for (name, words) in [("plain", &["-Wl,-z,separate-code"][..]), ("old", &["-Wl,-z,noseparate-code"])] {
        let library = format!("lib{name}.so");
        let made = ["-shared", "-fPIC", "show.c", "wrappers.s", "-o", library.as_str()];
        assert!(compile(&folder, &[&made, words].concat()), "{name}");
        let here = format!("-Wl,-rpath,{}", folder.display());
        assert!(compile(&folder, &["main.c", &library, "-o", name, &here]), "{name}");
        is_smaller_and_works(&folder, &library, name);
        let sound = Command::new("readelf").args(["-a", "-W"]).arg(folder.join(&library)).output();
        let sound = sound.expect("readelf");
        assert!(
            sound.status.success() && sound.stderr.is_empty(),
            "{}",
            String::from_utf8_lossy(&sound.stderr)
        );
        assert!(Command::new("strip").arg(folder.join(&library)).status().expect("strip").success());
        assert!(!output(&folder.join(name)).is_empty());
    }
}

/// Prunes a file in place; the program must find what stays and nothing else.
fn is_smaller_and_works(folder: &Path, file: &str, program: &str) {
    let (path, program) = (folder.join(file), folder.join(program));
    let (all, before) = (output(&program), fs::metadata(&path).expect("the file").len());
    let original = fs::read(&path).expect("the file");
    pruned(folder, &["--keep=sm_80", file, "-o", "copy"]);
    assert_eq!(fs::read(&path).expect("the file"), original);
    pruned(folder, &["--keep=sm_80", "--in-place", file]);
    assert_eq!(fs::read(&path).expect("the file"), fs::read(folder.join("copy")).expect("the copy"));
    assert_eq!(output(&program), only(&all, 80), "{file}");
    let after = fs::metadata(&path).expect("the file").len();
    let removed: u64 = 3 * 2 * 40_000 + 2 * 60_000;
    assert!(before - after > removed - 3 * 4096, "{file}: {before} to {after} without {removed}");
    pruned(folder, &["--keep=sm_80", "--dedup", "--in-place", file]);
    assert_eq!(output(&program), only(&all, 80), "{file}: equal fat binaries stored once");
    assert!(fs::metadata(&path).expect("the file").len() <= after - 36_864, "{file}");
}

#[test]
fn what_is_refused() {
    let folder = scratch("prune-refused");
    sources(&folder);
    assert!(compile(&folder, &["-shared", "-fPIC", "show.c", "wrappers.s", "-o", "good.so"]));
    let good = fs::read(folder.join("good.so")).expect("the library");
    let magic = good.windows(4).rposition(|bytes| bytes == 0x466243b1_u32.to_le_bytes()).expect("a wrapper");
    let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).expect("a file");
    let mut changed = good.clone();
    changed[magic + 4] = 9;
    write("version.so", &changed);
    write("cut.so", &good[..good.len() / 2]);
    let mut changed = fatbin(0, 100);
    changed[16] = 77;
    write("kind.fatbin", &changed);
    write("cut.fatbin", &fatbin(0, 100)[..300]);
    write("text", b"some text");
    // Host code that refers to a fat binary itself, not to its wrapper.
    write(
        "direct.c",
        b"extern char again[] __attribute__((visibility(\"hidden\"))); char *f(void) { return again; }",
    );
    let assembly = fs::read_to_string(folder.join("wrappers.s")).expect("a file");
    write(
        "direct.s",
        assembly.replace("again: .incbin", ".globl again\n.hidden again\nagain: .incbin").as_bytes(),
    );
    assert!(compile(&folder, &["-shared", "-fPIC", "-O2", "direct.c", "direct.s", "-o", "direct.so"]));
    // An object whose fat binaries, its largest section, have an alignment that is none.
    assert!(compile(&folder, &["-c", "wrappers.s", "-o", "good.o"]));
    let mut object = fs::read(folder.join("good.o")).expect("the object");
    let word = |at: usize| u64::from_le_bytes(object[at..at + 8].try_into().expect("eight bytes")) as usize;
    let headers = (word(0x28)..object.len()).step_by(64).filter(|at| at + 64 <= object.len());
    let largest = headers.max_by_key(|at| word(at + 32)).expect("a section");
    object[largest + 48] = 7;
    write("aligned.o", &object);
    for (name, reason) in [
        ("aligned.o", "its alignment, 7, is not a power of two"),
        ("version.so", "wrappers of version 1 and 2"),
        ("cut.so", "cut short"),
        ("kind.fatbin", "unknown kind 77"),
        ("cut.fatbin", "cut short"),
        ("text", "not a fat binary"),
        ("missing", "No such file"),
        ("direct.so", "machine code in section '.text'"),
    ] {
        let before = fs::read(folder.join(name)).ok();
        for target in [&["-o", "out"][..], &["--in-place"]] {
            let (code, _, stderr) = prune(&folder, &[&["--keep=sm_80", name], target].concat());
            assert!(code == Some(1) && stderr.contains(reason), "{name}: {stderr}");
            assert!(stderr.starts_with(&format!("solder prune: '{name}': ")), "{stderr}");
        }
        assert!(!folder.join("out").exists() && fs::read(folder.join(name)).ok() == before, "{name}");
    }
    let lines: [&[&str]; 7] = [
        &[],
        &["good.so", "--keep=sm_80", "-o", "-"],
        &["good.so", "-o", "out"],
        &["good.so", "--keep=sm_80"],
        &["good.so", "text", "--keep=sm_80", "-o", "out"],
        &["good.so", "--keep=sn_80", "-o", "out"],
        &["good.so", "--keap=sm_80", "-o", "out"],
    ];
    for words in lines {
        let (code, _, stderr) = prune(&folder, words);
        assert!(code == Some(1) && stderr.starts_with("solder prune: "), "{words:?}: {stderr}");
    }
    assert!(!folder.join("out").exists() && !folder.join("-").exists());
}

/// Host code that has the address of a fat binary, or of something in it, in any form.
#[test]
fn host_code_that_refers_to_fat_binaries() {
    let folder = scratch("prune-direct");
    sources(&folder);
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("a file");
    let assembly = fs::read_to_string(folder.join("wrappers.s")).expect("a file");
    let show = |name: &str| format!(".globl {name}\n.hidden {name}\n{name}: .incbin");
    write("direct.s", &assembly.replace("again: .incbin", &show("again")));
    let program = |body: &str| {
        format!(
            "#include <string.h>\nextern const unsigned char again[] __attribute__((visibility(\"hidden\"))); char copy[16]; __attribute__((noinline)) long get(void) {{ {body} }} int main(void) {{ return get() == 77; }}"
        )
    };
    let forms = [
        ("address", program("return (long)again;")),
        ("word", program("return *(const int *)again;")),
        ("compared", program("return *(const int *)again == 0x1234;")),
        ("byte", program("return again[0];")),
        ("sixteen", program("memcpy(copy, again, 16); return 1;")),
        ("inside", program("return *(const unsigned *)(again + 8);")),
        ("indexed", program("return again[(unsigned char)copy[1]];")),
    ];
    for (name, source) in &forms {
        write("direct.c", source);
        let large = if cfg!(target_arch = "x86_64") { "-mcmodel=large" } else { "-O3" };
        let all = [
            ["-pie", "-fPIE", "-O0"],
            ["-pie", "-fPIE", "-O2"],
            ["-no-pie", "-fno-pie", "-O2"],
            ["-pie", "-fPIE", large],
        ];
        for words in all {
            assert!(compile(&folder, &[&["direct.c", "direct.s", "-o", "direct"], &words[..]].concat()));
            let (code, _, stderr) = prune(&folder, &["--keep=sm_80", "direct", "-o", "out"]);
            assert!(code == Some(1) && stderr.contains("seems to refer to"), "{name} {words:?}: {stderr}");
        }
    }
    // A program whose code refers to nothing, and one that has an address of 4 bytes in its data.
    write("direct.c", &program("return copy[1];"));
    let words = ["direct.c", "direct.s", "-no-pie", "-fno-pie", "-o", "direct"];
    assert!(compile(&folder, &words));
    pruned(&folder, &["--keep=sm_80", "direct", "-o", "out"]);
    if cfg!(target_arch = "x86_64") {
        write("table.s", ".section .rodata\n.globl table\ntable: .long again\n");
        assert!(compile(&folder, &[&words[..], &["table.s"]].concat()));
        let (code, _, stderr) = prune(&folder, &["--keep=sm_80", "direct", "-o", "none"]);
        assert!(code == Some(1) && stderr.contains("seems to hold the address"), "{stderr}");
    }
}

/// Data that leads to a fat binary, or to something in one, without a relocation that says so.
#[test]
fn data_that_leads_to_fat_binaries() {
    let folder = scratch("prune-data");
    sources(&folder);
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("a file");
    let assembly = fs::read_to_string(folder.join("wrappers.s")).expect("a file");
    let hidden = |text: &str, name: &str| {
        text.replace(&format!("{name}: "), &format!(".globl {name}\n.hidden {name}\n{name}: "))
    };
    write(
        "hidden.s",
        &["one", "again", "first", "two"].iter().fold(assembly, |text, name| hidden(&text, name)),
    );
    write(
        "main.c",
        "extern int table[] __attribute__((visibility(\"hidden\"))); int main(int n, char **w) { return table[n] == 1; }",
    );
    write(
        "through.c",
        "extern const char __start___nv_relfatbin[], __stop___nv_relfatbin[]; int main(void) { int n = 0; for (const char *p = \
         __start___nv_relfatbin; p < __stop___nv_relfatbin; p++) n += *p; return n == 1; }",
    );
    let (moving, fixed): (&[&str], &[&str]) = (&["-pie", "-fPIE", "-O2"], &["-no-pie", "-fno-pie", "-O2"]);
    let distance = "seems to hold the distance to a fat binary";
    let address = "seems to hold the address of a fat binary";
    let forms = [
        ("main.c", "table: .long again - ., two - .", moving, distance),
        ("main.c", "table: .quad again - .", moving, distance),
        ("main.c", "table: .long again - .", moving, "seems to use a table"),
        ("main.c", "table: .long one - table, again - table, two - table", moving, "seems to use a table"),
        ("main.c", "table: .long 0\n.balign 8\n.quad again + 16", fixed, address),
        ("main.c", "table: .long 0\n.byte 0\n.quad again", fixed, address),
        ("through.c", "table: .long 0", moving, "seems to refer to"),
    ];
    for (program, table, words, reason) in forms {
        write("table.s", &format!(".section .rodata\n.balign 8\n.globl table\n.hidden table\n{table}\n"));
        assert!(
            compile(&folder, &[&[program, "hidden.s", "table.s", "-o", "program"], words].concat()),
            "{table}"
        );
        let (code, _, stderr) = prune(&folder, &["--keep=sm_80", "program", "-o", "out"]);
        assert!(code == Some(1) && stderr.contains(reason), "{table}: {stderr}");
    }
    // What only a relocation that stays tells.
    write("table.s", ".data\n.balign 8\n.globl table\ntable: .long 0\n.short 0\n.quad again - .\n");
    let words = ["main.c", "hidden.s", "table.s", "-o", "program", "-Wl,--emit-relocs"];
    assert!(compile(&folder, &[&words[..], moving].concat()));
    let (code, _, stderr) = prune(&folder, &["--keep=sm_80", "program", "-o", "out"]);
    assert!(code == Some(1) && stderr.contains("shows a reference to a fat binary"), "{stderr}");
}

/// A program that is loaded where it was linked has copies of what libraries export, as large as the library says.
#[test]
fn copies_of_fat_binaries() {
    let folder = scratch("prune-copies");
    sources(&folder);
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("a file");
    let assembly = fs::read_to_string(folder.join("wrappers.s")).expect("a file");
    let exported =
        ".globl again\n.type again, %object\n.size again, end - again\nagain: .incbin \"one.fatbin\"\nend:";
    write("exported.s", &assembly.replace("again: .incbin \"one.fatbin\"", exported));
    assert!(compile(&folder, &["-shared", "-fPIC", "show.c", "exported.s", "-o", "libit.so"]));
    write("main.c", "extern const char again[]; int main(void) { return again[0] == 0x50 ? 0 : 1; }");
    let here = format!("-Wl,-rpath,{}", folder.display());
    assert!(compile(&folder, &["-no-pie", "-fno-pie", "main.c", "libit.so", "-o", "program", &here]));
    assert_eq!(output(&folder.join("program")), "");
    pruned(&folder, &["--keep=compute_75", "--in-place", "libit.so"]);
    assert_eq!(output(&folder.join("program")), "");
}

/// A file of somebody else stays theirs, and a copy of it does not lend the rights of who made it.
#[test]
fn owners() {
    let folder = scratch("prune-owners");
    let file = folder.join("all.fatbin");
    fs::write(&file, fatbin(0, 999)).expect("a file");
    if chown(&file, Some(1234), Some(1234)).is_err() {
        return println!("skipped: files cannot be given away");
    }
    fs::set_permissions(&file, fs::Permissions::from_mode(0o6751)).expect("permissions");
    pruned(&folder, &["--keep=sm_80", "all.fatbin", "-o", "copy.fatbin"]);
    pruned(&folder, &["--keep=sm_80", "--in-place", "all.fatbin"]);
    let kept = |name: &str| {
        let found = fs::metadata(folder.join(name)).expect("a file");
        (found.uid() == 1234, found.gid() == 1234, found.mode() & 0o7777)
    };
    assert_eq!(kept("all.fatbin"), (true, true, 0o6751));
    assert_eq!(kept("copy.fatbin"), (false, false, 0o751));
}

/// Damage anywhere outside of code and data: an error and no file, or a file.
#[test]
fn damaged_libraries() {
    let folder = scratch("prune-damaged");
    sources(&folder);
    assert!(compile(&folder, &["-shared", "-fPIC", "show.c", "wrappers.s", "-o", "good.so"]));
    let good = fs::read(folder.join("good.so")).expect("the library");
    let mut random = fastrand::Rng::with_seed(7);
    let (mut refused, count) = (0, 400);
    for number in 0..count {
        let mut bytes = good.clone();
        for _ in 0..random.usize(1..4) {
            // The headers and the tables at both ends, where nearly all that is read lies.
            let near = random.usize(0..8192).min(bytes.len() - 1);
            let at = if random.bool() { near } else { bytes.len() - 1 - near };
            bytes[at] = [0, 0xff, 1, random.u8(..), bytes[at] ^ 1 << random.u8(0..8)][random.usize(0..5)];
        }
        fs::write(folder.join("damaged.so"), &bytes).expect("a file");
        let _ = fs::remove_file(folder.join("out.so"));
        let (code, _, stderr) = prune(&folder, &["--keep=sm_80", "damaged.so", "-o", "out.so"]);
        assert!(matches!(code, Some(0 | 1)), "{number}: {code:?} {stderr}");
        assert_eq!(folder.join("out.so").exists(), code == Some(0), "{number}: {stderr}");
        refused += usize::from(code == Some(1));
    }
    assert!(refused > 0 && refused < count, "{refused} refused");
}

#[test]
fn archives() {
    let folder = scratch("prune-archives");
    sources(&folder);
    assert!(compile(&folder, &["-c", "wrappers.s", "show.c"]));
    let made = Command::new("ar").args(["rc", "lib.a", "wrappers.o", "show.o"]).current_dir(&folder).status();
    assert!(made.expect("ar").success() && compile(&folder, &["main.c", "lib.a", "-o", "before"]));
    pruned(&folder, &["--keep=sm_90", "--compress=none", "lib.a", "--in-place"]);
    assert!(compile(&folder, &["main.c", "lib.a", "-o", "after"]));
    let all: PathBuf = folder.join("before");
    assert_eq!(output(&folder.join("after")), only(&output(&all), 90));
    assert!(text(&all).ends_with("before"));
}

#[test]
fn compressed_members_stay_readable() {
    let folder = scratch("prune-compressed");
    let content = content(5, 5000);
    let member =
        |compression| NewMember { compression, ..NewMember::new(Kind::Elf, Arch::plain(90), &content) };
    let packed = [Packing::Lz4, Packing::Zstd, Packing::None].map(member);
    let builder = packed.iter().fold(Builder::new(), |builder, member| builder.member(member));
    fs::write(folder.join("all.fatbin"), builder.finish()).expect("a file");
    for how in ["zstd", "none"] {
        pruned(&folder, &["--compress", how, "all.fatbin", "-o", "out.fatbin"]);
        assert!(
            members(&folder.join("out.fatbin")).iter().all(|(_, _, new)| new.starts_with(&content)),
            "{how}"
        );
    }
}

/// An object of the linker's own tests.
fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../link/tests/golden/inputs").join(name)
}

#[test]
fn debug_information() {
    let folder = scratch("prune-debug");
    let (lines, kernel) = (golden("lines.sm_90.cubin"), golden("kernel.sm_90.cubin"));
    pruned(&folder, &["--strip-debug", text(&lines), "-o", "lines.cubin"]);
    let stripped = fs::read(folder.join("lines.cubin")).expect("the cubin");
    // A link of stripped code gives the code that a link of the object gives, and no debug information.
    let debug = golden("second_kernel.debug.sm_90.cubin");
    pruned(&folder, &["--strip-debug", text(&debug), "-o", "debug.cubin"]);
    let image = |name: &str, inputs: [&str; 2]| {
        let words = ["-arch=sm_90", inputs[0], inputs[1], "-o", name];
        assert!(Command::new(PROGRAM).args(words).current_dir(&folder).status().expect("solder").success());
        fs::read(folder.join(name)).expect("the image")
    };
    let (whole, new) =
        (image("whole", [text(&debug), text(&lines)]), image("new", ["debug.cubin", "lines.cubin"]));
    let (whole, new) = (Cubin::parse(&whole).expect("a cubin"), Cubin::parse(&new).expect("a cubin"));
    let of_code = |cubin: &Cubin<'_>| -> Vec<(String, Vec<u8>)> {
        let sections = cubin.sections.iter().filter(|section| section.flags() & raw::SHF_ALLOC != 0);
        sections.map(|section| (section.name.to_string(), section.data.to_vec())).collect()
    };
    assert!(of_code(&whole) == of_code(&new) && of_code(&new).len() > 1);
    let has_debug = |cubin: &Cubin<'_>| cubin.sections.iter().any(|section| is_debug(section.name));
    assert!(has_debug(&whole) && !has_debug(&new));
    // The same code in a fat binary, stored in each way; code and PTX without such information stay as they are.
    let (old, plain) = (fs::read(&lines).expect("the object"), fs::read(&kernel).expect("the object"));
    let mut builder = Builder::new();
    for compression in [Packing::None, Packing::Lz4, Packing::Zstd] {
        let member = NewMember::new(Kind::Elf, Arch::plain(90), &old);
        let flags = member.flags.with(Flags::DEBUG);
        builder.push(&NewMember { compression, flags, ..member });
    }
    builder.push(&NewMember::new(Kind::Elf, Arch::plain(90), &plain));
    let ptx = b".version 9.0\n.target sm_90\n.file 1 \"a.cu\"\n\0";
    builder.push(&NewMember::new(Kind::Ptx, Arch::plain(90), ptx));
    fs::write(folder.join("all.fatbin"), builder.finish()).expect("a file");
    let (code, stdout, _) = prune(&folder, &["--strip-debug", "all.fatbin", "-o", "out.fatbin"]);
    assert!(code == Some(0) && stdout.contains("5 of 5 members kept, 3 stripped"), "{stdout}");
    let found = members(&folder.join("out.fatbin"));
    assert!(found[..3].iter().all(|(_, _, content)| content.starts_with(&stripped)));
    assert!(found[3].2.starts_with(&plain) && found[4].2 == ptx[..ptx.len() - 1]);
    let bytes = fs::read(folder.join("out.fatbin")).expect("a file");
    let container = Container::parse(&bytes).expect("a container");
    assert!(container.members().flatten().all(|member| !member.flags().contains(Flags::DEBUG)));
    let (_, stdout, _) = prune(&folder, &["--strip-debug", "out.fatbin", "-o", "again.fatbin"]);
    assert!(stdout.contains("5 of 5 members kept, ") && !stdout.contains("stripped"), "{stdout}");
    assert_eq!(fs::read(folder.join("again.fatbin")).expect("a file"), bytes);
    // Without the option a cubin is nothing to prune; damaged code is named.
    let (code, _, stderr) = prune(&folder, &["--keep=sm_90", text(&lines), "-o", "none"]);
    assert!(code == Some(1) && stderr.contains("only --strip-debug"), "{stderr}");
    let mut builder = Builder::new();
    builder.push(&NewMember::new(Kind::Elf, Arch::plain(80), &old[..old.len() / 2]));
    fs::write(folder.join("cut.fatbin"), builder.finish()).expect("a file");
    let (code, _, stderr) = prune(&folder, &["--strip-debug", "cut.fatbin", "-o", "none"]);
    let expected = "solder prune: 'cut.fatbin': the member for sm_80: ";
    assert!(code == Some(1) && stderr.starts_with(expected), "{stderr}");
    assert!(!folder.join("none").exists());
}

/// Members that are compressed as one: those that stay are, too, unless it is one.
#[test]
fn groups() {
    let folder = scratch("prune-groups");
    for name in ["groups.zstd.fatbin", "groups.lz4.fatbin"] {
        let file = golden(name);
        let (file, all) = (text(&file), members(&file));
        assert_eq!(all.iter().map(|(_, number, _)| *number).collect::<Vec<_>>(), [100, 80, 86, 75, 90]);
        let kept = |words: &[&str]| {
            pruned(&folder, &[&[file, "-o", "out"], words].concat());
            (members(&folder.join("out")), fs::read(folder.join("out")).expect("a file"))
        };
        let groups = |bytes: &[u8]| {
            let container = Container::parse(bytes).expect("a container");
            container.entries().flatten().filter(|entry| entry.group().is_some()).count()
        };
        let old = fs::read(file).expect("a file");
        assert_eq!(kept(&["--keep=75,80,86,90,100"]), (all.clone(), old.clone()));
        let (found, bytes) = kept(&["--keep=sm_75,compute_80,compute_86"]);
        assert_eq!((found, groups(&bytes)), (vec![all[1].clone(), all[2].clone(), all[3].clone()], 1));
        assert_eq!(kept(&["--keep=sm_90"]).0, [all[4].clone()]);
        assert_eq!(kept(&["--drop-ptx"]).0, [all[0].clone(), all[3].clone(), all[4].clone()]);
        for (how, count) in [("max", 2), ("zstd", 2), ("none", 0)] {
            let (found, bytes) = kept(&["--compress", how]);
            assert_eq!((found, groups(&bytes)), (all.clone(), count), "{name}: {how}");
            assert!(how == "none" || bytes.len() <= old.len(), "{name}: {how}");
        }
    }
    // Debug information of one of two members.
    let contents =
        ["lines.sm_90.cubin", "kernel.sm_75.cubin"].map(|name| fs::read(golden(name)).expect("a file"));
    let numbers = [Arch::plain(90), Arch::plain(75)];
    let member = |(content, arch)| NewMember::new(Kind::Elf, arch, content);
    let group: Vec<_> = contents.iter().map(Vec::as_slice).zip(numbers).map(member).collect();
    let mut builder = Builder::new();
    builder.push_group(&group, Packing::Zstd, Flags::DEBUG).expect("a group");
    fs::write(folder.join("lines.fatbin"), builder.finish()).expect("a file");
    let (code, stdout, _) = prune(&folder, &["--strip-debug", "lines.fatbin", "-o", "out"]);
    assert!(code == Some(0) && stdout.contains("2 of 2 members kept, 1 stripped"), "{stdout}");
    let found = members(&folder.join("out"));
    pruned(&folder, &["--strip-debug", text(&golden("lines.sm_90.cubin")), "-o", "lines.cubin"]);
    assert!(found[0].2.starts_with(&fs::read(folder.join("lines.cubin")).expect("the cubin")));
    assert!(found[1].2.starts_with(&contents[1]));
}

/// Whenever a run ends, the file is the old one or the whole new one.
#[test]
fn ended_runs_leave_the_original() {
    let folder = scratch("prune-killed");
    fs::write(folder.join("one.fatbin"), fatbin(3, 900_000)).expect("a file");
    let old = fs::read(folder.join("one.fatbin")).expect("the file");
    pruned(&folder, &["--keep=75,80", "one.fatbin", "-o", "new"]);
    let new = fs::read(folder.join("new")).expect("the file");
    let (mut kept, mut done) = (0, 0);
    for number in 0..40 {
        let file = folder.join("file");
        fs::write(&file, &old).expect("a file");
        let mut child = Command::new(PROGRAM)
            .args(["prune", "--keep=75,80", "--in-place", "file"])
            .current_dir(&folder)
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("solder");
        std::thread::sleep(std::time::Duration::from_micros(number * 400));
        let _ = child.kill();
        child.wait().expect("its end");
        let found = fs::read(&file).expect("the file");
        assert!(found == old || found == new, "run {number}");
        kept += usize::from(found == old);
        done += usize::from(found == new);
    }
    assert_eq!(kept + done, 40);
    // A file that may not become as long as the new one.
    fs::write(folder.join("file"), &old).expect("a file");
    let limited = "ulimit -f 100; \"$0\" prune --keep=75,80 --in-place file";
    let output = Command::new("sh").args(["-c", limited, PROGRAM]).current_dir(&folder).output();
    assert!(!output.expect("a shell").status.success());
    assert_eq!(fs::read(folder.join("file")).expect("the file"), old);
}

/// Tools of others that read or change a pruned program.
#[test]
fn other_tools() {
    let folder = scratch("prune-tools");
    sources(&folder);
    assert!(compile(&folder, &["-pie", "-fPIE", "main.c", "show.c", "wrappers.s", "-o", "program"]));
    let all = output(&folder.join("program"));
    pruned(&folder, &["--keep=sm_80", "--in-place", "program"]);
    let tools: [(&str, &[&str]); 6] = [
        ("readelf", &["-a", "-W", "program"]),
        ("ldd", &["program"]),
        ("objdump", &["-x", "program"]),
        ("strip", &["program"]),
        ("patchelf", &["--set-rpath", "/a/path/that/is/longer/than/what/was/there/before", "program"]),
        ("patchelf", &["--add-needed", "libm.so.6", "program"]),
    ];
    for (tool, words) in tools {
        match Command::new(tool).args(words).current_dir(&folder).output() {
            Ok(found) => {
                let said = String::from_utf8_lossy(&found.stderr);
                assert!(found.status.success() && !said.contains("Warning"), "{tool}: {said}");
            }
            Err(_) => {
                skipped(&format!("a pruned program was not passed through {tool}, which is not installed"));
            }
        }
        assert_eq!(output(&folder.join("program")), only(&all, 80), "after {tool}");
    }
}

/// The name of the interpreter comes first after the fat binaries, and before the segment that loads it in the table.
#[test]
fn llvm_strip_afterwards() {
    let folder = scratch("prune-llvm-strip");
    sources(&folder);
    let words = ["main.c", "show.c", "wrappers.s", "-pie", "-fPIE", "-fuse-ld=lld", "-o", "program"];
    let mut cc = Command::new("cc");
    let made = cc.args(words).arg("-Wl,--section-start=.nv_fatbin=0x10000").current_dir(&folder).output();
    let has_strip = Command::new("llvm-strip").arg("--version").output().is_ok();
    if !has_strip || !made.is_ok_and(|made| made.status.success()) {
        return skipped("a pruned program was not passed through llvm-strip: it, or lld, is not installed");
    }
    let all = output(&folder.join("program"));
    pruned(&folder, &["--keep=sm_80", "--in-place", "program"]);
    assert_eq!(output(&folder.join("program")), only(&all, 80));
    let done = Command::new("llvm-strip").arg("program").current_dir(&folder).status();
    assert!(done.expect("llvm-strip").success());
    assert_eq!(output(&folder.join("program")), only(&all, 80));
}

/// A fat binary of packed members, for code that grows.
fn packed(seed: u64, size: usize) -> Vec<u8> {
    let mut builder = Builder::new();
    for number in NUMBERS {
        let content = content(seed + u64::from(number), size);
        let member = NewMember::new(Kind::Elf, Arch::plain(number), &content);
        builder.push(&NewMember { compression: Packing::Smallest, ..member });
    }
    builder.finish()
}

/// Members that are no longer compressed need more room than there was: they go to the end. Programs find all that they
/// found in the same sources without compression.
#[test]
fn programs_that_grow() {
    let folder = scratch("prune-grow");
    let forms: [(&str, &[&str]); 5] = [
        ("pie", &["-pie", "-fPIE"]),
        ("fixed", &["-no-pie", "-fno-pie"]),
        ("together", &["-pie", "-fPIE", "-Wl,-z,noseparate-code"]),
        ("build-id", &["-pie", "-fPIE", "-Wl,--build-id", "-Wl,--hash-style=both"]),
        ("stripped", &["-pie", "-fPIE", "-s"]),
    ];
    sources(&folder);
    for (name, words) in forms {
        for (file, seed, size) in [("one.fatbin", 1, 40_000), ("two.fatbin", 1000, 60_000)] {
            fs::write(folder.join(file), packed(seed, size)).expect("a file");
            pruned(&folder, &["--compress=none", file, "-o", &format!("plain-{file}")]);
        }
        let made = ["main.c", "show.c", "wrappers.s", "-o", name];
        assert!(compile(&folder, &[&made, words].concat()), "{name}");
        let before = output(&folder.join(name));
        for file in ["one.fatbin", "two.fatbin"] {
            fs::rename(folder.join(format!("plain-{file}")), folder.join(file)).expect("a file");
        }
        assert!(compile(&folder, &[&["main.c", "show.c", "wrappers.s", "-o", "plain"], words].concat()));
        let plain = output(&folder.join("plain"));
        assert_ne!(before, plain);
        pruned(&folder, &["--compress=none", "--in-place", name]);
        assert_eq!(output(&folder.join(name)), plain, "{name}");
        // And back: what is large is at the end now, and shrinks there.
        pruned(&folder, &["--keep=sm_80", "--in-place", name]);
        assert_eq!(output(&folder.join(name)), only(&plain, 80), "{name}");
        for (tool, words) in [("readelf", &["-a", "-W"][..]), ("strip", &[])] {
            let said = Command::new(tool).args(words).arg(folder.join(name)).output().expect("binutils");
            let text = String::from_utf8_lossy(&said.stderr);
            assert!(said.status.success() && text.is_empty(), "{name}: {tool}: {text}");
        }
        assert_eq!(output(&folder.join(name)), only(&plain, 80), "{name}: after strip");
    }
}

/// What compression would make larger stays as it is.
#[test]
fn compression_makes_nothing_larger() {
    let folder = scratch("prune-incompressible");
    let random: Vec<u8> = {
        let mut random = fastrand::Rng::with_seed(3);
        (0..4000).map(|_| random.u8(..)).collect()
    };
    let member = |kind, content| NewMember::new(kind, Arch::plain(90), content);
    let builder = Builder::new().member(&member(Kind::Elf, &random[..]));
    let builder = builder.member(&member(Kind::Ptx, b".version 9.0\n\0"));
    fs::write(folder.join("all.fatbin"), builder.finish()).expect("a file");
    for how in ["zstd", "max"] {
        pruned(&folder, &["--compress", how, "all.fatbin", "-o", "out.fatbin"]);
        assert!(fs::read(folder.join("out.fatbin")).expect("a file") == builder.finish(), "{how}");
    }
}

/// Nothing is written twice, and no input is replaced that is not to be replaced.
#[test]
fn targets() {
    let folder = scratch("prune-targets");
    for name in ["one", "two"] {
        fs::create_dir_all(folder.join(name)).expect("a folder");
        fs::write(folder.join(name).join("x.fatbin"), fatbin(name.len() as u64, 99)).expect("a file");
    }
    std::os::unix::fs::symlink("one", folder.join("same")).expect("a link");
    let old = fs::read(folder.join("one/x.fatbin")).expect("the file");
    for (words, reason) in [
        (&["one/x.fatbin", "two/x.fatbin", "-d", "out"][..], "would both be written to 'out/x.fatbin'"),
        (&["one/x.fatbin", "-d", "one"], "--in-place replaces inputs"),
        (&["one/x.fatbin", "-d", "same"], "'same/x.fatbin' is the input 'one/x.fatbin'"),
        (&["one/x.fatbin", "-o", "two/../one/x.fatbin"], "--in-place"),
        (&["two/x.fatbin", "one/x.fatbin", "-d", "same"], "--in-place"),
        (&["-", "-d", "out"], "give -o FILE"),
        (&["-", "--in-place"], "give -o FILE"),
    ] {
        let (code, _, stderr) = prune(&folder, &[&["--keep=sm_90"], words].concat());
        assert!(code == Some(1) && stderr.contains(reason), "{words:?}: {stderr}");
        assert!(!folder.join("out").exists(), "{words:?}");
        assert_eq!(fs::read(folder.join("one/x.fatbin")).expect("the file"), old, "{words:?}");
    }
    pruned(&folder, &["--keep=sm_90", "one/x.fatbin", "-d", "new/folder"]);
    assert_eq!(members(&folder.join("new/folder/x.fatbin")).len(), 1);
}

/// Where no new file can be made, one that is there is not written over: a full disk would cost it.
#[test]
fn folders_that_take_no_files() {
    let folder = scratch("prune-closed");
    let closed = folder.join("closed");
    fs::create_dir_all(&closed).expect("a folder");
    let file = closed.join("x.fatbin");
    fs::write(&file, fatbin(1, 99)).expect("a file");
    fs::write(folder.join("y.fatbin"), fatbin(2, 99)).expect("a file");
    let old = fs::read(&file).expect("the file");
    let open = |mode| fs::set_permissions(&closed, fs::Permissions::from_mode(mode)).expect("permissions");
    open(0o555);
    if fs::write(closed.join("new"), "").is_ok() {
        return skipped("folders that take no files: this user may write everywhere");
    }
    for words in [&["closed/x.fatbin", "--in-place"][..], &["y.fatbin", "-o", "closed/x.fatbin"]] {
        let (code, _, stderr) = prune(&folder, &[&["--keep=sm_90"], words].concat());
        assert!(code == Some(1) && stderr.contains("'closed/x.fatbin' stays"), "{stderr}");
        assert_eq!(fs::read(&file).expect("the file"), old, "{words:?}");
    }
    open(0o755);
}

/// A pipe gives no permissions to the file that is made of it.
#[test]
fn from_a_pipe() {
    let folder = scratch("prune-pipe");
    fs::write(folder.join("x.fatbin"), fatbin(0, 99)).expect("a file");
    for (name, input) in [("a", "-"), ("b", "/dev/stdin")] {
        let line = format!("umask 027; cat x.fatbin | '{PROGRAM}' prune --keep=sm_90 {input} -o {name}");
        let (code, _, stderr) = run(Command::new("sh").arg("-c").arg(line).current_dir(&folder));
        assert_eq!((code, stderr.as_str()), (Some(0), ""));
        let mode = fs::metadata(folder.join(name)).expect("the file").permissions().mode();
        assert_eq!((mode & 0o777, members(&folder.join(name)).len()), (0o640, 1));
    }
}

/// Archives for several machines: what has no device code stays as it is.
#[test]
fn members_for_other_machines() {
    let folder = scratch("prune-machines");
    sources(&folder);
    assert!(compile(&folder, &["-c", "wrappers.s", "show.c"]));
    let other = |from: &str, name: &str| {
        let mut bytes = fs::read(folder.join(from)).expect("the object");
        bytes[18..20].copy_from_slice(&243_u16.to_le_bytes());
        fs::write(folder.join(name), &bytes).expect("a file");
        bytes
    };
    let riscv = other("show.o", "riscv.o");
    other("wrappers.o", "device.o");
    // An object of 32 bits without sections.
    let mut small = [0; 52];
    small[..7].copy_from_slice(b"\x7fELF\x01\x01\x01");
    (small[16], small[18], small[20], small[40]) = (1, 3, 1, 52);
    fs::write(folder.join("small.o"), small).expect("a file");
    let archive = |name: &str, members: &[&str]| {
        let made = Command::new("ar").args(["rcS", name]).args(members).current_dir(&folder).status();
        assert!(made.expect("ar").success());
    };
    archive("lib.a", &["wrappers.o", "riscv.o", "small.o"]);
    pruned(&folder, &["--keep=sm_90", "lib.a", "-o", "out.a"]);
    pruned(&folder, &["--keep=sm_90", "wrappers.o", "-o", "alone.o"]);
    assert!(Command::new("ar").args(["x", "out.a"]).current_dir(&folder).status().expect("ar").success());
    let read = |name: &str| fs::read(folder.join(name)).expect("a file");
    assert!(read("riscv.o") == riscv && read("small.o") == small && read("wrappers.o") == read("alone.o"));
    archive("bad.a", &["device.o"]);
    let (code, _, stderr) = prune(&folder, &["--keep=sm_90", "bad.a", "-o", "none.a"]);
    assert!(code == Some(1) && stderr.contains("another machine"), "{stderr}");
}

/// patchelf adds segments. It must find room for them, or what it moves for it where it looks for it.
#[test]
fn patchelf_afterwards() {
    if Command::new("patchelf").arg("--version").output().is_err() {
        return skipped("pruned programs were not passed through patchelf, which is not installed");
    }
    let folder = scratch("prune-patchelf");
    sources(&folder);
    let long = format!("/{}", "x".repeat(200));
    let forms: [(&str, &[&str]); 8] = [
        ("plain", &["-pie", "-fPIE", "-Wl,-z,separate-code"]),
        ("notes", &["-pie", "-fPIE", "-Wl,--build-id", "-Wl,--hash-style=both"]),
        ("gnu", &["-pie", "-fPIE", "-Wl,--build-id", "-Wl,--hash-style=gnu", "-rdynamic"]),
        ("together", &["-pie", "-fPIE", "-Wl,-z,noseparate-code"]),
        ("fixed", &["-no-pie", "-fno-pie"]),
        ("fixed-notes", &["-no-pie", "-fno-pie", "-Wl,--build-id", "-Wl,--hash-style=both"]),
        ("fixed-names", &["-no-pie", "-fno-pie", "-rdynamic", "-Wl,--hash-style=sysv"]),
        ("fixed-together", &["-no-pie", "-fno-pie", "-Wl,-z,noseparate-code"]),
    ];
    for (name, words) in forms {
        let sources = ["main.c", "show.c", "wrappers.s", "-o", name];
        assert!(compile(&folder, &[&sources, words].concat()), "{name}");
        let all = output(&folder.join(name));
        pruned(&folder, &["--keep=sm_80", "--in-place", name]);
        for change in [["--set-rpath", long.as_str()], ["--add-needed", "libm.so.6"]] {
            let done = Command::new("patchelf").args(change).arg(name).current_dir(&folder).status();
            assert!(done.expect("patchelf").success(), "{name}");
            assert_eq!(output(&folder.join(name)), only(&all, 80), "{name}: after {change:?}");
        }
    }
}
