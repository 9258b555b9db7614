//! Which toolkit a program that was started as its linker belongs to.
//!
//! A build starts nvlink thousands of times, so this must cost next to nothing: a few files are looked at, and only where
//! none of them tells is nvcc asked.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::toolkit::{TARGETS, version_of_nvcc};
use crate::{Environment, Supervisor};

/// The file that marks a folder as a shadow. Its first line is the root of the toolkit itself, its second one the version of
/// the nvlink whose place solder takes there.
pub const SHADOW_MARKER: &str = ".solder-shadow";

/// The version is in the first lines of `cuda.h`, after the licence and some macros.
const BEGINNING: u64 = 64 << 10;

/// The toolkit in whose `bin` the program was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// Such as `13.2` or `13.2.86`.
    pub version: String,
    /// It is a shadow, made for this program.
    pub is_shadow: bool,
}

/// The toolkit in whose `bin` the program was started; `None` if it was not started in one.
pub fn beside(environment: &Environment, supervisor: &dyn Supervisor) -> Option<Beside> {
    let bin = folder_of(environment)?;
    let root = bin.parent().filter(|root| !root.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Some(marker) = beginning(&root.join(SHADOW_MARKER)) {
        return marker.lines().nth(1).map(|version| Beside { version: version.to_owned(), is_shadow: true });
    }
    if !bin.join("nvcc").is_file() && !bin.join("ptxas").is_file() {
        return None;
    }
    let version = version_in(root).or_else(|| version_of_nvcc(root, supervisor).ok())?;
    Some(Beside { version, is_shadow: false })
}

/// What the files of a toolkit say about its version.
pub fn version_in(root: &Path) -> Option<String> {
    let of_list = beginning(&root.join("version.json")).and_then(|text| version_in_list(&text));
    let targets = TARGETS.map(|target| root.join("targets").join(target));
    let folders = || [root].into_iter().chain(targets.iter().map(PathBuf::as_path));
    let of_header =
        || folders().find_map(|folder| version_in_header(&beginning(&folder.join("include/cuda.h"))?));
    of_list.or_else(of_header)
}

/// The folder that the program was started in: that of its name, or the first of `PATH` that has it.
fn folder_of(environment: &Environment) -> Option<PathBuf> {
    let name = &environment.invoked_as;
    let folder = name.parent()?;
    if !folder.as_os_str().is_empty() {
        return Some(folder.to_owned());
    }
    environment.path.iter().find(|folder| folder.join(name).is_file()).cloned()
}

fn beginning(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(BEGINNING).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// `"cuda_nvcc" : { "name" : "CUDA NVCC", "version" : "13.0.88" }` in the list of an installed toolkit's parts.
fn version_in_list(text: &str) -> Option<String> {
    let entry = text.split_once("\"cuda_nvcc\"")?.1;
    let value = entry.split_once("\"version\"")?.1;
    value.split('"').nth(1).map(str::to_owned)
}

/// `#define CUDA_VERSION 13020` is 13.2.
fn version_in_header(text: &str) -> Option<String> {
    let number = text.split_once("#define CUDA_VERSION")?.1.split_whitespace().next()?;
    let number: u32 = number.parse().ok()?;
    Some(format!("{}.{}", number / 1000, number % 1000 / 10))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unsupervised;
    use std::fs;

    #[test]
    fn versions_in_files() {
        let list = r#"{ "cuda" : { "name" : "CUDA SDK", "version" : "13.0.2" },
                        "cuda_nvcc" : { "name" : "CUDA NVCC", "version" : "13.0.88" } }"#;
        assert_eq!(version_in_list(list).as_deref(), Some("13.0.88"));
        assert_eq!(version_in_list("\"cuda_nvcc\""), None);
        assert_eq!(version_in_header("#define CUDA_VERSION 12040\n").as_deref(), Some("12.4"));
        assert_eq!(version_in_header("#define CUDA_VERSION x\n"), None);
    }

    #[test]
    fn headers_of_every_host() {
        let root = std::env::temp_dir().join(format!("solder-targets-{}", std::process::id()));
        for (target, version) in TARGETS.into_iter().zip(["13.1", "13.2", "13.3"]) {
            let include = root.join("targets").join(target).join("include");
            fs::create_dir_all(&include).unwrap();
            let number = format!("#define CUDA_VERSION 130{}0\n", &version[3..]);
            fs::write(include.join("cuda.h"), number).unwrap();
            assert_eq!(version_in(&root).as_deref(), Some(version), "{target}");
            fs::remove_dir_all(&root).unwrap();
        }
    }

    #[test]
    fn the_toolkit_beside_the_program() {
        let root = std::env::temp_dir().join(format!("solder-beside-{}", std::process::id()));
        let bin = root.join("bin");
        fs::create_dir_all(root.join("include")).unwrap();
        fs::create_dir_all(&bin).unwrap();
        let path = bin.clone().into_os_string();
        let variable = |name: &str| (name == "PATH").then(|| path.clone());
        fs::write(bin.join("nvlink"), "").unwrap();
        let version = |name: &Path| {
            let environment = Environment::new(name, variable, "/tmp".into());
            beside(&environment, &Unsupervised).map(|beside| beside.version)
        };
        fs::write(root.join("include/cuda.h"), "#define CUDA_VERSION 13020\n").unwrap();
        assert_eq!(version(&bin.join("nvlink")), None, "no toolkit without its compiler");
        fs::write(bin.join("ptxas"), "").unwrap();
        assert_eq!(version(&bin.join("nvlink")).as_deref(), Some("13.2"));
        assert_eq!(version(Path::new("nvlink")).as_deref(), Some("13.2"));
        assert_eq!(version(Path::new("solder")), None);
        fs::write(root.join(SHADOW_MARKER), "/opt/cuda\n13.1.115\n").unwrap();
        assert_eq!(version(&bin.join("nvlink")).as_deref(), Some("13.1.115"));
        fs::remove_dir_all(root).unwrap();
    }
}
