//! Objects that were compiled with checks of memory accesses: from 13.1 on they must come from one toolkit.

use crate::accept::Made;
use crate::diagnostics::{Message, Sink};
use crate::model::object::{Object, Role};
use solder_cubin::info::{self, attr};
use solder_cubin::raw;

/// The toolkit of the first such object, once there was one.
#[derive(Debug, Default)]
pub(super) struct SanitizedCheck(Option<u32>);

impl SanitizedCheck {
    /// Compares the next object in link order with the first.
    pub(super) fn admit(&mut self, object: &Object<'_>, sink: &Sink) {
        if !is_sanitized(object) {
            return;
        }
        let version = Made::of(object.cubin.bytes).and_then(|made| made.toolkit).unwrap_or(0);
        let other = *self.0.get_or_insert(version);
        if version == other {
            return;
        }
        for _ in strong_functions(object) {
            let file = (&object.name).into();
            sink.report(Message::SanitizedOfOtherToolkit { file, version, other });
        }
    }
}

/// Each of them is reported; the weak ones are those that check, which the first object has too.
fn strong_functions<'a>(object: &'a Object<'_>) -> impl Iterator<Item = u32> + 'a {
    let symbols = object.symbols().filter(|(_, raw)| raw.kind() == raw::STT_FUNC && raw.is_defined());
    symbols.filter(|(_, raw)| raw.bind() == raw::STB_GLOBAL).map(|(symbol, _)| symbol)
}

/// All functions of such an object say so, and the first one is enough.
fn is_sanitized(object: &Object<'_>) -> bool {
    let first = object.sections_with(Role::FunctionInfo).next();
    first.is_some_and(|section| {
        info::records(section.data).flatten().any(|record| record.attr == attr::SANITIZE)
    })
}
