//! What cuobjdump prints of a file, in its words: resource usage and symbols of all members; and machine code, by nvdisasm.

use std::fmt::Write;
use std::path::Path;

use solder_cubin::{Cubin as File, raw};
use solder_fatbin::{Compression, Flags, Kind, Member};

use super::cubin::Cubin;
use super::forms::Forms;
use super::options::{Options, What};
use super::sass::Disassembler;
use super::walk::{Item, Visitor, Walk};
use crate::commands::words::{eprint, print};
use crate::load::Looked;

pub(super) struct Dump<'a> {
    options: &'a Options,
    disassembler: Option<&'a Disassembler>,
    forms: Forms,
    /// The file and the members of archives that lead to what is shown.
    place: Vec<String>,
    /// The header of a group, until something of it is shown.
    group: Option<String>,
    problems: usize,
}

impl<'a> Dump<'a> {
    /// Prints what is asked for of a file; the number of problems, which have been reported.
    pub(super) fn of(
        name: &str,
        file: &Looked<'_>,
        path: &Path,
        options: &'a Options,
        disassembler: Option<&'a Disassembler>,
    ) -> usize {
        let (forms, _) = Forms::of(name, file, path, options.all);
        let mut dump = Self { options, disassembler, forms, place: Vec::new(), group: None, problems: 0 };
        let is_whole = Walk::through(name, file, path, options, &mut dump);
        dump.problems + usize::from(!is_whole)
    }

    fn problem(&mut self, reason: &str) {
        self.problems += 1;
        eprint(&format!("solder inspect: '{}': {reason}\n", self.place.join(": ")));
    }

    fn code(&mut self, bytes: &[u8]) {
        for what in &self.options.dumps {
            let text = match what {
                What::Resources => Cubin::read(bytes).map(|cubin| resources(&cubin, self.options)),
                What::Symbols => {
                    File::parse(bytes).map_err(|e| e.to_string()).map(|file| symbols(&file, self.options))
                }
                What::Sass => match self.disassembler {
                    Some(disassembler) => disassembler.text(bytes, self.options),
                    None => Err("there is no nvdisasm".into()),
                },
            };
            match text {
                Ok(text) => print(&text),
                Err(reason) => self.problem(&reason),
            }
        }
    }
}

impl Visitor for Dump<'_> {
    fn looks_inside(&self) -> bool {
        false
    }

    fn begin(&mut self, item: &Item<'_>) {
        self.forms.begin();
        if let [file] = &self.place[..] {
            print(&item.heading(file));
        }
        self.place.push(item.name.to_string());
    }

    fn end(&mut self) {
        self.forms.end();
        self.place.pop();
    }

    fn cubin_file(&mut self, _: &str, bytes: &[u8]) {
        self.code(bytes);
    }

    fn begin_fatbin(&mut self, form: Option<&'static str>, _: u64) {
        self.forms.begin_fatbin(form);
    }

    fn begin_group(&mut self, entry: &Member<'_>) {
        self.group = Some(header(entry));
    }

    fn content(&mut self, member: &Member<'_>) {
        if !self.forms.takes {
            return;
        }
        let group = self.group.take().filter(|_| member.is_grouped());
        print(&(group.unwrap_or_default() + &header(member)));
        if member.kind() != Kind::Elf || member.is_scrambled() {
            return;
        }
        match member.content() {
            Ok(content) => self.code(&content),
            Err(error) => self.problem(&error.to_string()),
        }
    }

    fn end_fatbin(&mut self, _: Option<&'static str>, damage: Option<&str>) {
        if let Some(reason) = damage {
            self.problem(reason);
        }
    }

    fn damage(&mut self, reason: &str) {
        self.problem(reason);
    }
}

/// The header of a member, or of a group. Those of a group's members are indented.
fn header(member: &Member<'_>) -> String {
    let is_group = member.group().is_some();
    let (title, options) = match member.kind() {
        Kind::Elf => ("Fatbin elf code:", None),
        Kind::Ptx => ("Fatbin ptx code:", Some("ptxasOptions")),
        Kind::LtoIr => ("Fatbin nvvm code:", Some("nvvmOptions")),
        Kind::Other(_) if is_group => ("Fatbin concatenated entry code:", None),
        Kind::Other(_) => ("Fatbin unknown code:", None),
    };
    let (flags, (major, minor)) = (member.flags(), member.version());
    let mut lines = vec![
        String::new(),
        title.into(),
        "=".repeat(title.len()),
        format!("arch = sm_{}", member.arch()),
        format!("code version = [{major},{minor}]"),
        format!("host = {}", if flags.contains(Flags::LINUX) { "linux" } else { "unknown" }),
        format!("compile_size = {}", if flags.contains(Flags::ADDRESS64) { "64bit" } else { "32bit" }),
    ];
    if flags.contains(Flags::DEBUG) {
        lines.push("has debug info".into());
    }
    if is_group {
        lines.retain(|line| !line.starts_with("arch = "));
    }
    if !member.is_grouped() && member.compression() != Ok(Compression::None) {
        lines.push("compressed".into());
    }
    let text = |found: Result<Option<&[u8]>, _>| {
        let text = found.ok().flatten()?.split(|&byte| byte == 0).next().unwrap_or_default();
        Some(String::from_utf8_lossy(text).into_owned())
    };
    // Options are named also if there are none in the place for them.
    let identifier = text(member.identifier()).filter(|text| !text.is_empty());
    let options_text = if is_group { None } else { text(member.options()) };
    let pairs = [(Some("identifier"), identifier), (options, options_text)];
    let known = pairs.into_iter().filter_map(|(name, text)| name.zip(text));
    lines.extend(known.map(|(name, text)| format!("{name} = {text}")));
    if member.is_grouped() {
        lines.iter_mut().filter(|line| !line.is_empty()).for_each(|line| line.insert(0, '\t'));
    }
    lines.join("\n") + "\n"
}

/// What a member and each of its functions need, in the order of the sections of code. Textures, surfaces and samplers are
/// 0, as with cuobjdump: from sm_75 on, code has handles of them only.
fn resources(cubin: &Cubin, options: &Options) -> String {
    let banks = |banks: &[(u32, u64)]| {
        let words: Vec<String> =
            banks.iter().map(|(bank, size)| format!(" CONSTANT[{bank}]:{size}")).collect();
        words.concat()
    };
    let mut text =
        format!("\nResource usage:\n Common:\n  GLOBAL:{}{}\n", cubin.global, banks(&cubin.constants));
    // What the assembler made for a function, in the section of that, is not one of its own.
    let own = cubin.functions.iter().filter(|function| function.place == 0);
    let mut functions: Vec<_> = own.filter(|function| options.wants_kernel(function)).collect();
    functions.sort_by_key(|function| function.section);
    for function in functions {
        let stack = function.stack.unwrap_or(0);
        let _ = writeln!(
            text,
            " Function {}:\n  REG:{} STACK:{stack} SHARED:{} LOCAL:{}{} TEXTURE:0 SURFACE:0 SAMPLER:0",
            function.name,
            function.registers.unwrap_or(0),
            function.shared,
            function.local,
            banks(&function.constants),
        );
    }
    text
}

const TYPES: [(u8, &str); 8] = [
    (raw::STT_NOTYPE, "STT_NOTYPE"),
    (raw::STT_OBJECT, "STT_OBJECT"),
    (raw::STT_FUNC, "STT_FUNC"),
    (raw::STT_SECTION, "STT_SECTION"),
    (raw::STT_TEXTURE, "STT_CUDA_TEXTURE"),
    (raw::STT_SAMPLER, "STT_CUDA_SAMPLER"),
    (raw::STT_SURFACE, "STT_CUDA_SURFACE"),
    (raw::STT_CUDA_OBJECT, "STT_CUDA_OBJECT"),
];

const BINDINGS: [(u8, &str); 3] =
    [(raw::STB_LOCAL, "STB_LOCAL"), (raw::STB_GLOBAL, "STB_GLOBAL"), (raw::STB_WEAK, "STB_WEAK")];

/// cuobjdump names only what is alone in the byte.
const OTHERS: [(u8, &str); 9] = [
    (0, "STV_DEFAULT"),
    (raw::STV_INTERNAL, "STV_INTERNAL"),
    (2, "STV_HIDDEN"),
    (3, "STV_PROTECTED"),
    (raw::STO_ENTRY, "STO_ENTRY"),
    (raw::STO_GLOBAL, "STO_GLOBAL"),
    (raw::STO_SHARED, "STO_SHARED"),
    (raw::STO_CONSTANT, "STO_CONSTANT"),
    (0xa0, "STO_RESERVED_SHARED"),
];

fn named<'n>(table: &[(u8, &'n str)], value: u8, unknown: &'n str) -> &'n str {
    table.iter().find(|(known, _)| *known == value).map_or(unknown, |(_, name)| name)
}

/// All symbols but those of sections.
fn symbols(file: &File<'_>, options: &Options) -> String {
    let mut text = "\nsymbols:\n".to_string();
    for (index, symbol) in file.symbols.iter().enumerate().skip(1) {
        if symbol.kind() == raw::STT_SECTION {
            continue;
        }
        let name = file.symbol_name(index as u32).map(ToString::to_string).unwrap_or_default();
        if !options.wants_name(&name) {
            continue;
        }
        let _ = writeln!(
            text,
            "{:<16} {:<10} {:<12} {} {name}",
            named(&TYPES, symbol.kind(), "STT_?"),
            named(&BINDINGS, symbol.bind(), "STB_?"),
            named(&OTHERS, symbol.other, "STO_?"),
            if symbol.is_defined() { ' ' } else { 'U' },
        );
    }
    text
}
