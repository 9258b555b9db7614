//! The same for programs: JSON that is written while the files are read.

use super::cubin::Cubin;
use super::fatbin::{MemberView, Ptx};
use super::host::Host;
use super::walk::{Item, Visitor};
use crate::commands::words::print;
use crate::json::Json;

/// Lists and objects that are open, in the form that a whole value has, too.
pub(super) struct Stream {
    text: String,
    /// For each that is open, whether it holds nothing yet.
    open: Vec<bool>,
    looks_inside: bool,
    /// The summary of the file that comes next.
    pub(super) summary: Option<Json>,
}

impl Stream {
    pub(super) fn new(looks_inside: bool) -> Self {
        let mut stream = Self { text: String::new(), open: Vec::new(), looks_inside, summary: None };
        stream.text.push('[');
        stream.open.push(true);
        stream
    }

    pub(super) fn finish(mut self) {
        self.close(']');
        self.text.push('\n');
        print(&self.text);
    }

    /// The place of the next value, with its name in an object.
    fn next(&mut self, name: &str) {
        if let Some(is_first) = self.open.last_mut() {
            self.text.push_str(if std::mem::take(is_first) { "\n" } else { ",\n" });
        }
        self.text.extend(std::iter::repeat_n("  ", self.open.len()));
        if !name.is_empty() {
            self.text.extend(["\"", name, "\": "]);
        }
    }

    fn value(&mut self, name: &str, value: &Json) {
        self.next(name);
        let inner = format!("\n{}", "  ".repeat(self.open.len()));
        self.text.push_str(&value.to_string().replace('\n', &inner));
        if self.text.len() >= 64 << 10 {
            print(&self.text);
            self.text.clear();
        }
    }

    fn begin(&mut self, name: &str, bracket: char) {
        self.next(name);
        self.text.push(bracket);
        self.open.push(true);
    }

    fn close(&mut self, bracket: char) {
        if self.open.pop() == Some(false) {
            self.text.push('\n');
            self.text.extend(std::iter::repeat_n("  ", self.open.len()));
        }
        self.text.push(bracket);
    }

    fn fields(&mut self, fields: Vec<(&'static str, Json)>) {
        for (name, value) in fields {
            self.value(name, &value);
        }
    }
}

impl Visitor for Stream {
    fn looks_inside(&self) -> bool {
        self.looks_inside
    }

    fn begin(&mut self, item: &Item<'_>) {
        Stream::begin(self, "", '{');
        self.fields(vec![("name", item.name.into()), ("size", item.size.into()), ("type", item.kind.into())]);
        if let Some(summary) = self.summary.take() {
            self.value("summary", &summary);
        }
    }

    fn end(&mut self) {
        self.close('}');
    }

    fn cubin(&mut self, cubin: &Cubin, _size: u64) {
        self.fields(cubin.fields());
    }

    fn host(&mut self, host: &Host) {
        self.fields(host.fields());
    }

    fn ptx(&mut self, ptx: &Ptx, _size: u64) {
        self.fields(ptx.fields());
    }

    fn begin_fatbins(&mut self) {
        Stream::begin(self, "fatbins", '[');
    }

    fn begin_fatbin(&mut self, form: Option<&'static str>, size: u64) {
        Stream::begin(self, "", '{');
        if let Some(form) = form {
            self.value("form", &form.into());
            Stream::begin(self, "fatbin", '{');
        }
        self.value("size", &size.into());
        Stream::begin(self, "members", '[');
    }

    fn member(&mut self, member: &MemberView) {
        self.value("", &member.json());
    }

    fn end_fatbin(&mut self, form: Option<&'static str>, damage: Option<&str>) {
        self.close(']');
        self.value("damage", &damage.into());
        self.close('}');
        if form.is_some() {
            self.close('}');
        }
    }

    fn end_fatbins(&mut self) {
        self.close(']');
    }

    fn begin_archive(&mut self) {
        Stream::begin(self, "members", '[');
    }

    fn end_archive(&mut self, damage: Option<&str>) {
        self.close(']');
        self.value("damage", &damage.into());
    }

    fn damage(&mut self, reason: &str) {
        self.value("damage", &reason.into());
    }
}
