//! Faults of the command line: what was meant, and what would work.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use object::read::archive::ArchiveFile;
use solder_arch::{Arch, Release};
use solder_fatbin::Container;

use super::context::capped;
use super::inputs::member_name;
use crate::diagnostics::{Message, Note, Text};
use crate::load::Arena;
use crate::load::survey::{self, Form, Made};
use crate::near;
use crate::options::{Kind, Options, Row, TABLE};
use crate::toolchain;

/// Inputs and members that are looked into for their architectures.
const MOST: usize = 64;

/// The notes for a message about the command line; `options` are there if it could be parsed.
#[cold]
pub fn of_words(
    message: &Message,
    words: &[Vec<u8>],
    release: &Release,
    options: Option<&Options>,
) -> Vec<Note> {
    match message {
        Message::UnknownOption { word } => unknown_option(&word.to_string(), words, release),
        Message::ExpectedNumber { value } => one_dash(&value.to_string(), words),
        Message::ArgumentExpected { option } => usage(&option.to_string()),
        Message::ValueNotDefined { value, option: "arch" } => unknown_target(&value.to_string(), release),
        Message::ValueNotDefined { value, option } => unknown_value(&value.to_string(), option, release),
        Message::UnknownArch { .. } => options.map_or(Vec::new(), without_target),
        Message::OptionsFileNotOpened { file } | Message::TimeFileNotOpened { file } => not_written(file),
        Message::NvvmPathMissing => nvvm_path(),
        Message::LibraryLoad => {
            let library = options.and_then(toolchain::nvvm);
            let text = |library: std::path::PathBuf| match std::fs::metadata(&library) {
                Err(error) => format!("'{}': {}", library.display(), reason(&error)),
                Ok(_) => format!("'{}' cannot be loaded", library.display()),
            };
            library.map(|library| Note::new("cause", text(library))).into_iter().chain(nvvm_path()).collect()
        }
        _ => Vec::new(),
    }
}

/// `word` is as in the message: without its first dash.
fn unknown_option(word: &str, words: &[Vec<u8>], release: &Release) -> Vec<Note> {
    let mut notes = Vec::new();
    let name = word.strip_prefix('-').unwrap_or(word);
    if let Some(row) = TABLE.iter().find(|row| row.long == name || row.short == Some(name)) {
        if row.is_of(release) {
            notes.push(Note::new("similar", format!("it is written {}", form(row))));
        } else {
            let later = Release::ALL.into_iter().find(|release| row.is_of(release));
            let later = later.map_or("a later", |release| release.name);
            notes.push(Note::new("cause", format!("nvlink has it from CUDA {later} on")));
        }
        return notes;
    }
    let names = TABLE.iter().filter(|row| !row.is_hidden() && row.is_of(release));
    let all = names.clone().flat_map(|row| [Some(row.long), row.short]).flatten();
    if let Some(near) = near::nearest(name, all)
        && let Some(row) = names.clone().find(|row| row.long == near || row.short == Some(near))
    {
        notes.push(Note::new("similar", format!("did you mean {}?", form(row))));
    }
    if words.iter().any(|word| word.starts_with(b"-gencode") || word.starts_with(b"--generate-code")) {
        notes
            .push(Note::new("hint", "-gencode is nvcc's: a device linker links for one target, -arch=sm_90"));
    } else if notes.is_empty() {
        notes.push(Note::new("hint", "--help lists all options; those of nvcc are not known to a linker"));
    }
    notes
}

/// `-map=x` is `-m` with a number to nvlink.
fn one_dash(value: &str, words: &[Vec<u8>]) -> Vec<Note> {
    let word = words.iter().map(|word| String::from_utf8_lossy(word)).find(|word| word.ends_with(value));
    let name = word.and_then(|word| Some(word.strip_prefix('-')?.split('=').next()?.to_owned()));
    let row = TABLE.iter().find(|row| Some(row.long) == name.as_deref() && !row.is_hidden());
    row.map(|row| Note::new("similar", format!("did you mean {}?", form(row)))).into_iter().collect()
}

/// How an option is written.
fn form(row: &Row) -> String {
    let name = match row.short {
        Some(short) if short.len() < row.long.len() || row.long == short => format!("-{short}"),
        _ => format!("--{}", row.long),
    };
    match (row.argument, row.kind) {
        ("", _) | (_, Kind::Optional | Kind::OptionalName) => name,
        (argument, _) => format!("{name} <{argument}>"),
    }
}

fn usage(option: &str) -> Vec<Note> {
    let name = option.trim_start_matches('-');
    let row = TABLE.iter().find(|row| row.long == name || row.short == Some(name));
    let row = row.filter(|row| !row.is_hidden());
    row.map(|row| Note::new("usage", format!("{}: {}", form(row), row.help))).into_iter().collect()
}

fn unknown_value(value: &str, option: &str, release: &Release) -> Vec<Note> {
    let row = TABLE.iter().find(|row| row.long == option);
    let values = row.map_or(&[][..], |row| row.values(release));
    let mut notes = Vec::new();
    if let Some(near) = near::nearest(value, values.iter().copied()) {
        notes.push(Note::new("similar", format!("did you mean {near}?")));
    }
    if !values.is_empty() {
        notes.push(Note::new("values", format!("it may be {}", values.join(", "))));
    }
    notes
}

/// Words of nvcc that are not names of targets.
const NVCC_WORDS: [&str; 3] = ["native", "all", "all-major"];

fn unknown_target(value: &str, release: &Release) -> Vec<Note> {
    let mut notes = Vec::new();
    let number = value.split_once('_').map_or(value, |(_, number)| number);
    let parsed = Arch::parse(number);
    if NVCC_WORDS.contains(&value) {
        notes.push(Note::new(
            "cause",
            format!("'{value}' is a word of nvcc, which replaces it; a linker takes a name such as sm_90"),
        ));
    } else if let Some(arch) = parsed.filter(|arch| release.knows(*arch)) {
        notes.push(Note::new("similar", format!("did you mean sm_{arch}?")));
    } else if let Some(other) = parsed.and_then(|arch| of_other_release(arch, release)) {
        notes.push(Note::new("cause", other));
    } else if let Some(near) = near::nearest(value, release.names().iter().copied()) {
        notes.push(Note::new("similar", format!("did you mean {near}?")));
    }
    let archs: Vec<String> = release.archs().iter().map(Arch::to_string).collect();
    notes.push(Note::new(
        "values",
        format!("CUDA {} links for sm_N with N of {}", release.name, archs.join(" ")),
    ));
    notes
}

/// Which other release knows an architecture. CUDA 12.0 removed what came before Maxwell, and 13.0 what came before Turing.
fn of_other_release(arch: Arch, release: &Release) -> Option<String> {
    const OLDEST: u16 = 50;
    const REMOVED_BELOW: u16 = 75;
    let known = || Release::ALL.into_iter().filter(|other| other.knows(arch));
    if arch.number < OLDEST {
        return Some(format!("sm_{arch} was removed in CUDA 12"));
    }
    if arch.number < REMOVED_BELOW && release.major() >= 13 {
        let last = known().next_back().map_or("12.9", |other| other.name);
        return Some(format!("sm_{arch} was removed in CUDA 13; the last toolkit for it is {last}"));
    }
    known().next().map(|other| format!("sm_{arch} is known from CUDA {} on: --as-nvlink={0}", other.name))
}

/// No target was given: which ones the inputs are for.
fn without_target(options: &Options) -> Vec<Note> {
    if options.values().is_given(crate::options::Id::Arch) {
        return Vec::new();
    }
    let mut notes = vec![Note::new("cause", "no target was given with -arch")];
    let mut held: Vec<(String, Vec<String>)> = Vec::new();
    let arena = Arena::default();
    for path in options.inputs.iter().take(MOST) {
        for name in targets_in(survey::reread(path, &arena)) {
            let file = format!("'{}'", path.display());
            match held.iter_mut().find(|(known, _)| *known == name) {
                Some((_, files)) if files.contains(&file) => {}
                Some((_, files)) => files.push(file),
                None => held.push((name, vec![file])),
            }
        }
    }
    let line = |(name, files): &(String, Vec<String>)| {
        let more = match files.len() - 1 {
            0 => " has".to_string(),
            more => format!(" and {more} more have"),
        };
        Note::new("holds", format!("{}{more} code for {name}", files[0]))
    };
    notes.extend(capped(held.iter().map(line).collect(), 8, "targets"));
    let machine: Vec<&String> =
        held.iter().map(|(name, _)| name).filter(|name| name.starts_with("sm_")).collect();
    if let [only] = machine[..] {
        notes.push(Note::new("hint", format!("add -arch={only}")));
    }
    notes
}

/// The architectures that a file has code for.
fn targets_in(bytes: &[u8]) -> Vec<String> {
    match Form::of(bytes) {
        Form::DeviceObject | Form::DeviceElf => {
            let made = Made::of(bytes).map(|made| {
                let accelerated = made.arch.record.is_some_and(|record| record.accelerated != 0);
                format!("sm_{}{}", made.arch.number, if accelerated { "a" } else { "" })
            });
            made.into_iter().collect()
        }
        Form::Fatbin => in_containers(bytes),
        Form::HostObject => survey::relocatable_code(bytes).map_or(Vec::new(), in_containers),
        Form::Archive => {
            let Ok(archive) = ArchiveFile::parse(bytes) else { return Vec::new() };
            let members = archive.members().map_while(Result::ok).filter(|member| !member.is_thin());
            let mut names = Vec::new();
            for data in members.take(MOST).filter_map(|member| member.data(bytes).ok()) {
                // An archive in an archive is not looked into.
                let of_member = if Form::of(data) == Form::Archive { Vec::new() } else { targets_in(data) };
                names.extend(of_member.into_iter().filter(|name| !names.contains(name)).collect::<Vec<_>>());
            }
            names
        }
        _ => Vec::new(),
    }
}

fn in_containers(mut bytes: &[u8]) -> Vec<String> {
    let mut names = Vec::new();
    while let Ok(container) = Container::parse(bytes) {
        for member in container.members().map_while(Result::ok) {
            let name = member_name(&member);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        bytes = &bytes[container.size()..];
        bytes = &bytes[bytes.iter().position(|&byte| byte != 0).unwrap_or(bytes.len())..];
    }
    names
}

/// Where the compiler library may be.
fn nvvm_path() -> Vec<Note> {
    let environment = toolchain::environment();
    let toolkit = solder_toolchain::Toolkit::find(None, &environment, &toolchain::Signals);
    let folder = toolkit.ok().map(|toolkit| toolkit.root.join("nvvm")).filter(|folder| folder.is_dir());
    let text = match folder {
        Some(folder) => {
            format!("-nvvmpath is the folder nvvm of a CUDA toolkit: -nvvmpath={}", folder.display())
        }
        None => "-nvvmpath is the folder nvvm of a CUDA toolkit, such as /usr/local/cuda/nvvm".into(),
    };
    vec![Note::new("hint", text)]
}

/// Why a file could not be opened or written.
pub(super) fn not_written(file: &Text) -> Vec<Note> {
    let path = Path::new(OsStr::from_bytes(file.as_bytes()));
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let shown = folder.display();
    let text = match (std::fs::metadata(path), std::fs::metadata(folder)) {
        (Ok(found), _) if found.is_dir() => "it is a folder".to_string(),
        (_, Err(error)) if error.kind() == ErrorKind::NotFound => format!("there is no folder '{shown}'"),
        (_, Err(error)) => format!("'{shown}': {}", reason(&error)),
        (_, Ok(found)) if !found.is_dir() => format!("'{shown}' is not a folder"),
        (Ok(_), _) => match std::fs::OpenOptions::new().append(true).open(path) {
            Err(error) => reason(&error),
            Ok(_) => return Vec::new(),
        },
        // A folder that takes no files: the system says why, and the file is removed where it could be made.
        (Err(_), Ok(_)) => {
            let made = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
            let Err(error) = made else {
                let _ = std::fs::remove_file(path);
                return Vec::new();
            };
            format!("'{shown}' takes no new file: {}", reason(&error))
        }
    };
    vec![Note::new("cause", text)]
}

/// The system's words without its number.
pub(super) fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}
