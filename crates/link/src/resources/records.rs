//! Attribute records while they change.

use crate::model::ids::SectionId;
use crate::model::merged::{InfoRecord, Merged};
use hashbrown::HashMap;

/// Stack size of a kernel that reaches recursion.
pub const UNKNOWN_STACK: u32 = 0xffff_ffff;

/// The final records of the attribute sections in which they are not those of the merge.
pub type Changed<'data> = HashMap<SectionId, Vec<InfoRecord<'data>>, foldhash::fast::FixedState>;

/// Attribute records on their way from the merge to the output.
pub struct Records<'a, 'data> {
    pub merged: &'a Merged<'data>,
    pub changed: Changed<'data>,
}

impl<'data> Records<'_, 'data> {
    pub fn of(&self, id: SectionId) -> &[InfoRecord<'data>] {
        self.changed.get(&id).map_or_else(|| self.merged.info_records(id), Vec::as_slice)
    }
    pub fn of_mut(&mut self, id: SectionId) -> &mut Vec<InfoRecord<'data>> {
        self.changed.entry(id).or_insert_with(|| self.merged.info_records(id).to_vec())
    }
    pub fn set(&mut self, id: SectionId, records: Vec<InfoRecord<'data>>) {
        self.changed.insert(id, records);
    }
}

/// What the attributes of one function say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Own {
    /// Registers.
    pub registers: u32,
    /// Bytes of its frame.
    pub frame: u32,
    /// Bytes that its branches need on the stack.
    pub call_stack: u32,
    /// Several of them say how much stack its branches need.
    pub has_two_call_stacks: bool,
    /// The most registers that it may have.
    pub max_registers: Option<u32>,
    /// The barriers that the header of its code names.
    pub barriers: u8,
    /// Kernels that reach the function inherit them.
    pub is_inherited: bool,
    /// They list functions that were outside of the file, and
    pub lists_externs: bool,
    /// some of them are outside of the link too.
    pub lists_external: bool,
    /// How it uses sparse matrix instructions.
    pub sparse_mask: Option<u16>,
    /// The languages that it was written in.
    pub languages: Languages,
}

/// As much of a list of languages as it takes to see whether all functions have the same one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Languages {
    #[default]
    Unknown,
    One(u32),
    Several,
}

impl Languages {
    pub fn of(list: &[u8]) -> Self {
        <[u8; 4]>::try_from(list).map_or(Self::Several, |one| Self::One(u32::from_le_bytes(one)))
    }
}
