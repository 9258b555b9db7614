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
    let bytes = fs::read(folder.join("out.fatbin")).expect("the fat binary");
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
