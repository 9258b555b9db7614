//! Files that end too early, as after a full disk or a broken copy.

use object::Endianness;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, SectionHeader};

use solder_link::form::{ARCHIVE, Form};

/// What a file says about its length, if it is shorter than that: `cut off at byte N of M`.
pub fn cut_off(bytes: &[u8]) -> Option<String> {
    let size = bytes.len() as u64;
    let expected = match Form::of(bytes) {
        Form::Archive => archive(bytes),
        Form::Fatbin => fatbin(bytes),
        Form::DeviceObject | Form::DeviceElf | Form::HostObject | Form::OtherElf => elf(bytes),
        _ => None,
    };
    let expected = expected.filter(|expected| *expected > size)?;
    Some(format!(
        "it is cut off at byte {size} of {expected}: make it again, and see whether the disk is full"
    ))
}

/// The end of the section table, or of the last section if the table is there.
fn elf(bytes: &[u8]) -> Option<u64> {
    let header = FileHeader64::<Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let entries = u64::from(header.e_shnum.get(endian)) * u64::from(header.e_shentsize.get(endian));
    let table = header.e_shoff.get(endian).checked_add(entries)?;
    let sections = header.section_headers(endian, bytes).unwrap_or(&[]);
    let ends = sections.iter().filter_map(|section| {
        let (start, size) = section.file_range(endian)?;
        start.checked_add(size)
    });
    ends.max().max(Some(table))
}

/// The end of the first member that does not fit.
fn archive(bytes: &[u8]) -> Option<u64> {
    const HEADER: usize = 60;
    let mut at = ARCHIVE.len();
    // In a thin archive the members are elsewhere.
    let is_whole = bytes.starts_with(ARCHIVE);
    while is_whole && at < bytes.len() {
        let Some(header) = bytes.get(at..at + HEADER) else { return Some((at + HEADER) as u64) };
        let size = std::str::from_utf8(&header[48..58]).ok()?.trim().parse::<usize>().ok()?;
        let end = at.checked_add(HEADER)?.checked_add(size)?;
        if end > bytes.len() {
            return Some(end as u64);
        }
        at = end + end % 2;
    }
    None
}

/// The container's header has its length.
fn fatbin(bytes: &[u8]) -> Option<u64> {
    let header = u64::from(u16::from_le_bytes(bytes.get(6..8)?.try_into().ok()?));
    u64::from_le_bytes(bytes.get(8..16)?.try_into().ok()?).checked_add(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives() {
        let header = |size: usize| format!("{:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", "a.o/", 0, 0, 0, 644);
        let whole = [ARCHIVE, header(3).as_bytes(), b"abc\n", header(2).as_bytes(), b"de"].concat();
        assert_eq!(cut_off(&whole), None);
        for length in [whole.len() - 1, whole.len() - 30, 70] {
            assert!(cut_off(&whole[..length]).is_some(), "{length}");
        }
        assert_eq!(cut_off(&whole[..72]), None, "the end of a member");
        let huge = [ARCHIVE, header(9_999_999_999).as_bytes()].concat();
        assert!(cut_off(&huge).is_some_and(|text| text.contains("byte 68 of 10000000067")));
    }

    #[test]
    fn cubins() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/quickstart/blur.cubin");
        let whole = std::fs::read(file).expect("the example");
        assert_eq!(cut_off(&whole), None);
        for length in [64, 100, whole.len() / 2, whole.len() - 1] {
            let text = cut_off(&whole[..length]).expect("it is too short");
            assert!(
                text.starts_with(&format!("it is cut off at byte {length} of {}", whole.len())),
                "{text}"
            );
        }
    }
}
