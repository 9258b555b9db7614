//! The cache of a link: which folder it is, what a link does with one that cannot be used, and what many links do to one
//! another. An assembler that only copies a file is enough for that.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{PROGRAM, example, run, scratch, text};

/// A folder with an assembler that counts its runs, and a text for it.
struct SetUp {
    folder: PathBuf,
}

impl SetUp {
    fn new(name: &str) -> Self {
        let folder = scratch(name);
        fs::create_dir(folder.join("bin")).expect("a folder");
        let script = format!(
            "#!/bin/sh\necho run >> '{}'\nfor last; do :; done\ncp '{}' \"$last\"\n",
            folder.join("runs").display(),
            example("weights.cubin").display()
        );
        let ptxas = folder.join("bin/ptxas");
        fs::write(&ptxas, script).expect("a script");
        fs::set_permissions(&ptxas, fs::Permissions::from_mode(0o755)).expect("permissions");
        write_ptx(&folder.join("weights.ptx"), "");
        Self { folder }
    }

    /// A link of the example with the text in place of one input.
    fn link(&self, output: &str) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(["-arch=sm_90", "-o", output, "weights.ptx"]).arg(example("blur.cubin"));
        command.env_clear().env("PATH", "/usr/bin:/bin").env("SOLDER_TOOLKIT", &self.folder);
        command.env("HOME", self.folder.join("home")).current_dir(&self.folder);
        command
    }

    /// How often the assembler ran since this was asked last.
    fn runs(&self) -> usize {
        let runs = self.folder.join("runs");
        let count = fs::read_to_string(&runs).map_or(0, |text| text.lines().count());
        let _ = fs::remove_file(runs);
        count
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

fn succeeds(command: &mut Command) {
    let (code, stdout, stderr) = run(command);
    assert_eq!((code, stdout.as_str(), stderr.as_str()), (Some(0), "", ""));
}

#[test]
fn the_folder_of_a_variable() {
    let set_up = SetUp::new("cache-variable");
    let cache = set_up.path("a cache");
    succeeds(&mut set_up.link("without.cubin"));
    succeeds(&mut set_up.link("without.cubin"));
    assert_eq!(set_up.runs(), 2, "nobody asked for a cache");
    for number in 0..3 {
        succeeds(set_up.link("with.cubin").env("SOLDER_CACHE_DIR", &cache));
        assert_eq!(set_up.runs(), usize::from(number == 0), "link {number}");
    }
    let read = |name: &str| fs::read(set_up.path(name)).expect("an output");
    assert_eq!(read("with.cubin"), read("without.cubin"));
    succeeds(set_up.link("with.cubin").env("SOLDER_CACHE_DIR", ""));
    succeeds(set_up.link("with.cubin").arg("--cache-dir=").env("SOLDER_CACHE_DIR", &cache));
    assert_eq!(set_up.runs(), 2, "it is switched off");
    // The same program elsewhere finds what is there.
    fs::rename(set_up.path("bin"), set_up.path("tools")).expect("ours");
    fs::create_dir_all(set_up.path("new/bin")).expect("ours");
    fs::rename(set_up.path("tools/ptxas"), set_up.path("new/bin/ptxas")).expect("ours");
    let toolkit = set_up.path("new");
    succeeds(set_up.link("with.cubin").env("SOLDER_CACHE_DIR", &cache).env("SOLDER_TOOLKIT", toolkit));
    assert_eq!(set_up.runs(), 0);
}

#[test]
fn the_usual_folder_if_it_is_there() {
    let set_up = SetUp::new("cache-usual");
    fs::create_dir_all(set_up.path("home/.cache/solder/results")).expect("a folder");
    succeeds(&mut set_up.link("out.cubin"));
    succeeds(&mut set_up.link("out.cubin"));
    assert_eq!(set_up.runs(), 1);
}

#[test]
fn a_cache_that_cannot_be_used_is_said_once() {
    let set_up = SetUp::new("cache-unusable");
    fs::write(set_up.path("a file"), b"mine").expect("writable");
    let cases: [(&str, PathBuf); 2] = [
        ("SOLDER_CACHE_DIR", set_up.path("a file/below")),
        ("SOLDER_CACHE_URL", "http://127.0.0.1:9/x".into()),
    ];
    for (variable, value) in cases {
        fs::create_dir_all(set_up.path("home")).expect("a folder");
        succeeds(set_up.link("out.cubin").env(variable, &value));
        let (code, stdout, stderr) = run(set_up.link("out.cubin").arg("--explain").env(variable, &value));
        let said = (stdout + &stderr).matches("nothing is kept").count();
        assert_eq!((code, said), (Some(0), 1), "{variable}");
    }
    let (code, stdout, stderr) =
        run(set_up.link("out.cubin").arg("--explain").env("SOLDER_CACHE_SIZE", "much"));
    assert!(code == Some(0) && (stdout + &stderr).contains("SOLDER_CACHE_SIZE is 'much'"));
    assert_eq!(fs::read(set_up.path("a file")).expect("there"), b"mine");
}

#[test]
fn looking_and_removing() {
    let set_up = SetUp::new("cache-command");
    let cache = set_up.path("cache");
    let ask = |words: &[&str]| {
        let mut command = Command::new(PROGRAM);
        run(command.arg("cache").args(words).env_clear().env("SOLDER_CACHE_DIR", &cache))
    };
    assert!(ask(&[]).1.contains("kept     0 entries, 0 B of at most 5.0 GiB\n"));
    succeeds(set_up.link("out.cubin").env("SOLDER_CACHE_DIR", &cache));
    fs::write(cache.join("mine"), b"mine").expect("writable");
    let (code, stdout, _) = ask(&["stats", "--json"]);
    // The assembler's hash is an entry too.
    assert!(code == Some(0) && stdout.contains(r#""kept":{"entries":2,"#), "{stdout}");
    assert!(ask(&["prune", "--limit", "1G"]).1.contains("removed  0 entries, 0 B\n"));
    assert!(ask(&["prune", "--limit=100"]).1.contains("removed  1 entry, ") || set_up.runs() == 1);
    let (code, stdout, _) = ask(&["clear"]);
    assert!(code == Some(0) && stdout.contains("kept     0 entries"), "{stdout}");
    assert_eq!(fs::read(cache.join("mine")).expect("not ours to remove"), b"mine");
    assert_eq!(ask(&["shrink"]).0, Some(1));
    assert_eq!(ask(&["prune", "--limit=much"]).0, Some(1));
    let (code, _, stderr) = run(Command::new(PROGRAM).arg("cache").env_clear());
    assert!(code == Some(1) && stderr.contains("set SOLDER_CACHE_DIR"), "{stderr}");
}

/// Links that write and read the same entries, and are killed at any point.
#[test]
fn killed_links_leave_nothing_wrong() {
    let set_up = SetUp::new("cache-killed");
    succeeds(&mut set_up.link("expected.cubin"));
    let expected = fs::read(set_up.path("expected.cubin")).expect("an output");
    let cache = set_up.path("cache");
    let random = fastrand::Rng::with_seed(1);
    std::thread::scope(|scope| {
        let killer = scope.spawn(|| {
            let mut random = random;
            for number in 0..200 {
                let name = format!("v{}.ptx", number % 7);
                write_ptx(&set_up.path(&name), &name);
                let mut link = set_up.link("killed.cubin");
                link.arg(name).env("SOLDER_CACHE_DIR", &cache);
                link.stdout(Stdio::null()).stderr(Stdio::null());
                let mut child = link.spawn().expect("it starts");
                std::thread::sleep(Duration::from_micros(random.u64(0..20_000)));
                let _ = child.kill();
                let _ = child.wait();
            }
        });
        let mut number = 0;
        while !killer.is_finished() || number == 0 {
            let output = format!("out-{number}.cubin");
            succeeds(set_up.link(&output).env("SOLDER_CACHE_DIR", &cache));
            let output = set_up.path(&output);
            assert_eq!(fs::read(&output).expect("an output"), expected);
            fs::remove_file(output).expect("ours");
            number += 1;
        }
    });
    for number in 0..7 {
        let output = format!("after-{number}.cubin");
        let mut link = set_up.link(&output);
        link.arg(format!("v{number}.ptx")).env("SOLDER_CACHE_DIR", &cache);
        let with = run(&mut link);
        link.env("SOLDER_CACHE_DIR", "");
        assert_eq!(with, run(&mut link), "the same answer with and without");
    }
    assert!(text(&cache).ends_with("cache") && cache.is_dir());
}

/// A text for the assembler; a shorter one is not taken for a file of PTX.
fn write_ptx(path: &Path, comment: &str) {
    let text = format!("// {comment:64}\n.version 9.0\n.target sm_90\n.address_size 64\n");
    fs::write(path, text).expect("writable");
}
