//! What loading gives: device code, IR, and what host code refers to.

use std::os::unix::ffi::OsStrExt;

use super::content::IrContent;
use super::survey::Survey;
use crate::diagnostics::{Stop, Text};
use solder_link::inputs::{Input, Origin};
use solder_link::roots::HostReferences;

/// IR for link-time optimization.
#[derive(Clone, Debug)]
pub struct IrModule<'data> {
    pub name: Text,
    pub content: IrContent<'data>,
    /// The options the module was compiled with; `None` for a file of its own.
    pub options: Option<&'data [u8]>,
    pub origin: Origin,
    pub position: usize,
    pub is_runtime: bool,
}

/// A line of the file that `--register-link-binaries` writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    pub id: Vec<u8>,
    /// Left out together with the runtime at this position.
    pub runtime_at: Option<usize>,
}

/// All that was loaded.
#[derive(Clone, Debug, Default)]
pub struct Inputs<'data> {
    pub objects: Vec<Input<'data>>,
    pub ir: Vec<IrModule<'data>>,
    pub references: HostReferences<'data>,
    pub registrations: Vec<Registration>,
    /// Place of the first host object with device code, for whatever architecture. An archive of the device runtime in
    /// front of it is not asked what it refers to, and does not make code count as incomplete.
    pub first_host_code: Option<usize>,
    /// What became of every input, if somebody is going to ask.
    pub survey: Option<Survey<'data>>,
}

/// Takes IR as it is read.
pub type ReadIr<'a, 'data> = &'a mut dyn FnMut(&IrModule<'data>) -> Result<(), Stop>;

/// The id of a file that is no host object: its path from the root, not normalised, with an underscore for all that
/// cannot stand in an identifier.
pub(super) fn file_id(name: &Text) -> Vec<u8> {
    let mut path = Vec::new();
    if !name.as_bytes().starts_with(b"/") {
        let folder = std::env::current_dir().unwrap_or_default();
        path.extend_from_slice(folder.as_os_str().as_bytes());
        path.push(b'/');
    }
    path.extend_from_slice(name.as_bytes());
    path.into_iter().map(|byte| if byte.is_ascii_alphanumeric() { byte } else { b'_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_files() {
        assert_eq!(file_id(&"/d/x/./k.cubin".into()), b"_d_x___k_cubin");
    }
}
