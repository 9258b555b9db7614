//! The summary: what a file holds by architecture and kind of code. Only headers are read for it.

use std::collections::BTreeMap;

use super::cubin::Cubin;
use super::fatbin::{MemberView, Ptx};
use super::host::Host;
use super::walk::{Item, Visitor};
use crate::commands::screen::{Screen, counted, grouped, short};
use crate::json::Json;

/// What there is of one kind for one architecture.
#[derive(Clone, Copy, Default)]
struct Sum {
    count: u64,
    packed: u64,
    unpacked: u64,
}

#[derive(Default)]
pub(super) struct Summary {
    /// The first item: the file itself.
    head: Option<(String, &'static str, u64)>,
    machine: Option<&'static str>,
    depth: usize,
    /// Files of an archive, those in it included.
    items: u64,
    by_arch: BTreeMap<(u16, String, String), Sum>,
    /// Whether there is more than a single piece of code.
    is_container: bool,
    pub(super) members: u64,
}

impl Summary {
    fn add(&mut self, arch: &str, kind: &str, packed: u64, unpacked: u64) {
        let digits: String = arch.chars().filter(char::is_ascii_digit).collect();
        let key = (digits.parse().unwrap_or(0), arch.to_owned(), kind.to_owned());
        let sum = self.by_arch.entry(key).or_default();
        sum.count += 1;
        sum.packed = sum.packed.saturating_add(packed);
        sum.unpacked = sum.unpacked.saturating_add(unpacked);
        self.members += 1;
    }

    fn total(&self) -> Sum {
        self.by_arch.values().fold(Sum::default(), |total, sum| Sum {
            count: total.count + sum.count,
            packed: total.packed.saturating_add(sum.packed),
            unpacked: total.unpacked.saturating_add(sum.unpacked),
        })
    }

    /// The file in a line, and a table if it holds several things.
    pub(super) fn show(&self, screen: &mut Screen) {
        let Some((name, kind, size)) = &self.head else { return };
        let machine = self.machine.map_or(String::new(), |machine| format!(" for {machine}"));
        let files = if *kind == "archive" || *kind == "thin archive" {
            format!(" of {}", counted(self.items.saturating_sub(1), "file"))
        } else {
            String::new()
        };
        screen.line(&format!("{name}: {kind}{machine}{files}, {}", short(*size)));
        if !self.is_container || self.by_arch.is_empty() {
            return;
        }
        let row = |name: &str, kind: &str, sum: &Sum| {
            let count = grouped(sum.count);
            vec![name.into(), kind.into(), count, short(sum.packed), short(sum.unpacked)]
        };
        let mut rows: Vec<Vec<String>> =
            self.by_arch.iter().map(|((_, arch, kind), sum)| row(arch, kind, sum)).collect();
        if rows.len() > 1 {
            rows.push(row("all", "", &self.total()));
        }
        screen.blank();
        screen.inside(|screen| {
            let rows: Vec<Vec<String>> =
                rows.into_iter().map(|row| [row, vec![String::new()]].concat()).collect();
            screen.table(&["for", "kind", "count", "packed", "unpacked", ""], &rows, 3);
        });
    }

    /// The architectures that there are.
    pub(super) fn archs(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.by_arch.keys().map(|(_, arch, _)| arch.as_str()).collect();
        names.dedup();
        names
    }

    pub(super) fn json(&self) -> Json {
        let row = |((_, arch, kind), sum): (&(u16, String, String), &Sum)| {
            Json::Object(vec![
                ("arch", arch.into()),
                ("kind", kind.into()),
                ("count", sum.count.into()),
                ("packed", sum.packed.into()),
                ("unpacked", sum.unpacked.into()),
            ])
        };
        self.by_arch.iter().map(row).collect()
    }
}

impl Visitor for Summary {
    fn looks_inside(&self) -> bool {
        false
    }

    fn begin(&mut self, item: &Item<'_>) {
        self.items += 1;
        if self.head.is_none() {
            self.head = Some((item.name.to_owned(), item.kind, item.size));
        } else {
            self.is_container = true;
        }
        self.depth += 1;
    }

    fn end(&mut self) {
        self.depth -= 1;
    }

    fn host(&mut self, host: &Host) {
        if self.depth == 1 {
            self.machine = Some(host.machine);
        }
    }

    fn cubin(&mut self, cubin: &Cubin, size: u64) {
        self.add(&cubin.arch, "ELF", size, size);
    }

    fn ptx(&mut self, ptx: &Ptx, size: u64) {
        let target = ptx.target.split(',').next().unwrap_or_default().trim();
        self.add(&target.replace("sm_", "compute_"), "PTX", size, size);
    }

    fn ir(&mut self, size: u64) {
        self.add("lto", "LTO IR", size, size);
    }

    fn begin_fatbin(&mut self, _form: Option<&'static str>, _size: u64) {
        self.is_container = true;
    }

    fn member(&mut self, member: &MemberView) {
        self.add(&member.arch, &member.kind, member.packed, member.unpacked);
    }
}
