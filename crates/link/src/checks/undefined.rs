//! Undefined references: reported once per symbol, with the first object that mentions it.

use crate::diagnostics::{Message, Sink};
use crate::model::merged::Merged;
use crate::model::object::Object;
use crate::model::symbols::Symbols;
use solder_cubin::raw;

/// Functions that the driver provides. The prototype does not matter, the name decides.
#[rustfmt::skip]
const SYSTEM_CALLS: &[&str] = &[
    "__assertfail", "__profile", "free", "malloc", "vfprintf", "vprintf",
    // Launches from the device, first version.
    "cnpCtxSynchronize", "cnpDeviceGetAttribute", "cnpEventCreate", "cnpEventDestroy", "cnpEventRecord",
    "cnpFuncGetAttribute", "cnpGetCacheConfig", "cnpGetDevice", "cnpGetDeviceCount", "cnpGetLastError",
    "cnpGetLimit", "cnpGetParameterBuffer", "cnpGetParameterBufferV2", "cnpGetSharedMemConfig",
    "cnpLaunchDevice", "cnpLaunchDeviceV2", "cnpSetLastError", "cnpStreamCreate", "cnpStreamDestroy",
    "cnpStreamWaitEvent",
    // Graphs launched and changed from the device.
    "cudaGraphKernelNodeSetEnabled", "cudaGraphKernelNodeSetGridDim", "cudaGraphKernelNodeSetParam",
    "cudaGraphKernelNodeUpdatesApply", "cudaGraphLaunch", "cudaGraphSetConditional",
];
const SYSTEM_CALL_PREFIX: &str = "__cuda_syscall";
const RESERVED_SHARED_PREFIX: &str = ".nv.reservedSmem";

/// Symbols of the tables of unified functions and data, which the compiler mentions everywhere.
pub const UNIFIED_TABLES: &[&str] = &[
    "__UDT",
    "__UDT_CANONICAL",
    "__UDT_END",
    "__UDT_OFFSET",
    "__UFT",
    "__UFT_CANONICAL",
    "__UFT_END",
    "__UFT_OFFSET",
];

fn is_system_call(name: &str) -> bool {
    name.starts_with(SYSTEM_CALL_PREFIX) || SYSTEM_CALLS.contains(&name)
}

/// Whether an undefined symbol of an input needs no definition among the inputs.
pub fn is_provided(kind: u8, name: &str) -> bool {
    match kind {
        raw::STT_FUNC => is_system_call(name),
        raw::STT_OBJECT | raw::STT_CUDA_OBJECT => {
            name.starts_with(RESERVED_SHARED_PREFIX) || UNIFIED_TABLES.contains(&name)
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
        // A shared variable has its place per kernel, an extern shared array none at all.
        let placed = symbol.is_defined()
            || (symbol.shared && (symbol.origin.is_some() || symbol.size == 0 || symbol.lost));
        if placed || (symbol.dropped && !symbol.shared) || is_provided(symbol.kind, symbol.name) {
            continue;
        }
        let first = symbols.get(entity).first;
        let object = &objects[first.file.index()];
        let space = object.symbol(first.symbol).other & raw::STO_SPACE;
        if symbol.kind == raw::STT_OBJECT && space == raw::STO_GLOBAL && allow_undefined_globals {
            continue;
        }
        let (symbol, file) = (symbol.name.into(), object.name.as_str().into());
        sink.report(Message::UndefinedReference { symbol, file });
    }
}
