//! Which fat binaries of a file are shown. As with cuobjdump, those of linked code, and those that are still to be linked only in
//! a file that has no others, unless all are asked for.

use std::path::Path;

use super::options::Options;
use super::walk::{Item, Visitor, Walk};
use crate::load::Looked;

/// Which items, in their order, have linked code.
#[derive(Default)]
struct Linked {
    items: Vec<bool>,
    /// The numbers of the items that have begun.
    open: Vec<usize>,
}

impl Visitor for Linked {
    fn looks_inside(&self) -> bool {
        false
    }

    fn begin(&mut self, _: &Item<'_>) {
        self.open.push(self.items.len());
        self.items.push(false);
    }

    fn begin_fatbin(&mut self, form: Option<&'static str>, _: u64) {
        if let Some(item) = self.open.last() {
            self.items[*item] |= form == Some("linked");
        }
    }

    fn end(&mut self) {
        self.open.pop();
    }
}

/// Says of each fat binary whether it is shown. It is told of what a visitor is shown.
pub(super) struct Forms {
    is_linked: std::vec::IntoIter<bool>,
    /// For each item that has begun: whether only its linked code is wanted.
    only_linked: Vec<bool>,
    all: bool,
    pub(super) takes: bool,
}

impl Forms {
    /// Looks at a file; also says whether all of it could be read.
    pub(super) fn of(name: &str, file: &Looked<'_>, path: &Path, all: bool) -> (Self, bool) {
        let mut linked = Linked::default();
        let is_whole = Walk::through(name, file, path, &Options::default(), &mut linked);
        let is_linked = linked.items.into_iter();
        (Self { is_linked, only_linked: Vec::new(), all, takes: true }, is_whole)
    }

    pub(super) fn begin(&mut self) {
        self.only_linked.push(self.is_linked.next().unwrap_or(false));
    }

    pub(super) fn end(&mut self) {
        self.only_linked.pop();
    }

    pub(super) fn begin_fatbin(&mut self, form: Option<&'static str>) {
        let only_linked = self.only_linked.last().copied().unwrap_or(false) && !self.all;
        self.takes = !only_linked || form == Some("linked");
    }
}
