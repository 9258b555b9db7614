//! What some bytes are, by their beginning.

use solder_cubin::{elf_header, raw};
use solder_fatbin::Container;

/// What an archive begins with.
pub const ARCHIVE: &[u8] = b"!<arch>\n";
/// What an archive that only names its members begins with.
pub const THIN_ARCHIVE: &[u8] = b"!<thin>\n";
/// What IR for link-time optimization begins with.
pub const LTO_IR: &[u8] = &[0xed, 0x43, 0x4e, 0x7f];

/// What the first bytes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A relocatable device ELF.
    DeviceObject,
    /// Any other device ELF.
    DeviceElf,
    /// A relocatable ELF for another machine.
    HostObject,
    /// An executable or shared library for another machine.
    OtherElf,
    /// An archive, thin or not.
    Archive,
    /// A fat binary.
    Fatbin,
    /// IR for link-time optimization.
    LtoIr,
    /// PTX, as text.
    Ptx,
    /// Nothing of these.
    Other,
}

/// Whether bytes have the type of a relocatable ELF where an ELF has its type, whatever they are.
pub fn says_object(data: &[u8]) -> bool {
    const TYPE: usize = 16;
    data.get(TYPE..TYPE + 2).is_some_and(|bytes| bytes == raw::ET_REL.to_le_bytes())
}

impl Form {
    /// Looks at the first bytes.
    pub fn of(data: &[u8]) -> Self {
        if data.starts_with(&raw::ELF_MAGIC) {
            return match elf_header(data) {
                Some(header) if header.machine.get() == raw::EM_CUDA => match header.e_type.get() {
                    raw::ET_REL => Self::DeviceObject,
                    _ => Self::DeviceElf,
                },
                Some(header) if header.e_type.get() == raw::ET_REL => Self::HostObject,
                _ => Self::OtherElf,
            };
        }
        if data.starts_with(ARCHIVE) || data.starts_with(THIN_ARCHIVE) {
            Self::Archive
        } else if Container::matches(data) {
            Self::Fatbin
        } else if data.starts_with(LTO_IR) {
            Self::LtoIr
        } else if is_ptx(data) {
            Self::Ptx
        } else {
            Self::Other
        }
    }

    /// What it is, in words.
    pub fn description(self) -> &'static str {
        match self {
            Self::DeviceObject => "a relocatable device ELF",
            Self::DeviceElf => "a linked device ELF",
            Self::HostObject => "a host object",
            Self::OtherElf => "a host executable or shared library",
            Self::Archive => "an archive",
            Self::Fatbin => "a fat binary",
            Self::LtoIr => "LTO IR",
            Self::Ptx => "PTX",
            Self::Other => "no kind of device input",
        }
    }

    /// Whether it is a device ELF.
    pub fn is_device_elf(self) -> bool {
        matches!(self, Self::DeviceObject | Self::DeviceElf)
    }
}

/// Whether the first thing in a text, after blanks and comments, is the version that all PTX begins with.
pub fn is_ptx(mut text: &[u8]) -> bool {
    loop {
        text = text.trim_ascii_start();
        if text.starts_with(b"//") {
            let Some(end) = text.iter().position(|&byte| byte == b'\n') else { return false };
            text = &text[end..];
        } else if text.starts_with(b"/*") {
            let Some(end) = text[2..].windows(2).position(|pair| pair == b"*/") else { return false };
            text = &text[2 + end + 2..];
        } else {
            return text.starts_with(b".version");
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The header of an ELF, as far as its form depends on it.
    pub(crate) fn elf(machine: u16, e_type: u16) -> Vec<u8> {
        let mut header = vec![0; 64];
        header[..4].copy_from_slice(&raw::ELF_MAGIC);
        header[16..18].copy_from_slice(&e_type.to_le_bytes());
        header[18..20].copy_from_slice(&machine.to_le_bytes());
        header
    }

    #[test]
    fn the_first_bytes_decide() {
        for (form, bytes) in [
            (Form::Archive, ARCHIVE),
            (Form::Archive, THIN_ARCHIVE),
            (Form::Fatbin, &solder_fatbin::CONTAINER_MAGIC),
            (Form::LtoIr, LTO_IR),
            (Form::Ptx, b".version 9.0"),
            (Form::Other, b"/* GNU ld script */"),
            (Form::Other, b""),
            (Form::DeviceObject, &elf(raw::EM_CUDA, 1)),
            (Form::DeviceElf, &elf(raw::EM_CUDA, 2)),
            (Form::HostObject, &elf(62, 1)),
            (Form::HostObject, &elf(183, 1)),
            (Form::OtherElf, &elf(62, 3)),
        ] {
            assert_eq!(Form::of(bytes), form);
        }
    }

    #[test]
    fn ptx_begins_with_its_version() {
        for text in [
            ".version 9.0",
            "// c\n.version 9.0",
            "/* c */ .version",
            "\n\n \t.version",
            "//a\n/*b*/\n.version",
        ] {
            assert!(is_ptx(text.as_bytes()), "{text:?}");
        }
        for text in [
            "",
            "x .version",
            ".target sm_90\n.version",
            "//.version 9.0",
            "/* .version",
            "\u{feff}.version",
            "/",
        ] {
            assert!(!is_ptx(text.as_bytes()), "{text:?}");
        }
    }
}
