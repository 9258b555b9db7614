//! Fat binaries and what their members hold.

use solder_fatbin::{Compression, Flags, Kind, Member};

use super::cubin::Cubin;
use crate::json::Json;

/// A member of a container.
pub struct MemberView {
    pub kind: String,
    pub arch: String,
    pub version: (u16, u16),
    pub name: String,
    pub options: String,
    pub compression: &'static str,
    pub packed: u64,
    pub unpacked: u64,
    pub debug: bool,
    pub scrambled: bool,
    pub cubin: Option<Cubin>,
    pub damage: Option<String>,
}

/// The head of a PTX text.
pub struct Ptx {
    pub version: String,
    pub target: String,
}

impl MemberView {
    /// What its header says.
    pub fn of(member: &Member<'_>) -> Self {
        let (kind, prefix) = match member.kind() {
            Kind::Ptx => ("PTX".into(), "compute_"),
            Kind::Elf => ("ELF".into(), "sm_"),
            Kind::LtoIr => ("LTO IR".into(), "lto_"),
            Kind::Other(raw) => (format!("kind {raw}"), "sm_"),
        };
        let mut damage = None;
        // After the options of Mercury code, and a NUL, come its attributes.
        let mut text = |found: Result<Option<&[u8]>, solder_fatbin::Error>| match found {
            Ok(text) => {
                let text = text.unwrap_or_default().split(|&byte| byte == 0).next().unwrap_or_default();
                String::from_utf8_lossy(text).trim().to_owned()
            }
            Err(error) => {
                damage = Some(error.to_string());
                String::new()
            }
        };
        let name = text(member.identifier());
        let options = text(member.options());
        Self {
            kind,
            arch: format!("{prefix}{}", member.arch()),
            version: member.version(),
            name,
            options,
            compression: match member.compression() {
                Ok(Compression::None) => "none",
                Ok(Compression::Lz4) => "LZ4",
                Ok(Compression::Zstd) => "Zstandard",
                Err(_) => "unknown",
            },
            packed: member.packed_size(),
            unpacked: member.unpacked_size(),
            debug: member.flags().contains(Flags::DEBUG),
            scrambled: member.is_scrambled(),
            cubin: None,
            damage,
        }
    }

    /// Unpacks it and reads what it holds.
    pub fn look_inside(&mut self, member: &Member<'_>) {
        // What is scrambled is whole, only not for us.
        if member.is_scrambled() {
            return;
        }
        match member.content() {
            Ok(content) if member.kind() == Kind::Elf => match Cubin::read(&content) {
                Ok(read) => self.cubin = Some(read),
                Err(reason) => self.damage = Some(reason),
            },
            Ok(_) => {}
            Err(error) => self.damage = Some(error.to_string()),
        }
    }

    pub fn is_damaged(&self) -> bool {
        self.damage.is_some() || self.cubin.as_ref().is_some_and(Cubin::is_damaged)
    }

    pub fn json(&self) -> Json {
        let version = format!("{}.{}", self.version.0, self.version.1);
        Json::Object(vec![
            ("kind", (&self.kind).into()),
            ("arch", (&self.arch).into()),
            ("version", version.as_str().into()),
            ("name", (&self.name).into()),
            ("options", (&self.options).into()),
            ("compression", self.compression.into()),
            ("packed", self.packed.into()),
            ("unpacked", self.unpacked.into()),
            ("debug", self.debug.into()),
            ("scrambled", self.scrambled.into()),
            ("cubin", self.cubin.as_ref().map(|cubin| Json::Object(cubin.fields())).into()),
            ("damage", self.damage.as_ref().into()),
        ])
    }
}

impl Ptx {
    /// The directives at the head of a PTX text; `None` if it is none.
    pub fn read(data: &[u8]) -> Option<Self> {
        // The directives come first; a comment of any sensible length may precede them.
        const HEAD: usize = 64 << 10;
        let head = &data[..data.len().min(HEAD)];
        let head = String::from_utf8_lossy(head);
        let value = |directive: &str| {
            let line = head.lines().find_map(|line| line.trim_start().strip_prefix(directive))?;
            Some(line.split("//").next().unwrap_or_default().trim().to_owned())
        };
        Some(Self { version: value(".version ")?, target: value(".target ")? })
    }

    pub fn fields(&self) -> Vec<(&'static str, Json)> {
        vec![("version", (&self.version).into()), ("target", (&self.target).into())]
    }
}
