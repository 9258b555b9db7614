//! The subcommands: when they are recognised, and `shadow` on toolkits of all kinds.

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use common::{run, scratch, text, toolkit};

fn solder(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_solder"));
    command.args(args);
    for name in ["SOLDER_TOOLKIT", "CUDA_HOME", "CUDA_PATH"] {
        command.env_remove(name);
    }
    command.env("PATH", "/usr/bin:/bin");
    command
}

#[test]
fn only_as_the_first_word_and_under_its_own_name() {
    let folder = scratch("own-name");
    let nvlink = folder.join("nvlink");
    symlink(env!("CARGO_BIN_EXE_solder"), &nvlink).expect("a link");
    for (program, args) in [
        (text(&nvlink), &["shadow", "x"][..]),
        (text(&nvlink), &["inspect", "/dev/null"]),
        (env!("CARGO_BIN_EXE_solder"), &["-v", "shadow", "x"]),
    ] {
        let (code, stdout, stderr) = run(Command::new(program).args(args).current_dir(&folder));
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{args:?}");
        assert!(stderr.ends_with(" fatal   : Unknown arch name '(null)'\n"), "{stderr}");
    }
    assert!(!folder.join("x").exists());
}

#[test]
fn shadow_with_the_library_beside_the_program() {
    let folder = scratch("shadow-library");
    let root = toolkit(&folder, "13.0.88");
    fs::create_dir(root.join("lib64")).expect("a folder");
    for name in ["libnvJitLink.so", "libnvJitLink.so.13", "libcudadevrt.a"] {
        fs::write(root.join("lib64").join(name), "x").expect("a file");
    }
    fs::create_dir(folder.join("nvjitlink")).expect("a folder");
    let (program, own) = (folder.join("solder"), folder.join("nvjitlink/libnvJitLink.so.13"));
    fs::copy(env!("CARGO_BIN_EXE_solder"), &program).expect("a copy");
    fs::write(&own, "x").expect("a file");
    let shadow = folder.join("shadow");
    let make = || {
        let mut command = Command::new(&program);
        command.args(["shadow", text(&shadow), "--toolkit", text(&root)]);
        assert_eq!(run(&mut command).0, Some(0));
    };
    let leads_to = |name: &str| fs::canonicalize(shadow.join("lib64").join(name)).expect("a link");
    make();
    make();
    assert_eq!(leads_to("libcudadevrt.a"), root.join("lib64/libcudadevrt.a"));
    for name in ["libnvJitLink.so", "libnvJitLink.so.13"] {
        assert_eq!(leads_to(name), own);
    }
    // Without it, the libraries are the toolkit's own again.
    fs::remove_file(&own).expect("it was there");
    make();
    assert_eq!(fs::read_link(shadow.join("lib64")).expect("a link"), root.join("lib64"));
    make();
}

#[test]
fn shadow_of_a_toolkit() {
    let folder = scratch("shadow");
    let root = toolkit(&folder, "13.0.88");
    let shadow = folder.join("shadow");
    for _ in 0..2 {
        let (code, stdout, stderr) = run(&mut solder(&["shadow", text(&shadow), "--toolkit", text(&root)]));
        assert_eq!((code, stderr.as_str()), (Some(0), ""));
        assert!(stdout.contains("CUDA 13.0.88"), "{stdout}");
        assert_eq!(fs::read_link(shadow.join("include")).expect("a link"), root.join("include"));
        assert_eq!(fs::read_link(shadow.join("bin/ptxas")).expect("a link"), root.join("bin/ptxas"));
        let nvlink = fs::canonicalize(shadow.join("bin/nvlink")).expect("a link");
        assert_eq!(nvlink, fs::canonicalize(env!("CARGO_BIN_EXE_solder")).expect("the program"));
        assert_eq!(fs::read(root.join("bin/nvlink")).expect("untouched"), b"x");
    }
    // What the toolkit gains and loses, the shadow does.
    fs::remove_file(root.join("bin/ptxas")).expect("removed");
    fs::write(root.join("bin/cuobjdump"), "x").expect("a file");
    assert_eq!(run(&mut solder(&["shadow", text(&shadow), "--toolkit", text(&root)])).0, Some(0));
    assert!(!shadow.join("bin/ptxas").is_symlink());
    assert!(shadow.join("bin/cuobjdump").is_file());
    // A shadow leads to the toolkit behind it.
    let second = folder.join("second");
    assert_eq!(run(solder(&["shadow", text(&second)]).env("CUDA_HOME", &shadow)).0, Some(0));
    assert_eq!(fs::read_link(second.join("bin/nvcc")).expect("a link"), root.join("bin/nvcc"));
}

#[test]
fn shadow_finds_the_toolkit() {
    let folder = scratch("find");
    let root = toolkit(&folder, "13.0.88");
    let links = folder.join("links");
    fs::create_dir(&links).expect("a folder");
    symlink(root.join("bin/nvcc"), links.join("nvcc")).expect("a link");
    let shadow = folder.join("shadow");
    let search = |variable: &str, value: &Path| {
        let mut command = solder(&["shadow", text(&shadow)]);
        let (code, stdout, _) = run(command.env(variable, value));
        let found = stdout.contains(text(&root));
        let _ = fs::remove_dir_all(&shadow);
        (code, found)
    };
    for variable in ["SOLDER_TOOLKIT", "CUDA_HOME", "CUDA_PATH"] {
        assert_eq!(search(variable, &root), (Some(0), true), "{variable}");
    }
    assert_eq!(search("PATH", &root.join("bin")), (Some(0), true));
    assert_eq!(search("PATH", &links), (Some(0), true));
    assert_eq!(search("CUDA_HOME", &folder), (Some(1), false));
}

#[test]
fn shadow_refuses() {
    let folder = scratch("refuse");
    let (old, root) = (toolkit(&folder, "11.8.89"), toolkit(&folder, "13.0.88"));
    let occupied = folder.join("occupied");
    fs::create_dir(&occupied).expect("a folder");
    fs::write(occupied.join("precious"), "x").expect("a file");
    let inside = root.join("shadow");
    let new = folder.join("new");
    for (words, reason) in [
        (&[][..], "no folder given"),
        (&["a", "b"], "more than one folder given"),
        (&["a", "--toolkit"], "--toolkit needs a value"),
        (&["--frob"], "unknown option '--frob'"),
        (&[text(&new), "--toolkit", text(&old)], "is CUDA 11.8.89; solder supports CUDA 12.0"),
        (&[text(&new), "--toolkit", text(&folder)], "there is no bin/nvcc in it"),
        (&[text(&new)], "no CUDA toolkit found; looked at SOLDER_TOOLKIT (not set)"),
        (&[text(&occupied), "--toolkit", text(&root)], "nothing was changed"),
        (&[text(&inside), "--toolkit", text(&root)], "lies inside the toolkit"),
    ] {
        let (code, _, stderr) = run(solder(&["shadow"]).args(words).current_dir(&folder));
        assert_eq!(code, Some(1), "{words:?}");
        assert!(stderr.starts_with("solder shadow: ") && stderr.contains(reason), "{words:?}: {stderr}");
    }
    assert!(!new.exists() && !inside.exists());
    assert_eq!(fs::read_dir(&occupied).expect("the folder").count(), 1);
}
