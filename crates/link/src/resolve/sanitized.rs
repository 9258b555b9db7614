//! Objects that were compiled with checks of memory accesses: from 13.1 on they must come from one toolkit.

use crate::accept::Made;
use crate::diagnostics::{Message, Sink};
use crate::model::ids::FileId;
use crate::model::object::{Object, Role};
use crate::model::symbols::Symbols;
use solder_cubin::info::{self, attr};
use solder_cubin::raw::{self, Symbol};

/// The toolkit of the first such object, once there was one.
#[derive(Debug, Default)]
pub(super) struct SanitizedCheck(Option<u32>);

impl SanitizedCheck {
    /// Compares the next object in link order, whose names are bound, with the first.
    pub(super) fn admit(&mut self, file: FileId, object: &Object<'_>, symbols: &Symbols<'_>, sink: &Sink) {
        if !is_sanitized(object) {
            return;
        }
        let version = Made::of(object.cubin.bytes).and_then(|made| made.toolkit).unwrap_or(0);
        let other = *self.0.get_or_insert(version);
        if version == other {
            return;
        }
        for _ in reported_functions(file, object, symbols) {
            let file = (&object.name).into();
            sink.report(Message::SanitizedOfOtherToolkit { file, version, other });
        }
    }
}

/// Each function is reported whose attributes nvlink reads: all but weak copies that are discarded.
fn reported_functions(file: FileId, object: &Object<'_>, symbols: &Symbols<'_>) -> impl Iterator<Item = u32> {
    let functions = object.symbols().filter(|(_, raw)| raw.kind() == raw::STT_FUNC && raw.is_defined());
    let is_read =
        move |(symbol, raw): &(u32, &Symbol)| raw.bind() != raw::STB_WEAK || symbols.accepted(file, *symbol);
    functions.filter(is_read).map(|(symbol, _)| symbol)
}

/// All functions of such an object say so, and the first one is enough.
fn is_sanitized(object: &Object<'_>) -> bool {
    let first = object.sections_with(Role::FunctionInfo).next();
    first.is_some_and(|section| {
        info::records(section.data).flatten().any(|record| record.attr == attr::SANITIZE)
    })
}
