//! From an input to items, and from an item to device code.

use std::borrow::Cow;

use solder_arch::{Release, Target};
use solder_fatbin::{Compression, Container, Error, Kind, Member, Request, Selection, select};

use super::archive::{self, ArchiveMember, FindMember};
use super::classify::{self, Role};
use super::content::{Content, IrContent};
use super::host::{HostObject, Unreadable};
use super::said::{Said, Stopped};
use super::store::Store;
use crate::accept::{self, Age, Verdict};
use crate::diagnostics::{Message, Sink, Stop, Text};
use crate::form::{self, Form};
use crate::inputs::Origin;
use crate::resolve::is_runtime;

/// What decides how inputs are taken.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The target of the link.
    pub target: Target,
    /// The toolkit that is replaced.
    pub release: &'static Release,
    /// `-lto`: IR is taken.
    pub lto: bool,
    /// `-suppress-arch-warning`.
    pub suppress_arch_warning: bool,
    /// Device code that no host object brought is reported, since it cannot be registered.
    pub reports_missing_host_code: bool,
    /// Names the modules for a host program (`--register-link-binaries`): what files without an id of their own are registered by.
    /// Modules that an earlier link has linked are left out then.
    pub file_id: Option<fn(&Text) -> Vec<u8>>,
    /// How old code may be. NVIDIA's library takes any.
    pub age: Age,
    /// What has the device runtime's name is taken for it. NVIDIA's library links it like anything else.
    pub knows_runtime: bool,
    /// `-maxrregcount`.
    pub registers: Option<i32>,
}

impl Settings {
    /// What is asked of a fat binary.
    pub fn request(&self) -> Request {
        Request { target: self.target, release: self.release, lto: self.lto }
    }
}

/// Refuses a number of registers with more than three digits. nvlink looks at it when it hands its options on together with
/// something to assemble or with a member of a fat binary, of whatever kind: a cubin on its own does not get there.
pub fn check_registers(count: Option<i32>) -> Result<(), Stopped> {
    const MOST: i32 = 999;
    match count {
        Some(count) if count > MOST => Err(vec![Message::InvalidArgument { option: "-maxrregcount" }]),
        _ => Ok(()),
    }
}

/// The part of nvlink that an input goes through. After an error those parts end the run when they are entered,
/// each in its own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenStage {
    /// Device ELFs and IR.
    Open,
    /// Host objects and archives.
    Host,
    /// Fat binaries and PTX.
    Fatbinary,
}

impl OpenStage {
    /// Enters it.
    pub fn pass(self, sink: &Sink) -> Result<(), Stop> {
        match self {
            Self::Host if sink.errors() > 0 => Err(sink.fatal(Message::InternalError)),
            Self::Fatbinary if sink.errors() > 0 => Err(sink.fatal(Message::FatbinaryError)),
            _ => Ok(()),
        }
    }
}

/// One thing that may give device code, in link order.
#[derive(Clone, Debug)]
pub struct Item<'data> {
    /// As messages name it.
    pub name: Text,
    /// The part of nvlink that it goes through.
    pub stage: OpenStage,
    /// Where it came from.
    pub origin: Origin,
    /// The device runtime, known by its name.
    pub is_runtime: bool,
    /// The host object that it is in, with its first item.
    pub host: Option<HostObject<'data>>,
    /// The whole file or archive member.
    pub bytes: &'data [u8],
    /// A small member of a large fat binary is copied, because the caller gives back the file's memory.
    pub copies_members: bool,
    /// What it holds.
    pub source: Source<'data>,
}

/// What an item holds.
#[derive(Clone, Debug)]
pub enum Source<'data> {
    /// No device code.
    Nothing,
    /// A device ELF.
    Cubin(&'data [u8]),
    /// A fat binary, perhaps with something after it.
    Container(&'data [u8]),
    /// PTX, as text.
    Ptx(&'data [u8]),
    /// IR for link-time optimization.
    LtoIr(&'data [u8]),
    /// Nothing that can be read: what to report.
    Refused(Stopped),
}

impl<'data> Source<'data> {
    fn bytes(&self) -> &'data [u8] {
        match self {
            Self::Cubin(bytes) | Self::Container(bytes) | Self::Ptx(bytes) | Self::LtoIr(bytes) => bytes,
            Self::Nothing | Self::Refused(_) => &[],
        }
    }
}

/// The items of an input that takes part in a certain role. `find` finds members of a thin archive.
pub fn items<'data>(
    name: &Text,
    data: &'data [u8],
    role: Role,
    release: &Release,
    find: FindMember<'_, 'data>,
) -> Vec<Item<'data>> {
    let one = |stage, source| vec![Item::new(name.clone(), stage, source)];
    match role {
        Role::Cubin => one(OpenStage::Open, Source::Cubin(data)),
        Role::Fatbin => one(OpenStage::Fatbinary, Source::Container(data)),
        Role::Ptx => one(OpenStage::Fatbinary, Source::Ptx(data)),
        Role::LtoIr => one(OpenStage::Open, Source::LtoIr(data)),
        Role::Refused(refusal @ classify::Refusal::PtxNotRecognized) => {
            one(OpenStage::Fatbinary, Source::Refused(refusal.messages(release)))
        }
        Role::Refused(refusal) => one(OpenStage::Open, Source::Refused(refusal.messages(release))),
        Role::Skipped => Vec::new(),
        Role::HostObject => host_items(name, data, Origin::HostObject, HostObject::parse(data)),
        Role::Archive => {
            let mut items = one(OpenStage::Host, Source::Nothing);
            match archive::members(name.as_bytes(), data, data, find, release) {
                Ok(members) => items.extend(members.iter().flat_map(member_items)),
                Err(messages) => items[0].source = Source::Refused(messages),
            }
            items
        }
    }
}

/// The items of a member of an archive.
pub fn member_items<'data>(member: &ArchiveMember<'data>) -> Vec<Item<'data>> {
    let empty = member.is_host_code.then(HostObject::default);
    let host = empty.map_or_else(|| HostObject::parse(member.data), Ok);
    host_items(&member.name, member.data, Origin::Archive, host)
}

/// One item for each fat binary in a host object, whose first carries what the host object says; one item without
/// code if there is none.
pub fn host_items<'data>(
    name: &Text,
    data: &'data [u8],
    origin: Origin,
    host: Result<HostObject<'data>, Unreadable>,
) -> Vec<Item<'data>> {
    let item =
        |host, source| Item { origin, host, bytes: data, ..Item::new(name.clone(), OpenStage::Host, source) };
    let no_fatbin = || vec![Message::NoFatbin { file: name.clone() }, Message::InternalError];
    let Ok(host) = host else { return vec![item(None, Source::Refused(no_fatbin()))] };
    if host.lacks_code {
        return vec![item(Some(host), Source::Refused(no_fatbin()))];
    }
    let Some(code) = host.code else { return vec![item(Some(host), Source::Nothing)] };
    if !Container::matches(code) {
        return vec![item(Some(host), Source::Refused(no_fatbin()))];
    }
    let mut items = vec![item(Some(host), Source::Container(code))];
    let mut rest = code;
    while let Ok(container) = Container::parse(rest) {
        rest = &rest[container.size()..];
        let padding = rest.iter().position(|&byte| byte != 0).unwrap_or(rest.len());
        rest = &rest[padding..];
        if !Container::matches(rest) {
            break;
        }
        items.push(item(None, Source::Container(rest)));
    }
    items
}

/// What an item gave.
#[derive(Clone, Copy, Debug)]
pub enum Product<'data> {
    /// Nothing to link.
    Nothing,
    /// A fat binary without a member for the target.
    Unmatched {
        /// It is among the linked modules all the same.
        is_registered: bool,
    },
    /// A device ELF.
    Object(&'data [u8]),
    /// PTX, which is still to be assembled.
    Ptx {
        /// The text.
        text: &'data [u8],
        /// The options kept with it in a fat binary.
        stored_options: Option<&'data [u8]>,
    },
    /// IR for link-time optimization.
    Ir {
        /// The IR.
        content: IrContent<'data>,
        /// The options that it was compiled with; `None` for a file of its own.
        options: Option<&'data [u8]>,
    },
}

/// An item, opened.
#[derive(Clone, Debug)]
pub struct Unpacked<'data> {
    /// What there is to report.
    pub said: Vec<Said>,
    /// How long it took to assemble.
    pub milliseconds: Option<f64>,
    /// The toolkit of a device ELF, as in 130 for CUDA 13.0.
    pub toolkit: Option<u32>,
    /// What it gave, or what ends the link.
    pub outcome: Result<Product<'data>, Stopped>,
}

impl<'data> Item<'data> {
    /// A file of its own.
    pub fn new(name: Text, stage: OpenStage, source: Source<'data>) -> Self {
        Self {
            stage,
            origin: Origin::File,
            is_runtime: is_runtime(name.as_bytes()),
            host: None,
            bytes: source.bytes(),
            copies_members: false,
            source,
            name,
        }
    }

    /// Chooses, unpacks and checks.
    pub fn unpack(&self, settings: &Settings, store: &'data Store) -> Unpacked<'data> {
        let mut said = Vec::new();
        let outcome = match &self.source {
            Source::Nothing => Ok(Product::Nothing),
            Source::Refused(messages) => Err(messages.clone()),
            Source::Cubin(bytes) => self.checked(bytes, settings, &mut said),
            Source::Ptx(text) => {
                check_registers(settings.registers).map(|()| Product::Ptx { text, stored_options: None })
            }
            Source::LtoIr(bytes) => Ok(Product::Ir { content: IrContent::Plain(bytes), options: None }),
            Source::Container(bytes) => self.chosen(bytes, settings, store, &mut said),
        };
        let toolkit = match outcome {
            Ok(Product::Object(bytes)) => accept::toolkit_of(bytes),
            _ => None,
        };
        Unpacked { said, milliseconds: None, toolkit, outcome }
    }

    /// Whether it is device code that no host object brought.
    pub fn lacks_host_code(&self) -> bool {
        let is_code = !matches!(self.source, Source::Nothing | Source::Refused(_) | Source::LtoIr(_));
        self.origin == Origin::File && is_code
    }

    /// What the item is, as far as somebody asks afterwards.
    pub fn content(&self) -> Content<'data> {
        match self.source {
            Source::Nothing if self.host.is_none() => Content::Archive,
            Source::Nothing => Content::HostCode,
            Source::Cubin(bytes) => Content::Cubin(bytes),
            Source::Container(bytes) => Content::Container(bytes),
            Source::Ptx(bytes) => Content::Ptx(bytes),
            Source::LtoIr(_) => Content::LtoIr,
            Source::Refused(_) => Content::Unknown,
        }
    }

    /// Whether some bytes are a part of the file.
    pub fn has(&self, bytes: &[u8]) -> bool {
        self.bytes.as_ptr_range().contains(&bytes.as_ptr())
    }

    /// Device code, if it suits the target.
    pub(super) fn checked(
        &self,
        bytes: &'data [u8],
        settings: &Settings,
        said: &mut Vec<Said>,
    ) -> Result<Product<'data>, Stopped> {
        let mut warnings = Vec::new();
        let verdict =
            accept::check(&self.name, bytes, settings.target, settings.release, settings.age, &mut warnings);
        said.extend(warnings.into_iter().map(Said::from));
        match verdict {
            Ok(Verdict::Linked) => Ok(Product::Object(bytes)),
            Ok(Verdict::PassedOver) => Ok(Product::Nothing),
            Err(message @ (Message::UnsupportedBinary | Message::UnsupportedNumber)) => {
                Err(vec![message, Message::FinalizationFailed])
            }
            Err(message) => Err(vec![message]),
        }
    }

    /// The member of a container that suits the target.
    fn chosen(
        &self,
        bytes: &'data [u8],
        settings: &Settings,
        store: &'data Store,
        said: &mut Vec<Said>,
    ) -> Result<Product<'data>, Stopped> {
        let container =
            Container::parse(bytes).map_err(|error| self.container_error(error, settings.release))?;
        let Selection { member, .. } = select(&container, settings.request())
            .map_err(|error| self.container_error(error, settings.release))?;
        let Some(member) = member else {
            if !settings.suppress_arch_warning && self.origin != Origin::Archive {
                let target = settings.target.to_string().into();
                said.push(Message::ArchNotFound { target, file: self.name.clone() }.into());
            }
            let is_registered = settings.release.registers_unmatched();
            return Ok(Product::Unmatched { is_registered });
        };
        check_registers(settings.registers)?;
        let stored_options =
            member.options().map_err(|error| self.container_error(error, settings.release))?;
        match member.kind() {
            Kind::LtoIr if !settings.lto => Err(vec![Message::LtoObjectsWithoutLto]),
            Kind::LtoIr => {
                let content = if member.is_scrambled() {
                    IrContent::Container(store.own(member.alone()))
                } else {
                    IrContent::Plain(self.unpacked(&member, settings, store)?)
                };
                Ok(Product::Ir { content, options: Some(stored_options.unwrap_or_default()) })
            }
            Kind::Ptx => {
                let text = self.unpacked(&member, settings, store)?;
                if !form::is_ptx(text) {
                    return Err(vec![
                        self.damaged("the PTX in a fat binary", "it does not begin with its version"),
                    ]);
                }
                Ok(Product::Ptx { text, stored_options: Some(stored_options.unwrap_or_default()) })
            }
            Kind::Elf | Kind::Other(_) => {
                let content = self.unpacked(&member, settings, store)?;
                if !Form::of(content).is_device_elf() {
                    return Err(vec![Message::WordSizeMismatch { file: self.name.clone() }]);
                }
                self.checked(content, settings, said)
            }
        }
    }

    fn unpacked(
        &self,
        member: &Member<'data>,
        settings: &Settings,
        store: &'data Store,
    ) -> Result<&'data [u8], Stopped> {
        let content = member.content().map_err(|error| {
            let mut messages = self.container_error(error, settings.release);
            // A damaged frame is reported by the decompression and by what called for it.
            if error == Error::Uncompress && member.compression() == Ok(Compression::Zstd) {
                messages.insert(0, Message::UncompressFailed);
            }
            messages
        })?;
        match content {
            Cow::Borrowed(bytes) if self.is_copied(bytes) => Ok(store.own(bytes.to_vec())),
            Cow::Borrowed(bytes) => Ok(bytes),
            Cow::Owned(bytes) => Ok(store.own(bytes)),
        }
    }

    /// Whether a member is so small a part of the file that a copy of it is the better thing to keep.
    fn is_copied(&self, member: &[u8]) -> bool {
        self.copies_members && self.has(member) && member.len() <= self.bytes.len() / 4 * 3
    }

    fn container_error(&self, error: Error, release: &Release) -> Stopped {
        match error {
            Error::Version(_) => classify::not_recognized(release),
            Error::Uncompress | Error::UnpackedSize | Error::UnknownCompression | Error::TooLarge => {
                vec![Message::UncompressFailed, Message::FatbinaryError]
            }
            // Its name is empty.
            Error::ArchNumber(_) => vec![Message::UnknownArch { arch: "".into() }, Message::FatbinaryError],
            error => vec![self.damaged("the fat binary", &error.to_string())],
        }
    }

    fn damaged(&self, place: &str, reason: &str) -> Message {
        Message::DamagedInput { file: self.name.clone(), place: place.into(), reason: reason.into() }
    }
}
