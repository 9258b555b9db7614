//! `--register-link-binaries`: the list of linked modules that the host side compiles its registration from.

use std::fs;
use std::path::Path;

use crate::diagnostics::{Sink, Stop};
use crate::load::Registration;
use crate::output;

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
        lines.extend_from_slice(&registration.id);
        lines.extend_from_slice(b")\n");
        count += 1;
    }
    let mut text = format!("#define NUM_PRELINKED_OBJECTS {count}\n").into_bytes();
    text.extend(lines);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_for_each() {
        let registrations = ["_a_cu", "_b_cu"].map(|id| Registration { id: id.into(), runtime_at: None });
        let expected =
            "#define NUM_PRELINKED_OBJECTS 2\nDEFINE_REGISTER_FUNC(_a_cu)\nDEFINE_REGISTER_FUNC(_b_cu)\n";
        assert_eq!(text(&registrations), expected.as_bytes());
        assert_eq!(text(&[]), b"#define NUM_PRELINKED_OBJECTS 0\n");
    }
}
