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

/// The number of the architecture that IR was compiled for. After its header come tags of 16 bits with a value each, up to the offset at
/// byte 16; the value of tag 1 is the architecture times ten.
pub fn architecture_of_ir(data: &[u8]) -> Option<u16> {
    const END: usize = 16;
    const LIST: usize = 24;
    const ARCHITECTURE: [u8; 2] = 1u16.to_le_bytes();
    let end = u32::from_le_bytes(*data.strip_prefix(LTO_IR)?.get(END - LTO_IR.len()..)?.first_chunk()?);
    let (pairs, _) = data.get(LIST..usize::try_from(end).ok()?)?.as_chunks::<4>();
    let [_, _, value @ ..] = pairs.iter().find(|pair| pair[..2] == ARCHITECTURE)?;
    Some(u16::from_le_bytes(*value) / 10)
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

    /// What IR of 13.0 for sm_90a begins with.
    const HEADER: [u8; 48] = [
        0xed, 0x43, 0x4e, 0x7f, 1, 0x41, 2, 0x62, 3, 2, 7, 0, 0x18, 0, 1, 0, 0x2c, 0, 0, 0, 0x30, 0, 0, 0, 1,
        0, 0x84, 3, 2, 0, 2, 0, 0x20, 0, 1, 0, 0x63, 0, 0, 0, 0, 0, 0, 0, 0x2c, 0x9c, 0xbe, 0xf7,
    ];

    #[test]
    fn ir_says_its_architecture() {
        assert_eq!(architecture_of_ir(&HEADER), Some(90));
        let mut other = HEADER;
        other[26..28].copy_from_slice(&1030u16.to_le_bytes());
        assert_eq!(architecture_of_ir(&other), Some(103));
        // Without that pair, cut, or with an end that is not there.
        other[24] = 9;
        assert_eq!(architecture_of_ir(&other), None);
        for end in 0..0x2c {
            assert_eq!(architecture_of_ir(&HEADER[..end]), None);
        }
        other[16..20].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(architecture_of_ir(&other), None);
        other[16] = 4;
        other[17..20].fill(0);
        assert_eq!(architecture_of_ir(&other), None);
    }
}
