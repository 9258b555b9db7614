//! solder: a device linker for CUDA. `link()` will list the phases; see docs/design.md.

pub mod diagnostics;
pub mod driver;
mod host_script;
pub mod mode;
pub mod options;

use diagnostics::{Message, Sink, Stop};
use mode::Mode;
use options::Options;

/// Links the inputs that the options name.
pub fn link(options: &Options, mode: &Mode, sink: &Sink) -> Result<(), Stop> {
    let _ = (options, mode);
    Err(sink.fatal(Message::Unsupported { what: "Linking".into() }))
}
