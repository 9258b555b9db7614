//! A table of kernels, of all members of all files.

use super::cubin::{Cubin, Function};
use super::fatbin::MemberView;
use super::options::{Key, Options};
use super::text::stack;
use super::walk::{Item, Visitor};
use crate::commands::screen::{Screen, counted, grouped};
use crate::json::Json;

/// A kernel, and where it is.
struct Row {
    kernel: Function,
    file: String,
    arch: String,
    form: &'static str,
    reserved: u64,
}

pub(super) struct Kernels<'a> {
    options: &'a Options,
    /// The file and the members of archives that lead to what is looked at.
    place: Vec<String>,
    /// Whether the container of a host file is linked or still to be.
    container: Option<&'static str>,
    rows: Vec<Row>,
}

impl<'a> Kernels<'a> {
    pub(super) fn new(options: &'a Options) -> Self {
        Self { options, place: Vec::new(), container: None, rows: Vec::new() }
    }

    fn add(&mut self, cubin: &Cubin, arch: &str) {
        let file = self.place.join(": ");
        for kernel in cubin.kernels().filter(|kernel| self.options.wants_kernel(kernel)) {
            self.rows.push(Row {
                kernel: kernel.clone(),
                file: file.clone(),
                arch: arch.to_owned(),
                form: self.container.unwrap_or(cubin.form),
                reserved: if kernel.shared > 0 { cubin.reserved_shared } else { 0 },
            });
        }
    }

    fn sort(&mut self) {
        match self.options.sort {
            None => {}
            Some(Key::Name) => self.rows.sort_by(|a, b| a.kernel.demangled.cmp(&b.kernel.demangled)),
            Some(key) => self.rows.sort_by_key(|row| std::cmp::Reverse(key.value(&row.kernel))),
        }
    }

    pub(super) fn show(mut self, screen: &mut Screen) {
        self.sort();
        let several = self.rows.iter().any(|row| row.file != self.rows[0].file);
        let line = |row: &Row| {
            let Function { registers, shared, barriers, code, demangled, .. } = &row.kernel;
            let registers = registers.map_or("-".into(), |count| count.to_string());
            let name = if several { format!("{demangled}  {}", row.file) } else { demangled.clone() };
            let numbers =
                [registers, stack(&row.kernel), grouped(*shared), barriers.to_string(), grouped(*code)];
            [vec![row.arch.clone()], numbers.to_vec(), vec![name]].concat()
        };
        let rows: Vec<Vec<String>> = self.rows.iter().map(line).collect();
        if !rows.is_empty() {
            let headings = ["for", "registers", "stack", "shared", "barriers", "code", "name"];
            screen.table(&headings, &rows, 2);
        }
        screen.line(&counted(rows.len() as u64, "kernel"));
        if let Some(row) = self.rows.iter().find(|row| row.reserved > 0) {
            let reserved = row.reserved;
            screen.line(&format!(
                "from sm_90 on, shared memory includes {reserved} bytes that the system reserves in each kernel"
            ));
        }
    }

    pub(super) fn json(mut self) -> Json {
        self.sort();
        let row = |row: Row| {
            let place =
                vec![("file", (&row.file).into()), ("arch", (&row.arch).into()), ("form", row.form.into())];
            let reserved = vec![("reserved_shared", row.reserved.into())];
            Json::Object([place, row.kernel.fields(), reserved].concat())
        };
        self.rows.into_iter().map(row).collect()
    }
}

impl Visitor for Kernels<'_> {
    fn looks_inside(&self) -> bool {
        true
    }

    fn begin(&mut self, item: &Item<'_>) {
        self.place.push(item.name.to_owned());
    }

    fn end(&mut self) {
        self.place.pop();
    }

    fn cubin(&mut self, cubin: &Cubin, _size: u64) {
        self.add(cubin, &cubin.arch);
    }

    fn begin_fatbin(&mut self, form: Option<&'static str>, _size: u64) {
        self.container = form;
    }

    fn end_fatbin(&mut self, _form: Option<&'static str>, _damage: Option<&str>) {
        self.container = None;
    }

    fn member(&mut self, member: &MemberView) {
        if let Some(cubin) = &member.cubin {
            self.add(cubin, &member.arch);
        }
    }
}
