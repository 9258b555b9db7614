//! The end of a large link: another process gives its memory back, and nobody has to wait for that.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Links that have so many inputs are large.
const INPUTS: usize = 50;

/// Copies of a kernel that differ in its name, and what the kernel calls.
fn inputs(folder: &Path) -> Vec<String> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/quickstart");
    let kernel = fs::read(examples.join("blur.cubin")).expect("an example");
    let copy = |number: usize| {
        let (old, new) = (b"4blur", format!("4b{number:03}"));
        let mut bytes = kernel.clone();
        let places: Vec<_> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(old)).collect();
        for at in places {
            bytes[at..at + old.len()].copy_from_slice(new.as_bytes());
        }
        let file = format!("{new}.cubin");
        fs::write(folder.join(&file), bytes).expect("a copy");
        file
    };
    let callee = examples.join("weights.cubin").display().to_string();
    (0..INPUTS).map(copy).chain([callee]).collect()
}

/// Adopts processes whose parent has ended.
#[allow(unsafe_code)]
fn adopt() {
    // SAFETY: a flag of this process is set.
    let status = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    assert_eq!(status, 0);
}

/// Waits for a process that was adopted, and how it ended; `None` if there is none.
#[allow(unsafe_code)]
fn adopted() -> Option<i32> {
    let mut status = 0;
    // SAFETY: the status lives through the call.
    let process = unsafe { libc::waitpid(-1, &raw mut status, 0) };
    (process > 0).then_some(status)
}

/// In one test, as it waits for any process.
#[test]
fn memory_is_left_to_another_process() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("ending");
    fs::create_dir_all(&folder).expect("a scratch folder");
    let inputs = inputs(&folder);
    adopt();
    let link = |option: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_solder"));
        command.args(["-arch=sm_90", "-v", "-o", "out.cubin"]).args(option).args(&inputs);
        let output = command.current_dir(&folder).stdin(Stdio::null()).output().expect("solder runs");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        (output.stdout, output.stderr, fs::read(folder.join("out.cubin")).expect("the output"))
    };
    let left = link(&[]);
    assert_eq!(adopted(), Some(0));
    assert_eq!(adopted(), None);
    let waited = link(&["--no-fork"]);
    assert_eq!(adopted(), None);
    assert!(left == waited);
}
