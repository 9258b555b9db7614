//! `solder extract`: the members of fat binaries as files, named as cuobjdump names them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use solder_fatbin::{Kind, Member};

use super::super::reader::{self, Known, Reader, Word, flag, value};
use super::super::words::{STANDARD_INPUT, eprint, open, print, title};
use super::cubin::says_accelerated;
use super::forms::Forms;
use super::options::{KINDS, Options, Wanted};
use super::walk::{Item, Visitor, Walk};
use crate::load::{Arena, Looked};
use crate::os::threads;
use solder_link::pool::Pool;

const USAGE: &str = "\
usage: solder extract [OPTION]… FILE…

Writes the device code inside objects, executables, libraries, archives and fat binaries into files of their own, and
prints their names. The file - is standard input.

  -d DIR           write into this folder, which is made; the current one if not given
  --arch NAME,…    only these architectures: sm_90a, compute_90, or 90 for any kind of code
  --kind KIND,…    only these kinds: elf, ptx, ltoir
  --names STYLE    cuobjdump: FILE.1.sm_90.cubin, numbered as cuobjdump numbers them (the default);
                   plain: FILE.MEMBER.sm_90.cubin, with a number only where two would be the same
  --all            also code that is still to be linked, in a file that has linked code
";

const OPTIONS: [Known; 5] = [value("-d"), value("--arch"), value("--kind"), value("--names"), flag("--all")];

/// Each thread has a member in memory, and members may be large.
const MOST_THREADS: usize = 8;

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
    let pool = threads::pool(Some(threads::count(None).min(MOST_THREADS)));
    let (mut found, mut problems) = (0, 0);
    let mut used = HashMap::new();
    for file in &asked.files {
        let (members, of_file) = extract(Path::new(file), &folder, &asked, &pool, &mut used);
        found += members;
        problems += of_file;
    }
    // As with inspect, a file with nothing of what is asked for is no problem where another one has it.
    match problems.max(usize::from(found == 0)) {
        0 => Ok(()),
        1 => Err("there was a problem".into()),
        count => Err(format!("there were {count} problems")),
    }
}

/// Extracts from one file; the number of members that were found, and that of problems, which have been reported.
fn extract(path: &Path, folder: &Path, asked: &Asked, pool: &Pool, used: &mut Used) -> (usize, usize) {
    let arena = Arena::default();
    let file = match open(path, &arena) {
        Ok(file) => file,
        Err(error) => {
            eprint(&format!("solder extract: '{}': {error}\n", path.display()));
            return (0, 1);
        }
    };
    let name = title(path);
    let mut writer = Writer::new(&name, &file, path, asked, Sink::Folder(folder, pool), used);
    writer.walk(&name, path);
    writer.write_all();
    if !writer.is_whole {
        eprint(&format!("solder extract: '{name}' is damaged; what could be read is extracted\n"));
    }
    if writer.found == 0 && writer.problems == 0 {
        eprint(&format!("solder extract: '{name}' has nothing of that kind\n"));
    }
    (writer.found, writer.problems + usize::from(!writer.is_whole))
}

/// Prints the names under which members of a kind would be written, numbered as cuobjdump numbers them; whether all of the
/// file could be read.
pub(super) fn list(
    name: &str,
    file: &Looked<'_>,
    path: &Path,
    kind: &'static str,
    options: &Options,
) -> bool {
    let archs = Options { archs: options.archs.clone(), ..Options::default() };
    let asked = Asked { kinds: vec![kind], archs, all: options.all, ..Asked::default() };
    let mut used = HashMap::new();
    let mut writer = Writer::new(name, file, path, &asked, Sink::List(kind), &mut used);
    writer.walk(name, path);
    writer.is_whole && writer.problems == 0
}

impl Asked {
    /// `None` if the help is asked for.
    fn parse(words: &[OsString]) -> Result<Option<Self>, String> {
        let mut asked = Self::default();
        let mut words = Reader::new(words, &OPTIONS, USAGE);
        while let Some(word) = words.next()? {
            match word {
                Word::File(file) => asked.files.push(file),
                Word::Option("-d", Some(folder)) => asked.folder = Some(folder.into()),
                Word::Option("--arch", Some(names)) => asked.archs.archs.extend(Wanted::list(&names)?),
                Word::Option("--kind", Some(kinds)) => {
                    for kind in reader::list(&kinds) {
                        let known = KINDS.into_iter().find(|known| *known == kind);
                        let known = known.ok_or(format!("--kind takes elf, ptx and ltoir, not '{kind}'"))?;
                        asked.kinds.push(known);
                    }
                }
                Word::Option("--names", Some(style)) => {
                    asked.plain = match style.to_str() {
                        Some("plain") => true,
                        Some("cuobjdump") => false,
                        _ => return Err("--names takes cuobjdump or plain".into()),
                    };
                }
                Word::Option("--all", _) => asked.all = true,
                Word::Option(..) => return Ok(None),
            }
        }
        if asked.files.is_empty() { Err(words.wrong("no file given")) } else { Ok(Some(asked)) }
    }

    fn wants(&self, kind: &str, arch: &str) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&kind)) && self.archs.wants_arch(arch)
    }
}

/// How often each name was given, by all files of a run.
type Used = HashMap<String, u32>;

/// Where members go.
#[derive(Clone, Copy)]
enum Sink<'a> {
    /// Files in a folder, written by the threads of a pool.
    Folder(&'a Path, &'a Pool),
    /// Only their names, of this kind.
    List(&'static str),
}

/// What a file is to hold.
enum Content<'data> {
    Bytes(&'data [u8]),
    /// What the member holds.
    Member(Member<'data>),
    /// The member itself, in a container.
    Container(Member<'data>),
}

/// A file to be written.
struct Job<'data> {
    path: PathBuf,
    content: Content<'data>,
}

impl Job<'_> {
    /// Writes the file; what went wrong.
    fn write(&self) -> Result<(), String> {
        thread_local! {
            static ROOM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        let write = |bytes: &[u8]| {
            fs::write(&self.path, bytes).map_err(|error| format!("'{}': {error}", self.path.display()))
        };
        match &self.content {
            Content::Bytes(bytes) => write(bytes),
            Content::Container(member) => write(&member.alone()),
            Content::Member(member) => ROOM.with_borrow_mut(|room| match member.content_in(room) {
                Ok(bytes) => write(bytes),
                Err(error) => {
                    let name = self.path.file_name().unwrap_or_default();
                    Err(format!("{}: {error}", name.display()))
                }
            }),
        }
    }

    /// How long the file will be, as far as the input says.
    fn size(&self) -> u64 {
        match &self.content {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::Member(member) => member.unpacked_size(),
            Content::Container(member) => member.packed_size(),
        }
    }

    /// The bytes of the input that it needs.
    fn source(&self) -> &[u8] {
        match &self.content {
            Content::Bytes(bytes) => bytes,
            Content::Member(member) | Content::Container(member) => member.bytes(),
        }
    }
}

/// Collects the files to write, then writes them on several threads.
struct Writer<'a, 'data> {
    asked: &'a Asked,
    sink: Sink<'a>,
    file: &'a Looked<'data>,
    jobs: Vec<Job<'data>>,
    stem: String,
    forms: Forms,
    is_whole: bool,
    names: Vec<String>,
    /// The last number of each ending.
    numbers: HashMap<&'static str, u32>,
    used: &'a mut Used,
    found: usize,
    problems: usize,
}

impl<'a, 'data> Writer<'a, 'data> {
    fn new(
        name: &str,
        file: &'a Looked<'data>,
        path: &Path,
        asked: &'a Asked,
        sink: Sink<'a>,
        used: &'a mut Used,
    ) -> Self {
        let (forms, is_whole) = Forms::of(name, file, path, asked.all);
        let is_stream = path == Path::new(STANDARD_INPUT);
        let stem = if is_stream { OsStr::new("stdin") } else { path.file_stem().unwrap_or_default() };
        let stem = stem.to_string_lossy().into_owned();
        Self {
            asked,
            sink,
            file,
            jobs: Vec::new(),
            stem,
            forms,
            is_whole,
            names: Vec::new(),
            numbers: HashMap::new(),
            used,
            found: 0,
            problems: 0,
        }
    }

    fn walk(&mut self, name: &str, path: &Path) {
        let file = self.file;
        self.is_whole &= Walk::through(name, file, path, &Options::default(), self);
    }

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

    /// The same for a member. In a fat binary of CUDA 12.4 it may be said to be for `sm_90a` where the code says nothing of that,
    /// and cuobjdump asks the code.
    fn named_member(&self, arch: &str, member: &Member<'_>) -> String {
        let code = || member.content().ok().and_then(|content| says_accelerated(&content));
        match arch.strip_suffix('a').filter(|_| !self.asked.plain) {
            Some(plain) if code() == Some(false) => plain.into(),
            _ => self.named(arch).into(),
        }
    }

    /// A member with an identifier is named after that, as cuobjdump does it. cuobjdump lets the last of several files of one name
    /// win; here each is written.
    fn name(&mut self, number: Option<u32>, identifier: &[u8], arch: &str, ending: &str) -> String {
        let of_identifier = Some(stem_of(identifier)).filter(|_| !self.asked.plain && !identifier.is_empty());
        let place = self.place();
        let name = match number {
            Some(number) if !self.asked.plain && of_identifier.is_none() => {
                format!("{place}.{number}.{arch}")
            }
            _ => format!("{}.{arch}", of_identifier.unwrap_or(place)),
        };
        let count = self.used.entry(format!("{name}.{ending}")).or_default();
        *count += 1;
        if *count == 1 { format!("{name}.{ending}") } else { format!("{name}-{count}.{ending}") }
    }

    /// Writes a file, or has it written later.
    fn write(&mut self, name: &str, content: Content<'_>) {
        self.found += 1;
        let folder = match self.sink {
            Sink::Folder(folder, _) => folder,
            Sink::List(kind) => {
                let kind = if kind == "ltoir" { "LTO IR".into() } else { kind.to_uppercase() };
                return print(&format!("{kind} file {:>4}: {name}\n", self.found));
            }
        };
        let path = folder.join(name);
        if let Some(content) = self.lasting(&content) {
            self.jobs.push(Job { path, content });
            return;
        }
        // A file that a thin archive names is looked at and forgotten.
        self.write_all();
        let job = Job { path, content };
        let outcome = job.write();
        self.report(&job.path, outcome);
    }

    /// The same content, if it is a part of the file. That of a member of a group has been unpacked with the others'.
    fn lasting(&self, content: &Content<'_>) -> Option<Content<'data>> {
        let member = |member: &Member<'_>| {
            let bytes = self.file.part(member.bytes()).filter(|_| !member.is_grouped())?;
            Member::parse(bytes).ok().map(|(member, _)| member)
        };
        Some(match content {
            Content::Bytes(bytes) => Content::Bytes(self.file.part(bytes)?),
            Content::Member(of) => Content::Member(member(of)?),
            Content::Container(of) => Content::Container(member(of)?),
        })
    }

    /// Writes all files that wait, and reports them in their order.
    fn write_all(&mut self) {
        let Sink::Folder(_, pool) = self.sink else { return };
        let jobs = std::mem::take(&mut self.jobs);
        let file = self.file;
        let outcomes = pool.map_uneven(&jobs, Job::size, |job| {
            let outcome = job.write();
            file.give_back(job.source());
            outcome
        });
        for (job, outcome) in jobs.iter().zip(outcomes) {
            self.report(&job.path, outcome);
        }
    }

    fn report(&mut self, path: &Path, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => print(&format!("{}\n", path.display())),
            Err(reason) => self.problem(&reason),
        }
    }

    fn problem(&mut self, text: &str) {
        self.problems += 1;
        eprint(&format!("solder extract: {text}\n"));
    }
}

impl Visitor for Writer<'_, '_> {
    fn looks_inside(&self) -> bool {
        false
    }

    fn begin(&mut self, item: &Item<'_>) {
        self.forms.begin();
        if let (Sink::List(_), [file]) = (self.sink, &self.names[..]) {
            print(&item.heading(file));
        }
        self.names.push(item.name.to_string());
    }

    fn end(&mut self) {
        self.forms.end();
        self.names.pop();
    }

    fn cubin_file(&mut self, arch: &str, bytes: &[u8]) {
        if self.asked.wants("elf", arch) {
            let name = self.name(None, b"", self.named(arch), "cubin");
            self.write(&name, Content::Bytes(bytes));
        }
    }

    fn begin_fatbin(&mut self, form: Option<&'static str>, _: u64) {
        self.forms.begin_fatbin(form);
    }

    fn content(&mut self, member: &Member<'_>) {
        if !self.forms.takes {
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
            "elf" => self.named_member(&arch, member),
            // cuobjdump names PTX after the machine too.
            "ptx" if !self.asked.plain => format!("sm_{}", member.arch()),
            _ => arch,
        };
        let identifier = member.identifier().ok().flatten().unwrap_or_default();
        let name = self.name(Some(number), identifier, &arch, ending);
        let is_container = ending == "fatbin";
        self.write(&name, if is_container { Content::Container(*member) } else { Content::Member(*member) });
    }
}

/// The name of a file without its folders and ending. What separates words becomes a dash.
fn stem_of(identifier: &[u8]) -> String {
    let text = String::from_utf8_lossy(identifier);
    let name = text.rsplit('/').next().unwrap_or_default();
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    stem.chars().map(|c| if c.is_whitespace() || c.is_control() { '-' } else { c }).collect()
}
