//! `-l`, `-L` and `LIBRARY_PATH`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use solder_arch::Release;
use solder_cubin::elf_header;

use super::arena::Arena;
use super::file;
use crate::diagnostics::{Message, Sink};
use crate::options::{Id, Options};
use solder_link::form::{ARCHIVE, THIN_ARCHIVE};
use solder_link::load::Stopped;

/// Host architectures as `-cpu-arch` names them, with their ELF machine.
const MACHINES: [(&str, u16); 5] =
    [("AARCH64", 183), ("ARMv7", 40), ("PPC64LE", 21), ("X86", 3), ("X86_64", 62)];

/// Finds the files that `-l` stands for, in order. A shared library found anywhere hides the static one and gives no
/// device code; a library that is not found is left out without a word.
pub(super) fn find(
    options: &Options,
    library_path: Option<&OsStr>,
    sink: &Sink,
    arena: &Arena,
) -> Result<Vec<PathBuf>, Stopped> {
    let folders = folders(options, library_path);
    let machine = host_machine(options);
    let mut found = Vec::new();
    for library in &options.libraries {
        let shared = file_name(library, ".so");
        if folders.iter().any(|folder| in_folder(folder, &shared).exists()) {
            continue;
        }
        let name = file_name(library, ".a");
        for path in folders.iter().map(|folder| in_folder(folder, &name)).filter(|path| path.exists()) {
            if sink.errors() > 0 {
                return Err(vec![Message::InternalError]);
            }
            if is_compatible(&path, machine, arena, options.release)? {
                found.push(path);
                break;
            }
            sink.report(Message::SkippingIncompatible { file: path.into(), library: library.into() });
        }
    }
    Ok(found)
}

/// Why a library gave no file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The shared library that hides the static one.
    Hidden(PathBuf),
    NotFound,
}

/// The libraries that [`find`] leaves out, and where it looked.
pub fn missing(options: &Options, library_path: Option<&OsStr>) -> (Vec<(OsString, Missing)>, Vec<PathBuf>) {
    let folders = folders(options, library_path);
    let of = |library: &OsString| {
        let in_folders = |ending| {
            let name = file_name(library, ending);
            folders.iter().map(move |folder| in_folder(folder, &name)).find(|path| path.exists())
        };
        match (in_folders(".so"), in_folders(".a")) {
            (Some(shared), _) => Some((library.clone(), Missing::Hidden(shared))),
            (None, None) => Some((library.clone(), Missing::NotFound)),
            (None, Some(_)) => None,
        }
    };
    (options.libraries.iter().filter_map(of).collect(), folders)
}

fn folders(options: &Options, library_path: Option<&OsStr>) -> Vec<PathBuf> {
    let from_environment = library_path.map(std::env::split_paths).into_iter().flatten();
    let from_environment = from_environment.filter(|folder| !folder.as_os_str().is_empty());
    options.library_paths.iter().cloned().chain(from_environment).collect()
}

fn file_name(library: &OsStr, ending: &str) -> OsString {
    [OsStr::new("lib"), library, OsStr::new(ending)].into_iter().collect()
}

/// The folder as given and the name, as messages name it: `-L.` finds `./libf.a`.
fn in_folder(folder: &Path, name: &OsStr) -> PathBuf {
    let mut path = folder.as_os_str().to_owned();
    if !path.as_bytes().ends_with(b"/") {
        path.push("/");
    }
    path.push(name);
    path.into()
}

fn host_machine(options: &Options) -> u16 {
    let native = if cfg!(target_arch = "aarch64") { "AARCH64" } else { "X86_64" };
    let given = options.values().scalar(Id::CpuArch).unwrap_or_default();
    let named = |name: &[u8]| {
        MACHINES.iter().find(|(known, _)| known.as_bytes() == name).map(|(_, machine)| *machine)
    };
    named(given).or(named(native.as_bytes())).unwrap_or_default()
}

/// Whether one of the members is for the host; as everywhere, what follows a member that is not an ELF is not seen.
fn is_compatible(path: &Path, machine: u16, arena: &Arena, release: &Release) -> Result<bool, Stopped> {
    let opened = file::read(path, arena).map_err(|_| vec![Message::MemoryAllocation])?;
    // nvlink does not look at the magic: it finds nothing in what has nothing else, and nothing in a text, such as a linker script, in
    // which it takes a slash for the end of a member's name (hostobj/libraries-of-text).
    let members = opened.data.get(ARCHIVE.len()..).unwrap_or_default();
    let is_archive = [ARCHIVE, THIN_ARCHIVE].iter().any(|magic| opened.data.starts_with(magic));
    let mut name = members.iter().take_while(|byte| **byte != 0);
    let takes_texts = !is_archive && !release.looks_at_archives();
    if members.is_empty() || takes_texts && name.any(|byte| *byte == b'/') {
        return Ok(false);
    }
    let members = super::archive::members(path, opened.data, opened.mapped.as_ref(), arena, release)?;
    Ok(members
        .iter()
        .any(|member| elf_header(&member.head).is_some_and(|header| header.machine.get() == machine)))
}
