//! solder: a device linker for CUDA. `link()` will list the phases; see docs/design.md.

pub mod diagnostics;
pub mod driver;
mod host_script;
pub mod mode;
pub mod options;
pub mod side_files;
pub mod time_table;
pub mod toolchain;

use diagnostics::{Message, Sink, Stop};
use mode::Mode;
use options::Options;

/// Links the inputs that the options name.
pub fn link(options: &Options, mode: &Mode, sink: &Sink) -> Result<(), Stop> {
    let _ = mode;
    side_files::read(options, sink)?;
    for file in &options.inputs {
        if !std::fs::metadata(file).is_ok_and(|data| data.is_file() && !(1..56).contains(&data.len())) {
            return Err(sink.fatal(Message::InputNotOpened { file: file.into() }));
        }
    }
    Err(sink.fatal(Message::Unsupported { what: "Linking".into() }))
}
