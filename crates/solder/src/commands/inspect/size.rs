//! `solder size`: where the bytes of device code are, by architecture, file, section, kernel or family of kernels.

mod names;
mod options;
mod page;
mod table;

use std::ffi::OsString;
use std::path::Path;

use solder_cubin::Cubin as File;
use solder_fatbin::{Kind, Member};

use super::super::words::{eprint, open, print, title};
use super::cubin::Cubin;
use super::walk::{Item, Visitor, Walk};
use crate::load::Arena;
use options::{Asked, Key, USAGE};
use table::Table;

pub fn run(words: &[OsString]) -> Result<(), String> {
    let Some(asked) = Asked::parse(words)? else {
        print(USAGE);
        return Ok(());
    };
    if let Some(target) = &asked.page {
        return page::write(target, &asked);
    }
    let mut problems = 0;
    let mut sum = |files: &[OsString]| {
        let mut table = Table::default();
        for file in files {
            problems += usize::from(!measure(Path::new(file), &asked, &mut table));
        }
        table
    };
    if asked.diff {
        let (old, new) = (sum(&asked.files[..1]), sum(&asked.files[1..]));
        // Half of a comparison says nothing.
        if problems == 0 {
            old.show_change(&new, &asked);
        }
    } else {
        sum(&asked.files).show(&asked);
    }
    if problems == 0 {
        Ok(())
    } else {
        Err(format!("{problems} of {} files not read whole", asked.files.len()))
    }
}

/// Adds the bytes of a file; whether all of it could be read.
fn measure(path: &Path, asked: &Asked, table: &mut Table) -> bool {
    let arena = Arena::default();
    let file = match open(path, &arena) {
        Ok(file) => file,
        Err(error) => {
            eprint(&format!("solder size: '{}': {error}\n", path.display()));
            return false;
        }
    };
    let mut measure = Measure { by: asked.by, table, place: Vec::new(), is_whole: true };
    let is_whole = Walk::through(&title(path), &file, path, &asked.archs, &mut measure);
    let is_whole = measure.is_whole && is_whole;
    if !is_whole {
        eprint(&format!("solder size: '{}': a part is damaged\n", path.display()));
    }
    is_whole
}

struct Measure<'a> {
    by: Key,
    table: &'a mut Table,
    /// The file and the members of archives that lead to what is measured.
    place: Vec<String>,
    is_whole: bool,
}

impl Measure<'_> {
    /// Stored bytes of something for an architecture.
    fn stored(&mut self, kind: &str, arch: &str, bytes: u64) {
        match self.by {
            Key::Arch => self.table.add(&format!("{arch} {kind}"), bytes),
            Key::Kind => self.table.add(kind, bytes),
            Key::File => self.table.add(&self.place.join(": "), bytes),
            Key::Section | Key::Kernel | Key::Family => {}
        }
    }

    /// Bytes of machine code, unpacked.
    fn inside(&mut self, bytes: &[u8]) {
        let is_read = match self.by {
            Key::Section => self.sections(bytes),
            Key::Kernel | Key::Family => self.functions(bytes),
            _ => true,
        };
        self.is_whole &= is_read;
    }

    fn sections(&mut self, bytes: &[u8]) -> bool {
        let Ok(file) = File::parse(bytes) else { return false };
        let mut rest = bytes.len() as u64;
        for section in file.sections.iter().filter(|section| !section.data.is_empty()) {
            let size = section.data.len() as u64;
            rest = rest.saturating_sub(size);
            self.table.add(&names::section(&section.name.to_string()), size);
        }
        self.table.add("headers and padding", rest);
        true
    }

    fn functions(&mut self, bytes: &[u8]) -> bool {
        let Ok(cubin) = Cubin::read(bytes) else { return false };
        for (function, code) in cubin.own_code().into_iter().filter(|(_, code)| *code > 0) {
            let family;
            let name = if self.by == Key::Family {
                family = names::family(&function.demangled);
                &family
            } else {
                &function.demangled
            };
            self.table.add(name, code);
        }
        true
    }
}

impl Visitor for Measure<'_> {
    fn looks_inside(&self) -> bool {
        false
    }

    fn begin(&mut self, item: &Item<'_>) {
        self.place.push(item.name.to_string());
    }

    fn end(&mut self) {
        self.place.pop();
    }

    fn cubin_file(&mut self, arch: &str, bytes: &[u8]) {
        self.stored("ELF", arch, bytes.len() as u64);
        self.inside(bytes);
    }

    fn content(&mut self, member: &Member<'_>) {
        let (kind, prefix) = match member.kind() {
            Kind::Elf => ("ELF", "sm_"),
            Kind::Ptx => ("PTX", "compute_"),
            Kind::LtoIr => ("LTO IR", "lto_"),
            Kind::Other(_) => ("other", "sm_"),
        };
        let arch = format!("{prefix}{}", member.arch());
        self.stored(kind, &arch, member.stored_size());
        if member.kind() == Kind::Elf && self.by.is_inside() {
            match member.content() {
                Ok(content) => self.inside(&content),
                Err(_) => self.is_whole = false,
            }
        }
    }
}
