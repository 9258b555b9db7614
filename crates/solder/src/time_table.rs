//! `-time`: a table of how long the compilations of a link took, kept across runs in one file.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use crate::diagnostics::{Message, Sink, Stop};
use crate::options::Options;

const HEADINGS: &str =
    "source file name , phase name , phase input files , phase output file , arch , tool, metric , unit\n";

/// Makes sure that the file can be written and has its line of headings. Nothing happens without `-time`.
pub fn begin(options: &Options, sink: &Sink) -> Result<(), Stop> {
    let Some(file) = &options.time_file else { return Ok(()) };
    append(file, |is_empty| if is_empty { HEADINGS.as_bytes().to_vec() } else { Vec::new() })
        .map_err(|_| sink.fatal(Message::TimeFileNotOpened { file: file.into() }))
}

/// Appends finished lines; a file that can no longer be written is no reason to fail a link.
pub fn add(options: &Options, lines: &[u8]) {
    if let Some(file) = &options.time_file {
        let _ = append(file, |_| lines.to_vec());
    }
}

/// Appends what `text` gives, which is told whether there is nothing yet.
fn append(file: &Path, text: impl FnOnce(bool) -> Vec<u8>) -> io::Result<()> {
    if file == Path::new("-") {
        return io::stdout().write_all(&text(true));
    }
    let mut file = OpenOptions::new().append(true).create(true).open(file)?;
    let is_empty = file.metadata()?.len() == 0;
    file.write_all(&text(is_empty))
}
