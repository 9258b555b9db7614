//! Files that options name beside the inputs. nvlink opens them before the first input.

use std::path::Path;

use crate::diagnostics::{Message, Sink, Stop};
use crate::options::Options;

/// The bytes of the files that were given.
#[derive(Debug, Default)]
pub struct SideFiles {
    /// `-nv-host`: the contents of section `.nv.host`.
    pub nv_host: Option<Vec<u8>>,
}

pub fn read(options: &Options, sink: &Sink) -> Result<SideFiles, Stop> {
    if let Some(file) = &options.uidx_file {
        read_file(file, sink)?;
        // No tool of the toolkit writes one that nvlink takes.
        return Err(sink.fatal(Message::NotUidx));
    }
    let nv_host = options.nv_host.as_ref().map(|file| read_file(file, sink)).transpose()?;
    Ok(SideFiles { nv_host })
}

/// Devices and pipes count as empty: nvlink goes by the size that the system states.
fn read_file(file: &Path, sink: &Sink) -> Result<Vec<u8>, Stop> {
    let not_opened = |_| sink.fatal(Message::InputNotOpened { file: file.into() });
    let metadata = file.metadata().map_err(not_opened)?;
    if metadata.is_dir() {
        // Of a directory it is a size that no memory has.
        return Err(sink.fatal(Message::MemoryAllocation));
    }
    if !metadata.is_file() || metadata.len() == 0 {
        return Err(sink.fatal(Message::FileNotRead { file: file.into() }));
    }
    std::fs::read(file).map_err(not_opened)
}
