//! What solder answers to a newcomer: no words, a command that does not exist, help, and words from the environment.

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use common::{PROGRAM, example, run, scratch};

fn solder(args: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(args);
    command
}

const WITHOUT_TARGET: &str = "solder fatal   : Unknown arch name '(null)'\n";

#[test]
fn a_short_help() {
    let (code, stdout, help) = run(&mut solder(&[]));
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    for name in ["link", "inspect", "shadow", "doctor", "man", "completions", "help"] {
        assert!(help.contains(&format!("\n  {name} ")), "{help}");
    }
    assert!(help.lines().count() < 24 && help.lines().all(|line| line.len() <= 100), "{help}");
    assert_eq!(run(&mut solder(&["help"])), (Some(0), help, String::new()));
    for name in ["inspect", "shadow", "doctor", "man", "completions"] {
        let (code, stdout, stderr) = run(&mut solder(&["help", name]));
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{name}");
        assert!(stdout.starts_with(&format!("usage: solder {name}")), "{stdout}");
    }
    let (code, stdout, _) = run(&mut solder(&["help", "link"]));
    assert!(code == Some(0) && stdout.contains("--output-file"), "{stdout}");
}

#[test]
fn a_mistyped_command() {
    let folder = scratch("mistyped");
    fs::write(folder.join("file"), "x").expect("a file");
    for (words, answer) in [
        (&["inspct", "a.cubin"][..], "solder: there is no command 'inspct'; did you mean 'inspect'?\n"),
        (&["inspct", "--json", "a.cubin"], "solder: there is no command 'inspct'; did you mean 'inspect'?\n"),
        (&["frobnicate"], "solder: there is no command 'frobnicate'; 'solder help' lists them all\n"),
        (&["help", "shado"], "solder help: there is no command 'shado'; did you mean 'shadow'?\n"),
        // These are command lines of nvlink.
        (&["a.cubin"], WITHOUT_TARGET),
        (&["file"], WITHOUT_TARGET),
        (&["inspct", "-v"], WITHOUT_TARGET),
        (&["inspct", "--output-file=x"], WITHOUT_TARGET),
        (&["-v"], WITHOUT_TARGET),
        (&["link"], WITHOUT_TARGET),
        (&[""], WITHOUT_TARGET),
    ] {
        let (code, stdout, stderr) = run(solder(words).current_dir(&folder));
        assert_eq!((code, stdout.as_str(), stderr.as_str()), (Some(1), "", answer), "{words:?}");
    }
}

/// Under its name every command line is nvlink's.
#[test]
fn as_nvlink() {
    let folder = scratch("as-nvlink");
    let nvlink = folder.join("nvlink");
    symlink(PROGRAM, &nvlink).expect("a link");
    for words in [&[][..], &["help"], &["inspct"], &["doctor"], &["link"]] {
        let (code, stdout, stderr) = run(Command::new(&nvlink).args(words));
        let expected = WITHOUT_TARGET.replace("solder", "nvlink");
        assert_eq!((code, stdout.as_str(), stderr), (Some(1), "", expected), "{words:?}");
    }
}

fn link(folder: &Path) -> Command {
    let mut command = solder(&["link", "-arch=sm_90", "-o", "out.cubin"]);
    command.args([example("blur.cubin"), example("weights.cubin")]).current_dir(folder);
    command
}

#[test]
fn words_of_a_variable() {
    let folder = scratch("variable");
    assert_eq!(run(&mut link(&folder)), (Some(0), String::new(), String::new()));
    let plain = fs::read(folder.join("out.cubin")).expect("an output");
    let (code, stdout, _) = run(link(&folder).env("SOLDER_OPTIONS", "--print-gc  --map=\"a map\""));
    assert_eq!(code, Some(0));
    assert!(stdout.contains(" removed, "), "{stdout}");
    assert!(folder.join("a map").is_file());
    assert!(plain == fs::read(folder.join("out.cubin")).expect("an output"));
    let (code, _, stderr) = run(link(&folder).env("SOLDER_OPTIONS", "\"open"));
    assert_eq!((code, stderr.as_str()), (Some(1), "solder fatal   : Stray '\"' character\n"));
    // Commands are not links.
    assert_eq!(run(solder(&["help"]).env("SOLDER_OPTIONS", "--bogus")).0, Some(0));
}

#[test]
fn colour() {
    let plain = "solder fatal   : Unknown option 'bogus'\n";
    let coloured = "solder \u{1b}[1;31mfatal   \u{1b}[0m: Unknown option 'bogus'\n";
    for (words, expected) in [
        (&["-bogus"][..], plain),
        (&["--color=never", "-bogus"], plain),
        (&["--color", "always", "-bogus"], coloured),
        (&["--color=always", "-bogus"], coloured),
    ] {
        assert_eq!(run(&mut solder(words)).2, expected, "{words:?}");
    }
    // A message of the link itself.
    let (_, _, stderr) = run(&mut solder(&["-arch=sm_90", "--color=always", "-o", "x", "missing.cubin"]));
    assert!(stderr.starts_with("solder \u{1b}[1;31mfatal   \u{1b}[0m: Could not open"), "{stderr}");
    let (_, _, stderr) = run(&mut solder(&["-arch=sm_90", "--color=always", "--error-format=json", "x"]));
    assert!(stderr.starts_with("{\"tool\""), "{stderr}");
}

#[test]
fn the_version_names_release_and_commit() {
    let (_, stdout, _) = run(&mut solder(&["--version", "--as-nvlink", "13.2"]));
    assert!(stdout.contains("release 13.2, V13.2.") && stdout.contains("\nBuild solder "), "{stdout}");
    let (_, stdout, _) = run(solder(&["--version"]).env_remove("SOLDER_AS"));
    assert!(stdout.contains(", or an earlier one, as the newest object of a link asks\n"), "{stdout}");
}

/// Each place once, and what would help.
#[test]
fn no_assembler() {
    let folder = scratch("no-assembler");
    fs::write(
        folder.join("a.ptx"),
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n",
    )
    .expect("a file");
    let mut command = solder(&["-arch=sm_90", "a.ptx", "-o", "out"]);
    command.env_clear().env("PATH", "/nowhere:/elsewhere:/nowhere").env("CUDA_HOME", "/nothing");
    let (code, _, stderr) = run(command.current_dir(&folder));
    assert_eq!(code, Some(1));
    for place in
        ["/nothing/bin/ptxas", "/nowhere/ptxas", "/elsewhere/ptxas", "SOLDER_TOOLKIT, CUDA_HOME or CUDA_PATH"]
    {
        assert_eq!(stderr.matches(place).count(), 1, "{stderr}");
    }
}

/// What is known of a failed link is written, once, with the errors first.
#[test]
fn files_about_a_failed_link() {
    let folder = scratch("failed-files");
    let mut command = solder(&["-arch=sm_90", "-o", "out", "--map", "map", "--report", "report-%a.html"]);
    let (code, stdout, _) = run(command.arg(example("blur.cubin")).current_dir(&folder));
    assert_eq!((code, stdout.as_str()), (Some(255), ""));
    let map = fs::read_to_string(folder.join("map")).expect("a map");
    assert!(map.starts_with("Map of out for sm_90: the link failed and wrote nothing\n\nErrors\n"), "{map}");
    let page = fs::read_to_string(folder.join("report-sm_90.html")).expect("a page");
    assert!(
        page.contains("<body>\n<section class=\"alert\" role=\"alert\"><p>The link failed")
            && page.contains("Undefined reference")
    );
    let mut command = solder(&["-arch=sm_90", "-o", "out", "--report", "none.html", "missing.cubin"]);
    assert_eq!(run(command.current_dir(&folder)).0, Some(1));
    let page = fs::read_to_string(folder.join("none.html")).expect("a page");
    assert!(page.contains("<li>Could not open input file 'missing.cubin'</li>"));
    let mut command = solder(&["-arch=sm_90", "-o", "out", "--report", "data.json", "missing.cubin"]);
    assert_eq!(run(command.current_dir(&folder)).0, Some(1));
    let data = fs::read_to_string(folder.join("data.json")).expect("data");
    assert!(data.contains(r#""errors":["Could not open input file 'missing.cubin'"]"#), "{data}");
    assert!(!folder.join("out").exists());
}
