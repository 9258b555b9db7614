//! Modules that an earlier link has linked.
//!
//! The output of a link, compiled for the host (`nvcc -dlink`), names the modules that were linked. Where such an object is among
//! the inputs of a later link that names modules for a host program, these are left out: their code and its registration are in
//! the program already (hostobj/linked-before).

use super::host::{HostObject, LINKED};
use super::item::{Item, Settings};
use crate::diagnostics::{Message, Text};
use crate::inputs::Origin;
use hashbrown::HashSet;

/// What is left out.
#[derive(Debug)]
pub(super) struct LinkedBefore<'data> {
    file_id: Option<fn(&Text) -> Vec<u8>>,
    ids: HashSet<&'data [u8]>,
    /// Whether the host object that was looked at last is: its further fat binaries are, too.
    last: bool,
}

impl<'data> LinkedBefore<'data> {
    /// The modules that objects anywhere among the items name.
    pub(super) fn new(settings: &Settings, items: &[Item<'data>]) -> Self {
        let hosts = items.iter().filter_map(|item| item.host.as_ref());
        let ids = hosts.flat_map(|host| &host.linked).filter_map(|text| text.strip_prefix(LINKED)).collect();
        Self { file_id: settings.file_id, ids, last: false }
    }

    /// Whether an item is left out. The items are asked about in order.
    pub(super) fn has(&mut self, item: &Item<'_>) -> Result<bool, Message> {
        let Some(file_id) = self.file_id else { return Ok(false) };
        if let Some(host) = &item.host {
            if host.linked.iter().any(|text| !text.starts_with(LINKED)) {
                return Err(Message::UnexpectedModuleIds);
            }
            self.last = host.code.is_some() && self.has_module(host, || file_id(&item.name));
        } else if item.origin == Origin::File {
            self.last = !self.ids.is_empty() && self.ids.contains(&*file_id(&item.name));
        }
        Ok(self.last)
    }

    fn has_module(&self, host: &HostObject<'_>, file_id: impl Fn() -> Vec<u8>) -> bool {
        let is_nameless = host.module_ids.is_empty() && !self.ids.is_empty();
        !host.linked.is_empty()
            || host.module_ids.iter().any(|id| self.ids.contains(id))
            || is_nameless && self.ids.contains(&*file_id())
    }
}
