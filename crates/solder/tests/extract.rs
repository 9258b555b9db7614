//! `solder extract`: names, choices, and files that cannot be read. `cargo xtask libraries` compares it with cuobjdump.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{PROGRAM, example, run, scratch, text};
use solder_arch::{Arch, Suffix};
use solder_fatbin::{Builder, Kind, NewMember, Packing};

const PTX: &[u8] = b".version 9.0\n.target sm_90\n\0";

/// A fat binary with machine code of three kinds and two texts.
fn fatbin(folder: &Path) -> PathBuf {
    let cubin = fs::read(example("weights.cubin")).expect("the example");
    let member =
        |kind, arch, content| NewMember { compression: Packing::Zstd, ..NewMember::new(kind, arch, content) };
    let mut builder = Builder::new();
    builder.push(&member(Kind::Elf, Arch::plain(90), &cubin));
    builder.push(&member(Kind::Ptx, Arch::plain(90), PTX));
    builder.push(&member(Kind::Elf, Arch::new(100, Suffix::F), &cubin));
    builder.push(&member(Kind::Elf, Arch::new(90, Suffix::A), &cubin));
    builder.push(&member(Kind::Ptx, Arch::plain(100), PTX));
    let file = folder.join("my.weights.fatbin");
    fs::write(&file, builder.finish()).expect("a file");
    file
}

fn extract(folder: &Path, words: &[&str]) -> (Option<i32>, String, String) {
    run(Command::new(PROGRAM).arg("extract").args(words).current_dir(folder))
}

#[test]
fn names() {
    let folder = scratch("extract-names");
    let file = fatbin(&folder);
    let (code, stdout, stderr) = extract(&folder, &[text(&file)]);
    let elf = ["my.weights.1.sm_90.cubin", "my.weights.2.sm_100.cubin", "my.weights.3.sm_90.cubin"];
    let ptx = ["my.weights.1.sm_90.ptx", "my.weights.2.sm_100.ptx"];
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert_eq!(stdout.lines().collect::<Vec<_>>(), [elf[0], ptx[0], elf[1], elf[2], ptx[1]]);
    let weights = fs::read(example("weights.cubin")).expect("the example");
    assert!(elf.iter().all(|name| fs::read(folder.join(name)).expect("a file") == weights));
    assert_eq!(fs::read(folder.join(ptx[0])).expect("a file"), PTX.strip_suffix(b"\0").expect("its end"));
    let (_, stdout, _) =
        extract(&folder, &[text(&file), "--arch", "90", "--kind=elf,ptx", "-d", "some where"]);
    assert_eq!(stdout, format!("some where/{}\nsome where/{}\n", elf[0], ptx[0]));
    let (_, stdout, _) = extract(&folder, &[text(&file), "--arch=compute_100", "--names", "plain"]);
    assert_eq!(stdout, "my.weights.compute_100.ptx\n");
}

/// Members that are compressed as one, as cuobjdump 13.4 names them.
#[test]
fn groups() {
    let folder = scratch("extract-groups");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../link/tests/golden/inputs");
    let file = golden.join("groups.zstd.fatbin");
    let (code, stdout, stderr) = extract(&folder, &[text(&file)]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let names = [
        "kernel.sm_100.cubin",
        "kernel.sm_80.ptx",
        "kernel.sm_86.ptx",
        "kernel.sm_75.cubin",
        "kernel.sm_90.cubin",
    ];
    assert_eq!(stdout.lines().collect::<Vec<_>>(), names);
    for number in ["75", "90", "100"] {
        let read = |path: PathBuf| fs::read(path).expect("a file");
        let name = format!("kernel.sm_{number}.cubin");
        assert_eq!(read(folder.join(&name)), read(golden.join(&name)));
    }
    let said = |words: &[&str]| {
        let (code, stdout, stderr) = run(Command::new(PROGRAM).args(words).arg(&file));
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{words:?}");
        stdout
    };
    let list = said(&["inspect", "--list"]);
    assert!(list.contains("compute_86 PTX 9.0, ") && list.contains("sm_90 ELF, 4384 B ("), "{list}");
    let usage = said(&["inspect", "--res-usage"]);
    let group = "Fatbin concatenated entry code:\n===============================\ncode version = [0,1]\n";
    assert!(usage.matches(group).count() == 2 && usage.contains("\n\tarch = sm_75\n"), "{usage}");
    // Each has its share of what is stored, all but the header of a group.
    let sizes = said(&["size", "--csv", "--by=arch"]);
    let sum: u64 =
        sizes.lines().skip(1).filter_map(|line| line.rsplit(',').next()?.parse::<u64>().ok()).sum();
    let stored = fs::metadata(&file).expect("the file").len();
    assert!((stored - 300..stored).contains(&sum), "{sum} of {stored}");
}

#[test]
fn archives_and_cubins() {
    let folder = scratch("extract-archive");
    let (file, archive) = (fatbin(&folder), folder.join("libmany.a"));
    let made = Command::new("ar").arg("rc").arg(&archive).arg(&file).arg(example("blur.cubin")).status();
    assert!(made.expect("ar").success());
    let (code, stdout, _) = extract(&folder, &[text(&archive), "--kind=elf"]);
    let names =
        ["libmany.1.sm_90.cubin", "libmany.2.sm_100.cubin", "libmany.3.sm_90.cubin", "libmany.sm_90.cubin"];
    assert_eq!((code, stdout.lines().collect::<Vec<_>>()), (Some(0), names.to_vec()));
    let (_, stdout, _) = extract(&folder, &[text(&archive), "--arch=sm_90", "--names=plain"]);
    assert_eq!(stdout, "libmany.my.weights.fatbin.sm_90.cubin\nlibmany.blur.cubin.sm_90.cubin\n");
}

/// The lines before what is in a member of an archive, as cuobjdump has them.
#[test]
fn lines_about_members() {
    let folder = scratch("extract-members");
    fatbin(&folder);
    fs::write(folder.join("notes.txt"), "some text\n").expect("a file");
    fs::copy(example("blur.cubin"), folder.join("blur.cubin")).expect("a copy");
    let mut ar = Command::new("ar");
    let made = ar.args(["rc", "lib.a", "blur.cubin", "notes.txt"]).current_dir(&folder).status();
    assert!(made.expect("ar").success());
    for (archive, shown) in [("lib.a", folder.join("lib.a")), ("./lib.a", folder.join("./lib.a"))] {
        for how in ["--list=elf", "--res-usage"] {
            let mut command = Command::new(PROGRAM);
            let (_, stdout, _) = run(command.args(["inspect", how, archive]).current_dir(&folder));
            let lines: Vec<&str> = stdout.lines().filter(|line| line.starts_with("member ")).collect();
            assert_eq!(lines, [format!("member {}:blur.cubin:", shown.display())], "{how}");
        }
    }
}

#[test]
fn what_cannot_be_extracted() {
    let folder = scratch("extract-refused");
    let file = fatbin(&folder);
    let mut bytes = fs::read(&file).expect("the file");
    let last = bytes.len() - 1000;
    bytes.truncate(last);
    fs::write(folder.join("cut.fatbin"), bytes).expect("a file");
    let cases: [&[&str]; 6] = [
        &["cut.fatbin"],
        &["missing"],
        &["my.weights.fatbin", "--kind=ltoir"],
        &["my.weights.fatbin", "--kind=exe"],
        &["my.weights.fatbin", "--arhc=90"],
        &[],
    ];
    for words in cases {
        let (code, _, stderr) = extract(&folder, words);
        assert!(code == Some(1) && stderr.starts_with("solder extract: "), "{words:?}: {stderr}");
    }
}

/// cuobjdump names members after their identifiers, without folders and ending; of several of one name it leaves the last.
#[test]
fn identifiers() {
    let folder = scratch("extract-identifiers");
    let cubin = fs::read(example("weights.cubin")).expect("the example");
    let mut builder = Builder::new();
    for identifier in [&b"sub.d/o.x.cu"[..], b"a b", b"", b"o.x.cc"] {
        let member = NewMember::new(Kind::Elf, Arch::plain(90), &cubin);
        let identifier = Some(identifier).filter(|identifier| !identifier.is_empty());
        builder.push(&NewMember { identifier, ..member });
    }
    fs::write(folder.join("all.fatbin"), builder.finish()).expect("a file");
    let (code, stdout, _) = extract(&folder, &["all.fatbin"]);
    let names = ["o.x.sm_90.cubin", "a-b.sm_90.cubin", "all.3.sm_90.cubin", "o.x.sm_90-2.cubin"];
    assert_eq!((code, stdout.lines().collect::<Vec<_>>()), (Some(0), names.to_vec()));
    let listed =
        run(Command::new(PROGRAM).args(["inspect", "--list=elf", "all.fatbin"]).current_dir(&folder));
    let expected: Vec<String> =
        names.iter().enumerate().map(|(at, name)| format!("ELF file {:>4}: {name}", at + 1)).collect();
    assert_eq!(listed.1.lines().collect::<Vec<_>>(), expected);
}

/// Files are written at the same time, and what is printed of them keeps the order of the members, damaged ones among them.
#[test]
fn damaged_members_do_not_hold_up_others() {
    const MEMBERS: usize = 40;
    let folder = scratch("extract-damaged");
    let cubin = fs::read(example("weights.cubin")).expect("the example");
    let mut builder = Builder::new();
    for _ in 0..MEMBERS {
        let member = NewMember::new(Kind::Elf, Arch::plain(90), &cubin);
        builder.push(&NewMember { compression: Packing::Zstd, ..member });
    }
    let mut bytes = builder.finish();
    let size = (bytes.len() - 16) / MEMBERS;
    let damaged = [3, 17, 39];
    for member in damaged {
        // The frame of the payload begins with a magic number.
        let start = 16 + member * size;
        let at =
            bytes[start..].windows(4).position(|part| part == [0x28, 0xb5, 0x2f, 0xfd]).expect("a frame");
        bytes[start + at] ^= 1;
    }
    fs::write(folder.join("all.fatbin"), bytes).expect("a file");
    let (code, stdout, stderr) = extract(&folder, &["all.fatbin"]);
    let name = |member: usize| format!("all.{}.sm_90.cubin", member + 1);
    let whole: Vec<String> = (0..MEMBERS).filter(|member| !damaged.contains(member)).map(name).collect();
    assert_eq!(
        (code, stdout.lines().collect::<Vec<_>>()),
        (Some(1), whole.iter().map(String::as_str).collect())
    );
    let expected = damaged.map(|member| format!("solder extract: {}: ", name(member)));
    assert!(stderr.lines().zip(&expected).all(|(line, start)| line.starts_with(start)), "{stderr}");
    assert!(stderr.ends_with("there were 3 problems\n"), "{stderr}");
    assert!(whole.iter().all(|name| fs::read(folder.join(name)).expect("a file") == cubin));
}

/// An identifier may give a member the name that another has by its number, and two files may have one name.
#[test]
fn no_member_is_written_over_another() {
    let folder = scratch("extract-same-name");
    let (first, last) = (example("weights.cubin"), example("blur.cubin"));
    let [first, last] = [first, last].map(|path| fs::read(path).expect("the example"));
    let mut builder = Builder::new();
    builder.push(&NewMember::new(Kind::Elf, Arch::plain(90), &first));
    let member = NewMember::new(Kind::Elf, Arch::plain(90), &last);
    builder.push(&NewMember { identifier: Some(b"all.1.cu"), ..member });
    fs::write(folder.join("all.fatbin"), builder.finish()).expect("a file");
    fs::create_dir_all(folder.join("other")).expect("a folder");
    let mut builder = Builder::new();
    builder.push(&NewMember::new(Kind::Elf, Arch::plain(90), &last));
    fs::write(folder.join("other/all.fatbin"), builder.finish()).expect("a file");
    let (code, stdout, _) = extract(&folder, &["all.fatbin", "other/all.fatbin"]);
    let names = ["all.1.sm_90.cubin", "all.1.sm_90-2.cubin", "all.1.sm_90-3.cubin"];
    assert_eq!((code, stdout.lines().collect::<Vec<_>>()), (Some(0), names.to_vec()));
    for (name, bytes) in names.iter().zip([&first, &last, &last]) {
        assert!(fs::read(folder.join(name)).expect("a file") == *bytes, "{name}");
    }
}

#[test]
fn members_of_thin_archives() {
    let folder = scratch("extract-thin");
    let (file, archive) = (fatbin(&folder), folder.join("libthin.a"));
    let made = Command::new("ar").arg("rcT").arg(&archive).arg(&file).current_dir(&folder).status();
    assert!(made.is_ok_and(|status| status.success()));
    let (code, stdout, stderr) = extract(&folder, &[text(&archive), "--kind=elf"]);
    let names = ["libthin.1.sm_90.cubin", "libthin.2.sm_100.cubin", "libthin.3.sm_90.cubin"];
    assert_eq!((code, stdout.lines().collect::<Vec<_>>()), (Some(0), names.to_vec()), "{stderr}");
    let weights = fs::read(example("weights.cubin")).expect("the example");
    assert!(names.iter().all(|name| fs::read(folder.join(name)).expect("a file") == weights));
}

/// cuobjdump counts linked code first, wherever its section is.
#[test]
fn linked_code_comes_first() {
    let folder = scratch("extract-order");
    let content = |seed: u8| vec![seed; 64];
    for (name, seed) in [("linked", 1), ("relocatable", 2)] {
        let builder = Builder::new().member(&NewMember::new(Kind::Elf, Arch::plain(90), &content(seed)));
        fs::write(folder.join(name), builder.finish()).expect("a file");
    }
    let linked = ".section .nv_fatbin, \"a\"\n.balign 8\n.incbin \"linked\"\n";
    let relocatable = ".section __nv_relfatbin, \"a\"\n.balign 8\n.incbin \"relocatable\"\n";
    for (name, sections) in [("a", [linked, relocatable]), ("b", [relocatable, linked])] {
        fs::write(folder.join("x.s"), sections.concat()).expect("a file");
        let made = Command::new("cc").args(["-c", "x.s", "-o", name]).current_dir(&folder).status();
        assert!(made.expect("a C compiler").success());
        let (code, stdout, _) = extract(&folder, &["--all", name]);
        let names = [1, 2].map(|number| format!("{name}.{number}.sm_90.cubin"));
        assert_eq!(
            (code, stdout.lines().collect::<Vec<_>>()),
            (Some(0), names.each_ref().map(String::as_str).to_vec())
        );
        let found = names.map(|name| fs::read(folder.join(name)).expect("a file"));
        assert_eq!(found, [content(1), content(2)], "{name}");
    }
}

/// Whether there is nothing of an architecture is said by all in one way: an error if no file has it.
#[test]
fn an_architecture_that_is_not_there() {
    let folder = scratch("extract-no-arch");
    fatbin(&folder);
    let empty = Builder::new().member(&NewMember::new(Kind::Ptx, Arch::plain(80), PTX)).finish();
    fs::write(folder.join("other.fatbin"), empty).expect("a file");
    for (arch, files, expected) in [
        ("sm_77", &["my.weights.fatbin"][..], Some(1)),
        ("sm_77", &["my.weights.fatbin", "other.fatbin"], Some(1)),
        ("sm_90", &["my.weights.fatbin", "other.fatbin"], Some(0)),
        ("sm_90", &["other.fatbin", "my.weights.fatbin"], Some(0)),
    ] {
        for how in [&["extract"][..], &["inspect"], &["inspect", "--list=elf"], &["inspect", "--json"]] {
            let words = [how, &["--arch", arch], files].concat();
            let (code, ..) = run(Command::new(PROGRAM).args(&words).current_dir(&folder));
            assert_eq!(code, expected, "{words:?}");
        }
    }
}

/// A pipe in the place of a file, in each subcommand that looks into files.
#[test]
fn standard_input() {
    let folder = scratch("extract-stdin");
    let file = fatbin(&folder);
    fs::copy(&file, folder.join("-")).expect("a file of that name");
    let piped = |words: &str| {
        let line = format!("cat my.weights.fatbin | '{PROGRAM}' {words}");
        run(Command::new("sh").arg("-c").arg(line).current_dir(&folder))
    };
    let direct = |words: &[&str]| run(Command::new(PROGRAM).args(words).current_dir(&folder)).1;
    let (code, stdout, stderr) = piped("extract - --kind=ptx");
    assert_eq!(
        (code, stdout.as_str(), stderr.as_str()),
        (Some(0), "stdin.1.sm_90.ptx\nstdin.2.sm_100.ptx\n", "")
    );
    assert_eq!(piped("size --csv -").1, direct(&["size", "--csv", "my.weights.fatbin"]));
    assert!(piped("inspect --list -").1.starts_with("standard input: fat binary"));
    assert_eq!(piped("diff - my.weights.fatbin"), (Some(0), String::new(), String::new()));
    let (code, stdout, _) = piped("prune --keep=100f - -o out.fatbin");
    assert!(code == Some(0) && stdout.starts_with("out.fatbin: 1 of 5 members kept"), "{stdout}");
    // A file of that name has another one.
    assert_eq!(direct(&["size", "--csv", "./-"]), direct(&["size", "--csv", "my.weights.fatbin"]));
}
