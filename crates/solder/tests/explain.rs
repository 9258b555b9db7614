//! Options that tell about a link: the output is the same with them. Recorded paths. Completions.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use common::{scratch, skipped};

/// Links the example with these options, and reads the output.
fn link(folder: &Path, options: &[&str]) -> (Vec<u8>, Output) {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/quickstart");
    let out = folder.join("out.cubin");
    let output = Command::new(env!("CARGO_BIN_EXE_solder"))
        .arg("-arch=sm_90")
        .args(options)
        .args([example.join("blur.cubin"), example.join("weights.cubin")])
        .arg("-o")
        .arg(&out)
        .current_dir(folder)
        .output()
        .expect("solder runs");
    assert!(output.status.success(), "{options:?}: {}", String::from_utf8_lossy(&output.stderr));
    (fs::read(out).expect("an output"), output)
}

#[test]
fn telling_changes_no_byte() {
    let folder = scratch("explain-bytes");
    let (plain, output) = link(&folder, &[]);
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
    for options in [
        &["--explain"][..],
        &["--error-format=json"],
        &["--explain-regs"],
        &["--map", "map"],
        &["--why-live", "blur"],
        &["--print-gc"],
        &["--trace", "blur"],
        &["--report", "report.html"],
        &["--progress=never"],
        &["--progress"],
    ] {
        let (bytes, output) = link(&folder, options);
        assert!(bytes == plain, "{options:?}");
        assert!(output.stderr.is_empty(), "{options:?}");
    }
    assert!(fs::read_to_string(folder.join("report.html")).expect("a page").ends_with("</html>\n"));
    assert!(fs::read_to_string(folder.join("map")).expect("a map").starts_with("Map of "));
}

#[test]
fn recorded_folders_can_be_changed() {
    let folder = scratch("explain-paths");
    let bytes = |options: &[&str]| link(&folder, options).0;
    let (here, there) = ("-L/home/here/build/lib", "-L/srv/there/lib");
    assert!(bytes(&[here]) != bytes(&[there]));
    assert!(bytes(&[here, "--reproducible"]) == bytes(&[there, "--reproducible"]));
    let mapped = bytes(&[here, "--remap-path-prefix", "/home/here/build=/srv/there"]);
    assert!(mapped == bytes(&[there]));
    assert!(bytes(&["--reproducible"]) == bytes(&[]));
}

fn completions(shell: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_solder")).args(["completions", shell]).output();
    String::from_utf8(output.expect("solder runs").stdout).expect("UTF-8")
}

/// What bash offers for the last of these words.
fn bash_offers(words: &[&str]) -> Vec<String> {
    let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let (count, words) = (words.len() - 1, words.join(" "));
    let script = format!(
        "{}\nCOMP_WORDS=({words}); COMP_CWORD={count}; compopt() {{ :; }}; _solder; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        completions("bash")
    );
    let output = Command::new("bash").args(["--norc", "-c", &script]).output().expect("bash runs");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(String::from).collect()
}

#[test]
fn bash_completes_options_and_values() {
    assert_eq!(bash_offers(&["solder", "--expl"]), ["--explain", "--explain-regs"]);
    assert_eq!(bash_offers(&["solder", "--error-format", "=", "j"]), ["json"]);
    assert!(bash_offers(&["solder", "-arch", "sm_9"]).contains(&"sm_90a".to_string()));
    assert_eq!(bash_offers(&["solder", "insp"]), ["inspect"]);
}

/// The shells' own opinion of the scripts, where they are installed.
#[test]
fn scripts_are_well_formed() {
    let folder = scratch("completions");
    for shell in ["bash", "zsh", "fish"] {
        let path = folder.join(shell);
        fs::write(&path, completions(shell)).expect("a file");
        match Command::new(shell).arg("-n").arg(&path).output() {
            Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
            Err(_) => skipped(&format!("{shell} is not installed, so nobody checked its script")),
        }
    }
}
