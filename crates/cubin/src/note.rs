//! The two notes: `.note.nv.tkinfo` (which tools made this, with which options) and
//! `.note.nv.cuinfo` (virtual architecture and toolkit number).

use bstr::{BStr, ByteSlice};

pub const OWNER: &[u8; 12] = b"NVIDIA Corp\0";
pub const TYPE_CUINFO: u32 = 1000;
pub const TYPE_TKINFO: u32 = 2000;

/// One note of a note section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note<'data> {
    pub owner: &'data [u8],
    pub kind: u32,
    pub desc: &'data [u8],
}

/// The notes of a section; stops at the first that is cut off.
pub fn notes(mut data: &[u8]) -> impl Iterator<Item = Note<'_>> {
    std::iter::from_fn(move || {
        let word = |at: usize| Some(u32::from_le_bytes(data.get(at..at + 4)?.try_into().ok()?));
        let (owner_len, desc_len, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
        let desc_at = 12usize.checked_add(owner_len.checked_next_multiple_of(4)?)?;
        let owner = data.get(12..12usize.checked_add(owner_len)?)?;
        let desc = data.get(desc_at..desc_at.checked_add(desc_len)?)?;
        let end = desc_at.checked_add(desc_len.checked_next_multiple_of(4)?)?;
        data = data.get(end..).unwrap_or(&[]);
        Some(Note { owner, kind, desc })
    })
}

pub fn write_note(out: &mut Vec<u8>, kind: u32, desc: &[u8]) {
    out.extend((OWNER.len() as u32).to_le_bytes());
    out.extend((desc.len() as u32).to_le_bytes());
    out.extend(kind.to_le_bytes());
    out.extend(OWNER);
    out.extend(desc);
}

/// What a tool says about itself in `.note.nv.tkinfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolInfo<'a> {
    pub object: &'a BStr,
    pub tool: &'a BStr,
    pub version: &'a BStr,
    pub build: &'a BStr,
    pub command_line: &'a BStr,
}

impl<'a> ToolInfo<'a> {
    /// The inverse of [`ToolInfo::descriptor`]; `None` for strings outside of the table.
    pub fn parse(desc: &'a [u8]) -> Option<Self> {
        let strings = desc.get(24..)?;
        let text = |index: usize| {
            let at = desc.get(4 + 4 * index..8 + 4 * index)?.try_into().ok()?;
            crate::string_at(strings, u32::from_le_bytes(at))
        };
        Some(Self {
            object: text(0)?,
            tool: text(1)?,
            version: text(2)?,
            build: text(3)?,
            command_line: text(4)?,
        })
    }

    /// The toolkit that the tool belongs to, such as "12.9".
    pub fn release(&self) -> Option<&'a BStr> {
        let (_, release) = self.version.split_once_str("release ")?;
        release.split(|byte| *byte == b',').next().map(BStr::new)
    }
}

impl ToolInfo<'_> {
    /// The descriptor: a version word, five string offsets, a string table, padded to words. The table begins with the
    /// empty string only where one of the strings is empty.
    pub fn descriptor(&self) -> Vec<u8> {
        let texts = [self.object, self.tool, self.version, self.build, self.command_line];
        let mut strings = if texts.iter().any(|text| text.is_empty()) { vec![0] } else { Vec::new() };
        let mut words = vec![2u32];
        for text in texts {
            if text.is_empty() {
                words.push(0);
                continue;
            }
            words.push(strings.len() as u32);
            strings.extend_from_slice(text);
            strings.push(0);
        }
        let mut desc: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        desc.extend(strings);
        desc.resize(desc.len().next_multiple_of(4), 0);
        desc
    }
}

/// The contents of `.note.nv.cuinfo`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CudaInfo {
    pub version: u16,
    pub virtual_sm: u16,
    pub toolkit: u32,
}

impl CudaInfo {
    pub fn parse(section: &[u8]) -> Option<Self> {
        let note = notes(section).find(|n| n.kind == TYPE_CUINFO)?;
        let desc = note.desc;
        Some(Self {
            version: u16::from_le_bytes(desc.get(0..2)?.try_into().ok()?),
            virtual_sm: u16::from_le_bytes(desc.get(2..4)?.try_into().ok()?),
            toolkit: u32::from_le_bytes(desc.get(4..8)?.try_into().ok()?),
        })
    }

    pub fn section(&self) -> Vec<u8> {
        let mut desc = Vec::with_capacity(8);
        desc.extend(self.version.to_le_bytes());
        desc.extend(self.virtual_sm.to_le_bytes());
        desc.extend(self.toolkit.to_le_bytes());
        let mut out = Vec::new();
        write_note(&mut out, TYPE_CUINFO, &desc);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_infos_are_read_back() {
        let [object, tool, version, build, command_line] =
            [&b""[..], b"t", b"v", b"", b"-\xff b "].map(BStr::new);
        let info = ToolInfo { object, tool, version, build, command_line };
        let desc = info.descriptor();
        assert_eq!(ToolInfo::parse(&desc), Some(info));
        for end in 0..24 {
            assert_eq!(ToolInfo::parse(&desc[..end]), None);
        }
    }
}
