//! `solder inspect`: what is inside a cubin, fat binary, host object or archive.
//!
//! Nothing here trusts its input: what cannot be read is said in its place, and the rest is shown. What is read is shown
//! at once and forgotten: a library of half a gigabyte takes no more memory than its largest member.

mod cubin;
mod dump;
pub mod extract;
mod fatbin;
mod forms;
mod host;
mod kernels;
mod options;
mod sass;
pub mod size;
mod stream;
mod summary;
mod text;
mod walk;

use std::ffi::OsString;
use std::path::Path;

use super::screen::{Screen, grouped};
use super::words::{eprint, open, print, title};
use crate::load::{Arena, Looked};
use dump::Dump;
use kernels::Kernels;
pub(super) use options::Wanted;
use options::{Options, USAGE, What};
use sass::Disassembler;
use stream::Stream;
use summary::Summary;
use text::Detail;
use walk::{Visitor, Walk};

/// More members than this are shown only if they are asked for.
const MOST: u64 = 24;

pub fn run(words: &[OsString]) -> Result<(), String> {
    let Some(options) = Options::parse(words)? else {
        print(USAGE);
        return Ok(());
    };
    let mut inspector =
        Inspector { options: &options, unread: 0, damaged: 0, archs: Vec::new(), found: false };
    if let Some(kind) = options.list_kind {
        inspector.each(|inspector, name, file, path| {
            inspector.look_for_archs(name, file, path);
            inspector.damaged += usize::from(!extract::list(name, file, path, kind, inspector.options));
        });
    } else if !options.dumps.is_empty() {
        inspector.dump()?;
    } else if options.wants_kernels() {
        inspector.kernels();
    } else if options.json {
        inspector.json();
    } else {
        inspector.text();
    }
    inspector.outcome()
}

/// Whether a host file, of whatever machine, has fat binaries.
pub(super) fn has_device_code(data: &[u8]) -> Result<bool, String> {
    Ok(!host::Host::read(data)?.1.is_empty())
}

struct Inspector<'a> {
    options: &'a Options,
    unread: usize,
    damaged: usize,
    /// What there is, for somebody who asked for something else.
    archs: Vec<String>,
    found: bool,
}

impl Inspector<'_> {
    /// Opens each file in turn.
    fn each(&mut self, mut show: impl FnMut(&mut Self, &str, &Looked<'_>, &Path)) {
        for word in &self.options.files {
            let arena = Arena::default();
            let path = Path::new(word);
            match open(path, &arena) {
                Ok(file) => show(self, &title(path), &file, path),
                Err(error) => {
                    eprint(&format!("solder inspect: '{}': {error}\n", path.display()));
                    self.unread += 1;
                }
            }
        }
    }

    fn walk(&mut self, name: &str, file: &Looked<'_>, path: &Path, visitor: &mut dyn Visitor) -> bool {
        Walk::through(name, file, path, self.options, visitor)
    }

    /// What the headers say.
    fn summary(&mut self, name: &str, file: &Looked<'_>, path: &Path) -> (Summary, bool) {
        let mut summary = Summary::default();
        let is_whole = self.walk(name, file, path, &mut summary);
        self.found |= summary.members > 0;
        if summary.members == 0 && !self.options.archs.is_empty() {
            let mut all = Summary::default();
            Walk::through(name, file, path, &Options::default(), &mut all);
            self.archs.extend(all.archs().into_iter().map(str::to_owned));
        }
        (summary, is_whole)
    }

    /// Whether there is something of the architectures that are asked for.
    fn look_for_archs(&mut self, name: &str, file: &Looked<'_>, path: &Path) {
        if !self.options.archs.is_empty() {
            self.summary(name, file, path);
        }
    }

    fn text(&mut self) {
        let mut screen = Screen::new();
        let options = self.options;
        self.each(|inspector, name, file, path| {
            let (summary, mut is_whole) = inspector.summary(name, file, path);
            summary.show(&mut screen);
            if options.list || options.all || summary.members <= MOST {
                if summary.members > 1 {
                    screen.blank();
                }
                let mut detail = Detail::new(&mut screen, !options.list);
                detail.names_file = true;
                is_whole &= inspector.walk(name, file, path, &mut detail);
            } else {
                screen.blank();
                let members = grouped(summary.members);
                screen.inside(|screen| {
                    screen.line(&format!(
                        "{members} members: --list names them, --all looks into them, --kernel TEXT and --sort KEY show kernels"
                    ));
                });
            }
            inspector.damaged += usize::from(!is_whole);
        });
    }

    fn json(&mut self) {
        let mut stream = Stream::new(!self.options.list);
        self.each(|inspector, name, file, path| {
            let (summary, _) = inspector.summary(name, file, path);
            stream.summary = Some(summary.json());
            let is_whole = inspector.walk(name, file, path, &mut stream);
            inspector.damaged += usize::from(!is_whole);
        });
        stream.finish();
    }

    fn kernels(&mut self) {
        let mut kernels = Kernels::new(self.options);
        self.each(|inspector, name, file, path| {
            inspector.look_for_archs(name, file, path);
            let is_whole = inspector.walk(name, file, path, &mut kernels);
            inspector.damaged += usize::from(!is_whole);
        });
        if self.options.json {
            print(&format!("{}\n", kernels.json()));
        } else {
            kernels.show(&mut Screen::new());
        }
    }

    fn dump(&mut self) -> Result<(), String> {
        let needs_code = self.options.dumps.contains(&What::Sass);
        let disassembler = if needs_code { Some(Disassembler::find()?) } else { None };
        self.each(|inspector, name, file, path| {
            inspector.look_for_archs(name, file, path);
            let problems = Dump::of(name, file, path, inspector.options, disassembler.as_ref());
            inspector.damaged += usize::from(problems > 0);
        });
        Ok(())
    }

    fn outcome(mut self) -> Result<(), String> {
        let files = self.options.files.len();
        match (self.unread, self.damaged) {
            (0, 0) if !self.options.archs.is_empty() && !self.found => {
                self.archs.sort();
                self.archs.dedup();
                let there_is =
                    if self.archs.is_empty() { "no device code".into() } else { self.archs.join(", ") };
                Err(format!("nothing for that architecture; there is {there_is}"))
            }
            (0, 0) => Ok(()),
            (0, count) => Err(format!("{count} of {files} files damaged")),
            (count, _) => Err(format!("{count} of {files} files not read")),
        }
    }
}
