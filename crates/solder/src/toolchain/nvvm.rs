//! The compiler library of link-time optimisation, called as nvlink calls it.
//!
//! It runs in this process. Nothing has been written when it runs, so that a crash in it leaves no output behind.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::fs::File;
use std::io::Read;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::ptr;

use libloading::Library;

use super::library::{self, Fill, Handle, Size, c_string, symbol};
use crate::diagnostics::{Message, Sink, Stop, Text};
use crate::options::Options;

/// The only file that is tried, relative to `-nvvmpath`.
const LIBRARY: &str = "lib64/libnvvm.so";

const ELF_MAGIC: &[u8] = b"\x7fELF";

/// The library to load, under `-lto`. nvlink finds out that it cannot be loaded before it opens any input.
pub fn library(options: &Options, sink: &Sink) -> Result<Option<PathBuf>, Stop> {
    let Some(library) = path(options) else { return Ok(None) };
    let mut magic = [0; ELF_MAGIC.len()];
    match File::open(&library).and_then(|mut file| file.read_exact(&mut magic)) {
        Ok(()) if magic == *ELF_MAGIC => Ok(Some(library)),
        _ => Err(sink.fatal(Message::LibraryLoad)),
    }
}

/// Where the library must be.
pub fn path(options: &Options) -> Option<PathBuf> {
    options.nvvm_path.as_ref().filter(|_| options.lto).map(|root| root.join(LIBRARY))
}

/// Functions that the library hands out by number, beside its documented ones. No header lists the numbers. They were
/// observed: nvlink was given a library of our own in the place of this one, which wrote down every call with its
/// arguments and passed it on. The library itself was not looked into.
const ADD_LTO_MODULE: c_uint = 0x2080;
const PART_COUNT: c_uint = 0xf00d;
const PART_SIZES: c_uint = 0xb0ba;

/// What the compilation returned, observed in the same way: nothing outside of the modules is needed.
const COMPLETE: c_int = 100;
/// References outside of the modules remain.
const INCOMPLETE: c_int = 0;

type Create = unsafe extern "C" fn(*mut Handle) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Handle) -> c_int;
type Compile = unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> c_int;
type ErrorString = unsafe extern "C" fn(c_int) -> *const c_char;
type ByNumber = unsafe extern "C" fn(c_uint) -> *const c_void;
type AddModule = unsafe extern "C" fn(Handle, *const c_char, usize, *const c_char) -> c_int;
type Count = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
type Sizes = unsafe extern "C" fn(Handle, c_int, *mut usize) -> c_int;

struct Functions {
    create: Create,
    destroy: Destroy,
    compile: Compile,
    log_size: Size,
    log: Fill,
    result_size: Size,
    result: Fill,
    error_string: ErrorString,
    add_module: AddModule,
    part_count: Count,
    part_sizes: Sizes,
}

/// A compilation: modules that are added, then compiled together.
pub struct Program<'data> {
    functions: Functions,
    handle: Handle,
    /// The modules must outlive the program.
    modules: PhantomData<&'data [u8]>,
    _library: ManuallyDrop<Library>,
}

/// What came of a compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// PTX, without the final NUL; several parts only under extended split compilation.
    pub parts: Vec<Vec<u8>>,
    /// Whether the modules were all that is needed.
    pub complete: bool,
    pub log: Vec<u8>,
}

/// The library took the modules and could not compile them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The log and the name of the error, run together as nvlink prints them.
    pub text: Text,
}

/// The library cannot be used.
#[derive(Debug)]
pub struct Unusable;

#[allow(unsafe_code)]
impl<'data> Program<'data> {
    pub fn open(path: &Path) -> Result<Self, Unusable> {
        let library = library::load(path.as_os_str()).ok_or(Unusable)?;
        let functions = Functions::find(&library).ok_or(Unusable)?;
        let mut handle: Handle = ptr::null_mut();
        // SAFETY: `handle` is a place for the handle, as the documented function wants it.
        if unsafe { (functions.create)(&raw mut handle) } != 0 || handle.is_null() {
            return Err(Unusable);
        }
        Ok(Self { functions, handle, modules: PhantomData, _library: library })
    }

    /// Adds a module; `false` if the library refuses it.
    pub fn add(&mut self, module: &'data [u8], name: &Text) -> bool {
        let name = c_string(name.as_bytes());
        // SAFETY: the module's bytes live as long as the program does, and the length is theirs; the name ends with a
        // NUL and is read during the call.
        let code = unsafe {
            (self.functions.add_module)(self.handle, module.as_ptr().cast(), module.len(), name.as_ptr())
        };
        code == 0
    }

    pub fn compile(self, options: &[Vec<u8>]) -> Result<Compiled, Refused> {
        let options: Vec<CString> = options.iter().map(|option| c_string(option)).collect();
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: `pointers` holds as many strings as is said, alive until after the call.
        let code =
            unsafe { (self.functions.compile)(self.handle, pointers.len() as c_int, pointers.as_ptr()) };
        let mut log = self.text(self.functions.log_size, self.functions.log).unwrap_or_default();
        if code != COMPLETE && code != INCOMPLETE {
            log.extend_from_slice(self.error_name(code));
            return Err(Refused { text: log.into() });
        }
        let Some(ptx) = self.text(self.functions.result_size, self.functions.result) else {
            return Err(Refused { text: log.into() });
        };
        Ok(Compiled { parts: self.split(ptx), complete: code == COMPLETE, log })
    }

    fn error_name(&self, code: c_int) -> &[u8] {
        // SAFETY: the library returns a static string for every code.
        let name = unsafe { (self.functions.error_string)(code) };
        if name.is_null() {
            return b"";
        }
        // SAFETY: not null, and ended by a NUL.
        unsafe { CStr::from_ptr(name) }.to_bytes()
    }

    fn text(&self, size: Size, fill: Fill) -> Option<Vec<u8>> {
        // SAFETY: only called with pairs of functions that take this handle.
        unsafe { library::text(self.handle, size, fill) }
    }

    /// Cuts the result into its parts. The library puts them in any order, and in another one with every run: here
    /// they are sorted, so that the output is always the same.
    fn split(&self, ptx: Vec<u8>) -> Vec<Vec<u8>> {
        let mut count = 0;
        // SAFETY: `count` is a place for the count.
        let code = unsafe { (self.functions.part_count)(self.handle, &raw mut count) };
        let Ok(parts @ 2..) = usize::try_from(count) else { return vec![ptx] };
        let mut sizes = vec![0usize; parts];
        // SAFETY: there is a place for every size.
        if code != 0 || unsafe { (self.functions.part_sizes)(self.handle, count, sizes.as_mut_ptr()) } != 0 {
            return vec![ptx];
        }
        let mut rest = &ptx[..];
        let mut parts: Vec<Vec<u8>> = Vec::with_capacity(parts);
        for size in sizes {
            let (part, tail) = rest.split_at(size.min(rest.len()));
            parts.push(part.to_vec());
            rest = tail;
        }
        parts.sort_unstable();
        parts
    }
}

#[allow(unsafe_code)]
impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle came from the library and is not used afterwards.
        unsafe { (self.functions.destroy)(&raw mut self.handle) };
    }
}

#[allow(unsafe_code)]
impl Functions {
    fn find(library: &Library) -> Option<Self> {
        // SAFETY: the types are those of the library's header; the function by number has the type that nvlink was
        // seen to call it with, and so have the functions that it returns.
        unsafe {
            let by_number: ByNumber = symbol(library, "__nvvmHandle")?;
            let numbered = |number| Some(by_number(number)).filter(|function| !function.is_null());
            Some(Self {
                create: symbol(library, "nvvmCreateProgram")?,
                destroy: symbol(library, "nvvmDestroyProgram")?,
                compile: symbol(library, "nvvmCompileProgram")?,
                log_size: symbol(library, "nvvmGetProgramLogSize")?,
                log: symbol(library, "nvvmGetProgramLog")?,
                result_size: symbol(library, "nvvmGetCompiledResultSize")?,
                result: symbol(library, "nvvmGetCompiledResult")?,
                error_string: symbol(library, "nvvmGetErrorString")?,
                add_module: std::mem::transmute::<*const c_void, AddModule>(numbered(ADD_LTO_MODULE)?),
                part_count: std::mem::transmute::<*const c_void, Count>(numbered(PART_COUNT)?),
                part_sizes: std::mem::transmute::<*const c_void, Sizes>(numbered(PART_SIZES)?),
            })
        }
    }
}
