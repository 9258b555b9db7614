//! The C interface: the functions of nvJitLink's header, under every name that NVIDIA's libraries export.
//!
//! A handle is a pointer to a session in a lock, so that threads may use handles of their own and share one. A null
//! pointer is an error code, a panic is [`Code::Internal`], and every text that a caller gives is copied. As in C, a handle
//! must come from `nvJitLinkCreate` and must not be used after `nvJitLinkDestroy`.

#[doc(hidden)]
pub mod client;

use std::borrow::Cow;
use std::ffi::{CStr, OsStr, c_char, c_int, c_uint, c_void};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::ptr;
use std::slice;
use std::sync::{Mutex, PoisonError};

use crate::code::Code;
use crate::session::Session;

/// What a session gives.
type Get = fn(&Session) -> Result<Cow<'_, [u8]>, Code>;

/// What a handle points to.
pub type Locked = Mutex<Session>;

/// Calls `work`. A panic is a code like any other: it must not reach the caller, which is not Rust.
fn guarded<const MAJOR: u32>(work: impl FnOnce() -> Result<(), Code>) -> c_int {
    let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Code::Internal));
    result.err().unwrap_or(Code::Success).in_major(MAJOR) as c_int
}

fn checked(code: Code) -> Result<(), Code> {
    if code == Code::Success { Ok(()) } else { Err(code) }
}

/// The session of a handle.
///
/// # Safety
/// The handle is null, or came from [`create`] and was not destroyed.
unsafe fn with<T>(
    handle: *const Locked,
    work: impl FnOnce(&mut Session) -> Result<T, Code>,
) -> Result<T, Code> {
    // SAFETY: as the caller promises.
    let session = unsafe { handle.as_ref() }.ok_or(Code::NullInput)?;
    work(&mut session.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A text of the caller.
///
/// # Safety
/// The pointer is null, or leads to a NUL-terminated string.
unsafe fn text<'a>(pointer: *const c_char) -> Option<&'a [u8]> {
    // SAFETY: as the caller promises.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_bytes())
}

/// Stores the size of what `get` gives.
///
/// # Safety
/// As [`with`]; `size` is null or a place for a size.
unsafe fn size_of<const MAJOR: u32>(
    handle: *const Locked,
    size: *mut usize,
    get: impl FnOnce(&Session) -> Result<usize, Code>,
) -> c_int {
    guarded::<MAJOR>(|| {
        // SAFETY: as the caller promises.
        unsafe {
            with(handle, |session| {
                let size = size.as_mut().ok_or(Code::NullInput)?;
                *size = get(session)?;
                Ok(())
            })
        }
    })
}

/// Copies what `get` gives.
///
/// # Safety
/// As [`with`]; `place` is null or a place for as many bytes as the function for the size says, or, for a log, for one more than none:
/// like NVIDIA's library this one writes the NUL of an empty log.
unsafe fn copy<const MAJOR: u32>(handle: *const Locked, place: *mut u8, get: Get) -> c_int {
    guarded::<MAJOR>(|| {
        // SAFETY: as the caller promises.
        unsafe {
            with(handle, |session| {
                if place.is_null() {
                    return Err(Code::NullInput);
                }
                let bytes = get(session)?;
                ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len());
                Ok(())
            })
        }
    })
}

/// `nvJitLinkCreate` of the library of a major version.
///
/// # Safety
/// `handle` is null or a place for a handle; `options` is null or leads to `count` strings that are not null.
unsafe fn create<const MAJOR: u32>(
    handle: *mut *mut Locked,
    count: c_uint,
    options: *const *const c_char,
) -> c_int {
    guarded::<MAJOR>(|| {
        if handle.is_null() || options.is_null() {
            return Err(Code::NullInput);
        }
        // SAFETY: as the caller promises.
        let pointers = unsafe { slice::from_raw_parts(options, count as usize) };
        // SAFETY: the same. A null option, which the promise excludes, is an error all the same.
        let words: Option<Vec<&[u8]>> = pointers.iter().map(|word| unsafe { text(*word) }).collect();
        let (mut session, code) = Session::new(MAJOR, &words.ok_or(Code::NullInput)?);
        let code = session.index().map_or(code, |name| {
            session.add_index(&name, read(Path::new(OsStr::from_bytes(&name))).as_deref())
        });
        // SAFETY: not null, so a place for a handle.
        unsafe { *handle = Box::into_raw(Box::new(Mutex::new(session))) };
        checked(code)
    })
}

/// `nvJitLinkDestroy`.
///
/// # Safety
/// `handle` is null, or leads to null or to a handle that nobody uses any more.
unsafe fn destroy<const MAJOR: u32>(handle: *mut *mut Locked) -> c_int {
    guarded::<MAJOR>(|| {
        // SAFETY: as the caller promises.
        let handle = unsafe { handle.as_mut() }.filter(|handle| !handle.is_null()).ok_or(Code::NullInput)?;
        let session = std::mem::replace(handle, ptr::null_mut());
        // SAFETY: it was made by `create`, and the caller's pointer to it is gone.
        drop(unsafe { Box::from_raw(session) });
        Ok(())
    })
}

/// `nvJitLinkAddData`.
///
/// # Safety
/// As [`with`]; `data` is null or leads to `size` bytes; `name` is null or a string.
unsafe fn add_data<const MAJOR: u32>(
    handle: *mut Locked,
    kind: c_int,
    data: *const c_void,
    size: usize,
    name: *const c_char,
) -> c_int {
    guarded::<MAJOR>(|| {
        // SAFETY: as the caller promises. No bytes are read where there are none.
        unsafe {
            let bytes: &[u8] =
                if data.is_null() || size == 0 { &[] } else { slice::from_raw_parts(data.cast(), size) };
            with(handle, |session| checked(session.add(kind, bytes, text(name))))
        }
    })
}

/// The bytes of a file. A folder has none, and of a device, which may have no end, nothing is read.
fn read(path: &Path) -> Option<Vec<u8>> {
    let of = fs::metadata(path).ok().filter(|of| !of.is_dir())?;
    if of.is_file() { fs::read(path).ok() } else { Some(Vec::new()) }
}

/// `nvJitLinkAddFile`.
///
/// # Safety
/// As [`with`]; `name` is null or a string.
unsafe fn add_file<const MAJOR: u32>(handle: *mut Locked, kind: c_int, name: *const c_char) -> c_int {
    guarded::<MAJOR>(|| {
        // SAFETY: as the caller promises.
        unsafe {
            with(handle, |session| {
                let name = text(name).ok_or(Code::NullInput)?;
                checked(match read(Path::new(OsStr::from_bytes(name))) {
                    Some(bytes) if bytes.is_empty() => session.empty_file(name),
                    Some(bytes) => session.add(kind, &bytes, Some(name)),
                    None => session.no_file(name),
                })
            })
        }
    })
}

/// `nvJitLinkComplete`.
///
/// # Safety
/// As [`with`].
unsafe fn complete<const MAJOR: u32>(handle: *mut Locked) -> c_int {
    // SAFETY: as the caller promises.
    guarded::<MAJOR>(|| unsafe { with(handle, |session| checked(session.complete())) })
}

/// The functions for one text or image: its size, and its bytes.
macro_rules! getters {
    ($($size:ident = $count:expr, $bytes:ident = $get:expr;)*) => { $(
        /// # Safety
        /// As [`size_of`].
        unsafe fn $size<const MAJOR: u32>(handle: *mut Locked, size: *mut usize) -> c_int {
            // SAFETY: as the caller promises.
            unsafe { size_of::<MAJOR>(handle, size, $count) }
        }

        /// # Safety
        /// As [`copy`].
        unsafe fn $bytes<const MAJOR: u32>(handle: *mut Locked, place: *mut u8) -> c_int {
            // SAFETY: as the caller promises.
            unsafe { copy::<MAJOR>(handle, place, $get) }
        }
    )* };
}

getters! {
    cubin_size = |session| session.cubin().map(<[u8]>::len),
        cubin = |session| session.cubin().map(Cow::Borrowed);
    ptx_size = |session| session.ptx().map(<[u8]>::len), ptx = |session| session.ptx().map(Cow::Borrowed);
    lto_ir_size = |session| session.lto_ir().map(<[u8]>::len),
        lto_ir = |session| session.lto_ir().map(Cow::Borrowed);
    error_log_size = |session| Ok(session.error_log_size()),
        error_log = |session| Ok(Cow::Owned(session.error_log()));
    info_log_size = |session| Ok(session.info_log_size()),
        info_log = |session| Ok(Cow::Owned(session.info_log()));
}

/// `nvJitLinkVersion` of the library of a major version.
///
/// # Safety
/// Each is null or a place for a number.
unsafe fn version<const MAJOR: u32>(major: *mut c_uint, minor: *mut c_uint) -> c_int {
    guarded::<MAJOR>(|| {
        // SAFETY: as the caller promises.
        let (major, minor) = unsafe { (major.as_mut(), minor.as_mut()) };
        let (major, minor) = (major.ok_or(Code::NullInput)?, minor.ok_or(Code::NullInput)?);
        (*major, *minor) = Session::version(MAJOR);
        Ok(())
    })
}

/// Exports a function under one name.
macro_rules! exported {
    ($function:expr, ($($argument:ident: $type:ty),*), $name:expr) => {
        const _: () = {
            #[unsafe(export_name = $name)]
            unsafe extern "C" fn exported($($argument: $type),*) -> c_int {
                // SAFETY: the caller keeps the promises of nvJitLink's header.
                unsafe { $function($($argument),*) }
            }
        };
    };
}

/// Exports functions under the name of each release, which the header's inline functions call. The plain names, which other
/// programs call, are aliases of these: the build gives each library those of its own major version.
macro_rules! releases {
    ($( $major:literal: [$($release:literal)*] { $( $name:literal = $function:expr, $arguments:tt; )* } )*) => {
        $( releases!(major [$($release)*] { $( $name = $function, $arguments; )* }); )*
    };
    (major $releases:tt { $( $name:literal = $function:expr, $arguments:tt; )* }) => {
        $( releases!(one $releases $name, $function, $arguments); )*
    };
    (one [$($release:literal)*] $name:literal, $function:expr, $arguments:tt) => {
        $( exported!($function, $arguments, concat!("__nvJitLink", $name, "_", $release)); )*
    };
}

/// The functions of one major version.
macro_rules! functions {
    ($major:literal: [$($release:literal)*] $({ $($later:tt)* })?) => {
        releases! {
            $major: [$($release)*] {
                "Create" = create::<$major>, (handle: *mut *mut Locked, count: c_uint, options: *const *const c_char);
                "Destroy" = destroy::<$major>, (handle: *mut *mut Locked);
                "AddData" = add_data::<$major>,
                    (handle: *mut Locked, kind: c_int, data: *const c_void, size: usize, name: *const c_char);
                "AddFile" = add_file::<$major>, (handle: *mut Locked, kind: c_int, name: *const c_char);
                "Complete" = complete::<$major>, (handle: *mut Locked);
                "GetLinkedCubinSize" = cubin_size::<$major>, (handle: *mut Locked, size: *mut usize);
                "GetLinkedCubin" = cubin::<$major>, (handle: *mut Locked, place: *mut u8);
                "GetLinkedPtxSize" = ptx_size::<$major>, (handle: *mut Locked, size: *mut usize);
                "GetLinkedPtx" = ptx::<$major>, (handle: *mut Locked, place: *mut u8);
                "GetErrorLogSize" = error_log_size::<$major>, (handle: *mut Locked, size: *mut usize);
                "GetErrorLog" = error_log::<$major>, (handle: *mut Locked, place: *mut u8);
                "GetInfoLogSize" = info_log_size::<$major>, (handle: *mut Locked, size: *mut usize);
                "GetInfoLog" = info_log::<$major>, (handle: *mut Locked, place: *mut u8);
                $($($later)*)?
            }
        }
    };
}

functions! { 12: ["12_0" "12_1" "12_2" "12_3" "12_4" "12_5" "12_6" "12_7" "12_8" "12_9"] }

functions! {
    13: ["13_0" "13_1" "13_2" "13_3" "13_4" "13_5"] {
        "GetLinkedLTOIRSize" = lto_ir_size::<13>, (handle: *mut Locked, size: *mut usize);
        "GetLinkedLTOIR" = lto_ir::<13>, (handle: *mut Locked, place: *mut u8);
    }
}

// NVIDIA's libraries have no such names: only the plain one, which is an alias of the major version's.
exported!(version::<12>, (major: *mut c_uint, minor: *mut c_uint), "__nvJitLinkVersion_12");
exported!(version::<13>, (major: *mut c_uint, minor: *mut c_uint), "__nvJitLinkVersion_13");

/// A name of NVIDIA's libraries that no header has.
///
/// # Safety
/// There is nothing to promise.
unsafe fn undocumented() -> c_int {
    Code::Internal as c_int
}

exported!(undocumented, (), "__nvJitLinkAPI");

// By this name solder knows its own library, where it looks for NVIDIA's.
exported!(undocumented, (), "solderNvJitLink");
