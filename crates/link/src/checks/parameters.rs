//! Kernels with more parameters than assemblers before 12.1 knew of.

use crate::diagnostics::{Message, Sink};
use crate::model::object::{Object, Role};
use solder_cubin::info::{attr, records};

/// The first architecture on which older code knows where such parameters are.
const KNOWN_FROM: u16 = 90;
/// The first toolkit whose code knows it on all.
const KNOWN_SINCE: u32 = 121;

/// Up to sm_89 large parameters move what comes before them in the kernel's constants, and code of earlier assemblers does not know that. nvlink
/// reports it for each parameter of such a kernel, be it used or not, whatever the older object holds (older/large-parameters).
pub fn check(objects: &[Object<'_>], sm: u16, sink: &Sink) {
    let is_older = |object: &Object<'_>| {
        let header = &object.cubin.header;
        !header.is_current() && header.version.get() < KNOWN_SINCE
    };
    if sm >= KNOWN_FROM || !objects.iter().any(is_older) {
        return;
    }
    for section in objects.iter().flat_map(|object| object.sections_with(Role::FunctionInfo)) {
        let parameters = records(section.data).flatten().filter(|record| record.attr == attr::KPARAM_INFO_V2);
        for _ in parameters {
            sink.report(Message::LargeParameters);
        }
    }
}
