//! `solder doctor` in set-ups that are broken in one way each, and `solder shadow --remove`.

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use common::{scratch, text, toolkit};

/// solder without anything of this machine's own.
fn solder(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).env_clear().env("PATH", "/usr/bin:/bin");
    command
}

/// The exit code, and what is found: level, topic, text and remedy in a line each.
fn doctor(command: &mut Command) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = command.output().expect("solder runs");
    let stdout = String::from_utf8(stdout).expect("UTF-8");
    let problem = String::from_utf8_lossy(&stderr).starts_with("solder doctor: there ");
    assert_eq!(status.code() == Some(1), problem, "{stdout}");
    (status.code(), stdout.replace("\n                    remedy", " remedy"))
}

/// The line of a finding.
fn line<'a>(output: &'a str, start: &str, part: &str) -> &'a str {
    let found = output
        .lines()
        .find(|line| line.split_whitespace().take(2).eq(start.split_whitespace()) && line.contains(part));
    found.unwrap_or_else(|| panic!("no '{start}' with '{part}' in:\n{output}"))
}

const PROGRAM: &str = env!("CARGO_BIN_EXE_solder");

/// Toolkits in the usual places cannot be hidden from the program.
fn has_installed_toolkit() -> bool {
    let folders = ["/usr/local", "/opt"].into_iter().filter_map(|folder| fs::read_dir(folder).ok());
    folders.flatten().flatten().any(|entry| entry.path().join("bin/nvcc").is_file())
}

#[test]
fn no_toolkit() {
    if has_installed_toolkit() {
        eprintln!("SKIPPED: this machine has a CUDA toolkit in a usual place");
        return;
    }
    let (code, output) = doctor(&mut solder(PROGRAM, &["doctor"]));
    assert_eq!(code, Some(1));
    let found = line(&output, "problem toolkit", "no CUDA toolkit was found");
    assert!(found.contains("remedy: install one of CUDA 13.0"), "{found}");
    let found = line(&output, "warning ptxas", "not found");
    assert!(found.contains("/usr/bin/ptxas, /bin/ptxas") && found.contains("CUDA_HOME"), "{found}");
}

#[test]
fn two_toolkits() {
    let folder = scratch("doctor-two");
    let (first, second) = (toolkit(&folder, "13.0.88"), toolkit(&folder, "13.2.86"));
    let mut command = solder(PROGRAM, &["doctor"]);
    let path = format!("{}:/usr/bin:/bin", text(&second.join("bin")));
    let (_, output) = doctor(command.env("CUDA_HOME", &first).env("PATH", path));
    let found = line(&output, "ok toolkit", text(&first));
    assert!(found.contains("CUDA_HOME") && found.contains("it is the one that is used"), "{found}");
    assert!(line(&output, "ok toolkit", text(&second)).contains("nvcc on PATH"));
    let found = line(&output, "warning toolkit", "several versions: 13.0.88, 13.2.86");
    assert!(found.contains("remedy: let SOLDER_TOOLKIT name"), "{found}");
}

#[test]
fn wrong_version() {
    let folder = scratch("doctor-version");
    let root = toolkit(&folder, "11.8.89");
    let (code, output) = doctor(solder(PROGRAM, &["doctor"]).env("CUDA_PATH", &root));
    assert_eq!(code, Some(1));
    let found =
        line(&output, "problem toolkit", "is CUDA 11.8.89; solder stands in for the nvlink of CUDA 12.0");
    assert!(found.contains("remedy: install one of these"), "{found}");
    let nowhere = folder.join("nowhere");
    let (code, output) = doctor(solder(PROGRAM, &["doctor"]).env("CUDA_PATH", &nowhere));
    assert_eq!(code, Some(1));
    assert!(line(&output, "problem toolkit", "there is no bin/nvcc in it").contains("let CUDA_PATH lead"));
}

#[test]
fn stale_shadow() {
    let folder = scratch("doctor-shadow");
    let root = toolkit(&folder, "13.0.88");
    let program = folder.join("solder");
    fs::copy(PROGRAM, &program).expect("a copy");
    let shadow = folder.join("shadow");
    let make = ["shadow", text(&shadow), "--toolkit", text(&root)];
    assert!(solder(text(&program), &make).output().expect("it runs").status.success());
    let look = |program: &Path| {
        doctor(&mut solder(text(program), &["doctor", "--toolkit", text(&root), text(&shadow)]))
    };
    line(&look(&program).1, "ok shadow", "links with this solder, as CUDA 13.0.88 does");
    // Another copy of the program.
    let (code, output) = look(Path::new(PROGRAM));
    assert_eq!(code, Some(0), "{output}");
    assert!(
        line(&output, "warning shadow", "another program than this one")
            .contains("remedy: run 'solder shadow")
    );
    // The program has moved.
    let moved = folder.join("moved");
    fs::create_dir(&moved).expect("a folder");
    fs::rename(&program, moved.join("solder")).expect("it moves");
    let (code, output) = look(&moved.join("solder"));
    assert_eq!(code, Some(1));
    let found = line(&output, "problem shadow", "nvcc then says 'nvlink: not found'");
    assert!(found.contains(&format!("remedy: run 'solder shadow {}' again", shadow.display())), "{found}");
    // The toolkit is gone.
    fs::rename(&root, folder.join("gone")).expect("it moves");
    let (code, output) = doctor(&mut solder(PROGRAM, &["doctor", text(&shadow)]));
    assert_eq!(code, Some(1));
    line(&output, "problem shadow", "which is not there any more");
    let (_, output) = doctor(&mut solder(PROGRAM, &["doctor", text(&folder)]));
    line(&output, "problem shadow", "was not made by solder shadow");
}

#[test]
fn missing_libnvvm() {
    let folder = scratch("doctor-nvvm");
    let root = toolkit(&folder, "13.0.88");
    let (code, output) = doctor(solder(PROGRAM, &["doctor"]).env("CUDA_HOME", &root));
    assert_eq!(code, Some(0), "{output}");
    let found = line(&output, "warning libnvvm", "links with -dlto fail");
    assert!(found.contains("remedy: install the package libnvvm"), "{found}");
    assert!(line(&output, "warning nvJitLink", "not found").contains("SOLDER_NVJITLINK"));
}

#[test]
fn unwritable_cache() {
    let folder = scratch("doctor-cache");
    let root = toolkit(&folder, "13.0.88");
    // A file where a folder should be: the superuser may write to every folder.
    let cache = folder.join("cache");
    fs::write(&cache, "x").expect("a file");
    for by_variable in [false, true] {
        let word = format!("--cache-dir={}", cache.display());
        let mut command = solder(PROGRAM, &["doctor"]);
        if by_variable {
            command.env("SOLDER_OPTIONS", &word);
        } else {
            command.arg(&word);
        }
        let (code, output) = doctor(command.env("CUDA_HOME", &root));
        assert_eq!(code, Some(1));
        let found = line(&output, "problem cache", "cannot be written to");
        assert!(found.contains("remedy: name another folder with --cache-dir"), "{found}");
    }
    let good = folder.join("good");
    let word = format!("--cache-dir={}", good.display());
    let (code, output) = doctor(solder(PROGRAM, &["doctor", &word]).env("CUDA_HOME", &root));
    assert_eq!(code, Some(0));
    line(&output, "ok cache", "can be written to");
    assert_eq!(fs::read_dir(&good).expect("it was made").count(), 0);
}

#[test]
fn for_programs() {
    let folder = scratch("doctor-json");
    let root = toolkit(&folder, "13.0.88");
    let output =
        solder(PROGRAM, &["doctor", "--json"]).env("CUDA_HOME", &root).env("SOLDER_AS", "9.9").output();
    let output = output.expect("solder runs");
    assert_eq!(output.status.code(), Some(1));
    let json = String::from_utf8(output.stdout).expect("UTF-8");
    for part in [
        "\"level\": \"problem\"",
        "\"topic\": \"release\"",
        "\"remedy\": null",
        "\"problems\": 1",
        "\"version\": \"",
    ] {
        assert!(json.contains(part), "{part}: {json}");
    }
}

#[test]
fn a_shadow_is_removed() {
    let folder = scratch("shadow-remove");
    let root = toolkit(&folder, "13.0.88");
    let shadow = folder.join("shadow");
    let run = |args: &[&str]| {
        let output = solder(PROGRAM, args).output().expect("solder runs");
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let make = ["shadow", text(&shadow), "--toolkit", text(&root)];
    assert!(run(&make).0);
    assert!(run(&["shadow", text(&shadow), "--remove"]).0);
    assert!(!shadow.exists() && root.join("bin/nvlink").is_file());
    // What is not solder's stays.
    assert!(run(&make).0);
    fs::write(shadow.join("bin/mine"), "x").expect("a file");
    assert!(run(&["shadow", text(&shadow), "--remove"]).0);
    assert!(shadow.join("bin/mine").is_file() && !shadow.join("bin/nvlink").is_symlink());
    symlink(&root, folder.join("link")).expect("a link");
    let (done, reason) = run(&["shadow", text(&folder), "--remove"]);
    assert!(!done && reason.contains("was not made by solder: nothing was changed"), "{reason}");
    assert!(folder.join("link").is_symlink());
}
