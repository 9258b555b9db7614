//! `solder cache`: what is kept, and how to be rid of it.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::Path;

use solder_toolchain::cache::folder::{self, Usage};

use super::reader::{Known, Reader, Word, flag, value};
use super::screen::short;
use super::words::print;
use crate::cache::{Settings, bytes, usual_folder};
use crate::json::Json;

const USAGE: &str = "\
usage: solder cache [stats|prune|clear] [--cache-dir DIR] [--limit SIZE] [--json]

Compiled IR and assembled PTX are kept in a folder and taken from there by later links: the one that --cache-dir or the
variable SOLDER_CACHE_DIR names, or ~/.cache/solder/results if that folder is there. SOLDER_CACHE_SIZE is the most that
stays in it (5G if not set); what was not used for the longest time goes first. SOLDER_CACHE_URL is the address of a
store on another machine, which is asked with GET and filled with PUT.

  stats            show the folder, how many entries it has and their size; this is done without a word
  prune            remove old entries until the limit is kept
  clear            remove all entries
  --cache-dir DIR  another folder
  --limit SIZE     another limit for prune, such as 500M
  --json           for programs
";

const OPTIONS: [Known; 3] = [value("--cache-dir"), value("--limit"), flag("--json")];

enum Action {
    Stats,
    Prune,
    Clear,
}

pub fn run(words: &[OsString]) -> Result<(), String> {
    let (mut action, mut named, mut limit, mut json) = (None, None, None, false);
    let mut words = Reader::new(words, &OPTIONS, USAGE);
    while let Some(word) = words.next()? {
        match word {
            Word::Option("--cache-dir", value) => named = value,
            Word::Option("--limit", Some(value)) => {
                let text = value.to_string_lossy().into_owned();
                limit = Some(bytes(&text).ok_or(format!("'{text}' is not a size such as 500M or 5G"))?);
            }
            Word::Option("--json", _) => json = true,
            Word::Option(..) => {
                print(USAGE);
                return Ok(());
            }
            Word::File(word) => match word.to_str() {
                Some("stats") if action.is_none() => action = Some(Action::Stats),
                Some("prune") if action.is_none() => action = Some(Action::Prune),
                Some("clear") if action.is_none() => action = Some(Action::Clear),
                _ => return Err(words.wrong(&format!("'{}' is not understood", word.display()))),
            },
        }
    }
    let settings = Settings::new(named.as_deref().map(Path::new));
    if let Some(problem) = settings.problems.first() {
        return Err(problem.clone());
    }
    let Some(folder) = &settings.folder else { return Err(without_folder()) };
    let limit = limit.unwrap_or(settings.limit);
    let removed = match action.unwrap_or(Action::Stats) {
        Action::Stats => None,
        Action::Prune => Some(remove(folder, limit)?),
        Action::Clear => Some(remove(folder, 0)?),
    };
    let kept = match folder::usage(folder) {
        // It is made with the first entry.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Usage::default(),
        kept => kept.map_err(|error| not_read(folder, &error))?,
    };
    let shown = Shown { folder, kept, removed, limit, store: settings.store.as_deref() };
    print(&if json { shown.json() } else { shown.text() });
    Ok(())
}

fn remove(folder: &Path, limit: u64) -> Result<Usage, String> {
    match folder::prune(folder, limit) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Usage::default()),
        removed => removed.map_err(|error| not_read(folder, &error)),
    }
}

fn not_read(folder: &Path, error: &std::io::Error) -> String {
    format!("'{}' cannot be looked through: {error}", folder.display())
}

fn without_folder() -> String {
    let usual = usual_folder(|name| std::env::var_os(name));
    let usual = usual.map_or(String::new(), |folder| format!(", or make '{}'", folder.display()));
    format!("there is no cache; set SOLDER_CACHE_DIR to a folder{usual}")
}

struct Shown<'a> {
    folder: &'a Path,
    kept: Usage,
    removed: Option<Usage>,
    limit: u64,
    store: Option<&'a str>,
}

impl Shown<'_> {
    fn text(&self) -> String {
        let mut text = format!("folder   {}\n", self.folder.display());
        if let Some(removed) = self.removed {
            let _ = writeln!(text, "removed  {}", amount(removed));
        }
        let _ = writeln!(text, "kept     {} of at most {}", amount(self.kept), short(self.limit));
        if let Some(store) = self.store {
            let _ = writeln!(text, "store    {store}");
        }
        text
    }

    fn json(&self) -> String {
        let usage = |usage: Usage| {
            Json::Object(vec![("entries", usage.entries.into()), ("bytes", usage.bytes.into())])
        };
        let mut fields = vec![("folder", Json::Text(self.folder.display().to_string()))];
        fields.extend(self.removed.map(|removed| ("removed", usage(removed))));
        fields.extend([("kept", usage(self.kept)), ("limit", self.limit.into())]);
        fields.extend(self.store.map(|store| ("store", Json::Text(store.into()))));
        Json::Object(fields).line()
    }
}

fn amount(usage: Usage) -> String {
    let entries = if usage.entries == 1 { "entry" } else { "entries" };
    format!("{} {entries}, {}", usage.entries, short(usage.bytes))
}
