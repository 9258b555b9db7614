//! `solder size --page`: the functions of files as a map in a browser, with the code of a link's report.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use solder_arch::Arch;
use solder_fatbin::{Kind, Member};

use super::super::cubin::Cubin;
use super::super::walk::{Visitor, Walk};
use super::options::Asked;
use crate::commands::words::{eprint, open, title};
use crate::explain::page_of;
use crate::json::Json;
use crate::load::Arena;
use crate::output::write_file;

/// Functions that a page shows; the others of an architecture are one box.
const MOST: usize = 20_000;

/// The functions of one name for one architecture of a file.
#[derive(Clone, Copy, Default)]
struct Sum {
    copies: u64,
    bytes: u64,
}

#[derive(Default)]
struct Functions {
    /// A file and an architecture, in the order in which they are met.
    inputs: Vec<String>,
    numbers: HashMap<String, usize>,
    sums: HashMap<(usize, String), Sum>,
    file: String,
    is_whole: bool,
}

pub(super) fn write(target: &Path, asked: &Asked) -> Result<(), String> {
    let mut functions = Functions { is_whole: true, ..Functions::default() };
    let (mut size, mut problems) = (0, 0);
    for word in &asked.files {
        let (path, arena) = (Path::new(word), Arena::default());
        let file = match open(path, &arena) {
            Ok(file) => file,
            Err(error) => {
                eprint(&format!("solder size: '{}': {error}\n", path.display()));
                problems += 1;
                continue;
            }
        };
        size += file.data.len() as u64;
        functions.file = title(Path::new(path.file_name().unwrap_or_default())).into_owned();
        functions.is_whole = true;
        let is_whole = Walk::through(&title(path), &file, path, &asked.archs, &mut functions);
        if !is_whole || !functions.is_whole {
            eprint(&format!("solder size: '{}': a part is damaged\n", path.display()));
            problems += 1;
        }
    }
    let page = page_of(&functions.data(asked, size));
    write_file(target, &mut |file| file.write_all(page.as_bytes())).map_err(|error| error.reason(target))?;
    match problems {
        0 => Ok(()),
        count => Err(format!("{count} of {} files not read whole", asked.files.len())),
    }
}

impl Functions {
    fn add(&mut self, arch: &str, bytes: &[u8]) {
        let Ok(cubin) = Cubin::read(bytes) else {
            self.is_whole = false;
            return;
        };
        let label = format!("{}: {arch}", self.file);
        let next = self.inputs.len();
        let input = *self.numbers.entry(label.clone()).or_insert(next);
        if input == next {
            self.inputs.push(label);
        }
        for (function, code) in cubin.own_code().into_iter().filter(|(_, code)| *code > 0) {
            let sum = self.sums.entry((input, function.demangled.clone())).or_default();
            sum.copies += 1;
            sum.bytes = sum.bytes.saturating_add(code);
        }
    }

    /// What the page reads: that of a link, as far as there is something to say.
    fn data(self, asked: &Asked, size: u64) -> Json {
        let mut rows: Vec<((usize, String), Sum)> = self.sums.into_iter().collect();
        rows.sort_by(|(a, x), (b, y)| y.bytes.cmp(&x.bytes).then_with(|| a.cmp(b)));
        let mut rest = vec![Sum::default(); self.inputs.len()];
        for ((input, _), sum) in rows.split_off(rows.len().min(MOST)) {
            rest[input].copies += sum.copies;
            rest[input].bytes += sum.bytes;
        }
        let others = rest.into_iter().enumerate().filter(|(_, sum)| sum.copies > 0);
        rows.extend(others.map(|(input, sum)| ((input, "(smaller functions)".to_string()), sum)));
        let function = |((input, name), sum): ((usize, String), Sum)| {
            Json::Object(vec![
                ("name", Json::Text(name)),
                ("size", sum.bytes.into()),
                ("copies", sum.copies.into()),
                ("input", (input as u64).into()),
                ("calls", Json::List(Vec::new())),
                ("indirect", Json::List(Vec::new())),
            ])
        };
        let names = asked.files.iter().map(|file| file.to_string_lossy().into_owned());
        let mut archs: Vec<&str> = self.inputs.iter().filter_map(|input| input.rsplit(": ").next()).collect();
        archs.sort_unstable_by_key(|arch| (arch_of(arch), *arch));
        archs.dedup();
        Json::Object(vec![
            ("sizes", true.into()),
            ("output", Json::Text(names.collect::<Vec<_>>().join(", "))),
            ("target", Json::Text(archs.join(", "))),
            ("files", (asked.files.len() as u64).into()),
            ("size", size.into()),
            ("inputs", self.inputs.iter().collect()),
            ("functions", rows.into_iter().map(function).collect()),
            ("removed", Json::Object(vec![("count", 0_u64.into())])),
            ("shared", Json::List(Vec::new())),
            ("variables", Json::List(Vec::new())),
            ("constants", Json::List(Vec::new())),
            ("phases", Json::List(Vec::new())),
        ])
    }
}

/// The architecture of a name, as in sm_90.
fn arch_of(name: &str) -> Option<Arch> {
    Arch::parse(name.split_once('_')?.1)
}

impl Visitor for Functions {
    fn looks_inside(&self) -> bool {
        false
    }

    fn cubin_file(&mut self, arch: &str, bytes: &[u8]) {
        self.add(arch, bytes);
    }

    fn content(&mut self, member: &Member<'_>) {
        if member.kind() != Kind::Elf || member.is_scrambled() {
            return;
        }
        match member.content() {
            Ok(content) => self.add(&format!("sm_{}", member.arch()), &content),
            Err(_) => self.is_whole = false,
        }
    }
}
