//! Whole links of damaged inputs, in this process.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use solder::diagnostics::{Printer, Settings};
use solder::mode::Mode;
use solder::options::{self, Options, Values};
use solder_arch::Release;
use solder_cubin::Cubin;

use crate::corpus::{Corpus, Kind};
use crate::mutate;
use crate::rng::Rng;

/// One link: the options, and the input files with their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job {
    pub words: Vec<String>,
    pub files: Vec<(String, Vec<u8>)>,
}

const OUTPUT: &str = "out.cubin";

/// What a container of device code is called on the command line.
pub fn extension(kind: Kind) -> &'static str {
    match kind {
        Kind::Cubin => "cubin",
        Kind::Fatbin => "fatbin",
        Kind::Archive => "a",
        Kind::HostObject | Kind::OptionFile => "o",
    }
}

impl Job {
    /// Device code that belongs together, one or more of it damaged, bare or in a container.
    pub fn generate(rng: &mut Rng, corpus: &Corpus) -> Self {
        let chosen = corpus.linked_together(rng);
        let Some(&first) = chosen.first().filter(|_| !corpus.devices.is_empty()) else {
            return Self::default();
        };
        let words = mutate::option_words(rng, corpus.devices[first].sm);
        let damaged = rng.below(chosen.len());
        let mut files = Vec::new();
        for (position, &index) in chosen.iter().enumerate() {
            let device = &corpus.devices[index];
            let mut bytes = device.bytes.clone();
            if position == damaged || rng.percent(20) {
                mutate::mutate_some(rng, Kind::Cubin, &mut bytes, corpus);
            }
            let kind = match rng.below(12) {
                0 => Kind::Fatbin,
                1 => Kind::HostObject,
                2 => Kind::Archive,
                _ => Kind::Cubin,
            };
            if kind != Kind::Cubin {
                bytes = mutate::wrap(rng, kind, &device.with_bytes(bytes));
            }
            files.push((format!("{position}.{}", extension(kind)), bytes));
        }
        Self { words, files }
    }

    /// A link with options that print names, in which symbols have odd names and some of the files are damaged.
    pub fn generate_report(rng: &mut Rng, corpus: &Corpus) -> Self {
        let chosen = corpus.linked_together(rng);
        let devices: Vec<_> = chosen.iter().filter_map(|index| corpus.devices.get(*index)).collect();
        let Some(first) = devices.first() else { return Self::default() };
        let words = mutate::report_words(rng, first.sm);
        let file = |(number, bytes)| (format!("{number}.{}", extension(Kind::Cubin)), bytes);
        let files = devices.iter().map(|device| device.bytes.clone()).enumerate().map(file).collect();
        let mut job = Self { words, files };
        for _ in 0..=rng.below(4) {
            job.rename(rng);
        }
        if rng.percent(50) {
            job.mutate(rng, corpus);
        }
        job
    }

    /// Links one file of its own.
    pub fn of_file(sm: u16, kind: Kind, bytes: Vec<u8>) -> Self {
        Self { words: vec![format!("-arch=sm_{sm}")], files: vec![(format!("0.{}", extension(kind)), bytes)] }
    }

    /// As one string of bytes: the number of words, the words, then the files; counts are words of four bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut push = |text: &[u8]| {
            bytes.extend((text.len() as u32).to_le_bytes());
            bytes.extend(text);
        };
        push(self.words.join("\n").as_bytes());
        for (name, content) in &self.files {
            push(name.as_bytes());
            push(content);
        }
        bytes
    }

    /// The inverse, as far as the bytes can be read.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut rest = bytes;
        let mut next = || {
            let (size, tail) = rest.split_at_checked(4)?;
            let size = u32::from_le_bytes([size[0], size[1], size[2], size[3]]) as usize;
            let (text, tail) = tail.split_at(size.min(tail.len()));
            rest = tail;
            Some(text)
        };
        let words = next().map(String::from_utf8_lossy).unwrap_or_default();
        // Others could name files anywhere.
        let words = words.lines().filter(|word| mutate::is_of_links(word)).map(String::from).collect();
        let mut files = Vec::new();
        while let (Some(name), Some(content)) = (next(), next()) {
            let plain = |c: &char| c.is_ascii_alphanumeric() || *c == '.';
            let name: String = String::from_utf8_lossy(name).chars().filter(plain).take(32).collect();
            // Neither a folder nor the output.
            let named = name.contains(|c: char| c != '.') && name != OUTPUT;
            files.push((if named { name } else { "input".into() }, content.to_vec()));
        }
        Self { words, files }
    }

    /// Damages one of the files.
    pub fn mutate(&mut self, rng: &mut Rng, corpus: &Corpus) {
        let index = rng.below(self.files.len());
        if let Some((_, bytes)) = self.files.get_mut(index) {
            let kind = Kind::of(bytes).unwrap_or(Kind::Cubin);
            mutate::mutate(rng, kind, bytes, corpus);
        }
    }

    /// Gives a symbol of one of the files another name.
    pub fn rename(&mut self, rng: &mut Rng) {
        let index = rng.below(self.files.len());
        if let Some((_, bytes)) = self.files.get_mut(index) {
            mutate::names::rename(rng, bytes);
        }
    }

    /// The words of the command line, with the files in a folder.
    pub fn command_line(&self, folder: &Path) -> Vec<String> {
        let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
        let files = self.files.iter().map(|(name, _)| path(name));
        self.words.iter().cloned().chain(files).chain(["-o".into(), path(OUTPUT)]).collect()
    }

    pub fn write(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        self.files.iter().try_for_each(|(name, bytes)| fs::write(folder.join(name), bytes))
    }

    /// Links, and holds the linker to its promises: the output is whole or is not there, nothing else is left, and
    /// what cannot be linked is refused with a message. The failure is a sentence.
    pub fn run(&self, folder: &Path) -> Result<Outcome, String> {
        self.write(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let (linked, said) = link(&self.command_line(folder));
        let output = folder.join(OUTPUT);
        let image = fs::read(&output).ok();
        let verdict = match (linked, &image) {
            (true, Some(image)) => Cubin::parse(image)
                .map(|_| Outcome::Linked)
                .map_err(|error| format!("the output cannot be read: {error}")),
            (true, None) => Ok(Outcome::NoCode),
            (false, Some(_)) => Err(format!("an output is left after: {said}")),
            (false, None) if said.is_empty() => Err("refused without a word".into()),
            (false, None) => Ok(Outcome::Refused(said)),
        };
        let strays = strays(folder, self);
        let _ = fs::remove_file(output);
        match strays.first() {
            Some(stray) => Err(format!("{} is left behind", stray.display())),
            None => verdict,
        }
    }
}

/// What became of a link that kept the promises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Linked,
    /// There was nothing to link for the target.
    NoCode,
    Refused(String),
}

/// Files that neither the job nor its output account for. They are removed, so that they are reported once.
fn strays(folder: &Path, job: &Job) -> Vec<PathBuf> {
    let known = |name: &OsStr| name == OUTPUT || job.files.iter().any(|(file, _)| name == file.as_str());
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let unknown = entries.filter(|entry| !known(&entry.file_name())).map(|entry| entry.path());
    unknown.inspect(|path| drop(fs::remove_file(path))).collect()
}

/// The linker from the words of the command line on; whether it succeeded, and what it said.
fn link(words: &[String]) -> (bool, String) {
    let printer = Printer::in_memory(Settings::default());
    let sink = printer.sink();
    let words = words.iter().map(|word| word.clone().into_bytes()).collect();
    let Ok(values) = Values::parse(words, Release::CUDA_13_0, &sink) else { return (false, text(printer)) };
    let options = Options::new(values, OsStr::new("nvlink"), false);
    let printer = Printer::in_memory(options.message_settings());
    let sink = printer.sink();
    let linked = options::check(&options, &sink)
        .and_then(|()| solder::run::link(&options, &Mode::of(&options), &printer, &sink, None));
    (linked.is_ok(), text(printer))
}

fn text(printer: Printer) -> String {
    String::from_utf8_lossy(&printer.into_text()).into_owned()
}
