//! The compiler library of link-time optimisation.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use crate::diagnostics::{Message, Sink, Stop};
use crate::options::Options;

/// The only file that is tried, relative to `-nvvmpath`.
const LIBRARY: &str = "lib64/libnvvm.so";

const ELF_MAGIC: &[u8] = b"\x7fELF";

/// The library to load, under `-lto`. nvlink finds out that it cannot be loaded before it opens any input.
pub fn library(options: &Options, sink: &Sink) -> Result<Option<PathBuf>, Stop> {
    let Some(root) = options.nvvm_path.as_ref().filter(|_| options.lto) else { return Ok(None) };
    let library = root.join(LIBRARY);
    let mut magic = [0; ELF_MAGIC.len()];
    match File::open(&library).and_then(|mut file| file.read_exact(&mut magic)) {
        Ok(()) if magic == *ELF_MAGIC => Ok(Some(library)),
        _ => Err(sink.fatal(Message::LibraryLoad)),
    }
}
