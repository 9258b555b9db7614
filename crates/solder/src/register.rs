//! `--register-link-binaries`: the list of linked modules that the host side compiles its registration from.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::diagnostics::{Sink, Stop, Text};
use crate::output;
use solder_link::load::{Registration, RegistrationId};

/// A list that names the device runtime is complete for all architectures; nvcc links once for each with the same
/// file, and such a list must survive the later links.
const RUNTIME: &[u8] = b"_cuda_device_runtime_";

/// Writes the list.
pub fn write<'a>(
    path: &Path,
    registrations: impl IntoIterator<Item = &'a Registration>,
    sink: &Sink,
) -> Result<(), Stop> {
    let existing = fs::read(path).unwrap_or_default();
    if existing.windows(RUNTIME.len()).any(|part| part == RUNTIME) {
        return Ok(());
    }
    let text = text(registrations);
    output::write_output(path, &text, sink)
}

fn text<'a>(registrations: impl IntoIterator<Item = &'a Registration>) -> Vec<u8> {
    let mut lines = Vec::new();
    let mut count = 0;
    for registration in registrations {
        lines.extend_from_slice(b"DEFINE_REGISTER_FUNC(");
        match &registration.id {
            RegistrationId::Module(id) => lines.extend_from_slice(id),
            RegistrationId::File(name) => lines.extend(file_id(name)),
            // nvlink 12 prints the name that it does not have (hostobj/register).
            RegistrationId::Nothing => lines.extend_from_slice(b"(null)"),
        }
        lines.extend_from_slice(b")\n");
        count += 1;
    }
    let mut text = format!("#define NUM_PRELINKED_OBJECTS {count}\n").into_bytes();
    text.extend(lines);
    text
}

/// The id of a file that is not a host object: its path from the root, not normalized, with an underscore for all that
/// an identifier cannot have.
pub fn file_id(name: &Text) -> Vec<u8> {
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
    fn one_line_for_each() {
        let registrations = ["_a_cu", "_b_cu"]
            .map(|id| Registration { id: RegistrationId::Module(id.into()), runtime_at: None });
        let expected =
            "#define NUM_PRELINKED_OBJECTS 2\nDEFINE_REGISTER_FUNC(_a_cu)\nDEFINE_REGISTER_FUNC(_b_cu)\n";
        assert_eq!(text(&registrations), expected.as_bytes());
        assert_eq!(text(&[]), b"#define NUM_PRELINKED_OBJECTS 0\n");
    }

    #[test]
    fn ids_of_files() {
        assert_eq!(file_id(&"/d/x/./k.cubin".into()), b"_d_x___k_cubin");
    }
}
