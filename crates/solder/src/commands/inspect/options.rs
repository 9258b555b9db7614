//! What `solder inspect` is asked for.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use super::cubin::Function;
use crate::commands::words::value_of;
use crate::near::nearest;

pub(super) const USAGE: &str = "\
usage: solder inspect [OPTION]… FILE…

Shows what is inside cubins, fat binaries, host objects, executables, libraries and archives: first a summary by
architecture and kind, then each member with its kernels and what they need. Of a file with many members only the
summary is shown. The file - is standard input.

  --all            show every member, however many there are
  --list           one line for each member, without looking into it
  --arch NAME,…    only these architectures: sm_90a, compute_90, or 90 for any kind of code
  --kernel TEXT    a table of the kernels whose name, mangled or not, contains the text
  --sort KEY       a table of kernels by name, code, registers, stack, shared or barriers, the largest first
  --json           the same for programs
  --help           this text
";

const OPTIONS: [&str; 7] = ["--all", "--list", "--arch", "--kernel", "--sort", "--json", "--help"];

#[derive(Default)]
pub(super) struct Options {
    pub(super) all: bool,
    pub(super) list: bool,
    pub(super) json: bool,
    pub(super) archs: Vec<Wanted>,
    pub(super) kernels: Vec<String>,
    pub(super) sort: Option<Key>,
    pub(super) files: Vec<OsString>,
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
        let mut words = words.iter();
        let mut only_files = false;
        while let Some(word) = words.next() {
            let is_file = only_files || word == "-" || !word.as_bytes().starts_with(b"-");
            if is_file {
                options.files.push(word.clone());
                continue;
            }
            let mut value = |name: &str| -> Result<Option<String>, String> {
                let value = value_of(name, word, &mut words)?;
                Ok(value.map(|value| value.to_string_lossy().into_owned()))
            };
            match word.to_str() {
                Some("--") => only_files = true,
                Some("--all") => options.all = true,
                Some("--list") => options.list = true,
                Some("--json") => options.json = true,
                Some("-h" | "--help") => return Ok(None),
                _ => {
                    if let Some(names) = value("--arch")? {
                        for name in names.split(',').filter(|name| !name.is_empty()) {
                            options.archs.push(Wanted::parse(name)?);
                        }
                    } else if let Some(text) = value("--kernel")? {
                        options.kernels.push(text);
                    } else if let Some(key) = value("--sort")? {
                        options.sort = Some(Key::parse(&key)?);
                    } else {
                        return Err(unknown(&word.to_string_lossy()));
                    }
                }
            }
        }
        if options.files.is_empty() {
            return Err(format!("no file given\n\n{USAGE}"));
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
}

fn unknown(word: &str) -> String {
    let name = word.split('=').next().unwrap_or(word);
    match nearest(name, OPTIONS.iter().copied()) {
        Some(near) => {
            format!("unknown option '{name}'; did you mean {near}? (solder inspect --help lists all)")
        }
        None => format!("unknown option '{name}'\n\n{USAGE}"),
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
