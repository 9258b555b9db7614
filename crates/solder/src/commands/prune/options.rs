//! What `solder prune` is asked for.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use solder_fatbin::Packing;

use super::policy::Policy;
use crate::commands::inspect::Wanted;
use crate::commands::reader::{Known, Reader, Word, flag, value};
use crate::commands::words::STANDARD_INPUT;

pub(super) const USAGE: &str = "\
usage: solder prune --keep NAME,… FILE -o OUT
       solder prune [OPTION]… FILE… -d DIR | --in-place

Removes device code that is not wanted from fat binaries, objects, archives, executables and shared libraries. Addresses,
symbols and all other sections stay. A file is written whole and read back before it takes its place; one that cannot
be pruned with certainty is left as it is. The file - is standard input.

  --keep NAME,…     keep only these: sm_90a and lto_90 are kinds of code, compute_90 is PTX, 90 is any of them
  --drop-ptx        remove PTX
  --strip-debug     remove debug and line information from machine code, of cubins too; PTX and LTO IR stay as they are
  --dedup           store equal fat binaries of a section once
  --compress HOW    store members with zstd, in less room (max), or as they are (none)
  -o FILE           write here; with one file
  -d DIR            write files of the same names into this folder, which is made
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
        let (mut files, mut policy, mut targets) = (Vec::new(), Policy::default(), Vec::new());
        let mut words = Reader::new(words, &OPTIONS, USAGE);
        while let Some(word) = words.next()? {
            match word {
                Word::File(file) => files.push(file),
                Word::Option("--drop-ptx", _) => policy.drop_ptx = true,
                Word::Option("--strip-debug", _) => policy.strip_debug = true,
                Word::Option("--dedup", _) => policy.dedup = true,
                Word::Option("--in-place", _) => targets.push(Target::InPlace),
                Word::Option("--keep", Some(names)) => policy.keep.extend(Wanted::list(&names)?),
                Word::Option("--compress", Some(how)) => {
                    policy.packing = Some(packing(&how.to_string_lossy())?);
                }
                Word::Option("-o", Some(file)) => targets.push(Target::File(file.into())),
                Word::Option("-d", Some(folder)) => targets.push(Target::Folder(folder.into())),
                Word::Option(..) => return Ok(None),
            }
        }
        if files.is_empty() {
            return Err(words.wrong("no file given"));
        }
        if policy.is_idle() {
            return Err("nothing to do: give --keep, --drop-ptx, --strip-debug, --dedup or --compress".into());
        }
        let target = targets.pop().ok_or("give -o FILE, -d DIR or --in-place")?;
        if !targets.is_empty() {
            return Err("give one of -o FILE, -d DIR and --in-place".into());
        }
        if matches!(target, Target::File(_)) && files.len() > 1 {
            return Err("-o is for one file; give -d DIR or --in-place".into());
        }
        // A file is read back before it takes its place, which cannot be done with a stream.
        if matches!(&target, Target::File(file) if file.as_os_str() == STANDARD_INPUT) {
            return Err("-o takes a file; nothing is written to standard output".into());
        }
        Ok(Some(Self { files, policy, target }))
    }

    /// Where each file goes. Nothing is written twice, and no file is replaced that is not to be replaced.
    pub(super) fn targets(&self) -> Result<Vec<PathBuf>, String> {
        let targets: Vec<PathBuf> =
            self.files.iter().map(|file| self.target.of(file)).collect::<Result<_, _>>()?;
        if matches!(self.target, Target::InPlace) {
            return Ok(targets);
        }
        for (index, target) in targets.iter().enumerate() {
            if let Some(other) = targets[..index].iter().position(|other| is_same(other, target)) {
                let [one, two] = [other, index].map(|at| self.files[at].display());
                return Err(format!("'{one}' and '{two}' would both be written to '{}'", target.display()));
            }
            if let Some(file) = self.files.iter().find(|file| is_same(Path::new(file), target)) {
                let file = file.display();
                return Err(format!(
                    "'{}' is the input '{file}'; --in-place replaces inputs",
                    target.display()
                ));
            }
        }
        Ok(targets)
    }
}

impl Target {
    fn of(&self, file: &OsStr) -> Result<PathBuf, String> {
        let path = Path::new(file);
        match self {
            Self::File(target) => Ok(target.clone()),
            _ if file == STANDARD_INPUT => Err("standard input has no name; give -o FILE".into()),
            Self::InPlace => Ok(path.to_path_buf()),
            Self::Folder(folder) => {
                let name = path.file_name().ok_or_else(|| format!("'{}': it has no name", path.display()))?;
                Ok(folder.join(name))
            }
        }
    }
}

/// Whether two paths lead to one file, or would if it were there.
fn is_same(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    a == b || identity(a).is_some_and(|found| identity(b) == Some(found))
}

fn packing(how: &str) -> Result<Packing, String> {
    match how {
        "zstd" => Ok(Packing::Zstd),
        "max" => Ok(Packing::Smallest),
        "none" => Ok(Packing::None),
        _ => Err(format!("--compress takes zstd, max or none, not '{how}'")),
    }
}
