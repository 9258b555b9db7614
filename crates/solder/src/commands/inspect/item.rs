//! What a file is, and what is in it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use object::read::archive::ArchiveFile;
use solder_cubin::{elf_header, raw};
use solder_fatbin::Container;

use super::{cubin, fatbin, host};
use crate::json::Json;

/// An archive in an archive in an archive is somebody's joke, and may not cost the stack.
pub(super) const DEEPEST: usize = 4;

/// A file, or a member of an archive.
pub(super) struct Item {
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) content: Content,
}

/// What it holds.
pub(super) enum Content {
    Cubin(cubin::Cubin),
    /// Containers one after the other.
    Fatbins(Vec<fatbin::Fatbin>),
    Host(host::Host),
    Archive {
        thin: bool,
        members: Vec<Item>,
        /// Why the list ends early.
        damage: Option<String>,
    },
    Ptx(fatbin::Ptx),
    LtoIr,
    Other,
    Damaged(String),
}

impl Item {
    pub(super) fn of(name: &str, data: &[u8], path: &Path, depth: usize) -> Self {
        let content = if data.starts_with(&raw::ELF_MAGIC) {
            match elf_header(data) {
                Some(header) if header.machine.get() == raw::EM_CUDA => match cubin::Cubin::read(data) {
                    Ok(cubin) => Content::Cubin(cubin),
                    Err(reason) => Content::Damaged(reason),
                },
                Some(_) => host::Host::read(data).map_or_else(Content::Damaged, Content::Host),
                None => Content::Damaged("the file is too short for an ELF header".into()),
            }
        } else if Container::matches(data) {
            Content::Fatbins(fatbin::read_all(data))
        } else if data.starts_with(b"!<arch>\n") || data.starts_with(b"!<thin>\n") {
            archive(data, path, depth)
        } else if data.starts_with(&[0xed, 0x43, 0x4e, 0x7f]) {
            Content::LtoIr
        } else {
            fatbin::Ptx::read(data).map_or(Content::Other, Content::Ptx)
        };
        Self { name: name.into(), size: data.len() as u64, content }
    }

    pub(super) fn is_damaged(&self) -> bool {
        match &self.content {
            Content::Cubin(cubin) => cubin.is_damaged(),
            Content::Fatbins(fatbins) => fatbins.iter().any(fatbin::Fatbin::is_damaged),
            Content::Host(host) => host.is_damaged(),
            Content::Archive { members, damage, .. } => {
                damage.is_some() || members.iter().any(Self::is_damaged)
            }
            Content::Damaged(_) => true,
            Content::Ptx(_) | Content::LtoIr | Content::Other => false,
        }
    }

    pub(super) fn json(&self) -> Json {
        let mut fields = vec![("name", Json::from(&self.name)), ("size", self.size.into())];
        fields.push(("type", self.kind().into()));
        match &self.content {
            Content::Cubin(cubin) => fields.extend(cubin.fields()),
            Content::Fatbins(fatbins) => {
                fields.push(("fatbins", fatbins.iter().map(fatbin::Fatbin::json).collect()));
            }
            Content::Host(host) => fields.extend(host.fields()),
            Content::Archive { members, damage, .. } => {
                fields.push(("members", members.iter().map(Self::json).collect()));
                fields.push(("damage", damage.as_ref().into()));
            }
            Content::Ptx(ptx) => fields.extend(ptx.fields()),
            Content::Damaged(reason) => fields.push(("damage", reason.into())),
            Content::LtoIr | Content::Other => {}
        }
        Json::Object(fields)
    }

    pub(super) fn kind(&self) -> &'static str {
        match &self.content {
            Content::Cubin(_) => "cubin",
            Content::Fatbins(_) => "fat binary",
            Content::Host(host) => host.kind,
            Content::Archive { thin: false, .. } => "archive",
            Content::Archive { thin: true, .. } => "thin archive",
            Content::Ptx(_) => "PTX",
            Content::LtoIr => "LTO IR",
            Content::Other => "no device code",
            Content::Damaged(_) => "damaged",
        }
    }
}

fn archive(data: &[u8], path: &Path, depth: usize) -> Content {
    let Some(depth) = depth.checked_sub(1) else {
        return Content::Damaged("archives in archives, too many to look into".into());
    };
    let archive = match ArchiveFile::parse(data) {
        Ok(archive) => archive,
        Err(error) => return Content::Damaged(error.to_string()),
    };
    let mut members = Vec::new();
    let mut damage = None;
    for member in archive.members() {
        let member = match member {
            Ok(member) => member,
            Err(error) => {
                damage = Some(error.to_string());
                break;
            }
        };
        let name = String::from_utf8_lossy(member.name()).into_owned();
        if member.is_thin() {
            members.push(thin_member(name, member.name(), path, depth));
            continue;
        }
        match member.data(data) {
            Ok(data) => members.push(Item::of(&name, data, path, depth)),
            Err(error) => {
                let content = Content::Damaged(error.to_string());
                members.push(Item { name, size: member.size(), content });
            }
        }
    }
    Content::Archive { thin: archive.is_thin(), members, damage }
}

/// A thin archive names files that lie beside it.
fn thin_member(name: String, bytes: &[u8], archive: &Path, depth: usize) -> Item {
    let path = archive.parent().unwrap_or(Path::new("")).join(OsStr::from_bytes(bytes));
    match fs::read(&path) {
        Ok(data) => Item::of(&name, &data, &path, depth),
        Err(error) => {
            let content = Content::Damaged(format!("'{}': {error}", path.display()));
            Item { name, size: 0, content }
        }
    }
}
