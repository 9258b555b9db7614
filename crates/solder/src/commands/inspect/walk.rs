//! The way through a file: archives, host objects, fat binaries, members. What is found is shown to a visitor at once and
//! forgotten, so that memory does not grow with the file.

use std::env;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use object::read::archive::ArchiveFile;
use solder_cubin::{elf_header, raw};
use solder_fatbin::{Container, Error, Member, Stream};

use super::cubin::Cubin;
use super::fatbin::{MemberView, Ptx};
use super::host::Host;
use super::options::Options;
use crate::load::{Arena, Looked, look};

/// An archive in an archive in an archive is somebody's joke, and may not cost the stack.
const DEEPEST: usize = 4;

/// Bytes of a fat binary after which its pages are given back.
const STEP: usize = 4 << 20;

/// A file, or a member of an archive.
pub(super) struct Item<'a> {
    pub(super) name: &'a str,
    pub(super) size: u64,
    pub(super) kind: &'static str,
}

impl Item<'_> {
    /// The line that cuobjdump has before what is in a member of an archive, which it names by its whole path. It has none for
    /// what is no ELF.
    pub(super) fn heading(&self, archive: &str) -> String {
        if ["no device code", "PTX", "LTO IR"].contains(&self.kind) {
            return String::new();
        }
        let is_file = Path::new(archive).is_relative() && Path::new(archive).exists();
        let folder = env::current_dir().ok().filter(|_| is_file);
        let path = folder.map_or(archive.into(), |folder| folder.join(archive).display().to_string());
        format!("\nmember {path}:{}:\n", self.name)
    }
}

/// Who is shown what is found, in the order in which it is in the file.
pub(super) trait Visitor {
    /// Whether members of fat binaries are unpacked and looked into.
    fn looks_inside(&self) -> bool;
    fn begin(&mut self, _item: &Item<'_>) {}
    fn end(&mut self) {}
    fn cubin(&mut self, _cubin: &Cubin, _size: u64) {}
    fn host(&mut self, _host: &Host) {}
    fn ptx(&mut self, _ptx: &Ptx, _size: u64) {}
    fn ir(&mut self, _size: u64) {}
    /// The containers of an item; those of a host file say whether they are still to be linked.
    fn begin_fatbins(&mut self) {}
    fn begin_fatbin(&mut self, _form: Option<&'static str>, _size: u64) {}
    /// A group, whose members come next.
    fn begin_group(&mut self, _entry: &Member<'_>) {}
    fn member(&mut self, _member: &MemberView) {}
    /// A member as it is in the file.
    fn content(&mut self, _member: &Member<'_>) {}
    /// A file, or a member of an archive, that is a cubin.
    fn cubin_file(&mut self, _arch: &str, _bytes: &[u8]) {}
    fn end_fatbin(&mut self, _form: Option<&'static str>, _damage: Option<&str>) {}
    fn end_fatbins(&mut self) {}
    fn begin_archive(&mut self) {}
    fn end_archive(&mut self, _damage: Option<&str>) {}
    /// The item cannot be read.
    fn damage(&mut self, _reason: &str) {}
}

/// A walk through one file.
pub(super) struct Walk<'a> {
    options: &'a Options,
    visitor: &'a mut dyn Visitor,
    is_damaged: bool,
}

impl<'a> Walk<'a> {
    /// Shows a file to a visitor; whether all of it could be read.
    pub(super) fn through(
        name: &str,
        file: &Looked<'_>,
        path: &Path,
        options: &'a Options,
        visitor: &'a mut dyn Visitor,
    ) -> bool {
        let mut walk = Self { options, visitor, is_damaged: false };
        walk.item(name, file, file.data, path, DEEPEST);
        !walk.is_damaged
    }

    fn item(&mut self, name: &str, file: &Looked<'_>, data: &[u8], path: &Path, depth: usize) {
        let size = data.len() as u64;
        let begin = |walk: &mut Self, kind| walk.visitor.begin(&Item { name, size, kind });
        if data.starts_with(&raw::ELF_MAGIC) {
            match elf_header(data) {
                Some(header) if header.machine.get() == raw::EM_CUDA => match Cubin::read(data) {
                    Ok(cubin) => {
                        begin(self, "cubin");
                        self.is_damaged |= cubin.is_damaged();
                        if self.options.wants_arch(&cubin.arch) {
                            self.visitor.cubin(&cubin, size);
                            self.visitor.cubin_file(&cubin.arch, data);
                        }
                    }
                    Err(reason) => self.damaged(name, size, &reason),
                },
                Some(_) => match Host::read(data) {
                    Ok((host, containers)) => {
                        begin(self, host.kind);
                        self.visitor.host(&host);
                        self.visitor.begin_fatbins();
                        for (form, data) in containers {
                            self.fatbins(Some(form), file, data);
                        }
                        self.visitor.end_fatbins();
                    }
                    Err(reason) => self.damaged(name, size, &reason),
                },
                None => self.damaged(name, size, "the file is too short for an ELF header"),
            }
        } else if Container::matches(data) {
            begin(self, "fat binary");
            self.visitor.begin_fatbins();
            self.fatbins(None, file, data);
            self.visitor.end_fatbins();
        } else if data.starts_with(b"!<arch>\n") || data.starts_with(b"!<thin>\n") {
            self.archive(name, file, data, path, depth);
        } else if data.starts_with(&[0xed, 0x43, 0x4e, 0x7f]) {
            begin(self, "LTO IR");
            self.visitor.ir(size);
        } else if let Some(ptx) = Ptx::read(data) {
            begin(self, "PTX");
            self.visitor.ptx(&ptx, size);
        } else {
            begin(self, "no device code");
        }
        self.visitor.end();
    }

    /// An item that begins and cannot be read.
    fn damaged(&mut self, name: &str, size: u64, reason: &str) {
        self.is_damaged = true;
        self.visitor.begin(&Item { name, size, kind: "damaged" });
        self.visitor.damage(reason);
    }

    /// The containers at the start of `data`, with padding between them.
    fn fatbins(&mut self, form: Option<&'static str>, file: &Looked<'_>, mut data: &[u8]) {
        while Container::matches(data) {
            let container = match Container::parse(data) {
                Ok(container) => container,
                Err(error) => {
                    self.is_damaged = true;
                    self.visitor.begin_fatbin(form, data.len() as u64);
                    self.visitor.end_fatbin(form, Some(&error.to_string()));
                    break;
                }
            };
            self.visitor.begin_fatbin(form, container.size() as u64);
            let damage = self.members(file, &container);
            self.is_damaged |= damage.is_some();
            self.visitor.end_fatbin(form, damage.as_deref());
            data = &data[container.size()..];
            data = &data[data.iter().position(|&byte| byte != 0).unwrap_or(data.len())..];
        }
    }

    /// The members of one container; why they end early.
    fn members(&mut self, file: &Looked<'_>, container: &Container<'_>) -> Option<String> {
        let mut damage = None;
        let mut since = 0;
        for entry in container.entries() {
            if let Err(error) = entry.and_then(|entry| {
                since += entry.payload().len();
                self.entry(&entry)
            }) {
                damage = Some(error.to_string());
            }
            if since >= STEP {
                file.give_back(container.bytes());
                since = 0;
            }
        }
        file.give_back(container.bytes());
        damage
    }

    /// A member, or all members of a group, which is unpacked no more than once.
    fn entry(&mut self, entry: &Member<'_>) -> Result<(), Error> {
        let Some(group) = entry.group() else {
            self.member(entry);
            return Ok(());
        };
        let (group, stream) = (group?, Stream::default());
        self.visitor.begin_group(entry);
        for member in group.members_in(&stream) {
            self.member(&member?);
        }
        Ok(())
    }

    fn member(&mut self, member: &Member<'_>) {
        let mut view = MemberView::of(member);
        if self.options.wants_arch(&view.arch) {
            if self.visitor.looks_inside() {
                view.look_inside(member);
            }
            self.is_damaged |= view.is_damaged();
            self.visitor.member(&view);
            self.visitor.content(member);
        }
    }

    fn archive(&mut self, name: &str, file: &Looked<'_>, data: &[u8], path: &Path, depth: usize) {
        let size = data.len() as u64;
        let Some(depth) = depth.checked_sub(1) else {
            return self.damaged(name, size, "archives in archives, too many to look into");
        };
        let archive = match ArchiveFile::parse(data) {
            Ok(archive) => archive,
            Err(error) => return self.damaged(name, size, &error.to_string()),
        };
        let kind = if archive.is_thin() { "thin archive" } else { "archive" };
        self.visitor.begin(&Item { name, size, kind });
        self.visitor.begin_archive();
        let mut damage = None;
        for member in archive.members() {
            let member = match member {
                Ok(member) => member,
                Err(error) => {
                    damage = Some(error.to_string());
                    break;
                }
            };
            let name = String::from_utf8_lossy(member.name());
            if member.is_thin() {
                self.thin_member(&name, member.name(), path, depth);
                continue;
            }
            match member.data(data) {
                Ok(part) => {
                    self.item(&name, file, part, path, depth);
                    file.give_back(part);
                }
                Err(error) => {
                    self.damaged(&name, member.size(), &error.to_string());
                    self.visitor.end();
                }
            }
        }
        self.is_damaged |= damage.is_some();
        self.visitor.end_archive(damage.as_deref());
    }

    /// A thin archive names files that lie beside it.
    fn thin_member(&mut self, name: &str, bytes: &[u8], archive: &Path, depth: usize) {
        let path = archive.parent().unwrap_or(Path::new("")).join(OsStr::from_bytes(bytes));
        let arena = Arena::default();
        match look(&path, &arena) {
            Ok(file) => self.item(name, &file, file.data, &path, depth),
            Err(error) => {
                self.damaged(name, 0, &format!("'{}': {error}", path.display()));
                self.visitor.end();
            }
        }
    }
}
