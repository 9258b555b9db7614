//! What stays of a fat binary, and how.

use std::borrow::Cow;

use solder_cubin::strip;
use solder_fatbin::{Kind, Member, Packing};

use crate::commands::inspect::Wanted;

#[derive(Debug, Default)]
pub(super) struct Policy {
    /// Only these architectures; all if there is none.
    pub(super) keep: Vec<Wanted>,
    pub(super) drop_ptx: bool,
    /// Equal containers of a section are stored once.
    pub(super) dedup: bool,
    pub(super) packing: Option<Packing>,
    /// Machine code without debug and line information.
    pub(super) strip_debug: bool,
}

impl Policy {
    /// Whether it would leave everything as it is.
    pub(super) fn is_idle(&self) -> bool {
        self.keep.is_empty() && !self.drop_ptx && !self.dedup && self.packing.is_none() && !self.strip_debug
    }

    /// Whether a member stays. A kind that nobody knows is refused: it may belong to another member.
    pub(super) fn keeps(&self, member: &Member<'_>) -> Result<bool, String> {
        let prefix = match member.kind() {
            Kind::Elf => "sm",
            Kind::Ptx if self.drop_ptx => return Ok(false),
            Kind::Ptx => "compute",
            Kind::LtoIr => "lto",
            Kind::Other(raw) => return Err(format!("a fat binary member is of the unknown kind {raw}")),
        };
        let name = format!("{prefix}_{}", member.arch());
        Ok(self.keep.is_empty() || self.keep.iter().any(|wanted| wanted.is(&name)))
    }

    /// The bytes of a member that stays, and whether something was stripped from it. What only NVIDIA's libraries can unpack
    /// is left as it is, and so is what compression would make larger, such as LTO IR and small code.
    pub(super) fn bytes<'data>(&self, member: &Member<'data>) -> Result<(Cow<'data, [u8]>, bool), String> {
        if member.is_scrambled() {
            return Ok((Cow::Borrowed(member.bytes()), false));
        }
        let name = || format!("the member for sm_{}", member.arch());
        if self.strip_debug && member.kind() == Kind::Elf {
            let content = member.content().map_err(|error| format!("{}: {error}", name()))?;
            if let Some(stripped) = stripped(&content).map_err(|reason| format!("{}: {reason}", name()))? {
                let pack =
                    |packing| member.without_debug(&stripped, packing).map_err(|error| error.to_string());
                let (bytes, plain) = (pack(self.packing)?, pack(Some(Packing::None))?);
                return Ok((Cow::Owned(if plain.len() < bytes.len() { plain } else { bytes }), true));
            }
        }
        let bytes = match self.packing {
            Some(packing) => {
                let bytes = member.repacked(packing).map_err(|error| error.to_string())?;
                let is_for_nothing = packing != Packing::None && bytes.len() >= member.bytes().len();
                if is_for_nothing { Cow::Borrowed(member.bytes()) } else { Cow::Owned(bytes) }
            }
            None => Cow::Borrowed(member.bytes()),
        };
        Ok((bytes, false))
    }
}

/// Machine code without debug and line information, if it has any.
pub(super) fn stripped(code: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let stripped = strip::without_debug(code).map_err(|error| error.to_string())?;
    if let Some(stripped) = &stripped {
        let is_same = strip::is_same_code(code, stripped).map_err(|error| error.to_string())?;
        if !is_same {
            return Err("its code is not the same without debug information".into());
        }
    }
    Ok(stripped)
}
