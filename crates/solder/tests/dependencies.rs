//! `--dependency-file`: what it names, when it is written, and that make and Ninja link again because of it.

mod common;

use common::{PROGRAM, example, skipped};
use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

/// A folder with the two cubins of the example.
fn scratch(name: &str) -> PathBuf {
    let folder = common::scratch(name);
    for file in ["blur.cubin", "weights.cubin"] {
        fs::copy(example(file), folder.join(file)).expect("the example");
    }
    folder
}

fn solder(folder: &Path, words: &[&str]) -> Output {
    Command::new(PROGRAM).args(words).current_dir(folder).output().expect("solder runs")
}

fn run(folder: &Path, program: &str, words: &[&str]) -> Option<String> {
    let output = Command::new(program).args(words).current_dir(folder).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{program} {words:?}: {text}");
    Some(text)
}

fn links(folder: &Path, words: &[&str]) {
    let output = solder(folder, words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap_or_default()
}

#[test]
fn every_file_read_is_named() {
    let folder = scratch("dependencies-names");
    fs::write(folder.join("inner.txt"), "--no-fork").expect("an option file");
    fs::write(folder.join("outer.txt"), "-arch=sm_90 --options-file inner.txt").expect("an option file");
    fs::write(folder.join("host.bin"), "host").expect("a file");
    fs::write(folder.join("notes.txt"), "not device code\n".repeat(100)).expect("a file");
    fs::create_dir(folder.join("lib")).expect("a folder");
    run(&folder, "ar", &["rc", "given.a", "weights.cubin"]).expect("ar");
    fs::write(folder.join("host.c"), "int f;").expect("a source");
    if run(&folder, "gcc", &["-c", "host.c", "-o", "host.o"]).is_some() {
        run(&folder, "ar", &["rcT", "lib/libthin.a", "host.o"]).expect("ar");
    }
    links(
        &folder,
        &[
            "--options-file=outer.txt",
            "-nv-host=host.bin",
            "blur.cubin",
            "weights.cubin",
            "given.a",
            "./given.a",
            "notes.txt",
            "-L",
            "lib",
            "-lthin",
            "-lmissing",
            "/dev/null",
            "-o",
            "out.cubin",
            "--dependency-file=out.d",
        ],
    );
    let text = read(&folder, "out.d");
    let rule: Vec<&str> = text.split("\n\n").next().unwrap_or_default().split(" \\\n  ").collect();
    let mut expected = vec!["out.cubin:", "outer.txt", "inner.txt", "host.bin", "blur.cubin"];
    expected.extend(["weights.cubin", "given.a", "./given.a", "notes.txt", "lib/../host.o", "lib/libthin.a"]);
    assert_eq!(rule, expected, "{text}");
    for name in &rule[1..] {
        assert!(text.contains(&format!("\n\n{name}:\n")), "{name} in {text}");
    }
}

#[test]
fn the_target_can_be_named_and_the_rule_printed() {
    let folder = scratch("dependencies-target");
    let words = ["-arch=sm_90", "blur.cubin", "weights.cubin", "-o", "out.cubin"];
    let output = solder(&folder, &[&words[..], &["-MF", "-", "-MT", "my program"]].concat());
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.starts_with("my\\ program: \\\n  blur.cubin \\\n  weights.cubin\n\n"), "{text}");
    links(&folder, &words);
    let plain = fs::read(folder.join("out.cubin")).expect("an output");
    links(&folder, &[&words[..], &["--dependency-file", "out.d"]].concat());
    assert!(plain == fs::read(folder.join("out.cubin")).expect("an output"), "the option changes the output");
}

#[test]
fn a_failed_link_leaves_what_was_there() {
    let folder = scratch("dependencies-failed");
    fs::write(folder.join("out.d"), "as it was").expect("a file");
    // Its table is not there.
    let failed = solder(&folder, &["-arch=sm_90", "blur.cubin", "-o", "out.cubin", "-MF", "out.d"]);
    assert!(!failed.status.success());
    assert_eq!(read(&folder, "out.d"), "as it was");
    let words = ["-arch=sm_90", "blur.cubin", "weights.cubin", "-o", "out.cubin", "-MF", "no/such/folder"];
    let failed = solder(&folder, &words);
    assert_eq!(failed.status.code(), Some(1));
    fs::rename(folder.join("weights.cubin"), folder.join("a\nb.cubin")).expect("a line break");
    let words = ["-arch=sm_90", "blur.cubin", "a\nb.cubin", "-o", "out.cubin", "-MF", "out.d"];
    let failed = solder(&folder, &words);
    assert!(String::from_utf8_lossy(&failed.stderr).contains("line break"));
    assert_eq!(read(&folder, "out.d"), "as it was");
}

/// Makes a file newer than all others, by its time and not by waiting.
fn touch(folder: &Path, name: &str, seconds: u64) {
    let time = SystemTime::now() + Duration::from_secs(seconds);
    let file = File::options().append(true).open(folder.join(name)).expect("the file");
    file.set_times(FileTimes::new().set_modified(time)).expect("a time");
}

/// Names that make, Ninja or the shell would read as something else.
const ODD: &str = "odd #1$ a:b\\c";

/// A link with an archive that no rule mentions.
fn link_line(archive: &str) -> String {
    format!("{PROGRAM} -arch=sm_90 blur.cubin weights.cubin {archive} -o out.cubin --dependency-file=out.d")
}

fn make_archives(folder: &Path) {
    fs::create_dir(folder.join(ODD)).expect("a folder");
    run(folder, "ar", &["rc", &format!("{ODD}/lib.a"), "weights.cubin"]).expect("ar");
}

#[test]
fn make_links_again_when_an_archive_changes() {
    let folder = scratch("dependencies-make");
    make_archives(&folder);
    // In a recipe the number sign is the shell's.
    let link = link_line(&format!("'{ODD}/lib.a'")).replace('$', "$$");
    fs::write(folder.join("Makefile"), format!("out.cubin: blur.cubin\n\t{link}\n-include out.d\n"))
        .expect("a file");
    let Some(first) = run(&folder, "make", &["out.cubin"]) else { return skipped("there is no make") };
    assert!(first.contains("--dependency-file"), "{first}");
    // In the future, so that the archive can be made newer, and the output newer again.
    touch(&folder, "out.cubin", 10);
    let again = || run(&folder, "make", &["out.cubin"]).expect("make");
    assert!(again().contains("up to date"));
    touch(&folder, &format!("{ODD}/lib.a"), 20);
    assert!(again().contains("--dependency-file"), "the archive is newer");
    // One that is gone is not an error of make: the rule to follow decides.
    fs::write(
        folder.join("Makefile"),
        format!("out.cubin: blur.cubin\n\t{}\n-include out.d\n", link_line("")),
    )
    .expect("a file");
    fs::remove_dir_all(folder.join(ODD)).expect("the archive");
    touch(&folder, "out.cubin", 30);
    assert!(again().contains("--dependency-file"), "the archive is gone");
    touch(&folder, "out.cubin", 40);
    assert!(again().contains("up to date"));
}

#[test]
fn ninja_links_again_when_an_archive_changes() {
    let folder = scratch("dependencies-ninja");
    make_archives(&folder);
    let link = link_line(&format!("'{ODD}/lib.a'")).replace('$', "$$");
    for deps in ["", "  deps = gcc\n"] {
        touch(&folder, &format!("{ODD}/lib.a"), 0);
        let _ = fs::remove_file(folder.join("out.cubin"));
        let rule = format!("rule link\n  command = {link}\n  depfile = out.d\n{deps}");
        fs::write(folder.join("build.ninja"), format!("{rule}build out.cubin: link blur.cubin\n"))
            .expect("a file");
        let Some(first) = run(&folder, "ninja", &["-v"]) else { return skipped("there is no ninja") };
        assert!(first.contains("--dependency-file"), "{first}");
        let again = || run(&folder, "ninja", &["-v"]).expect("ninja");
        assert!(again().contains("no work to do"), "{deps}");
        touch(&folder, &format!("{ODD}/lib.a"), 20);
        assert!(again().contains("--dependency-file"), "the archive is newer: {deps}");
    }
}
