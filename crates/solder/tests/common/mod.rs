//! What the tests of the command share. Each test uses a part of it.
#![allow(dead_code)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_solder");

/// The test runner shows this even if the test passes.
pub fn skipped(why: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// An empty folder of this name.
pub fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a scratch folder");
    folder.canonicalize().expect("it was made")
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// An input of the example.
pub fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/quickstart").join(name)
}

/// The exit code, and what is written to both streams.
pub fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().expect("solder runs");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (status.code(), text(stdout), text(stderr))
}

/// A toolkit with an nvcc that says this version.
pub fn toolkit(folder: &Path, version: &str) -> PathBuf {
    let root = folder.join(format!("cuda-{version}"));
    fs::create_dir_all(root.join("bin/crt")).expect("a folder");
    fs::create_dir_all(root.join("include")).expect("a folder");
    let nvcc = format!("#!/bin/sh\necho 'Cuda compilation tools, release 1.2, V{version}'\n");
    for (name, text) in
        [("nvcc", nvcc.as_str()), ("nvcc.profile", "TOP = ."), ("nvlink", "x"), ("ptxas", "x")]
    {
        script(&root.join("bin").join(name), text);
    }
    root
}

/// A file that can be run.
pub fn script(path: &Path, text: &str) {
    fs::write(path, text).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("permissions");
}
