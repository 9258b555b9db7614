//! What `solder fatbin` is asked for: options as fatbinary has them.

use std::ffi::OsString;
use std::path::PathBuf;

use solder_arch::Arch;
use solder_fatbin::Kind;

use crate::commands::reader::{Known, Reader, Word, flag, value};

pub(super) const USAGE: &str = "\
usage: solder fatbin --create FILE --image=kind=KIND,sm=ARCH,file=FILE…

Puts cubins, PTX and LTO IR together into one fat binary, in the order of the images. The bytes are those of NVIDIA's
fatbinary, whose options these are; LZ4 (speed) may compress to other bytes.

  --create FILE          the fat binary to write
  --image SPEC           kind is elf, ptx or ltoir; sm is 90, 90a, 100f …; --image3 is the same
  --compress-mode MODE   default, balance, size, speed, none
  --compress BOOL        false: compress nothing
  --compress-all         compress all images; else only PTX and code that is to be linked or debugged
  -c, --device-c         the code is still to be linked
  -g, --debug            the code is to be debugged
  --ident NAME           the name of the members, such as that of the source
  --cmdline TEXT         the options with which PTX is to be assembled
  -64, --link            as fatbinary takes them, without effect
  --help                 this text
";

/// fatbinary takes one dash for two.
const OPTIONS: [Known; 11] = [
    value("--create").also(&["-create"]),
    value("--image").also(&["-image", "--image3", "-image3"]),
    value("--compress-mode").also(&["-compress-mode"]),
    value("--compress").also(&["-compress"]),
    flag("--compress-all").also(&["-compress-all"]),
    flag("--device-c").also(&["-c"]),
    flag("--debug").also(&["-g"]),
    value("--ident").also(&["-ident"]),
    value("--cmdline").also(&["-cmdline"]),
    flag("-64").also(&["--64"]),
    flag("--link").also(&["-link"]),
];

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
    pub(super) relocatable: bool,
    pub(super) debug: bool,
    pub(super) identifier: Option<String>,
    pub(super) command_line: String,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Mode {
    #[default]
    Default,
    Size,
    Speed,
    None,
}

impl Asked {
    /// `None` if the help is asked for.
    pub(super) fn parse(words: &[OsString]) -> Result<Option<Self>, String> {
        let (mut output, mut images, mut how) = (None, Vec::new(), How::default());
        let mut is_off = false;
        let mut words = Reader::new(words, &OPTIONS, USAGE);
        while let Some(word) = words.next()? {
            let (name, value) = match word {
                Word::Option("--help", _) => return Ok(None),
                Word::Option(name, value) => (name, value.unwrap_or_default()),
                Word::File(file) => {
                    return Err(words.wrong(&format!("'{}' is not an option", file.display())));
                }
            };
            let text = || value.to_string_lossy().into_owned();
            match name {
                "--create" => output = Some(PathBuf::from(&value)),
                "--image" => images.push(Image::parse(&text())?),
                "--compress-mode" => how.mode = Mode::parse(&text())?,
                "--compress" => is_off = value == "false",
                "--compress-all" => how.all = true,
                "--device-c" => how.relocatable = true,
                "--debug" => how.debug = true,
                "--ident" => how.identifier = Some(text()),
                "--cmdline" => how.command_line = text(),
                // Without effect.
                _ => {}
            }
        }
        if is_off {
            how.mode = Mode::None;
        }
        let output = output.ok_or_else(|| words.wrong("give --create FILE"))?;
        if images.is_empty() {
            return Err("give an image: --image=kind=elf,sm=90,file=a.cubin".into());
        }
        Ok(Some(Self { output, images, how }))
    }
}

impl Image {
    fn parse(text: &str) -> Result<Self, String> {
        let (mut kind, mut arch, mut file) = (None, None, None);
        for part in text.split(',') {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            match name {
                "kind" => kind = Some(kind_of(value)?),
                "sm" => arch = Some(Arch::parse(value).ok_or(format!("'{value}' is not an architecture"))?),
                "file" => file = Some(value.into()),
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
