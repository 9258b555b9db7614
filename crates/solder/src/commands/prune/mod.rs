//! `solder prune`: files without the device code that is not wanted.
//!
//! The new file is written beside the old one, read back and only then put in its place. What cannot be corrected with
//! certainty is refused, and the file stays as it is.

mod aarch64;
mod archive;
mod containers;
mod data;
mod entry;
mod file;
mod host;
mod image;
mod layout;
mod machine;
mod object;
mod options;
mod pieces;
mod policy;
mod references;
mod x86;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

use super::screen::{grouped, short};
use super::words::{eprint, open, print};
use crate::load::{Arena, look_at};
use crate::output::replace_file;
use containers::{Counts, Pruned};
use options::{Asked, Target, USAGE};
use policy::Policy;

pub fn run(words: &[OsString]) -> Result<(), String> {
    let Some(asked) = Asked::parse(words)? else {
        print(USAGE);
        return Ok(());
    };
    let targets = asked.targets()?;
    if let Target::Folder(folder) = &asked.target {
        fs::create_dir_all(folder).map_err(|error| format!("'{}': {error}", folder.display()))?;
    }
    let mut failed = 0;
    for (name, target) in asked.files.iter().zip(&targets) {
        let path = Path::new(name);
        if let Err(reason) = one(path, target, &asked.policy) {
            eprint(&format!("solder prune: '{}': {reason}\n", path.display()));
            failed += 1;
        }
    }
    match failed {
        0 => Ok(()),
        count => Err(format!("{count} of {} files not pruned", asked.files.len())),
    }
}

fn one(path: &Path, target: &Path, policy: &Policy) -> Result<(), String> {
    let arena = Arena::default();
    let file = open(path, &arena).map_err(|error| error.to_string())?;
    let pruned = file::prune(file.data, policy)?;
    if fs::metadata(target).is_ok_and(|found| !found.is_file()) {
        return Err(format!("'{}' is not a regular file", target.display()));
    }
    write(target, path, &pruned, policy)?;
    let Counts { members, kept, stripped, .. } = pruned.counts;
    let stripped = match stripped {
        0 => String::new(),
        count => format!(", {} stripped", grouped(count as u64)),
    };
    if kept == 0 {
        eprint(&format!("solder prune: warning: '{}': no device code is left\n", path.display()));
    }
    print(&format!(
        "{}: {} of {} members kept{stripped}, {} -> {}\n",
        target.display(),
        grouped(kept as u64),
        grouped(members as u64),
        short(file.data.len() as u64),
        short(pruned.pieces.size())
    ));
    Ok(())
}

fn write(target: &Path, like: &Path, pruned: &Pruned<'_>, policy: &Policy) -> Result<(), String> {
    let mut problem = None;
    let written = replace_file(target, &mut |file| {
        // Those of a pipe say nothing about a file.
        if let Some(metadata) = fs::metadata(like).ok().filter(fs::Metadata::is_file) {
            owned_like(file, &metadata, target)?;
        }
        pruned.pieces.write(file)?;
        problem = verify(file, pruned, policy)?;
        if problem.is_some() { Err(io::ErrorKind::InvalidData.into()) } else { Ok(()) }
    });
    match (problem, written) {
        (Some(problem), _) => Err(format!("what was written is not sound: {problem}; nothing was changed")),
        (None, written) => written.map_err(|error| error.reason(target)),
    }
}

/// Gives the new file the permissions of the old one, and where it replaces that one its owner, if that is allowed. Rights that
/// a program has from its owner stay only with that owner.
fn owned_like(file: &File, old: &fs::Metadata, target: &Path) -> io::Result<()> {
    const WITHOUT_OWNERS_RIGHTS: u32 = 0o1777;
    if fs::metadata(target).is_ok_and(|found| (found.dev(), found.ino()) == (old.dev(), old.ino())) {
        // The owner first, then the group alone, which may be allowed without the owner.
        drop(fchown(file, Some(old.uid()), Some(old.gid())).or_else(|_| fchown(file, None, Some(old.gid()))));
    }
    let new = file.metadata()?;
    let is_same = (new.uid(), new.gid()) == (old.uid(), old.gid());
    let mode = if is_same { old.mode() } else { old.mode() & WITHOUT_OWNERS_RIGHTS };
    file.set_permissions(fs::Permissions::from_mode(mode))
}

/// Reads back what was written; what is wrong with it.
fn verify(file: &File, pruned: &Pruned<'_>, policy: &Policy) -> io::Result<Option<String>> {
    let arena = Arena::default();
    let written = look_at(file, &arena)?;
    if !pruned.pieces.are(written.data) {
        return Ok(Some("it reads back differently".into()));
    }
    let again = Policy {
        keep: policy.keep.clone(),
        drop_ptx: policy.drop_ptx,
        strip_debug: policy.strip_debug,
        ..Policy::default()
    };
    Ok(match file::prune(written.data, &again) {
        Err(reason) => Some(reason),
        Ok(again)
            if (again.counts.members, again.counts.kept) != (pruned.counts.stored, pruned.counts.stored) =>
        {
            Some("it has other members".into())
        }
        Ok(again) if again.counts.stripped > 0 => Some("it still has debug information".into()),
        Ok(_) => None,
    })
}
