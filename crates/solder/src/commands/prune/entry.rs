//! An entry of a fat binary, a member or a group of them, and what stays of it.

use std::borrow::Cow;

use solder_fatbin::{Error, Flags, Group, Kind, Member, Packing, Stream};

use super::policy::{Policy, stripped};

pub(super) struct Entry<'data> {
    /// The member or the group.
    whole: Member<'data>,
    group: Option<Group<'data>>,
    pub(super) members: usize,
    /// The numbers of those that stay.
    stays: Vec<usize>,
}

fn text(error: Error) -> String {
    error.to_string()
}

impl<'data> Entry<'data> {
    pub(super) fn of(entry: Member<'data>, policy: &Policy) -> Result<Self, String> {
        let group = entry.group().transpose().map_err(text)?;
        let members = match group {
            Some(group) => group.members().collect::<Result<Vec<_>, _>>().map_err(text)?,
            None => vec![entry],
        };
        let mut stays = Vec::new();
        for (number, member) in members.iter().enumerate() {
            if policy.keeps(member)? {
                stays.push(number);
            }
        }
        Ok(Self { whole: entry, group, members: members.len(), stays })
    }

    pub(super) fn kept(&self) -> usize {
        self.stays.len()
    }

    pub(super) fn old_bytes(&self) -> &'data [u8] {
        self.whole.bytes()
    }

    /// What stays of it, and how many members something was stripped from.
    pub(super) fn bytes(&self, policy: &Policy) -> Result<(Cow<'data, [u8]>, usize), String> {
        match &self.group {
            None => policy.bytes(&self.whole).map(|(bytes, is_stripped)| (bytes, usize::from(is_stripped))),
            Some(group) => self.of_group(group, policy),
        }
    }

    /// A group stays one, unless only one of its members stays or nothing is to be compressed.
    fn of_group(&self, group: &Group<'data>, policy: &Policy) -> Result<(Cow<'data, [u8]>, usize), String> {
        let is_whole = self.kept() == self.members;
        if is_whole && policy.packing.is_none() && !policy.strip_debug {
            return Ok((Cow::Borrowed(self.old_bytes()), 0));
        }
        let stream = Stream::default();
        let mut parts = Vec::new();
        let mut count = 0;
        for (number, member) in group.members_in(&stream).enumerate() {
            let member = member.map_err(text)?;
            if self.stays.binary_search(&number).is_ok() {
                let (flags, content) = without_debug(&member, policy)?;
                count += usize::from(matches!(content, Cow::Owned(_)));
                parts.push((member, flags, content));
            }
        }
        let parts: Vec<_> =
            parts.iter().map(|(member, flags, content)| (*member, *flags, &content[..])).collect();
        let packing = match policy.packing {
            Some(packing) => packing,
            None => self.whole.compression().map_err(text)?.packing(),
        };
        let bytes = if parts.len() == 1 || packing == Packing::None {
            let each =
                parts.iter().map(|(member, flags, content)| member.with_content(content, packing, *flags));
            each.collect::<Result<Vec<_>, _>>().map_err(text)?.concat()
        } else {
            group.rebuilt(&parts, packing).map_err(text)?
        };
        let is_for_nothing = is_whole && count == 0 && packing != Packing::None;
        let is_worse = is_for_nothing && bytes.len() >= self.old_bytes().len();
        Ok((if is_worse { Cow::Borrowed(self.old_bytes()) } else { Cow::Owned(bytes) }, count))
    }
}

/// The flags and the content of a member of a group.
fn without_debug<'kept>(
    member: &Member<'kept>,
    policy: &Policy,
) -> Result<(Flags, Cow<'kept, [u8]>), String> {
    let content = member.unpacked().map_err(text)?;
    if policy.strip_debug && member.kind() == Kind::Elf {
        let new =
            stripped(&content).map_err(|reason| format!("the member for sm_{}: {reason}", member.arch()))?;
        if let Some(new) = new {
            return Ok((Flags(member.flags().0 & !Flags::DEBUG.0), Cow::Owned(new)));
        }
    }
    Ok((member.flags(), content))
}
