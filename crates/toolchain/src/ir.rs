//! What is said to the compiler libraries and what they answer.

use std::fmt;
use std::path::PathBuf;

/// What a module is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModuleKind {
    /// IR as the compiler library takes it.
    Ir,
    /// A fat binary whose member only NVIDIA's libraries can unpack.
    Fatbin,
}

/// A part of what is compiled together.
#[derive(Clone, Copy, Debug)]
pub struct Module<'a> {
    /// What it is.
    pub kind: ModuleKind,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Its name in the compiler's messages, and in IR that is made of it.
    pub name: Option<&'a [u8]>,
}

/// Modules to compile together.
#[derive(Clone, Copy, Debug)]
pub struct CompileRequest<'a> {
    /// The options, each in the words of the library that is asked.
    pub arguments: &'a [Vec<u8>],
    /// The modules, in order.
    pub modules: &'a [Module<'a>],
}

/// What came of a compilation by libnvvm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// PTX, without the final NUL; several parts only under extended split compilation.
    pub parts: Vec<Vec<u8>>,
    /// Whether the modules were all that is needed.
    pub complete: bool,
    /// What the library says about it.
    pub log: Vec<u8>,
    /// Whether it came from the cache.
    pub is_kept: bool,
}

/// What came of a compilation by nvJitLink, which does not say whether references remain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// PTX, without the final NUL.
    pub ptx: Vec<u8>,
    /// All modules as one, which libraries from 13.4 on make too. The cache does not keep it.
    pub lto_ir: Option<Vec<u8>>,
    /// What the library says about it.
    pub log: Vec<u8>,
    /// What is in its log of errors, though there is none: the compiler's remarks.
    pub remarks: Vec<u8>,
    /// Whether it came from the cache.
    pub is_kept: bool,
}

impl Packed {
    /// The remarks and the log without what it says about the modules as one. The library of 13.4 writes
    /// `SUCCESS: NVVM70 LTOIR Container created (3684 bytes)`; nvlink, which makes none, says nothing.
    pub fn messages(&self) -> Vec<u8> {
        let lines = self.log.split_inclusive(|byte| *byte == b'\n');
        let lines = lines.filter(|line| !line.starts_with(b"SUCCESS: "));
        lines.flatten().chain(&self.remarks).copied().collect()
    }
}

/// Why there is no PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompileError {
    /// The library is in none of these places, or what is there cannot be used.
    Library {
        /// Where it was looked for.
        places: Vec<PathBuf>,
    },
    /// It does not take a module.
    Module,
    /// It could not compile the modules.
    Refused {
        /// Its own words.
        log: Vec<u8>,
    },
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library { places } => {
                let places: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
                write!(f, "no usable library; looked for {}", places.join(", "))
            }
            Self::Module => f.write_str("the library does not take a module"),
            Self::Refused { log } => f.write_str(&String::from_utf8_lossy(log)),
        }
    }
}

impl std::error::Error for CompileError {}

#[cfg(test)]
mod tests {
    use super::Packed;

    #[test]
    fn messages_are_without_progress() {
        let of = |log: &[u8]| {
            let remarks = b"remark: b\n".to_vec();
            Packed { ptx: Vec::new(), lto_ir: None, log: log.to_vec(), remarks, is_kept: false }.messages()
        };
        let log = b"SUCCESS: NVVM70 LTOIR Container created (3684 bytes)\nwarning: a\nSUCCESS: NVVM70 LTOIR Container created (9 bytes)\n";
        assert_eq!(of(log), b"warning: a\nremark: b\n");
        assert_eq!(of(b"a SUCCESS: b\n"), b"a SUCCESS: b\nremark: b\n");
    }
}
