//! `solder fatbin`: the bytes of NVIDIA's fatbinary, where that is at hand, and what is refused.

mod common;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{PROGRAM, run, scratch, skipped};

fn given(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// A toolkit, where `cargo xtask toolkit` has put it.
fn cached(name: &str) -> Option<PathBuf> {
    let cache = given("XDG_CACHE_HOME").or_else(|| given("HOME").map(|home| home.join(".cache")));
    cache.map(|cache| cache.join("solder").join(name))
}

/// fatbinary 13.0, where `cargo xtask toolkit` has put it or `SOLDER_TOOLKIT` says.
fn fatbinary() -> Option<PathBuf> {
    let root = given("SOLDER_TOOLKIT").or_else(|| cached("toolkit-13.0.88"));
    root.map(|root| root.join("bin/fatbinary")).filter(|tool| tool.is_file())
}

/// The first one that makes groups.
fn fatbinary_13_4() -> Option<PathBuf> {
    cached("toolkit-13.4.92").map(|root| root.join("bin/fatbinary")).filter(|tool| tool.is_file())
}

/// Inputs: machine code of several kinds, and texts with all that is not stored.
fn inputs(folder: &Path) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../link/tests/golden");
    for name in ["kernel.sm_75", "kernel.sm_90", "kernel.sm_100"] {
        let from = golden.join("inputs").join(format!("{name}.cubin"));
        fs::copy(from, folder.join(format!("{name}.cubin"))).expect("an input");
    }
    fs::copy(golden.join("sources/kernel.ptx"), folder.join("kernel.ptx")).expect("an input");
    let text = "  .version 8.4\n.target sm_80\n \t two\t\ttabs   // c\n/* a\n b */ \"in \\\" // x  \" /**/ z\n'//q'\nend";
    fs::write(folder.join("odd.ptx"), text).expect("an input");
    let lines = (0..2000).map(|number| format!("mov.u32 %r{}, {};\n", number % 97, number * 7919 % 1013));
    let text: String = std::iter::once(".version 9.0\n.target sm_80\n".into()).chain(lines).collect();
    fs::write(folder.join("long.ptx"), text).expect("an input");
    fs::write(folder.join("lines.ptx"), ".version 9.0\r\nx // a\r b\r\n/*/ c */ d /*/*/ e\n")
        .expect("an input");
    fs::write(folder.join("ir"), b"\xed\x43\x4e\x7f\x01\x42 no more than its beginning").expect("an input");
}

const IMAGES: [&[&str]; 6] = [
    &["kind=elf,sm=75,file=kernel.sm_75.cubin"],
    &["kind=elf,sm=90,file=kernel.sm_90.cubin"],
    &["kind=elf,sm=100,file=kernel.sm_100.cubin"],
    &["kind=ptx,sm=80,file=odd.ptx"],
    &["kind=ptx,sm=90a,file=long.ptx"],
    &[
        "kind=elf,sm=90,file=kernel.sm_90.cubin",
        "kind=elf,sm=100,file=kernel.sm_100.cubin",
        "kind=ptx,sm=90,file=kernel.ptx",
    ],
];

const OPTIONS: [&[&str]; 8] = [
    &[],
    &["-c"],
    &["-g"],
    &["--compress-all"],
    &["--compress-mode=size"],
    &["--compress-mode=none"],
    &["--compress=false", "-c"],
    &["-c", "-g", "--ident=kernel.cu", "--cmdline=--maxrregcount 32"],
];

#[test]
fn the_bytes_of_fatbinary() {
    let Some(fatbinary) = fatbinary() else {
        return skipped("solder fatbin was not compared: there is no fatbinary");
    };
    let folder = scratch("fatbin-same");
    inputs(&folder);
    for images in IMAGES {
        for options in OPTIONS {
            let words: Vec<String> = images.iter().map(|image| format!("--image3={image}")).collect();
            let mut theirs = Command::new(&fatbinary);
            theirs.args(["-64", "--create=theirs"]).args(&words).args(options).current_dir(&folder);
            let (code, _, stderr) = run(&mut theirs);
            assert_eq!((code, stderr.as_str()), (Some(0), ""), "{images:?} {options:?}");
            let (code, _, stderr) = create(&folder, &words, options);
            assert_eq!((code, stderr.as_str()), (Some(0), ""), "{images:?} {options:?}");
            let [ours, theirs] = ["ours", "theirs"].map(|name| fs::read(folder.join(name)).expect("a file"));
            assert!(ours == theirs, "{images:?} {options:?}");
        }
    }
}

/// Images that are compressed as one.
#[test]
fn groups() {
    let folder = scratch("fatbin-groups");
    inputs(&folder);
    let elf = |number: &str| format!("--image3=kind=elf,sm={number},file=kernel.sm_{number}.cubin");
    let ptx = |number: &str| format!("--image3=kind=ptx,sm={number},file=kernel.ptx");
    let all = ["75", "90", "100"].map(elf);
    let images = [
        vec![all[0].clone(), all[1].clone()],
        vec![all[2].clone(), ptx("90"), all[1].clone(), all[2].clone(), ptx("80"), all[0].clone()],
        vec![all[0].clone(), all[2].clone(), ptx("90")],
        Vec::new(),
    ];
    let modes: [&[&str]; 6] = [
        &[],
        &["-c"],
        &["-g", "--ident=kernel.cu", "--cmdline=-lineinfo"],
        &["--compress-all"],
        &["--compress-mode=size"],
        &["--tileir-cmdline=-v"],
    ];
    let tool = fatbinary_13_4();
    for images in &images {
        for mode in modes {
            let options = [&["--concat"], mode].concat();
            let (code, _, stderr) = create(&folder, images, &options);
            assert_eq!((code, stderr.as_str()), (Some(0), ""), "{images:?} {options:?}");
            let Some(tool) = &tool else { continue };
            let mut theirs = Command::new(tool);
            theirs.args(["-64", "--create=theirs"]).args(images).args(&options).current_dir(&folder);
            assert_eq!(run(&mut theirs).0, Some(0), "{images:?} {options:?}");
            let [ours, theirs] = ["ours", "theirs"].map(|name| fs::read(folder.join(name)).expect("a file"));
            assert!(ours == theirs, "{images:?} {options:?}");
        }
    }
    for option in ["--compress=false", "--compress-mode=none"] {
        let (code, _, stderr) = create(&folder, &images[0], &["--concat", option]);
        let reason = "Option '--concat' requires compression to be enabled; it is incompatible with '--compress=false' and '--compress-mode=none'";
        assert_eq!((code, stderr.trim_end()), (Some(1), format!("solder fatbin: {reason}").as_str()));
    }
    if tool.is_none() {
        skipped("groups were not compared: there is no fatbinary of 13.4");
    }
}

/// Forms of options that build systems use, and what is no value of them.
#[test]
fn the_options_of_fatbinary() {
    let folder = scratch("fatbin-options");
    inputs(&folder);
    let elf = "--image3=kind=elf,sm=90,file=kernel.sm_90.cubin";
    fs::write(folder.join("words"), format!("-g\n{elf} \"--ident=a b\"\n")).expect("options");
    fs::write(folder.join("nested"), "-optf words").expect("options");
    fs::write(folder.join("v.ptx"), ".version 8.7// c\n.target sm_90\n\\\"x//y\n").expect("an input");
    let ptx = "--image3=kind=ptx,sm=90,file=v.ptx";
    fs::copy(folder.join("v.ptx"), folder.join("v, w.ptx")).expect("an input");
    // Code of CUDA 12 and earlier.
    let mut older = fs::read(folder.join("kernel.sm_90.cubin")).expect("an input");
    older[7..9].copy_from_slice(&[0x33, 7]);
    older[48..52].copy_from_slice(&[90, 5, 90, 0]);
    fs::write(folder.join("older.cubin"), older).expect("an input");
    let lines: [&[&str]; 31] = [
        &[],
        &["--image3=kind=elf,sm=90,file=older.cubin"],
        &["--image3=\"kind\"=ptx,sm=\"90\",file=\"v, w\".ptx "],
        &["--image3=\"kind=ptx\",\"sm=90\",\"file=v, w.ptx\""],
        &["--image3=kind=ptx,\"\",sm=90,file=v.ptx"],
        &["--ident=", elf],
        &["--ident", "", elf],
        &["--no-asm", elf],
        &["--image3=kind=elf,sm=090,file=kernel.sm_90.cubin"],
        &["--image3=kind=elf,sm=90,file=kernel.sm_90.cubin,"],
        &["--image3=,kind=elf ,,sm=90 , file=kernel.sm_90.cubin "],
        &["--image3=kind=elf,sm= 90,file=kernel.sm_90.cubin"],
        &["--image3=kind=elf,sm=+90,file=kernel.sm_90.cubin"],
        &["-optf", "words"],
        &["--options-file=words,words"],
        &["-optf", "nested", ptx],
        &["--compress=true", ptx],
        &["--compress-mode=none", ptx],
        &["--image3=kind=ptx,sm=90,file=lines.ptx"],
        &["--compress=false", "--image3=kind=nvvm,sm=90,file=ir", "--cicc-cmdline=-ftz=1 ", "--cmdline=-v"],
        &["--compress=false", "--image3=kind=nvvm,sm=90,file=ir", ptx, "-cicc-cmdline", ""],
        &["--image3=kind=ptx,sm=90,file=\"v.ptx"],
        &["--image3=kind=ptx,sm=90,file=v\\\".ptx"],
        &["--image3=kind=elf,kind=ptx,sm=90,file=v.ptx"],
        &["--image3=kind=ptx,sm=90,sm=90,file=v.ptx"],
        &["--image3=kind=ptx,sm=90,file=v.ptx,file=v.ptx"],
        &["--compress=0", ptx],
        &["--compress=FALSE", ptx],
        &["--compress=", ptx],
        &["-optf", "missing"],
        &["-32", elf],
    ];
    let tool = fatbinary();
    for (number, words) in lines.into_iter().enumerate() {
        let _ = fs::remove_file(folder.join("ours"));
        let (code, _, stderr) = create(&folder, &[], words);
        let ours = fs::read(folder.join("ours")).ok();
        assert_eq!((code == Some(0), ours.is_some()), (number < 21, number < 21), "{words:?}: {stderr}");
        let Some(tool) = &tool else { continue };
        let mut command = Command::new(tool);
        let (_, theirs, _) = run(command.arg("--create=theirs").args(words).current_dir(&folder));
        assert!(ours == fs::read(folder.join("theirs")).ok(), "{words:?}");
        if let Some((_, reason)) = theirs.split_once("fatal   : ") {
            assert_eq!(stderr.trim_end(), format!("solder fatbin: {}", reason.trim_end()), "{words:?}");
        }
        let _ = fs::remove_file(folder.join("theirs"));
    }
    if tool.is_none() {
        skipped("options of solder fatbin were not compared: there is no fatbinary");
    }
    // As clang and fatbinary 12 have it.
    let [kinds, profiles] = [["kind=elf,sm=90", "kind=ptx,sm=90"], ["profile=sm_90", "profile=compute_90"]]
        .map(|names| {
            let image = |name: &str, file: &str| format!("--image={name},file={file}");
            let (code, _, stderr) =
                create(&folder, &[image(names[0], "kernel.sm_90.cubin"), image(names[1], "v.ptx")], &[]);
            assert_eq!((code, stderr.as_str()), (Some(0), ""), "{names:?}");
            fs::read(folder.join("ours")).expect("a file")
        });
    assert!(kinds == profiles);
    let (code, stdout, _) = create(&folder, &[], &["-V"]);
    assert!(code == Some(0) && stdout.starts_with("solder fatbin: solder"), "{stdout}");
    fs::write(folder.join("loop"), "-optf loop").expect("options");
    let (code, _, stderr) = create(&folder, &[], &["-optf", "loop"]);
    assert!(code == Some(1) && stderr.contains("name one another"), "{stderr}");
}

fn create(folder: &Path, images: &[String], options: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(PROGRAM);
    run(command.args(["fatbin", "--create", "ours"]).args(images).args(options).current_dir(folder))
}

#[test]
fn what_is_refused() {
    let folder = scratch("fatbin-refused");
    inputs(&folder);
    for (image, reason) in [
        ("kind=elf,sm=80,file=kernel.sm_90.cubin", "'kernel.sm_90.cubin': it is for sm_90, not for sm_80"),
        ("kind=elf,sm=90,file=odd.ptx", "'odd.ptx': "),
        ("kind=ptx,sm=90,file=kernel.sm_90.cubin", "there is no .version in it"),
        ("kind=elf,sm=90,file=missing", "'missing': No such file"),
        ("kind=exe,sm=90,file=odd.ptx", "not 'exe'"),
        ("kind=elf,file=odd.ptx", "has kind, sm and file"),
        ("kind=ltoir,sm=90,file=odd.ptx", "scramble"),
    ] {
        let (code, _, stderr) = create(&folder, &[format!("--image={image}")], &[]);
        assert!(code == Some(1) && stderr.contains(reason), "{image}: {stderr}");
        assert!(!folder.join("ours").exists());
    }
}
