//! Shared libraries of the toolkit: the only place with `unsafe`.
//!
//! Here is what they have in common: how they are loaded, and how they hand out texts.

pub mod nvjitlink;
pub mod nvvm;

use std::ffi::{CString, OsStr, c_char, c_int, c_void};
use std::mem::ManuallyDrop;

use libloading::Library;
use libloading::os::unix;

/// A program or session of a library.
pub type Handle = *mut c_void;
/// Asks for the size of a text.
pub type Size = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
/// Asks for the text.
pub type Fill = unsafe extern "C" fn(Handle, *mut c_char) -> c_int;

/// Loads a library that is never unloaded: these keep threads and handlers of their own.
pub fn load(path: &OsStr) -> Option<ManuallyDrop<Library>> {
    // SAFETY: the toolkit's own library, named or found for this purpose; loading it runs its initialisers, and nothing
    // else of it is relied on before its functions are found.
    unsafe { Library::new(path) }.ok().map(ManuallyDrop::new)
}

/// Loads a library whose own calls of its functions stay in it, also where this program has functions of the same names.
pub fn load_apart(path: &OsStr) -> Option<ManuallyDrop<Library>> {
    let flags = unix::RTLD_NOW | unix::RTLD_LOCAL | RTLD_DEEPBIND;
    // SAFETY: as in `load`.
    unsafe { unix::Library::open(Some(path), flags) }.ok().map(|library| ManuallyDrop::new(library.into()))
}

/// What the C library of Linux calls so; elsewhere there is nothing of the kind.
const RTLD_DEEPBIND: c_int = if cfg!(all(target_os = "linux", target_env = "gnu")) { 8 } else { 0 };

/// A function of a library.
///
/// # Safety
/// `T` must be the function's type.
pub unsafe fn symbol<T: Copy>(library: &Library, name: &str) -> Option<T> {
    // SAFETY: as the caller promises.
    unsafe { library.get::<T>(name.as_bytes()) }.ok().map(|symbol| *symbol)
}

/// As C takes it: up to the first NUL.
pub fn c_string(bytes: &[u8]) -> CString {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    CString::new(&bytes[..end]).unwrap_or_default()
}

/// A text of the library, up to its NUL.
///
/// # Safety
/// As [`bytes`].
pub unsafe fn text(handle: Handle, size: Size, fill: Fill) -> Option<Vec<u8>> {
    // SAFETY: as the caller promises.
    let mut text = unsafe { bytes(handle, size, fill) }?;
    text.truncate(text.iter().position(|&byte| byte == 0).unwrap_or(text.len()));
    Some(text)
}

/// What the library hands out.
///
/// # Safety
/// The functions must be a pair of the library that the handle, still alive, belongs to.
pub unsafe fn bytes(handle: Handle, size: Size, fill: Fill) -> Option<Vec<u8>> {
    let mut count = 0;
    // SAFETY: `count` is a place for the size.
    if unsafe { size(handle, &raw mut count) } != 0 {
        return None;
    }
    // One byte more than is said: not every header says whether the NUL of a text is included.
    let mut bytes = vec![0u8; count.checked_add(1)?];
    // SAFETY: the library fills no more than it said, and the NUL.
    if count > 0 && unsafe { fill(handle, bytes.as_mut_ptr().cast()) } != 0 {
        return None;
    }
    bytes.truncate(count);
    Some(bytes)
}
