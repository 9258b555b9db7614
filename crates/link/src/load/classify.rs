//! What an input is to the linker: by its name and its first bytes, or by these alone.

use crate::diagnostics::Message;
use crate::form::{Form, says_object};
use solder_arch::Release;

/// How an input takes part in the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A device ELF.
    Cubin,
    /// A fat binary.
    Fatbin,
    /// PTX, as text.
    Ptx,
    /// IR for link-time optimization.
    LtoIr,
    /// A host object, which may have device code.
    HostObject,
    /// An archive of host objects.
    Archive,
    /// No device input: passed over without a word.
    Skipped,
    /// Not what its name says.
    Refused(Refusal),
}

/// Why a file with a telling extension is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A cubin that is not an ELF.
    CubinNotElf,
    /// A cubin that is an ELF for another machine.
    CubinNotDeviceElf,
    /// A fat binary without its magic number.
    FatbinWrongFormat,
    /// PTX that does not begin with its version.
    PtxNotRecognized,
    /// LLVM bitcode, which nvlink has no use for.
    Bitcode,
    /// IR in a link without `-lto`.
    LtoIrWithoutLto,
    /// IR without its magic number.
    LtoIrWrongFormat,
}

impl Refusal {
    /// What nvlink reports.
    pub fn messages(self, release: &Release) -> Vec<Message> {
        match self {
            Self::CubinNotElf => vec![Message::CubinNotElf],
            Self::CubinNotDeviceElf => vec![Message::CubinNotDeviceElf],
            Self::FatbinWrongFormat => vec![Message::FatbinWrongFormat],
            Self::PtxNotRecognized => not_recognized(release),
            Self::Bitcode => vec![Message::BitcodeInput],
            Self::LtoIrWithoutLto => vec![Message::NvvmWithoutLto],
            Self::LtoIrWrongFormat => vec![Message::NvvmError],
        }
    }
}

/// nvlink's words for content it cannot place; the odd key and empty name are literal.
pub(crate) fn not_recognized(release: &Release) -> Vec<Message> {
    let message = if release.names_unknown_binaries() {
        Message::BinaryFormat { key: "0".into(), ident: "".into() }
    } else {
        Message::BinaryKind
    };
    vec![message, Message::FatbinaryError]
}

/// What a file is to nvlink: its extension decides first, then its first bytes.
pub fn role(path: &[u8], data: &[u8], lto: bool) -> Role {
    let Some(extension) = extension(path) else { return Role::Skipped };
    let form = Form::of(data);
    let refused = Role::Refused;
    match extension {
        b"cubin" => match form {
            Form::DeviceObject | Form::DeviceElf => Role::Cubin,
            Form::HostObject | Form::OtherElf => refused(Refusal::CubinNotDeviceElf),
            _ => refused(Refusal::CubinNotElf),
        },
        b"fatbin" if form == Form::Fatbin => Role::Fatbin,
        b"fatbin" => refused(Refusal::FatbinWrongFormat),
        b"ptx" => match form {
            Form::Ptx => Role::Ptx,
            Form::Fatbin => Role::Fatbin,
            Form::DeviceObject | Form::DeviceElf => Role::Cubin,
            _ => refused(Refusal::PtxNotRecognized),
        },
        b"nvvm" | b"ltoir" if !lto => refused(Refusal::LtoIrWithoutLto),
        b"nvvm" | b"ltoir" if form == Form::LtoIr => Role::LtoIr,
        b"nvvm" | b"ltoir" => refused(Refusal::LtoIrWrongFormat),
        b"bc" => refused(Refusal::Bitcode),
        _ => match form {
            Form::Archive => Role::Archive,
            Form::DeviceObject if extension == b"o" => Role::Cubin,
            // A cubin under any other name is read like a host object, and has none of its sections.
            Form::HostObject | Form::DeviceObject if extension != b"so" => Role::HostObject,
            // So is everything that has the type of an object where an ELF has its own; a fat binary that begins with PTX does.
            _ if extension != b"so" && says_object(data) => Role::HostObject,
            _ => Role::Skipped,
        },
    }
}

/// What follows the last dot of the last component; a name that begins with its only dot is all extension.
pub fn extension(path: &[u8]) -> Option<&[u8]> {
    let name = path.rsplit(|&byte| byte == b'/').next()?;
    let dot = name.iter().rposition(|&byte| byte == b'.')?;
    Some(&name[dot + 1..])
}

#[cfg(test)]
mod tests {
    use super::Form::{Archive, DeviceElf, DeviceObject, Fatbin, HostObject, LtoIr, Ptx};
    use super::*;
    use crate::form::tests::elf;
    use crate::form::{ARCHIVE, LTO_IR};
    use solder_cubin::raw;

    const SHORT_FORMS: [(Form, &[u8]); 5] = [
        (Form::Archive, ARCHIVE),
        (Form::Fatbin, &solder_fatbin::CONTAINER_MAGIC),
        (Form::LtoIr, LTO_IR),
        (Form::Ptx, b".version 9.0"),
        (Form::Other, b"/* GNU ld script */"),
    ];

    fn samples() -> Vec<(Form, Vec<u8>)> {
        let mut samples: Vec<_> = SHORT_FORMS.iter().map(|(form, bytes)| (*form, bytes.to_vec())).collect();
        samples.push((Form::DeviceObject, elf(raw::EM_CUDA, 1)));
        samples.push((Form::DeviceElf, elf(raw::EM_CUDA, 2)));
        samples.push((Form::HostObject, elf(62, 1)));
        samples.push((Form::HostObject, elf(183, 1)));
        samples.push((Form::OtherElf, elf(62, 3)));
        samples
    }

    #[test]
    fn the_extension_decides_first() {
        let used = |name: &str, lto| {
            let role_of = |(form, bytes): (Form, Vec<u8>)| (form, role(name.as_bytes(), &bytes, lto));
            let accepted = |(_, role): &(Form, Role)| !matches!(role, Role::Skipped | Role::Refused(_));
            let mut forms: Vec<_> =
                samples().into_iter().map(role_of).filter(accepted).map(|(form, _)| form).collect();
            forms.dedup();
            forms
        };
        assert_eq!(used("a.cubin", false), [DeviceObject, DeviceElf]);
        assert_eq!(used("a.ptx", false), [Fatbin, Ptx, DeviceObject, DeviceElf]);
        assert_eq!(used("a.fatbin", false), [Fatbin]);
        assert_eq!(used("a.ltoir", true), [LtoIr]);
        assert_eq!(used("a.ltoir", false), []);
        assert_eq!(used("a.bc", true), []);
        assert_eq!(used("a.so", false), [Archive]);
        assert_eq!(used("a.o", false), [Archive, DeviceObject, HostObject]);
        assert_eq!(used("a.a", false), [Archive, DeviceObject, HostObject]);
        assert_eq!(used("d.x/.fobj", false), [Archive, DeviceObject, HostObject]);
        assert_eq!(used("a.CUBIN", false), [Archive, DeviceObject, HostObject]);
        assert_eq!(used("d.o/plain", false), []);
    }

    #[test]
    fn what_has_the_type_of_an_object_is_one() {
        let mut bytes = vec![0; 64];
        bytes[..4].copy_from_slice(&solder_fatbin::CONTAINER_MAGIC);
        bytes[16] = 1;
        assert_eq!(role(b"a.o", &bytes, false), Role::HostObject);
        assert_eq!(role(b"a.so", &bytes, false), Role::Skipped);
        assert_eq!(role(b"a.fatbin", &bytes, false), Role::Fatbin);
        bytes[17] = 1;
        assert_eq!(role(b"a.o", &bytes, false), Role::Skipped);
    }
}
