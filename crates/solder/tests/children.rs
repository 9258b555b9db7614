//! Programs that solder starts begin with the blocked and ignored signals that solder was started with.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Writes the blocked and ignored signals of a program to a file of its own in the folder `said`. They are those of `grep`,
/// which the shell hands on as it got them: the shell itself blocks signals while it waits.
const REPORT: &str = "grep -E '^Sig(Blk|Ign):' /proc/self/status > \"$SAID/$$\"\n";

/// What `env` does to the signals of a program that it starts.
const SET_UPS: [&[&str]; 4] = [
    &["--default-signal"],
    &["--default-signal", "--ignore-signal=PIPE,XFSZ"],
    &["--default-signal", "--ignore-signal=HUP,INT,TERM", "--block-signal=USR1"],
    &["--default-signal", "--block-signal=HUP,INT,TERM,PIPE"],
];

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("said")).expect("a scratch folder");
        Self(folder)
    }

    /// A program that reports its signals and goes on with the rest of the script.
    fn program(&self, name: &str, rest: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, format!("#!/bin/sh\n{REPORT}{rest}")).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("ours");
        path
    }

    /// What was reported by each program while this one ran in a set-up.
    fn said(&self, set_up: &[&str], program: &Path, words: &[&str]) -> Vec<String> {
        let said = self.0.join("said");
        let _ = fs::remove_dir_all(&said);
        fs::create_dir_all(&said).expect("a folder");
        let mut command = Command::new("env");
        command.args(set_up).arg(program).args(words).current_dir(&self.0);
        command.env("SAID", &said).env("PATH", format!("{}:/usr/bin:/bin", self.0.display()));
        command.stdin(Stdio::null()).output().expect("it runs");
        let files = fs::read_dir(&said).expect("a folder").map(|file| file.expect("a file").path());
        files.map(|file| fs::read_to_string(file).expect("a report")).collect()
    }

    /// In each set-up solder starts at least so many programs, all with the signals of one that is started directly.
    fn check(&self, words: &[&str], at_least: usize) {
        let solder = Path::new(env!("CARGO_BIN_EXE_solder"));
        let alone = self.program("alone", "");
        for set_up in SET_UPS {
            let expected = self.said(set_up, &alone, &[]);
            assert_eq!(expected.len(), 1);
            let said = self.said(set_up, solder, words);
            assert!(said.len() >= at_least, "{set_up:?} {words:?}: {} started", said.len());
            assert_eq!(said, vec![expected[0].clone(); said.len()], "{set_up:?} {words:?}");
        }
    }
}

fn ptx(folder: &Path, name: &str) {
    let text =
        format!(".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry {name}() {{ ret; }}\n");
    fs::write(folder.join(name).with_extension("ptx"), text).expect("a file");
}

#[test]
fn the_assembler() {
    let scratch = Scratch::new("children-assembler");
    scratch.program("ptxas", "exit 1\n");
    ptx(&scratch.0, "k0");
    scratch.check(&["-arch=sm_90", "k0.ptx", "-o", "out"], 1);
}

#[test]
fn assemblers_of_several_threads() {
    let scratch = Scratch::new("children-assemblers");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/quickstart/weights.cubin");
    scratch.program("ptxas", &format!("for last; do :; done\ncat '{}' > \"$last\"\n", example.display()));
    let names: Vec<String> = (0..8).map(|number| format!("k{number}")).collect();
    for name in &names {
        ptx(&scratch.0, name);
    }
    let files: Vec<String> = names.iter().map(|name| format!("{name}.ptx")).collect();
    let words: Vec<&str> =
        ["-arch=sm_90", "-o", "out"].into_iter().chain(files.iter().map(|file| &**file)).collect();
    scratch.check(&words, files.len());
}

#[test]
fn the_shell_of_host_scripts() {
    let scratch = Scratch::new("children-shell");
    scratch.program("ld", "exit 1\n");
    scratch.check(&["-ghls", "-o", "script"], 1);
}

#[test]
fn nvcc() {
    let scratch = Scratch::new("children-nvcc");
    scratch.program("toolkit/bin/nvcc", "echo 'release 1.0, V1.0.0'\n");
    fs::write(scratch.0.join("toolkit/bin/nvcc.profile"), "").expect("a file");
    fs::write(scratch.0.join("toolkit/bin/nvlink"), "").expect("a file");
    scratch.check(&["shadow", "--toolkit", "toolkit", "shadow"], 1);
}
