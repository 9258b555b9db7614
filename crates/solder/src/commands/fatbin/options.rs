//! What `solder fatbin` is asked for: options as fatbinary has them.

use std::ffi::OsString;
use std::path::PathBuf;

use solder_arch::Arch;
use solder_fatbin::Kind;

use crate::commands::words::value_of;
use crate::near::nearest;

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

const WORDS: [&str; 10] = [
    "--create",
    "--image",
    "--compress-mode",
    "--compress",
    "--compress-all",
    "--device-c",
    "--debug",
    "--ident",
    "--cmdline",
    "--help",
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
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.to_str() {
                Some("-h" | "--help") => return Ok(None),
                Some("-64" | "--64" | "-link" | "--link") => {}
                Some("-c" | "--device-c") => how.relocatable = true,
                Some("-g" | "--debug") => how.debug = true,
                Some("--compress-all" | "-compress-all") => how.all = true,
                _ => {
                    let mut value = |name: &str| -> Result<Option<OsString>, String> {
                        match value_of(&format!("--{name}"), word, &mut words)? {
                            Some(value) => Ok(Some(value)),
                            None => value_of(&format!("-{name}"), word, &mut words),
                        }
                    };
                    let text = |value: OsString| value.to_string_lossy().into_owned();
                    if let Some(file) = value("create")? {
                        output = Some(file.into());
                    } else if let Some(image) = value("image3")? {
                        images.push(Image::parse(&text(image))?);
                    } else if let Some(image) = value("image")? {
                        images.push(Image::parse(&text(image))?);
                    } else if let Some(mode) = value("compress-mode")? {
                        how.mode = Mode::parse(&text(mode))?;
                    } else if let Some(is_on) = value("compress")? {
                        is_off = is_on == "false";
                    } else if let Some(name) = value("ident")? {
                        how.identifier = Some(text(name));
                    } else if let Some(options) = value("cmdline")? {
                        how.command_line = text(options);
                    } else {
                        return Err(unknown(&word.to_string_lossy()));
                    }
                }
            }
        }
        if is_off {
            how.mode = Mode::None;
        }
        let output = output.ok_or(format!("give --create FILE\n\n{USAGE}"))?;
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

fn unknown(word: &str) -> String {
    let name = word.split('=').next().unwrap_or(word);
    match nearest(name, WORDS.into_iter()) {
        Some(near) => format!("unknown option '{name}'; did you mean {near}?"),
        None => format!("unknown option '{name}'\n\n{USAGE}"),
    }
}
