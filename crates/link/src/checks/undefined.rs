//! Undefined references: reported once per symbol, with the first object that mentions it.

use crate::diagnostics::{Message, Sink};
use crate::model::mercury::is_reserved;
use crate::model::merged::Merged;
use crate::model::object::Object;
use crate::model::symbols::{DESCRIPTION_SIZES, Symbols, UNIFIED_TABLES};
use solder_cubin::raw;

/// Functions that the driver provides. The prototype does not matter, the name decides.
#[rustfmt::skip]
const SYSTEM_CALLS: &[&[u8]] = &[
    b"__assertfail", b"__profile", b"free", b"malloc", b"vfprintf", b"vprintf",
    // Launches from the device, first version.
    b"cnpCtxSynchronize", b"cnpDeviceGetAttribute", b"cnpEventCreate", b"cnpEventDestroy", b"cnpEventRecord",
    b"cnpFuncGetAttribute", b"cnpGetCacheConfig", b"cnpGetDevice", b"cnpGetDeviceCount", b"cnpGetLastError",
    b"cnpGetLimit", b"cnpGetParameterBuffer", b"cnpGetParameterBufferV2", b"cnpGetSharedMemConfig",
    b"cnpLaunchDevice", b"cnpLaunchDeviceV2", b"cnpSetLastError", b"cnpStreamCreate", b"cnpStreamDestroy",
    b"cnpStreamWaitEvent",
    // Graphs launched and changed from the device.
    b"cudaGraphKernelNodeSetEnabled", b"cudaGraphKernelNodeSetGridDim", b"cudaGraphKernelNodeSetParam",
    b"cudaGraphKernelNodeUpdatesApply", b"cudaGraphLaunch", b"cudaGraphSetConditional",
];
const SYSTEM_CALL_PREFIX: &[u8] = b"__cuda_syscall";

fn is_system_call(name: &[u8]) -> bool {
    name.starts_with(SYSTEM_CALL_PREFIX) || SYSTEM_CALLS.contains(&name)
}

/// Whether an undefined symbol of an input needs no definition among the inputs.
pub fn is_provided(kind: u8, name: &[u8]) -> bool {
    match kind {
        raw::STT_FUNC => is_system_call(name),
        raw::STT_OBJECT | raw::STT_CUDA_OBJECT => {
            is_reserved(name) || UNIFIED_TABLES.contains(&name) || DESCRIPTION_SIZES.contains(&name)
        }
        _ => true,
    }
}

/// Reports what is undefined, in the order of the first mentions.
pub fn report(
    merged: &Merged<'_>,
    symbols: &Symbols<'_>,
    objects: &[Object<'_>],
    allow_undefined_globals: bool,
    sink: &Sink,
) {
    for symbol in merged.unplaced.iter().map(|id| merged.symbol(*id)) {
        let Some(entity) = symbol.entity else { continue };
        let placed = symbol.is_defined() || (symbol.shared && !symbol.is_undefined_shared());
        if placed || (symbol.dropped && !symbol.shared) || is_provided(symbol.kind, symbol.name) {
            continue;
        }
        let first = symbols.get(entity).first;
        let object = &objects[first.file.index()];
        let space = object.symbol(first.symbol).other & raw::STO_SPACE;
        if symbol.kind == raw::STT_OBJECT && space == raw::STO_GLOBAL && allow_undefined_globals {
            continue;
        }
        let (symbol, file) = (symbol.name.into(), (&object.name).into());
        sink.report(Message::UndefinedReference { symbol, file });
    }
}
