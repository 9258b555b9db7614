//! NVIDIA's compilers, as a session uses them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use solder_arch::Release;
use solder_toolchain::{
    AssembleError, Assembled, Cache, CompileError, CompileRequest, Environment, Module, NVJITLINK_VARIABLE,
    Packed, Ptx, Toolchain, Unsupervised, VARIABLES, version_in, with_build,
};

use crate::options::Options;

/// What the assembler in NVIDIA's library says of its build, by an oversight of its makers. It is in the tool note of the
/// code, and its length decides where all that follows is.
const BUILD: &str = "Build system must define TOOLS_VERSION_EXTENDED";

/// The variable that says which release's library this one is.
const RELEASE_VARIABLE: &str = "SOLDER_AS";

/// The release whose library this one is, and whether objects of later toolkits change it.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    pub release: &'static Release,
    pub by_inputs: bool,
}

/// The release that the library of a major version is: what the environment says, or that of the toolkit that it names. If
/// neither does, a library of CUDA 12 is the last one of these, and one of CUDA 13 is as old as its inputs allow.
pub fn release(major: u32) -> Choice {
    let asked = std::env::var(RELEASE_VARIABLE).ok().and_then(|version| named(&version));
    let of_toolkit = || {
        let roots = VARIABLES.iter().filter_map(std::env::var_os).filter(|root| !root.is_empty());
        let mut releases = roots.filter_map(|root| Release::of_version(&version_in(&PathBuf::from(root))?));
        releases.find(|release| release.major() == major)
    };
    if let Some(release) = asked.or_else(of_toolkit) {
        return Choice { release, by_inputs: false };
    }
    let mut newest_first = Release::ALL.into_iter().rev();
    match newest_first.find(|release| release.major() == major) {
        Some(release) if release.major() < Release::CUDA_13_0.major() => Choice { release, by_inputs: false },
        _ => Choice { release: Release::CUDA_13_0, by_inputs: true },
    }
}

/// The release of a version. The newest one takes the place of those that are not known yet.
fn named(version: &str) -> Option<&'static Release> {
    let is_newer = || {
        Some(Release::NEWEST).filter(|newest| {
            Release::toolkit_of(version).is_some_and(|toolkit| newest.is_older_than(toolkit))
        })
    };
    Release::of_version(version).or_else(is_newer)
}

/// The compilers that the environment leads to.
fn toolchain(release: &'static Release) -> Toolchain<'static> {
    // There is no program beside which they could be.
    let environment = Environment::new("", |name| std::env::var_os(name), std::env::temp_dir());
    let cache = Cache::new(None, &Unsupervised);
    Toolchain { environment, release, cache, supervisor: &Unsupervised }
}

/// Assembles PTX: a whole program, or code to link.
pub fn assemble(
    options: &Options,
    release: &'static Release,
    text: &[u8],
    whole: bool,
) -> Result<Assembled, AssembleError> {
    let toolchain = toolchain(release);
    let mut assembled = toolchain
        .assembler()
        .assemble_with(&Ptx { text, stored_options: None }, &arguments(options, whole))?;
    // Parts of an image for sm_100 and later overlap, so that one that is the output is left as it is.
    let is_edited = !(whole && options.target.arch.is_mercury());
    if is_edited
        && let Some(cubin) = &mut assembled.cubin
        && let Some(recorded) = with_build(cubin, BUILD)
    {
        *cubin = recorded;
    }
    Ok(assembled)
}

/// Compiles IR to PTX with NVIDIA's nvJitLink. If other code takes part and the IR calls it, what the IR defines stays;
/// otherwise what only other code calls is lost, and the link says that it is undefined.
pub fn compile(
    options: &Options,
    release: &'static Release,
    modules: &[Module<'_>],
    whole: bool,
) -> Result<Packed, CompileError> {
    let mut arguments = compiler_words(options);
    if !whole {
        arguments.retain(|word| !USED.iter().any(|option| word.starts_with(option)));
        arguments.push(b"-Xnvvm=--device-c".to_vec());
    }
    if options.relocatable && release.relocates_ir_alone() {
        // All that the IR defines stays.
        arguments.push(b"-Xnvvm=--force-device-c".to_vec());
    }
    toolchain(release).compile_packed(Path::new(""), &CompileRequest { arguments: &arguments, modules })
}

/// What is asked for by name. Other code may refer to the rest, so that the link alone removes it.
const USED: [&[u8]; 2] = [b"-kernels-used=", b"-variables-used="];

/// The options of the session that concern the compiler, in the words in which they were given.
fn compiler_words(options: &Options) -> Vec<Vec<u8>> {
    let own = ["-lto", "-ptx"].map(|word| word.as_bytes().to_vec());
    own.into_iter().chain(options.compiler.iter().map(|word| as_for_ptx(word, options.ptx))).collect()
}

/// A word of the compiler, which is asked for PTX also where the caller did not ask for it: then it would warn that it takes
/// `-split-compile` in the place of this option.
fn as_for_ptx(word: &[u8], is_asked_for: bool) -> Vec<u8> {
    match word.strip_prefix(b"-split-compile-extended=") {
        Some(threads) if !is_asked_for => [b"-split-compile=", threads].concat(),
        _ => word.to_vec(),
    }
}

/// The assembler's words, each as it was given, blanks and commas included.
fn arguments(options: &Options, whole: bool) -> Vec<OsString> {
    let last = (!whole).then(|| b"-c".to_vec());
    options.assembler.iter().cloned().chain(last).map(OsString::from_vec).collect()
}

/// Why there is no PTX, for people.
pub fn explain(error: &CompileError) -> Vec<u8> {
    match error {
        CompileError::Library { places } => {
            let places: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
            let places = places.join(", ");
            format!(
                "LTO IR is compiled by NVIDIA's nvJitLink, which was not found: looked for {places}; \
                 {NVJITLINK_VARIABLE} or CUDA_HOME can say where it is\n"
            )
            .into_bytes()
        }
        CompileError::Module => b"nvJitLink does not take a module\n".to_vec(),
        CompileError::Refused { log } => log.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Log;
    use crate::options;

    fn parsed(words: &[&str]) -> Options {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        let (_, options) = options::parse(&words, Release::CUDA_13_0, false, &mut Log::default());
        options.unwrap_or_else(|code| panic!("{code:?}"))
    }

    #[test]
    fn threads_are_a_matter_of_the_compiler_of_ir() {
        let options = parsed(&["-arch=sm_90", "-lto", "-split-compile=2"]);
        assert_eq!(arguments(&options, false), ["-arch=sm_90", "-c"]);
        assert!(compiler_words(&options).contains(&b"-split-compile=2".to_vec()));
    }

    #[test]
    fn words_of_the_assembler_keep_their_order_and_their_text() {
        let words = [
            "-Xptxas=-pic",
            "-arch=sm_80",
            "--Ofast-compile=max",
            "-maxrregcount=x",
            "-maxrregcount=40",
            "-O3",
            "-verbose",
            "-arch=sm_090",
            "--device-stack-protector=x",
            "-fast-compile",
        ];
        let expected = [
            "-pic",
            "-arch=sm_80",
            "-Ofc=max",
            "-maxrregcount=x",
            "-maxrregcount=40",
            "-O3",
            "-v",
            "-arch=sm_090",
            "--device-stack-protector=x",
            "-fc",
        ];
        assert_eq!(arguments(&parsed(&words), true), expected);
        // Of a virtual architecture, that of its number.
        let options = parsed(&["-arch=compute_90a", "-lto", "-ptx"]);
        assert_eq!(arguments(&options, false), ["-arch=sm_90a", "-c"]);
    }

    #[test]
    fn extended_threads_are_not_compatible_with_ptx() {
        let option = "-split-compile-extended=2";
        let words = compiler_words(&parsed(&["-arch=sm_90", "-lto", option]));
        assert!(words.contains(&b"-split-compile=2".to_vec()));
        // The warning is for whom asks for both.
        let words = compiler_words(&parsed(&["-arch=sm_90", "-lto", "-ptx", option]));
        assert!(words.contains(&option.as_bytes().to_vec()));
    }
}
