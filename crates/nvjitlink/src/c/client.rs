//! A caller of the C interface in safe Rust, for tests and fuzzing: what C may do wrong without breaking the promises of the
//! header can be said, null pointers and wrong sizes of nothing included.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::ptr;

use super::{
    Locked, add_data, add_file, complete, create, cubin, cubin_size, destroy, error_log, error_log_size,
    info_log, info_log_size, lto_ir, lto_ir_size, ptx, ptx_size, version,
};

/// The major version of the library that is called.
const MAJOR: u32 = 13;

/// A handle, which may be null.
#[derive(Debug)]
pub struct Client {
    handle: *mut Locked,
}

// SAFETY: a handle points to a session in a lock.
unsafe impl Send for Client {}
// SAFETY: the same; what needs the handle alone borrows it mutably.
unsafe impl Sync for Client {}

/// The texts and images that a handle gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    /// `nvJitLinkGetLinkedCubin`.
    Cubin,
    /// `nvJitLinkGetLinkedPtx`.
    Ptx,
    /// `nvJitLinkGetLinkedLTOIR`.
    LtoIr,
    /// `nvJitLinkGetErrorLog`.
    ErrorLog,
    /// `nvJitLinkGetInfoLog`.
    InfoLog,
}

impl Product {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Cubin, Self::Ptx, Self::LtoIr, Self::ErrorLog, Self::InfoLog];
}

impl Client {
    /// A null handle.
    pub const fn null() -> Self {
        Self { handle: ptr::null_mut() }
    }

    /// `nvJitLinkCreate`, with the code. A word may be null.
    pub fn new(words: &[Option<&CStr>]) -> (Self, c_int) {
        let mut client = Self::null();
        let pointers: Vec<*const c_char> =
            words.iter().map(|word| word.map_or(ptr::null(), CStr::as_ptr)).collect();
        // SAFETY: a place for the handle, and as many strings as is said. A null one is refused before it is read.
        let code =
            unsafe { create::<MAJOR>(&raw mut client.handle, pointers.len() as c_uint, pointers.as_ptr()) };
        (client, code)
    }

    /// Calls of `nvJitLinkCreate` that must be refused.
    pub fn refused_creates() -> [c_int; 2] {
        let mut handle = ptr::null_mut();
        // SAFETY: null pointers are allowed.
        unsafe {
            [
                create::<MAJOR>(ptr::null_mut(), 0, ptr::null()),
                create::<MAJOR>(&raw mut handle, 1, ptr::null()),
            ]
        }
    }

    /// Whether there is no session.
    pub fn is_null(&self) -> bool {
        self.handle.is_null()
    }

    /// `nvJitLinkAddData`.
    pub fn add_data(&self, kind: c_int, data: Option<&[u8]>, name: Option<&CStr>) -> c_int {
        let (bytes, size) = data.map_or((ptr::null(), 0), |data| (data.as_ptr(), data.len()));
        // SAFETY: the handle is null or alive, and there are so many bytes.
        unsafe {
            add_data::<MAJOR>(self.handle, kind, bytes.cast(), size, name.map_or(ptr::null(), CStr::as_ptr))
        }
    }

    /// `nvJitLinkAddFile`.
    pub fn add_file(&self, kind: c_int, name: Option<&CStr>) -> c_int {
        // SAFETY: the handle is null or alive.
        unsafe { add_file::<MAJOR>(self.handle, kind, name.map_or(ptr::null(), CStr::as_ptr)) }
    }

    /// `nvJitLinkComplete`.
    pub fn complete(&self) -> c_int {
        // SAFETY: the handle is null or alive.
        unsafe { complete::<MAJOR>(self.handle) }
    }

    /// Fetches a text or an image as the header says: its size, then its bytes. The code is that of the call that failed.
    ///
    /// No other thread may use the handle between the two calls, which is why it is borrowed alone.
    pub fn get(&mut self, product: Product) -> Result<Vec<u8>, c_int> {
        let mut count = 0;
        let (handle, size) = (self.handle, &raw mut count);
        // SAFETY: the handle is null or alive, and there is a place for the size.
        let code = unsafe {
            match product {
                Product::Cubin => cubin_size::<MAJOR>(handle, size),
                Product::Ptx => ptx_size::<MAJOR>(handle, size),
                Product::LtoIr => lto_ir_size::<MAJOR>(handle, size),
                Product::ErrorLog => error_log_size::<MAJOR>(handle, size),
                Product::InfoLog => info_log_size::<MAJOR>(handle, size),
            }
        };
        if code != 0 {
            return Err(code);
        }
        // An empty log is said to have no bytes, and its NUL is written all the same.
        let mut bytes = vec![0; count.max(1)];
        let place = bytes.as_mut_ptr();
        // SAFETY: there is room for as many bytes as was said, and for a NUL.
        let code = unsafe {
            match product {
                Product::Cubin => cubin::<MAJOR>(handle, place),
                Product::Ptx => ptx::<MAJOR>(handle, place),
                Product::LtoIr => lto_ir::<MAJOR>(handle, place),
                Product::ErrorLog => error_log::<MAJOR>(handle, place),
                Product::InfoLog => info_log::<MAJOR>(handle, place),
            }
        };
        bytes.truncate(count);
        if code == 0 { Ok(bytes) } else { Err(code) }
    }

    /// What the function for the bytes of the error log writes into a place of two bytes that are not NUL, when the log is
    /// empty.
    pub fn empty_error_log(&mut self) -> [u8; 2] {
        let mut bytes = [0xff; 2];
        // SAFETY: the handle is null or alive, and there is room for the NUL.
        unsafe { error_log::<MAJOR>(self.handle, bytes.as_mut_ptr()) };
        bytes
    }

    /// Calls with null in the place of everything but the handle.
    pub fn null_calls(&self) -> Vec<c_int> {
        let (handle, size, place) = (self.handle, ptr::null_mut(), ptr::null_mut());
        // SAFETY: the handle is null or alive, and null pointers are allowed.
        unsafe {
            vec![
                cubin_size::<MAJOR>(handle, size),
                cubin::<MAJOR>(handle, place),
                ptx_size::<MAJOR>(handle, size),
                ptx::<MAJOR>(handle, place),
                error_log_size::<MAJOR>(handle, size),
                error_log::<MAJOR>(handle, place),
                info_log_size::<MAJOR>(handle, size),
                info_log::<MAJOR>(handle, place),
                destroy::<MAJOR>(ptr::null_mut()),
                version::<MAJOR>(ptr::null_mut(), ptr::null_mut()),
            ]
        }
    }

    /// `nvJitLinkDestroy`.
    pub fn destroy(&mut self) -> c_int {
        // SAFETY: the handle is null or alive, and nobody else has it.
        unsafe { destroy::<MAJOR>(&raw mut self.handle) }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if !self.is_null() {
            self.destroy();
        }
    }
}
