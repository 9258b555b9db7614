//! nvJitLink, NVIDIA's documented linking library: asked for the PTX of IR that only NVIDIA's libraries can unpack, and
//! for that IR as one module.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::ptr;

use libloading::Library;

use super::{Fill, Handle, Size, c_string, symbol};
use crate::ir::{CompileError, Module, ModuleKind, Packed};

/// What an input is, in the numbers of the library's header.
const fn kind(kind: ModuleKind) -> c_int {
    match kind {
        ModuleKind::Ir => 3,
        ModuleKind::Fatbin => 4,
    }
}

type Create = unsafe extern "C" fn(*mut Handle, c_uint, *const *const c_char) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Handle) -> c_int;
type Add = unsafe extern "C" fn(Handle, c_int, *const c_void, usize, *const c_char) -> c_int;
type Complete = unsafe extern "C" fn(Handle) -> c_int;

struct Functions {
    create: Create,
    destroy: Destroy,
    add: Add,
    complete: Complete,
    ptx_size: Size,
    ptx: Fill,
    error_size: Size,
    error: Fill,
    info_size: Size,
    info: Fill,
    /// Since 13.3.
    lto_ir: Option<(Size, Fill)>,
}

impl Functions {
    fn find(library: &Library) -> Option<Self> {
        // SAFETY: the types are those of the library's header.
        unsafe {
            Some(Self {
                create: function(library, "nvJitLinkCreate")?,
                destroy: function(library, "nvJitLinkDestroy")?,
                add: function(library, "nvJitLinkAddData")?,
                complete: function(library, "nvJitLinkComplete")?,
                ptx_size: function(library, "nvJitLinkGetLinkedPtxSize")?,
                ptx: function(library, "nvJitLinkGetLinkedPtx")?,
                error_size: function(library, "nvJitLinkGetErrorLogSize")?,
                error: function(library, "nvJitLinkGetErrorLog")?,
                info_size: function(library, "nvJitLinkGetInfoLogSize")?,
                info: function(library, "nvJitLinkGetInfoLog")?,
                lto_ir: function(library, "nvJitLinkGetLinkedLTOIRSize")
                    .zip(function(library, "nvJitLinkGetLinkedLTOIR")),
            })
        }
    }
}

/// A function by its plain name or, in libraries up to 12.2, which have no such names, by that of the first release.
///
/// # Safety
/// As [`symbol`].
unsafe fn function<T: Copy>(library: &Library, name: &str) -> Option<T> {
    // SAFETY: as the caller promises.
    unsafe { symbol(library, name).or_else(|| symbol(library, &format!("__{name}_12_0"))) }
}

/// A link that has begun.
struct Session {
    functions: Functions,
    handle: Handle,
}

/// A name that solder's library exports, and NVIDIA's does not.
pub const OWN_NAME: &str = "solderNvJitLink";

/// The library has no words for this: there is no session to ask for them yet.
const OPTIONS_REFUSED: &[u8] =
    b"nvJitLink does not take the options of this link; compile with --compress-mode=none to do without it";

/// Compiles the inputs to PTX. An error of `None` says that the library cannot be used.
pub fn link(
    library: &Path,
    options: &[Vec<u8>],
    inputs: &[Module<'_>],
) -> Result<Packed, Option<CompileError>> {
    let library = super::load_apart(library.as_os_str()).ok_or(None)?;
    // solder's own library of that name comes here itself.
    // SAFETY: the pointer is not used.
    if unsafe { symbol::<*const c_void>(&library, OWN_NAME) }.is_some() {
        return Err(None);
    }
    let functions = Functions::find(&library).ok_or(None)?;
    let options: Vec<CString> = options.iter().map(|option| c_string(option)).collect();
    let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    let mut session = Session { functions, handle: ptr::null_mut() };
    // SAFETY: `pointers` holds as many strings as is said, alive until after the call.
    let code = unsafe {
        (session.functions.create)(&raw mut session.handle, pointers.len() as c_uint, pointers.as_ptr())
    };
    if code != 0 {
        return Err(Some(session.refused()));
    }
    for input in inputs {
        session.add(input)?;
    }
    // SAFETY: the handle is valid; the inputs are alive.
    if unsafe { (session.functions.complete)(session.handle) } != 0 {
        return Err(Some(session.refused()));
    }
    let ptx = session.text(session.functions.ptx_size, session.functions.ptx);
    let ptx = ptx.ok_or_else(|| session.refused())?;
    let log = session.text(session.functions.info_size, session.functions.info).unwrap_or_default();
    let remarks = session.text(session.functions.error_size, session.functions.error).unwrap_or_default();
    let lto_ir = session.functions.lto_ir.and_then(|(size, fill)| session.bytes(size, fill));
    Ok(Packed { ptx, lto_ir, log, remarks, is_kept: false })
}

impl Session {
    fn add(&self, input: &Module<'_>) -> Result<(), CompileError> {
        let name = input.name.map(c_string);
        let name = name.as_ref().map_or(ptr::null(), |name| name.as_ptr());
        let bytes = input.bytes;
        // SAFETY: the bytes and their length belong together and outlive the link; the name is null or ends with a NUL.
        let code = unsafe {
            let data = bytes.as_ptr().cast();
            (self.functions.add)(self.handle, kind(input.kind), data, bytes.len(), name)
        };
        if code == 0 { Ok(()) } else { Err(self.refused()) }
    }

    fn refused(&self) -> CompileError {
        if self.handle.is_null() {
            return CompileError::Refused { log: OPTIONS_REFUSED.to_vec() };
        }
        let log = self.text(self.functions.error_size, self.functions.error).unwrap_or_default();
        CompileError::Refused { log }
    }

    fn bytes(&self, size: Size, fill: Fill) -> Option<Vec<u8>> {
        // SAFETY: only called with pairs of functions that take this handle.
        unsafe { super::bytes(self.handle, size, fill) }
    }

    fn text(&self, size: Size, fill: Fill) -> Option<Vec<u8>> {
        // SAFETY: only called with pairs of functions that take this handle.
        unsafe { super::text(self.handle, size, fill) }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the handle came from the library and is not used afterwards.
            unsafe { (self.functions.destroy)(&raw mut self.handle) };
        }
    }
}
