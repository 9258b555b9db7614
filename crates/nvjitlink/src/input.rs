//! What a caller says that an input is, and what it is.

use solder_fatbin::{Compression, Container, Error, Kind, Member, Request, select};
use solder_link::form::Form;
use solder_link::load::classify::Role;
use solder_link::load::host::HostObject;

use crate::code::Code;

/// The type of an input, in the numbers of nvJitLink's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputType {
    /// A device ELF.
    Cubin,
    /// PTX, as text.
    Ptx,
    /// IR for link-time optimization.
    LtoIr,
    /// A fat binary.
    Fatbin,
    /// A host object.
    Object,
    /// An archive of host objects.
    Library,
    /// An index file, which no tool of the toolkit makes.
    Index,
    /// What its first bytes say.
    Any,
}

impl InputType {
    /// The type of this number.
    pub fn of(number: i32) -> Option<Self> {
        Some(match number {
            1 => Self::Cubin,
            2 => Self::Ptx,
            3 => Self::LtoIr,
            4 => Self::Fatbin,
            5 => Self::Object,
            6 => Self::Library,
            7 => Self::Index,
            10 => Self::Any,
            _ => return None,
        })
    }

    /// Its name in the header.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Cubin => "NVJITLINK_INPUT_CUBIN",
            Self::Ptx => "NVJITLINK_INPUT_PTX",
            Self::LtoIr => "NVJITLINK_INPUT_LTOIR",
            Self::Fatbin => "NVJITLINK_INPUT_FATBIN",
            Self::Object => "NVJITLINK_INPUT_OBJECT",
            Self::Library => "NVJITLINK_INPUT_LIBRARY",
            Self::Index => "NVJITLINK_INPUT_INDEX",
            Self::Any => "NVJITLINK_INPUT_ANY",
        }
    }

    /// How bytes of this type take part; the code says that they are not of it.
    pub(crate) fn role(self, bytes: &[u8]) -> Result<Role, Code> {
        let role = role(bytes);
        match (self, role) {
            (Self::Any, Some(role)) => Ok(role),
            (Self::Any, None) => Err(Code::UnrecognizedInput),
            // A cubin has none of the sections of a host object.
            (Self::Object, Some(Role::Cubin)) => Ok(Role::HostObject),
            (said, Some(role)) if said.is_of(role) => Ok(role),
            _ => Err(Code::IncorrectInputType),
        }
    }

    fn is_of(self, role: Role) -> bool {
        matches!(
            (self, role),
            (Self::Cubin, Role::Cubin)
                | (Self::Ptx, Role::Ptx)
                | (Self::LtoIr, Role::LtoIr)
                | (Self::Fatbin, Role::Fatbin)
                | (Self::Object, Role::HostObject | Role::Skipped)
                | (Self::Library, Role::Archive)
        )
    }
}

fn role(bytes: &[u8]) -> Option<Role> {
    Some(match Form::of(bytes) {
        Form::DeviceObject | Form::DeviceElf => Role::Cubin,
        // One of another version is not known as one.
        Form::Fatbin if !matches!(Container::parse(bytes), Err(Error::Version(_))) => Role::Fatbin,
        Form::Ptx => Role::Ptx,
        Form::LtoIr => Role::LtoIr,
        Form::HostObject => Role::HostObject,
        Form::Archive => Role::Archive,
        // Unlike nvlink, the library looks for device code in host programs too.
        Form::OtherElf if HostObject::parse(bytes).is_ok() => Role::HostObject,
        Form::OtherElf if bytes.len() > ELF_HEADER => Role::Skipped,
        Form::OtherElf | Form::Fatbin | Form::Other => return None,
    })
}

/// The member of a fat binary that is chosen for a target.
pub(crate) fn chosen(bytes: &[u8], request: Request) -> Option<Member<'_>> {
    select(&Container::parse(bytes).ok()?, request).ok()?.member
}

/// What is wrong with a member whose content cannot be linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is not what its header says.
    Not(InputType),
    /// It was packed by LZ4 and cannot be unpacked.
    Lz4,
}

/// Compares the content of a member with what its header says.
pub(crate) fn fault(member: &Member<'_>) -> Option<Fault> {
    let said = match member.kind() {
        Kind::Ptx => InputType::Ptx,
        Kind::LtoIr => InputType::LtoIr,
        Kind::Elf | Kind::Other(_) => InputType::Cubin,
    };
    match member.content() {
        Ok(content) => said.role(&content).is_err().then_some(Fault::Not(said)),
        Err(_) if member.compression() == Ok(Compression::Lz4) => Some(Fault::Lz4),
        Err(_) => None,
    }
}

/// The size of an ELF header.
const ELF_HEADER: usize = 64;
