//! libnvvm, the compiler library of link-time optimisation, called as nvlink calls it.
//!
//! It runs in this process. Nothing has been written when it runs, so that a crash in it leaves no output.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::path::Path;
use std::ptr;

use libloading::Library;

use super::{Fill, Handle, Size, c_string, symbol};
use crate::ir::{CompileError, Compiled};

/// Functions that the library hands out by number, beside its documented ones. No header lists the numbers. They were
/// observed, as were the types of the functions and the two results below, by putting a library of our own in the place
/// of NVIDIA's, which logs nvlink's calls and passes them on.
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

/// A compilation that has begun: modules are added, then compiled together.
pub struct Program<'data> {
    functions: Functions,
    handle: Handle,
    count: usize,
    /// The modules must outlive the program.
    modules: PhantomData<&'data [u8]>,
    _library: ManuallyDrop<Library>,
}

// SAFETY: a program is not tied to the thread that created it; the library's documentation lets threads call it at the same
// time for programs of their own, and only one thread has this value.
unsafe impl Send for Program<'_> {}

impl fmt::Debug for Program<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Program")
    }
}

impl<'data> Program<'data> {
    /// Loads the library and begins.
    pub fn open(path: &Path) -> Result<Self, CompileError> {
        Self::create(path).ok_or_else(|| CompileError::Library { places: vec![path.to_path_buf()] })
    }

    fn create(path: &Path) -> Option<Self> {
        let library = super::load(path.as_os_str())?;
        let functions = Functions::find(&library)?;
        let mut handle: Handle = ptr::null_mut();
        // SAFETY: `handle` is a place for the handle, as the documented function wants it.
        if unsafe { (functions.create)(&raw mut handle) } != 0 || handle.is_null() {
            return None;
        }
        Some(Self { functions, handle, count: 0, modules: PhantomData, _library: library })
    }

    /// The number of modules that were added.
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Adds a module, named as in the library's messages.
    pub fn add(&mut self, module: &'data [u8], name: &[u8]) -> Result<(), CompileError> {
        let name = c_string(name);
        // SAFETY: the module's bytes live as long as the program does, and the length is theirs; the name ends with a
        // NUL and is read during the call.
        let code = unsafe {
            (self.functions.add_module)(self.handle, module.as_ptr().cast(), module.len(), name.as_ptr())
        };
        self.count += 1;
        if code == 0 { Ok(()) } else { Err(CompileError::Module) }
    }

    /// Compiles the modules. The words of a refusal are the log and the name of the error, run together as nvlink prints
    /// them.
    pub fn compile(self, options: &[Vec<u8>]) -> Result<Compiled, CompileError> {
        let options: Vec<CString> = options.iter().map(|option| c_string(option)).collect();
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: `pointers` holds as many strings as is said, alive until after the call.
        let code =
            unsafe { (self.functions.compile)(self.handle, pointers.len() as c_int, pointers.as_ptr()) };
        let mut log = self.text(self.functions.log_size, self.functions.log).unwrap_or_default();
        if code != COMPLETE && code != INCOMPLETE {
            log.extend_from_slice(self.error_name(code));
            return Err(CompileError::Refused { log });
        }
        let Some(ptx) = self.text(self.functions.result_size, self.functions.result) else {
            return Err(CompileError::Refused { log });
        };
        Ok(Compiled { parts: self.split(ptx), complete: code == COMPLETE, log, is_kept: false })
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
        unsafe { super::text(self.handle, size, fill) }
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

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle came from the library and is not used afterwards.
        unsafe { (self.functions.destroy)(&raw mut self.handle) };
    }
}

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
