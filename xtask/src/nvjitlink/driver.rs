//! The child process of a run: it loads one library and calls it as a script says. A library that crashes takes only this
//! process with it.

use crate::Result;
use crate::cache::at;
use crate::jit::script;
use libloading::Library;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::fs;
use std::path::Path;
use std::ptr;
use std::time::{Duration, Instant};

type Handle = *mut c_void;
type Create = unsafe extern "C" fn(*mut Handle, c_uint, *const *const c_char) -> c_int;
type AddData = unsafe extern "C" fn(Handle, c_int, *const c_void, usize, *const c_char) -> c_int;
type AddFile = unsafe extern "C" fn(Handle, c_int, *const c_char) -> c_int;
type Size = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
type Fill = unsafe extern "C" fn(Handle, *mut u8) -> c_int;
type Complete = unsafe extern "C" fn(Handle) -> c_int;
type Destroy = unsafe extern "C" fn(*mut Handle) -> c_int;

/// What only libraries from 13.3 on give.
const LTO_IR: &str = "LinkedLTOIR";

/// What a handle gives, and the file that it is written to.
const PRODUCTS: [(&str, &str); 5] = [
    (LTO_IR, "ltoir"),
    ("LinkedCubin", "cubin"),
    ("LinkedPtx", "ptx"),
    ("ErrorLog", "error"),
    ("InfoLog", "info"),
];

/// The type of a device ELF, in nvJitLink's header.
const CUBIN: c_int = 1;

/// `nvjitlink-run LIBRARY SCRIPT FOLDER`: what came of it is written into the folder.
pub fn run(args: &[String]) -> Result<u8> {
    let [library, script, folder] = args else { return Err("LIBRARY SCRIPT FOLDER".into()) };
    let script = fs::read_to_string(script).map_err(|e| at(Path::new(script), &e))?;
    // SAFETY: a library of nvJitLink's interface, loaded for this purpose; its initialisers run.
    let library = unsafe { Library::new(library) }.map_err(|e| e.to_string())?;
    let mut driver = Driver::new(&library);
    driver.play(&script)?;
    driver.write(Path::new(folder))?;
    Ok(0)
}

/// A link is repeated this long, so that a short one is measured too.
const REPEATED: Duration = Duration::from_millis(250);

/// `nvjitlink-time LIBRARY OUTPUT WORD…`: links the files among the words from memory, with the options among them, again and
/// again. Prints the nanoseconds that one link took from Create to Destroy, and those of all processors. The image is
/// written to OUTPUT.
pub fn time(args: &[String]) -> Result<u8> {
    let [library, output, words @ ..] = args else { return Err("LIBRARY OUTPUT WORD…".into()) };
    // SAFETY: a library of nvJitLink's interface, loaded for this purpose; its initialisers run.
    let library = unsafe { Library::new(library) }.map_err(|e| e.to_string())?;
    let c_string = |word: &String| CString::new(word.as_str()).map_err(|e| e.to_string());
    let (options, files): (Vec<&String>, Vec<&String>) = words.iter().partition(|word| word.starts_with('-'));
    let options = options.into_iter().map(c_string).collect::<Result<Vec<_>>>()?;
    let read = |name: &String| -> Result<(CString, Vec<u8>)> {
        Ok((c_string(name)?, fs::read(name).map_err(|e| at(Path::new(name), &e))?))
    };
    let inputs = files.into_iter().map(read).collect::<Result<Vec<_>>>()?;
    let link = || Driver::new(&library).link(&options, &inputs);
    // The first link has pages and caches to warm.
    fs::write(output, link()?).map_err(|e| at(Path::new(output), &e))?;
    let (begun, processor, mut runs) = (Instant::now(), processor_time(), 0);
    while runs == 0 || begun.elapsed() < REPEATED {
        link()?;
        runs += 1;
    }
    let took = [begun.elapsed(), processor_time().saturating_sub(processor)];
    println!("{} {}", took[0].as_nanos() / runs, took[1].as_nanos() / runs);
    Ok(0)
}

/// The time of all threads of this process.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the time.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

struct Driver<'a> {
    library: &'a Library,
    handle: Handle,
    /// A line for every call.
    codes: Vec<String>,
    asks_for_lto_ir: bool,
    /// NVIDIA's library keeps the pointers to names.
    kept: Vec<CString>,
    /// That of early releases keeps those to data too.
    data: Vec<Vec<u8>>,
}

impl<'a> Driver<'a> {
    fn new(library: &'a Library) -> Self {
        let handle = ptr::null_mut();
        Self {
            library,
            handle,
            codes: Vec::new(),
            asks_for_lto_ir: false,
            kept: Vec::new(),
            data: Vec::new(),
        }
    }

    /// A link that is expected to succeed, from Create to Destroy: its image.
    fn link(&mut self, options: &[CString], inputs: &[(CString, Vec<u8>)]) -> Result<Vec<u8>> {
        let pointers: Vec<*const c_char> = options.iter().map(|word| word.as_ptr()).collect();
        let (create, add): (Create, AddData) = (self.function("Create")?, self.function("AddData")?);
        let (complete, destroy): (Complete, Destroy) =
            (self.function("Complete")?, self.function("Destroy")?);
        let (size, fill): (Size, Fill) =
            (self.function("GetLinkedCubinSize")?, self.function("GetLinkedCubin")?);
        let mut count = 0;
        let mut codes = Vec::new();
        // SAFETY: as many strings and bytes as is said, which outlive the handle.
        unsafe {
            codes.push(create(&raw mut self.handle, pointers.len() as c_uint, pointers.as_ptr()));
            for (name, bytes) in inputs {
                codes.push(add(self.handle, CUBIN, bytes.as_ptr().cast(), bytes.len(), name.as_ptr()));
            }
            codes.push(complete(self.handle));
            codes.push(size(self.handle, &raw mut count));
        }
        let mut image = vec![0; count];
        // SAFETY: room for as many bytes as was said; the handle is not used afterwards.
        unsafe {
            codes.push(fill(self.handle, image.as_mut_ptr()));
            codes.push(destroy(&raw mut self.handle));
        }
        match codes.iter().find(|code| **code != 0) {
            Some(code) => Err(format!("a call gave the code {code}")),
            None => Ok(image),
        }
    }

    fn function<T: Copy>(&self, name: &str) -> Result<T> {
        // SAFETY: the callers below name the types of nvJitLink's header.
        let get = |name: String| unsafe { self.library.get::<T>(name.as_bytes()) };
        // The first releases have only the names that their header makes of these.
        let symbol = get(format!("nvJitLink{name}")).or_else(|_| get(format!("__nvJitLink{name}_12_0")));
        symbol.map(|function| *function).map_err(|e| e.to_string())
    }

    fn play(&mut self, script: &str) -> Result<()> {
        let mut options = Vec::new();
        let mut inputs = Vec::new();
        for line in script.lines() {
            let words: Vec<&str> = line.split('\t').collect();
            match words[..] {
                ["option", word] => options.push(CString::new(word).map_err(|e| e.to_string())?),
                [script::LTO_IR] => self.asks_for_lto_ir = true,
                ["data" | "file", ..] => inputs.push(words),
                _ => return Err(format!("no line of a script: {line}")),
            }
        }
        let pointers: Vec<*const c_char> = options.iter().map(|word| word.as_ptr()).collect();
        let create: Create = self.function("Create")?;
        // SAFETY: as many strings as is said, and a place for the handle.
        let code = unsafe { create(&raw mut self.handle, pointers.len() as c_uint, pointers.as_ptr()) };
        self.codes.push(format!("create {code}"));
        if code != 0 {
            return Ok(());
        }
        for input in inputs {
            let code = self.add(&input)?;
            self.codes.push(format!("add {code}"));
        }
        let complete: Complete = self.function("Complete")?;
        // SAFETY: the handle is alive.
        let code = unsafe { complete(self.handle) };
        self.codes.push(format!("complete {code}"));
        Ok(())
    }

    fn add(&mut self, words: &[&str]) -> Result<c_int> {
        let [how, kind, name] = words else { return Err("a line of three words".into()) };
        let kind: c_int = kind.parse().map_err(|_| "a type is a number")?;
        let path = CString::new(*name).map_err(|e| e.to_string())?;
        let code = if *how == "data" {
            let mut bytes = fs::read(name).unwrap_or_default();
            let size = bytes.len();
            // NVIDIA's library reads text up to its NUL, wherever that is.
            bytes.push(0);
            let add: AddData = self.function("AddData")?;
            // SAFETY: there are so many bytes, and the name is kept.
            let code = unsafe { add(self.handle, kind, bytes.as_ptr().cast(), size, path.as_ptr()) };
            self.data.push(bytes);
            code
        } else {
            let add: AddFile = self.function("AddFile")?;
            // SAFETY: the name is kept.
            unsafe { add(self.handle, kind, path.as_ptr()) }
        };
        self.kept.push(path);
        Ok(code)
    }

    /// Writes codes, logs and what was made, and ends the link.
    fn write(&mut self, folder: &Path) -> Result<()> {
        for (name, file) in PRODUCTS.iter().filter(|(name, _)| *name != LTO_IR || self.asks_for_lto_ir) {
            let size: Size = self.function(&format!("Get{name}Size"))?;
            let fill: Fill = self.function(&format!("Get{name}"))?;
            let mut count = 0;
            // SAFETY: a place for the size.
            let mut code = unsafe { size(self.handle, &raw mut count) };
            if code == 0 {
                let mut bytes = vec![0; count + 1];
                // SAFETY: room for as many bytes as was said.
                code = unsafe { fill(self.handle, bytes.as_mut_ptr()) };
                bytes.truncate(count);
                let path = folder.join(file);
                fs::write(&path, bytes).map_err(|e| at(&path, &e))?;
            }
            self.codes.push(format!("{file} {code}"));
        }
        let destroy: Destroy = self.function("Destroy")?;
        // SAFETY: the handle is not used afterwards.
        let code = unsafe { destroy(&raw mut self.handle) };
        self.codes.push(format!("destroy {code} {}", self.handle.is_null()));
        let path = folder.join("codes");
        fs::write(&path, self.codes.join("\n")).map_err(|e| at(&path, &e))
    }
}
