//! Links of damaged inputs on which the program once broke off: a folder each in `damaged`, with the command.

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn damaged_inputs_are_answered() {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("damaged");
    for link in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/damaged")).expect("the links") {
        let link = link.expect("a link").path();
        let folder = scratch.join(link.file_name().expect("a name"));
        fs::create_dir_all(&folder).expect("a scratch folder");
        for file in fs::read_dir(&link).expect("its files") {
            let file = file.expect("a file").path();
            fs::copy(&file, folder.join(file.file_name().expect("a name"))).expect("a copy");
        }
        let command = fs::read_to_string(link.join("command")).expect("its command");
        let mut solder = Command::new(env!("CARGO_BIN_EXE_solder"));
        let output =
            solder.args(command.split_whitespace()).current_dir(&folder).output().expect("solder runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}: {text}", link.display());
    }
}
