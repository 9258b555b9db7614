//! `--save-temps`: what the link makes on its way stays as files, and the commands that would make it are printed.
//!
//! nvlink has no such option; the design documents describe one under the name `--verbose-keep`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::diagnostics::{Message, Sink, Stop};
use crate::options::Options;
use crate::shell;
use solder_link::model::object::Object;
use solder_toolchain::{Flags, Ptx};

/// Keeps a PTX and its code, and prints how the one became the other.
pub fn assembled(
    options: &Options,
    (number, name): (usize, &[u8]),
    (ptx, flags): (&Ptx<'_>, &Flags),
    cubin: Option<&[u8]>,
    sink: &Sink,
) -> Result<(), Stop> {
    let Some(folder) = &options.save_temps else { return Ok(()) };
    let path = |extension| folder.join(file_name(number, name, extension));
    let (source, code) = (path("ptx"), path("cubin"));
    write(&source, ptx.text, sink)?;
    if let Some(cubin) = cubin {
        write(&code, cubin, sink)?;
    }
    let mut words = vec![b"ptxas".to_vec()];
    words.extend(flags.arguments(ptx).iter().map(|word| word.as_bytes().to_vec()));
    words.extend([source.as_os_str(), OsStr::new("-o"), code.as_os_str()].map(|w| w.as_bytes().to_vec()));
    print(options, &words);
    Ok(())
}

/// Keeps the objects that are no files of their own, and prints the link of all of them.
pub fn linked(options: &Options, objects: &[Object<'_>], sink: &Sink) -> Result<(), Stop> {
    let Some(folder) = &options.save_temps else { return Ok(()) };
    let mut words = vec![b"nvlink".to_vec()];
    let recorded = options.recorded_command_line();
    words.extend(recorded.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).map(<[u8]>::to_vec));
    for (number, object) in objects.iter().enumerate() {
        let bytes = object.cubin.bytes;
        if fs::read(OsStr::from_bytes(&object.name)).is_ok_and(|file| file == bytes) {
            words.push(object.name.to_vec());
            continue;
        }
        let path = folder.join(file_name(number, &object.name, "cubin"));
        write(&path, bytes, sink)?;
        words.push(path.as_os_str().as_bytes().to_vec());
    }
    words.extend([b"-o".to_vec(), options.link_output().as_os_str().as_bytes().to_vec()]);
    print(options, &words);
    Ok(())
}

/// `2-f.cubin` for the third input, `dir/f.o` or `libfg.a:f.o`.
fn file_name(number: usize, input: &[u8], extension: &str) -> PathBuf {
    let base = input.rsplit(|byte| matches!(byte, b'/' | b':')).next().unwrap_or(input);
    let stem = base.split(|byte| *byte == b'.').next().unwrap_or(base);
    let mut name = format!("{number}-").into_bytes();
    name.extend_from_slice(stem);
    name.push(b'.');
    name.extend_from_slice(extension.as_bytes());
    PathBuf::from(OsStr::from_bytes(&name))
}

fn write(path: &Path, bytes: &[u8], sink: &Sink) -> Result<(), Stop> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, bytes));
    written.map_err(|_| sink.fatal(Message::OutputNotOpened { file: path.into() }))
}

/// Prints a command so that a shell takes it.
fn print(options: &Options, words: &[Vec<u8>]) {
    let quoted: Vec<Vec<u8>> =
        words.iter().map(|word| if word.is_empty() { b"''".to_vec() } else { shell::quote(word) }).collect();
    let mut line = quoted.join(&b' ');
    line.push(b'\n');
    options.console.out(&line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(file_name(2, b"dir/f.o", "cubin"), Path::new("2-f.cubin"));
        assert_eq!(file_name(0, b"x/libfg.a:f2.o", "ptx"), Path::new("0-f2.ptx"));
    }
}
