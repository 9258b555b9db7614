//! `-time`: a table of how long the compilations of a link took, kept across runs in one file.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use crate::diagnostics::{Message, Sink, Stop};
use crate::options::Options;

const HEADINGS: &str =
    "source file name , phase name , phase input files , phase output file , arch , tool, metric , unit\n";

/// Makes sure that the file can be written. A file that is not there yet gets the line of headings; one that is
/// there is only added to, even if it is empty. Nothing happens without `-time`.
pub fn begin(options: &Options, sink: &Sink) -> Result<(), Stop> {
    let Some(file) = &options.time_file else { return Ok(()) };
    let opened = if is_stdout(file) {
        options.console.out(HEADINGS.as_bytes());
        Ok(())
    } else {
        match OpenOptions::new().write(true).create_new(true).open(file) {
            Ok(mut new) => new.write_all(HEADINGS.as_bytes()),
            Err(_) => OpenOptions::new().append(true).create(true).open(file).map(drop),
        }
    };
    opened.map_err(|_| sink.fatal(Message::TimeFileNotOpened { file: file.into() }))
}

/// Appends finished lines; a file that can no longer be written is not a reason to fail a link.
pub fn add(options: &Options, lines: &[u8]) {
    match &options.time_file {
        Some(file) if is_stdout(file) => options.console.out(lines),
        Some(file) => {
            let opened = OpenOptions::new().append(true).create(true).open(file);
            let _ = opened.and_then(|mut file| file.write_all(lines));
        }
        None => {}
    }
}

fn is_stdout(file: &Path) -> bool {
    file == Path::new("-")
}
