//! LTO IR, compiled to PTX by the toolkit's libraries.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use solder_arch::Release;

use crate::ir::{CompileError, CompileRequest, Compiled, Module, Packed};
use crate::library::nvjitlink;
use crate::{Cache, Environment, Key, Program, Toolchain};

/// The only file that is tried, relative to `-nvvmpath`.
const NVVM: &str = "lib64/libnvvm.so";

/// The compiler library under the folder that `-nvvmpath` names.
pub fn nvvm_library(root: &Path) -> PathBuf {
    root.join(NVVM)
}

/// Whether a file begins as a shared library does. nvlink finds out that it has no compiler before it opens any input.
pub fn is_library(path: &Path) -> bool {
    const ELF_MAGIC: [u8; 4] = *b"\x7fELF";
    let mut magic = [0; ELF_MAGIC.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic == ELF_MAGIC
}

impl Toolchain<'_> {
    /// Compiles IR with the compiler library at `library`, unless the cache has the result. A program that has the
    /// modules already may be given.
    pub fn compile<'a>(
        &self,
        library: &Path,
        request: &CompileRequest<'a>,
        begun: Option<Program<'a>>,
    ) -> Result<Compiled, CompileError> {
        let keys = self.cache.is_on().then(|| Keys::new(&self.cache, "nvvm", library, request));
        if let Some(compiled) = keys.as_ref().and_then(|keys| from_fields(keys.get(&self.cache)?)) {
            return Ok(compiled);
        }
        // It need not have those that were known to be taken.
        let begun = begun.filter(|program| program.len() == request.modules.len());
        let program = match begun {
            Some(program) => program,
            None => with_modules(library, request.modules)?,
        };
        let compiled = program.compile(request.arguments)?;
        if let Some(keys) = &keys {
            self.cache.put(keys.for_log(&compiled.log), &to_fields(&compiled));
        }
        Ok(compiled)
    }

    /// Whether the compiler library at `library` is known to take a module. What it refuses ends a link when that module is
    /// read, so it has to see each of them once.
    pub fn takes(&self, library: &Path, module: &[u8]) -> bool {
        self.cache.is_on() && self.cache.get(&self.module_key(library, module)).is_some()
    }

    /// Notes that the compiler library took a module.
    pub fn taken(&self, library: &Path, module: &[u8]) {
        if self.cache.is_on() {
            self.cache.put(&self.module_key(library, module), &[]);
        }
    }

    fn module_key(&self, library: &Path, module: &[u8]) -> Key {
        let mut key = self.cache.key("nvvm module", library);
        key.field(module);
        key
    }

    /// Where nvJitLink is looked for, in order; afterwards the system is asked for its name.
    pub fn nvjitlink_places(&self, nvvm_path: &Path) -> Vec<PathBuf> {
        nvjitlink_places(nvvm_path, &self.environment, self.release)
    }

    /// Compiles modules that only NVIDIA's libraries can unpack, and IR, with nvJitLink, unless the cache has the result.
    /// `nvvm_path` is a folder of the toolkit whose nvJitLink is preferred.
    pub fn compile_packed(
        &self,
        nvvm_path: &Path,
        request: &CompileRequest<'_>,
    ) -> Result<Packed, CompileError> {
        let places = self.nvjitlink_places(nvvm_path);
        // In the end a name, for the system to look up.
        let names = self.release.nvjitlink.first().map(PathBuf::from);
        for library in places.iter().filter(|place| place.is_file()).cloned().chain(names) {
            let keys = self.cache.is_on().then(|| Keys::new(&self.cache, "nvjitlink", &library, request));
            let kept = keys.as_ref().and_then(|keys| <[Vec<u8>; 3]>::try_from(keys.get(&self.cache)?).ok());
            if let Some([log, remarks, ptx]) = kept {
                return Ok(Packed { ptx, lto_ir: None, log, remarks, is_kept: true });
            }
            let packed = match nvjitlink::link(&library, request.arguments, request.modules) {
                Ok(packed) => packed,
                Err(Some(refused)) => return Err(refused),
                // It cannot be loaded, or is solder's own.
                Err(None) => continue,
            };
            if let Some(keys) = &keys {
                let said = [&packed.log[..], &packed.remarks].concat();
                self.cache.put(keys.for_log(&said), &[&packed.log, &packed.remarks, &packed.ptx]);
            }
            return Ok(packed);
        }
        Err(CompileError::Library { places })
    }
}

fn with_modules<'a>(library: &Path, modules: &[Module<'a>]) -> Result<Program<'a>, CompileError> {
    let mut program = Program::open(library)?;
    for module in modules {
        program.add(module.bytes, module.name.unwrap_or_default())?;
    }
    Ok(program)
}

/// The folders of a toolkit that may hold its libraries, as far as this machine can load them.
const FOLDERS: &[&str] = if cfg!(target_arch = "aarch64") {
    &["lib64", "lib", "targets/sbsa-linux/lib", "targets/aarch64-linux/lib"]
} else {
    &["lib64", "lib", "targets/x86_64-linux/lib"]
};

/// Where nvJitLink may be: the file that the environment names, in the toolkit that `-nvvmpath` is in, in that folder itself, as
/// packages of libraries have it, then in those that the environment names.
fn nvjitlink_places(nvvm_path: &Path, environment: &Environment, release: &Release) -> Vec<PathBuf> {
    let beside = (!nvvm_path.as_os_str().is_empty()).then(|| [nvvm_path.join(".."), nvvm_path.to_path_buf()]);
    let roots = beside.into_iter().flatten().chain(environment.roots().cloned());
    let folders = roots.flat_map(|root| FOLDERS.iter().map(move |folder| root.join(folder)));
    let in_folders = folders.flat_map(|folder| release.nvjitlink.iter().map(move |name| folder.join(name)));
    environment.nvjitlink.iter().cloned().chain(in_folders).collect()
}

/// What a compilation is found by. The names of modules are in the compiler's messages and nowhere else: a result without
/// messages is the same in every folder.
struct Keys {
    without_names: Key,
    with_names: Key,
}

impl Keys {
    fn new(cache: &Cache<'_>, kind: &str, library: &Path, request: &CompileRequest<'_>) -> Self {
        let mut without_names = cache.key(kind, library);
        without_names.list(request.arguments.iter().map(Vec::as_slice));
        for module in request.modules {
            without_names.field(module.bytes);
        }
        let mut with_names = without_names.clone();
        with_names.list(request.modules.iter().map(|module| module.name.unwrap_or_default()));
        Self { without_names, with_names }
    }

    fn get(&self, cache: &Cache<'_>) -> Option<Vec<Vec<u8>>> {
        cache.get(&self.without_names).or_else(|| cache.get(&self.with_names))
    }

    fn for_log(&self, log: &[u8]) -> &Key {
        if log.is_empty() { &self.without_names } else { &self.with_names }
    }
}

fn to_fields(compiled: &Compiled) -> Vec<&[u8]> {
    let complete: &[u8] = if compiled.complete { b"1" } else { b"0" };
    [complete, &compiled.log].into_iter().chain(compiled.parts.iter().map(Vec::as_slice)).collect()
}

fn from_fields(mut fields: Vec<Vec<u8>>) -> Option<Compiled> {
    if fields.len() < 3 {
        return None;
    }
    let parts = fields.split_off(2);
    let log = fields.pop()?;
    Some(Compiled { parts, complete: fields.pop()? == b"1", log, is_kept: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compiled_ir_comes_back_from_its_fields() {
        let parts = vec![b"one".to_vec(), b"two".to_vec()];
        let compiled = Compiled { parts, complete: true, log: b"remark".to_vec(), is_kept: true };
        let fields = to_fields(&compiled).into_iter().map(<[u8]>::to_vec).collect();
        assert_eq!(from_fields(fields), Some(compiled));
        assert_eq!(from_fields(vec![b"1".to_vec()]), None);
    }

    #[test]
    fn nvjitlink_is_looked_for_in_the_compilers_own_toolkit_first() {
        let toolkits = [None, Some("/opt/cuda".into()), None];
        let environment = Environment { toolkits, ..Environment::default() };
        let places = nvjitlink_places(Path::new("/t/nvvm"), &environment, Release::CUDA_13_0);
        let of_each = FOLDERS.len() * Release::CUDA_13_0.nvjitlink.len();
        assert_eq!(places.len(), 3 * of_each);
        assert_eq!(places[0], Path::new("/t/nvvm/../lib64/libnvJitLink.so.13"));
        assert_eq!(places[of_each], Path::new("/t/nvvm/lib64/libnvJitLink.so.13"));
        assert_eq!(places[2 * of_each], Path::new("/opt/cuda/lib64/libnvJitLink.so.13"));
    }

    #[test]
    fn what_cannot_be_loaded_is_not_a_library() {
        assert!(!is_library(Path::new("/nonexistent")));
        assert!(matches!(Program::open(Path::new("/nonexistent")), Err(CompileError::Library { .. })));
    }
}
