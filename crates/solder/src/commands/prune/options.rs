//! What `solder prune` is asked for.

use std::ffi::OsString;
use std::path::PathBuf;

use solder_fatbin::Packing;

use super::policy::Policy;
use crate::commands::inspect::Wanted;
use crate::commands::reader::{Known, Reader, Word, flag, value};

pub(super) const USAGE: &str = "\
usage: solder prune --keep NAME,… FILE -o OUT
       solder prune [OPTION]… FILE… -d DIR | --in-place

Removes device code that is not wanted from fat binaries, objects, archives, executables and shared libraries. Addresses,
symbols and all other sections stay. A file is written whole and read back before it takes its place; one that cannot
be pruned with certainty is left as it is.

  --keep NAME,…     keep only these: sm_90a and lto_90 are kinds of code, compute_90 is PTX, 90 is any of them
  --drop-ptx        remove PTX
  --strip-debug     remove debug and line information from machine code, of cubins too; PTX and LTO IR stay as they are
  --dedup           store equal fat binaries of a section once
  --compress HOW    store members with zstd, in less room (max), or as they are (none)
  -o FILE           write here; with one file
  -d DIR            write files of the same names into this folder
  --in-place        replace the files
  --help            this text
";

const OPTIONS: [Known; 8] = [
    value("--keep"),
    flag("--drop-ptx"),
    flag("--strip-debug"),
    flag("--dedup"),
    value("--compress"),
    value("-o"),
    value("-d"),
    flag("--in-place"),
];

pub(super) struct Asked {
    pub(super) files: Vec<OsString>,
    pub(super) policy: Policy,
    pub(super) target: Target,
}

/// Where the new file goes.
pub(super) enum Target {
    InPlace,
    File(PathBuf),
    Folder(PathBuf),
}

impl Asked {
    /// `None` if the help is asked for.
    pub(super) fn parse(words: &[OsString]) -> Result<Option<Self>, String> {
        let (mut files, mut policy, mut target) = (Vec::new(), Policy::default(), None);
        let mut words = Reader::new(words, &OPTIONS, USAGE);
        while let Some(word) = words.next()? {
            match word {
                Word::File(file) => files.push(file),
                Word::Option("--drop-ptx", _) => policy.drop_ptx = true,
                Word::Option("--strip-debug", _) => policy.strip_debug = true,
                Word::Option("--dedup", _) => policy.dedup = true,
                Word::Option("--in-place", _) => target = Some(Target::InPlace),
                Word::Option("--keep", Some(names)) => policy.keep.extend(Wanted::list(&names)?),
                Word::Option("--compress", Some(how)) => {
                    policy.packing = Some(packing(&how.to_string_lossy())?);
                }
                Word::Option("-o", Some(file)) => target = Some(Target::File(file.into())),
                Word::Option("-d", Some(folder)) => target = Some(Target::Folder(folder.into())),
                Word::Option(..) => return Ok(None),
            }
        }
        if files.is_empty() {
            return Err(words.wrong("no file given"));
        }
        if policy.is_idle() {
            return Err("nothing to do: give --keep, --drop-ptx, --strip-debug, --dedup or --compress".into());
        }
        let target = target.ok_or("give -o FILE, -d DIR or --in-place")?;
        if matches!(target, Target::File(_)) && files.len() > 1 {
            return Err("-o is for one file; give -d DIR or --in-place".into());
        }
        Ok(Some(Self { files, policy, target }))
    }
}

fn packing(how: &str) -> Result<Packing, String> {
    match how {
        "zstd" => Ok(Packing::Zstd),
        "max" => Ok(Packing::Smallest),
        "none" => Ok(Packing::None),
        _ => Err(format!("--compress takes zstd, max or none, not '{how}'")),
    }
}
