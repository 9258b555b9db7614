//! nvJitLink, the vendor's documented linking library: asked for the PTX of IR that only the vendor's libraries can
//! unpack, and for nothing else.

use std::ffi::{CString, OsStr, c_char, c_int, c_uint, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

use libloading::Library;

use super::library::{self, Fill, Handle, Size, c_string, symbol};
use super::toolkit::VARIABLES;
use crate::diagnostics::Text;

/// The library's names, newest first, and the folders of a toolkit that may hold it.
const NAMES: [&str; 3] = ["libnvJitLink.so.13", "libnvJitLink.so", "libnvJitLink.so.12"];
const FOLDERS: [&str; 3] = ["lib64", "lib", "targets/x86_64-linux/lib"];

/// Where the library may be: in the toolkit that `-nvvmpath` lies in, then in those that the environment names.
pub fn places(nvvm_path: &Path) -> Vec<PathBuf> {
    let beside = [nvvm_path.join("..")];
    let toolkits = VARIABLES.iter().filter_map(std::env::var_os).filter(|root| !root.is_empty());
    let roots = beside.into_iter().chain(toolkits.map(PathBuf::from));
    let folders = roots.flat_map(|root| FOLDERS.map(|folder| root.join(folder)));
    folders.flat_map(|folder| NAMES.map(|name| folder.join(name))).collect()
}

/// The first of the places that is a file; otherwise a name, for the system to look up.
pub fn find(places: &[PathBuf]) -> PathBuf {
    places.iter().find(|place| place.is_file()).cloned().unwrap_or_else(|| NAMES[0].into())
}

/// What an input is, in the library's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    LtoIr = 3,
    Fatbin = 4,
}

/// One input.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    pub kind: Kind,
    pub bytes: &'a [u8],
    pub name: &'a Text,
}

#[derive(Debug)]
pub enum Failure {
    /// The library is not there, or is none.
    Unusable,
    /// It refused; its own words.
    Refused(Vec<u8>),
}

/// PTX and what the library says about it.
#[derive(Clone, Debug)]
pub struct Linked {
    pub ptx: Vec<u8>,
    pub log: Vec<u8>,
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
}

#[allow(unsafe_code)]
impl Functions {
    fn find(library: &Library) -> Option<Self> {
        // SAFETY: the types are those of the library's header.
        unsafe {
            Some(Self {
                create: symbol(library, "nvJitLinkCreate")?,
                destroy: symbol(library, "nvJitLinkDestroy")?,
                add: symbol(library, "nvJitLinkAddData")?,
                complete: symbol(library, "nvJitLinkComplete")?,
                ptx_size: symbol(library, "nvJitLinkGetLinkedPtxSize")?,
                ptx: symbol(library, "nvJitLinkGetLinkedPtx")?,
                error_size: symbol(library, "nvJitLinkGetErrorLogSize")?,
                error: symbol(library, "nvJitLinkGetErrorLog")?,
                info_size: symbol(library, "nvJitLinkGetInfoLogSize")?,
                info: symbol(library, "nvJitLinkGetInfoLog")?,
            })
        }
    }
}

/// A link that has begun.
struct Session {
    functions: Functions,
    handle: Handle,
}

/// Compiles the inputs to PTX.
#[allow(unsafe_code)]
pub fn link(library: &OsStr, options: &[Vec<u8>], inputs: &[Input<'_>]) -> Result<Linked, Failure> {
    let library = library::load(library).ok_or(Failure::Unusable)?;
    let functions = Functions::find(&library).ok_or(Failure::Unusable)?;
    let options: Vec<CString> = options.iter().map(|option| c_string(option)).collect();
    let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
    let mut session = Session { functions, handle: ptr::null_mut() };
    // SAFETY: `pointers` holds as many strings as is said, alive until after the call.
    let code = unsafe {
        (session.functions.create)(&raw mut session.handle, pointers.len() as c_uint, pointers.as_ptr())
    };
    if code != 0 {
        return Err(session.refused());
    }
    for input in inputs {
        session.add(input)?;
    }
    // SAFETY: the handle is valid; the inputs are alive.
    if unsafe { (session.functions.complete)(session.handle) } != 0 {
        return Err(session.refused());
    }
    let ptx = session.text(session.functions.ptx_size, session.functions.ptx);
    let ptx = ptx.ok_or_else(|| session.refused())?;
    let log = session.text(session.functions.info_size, session.functions.info).unwrap_or_default();
    Ok(Linked { ptx, log })
}

#[allow(unsafe_code)]
impl Session {
    fn add(&self, input: &Input<'_>) -> Result<(), Failure> {
        let name = c_string(input.name.as_bytes());
        let bytes = input.bytes;
        // SAFETY: the bytes and their length belong together and outlive the link; the name ends with a NUL.
        let code = unsafe {
            let data = bytes.as_ptr().cast();
            (self.functions.add)(self.handle, input.kind as c_int, data, bytes.len(), name.as_ptr())
        };
        if code == 0 { Ok(()) } else { Err(self.refused()) }
    }

    fn refused(&self) -> Failure {
        if self.handle.is_null() {
            return Failure::Refused(b"nvJitLink does not take the options of this link; compile with --compress-mode=none to do without it".to_vec());
        }
        Failure::Refused(self.text(self.functions.error_size, self.functions.error).unwrap_or_default())
    }

    fn text(&self, size: Size, fill: Fill) -> Option<Vec<u8>> {
        // SAFETY: only called with pairs of functions that take this handle.
        unsafe { library::text(self.handle, size, fill) }
    }
}

#[allow(unsafe_code)]
impl Drop for Session {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the handle came from the library and is not used afterwards.
            unsafe { (self.functions.destroy)(&raw mut self.handle) };
        }
    }
}
