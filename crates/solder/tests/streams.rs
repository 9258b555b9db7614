//! Standard streams that are files, closed or full, and words that are no UTF-8: nothing of it may panic.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn solder(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_solder"));
    command.args(args);
    command
}

fn scratch(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("a scratch folder");
    folder
}

fn output(mut command: Command) -> Output {
    command.output().expect("solder runs")
}

/// The shell writes the host script from the file's start, and so does the linker with its sections.
#[test]
fn host_script_on_a_regular_file_is_overwritten_at_its_head() {
    let folder = scratch("regular-stdout");
    let on_pipe = output(solder(&["-ghls"])).stdout;
    let path = folder.join("script");
    let status =
        solder(&["-ghls"]).stdout(File::create(&path).expect("a file")).status().expect("solder runs");
    assert!(status.success());
    let in_file = fs::read(&path).expect("the script");
    let (script, sections) = on_pipe.split_at(on_pipe.len() - 130);
    assert!(sections.starts_with(b"SECTIONS\n"));
    assert_eq!(in_file[..130], *sections);
    assert_eq!(in_file[130..], script[130..]);
}

#[test]
fn full_device() {
    for args in [&["-h"][..], &["-V"]] {
        let full = File::options().write(true).open("/dev/full").expect("the device");
        assert!(solder(args).stdout(full).status().expect("solder runs").success());
    }
    let result = output(solder(&["-ghls=lcs-aug", "-o", "/dev/full"]));
    assert_eq!(result.status.code(), Some(1));
    let text =
        "solder fatal   : Could not write output file '/dev/full': No space left on device (os error 28)\n";
    assert_eq!(String::from_utf8_lossy(&result.stderr), text);
}

/// What a subcommand says must arrive; a reader who has gone is no fault.
#[test]
fn full_device_of_subcommands() {
    let folder = scratch("full-stdout");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/quickstart/blur.cubin");
    let fatbin = folder.join("x.fatbin");
    let fatbin = fatbin.to_str().expect("UTF-8");
    let image = format!("--image=kind=elf,sm=90,file={example}");
    assert!(output(solder(&["fatbin", "--create", fatbin, &image])).status.success());
    let words: [&[&str]; 13] = [
        &["inspect", fatbin],
        &["inspect", "--json", fatbin],
        &["inspect", "--list", fatbin],
        &["inspect", "--list=elf", fatbin],
        &["inspect", "--symbols", fatbin],
        &["inspect", "--res-usage", fatbin],
        &["inspect", "--sort=name", fatbin],
        &["size", fatbin],
        &["size", "--json", fatbin],
        &["size", "--csv", "--by=section", fatbin],
        &["extract", "-d", folder.to_str().expect("UTF-8"), fatbin],
        &["prune", "--keep=90", "-o", "pruned", fatbin],
        &["help"],
    ];
    for args in words {
        let full = File::options().write(true).open("/dev/full").expect("the device");
        let result = solder(args).current_dir(&folder).stdout(full).output().expect("solder runs");
        let said = String::from_utf8_lossy(&result.stderr);
        let reason = "standard output could not be written: No space left on device";
        assert!(result.status.code() == Some(1) && said.contains(reason), "{args:?}: {said}");
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let result = solder(args).current_dir(&folder).stdout(writer).output().expect("solder runs");
        assert_eq!((result.status.code(), result.stderr.as_slice()), (Some(0), &b""[..]), "{args:?}");
    }
}

#[test]
fn closed_streams() {
    for script in ["\"$0\" -V >&-", "\"$0\" -h >&-", "\"$0\" -ghls=lcs-aug >&-"] {
        let status = Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_solder")]).status();
        assert_eq!(status.expect("a shell").code(), Some(0), "{script}");
    }
    for script in ["\"$0\" -bogus 2>&-", "\"$0\" -bogus 2>/dev/full", "\"$0\" -bogus >&- 2>&- <&-"] {
        let status = Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_solder")]).status();
        assert_eq!(status.expect("a shell").code(), Some(1), "{script}");
    }
}

#[test]
fn a_reader_that_has_gone() {
    let script = "\"$0\" -h | true; \"$0\" -V | true";
    let result =
        Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_solder")]).output().expect("a shell");
    assert_eq!(String::from_utf8_lossy(&result.stderr), "");
}

#[test]
fn words_that_are_not_utf8() {
    let word = OsStr::from_bytes(b"-b\xff=\xfe");
    let result = solder(&[]).arg(word).stdout(Stdio::null()).output().expect("solder runs");
    assert_eq!(result.stderr, b"solder fatal   : Unknown option 'b\xff'\n");
    for option in ["-arch", "-maxrregcount", "-m", "-verbose-tkinfo", "-optf", "-ghls"] {
        let result = solder(&[option]).arg(OsStr::from_bytes(b"\xff\"")).output().expect("solder runs");
        assert_eq!(result.status.code(), Some(1), "{option}");
    }
    let result = solder(&["-tool-name"]).arg(OsStr::from_bytes(b"\xff")).output().expect("solder runs");
    assert_eq!(result.stderr, b"\xff fatal   : Unknown arch name '(null)'\n");
}
