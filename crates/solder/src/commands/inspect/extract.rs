//! `solder extract`: the members of fat binaries as files, named as cuobjdump names them.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use solder_fatbin::{Kind, Member};

use super::super::words::{eprint, print, value_of};
use super::options::{Options, Wanted};
use super::walk::{Item, Visitor, Walk};
use crate::load::{Arena, look};
use crate::near::nearest;

const USAGE: &str = "\
usage: solder extract [OPTION]… FILE…

Writes the device code inside objects, executables, libraries, archives and fat binaries into files of their own, and
prints their names.

  -d DIR           write into this folder, which is made; the current one if not given
  --arch NAME,…    only these architectures: sm_90a, compute_90, or 90 for any kind of code
  --kind KIND,…    only these kinds: elf, ptx, ltoir
  --names STYLE    cuobjdump: FILE.1.sm_90.cubin, numbered as cuobjdump numbers them (the default);
                   plain: FILE.MEMBER.sm_90.cubin, with a number only where two would be the same
  --all            also code that is still to be linked, in a file that has linked code
";

const WORDS: [&str; 6] = ["-d", "--arch", "--kind", "--names", "--all", "--help"];

/// What is asked for.
#[derive(Default)]
struct Asked {
    files: Vec<OsString>,
    folder: Option<PathBuf>,
    archs: Options,
    kinds: Vec<&'static str>,
    plain: bool,
    all: bool,
}

pub fn run(words: &[OsString]) -> Result<(), String> {
    let Some(asked) = Asked::parse(words)? else {
        print(USAGE);
        return Ok(());
    };
    let folder = asked.folder.clone().unwrap_or_default();
    if !folder.as_os_str().is_empty() {
        fs::create_dir_all(&folder).map_err(|error| format!("'{}': {error}", folder.display()))?;
    }
    let mut problems = 0;
    for file in &asked.files {
        problems += extract(Path::new(file), &folder, &asked);
    }
    match problems {
        0 => Ok(()),
        1 => Err("there was a problem".into()),
        count => Err(format!("there were {count} problems")),
    }
}

/// Extracts from one file; the number of problems, which have been reported.
fn extract(path: &Path, folder: &Path, asked: &Asked) -> usize {
    let arena = Arena::default();
    let file = match look(path, &arena) {
        Ok(file) => file,
        Err(error) => {
            eprint(&format!("solder extract: '{}': {error}\n", path.display()));
            return 1;
        }
    };
    let name = path.to_string_lossy();
    let mut forms = Forms::default();
    let everything = Options::default();
    let mut is_whole = Walk::through(&name, &file, path, &everything, &mut forms);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut writer = Writer {
        asked,
        folder,
        stem,
        is_linked: forms.linked.into_iter(),
        takes: Vec::new(),
        names: Vec::new(),
        takes_form: true,
        numbers: HashMap::new(),
        used: HashMap::new(),
        found: 0,
        problems: 0,
    };
    is_whole &= Walk::through(&name, &file, path, &everything, &mut writer);
    if !is_whole {
        eprint(&format!("solder extract: '{name}' is damaged; what could be read is extracted\n"));
    }
    if writer.found == 0 && writer.problems == 0 {
        eprint(&format!("solder extract: '{name}' has nothing of that kind\n"));
    }
    writer.problems + usize::from(!is_whole || writer.found == 0)
}

impl Asked {
    /// `None` if the help is asked for.
    fn parse(words: &[OsString]) -> Result<Option<Self>, String> {
        let mut asked = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = |name: &str| value_of(name, word, &mut words);
            if let Some(folder) = value("-d")? {
                asked.folder = Some(folder.into());
            } else if let Some(names) = value("--arch")? {
                for name in names.to_string_lossy().split(',').filter(|name| !name.is_empty()) {
                    asked.archs.archs.push(Wanted::parse(name)?);
                }
            } else if let Some(kinds) = value("--kind")? {
                for kind in kinds.to_string_lossy().split(',') {
                    let known = ["elf", "ptx", "ltoir"].into_iter().find(|known| *known == kind);
                    let known = known.ok_or(format!("--kind takes elf, ptx and ltoir, not '{kind}'"))?;
                    asked.kinds.push(known);
                }
            } else if let Some(style) = value("--names")? {
                asked.plain = match style.to_str() {
                    Some("plain") => true,
                    Some("cuobjdump") => false,
                    _ => return Err("--names takes cuobjdump or plain".into()),
                };
            } else {
                match word.to_str() {
                    Some("-h" | "--help") => return Ok(None),
                    Some("--all") => asked.all = true,
                    Some(word) if word.starts_with('-') => return Err(unknown(word)),
                    _ => asked.files.push(word.clone()),
                }
            }
        }
        if asked.files.is_empty() { Err(format!("no file given\n\n{USAGE}")) } else { Ok(Some(asked)) }
    }

    fn wants(&self, kind: &str, arch: &str) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&kind)) && self.archs.wants_arch(arch)
    }
}

fn unknown(word: &str) -> String {
    match nearest(word, WORDS.into_iter()) {
        Some(near) => format!("unknown option '{word}'; did you mean {near}?"),
        None => format!("unknown option '{word}'\n\n{USAGE}"),
    }
}

/// Which items, in their order, have linked code.
#[derive(Default)]
struct Forms {
    linked: Vec<bool>,
    /// The numbers of the items that have begun.
    open: Vec<usize>,
}

impl Visitor for Forms {
    fn looks_inside(&self) -> bool {
        false
    }

    fn begin(&mut self, _: &Item<'_>) {
        self.open.push(self.linked.len());
        self.linked.push(false);
    }

    fn begin_fatbin(&mut self, form: Option<&'static str>, _: u64) {
        if let Some(item) = self.open.last() {
            self.linked[*item] |= form == Some("linked");
        }
    }

    fn end(&mut self) {
        self.open.pop();
    }
}

/// Writes what it is shown.
struct Writer<'a> {
    asked: &'a Asked,
    folder: &'a Path,
    stem: String,
    is_linked: std::vec::IntoIter<bool>,
    /// For each item that has begun: whether only its linked code is wanted.
    takes: Vec<bool>,
    names: Vec<String>,
    takes_form: bool,
    /// The last number of each ending.
    numbers: HashMap<&'static str, u32>,
    used: HashMap<String, u32>,
    found: usize,
    problems: usize,
}

impl Writer<'_> {
    /// The parts of a name before the architecture: the file, and with plain names the members that lead here.
    fn place(&self) -> String {
        let members = self.names.iter().skip(1).map(String::as_str).filter(|_| self.asked.plain);
        let place: Vec<&str> = std::iter::once(self.stem.as_str()).chain(members).collect();
        place.join(".").replace('/', "_")
    }

    /// The architecture of machine code in a name. cuobjdump's do not say that code is for a family.
    fn named<'n>(&self, arch: &'n str) -> &'n str {
        if self.asked.plain { arch } else { arch.strip_suffix('f').unwrap_or(arch) }
    }

    fn name(&mut self, number: Option<u32>, arch: &str, ending: &str) -> String {
        let place = self.place();
        match number {
            Some(number) if !self.asked.plain => format!("{place}.{number}.{arch}.{ending}"),
            _ => {
                let name = format!("{place}.{arch}");
                let count = self.used.entry(format!("{name}.{ending}")).or_default();
                *count += 1;
                if *count == 1 { format!("{name}.{ending}") } else { format!("{name}-{count}.{ending}") }
            }
        }
    }

    fn write(&mut self, name: &str, bytes: &[u8]) {
        self.found += 1;
        let path = self.folder.join(name);
        match fs::write(&path, bytes) {
            Ok(()) => print(&format!("{}\n", path.display())),
            Err(error) => self.problem(&format!("'{}': {error}", path.display())),
        }
    }

    fn problem(&mut self, text: &str) {
        self.problems += 1;
        eprint(&format!("solder extract: {text}\n"));
    }
}

impl Visitor for Writer<'_> {
    fn looks_inside(&self) -> bool {
        false
    }

    fn begin(&mut self, item: &Item<'_>) {
        self.takes.push(self.is_linked.next().unwrap_or(false));
        self.names.push(item.name.to_string());
    }

    fn end(&mut self) {
        self.takes.pop();
        self.names.pop();
    }

    fn cubin_file(&mut self, arch: &str, bytes: &[u8]) {
        if self.asked.wants("elf", arch) {
            let name = self.name(None, self.named(arch), "cubin");
            self.write(&name, bytes);
        }
    }

    fn begin_fatbin(&mut self, form: Option<&'static str>, _: u64) {
        let only_linked = self.takes.last().copied().unwrap_or(false) && !self.asked.all;
        self.takes_form = !only_linked || form == Some("linked");
    }

    fn content(&mut self, member: &Member<'_>) {
        if !self.takes_form {
            return;
        }
        let (kind, prefix, ending) = match member.kind() {
            Kind::Elf => ("elf", "sm", "cubin"),
            Kind::Ptx => ("ptx", "compute", "ptx"),
            // Only NVIDIA's libraries can unpack it: it stays in a container, which can be linked.
            Kind::LtoIr if member.is_scrambled() => ("ltoir", "lto", "fatbin"),
            Kind::LtoIr => ("ltoir", "lto", "ltoir"),
            Kind::Other(_) => return,
        };
        let number = self.numbers.entry(ending).or_default();
        *number += 1;
        let number = *number;
        let arch = format!("{prefix}_{}", member.arch());
        if !self.asked.wants(kind, &arch) {
            return;
        }
        let arch = match kind {
            "elf" => self.named(&arch).to_string(),
            // cuobjdump names PTX after the machine too.
            "ptx" if !self.asked.plain => format!("sm_{}", member.arch()),
            _ => arch,
        };
        let name = self.name(Some(number), &arch, ending);
        if ending == "fatbin" {
            return self.write(&name, &member.alone());
        }
        match member.content() {
            // The text of PTX ends with a NUL in the container.
            Ok(bytes) if kind == "ptx" => self.write(&name, bytes.strip_suffix(b"\0").unwrap_or(&bytes)),
            Ok(bytes) => self.write(&name, &bytes),
            Err(error) => self.problem(&format!("{name}: {error}")),
        }
    }
}
