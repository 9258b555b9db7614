//! solder: a device linker for CUDA. `link()` will list the phases; see docs/design.md.

mod callgraph;
mod contents;
pub mod diagnostics;
pub mod driver;
mod gc;
mod host_script;
mod ids;
mod layout;
pub mod load;
mod merge;
pub mod mode;
mod notes;
mod object;
pub mod options;
mod pipeline;
pub mod register;
mod relocate;
mod resolve;
mod resources;
mod shared;
pub mod side_files;
mod textures;
pub mod time_table;
pub mod toolchain;
mod undefined;
mod write;

use diagnostics::{Message, Sink, Stop};
use mode::Mode;
use options::Options;

/// Links the inputs that the options name.
pub fn link(options: &Options, mode: &Mode, sink: &Sink) -> Result<(), Stop> {
    side_files::read(options, sink)?;
    for file in &options.inputs {
        if !std::fs::metadata(file).is_ok_and(|data| data.is_file() && !(1..56).contains(&data.len())) {
            return Err(sink.fatal(Message::InputNotOpened { file: file.into() }));
        }
    }
    let bytes: Vec<Vec<u8>> = options.inputs.iter().map(|p| std::fs::read(p).unwrap_or_default()).collect();
    let mut objects = Vec::new();
    for (path, bytes) in options.inputs.iter().zip(&bytes) {
        let name = path.to_string_lossy().into_owned();
        let object = object::Object::parse(name, bytes).map_err(|damage| {
            sink.fatal(Message::DamagedInput {
                file: path.into(),
                place: damage.place.into(),
                reason: damage.reason.into(),
            })
        })?;
        objects.push(object);
    }
    let image = pipeline::link_objects(options, mode, &objects, &|_| true, None, sink)?;
    pipeline::write_output(options, &image, sink)
}
