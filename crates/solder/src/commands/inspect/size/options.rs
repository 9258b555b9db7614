//! What `solder size` is asked for.

use std::ffi::OsString;
use std::path::PathBuf;

use super::super::options::{Options, Wanted};
use crate::commands::reader::{Known, Reader, Word, flag, value};

pub(super) const USAGE: &str = "\
usage: solder size [OPTION]… FILE…
       solder size [OPTION]… --diff OLD NEW

Shows where the bytes of device code are, the largest first. The file - is standard input.

  --by KEY         arch (the default), kind or file: bytes as they are stored;
                   section, kernel or family: bytes of machine code, unpacked. A family is all kernels and functions of a
                   name, whatever the arguments of their templates
  --arch NAME,…    only these architectures: sm_90a, compute_90, or 90 for any kind of code
  --top N          only the first N rows
  --diff           what changed from the first file to the second
  --page FILE      a page for a browser instead: a map of all functions by architecture, namespace and template
  --json, --csv    the same for programs
  --help           this text
";

const OPTIONS: [Known; 7] = [
    value("--by"),
    value("--arch"),
    value("--top"),
    flag("--diff"),
    value("--page"),
    flag("--json"),
    flag("--csv"),
];

pub(super) struct Asked {
    pub(super) files: Vec<OsString>,
    pub(super) by: Key,
    pub(super) archs: Options,
    pub(super) top: Option<usize>,
    pub(super) diff: bool,
    pub(super) page: Option<PathBuf>,
    pub(super) form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Json,
    Csv,
}

/// What bytes are counted by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Arch,
    Kind,
    File,
    Section,
    Kernel,
    Family,
}

const KEYS: [(&str, Key); 6] = [
    ("arch", Key::Arch),
    ("kind", Key::Kind),
    ("file", Key::File),
    ("section", Key::Section),
    ("kernel", Key::Kernel),
    ("family", Key::Family),
];

impl Key {
    fn parse(text: &str) -> Result<Self, String> {
        let found = KEYS.iter().find(|(name, _)| *name == text);
        let names = KEYS.map(|(name, _)| name).join(", ");
        found.map(|(_, key)| *key).ok_or(format!("--by takes {names}, not '{text}'"))
    }

    pub(super) fn name(self) -> &'static str {
        KEYS.iter().find(|(_, key)| *key == self).map_or("", |(name, _)| name)
    }

    /// Whether members must be unpacked.
    pub(super) fn is_inside(self) -> bool {
        matches!(self, Self::Section | Self::Kernel | Self::Family)
    }
}

impl Asked {
    /// `None` if the help is asked for.
    pub(super) fn parse(words: &[OsString]) -> Result<Option<Self>, String> {
        let mut asked = Self {
            files: Vec::new(),
            by: Key::Arch,
            archs: Options::default(),
            top: None,
            diff: false,
            page: None,
            form: Form::Text,
        };
        let mut words = Reader::new(words, &OPTIONS, USAGE);
        while let Some(word) = words.next()? {
            match word {
                Word::File(file) => asked.files.push(file),
                Word::Option("--by", Some(key)) => asked.by = Key::parse(&key.to_string_lossy())?,
                Word::Option("--arch", Some(names)) => asked.archs.archs.extend(Wanted::list(&names)?),
                Word::Option("--top", Some(count)) => {
                    let count = count.to_string_lossy();
                    let number = count.parse().map_err(|_| format!("--top takes a number, not '{count}'"))?;
                    asked.top = Some(number);
                }
                Word::Option("--page", Some(file)) => asked.page = Some(file.into()),
                Word::Option("--diff", _) => asked.diff = true,
                Word::Option("--json", _) => asked.form = Form::Json,
                Word::Option("--csv", _) => asked.form = Form::Csv,
                Word::Option(..) => return Ok(None),
            }
        }
        if asked.page.is_some() && (asked.diff || asked.form != Form::Text) {
            return Err("--page is for itself, without --diff, --json and --csv".into());
        }
        match asked.files.len() {
            0 => Err(words.wrong("no file given")),
            2 => Ok(Some(asked)),
            _ if asked.diff => Err("--diff takes two files".into()),
            _ => Ok(Some(asked)),
        }
    }
}
