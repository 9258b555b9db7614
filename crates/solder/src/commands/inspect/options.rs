//! What `solder inspect` is asked for.

use std::ffi::{OsStr, OsString};

use super::cubin::{Function, shown};
use crate::commands::reader::{self, Known, Reader, Word, choice, flag, value};
use crate::near::nearest;

pub(super) const USAGE: &str = "\
usage: solder inspect [OPTION]… FILE…

Shows what is inside cubins, fat binaries, host objects, executables, libraries and archives: first a summary by
architecture and kind, then each member with its kernels and what they need. Of a file with many members only the
summary is shown. The file - is standard input.

  --all            show every member, however many there are
  --list[=KIND]    one line for each member, without looking into it; of the kind elf, ptx or ltoir: the names under which
                   solder extract writes them, as cuobjdump -lelf and -lptx list them
  --res-usage      what each function needs, as cuobjdump prints it
  --symbols        the symbols of each cubin, as cuobjdump prints them
  --sass           the machine code, by nvdisasm of the CUDA toolkit
  --arch NAME,…    only these architectures: sm_90a, compute_90, or 90 for any kind of code
  --kernel TEXT    a table of the kernels whose name, mangled or not, contains the text; with --res-usage, --symbols and
                   --sass only these functions
  --sort KEY       a table of kernels by name, code, registers, stack, shared or barriers, the largest first
  --json           the same for programs
  --help           this text
";

const OPTIONS: [Known; 9] = [
    flag("--all"),
    choice("--list", &KINDS),
    flag("--res-usage"),
    flag("--symbols"),
    flag("--sass"),
    value("--arch"),
    value("--kernel"),
    value("--sort"),
    flag("--json"),
];

#[derive(Default)]
pub(super) struct Options {
    pub(super) all: bool,
    pub(super) list: bool,
    /// A list of the members of this kind.
    pub(super) list_kind: Option<&'static str>,
    pub(super) dumps: Vec<What>,
    pub(super) json: bool,
    pub(super) archs: Vec<Wanted>,
    pub(super) kernels: Vec<String>,
    pub(super) sort: Option<Key>,
    pub(super) files: Vec<OsString>,
}

/// Kinds of code that can be asked for.
pub(super) const KINDS: [&str; 3] = ["elf", "ptx", "ltoir"];

/// What is printed of each member in the words of cuobjdump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Resources,
    Symbols,
    Sass,
}

/// An architecture that is asked for.
#[derive(Clone, Debug)]
pub(in crate::commands) struct Wanted(String);

/// What kernels are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Name,
    Code,
    Registers,
    Stack,
    Shared,
    Barriers,
}

const KEYS: [(&str, Key); 6] = [
    ("name", Key::Name),
    ("code", Key::Code),
    ("registers", Key::Registers),
    ("stack", Key::Stack),
    ("shared", Key::Shared),
    ("barriers", Key::Barriers),
];

impl Options {
    /// `None` if the help is asked for.
    pub(super) fn parse(words: &[OsString]) -> Result<Option<Self>, String> {
        let mut options = Self::default();
        let mut words = Reader::new(words, &OPTIONS, USAGE);
        while let Some(word) = words.next()? {
            match word {
                Word::File(file) => options.files.push(file),
                Word::Option("--all", _) => options.all = true,
                Word::Option("--list", None) => options.list = true,
                Word::Option("--list", Some(kind)) => {
                    options.list_kind = KINDS.into_iter().find(|known| kind == *known);
                }
                Word::Option("--res-usage", _) => options.dumps.push(What::Resources),
                Word::Option("--symbols", _) => options.dumps.push(What::Symbols),
                Word::Option("--sass", _) => options.dumps.push(What::Sass),
                Word::Option("--json", _) => options.json = true,
                Word::Option("--arch", Some(names)) => options.archs.extend(Wanted::list(&names)?),
                Word::Option("--kernel", Some(text)) => {
                    options.kernels.push(text.to_string_lossy().into_owned());
                }
                Word::Option("--sort", Some(key)) => {
                    options.sort = Some(Key::parse(&key.to_string_lossy())?);
                }
                Word::Option(..) => return Ok(None),
            }
        }
        if options.files.is_empty() {
            return Err(words.wrong("no file given"));
        }
        if options.json && (options.list_kind.is_some() || !options.dumps.is_empty()) {
            return Err(
                "--list=KIND, --res-usage, --symbols and --sass are text; --json alone has what they show"
                    .into(),
            );
        }
        Ok(Some(options))
    }

    /// A table of kernels instead of members.
    pub(super) fn wants_kernels(&self) -> bool {
        self.sort.is_some() || !self.kernels.is_empty()
    }

    pub(super) fn wants_arch(&self, name: &str) -> bool {
        self.archs.is_empty() || self.archs.iter().any(|wanted| wanted.is(name))
    }

    pub(super) fn wants_kernel(&self, function: &Function) -> bool {
        let is_named = |text: &String| function.name.contains(text) || function.demangled.contains(text);
        self.kernels.is_empty() || self.kernels.iter().any(is_named)
    }

    /// The same with a name as it is in the file.
    pub(super) fn wants_name(&self, name: &str) -> bool {
        let is_named = |text: &String| name.contains(text) || shown(name.as_bytes()).contains(text);
        self.kernels.is_empty() || self.kernels.iter().any(is_named)
    }
}

impl Wanted {
    pub(in crate::commands) fn parse(name: &str) -> Result<Self, String> {
        let number = number_of(name);
        match solder_arch::Arch::parse(number) {
            Some(_) => Ok(Self(name.into())),
            None => Err(format!("'{name}' is not an architecture; write sm_90, compute_90a, lto_90 or 90")),
        }
    }

    /// Several, with commas between them.
    pub(in crate::commands) fn list(names: &OsStr) -> Result<Vec<Self>, String> {
        reader::list(names).iter().map(|name| Self::parse(name)).collect()
    }

    pub(in crate::commands) fn is(&self, name: &str) -> bool {
        self.0 == name || self.0 == number_of(name)
    }
}

/// An architecture without what says what kind of code it is.
fn number_of(name: &str) -> &str {
    ["sm_", "compute_", "lto_"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name)
}

impl Key {
    fn parse(text: &str) -> Result<Self, String> {
        let known = KEYS.map(|(name, _)| name);
        let near = || {
            nearest(text, known.iter().copied())
                .map_or(String::new(), |near| format!("; did you mean {near}?"))
        };
        let found = KEYS.iter().find(|(name, _)| *name == text).map(|(_, key)| *key);
        found.ok_or_else(|| format!("--sort takes one of {}, not '{text}'{}", known.join(", "), near()))
    }

    /// Orders functions by this, the largest first.
    pub(super) fn value(self, function: &Function) -> u64 {
        match self {
            Self::Name => 0,
            Self::Code => function.code,
            Self::Registers => function.registers.unwrap_or(0).into(),
            Self::Stack => function.stack.or(function.frame).unwrap_or(0).into(),
            Self::Shared => function.shared,
            Self::Barriers => function.barriers.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Option<Options>, String> {
        Options::parse(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    fn error(words: &[&str]) -> String {
        parse(words).err().expect("an error")
    }

    #[test]
    fn options_and_files() {
        let options = parse(&["--arch=sm_90a,75", "-", "--sort", "shared", "--", "--list"]);
        let options = options.expect("options").expect("no help");
        assert_eq!(options.files, ["-", "--list"]);
        assert_eq!(options.sort, Some(Key::Shared));
        assert!(
            options.wants_arch("sm_90a") && options.wants_arch("compute_75") && options.wants_arch("sm_75")
        );
        assert!(!options.wants_arch("sm_90") && !options.wants_arch("compute_90a"));
        assert!(options.wants_kernels() && !options.list);
        assert!(parse(&["-h", "--frob"]).expect("help").is_none());
    }

    #[test]
    fn mistakes_are_named() {
        for (words, part) in [
            (&["--arhc", "sm_90", "x"][..], "did you mean --arch?"),
            (&["--kernels=k", "x"], "did you mean --kernel?"),
            (&["--frobnicate"], "usage: "),
            (&["x", "--sort", "register"], "did you mean registers?"),
            (&["x", "--sort"], "--sort needs a value"),
            (&["x", "--arch", "sm_9O"], "'sm_9O' is not an architecture"),
            (&["--list"], "no file given"),
        ] {
            let text = error(words);
            assert!(text.contains(part), "{words:?}: {text}");
        }
    }
}
