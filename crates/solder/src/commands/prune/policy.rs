//! What stays of a fat binary, and how.

use std::borrow::Cow;

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
}

impl Policy {
    /// Whether it would leave everything as it is.
    pub(super) fn is_idle(&self) -> bool {
        self.keep.is_empty() && !self.drop_ptx && !self.dedup && self.packing.is_none()
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

    /// The bytes of a member that stays. What only NVIDIA's libraries can unpack is left as it is.
    pub(super) fn bytes<'data>(&self, member: &Member<'data>) -> Result<Cow<'data, [u8]>, String> {
        match self.packing {
            Some(packing) if !member.is_scrambled() => {
                member.repacked(packing).map(Cow::Owned).map_err(|error| error.to_string())
            }
            _ => Ok(Cow::Borrowed(member.bytes())),
        }
    }
}
