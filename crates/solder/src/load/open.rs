//! From a file to items, and from an item to device code.

use std::borrow::Cow;
use std::cell::RefCell;
use std::path::Path;

use hashbrown::HashSet;
use solder_fatbin::{Compression, Container, Error, Kind, Member, Selection, select};
use solder_toolchain::Ptx;

use super::archive::{self, ArchiveMember};
use super::arena::Arena;
use super::classify::{self, Role};
use super::content::{Content, IrContent};
use super::host::{HostObject, Unreadable};
use super::said::{PARALLEL_FROM, Said, Stopped};
use super::{chosen, file};
use crate::diagnostics::{Message, Sink, Stop, Text};
use crate::options::Options;
use solder_link::accept::{self, Verdict};
use solder_link::form::{self, Form};
use solder_link::inputs::Origin;
use solder_link::pool::Pool;
use solder_link::resolve::is_runtime;

/// The part of nvlink that an input goes through. After an error those parts end the run when they are entered,
/// each in its own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenStage {
    Open,
    /// Host objects and archives.
    Host,
    /// Fat binaries and PTX.
    Fatbinary,
}

impl OpenStage {
    pub(super) fn pass(self, sink: &Sink) -> Result<(), Stop> {
        match self {
            Self::Host if sink.errors() > 0 => Err(sink.fatal(Message::InternalError)),
            Self::Fatbinary if sink.errors() > 0 => Err(sink.fatal(Message::FatbinaryError)),
            _ => Ok(()),
        }
    }
}

/// One thing that may give device code, in link order.
#[derive(Debug)]
pub(super) struct Item<'data> {
    pub name: Text,
    pub stage: OpenStage,
    pub origin: Origin,
    pub is_runtime: bool,
    pub host: Option<HostObject<'data>>,
    /// The whole file or archive member.
    pub bytes: &'data [u8],
    /// Whether they are a mapping of which only the chosen member of a fat binary is kept.
    sheds: bool,
    source: Source<'data>,
}

#[derive(Debug)]
enum Source<'data> {
    Nothing,
    Cubin(&'data [u8]),
    Container(&'data [u8]),
    Ptx(&'data [u8]),
    LtoIr(&'data [u8]),
    /// What to say instead.
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

/// What a file turned out to be.
pub(super) struct Opened<'data> {
    /// Device and inode of an archive.
    pub archive: Option<(u64, u64)>,
    pub items: Vec<Item<'data>>,
}

/// Archives are linked once, however often and under whatever names they are given.
pub(super) fn without_repeated_archives<'data>(opened: Vec<Opened<'data>>, pool: &Pool) -> Vec<Item<'data>> {
    let mut seen = HashSet::new();
    let mut items = pool.room_for(opened.iter().map(|file| file.items.len()).sum());
    for file in opened {
        if file.archive.is_none_or(|identity| seen.insert(identity)) {
            items.extend(file.items);
        }
    }
    items
}

/// Opens a file of the command line.
pub(super) fn open<'data>(path: &Path, options: &Options, arena: &'data Arena, pool: &Pool) -> Opened<'data> {
    let name = Text::from(path);
    let one = |stage, source: Source<'data>| {
        let is_runtime = is_runtime(name.as_bytes());
        let (name, bytes) = (name.clone(), source.bytes());
        let item =
            Item { name, stage, origin: Origin::File, is_runtime, host: None, bytes, sheds: false, source };
        Opened { archive: None, items: vec![item] }
    };
    let not_opened =
        || one(OpenStage::Open, Source::Refused(vec![Message::InputNotOpened { file: name.clone() }]));
    // A large link does without the rest of a file, unless somebody is going to ask what was in it.
    let sheds = arena.is_large() && !options.is_recorded();
    if sheds && let Some(items) = small_host_object(&name, path, options, arena) {
        return Opened { archive: None, items };
    }
    let is_fatbin = path.extension().is_some_and(|extension| extension == "fatbin");
    let request = options.request();
    if sheds
        && is_fatbin
        && let Some(container) = chosen::member(path, request, arena)
    {
        return one(OpenStage::Fatbinary, Source::Container(container));
    }
    let Ok(file) = file::read(path, arena) else { return not_opened() };
    let (data, is_mapped) = (file.data, file.mapped.is_some());
    let shed = |mut opened: Opened<'data>| {
        opened.items.iter_mut().for_each(|item| item.sheds = sheds && is_mapped);
        opened
    };
    if data.is_empty() {
        return Opened { archive: None, items: Vec::new() };
    }
    if data.len() < classify::SHORTEST && Form::of(data) != Form::Archive {
        return not_opened();
    }
    match classify::role(path, data, options.lto) {
        Role::Cubin => one(OpenStage::Open, Source::Cubin(data)),
        Role::Fatbin => shed(one(OpenStage::Fatbinary, Source::Container(data))),
        Role::Ptx => one(OpenStage::Fatbinary, Source::Ptx(data)),
        Role::LtoIr => one(OpenStage::Open, Source::LtoIr(data)),
        Role::Refused(refusal @ classify::Refusal::PtxNotRecognized) => {
            one(OpenStage::Fatbinary, Source::Refused(refusal.messages(options.release)))
        }
        Role::Refused(refusal) => one(OpenStage::Open, Source::Refused(refusal.messages(options.release))),
        Role::Skipped => Opened { archive: None, items: Vec::new() },
        Role::HostObject => {
            shed(Opened { archive: None, items: host_items(&name, data, Origin::HostObject) })
        }
        Role::Archive => {
            let mut opened = one(OpenStage::Host, Source::Nothing);
            opened.archive = Some(file.identity);
            match archive::members(path, data, file.mapped.as_ref(), arena) {
                Ok(mut members) => {
                    if let Some(file) = &file.mapped {
                        archive::find_host_code(&mut members, file, pool);
                    }
                    let items = |member: &ArchiveMember<'data>| {
                        let empty = member.is_host_code.then(HostObject::default);
                        let host = empty.map_or_else(|| HostObject::parse(member.data), Ok);
                        items_of(&member.name, member.data, Origin::Archive, host)
                    };
                    let items = pool.map(&members, members.len() >= PARALLEL_FROM, items);
                    opened.items.extend(items.into_iter().flatten());
                }
                Err(messages) => opened.items[0].source = Source::Refused(messages),
            }
            opened
        }
    }
}

/// The items of a small host object, of which the device code and what belongs to it are kept. `None` for anything else.
fn small_host_object<'data>(
    name: &Text,
    path: &Path,
    options: &Options,
    arena: &'data Arena,
) -> Option<Vec<Item<'data>>> {
    thread_local! {
        static FILE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    // Under other names a host object is rare, and reading a file to see what it is, a waste.
    path.extension().filter(|extension| *extension == "o")?;
    FILE.with_borrow_mut(|data| {
        file::read_small(path, data)?;
        let is_host =
            data.len() >= classify::SHORTEST && classify::role(path, data, options.lto) == Role::HostObject;
        let host = HostObject::parse(data.as_slice()).ok().filter(|_| is_host)?;
        let host = host.without_file(data, arena);
        Some(items_of(name, host.code.unwrap_or_default(), Origin::HostObject, Ok(host)))
    })
}

/// One item per fat binary in a host object, the first of which carries what the host object says; one item without
/// code if there is none.
fn host_items<'data>(name: &Text, data: &'data [u8], origin: Origin) -> Vec<Item<'data>> {
    items_of(name, data, origin, HostObject::parse(data))
}

fn items_of<'data>(
    name: &Text,
    data: &'data [u8],
    origin: Origin,
    host: Result<HostObject<'data>, Unreadable>,
) -> Vec<Item<'data>> {
    let item = |host, source| Item {
        name: name.clone(),
        stage: OpenStage::Host,
        origin,
        is_runtime: is_runtime(name.as_bytes()),
        host,
        bytes: data,
        sheds: false,
        source,
    };
    let no_fatbin = || vec![Message::NoFatbin { file: name.clone() }, Message::InternalError];
    let Ok(host) = host else { return vec![item(None, Source::Refused(no_fatbin()))] };
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
pub(super) enum Product<'data> {
    Nothing,
    /// A fat binary without a member for the target.
    Unmatched,
    Object(&'data [u8]),
    Ptx(Ptx<'data>),
    Ir {
        content: IrContent<'data>,
        options: Option<&'data [u8]>,
    },
}

#[derive(Debug)]
pub(super) struct Unpacked<'data> {
    pub said: Vec<Said>,
    /// How long it took to assemble.
    pub milliseconds: Option<f64>,
    pub outcome: Result<Product<'data>, Stopped>,
}

impl<'data> Item<'data> {
    /// Chooses, unpacks and checks.
    pub(super) fn unpack(&self, options: &Options, arena: &'data Arena) -> Unpacked<'data> {
        let mut said = Vec::new();
        let outcome = match &self.source {
            Source::Nothing => Ok(Product::Nothing),
            Source::Refused(messages) => Err(messages.clone()),
            Source::Cubin(bytes) => self.checked(bytes, options, &mut said),
            Source::Ptx(text) => Ok(Product::Ptx(Ptx { text, stored_options: &[] })),
            Source::LtoIr(bytes) => Ok(Product::Ir { content: IrContent::Plain(bytes), options: None }),
            Source::Container(bytes) => self.chosen(bytes, options, arena, &mut said),
        };
        if self.sheds && !matches!(outcome, Ok(Product::Object(bytes)) if self.has(bytes)) {
            file::give_back(self.bytes);
        }
        Unpacked { said, milliseconds: None, outcome }
    }

    /// Whether it is device code that no host object brought.
    pub(super) fn lacks_host_code(&self) -> bool {
        self.origin == Origin::File && !matches!(self.source, Source::Nothing | Source::Refused(_))
    }

    /// What the item is, as far as `--explain` and its relatives ask.
    pub(super) fn content(&self) -> Content<'data> {
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

    /// The line of `-time` for PTX: a file of its own is its own source, a member is nameless.
    pub(super) fn time_row(&self, options: &Options, milliseconds: f64) -> Vec<u8> {
        let name = self.name.as_bytes();
        let (source, result): (&[u8], _) = match self.source {
            Source::Ptx(_) => (name, ""),
            _ => (b"ptx", "cubin"),
        };
        let rest = format!(" , {result} , {} , nvlink , {milliseconds:.4} , ms\n", options.link_target());
        [source, b" , ptxas , ", name, rest.as_bytes()].concat()
    }

    fn checked(
        &self,
        bytes: &'data [u8],
        options: &Options,
        said: &mut Vec<Said>,
    ) -> Result<Product<'data>, Stopped> {
        let mut warnings = Vec::new();
        let verdict = accept::check(&self.name, bytes, options.link_target(), options.release, &mut warnings);
        said.extend(warnings.into_iter().map(Said::from));
        match verdict {
            Ok(Verdict::Linked) => Ok(Product::Object(bytes)),
            Ok(Verdict::PassedOver) => Ok(Product::Nothing),
            Err(message @ Message::UnsupportedBinary) => Err(vec![message, Message::FinalizationFailed]),
            Err(message) => Err(vec![message]),
        }
    }

    /// The member of a container that suits the target.
    fn chosen(
        &self,
        bytes: &'data [u8],
        options: &Options,
        arena: &'data Arena,
        said: &mut Vec<Said>,
    ) -> Result<Product<'data>, Stopped> {
        let target = options.link_target();
        let container = Container::parse(bytes).map_err(|error| self.container_error(error, options))?;
        let Selection { member, .. } =
            select(&container, options.request()).map_err(|error| self.container_error(error, options))?;
        let Some(member) = member else {
            if !options.suppress_arch_warning && self.origin != Origin::Archive {
                let target = target.to_string().into();
                said.push(Message::ArchNotFound { target, file: self.name.clone() }.into());
            }
            return Ok(Product::Unmatched);
        };
        let stored_options = member.options().map_err(|error| self.container_error(error, options))?;
        match member.kind() {
            Kind::LtoIr if !options.lto => Err(vec![Message::LtoObjectsWithoutLto]),
            Kind::LtoIr => {
                let content = if member.is_scrambled() {
                    IrContent::Container(arena.own(member.alone()))
                } else {
                    IrContent::Plain(self.unpacked(&member, options, arena)?)
                };
                Ok(Product::Ir { content, options: Some(stored_options.unwrap_or_default()) })
            }
            Kind::Ptx => {
                let text = self.unpacked(&member, options, arena)?;
                if !form::is_ptx(text) {
                    return Err(vec![
                        self.damaged("the PTX in a fat binary", "it does not begin with its version"),
                    ]);
                }
                let stored_options = stored_options.unwrap_or_default();
                Ok(Product::Ptx(Ptx { text, stored_options }))
            }
            Kind::Elf | Kind::Other(_) => {
                let content = self.unpacked(&member, options, arena)?;
                if !Form::of(content).is_device_elf() {
                    return Err(vec![Message::WordSizeMismatch { file: self.name.clone() }]);
                }
                self.checked(content, options, said)
            }
        }
    }

    fn unpacked(
        &self,
        member: &Member<'data>,
        options: &Options,
        arena: &'data Arena,
    ) -> Result<&'data [u8], Stopped> {
        let content = member.content_in(|size| arena.room(size)).map_err(|error| {
            let mut messages = self.container_error(error, options);
            // A damaged frame is reported by the decompression and by what called for it.
            if error == Error::Uncompress && member.compression() == Ok(Compression::Zstd) {
                messages.insert(0, Message::UncompressFailed);
            }
            messages
        })?;
        match content {
            Cow::Borrowed(bytes) if self.is_shed_for(bytes) => Ok(arena.copy(bytes)),
            Cow::Borrowed(bytes) => Ok(bytes),
            Cow::Owned(bytes) => Ok(arena.own(bytes)),
        }
    }

    /// Whether some bytes are a part of the file.
    fn has(&self, bytes: &[u8]) -> bool {
        self.bytes.as_ptr_range().contains(&bytes.as_ptr())
    }

    /// Whether a member is so small a part of the file that a copy of it is the better thing to keep.
    fn is_shed_for(&self, member: &[u8]) -> bool {
        self.sheds && self.has(member) && member.len() <= self.bytes.len() / 4 * 3
    }

    fn container_error(&self, error: Error, options: &Options) -> Stopped {
        match error {
            Error::Version(_) => classify::not_recognized(options.release),
            Error::Uncompress | Error::UnpackedSize | Error::UnknownCompression | Error::TooLarge => {
                vec![Message::UncompressFailed, Message::FatbinaryError]
            }
            error => vec![self.damaged("the fat binary", &error.to_string())],
        }
    }

    fn damaged(&self, place: &str, reason: &str) -> Message {
        Message::DamagedInput { file: self.name.clone(), place: place.into(), reason: reason.into() }
    }
}
