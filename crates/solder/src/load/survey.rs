//! What became of every input, for `--explain` and its relatives. Nothing here is made unless one of them is given.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::Endianness;
use object::elf::FileHeader64;
use object::read::archive::ArchiveFile;
use object::read::elf::{FileHeader, SectionHeader};
use solder_cubin::elf_header;

use super::arena::Arena;
use super::file;
use super::open::Opened;
use crate::diagnostics::Text;
use solder_link::inputs::Origin;
use solder_link::load::{Item, Product, Unpacked};

pub use super::library::{Missing, missing};
pub use solder_link::accept::Made;
pub use solder_link::form::Form;
pub use solder_link::load::Content;

/// Everything that was looked at.
#[derive(Clone, Debug, Default)]
pub struct Survey<'data> {
    /// The files of the command line, then the libraries.
    pub files: Vec<File>,
    pub inputs: Vec<Input<'data>>,
}

#[derive(Clone, Debug)]
pub struct File {
    pub path: PathBuf,
    /// Found for `-l`.
    pub is_library: bool,
    pub state: FileState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileState {
    Read,
    /// Empty, or no device input by its name and first bytes.
    PassedOver,
    /// An archive that was read before.
    Repeated,
}

/// A file or archive member that may give device code; a host object with several fat binaries has one for each.
#[derive(Clone, Debug)]
pub struct Input<'data> {
    pub name: Text,
    pub origin: Origin,
    pub is_runtime: bool,
    /// The whole file or member; empty if it was refused at sight.
    pub bytes: &'data [u8],
    pub content: Content<'data>,
    pub fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Linked,
    /// PTX, assembled and linked.
    Assembled,
    /// Taken for link-time optimisation.
    Ir,
    /// There was nothing to take.
    Nothing,
    /// An executable, which nvlink passes over.
    PassedOver,
    /// No member for the target.
    Unmatched,
    Refused,
}

pub(super) fn files(paths: &[&Path], opened: &[Opened<'_>], given: usize, repeated: &[bool]) -> Vec<File> {
    let state = |file: &Opened<'_>, is_repeated: bool| match file.archive {
        _ if is_repeated => FileState::Repeated,
        None if file.items.is_empty() => FileState::PassedOver,
        _ => FileState::Read,
    };
    let states = opened.iter().zip(repeated).map(|(file, is_repeated)| state(file, *is_repeated));
    let file = |(index, (path, state)): (usize, (&&Path, FileState))| File {
        path: path.to_path_buf(),
        is_library: index >= given,
        state,
    };
    paths.iter().zip(states).enumerate().map(file).collect()
}

impl<'data> Survey<'data> {
    pub(super) fn new(files: Vec<File>, items: &[Item<'data>], products: &[Unpacked<'data>]) -> Self {
        let input = |(item, product): (&Item<'data>, &Unpacked<'data>)| Input {
            name: item.name.clone(),
            origin: item.origin,
            is_runtime: item.is_runtime,
            bytes: item.bytes,
            content: item.content(),
            fate: fate(item, product),
        };
        Self { files, inputs: items.iter().zip(products).map(input).collect() }
    }

    /// The input at which loading stopped.
    pub fn refused(&self) -> Option<&Input<'data>> {
        self.inputs.iter().find(|input| input.fate == Fate::Refused)
    }

    pub fn named<'a>(&'a self, name: &'a [u8]) -> impl Iterator<Item = &'a Input<'data>> {
        self.inputs.iter().filter(move |input| input.name.as_bytes() == name)
    }
}

fn fate(item: &Item<'_>, product: &Unpacked<'_>) -> Fate {
    match &product.outcome {
        Err(_) => Fate::Refused,
        Ok(Product::Unmatched { .. }) => Fate::Unmatched,
        Ok(Product::Ir { .. }) => Fate::Ir,
        Ok(Product::Object(_)) if product.milliseconds.is_some() => Fate::Assembled,
        Ok(Product::Object(_) | Product::Ptx { .. }) => Fate::Linked,
        Ok(Product::Nothing) => match item.content() {
            Content::Cubin(_) | Content::Container(_) => Fate::PassedOver,
            _ => Fate::Nothing,
        },
    }
}

/// A part of a file that the link did not look into.
#[derive(Clone, Debug)]
pub struct Unread<'data> {
    pub name: String,
    pub bytes: &'data [u8],
    pub why: String,
}

/// The members of an archive after the first that is not an ELF, which nvlink does not see.
pub fn unread_members<'data>(path: &Path, arena: &'data Arena) -> Vec<Unread<'data>> {
    let Ok(opened) = file::read(path, arena) else { return Vec::new() };
    let Ok(archive) = ArchiveFile::parse(opened.data) else { return Vec::new() };
    let mut found = Vec::new();
    let mut stopper: Option<String> = None;
    for member in archive.members().map_while(Result::ok).filter(|member| !member.is_thin()) {
        let Ok(bytes) = member.data(opened.data) else { break };
        let member = String::from_utf8_lossy(member.name()).into_owned();
        match &stopper {
            Some(before) => {
                let why =
                    format!("it comes after '{before}', which is not an ELF file, and nvlink stops there");
                found.push(Unread { name: format!("{}:{member}", path.display()), bytes, why });
            }
            None if elf_header(bytes).is_none() => stopper = Some(member),
            None => {}
        }
    }
    found
}

/// The bytes of a file that was passed over.
pub fn reread<'data>(path: &Path, arena: &'data Arena) -> &'data [u8] {
    file::read(path, arena).map_or(&[], |opened| opened.data)
}

/// The path behind the name of an input.
pub fn path_of(name: &Text) -> &Path {
    Path::new(OsStr::from_bytes(name.as_bytes()))
}

/// The section of a host file that holds device code which was linked already, or was compiled without `-rdc=true`.
pub fn whole_program_code(bytes: &[u8]) -> Option<&[u8]> {
    section(bytes, b".nv_fatbin")
}

/// The section that holds relocatable device code.
pub fn relocatable_code(bytes: &[u8]) -> Option<&[u8]> {
    section(bytes, b"__nv_relfatbin")
}

fn section<'data>(bytes: &'data [u8], wanted: &[u8]) -> Option<&'data [u8]> {
    let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, bytes).ok()?;
    let (_, section) = sections.section_by_name(endian, wanted)?;
    section.data(endian, bytes).ok()
}
