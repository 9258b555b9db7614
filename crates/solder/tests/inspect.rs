//! `solder inspect` on whole and damaged files.

mod common;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{PROGRAM, example, run, scratch, text};

fn solder(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_solder"));
    command.args(args).env_remove("COLUMNS");
    command
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../link/tests/golden/inputs").join(name)
}

#[test]
fn inspect_a_cubin() {
    let file = example("blur.cubin");
    let (code, stdout, stderr) = run(&mut solder(&["inspect", text(&file)]));
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    for part in [
        "sm_90 relocatable, from compute_90, CUDA 13.0",
        "made by ptxas",
        "\n  1 kernel\n",
        " registers  stack  shared ",
        "  blur(const float *, float *, int)\n",
        "needs weigh(const float *, int, int)",
    ] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    let (code, stdout, _) = run(&mut solder(&["inspect", "--json", text(&file)]));
    assert_eq!(code, Some(0));
    for part in ["\"type\": \"cubin\"", "\"arch\": \"sm_90\"", "\"kernels\": [", "\"registers\": "] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
}

#[test]
fn inspect_archives_and_fat_binaries() {
    use solder_fatbin::{Builder, Kind, NewMember, Packing};
    let folder = scratch("inspect");
    let cubin = fs::read(example("weights.cubin")).expect("the example");
    let mut builder = Builder::new();
    for compression in [Packing::None, Packing::Lz4, Packing::Zstd] {
        builder.push(&NewMember {
            compression,
            options: Some(b"--compile-only"),
            identifier: Some(b"weights.cu"),
            ..NewMember::new(Kind::Elf, solder_arch::Arch::plain(90), &cubin)
        });
    }
    let fatbin = folder.join("weights.fatbin");
    fs::write(&fatbin, builder.finish()).expect("a file");
    let (code, stdout, stderr) = run(&mut solder(&["inspect", text(&fatbin)]));
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert_eq!(stdout.matches("sm_90 ELF").count(), 3, "{stdout}");
    for part in ["with LZ4)", "with Zstandard)", "weights.cu", "options '--compile-only'"] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    let archive = folder.join("libweights.a");
    let made = Command::new("ar").arg("rc").arg(&archive).arg(&fatbin).arg(example("blur.cubin")).status();
    assert!(made.expect("ar").success());
    let (code, stdout, _) = run(&mut solder(&["inspect", text(&archive)]));
    assert_eq!(code, Some(0));
    assert!(stdout.contains("\n  weights.fatbin: fat binary") && stdout.contains("\n  blur.cubin: cubin"));
    assert!(stdout.starts_with(&format!("{}: archive of 2 files, ", archive.display())), "{stdout}");
    assert!(stdout.contains("\n  for    kind  count"), "{stdout}");
    let (code, stdout, _) = run(&mut solder(&["inspect", "--list", text(&archive)]));
    assert_eq!(code, Some(0));
    assert_eq!(
        (stdout.matches("sm_90 ELF").count(), stdout.matches("registers").count()),
        (3, 0),
        "{stdout}"
    );
}

/// Cut short at every length, and with every byte of the head and the tail changed: an answer, never a panic.
#[test]
fn inspect_damaged_files() {
    let folder = scratch("damaged");
    let whole = fs::read(example("blur.cubin")).expect("the example");
    let mut files = Vec::new();
    let mut add = |bytes: &[u8]| {
        let path = folder.join(files.len().to_string());
        fs::write(&path, bytes).expect("a file");
        files.push(path);
    };
    for length in (0..whole.len()).step_by(61) {
        add(&whole[..length]);
    }
    for at in (0..64).chain(whole.len().saturating_sub(1500)..whole.len()).step_by(3) {
        let mut changed = whole.clone();
        changed[at] ^= 0xff;
        add(&changed);
    }
    let mut nested = b"!<arch>\n".to_vec();
    for _ in 0..2000 {
        let mut outer = b"!<arch>\n".to_vec();
        outer.extend(
            format!("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "a/", 0, 0, 0, 644, nested.len()).bytes(),
        );
        outer.extend(&nested);
        nested = outer;
    }
    add(&nested);
    let (code, stdout, stderr) = run(solder(&["inspect"]).args(&files));
    assert_eq!(code, Some(1));
    assert!(stdout.contains("damaged: ") && stderr.contains("files damaged"), "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
}

/// One number everywhere: what the section holds, which is what `-v` and `cuobjdump -res-usage` say, too.
#[test]
fn shared_memory_is_one_number() {
    let folder = scratch("inspect-shared");
    let (code, stdout, stderr) = run(solder(&["-arch=sm_90", "-v", "-o", "out.cubin", "--map", "map.txt"])
        .args(["--report", "report.html"])
        .args([golden("shared_one.sm_90.cubin"), golden("shared_two.sm_90.cubin")])
        .current_dir(&folder));
    assert_eq!(code, Some(0), "{stderr}");
    let verbose = format!("{stdout}{stderr}");
    let map = fs::read_to_string(folder.join("map.txt")).expect("a map");
    let report = fs::read_to_string(folder.join("report.html")).expect("a report");
    let (_, json, _) = run(solder(&["inspect", "--json", "--sort=name", "out.cubin"]).current_dir(&folder));
    let (_, shown, _) = run(solder(&["inspect", "out.cubin"]).current_dir(&folder));
    let mut total = 0;
    for name in ["one", "two", "three"] {
        let after =
            verbose.split(&format!("Function properties for '{name}'")).nth(1).expect("its properties");
        let size =
            after.split(" bytes smem").next().and_then(|text| text.rsplit(' ').next()).expect("a size");
        let row = |line: &&str| line.ends_with(&format!("  {name}"));
        let column = |text: &str, at: usize| {
            let line = text.lines().find(row).expect("a row");
            line.split_whitespace().nth(at).expect("a column").replace(',', "")
        };
        assert_eq!(column(&map, 2), size, "{name} in the map");
        assert_eq!(column(&shown, 2), size, "{name} inspected");
        let entry = json.split(&format!("\"name\": \"{name}\"")).nth(1).expect("an entry");
        let shared = entry.split("\"shared\": ").nth(1).and_then(|text| text.split(',').next());
        assert_eq!(shared, Some(size), "{name} as JSON");
        assert!(report.contains(&format!("\"total\":{size},\"parts\"")), "{name} in the report");
        total += size.parse::<u64>().expect("a number");
    }
    assert!(total > 3 * 1024, "{total}");
    assert!(map.contains("includes 1024 bytes that the system reserves"), "{map}");
    assert!(shown.contains("includes 1,024 bytes that the system reserves"), "{shown}");
    assert!(report.contains("\"reservedShared\":1024"));
    // Without the reservation nothing is said of it.
    let (code, ..) = run(solder(&["-arch=sm_90", "-disable-smem-reservation=true", "-o", "bare.cubin"])
        .args([golden("shared_one.sm_90.cubin"), golden("shared_two.sm_90.cubin")])
        .current_dir(&folder));
    assert_eq!(code, Some(0));
    let (_, shown, _) = run(solder(&["inspect", "bare.cubin"]).current_dir(&folder));
    assert!(!shown.contains("reserves"), "{shown}");
}

#[test]
fn inspect_kernels() {
    let files = ["shared_one.sm_90.cubin", "kernel.sm_75.cubin", "kernel.sm_100.cubin"].map(golden);
    let names = |words: &[&str]| {
        let (code, stdout, stderr) = run(solder(&["inspect"]).args(words).args(&files));
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{words:?}");
        stdout
    };
    let sorted = names(&["--sort", "shared"]);
    assert!(sorted.lines().nth(1).is_some_and(|line| line.contains("  one  ")), "{sorted}");
    assert!(sorted.contains("\n5 kernels\n"), "{sorted}");
    let some = names(&["--kernel=thr", "--arch", "90"]);
    assert!(some.contains(" three") && some.contains("\n1 kernel\n"), "{some}");
    let (code, _, stderr) = run(solder(&["inspect", "--arch", "sm_89"]).args(&files));
    assert_eq!(code, Some(1));
    assert!(stderr.contains("nothing for that architecture; there is sm_100, sm_75, sm_90"), "{stderr}");
    let (code, _, stderr) = run(&mut solder(&["inspect", "--knrel", "x"]));
    assert_eq!(code, Some(1));
    assert!(stderr.contains("did you mean --kernel?"), "{stderr}");
}

#[test]
fn inspect_standard_input_on_a_narrow_terminal() {
    let mut command = solder(&["inspect", "-"]);
    command.env("COLUMNS", "60").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("solder runs");
    let bytes = fs::read(example("blur.cubin")).expect("the example");
    child.stdin.take().expect("a pipe").write_all(&bytes).expect("written");
    let output = child.wait_with_output().expect("it ends");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && stdout.starts_with("standard input: cubin, "), "{stdout}");
    assert!(stdout.lines().all(|line| line.chars().count() <= 60), "{stdout}");
}

/// The release of an object of CUDA 12 is in its header, where no note says it.
#[test]
fn inspect_an_older_object() {
    let folder = scratch("inspect-older");
    let mut bytes = fs::read(example("weights.cubin")).expect("the example");
    (bytes[7], bytes[8]) = (0x33, 7);
    bytes[20..24].copy_from_slice(&124u32.to_le_bytes());
    bytes[48..52].copy_from_slice(&0x0050_0550u32.to_le_bytes());
    let file = folder.join("old.cubin");
    fs::write(&file, bytes).expect("a file");
    let (_, stdout, _) = run(&mut solder(&["inspect", text(&file)]));
    assert!(stdout.contains("sm_80 relocatable, from compute_80, CUDA 12.4\n"), "{stdout}");
}

/// In the words of cuobjdump 13.4, which `cargo xtask libraries` compares with on libraries.
#[test]
fn as_cuobjdump_prints() {
    let blur = example("blur.cubin");
    let inspect = |words: &[&str]| run(Command::new(PROGRAM).arg("inspect").args(words).arg(&blur));
    let (code, stdout, stderr) = inspect(&["--res-usage"]);
    let expected = "\nResource usage:\n Common:\n  GLOBAL:0\n Function _Z4blurPKfPfi:\n  REG:24 STACK:0 SHARED:0 LOCAL:0 \
                    CONSTANT[0]:548 TEXTURE:0 SURFACE:0 SAMPLER:0\n";
    assert_eq!((code, stdout.as_str(), stderr.as_str()), (Some(0), expected, ""));
    let (_, stdout, _) = inspect(&["--symbols"]);
    for line in [
        "STT_OBJECT       STB_WEAK   STV_DEFAULT  U __UDT_OFFSET",
        "STT_FUNC         STB_GLOBAL STO_ENTRY      _Z4blurPKfPfi",
        "STT_FUNC         STB_GLOBAL STV_DEFAULT  U _Z5weighPKfii",
    ] {
        assert!(stdout.lines().any(|found| found == line), "{line}: {stdout}");
    }
    let (_, stdout, _) = inspect(&["--symbols", "--kernel=blur(const float"]);
    assert_eq!(stdout, "\nsymbols:\nSTT_FUNC         STB_GLOBAL STO_ENTRY      _Z4blurPKfPfi\n");
    assert_eq!(inspect(&["--list", "elf"]).1, "ELF file    1: blur.sm_90.cubin\n");
    assert_eq!(inspect(&["--list=ptx"]).1, "");
    let (code, _, stderr) = inspect(&["--symbols", "--json"]);
    assert!(code == Some(1) && stderr.contains("--json alone"), "{stderr}");
    let (code, _, stderr) = inspect(&["--list=sass"]);
    assert!(code == Some(1) && stderr.contains("--list takes elf, ptx, ltoir, not 'sass'"), "{stderr}");
}

/// nvdisasm gets the cubin, and the numbers of the functions that are asked for; without one, it is said what helps.
#[test]
fn machine_code() {
    let folder = scratch("inspect-sass");
    let toolkit = folder.join("bin");
    fs::create_dir(&toolkit).expect("a folder");
    let script =
        "#!/bin/sh\nfor last; do :; done\n[ -s \"$last\" ] && echo \"code: $*\" | sed \"s|$last|FILE|\"\n";
    common::script(&toolkit.join("nvdisasm"), script);
    let inspect = |words: &[&str], root: &Path| {
        let mut command = Command::new(PROGRAM);
        command
            .arg("inspect")
            .args(words)
            .arg(example("blur.cubin"))
            .env_clear()
            .env("PATH", "/usr/bin:/bin");
        run(command.env("SOLDER_TOOLKIT", root).env("TMPDIR", &folder))
    };
    assert_eq!(inspect(&["--sass"], &folder).1, "code: --print-code FILE\n");
    let (code, stdout, _) = inspect(&["--sass", "--kernel=blur"], &folder);
    assert!(code == Some(0) && stdout.starts_with("code: --print-code --cuda-function-index="), "{stdout}");
    assert_eq!(inspect(&["--sass", "--kernel=nothing"], &folder).1, "");
    common::script(&toolkit.join("nvdisasm"), "#!/bin/sh\necho broken >&2\nexit 3\n");
    let (code, _, stderr) = inspect(&["--sass"], &folder);
    assert!(code == Some(1) && stderr.contains("broken"), "{stderr}");
    let (code, _, stderr) = inspect(&["--sass"], Path::new("/nowhere"));
    assert!(code == Some(1) && stderr.contains("--sass needs nvdisasm"), "{stderr}");
    assert_eq!(fs::read_dir(&folder).expect("the folder").count(), 1, "a file is left");
}
