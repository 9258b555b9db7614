//! What `solder fatbin` is asked for: options as fatbinary has them.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use solder_arch::Arch;
use solder_fatbin::{Flags, Kind};

use crate::commands::reader::{self, Known, Reader, Word, flag, value};
use crate::options::option_file;

pub(super) const USAGE: &str = "\
usage: solder fatbin --create FILE --image=kind=KIND,sm=ARCH,file=FILE…

Puts cubins, PTX and LTO IR together into one fat binary, in the order of the images. The bytes are those of NVIDIA's
fatbinary, whose options these are; LZ4 (speed) may compress to other bytes.

  --create FILE          the fat binary to write
  --image SPEC           kind is elf, ptx or ltoir; sm is 90, 90a, 100f …; --image3 is the same. profile=sm_90 and
                         profile=compute_90 stand for both, as clang and CUDA 12 have them
  --compress-mode MODE   default, balance, size, speed, none
  --compress BOOL        false: compress nothing
  --concat               compress several images as one, as fatbinary 13.4 does; linkers before 13.2 do not read it
  --compress-all         compress all images; else only PTX and code that is to be linked or debugged
  -c, --device-c         the code is still to be linked
  -g, --debug            the code is to be debugged
  --ident NAME           the name of the members, such as that of the source
  --cmdline TEXT         the options with which PTX is to be assembled
  --cicc-cmdline TEXT    the options with which LTO IR is to be compiled
  --options-file FILE,…  words from files
  -64, --link, --no-asm  as fatbinary takes them, without effect; there is no code of 32 bits
  -V, --version          the version of solder
  --help                 this text
";

/// fatbinary takes one dash for two.
const OPTIONS: [Known; 17] = [
    value("--create").also(&["-create"]),
    value("--image").also(&["-image", "--image3", "-image3"]),
    value("--compress-mode").also(&["-compress-mode"]),
    value("--compress").also(&["-compress"]),
    flag("--concat").also(&["-concat"]),
    flag("--compress-all").also(&["-compress-all"]),
    flag("--device-c").also(&["-c"]),
    flag("--debug").also(&["-g"]),
    value("--ident").also(&["-ident"]),
    value("--cmdline").also(&["-cmdline"]),
    value("--cicc-cmdline").also(&["-cicc-cmdline"]),
    value("--tileir-cmdline").also(&["-tileir-cmdline"]),
    flag("-64").also(&["--64"]),
    flag("--link").also(&["-link"]),
    flag("--no-asm").also(&["-no-asm"]),
    flag("--version").also(&["-V", "-version"]),
    value(OPTIONS_FILE).also(&["-options-file", "-optf", "--optf"]),
];

const OPTIONS_FILE: &str = "--options-file";

/// Files of options may name others. None needs more than this, unless it names itself.
const DEEPEST: usize = 16;

pub(super) struct Asked {
    pub(super) output: PathBuf,
    pub(super) images: Vec<Image>,
    pub(super) how: How,
}

pub(super) struct Image {
    pub(super) kind: Kind,
    pub(super) arch: Arch,
    pub(super) file: PathBuf,
}

/// What holds for all images.
#[derive(Default)]
pub(super) struct How {
    pub(super) mode: Mode,
    pub(super) all: bool,
    /// Several images are compressed as one.
    pub(super) groups: bool,
    pub(super) relocatable: bool,
    pub(super) debug: bool,
    pub(super) identifier: Option<String>,
    /// For PTX.
    pub(super) command_line: String,
    /// For LTO IR.
    pub(super) compiler_options: String,
}

impl How {
    /// What the flags of every member say.
    pub(super) fn flags(&self) -> Flags {
        if self.debug { Flags::DEBUG } else { Flags(0) }
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Mode {
    #[default]
    Default,
    Size,
    Speed,
    None,
}

/// An answer instead of a fat binary.
pub(super) enum Answer {
    Help,
    Version,
}

/// What has been read so far.
#[derive(Default)]
struct Parser {
    output: Option<PathBuf>,
    images: Vec<Image>,
    how: How,
    is_off: bool,
    answer: Option<Answer>,
}

impl Asked {
    pub(super) fn parse(words: &[OsString]) -> Result<Result<Self, Answer>, String> {
        let mut parser = Parser::default();
        parser.words(words, DEEPEST)?;
        let Parser { output, images, mut how, is_off, answer } = parser;
        if let Some(answer) = answer {
            return Ok(Err(answer));
        }
        if is_off {
            how.mode = Mode::None;
        }
        if how.groups && how.mode == Mode::None {
            return Err("Option '--concat' requires compression to be enabled; it is incompatible with '--compress=false' \
                        and '--compress-mode=none'"
                .into());
        }
        // Without images it is an empty one, as fatbinary writes it.
        let output = output.ok_or_else(|| Reader::new(words, &OPTIONS, USAGE).wrong("give --create FILE"))?;
        Ok(Ok(Self { output, images, how }))
    }
}

impl Parser {
    fn words(&mut self, words: &[OsString], depth: usize) -> Result<(), String> {
        let mut words = Reader::new(words, &OPTIONS, USAGE);
        while let Some(word) = words.next()? {
            match word {
                Word::Option("--help", _) => self.answer = Some(Answer::Help),
                Word::Option(name, value) => self.option(name, &value.unwrap_or_default(), depth)?,
                Word::File(file) => {
                    return Err(words.wrong(&format!("'{}' is not an option", file.display())));
                }
            }
            if self.answer.is_some() {
                break;
            }
        }
        Ok(())
    }

    fn option(&mut self, name: &str, value: &OsStr, depth: usize) -> Result<(), String> {
        let text = || value.to_string_lossy().into_owned();
        match name {
            "--create" => self.output = Some(value.into()),
            "--image" => self.images.push(Image::parse(&text())?),
            "--compress-mode" => self.how.mode = Mode::parse(&text())?,
            "--compress" => {
                self.is_off = match value.to_str() {
                    Some("true") => false,
                    Some("false") => true,
                    _ => return Err(format!("'{}': expected true or false", value.display())),
                }
            }
            "--concat" => self.how.groups = true,
            "--compress-all" => self.how.all = true,
            "--device-c" => self.how.relocatable = true,
            "--debug" => self.how.debug = true,
            // An empty name is none.
            "--ident" => self.how.identifier = Some(text()).filter(|name| !name.is_empty()),
            "--cmdline" => self.how.command_line = text(),
            "--cicc-cmdline" => self.how.compiler_options = text(),
            "--version" => self.answer = Some(Answer::Version),
            OPTIONS_FILE => {
                for file in reader::list(value) {
                    self.file(&file, depth)?;
                }
            }
            // Without effect.
            _ => {}
        }
        Ok(())
    }

    /// Words from a file, in the place of the option that names it.
    fn file(&mut self, name: &str, depth: usize) -> Result<(), String> {
        let depth = depth.checked_sub(1).ok_or("options files that name one another, too many to read")?;
        let text = fs::read(name).map_err(|_| format!("Could not open options file '{name}'"))?;
        let words = option_file::split(&text).map_err(|_| format!("'{name}' ends inside of a word"))?;
        self.words(&words.into_iter().map(OsString::from_vec).collect::<Vec<_>>(), depth)
    }
}

impl Image {
    fn parse(text: &str) -> Result<Self, String> {
        let (mut kind, mut arch, mut file) = (None, None, None);
        let mut names = Vec::new();
        // Blanks around a part are nothing, and so is a comma too many.
        let parts =
            option_file::elements(text.as_bytes()).map_err(|stray| format!("Stray '{stray}' character"))?;
        for part in &parts {
            let part = String::from_utf8_lossy(part);
            let part = part.trim();
            if part.is_empty() {
                continue;
            }
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            if names.iter().any(|other| other == name) {
                return Err(format!("redefinition of keyword '{name}'"));
            }
            names.push(name.to_owned());
            match name {
                "kind" => kind = Some(kind_of(value)?),
                "sm" => {
                    // A number, however it is written.
                    let number = value.trim_start();
                    let number = number.strip_prefix('+').unwrap_or(number).trim_start_matches('0');
                    arch = Some(Arch::parse(number).ok_or(format!("'{value}' is not an architecture"))?);
                }
                "file" => file = Some(value.into()),
                // What CUDA 12 and older clang have for kind and sm.
                "profile" => {
                    let (prefix, number) = value.split_once('_').unwrap_or((value, ""));
                    kind = Some(match prefix {
                        "sm" => Kind::Elf,
                        "compute" => Kind::Ptx,
                        _ => return Err(format!("a profile is sm_90 or compute_90, not '{value}'")),
                    });
                    arch = Some(Arch::parse(number).ok_or(format!("'{value}' is not an architecture"))?);
                }
                _ => return Err(format!("an image has kind, sm and file, not '{part}'")),
            }
        }
        match (kind, arch, file) {
            (Some(kind), Some(arch), Some(file)) => Ok(Self { kind, arch, file }),
            _ => Err(format!("an image has kind, sm and file; '{text}' has not")),
        }
    }
}

fn kind_of(text: &str) -> Result<Kind, String> {
    match text {
        "elf" => Ok(Kind::Elf),
        "ptx" => Ok(Kind::Ptx),
        "ltoir" | "nvvm" => Ok(Kind::LtoIr),
        _ => Err(format!("an image is of the kind elf, ptx or ltoir, not '{text}'")),
    }
}

impl Mode {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "default" | "balance" => Ok(Self::Default),
            "size" => Ok(Self::Size),
            "speed" => Ok(Self::Speed),
            "none" => Ok(Self::None),
            _ => Err(format!("--compress-mode takes default, balance, size, speed or none, not '{text}'")),
        }
    }
}
