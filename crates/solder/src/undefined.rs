//! Undefined references: reported once per symbol, with the first object that mentions it.

use crate::diagnostics::{Message, Sink};
use crate::merge::Merged;
use crate::object::Object;
use crate::options::Options;
use crate::resolve::Symbols;
use solder_cubin::raw;

/// Functions that the driver provides.
const SYSTEM_CALLS: &[&str] = &["vprintf", "vfprintf", "malloc", "free", "__assertfail", "__profile"];
const SYSTEM_CALL_PREFIX: &str = "__cuda_syscall";

fn is_system_call(name: &str) -> bool {
    SYSTEM_CALLS.contains(&name) || name.starts_with(SYSTEM_CALL_PREFIX)
}

/// Whether an undefined symbol of an input needs no definition among the inputs.
pub fn is_provided(kind: u8, name: &str) -> bool {
    match kind {
        raw::STT_FUNC => is_system_call(name),
        raw::STT_OBJECT | raw::STT_CUDA_OBJECT => name.starts_with(".nv.reservedSmem"),
        _ => true,
    }
}

pub fn report(
    merged: &Merged<'_>,
    symbols: &Symbols<'_>,
    objects: &[Object<'_>],
    options: &Options,
    sink: &Sink,
) {
    for symbol in &merged.symbols {
        let Some(entity) = symbol.entity else { continue };
        if symbol.is_defined() || symbol.dropped || symbol.shared {
            continue;
        }
        let provided = match symbol.kind {
            raw::STT_FUNC => is_system_call(symbol.name),
            raw::STT_OBJECT => symbol.name.starts_with(".nv.reservedSmem") || options.allow_undefined_globals,
            _ => true,
        };
        if !provided {
            let first = symbols.get(entity).first;
            sink.report(Message::UndefinedReference {
                symbol: symbol.name.into(),
                file: objects[first.file.index()].name.as_str().into(),
            });
        }
    }
}
