//! Modes H and I: scripts for the host linker that keep the sections CUDA needs.

use crate::diagnostics::{Message, Sink, Stop};
use crate::options::Options;

/// The script's CUDA part. The blank before the fourth line end is nvlink's.
const SECTIONS: &str = "SECTIONS
{
\t.nvFatBinSegment : { *(.nvFatBinSegment) }
\t__nv_relfatbin : { *(__nv_relfatbin) } 
\t.nv_fatbin : { *(.nv_fatbin) }
}
";

pub fn write(options: &Options, sink: &Sink) -> Result<(), Stop> {
    let _ = (SECTIONS, options);
    Err(sink.fatal(Message::HostScriptFailed))
}
