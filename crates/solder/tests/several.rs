//! Links for several architectures in one run.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{PROGRAM, run, scratch};
use solder_arch::Arch;
use solder_fatbin::{Builder, Container, Kind, NewMember, Packing};

const ARCHS: [u16; 3] = [75, 90, 100];

/// A fat binary of the same code for each architecture.
fn input(folder: &Path) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../link/tests/golden/inputs");
    let mut builder = Builder::new();
    for number in ARCHS {
        let content = fs::read(golden.join(format!("kernel.sm_{number}.cubin"))).expect("an input");
        let member = NewMember::new(Kind::Elf, Arch::plain(number), &content);
        builder.push(&NewMember { compression: Packing::Zstd, ..member });
    }
    fs::write(folder.join("all.fatbin"), builder.finish()).expect("a file");
    let function: PathBuf = golden.join("function.sm_75.cubin");
    fs::copy(function, folder.join("function.cubin")).expect("an input");
}

fn link(folder: &Path, words: &[&str]) -> (Option<i32>, String, String) {
    run(Command::new(PROGRAM).args(words).current_dir(folder))
}

#[test]
fn each_image_is_that_of_a_single_link() {
    let folder = scratch("several-same");
    input(&folder);
    let single: Vec<(Option<i32>, String, Option<Vec<u8>>)> = ARCHS
        .iter()
        .map(|number| {
            let arch = format!("-arch=sm_{number}");
            let (code, _, stderr) = link(&folder, &[&arch, "all.fatbin", "-r", "-o", "one.cubin"]);
            let bytes = fs::read(folder.join("one.cubin")).ok();
            (code, stderr, bytes)
        })
        .collect();
    let list = "-arch=sm_75,sm_90,sm_100";
    let (code, _, stderr) = link(&folder, &[list, "all.fatbin", "-r", "-o", "out.%a.cubin"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let (code, _, stderr) = link(&folder, &["link", list, "all.fatbin", "-r", "-o=out.fatbin"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    fs::write(folder.join("words"), format!("{list} -r\n-optf nested\n")).expect("options");
    fs::write(folder.join("nested"), "-o filed.fatbin").expect("options");
    let (code, _, stderr) = link(&folder, &["-optf", "words", "all.fatbin"]);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let bytes = fs::read(folder.join("out.fatbin")).expect("the fat binary");
    assert!(fs::read(folder.join("filed.fatbin")).expect("the fat binary").len() >= bytes.len());
    let mut command = Command::new(PROGRAM);
    command.args(["all.fatbin", "-o", "none"]).env("SOLDER_OPTIONS", list).current_dir(&folder);
    let (code, _, stderr) = run(&mut command);
    assert!(code == Some(1) && stderr.contains("SOLDER_OPTIONS cannot name several"), "{stderr}");
    let members: Vec<_> =
        Container::parse(&bytes).expect("a container").members().map(Result::unwrap).collect();
    assert_eq!(members.len(), ARCHS.len());
    for ((number, member), (code, stderr, image)) in ARCHS.iter().zip(members).zip(single) {
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "sm_{number}");
        let image = image.expect("an image");
        let separate = fs::read(folder.join(format!("out.sm_{number}.cubin"))).expect("an image");
        assert!(separate == image, "sm_{number}");
        assert!(
            member.arch() == Arch::plain(*number) && member.content().expect("content").starts_with(&image)
        );
    }
}

#[test]
fn what_is_refused() {
    let folder = scratch("several-refused");
    input(&folder);
    for (words, reason) in [
        (&["-arch=sm_75,sm_90", "all.fatbin"][..], "need -o"),
        (&["-arch=sm_75,sm_75", "all.fatbin", "-o", "out"], "named twice"),
        (&["-arch=sm_75,compute_90", "all.fatbin", "-o", "out"], "not a real architecture"),
        (&["-arch=sm_75,", "all.fatbin", "-o", "out"], "not a real architecture"),
        (&["-arch", "sm_75,sm_90", "function.cubin", "-o", "out"], "function.cubin"),
        (&["-arch=sm_75,sm_90", "missing.cubin", "-o", "out"], "missing.cubin"),
        (&["-arch=sm_75,sm_90", "all.fatbin", "-r", "-o", "none/out"], "none/out"),
    ] {
        let (code, _, stderr) = link(&folder, words);
        assert!(code.is_some_and(|code| code != 0) && stderr.contains(reason), "{words:?}: {stderr}");
        assert!(!folder.join("out").exists(), "{words:?}");
    }
}

/// What links print comes in the order of the architectures, on both streams, and one that fails leaves no image of its own.
#[test]
fn messages_in_order() {
    let folder = scratch("several-messages");
    input(&folder);
    // There is no code for sm_80 in the fat binary: a warning, and nothing to link.
    let words = ["all.fatbin", "-r", "--trace=kernel", "--explain", "-report-arch"];
    let mut expected = (String::new(), String::new());
    for arch in ["sm_100", "sm_80", "sm_75", "sm_90"] {
        let arch = format!("-arch={arch}");
        let alone = [&[arch.as_str(), "-o", "one.cubin"][..], &words].concat();
        let (_, stdout, stderr) = link(&folder, &alone);
        expected = (expected.0 + &stdout, expected.1 + &stderr);
    }
    for _ in 0..4 {
        let (_, stdout, stderr) =
            link(&folder, &[&["-arch=sm_100,sm_80,sm_75,sm_90", "-o", "out.%a.cubin"][..], &words].concat());
        let as_one = |text: String| {
            ["sm_100", "sm_80", "sm_75", "sm_90"]
                .into_iter()
                .fold(text, |text, arch| text.replace(&format!("out.{arch}.cubin"), "one.cubin"))
        };
        assert_eq!((as_one(stdout), as_one(stderr)), expected);
    }
    assert!(expected.1.contains("sm_80"), "{expected:?}");
}

/// Images that belong together are all there or none is.
#[test]
fn one_that_fails_leaves_none() {
    let folder = scratch("several-one-fails");
    input(&folder);
    fs::write(folder.join("out.sm_75.cubin"), "from before").expect("a file");
    fs::write(folder.join("out.sm_90.cubin"), "from before").expect("a file");
    // The code of this object is for sm_75 only.
    let words = ["-arch=sm_90,sm_100,sm_75", "function.cubin", "-r", "-o", "out.%a.cubin"];
    let (code, _, stderr) = link(&folder, &words);
    assert!(code.is_some_and(|code| code != 0) && stderr.contains("function.cubin"), "{stderr}");
    for (arch, expected) in [("sm_75", None), ("sm_90", Some("from before")), ("sm_100", None)] {
        let found = fs::read_to_string(folder.join(format!("out.{arch}.cubin"))).ok();
        assert_eq!(found.as_deref(), expected, "{arch}");
    }
}

/// A pipe gives its bytes once, and all links have them.
#[test]
fn inputs_are_read_once() {
    let folder = scratch("several-pipe");
    input(&folder);
    let piped = |arch: &str, output: &str| {
        let line = format!("cat all.fatbin | '{PROGRAM}' -arch={arch} /dev/stdin -r -o {output}");
        let (code, _, stderr) = run(Command::new("sh").arg("-c").arg(line).current_dir(&folder));
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{arch}");
    };
    piped("sm_75,sm_90,sm_100", "out.%a.cubin");
    for number in ARCHS {
        piped(&format!("sm_{number}"), "one.cubin");
        let image = |name: &str| fs::read(folder.join(name)).expect("an image");
        assert!(image(&format!("out.sm_{number}.cubin")) == image("one.cubin"), "sm_{number}");
    }
}

/// A rule for make names every file that was read, whichever link opened it.
#[test]
fn dependencies_of_each_link() {
    let folder = scratch("several-dependencies");
    input(&folder);
    let words = ["-arch=sm_75,sm_90", "all.fatbin", "-r", "-o", "out.%a.cubin", "--dependency-file=all.d"];
    let (code, _, stderr) = link(&folder, &words);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let rule = fs::read_to_string(folder.join("all.d")).expect("a rule");
    let first = "out.sm_75.cubin out.sm_90.cubin: \\\n  all.fatbin\n";
    assert!(rule.starts_with(first), "{rule}");
    let words = ["-arch=sm_75,sm_90", "all.fatbin", "-r", "-o", "out.fatbin", "-MF", "one.d"];
    let (code, _, stderr) = link(&folder, &words);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let rule = fs::read_to_string(folder.join("one.d")).expect("a rule");
    assert!(rule.starts_with("out.fatbin: \\\n  all.fatbin\n"), "{rule}");
    let words = [&words[..5], &["-MF", "-", "-MT", "app"]].concat();
    let (code, stdout, stderr) = link(&folder, &words);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    assert!(stdout.starts_with("app: \\\n  all.fatbin\n"), "{stdout}");
}

/// What is about a link is written for each.
#[test]
fn maps_of_each_link() {
    let folder = scratch("several-maps");
    input(&folder);
    let words = ["-arch=sm_75,sm_90", "-j", "1", "all.fatbin", "-r", "-o", "out.fatbin", "--map=out.map"];
    let (code, _, stderr) = link(&folder, &words);
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    for arch in ["sm_75", "sm_90"] {
        assert!(folder.join(format!("out.{arch}.map")).is_file(), "{arch}");
    }
    assert!(!folder.join("out.map").exists());
}
