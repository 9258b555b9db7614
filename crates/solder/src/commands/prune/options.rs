//! What `solder prune` is asked for.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use solder_fatbin::Packing;

use super::policy::Policy;
use crate::commands::inspect::Wanted;
use crate::commands::words::value_of;
use crate::near::nearest;

pub(super) const USAGE: &str = "\
usage: solder prune --keep NAME,… FILE -o OUT
       solder prune [OPTION]… FILE… -d DIR | --in-place

Removes device code that is not wanted from fat binaries, objects, archives, executables and shared libraries. Addresses,
symbols and all other sections stay. A file is written whole and read back before it takes its place; one that cannot
be pruned with certainty is left as it is.

  --keep NAME,…     keep only these: sm_90a and lto_90 are kinds of code, compute_90 is PTX, 90 is any of them
  --drop-ptx        remove PTX
  --dedup           store equal fat binaries of a section once
  --compress HOW    store members with zstd, in less room (max), or as they are (none)
  -o FILE           write here; with one file
  -d DIR            write files of the same names into this folder
  --in-place        replace the files
  --help            this text
";

const WORDS: [&str; 8] =
    ["--keep", "--drop-ptx", "--dedup", "--compress", "-o", "-d", "--in-place", "--help"];

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
        let mut words = words.iter();
        let mut only_files = false;
        while let Some(word) = words.next() {
            if only_files || !word.as_bytes().starts_with(b"-") {
                files.push(word.clone());
                continue;
            }
            let mut value = |name| value_of(name, word, &mut words);
            match word.to_str() {
                Some("--") => only_files = true,
                Some("-h" | "--help") => return Ok(None),
                Some("--drop-ptx") => policy.drop_ptx = true,
                Some("--dedup") => policy.dedup = true,
                Some("--in-place") => target = Some(Target::InPlace),
                _ => {
                    if let Some(names) = value("--keep")? {
                        for name in names.to_string_lossy().split(',').filter(|name| !name.is_empty()) {
                            policy.keep.push(Wanted::parse(name)?);
                        }
                    } else if let Some(how) = value("--compress")? {
                        policy.packing = Some(packing(&how.to_string_lossy())?);
                    } else if let Some(file) = value("-o")? {
                        target = Some(Target::File(file.into()));
                    } else if let Some(folder) = value("-d")? {
                        target = Some(Target::Folder(folder.into()));
                    } else {
                        return Err(unknown(&word.to_string_lossy()));
                    }
                }
            }
        }
        if files.is_empty() {
            return Err(format!("no file given\n\n{USAGE}"));
        }
        if policy.is_idle() {
            return Err("nothing to do: give --keep, --drop-ptx, --dedup or --compress".into());
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

fn unknown(word: &str) -> String {
    let name = word.split('=').next().unwrap_or(word);
    match nearest(name, WORDS.into_iter()) {
        Some(near) => format!("unknown option '{name}'; did you mean {near}?"),
        None => format!("unknown option '{name}'\n\n{USAGE}"),
    }
}
