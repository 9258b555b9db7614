//! The folder as a whole: how much is in it, and what goes when that is too much.
//!
//! Several links, of several users and machines, may read, add and remove at the same time. So nothing is locked and
//! nothing is relied upon: an entry that vanishes is one that is made again, and the total is an estimate that a look at
//! the folder corrects.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How much a cache keeps if nobody says otherwise.
pub const DEFAULT_LIMIT: u64 = 5 << 30;

/// The file with the estimated total.
const TOTAL: &str = "total";

/// An estimate that nobody wrote for so long is not trusted: entries may have been removed by hand. Links that write it at the
/// same time may lose what the other added; it is made anew when the limit is reached, or by `prune`.
const TRUSTED: Duration = Duration::from_hours(24);

/// What a killed link was writing is removed after this time.
const ABANDONED: Duration = Duration::from_hours(1);

/// What is in a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The number of entries.
    pub entries: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// An entry's file.
struct Entry {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// What is in a folder now.
pub fn usage(folder: &Path) -> io::Result<Usage> {
    let entries = entries(folder)?;
    Ok(Usage { entries: entries.len() as u64, bytes: entries.iter().map(|entry| entry.bytes).sum() })
}

/// Removes what was not used for the longest time until no more than `limit` bytes are left; what was removed. Files that
/// are not the cache's own stay.
pub fn prune(folder: &Path, limit: u64) -> io::Result<Usage> {
    let mut entries = entries(folder)?;
    entries.sort_by(|a, b| (a.used, &a.path).cmp(&(b.used, &b.path)));
    let mut left: u64 = entries.iter().map(|entry| entry.bytes).sum();
    let mut removed = Usage::default();
    for entry in &entries {
        if left <= limit {
            break;
        }
        match fs::remove_file(&entry.path) {
            Ok(()) => {
                removed.entries += 1;
                removed.bytes += entry.bytes;
            }
            // Another link was faster.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        left -= entry.bytes;
    }
    remove_abandoned(folder);
    note(folder, left);
    Ok(removed)
}

/// Notes that so many bytes were added, and removes old entries if there are too many now.
pub(super) fn added(folder: &Path, bytes: u64, limit: u64) {
    let total = estimate(folder).map(|total| total.saturating_add(bytes));
    match total {
        Some(total) if total <= limit => {
            note(folder, total);
        }
        // Some room is made, so that the next entry does not have to.
        _ => {
            let room = if total.is_some() { limit / 10 } else { 0 };
            let _ = prune(folder, limit - room);
        }
    }
}

/// Notes the size. What is no file was put there by somebody else, and may be a pipe, which would be waited for.
fn note(folder: &Path, bytes: u64) {
    let path = folder.join(TOTAL);
    if fs::metadata(&path).map_or(true, |found| found.is_file()) {
        let _ = fs::write(path, bytes.to_string());
    }
}

fn estimate(folder: &Path) -> Option<u64> {
    let path = folder.join(TOTAL);
    let age = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?.modified().ok()?.elapsed().ok()?;
    (age < TRUSTED).then(|| fs::read_to_string(path).ok()?.trim().parse().ok())?
}

/// The entries, in no order.
fn entries(folder: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for file in files(folder)? {
        let is_entry = file.file_name().is_some_and(|name| is_hexadecimal(name, 62));
        // One that is gone was removed by another link.
        let Some(found) = is_entry.then(|| fs::symlink_metadata(&file).ok()).flatten() else { continue };
        if found.is_file() {
            let used = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            entries.push(Entry { path: file, bytes: found.len(), used });
        }
    }
    Ok(entries)
}

/// All files in the folders that hold entries.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for part in fs::read_dir(folder)? {
        let part = part?;
        if is_hexadecimal(&part.file_name(), 2)
            && let Ok(found) = fs::read_dir(part.path())
        {
            files.extend(found.flatten().map(|file| file.path()));
        }
    }
    Ok(files)
}

fn remove_abandoned(folder: &Path) {
    let is_old = |file: &Path| {
        let modified = fs::symlink_metadata(file).and_then(|found| found.modified());
        modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > ABANDONED))
    };
    for file in files(folder).unwrap_or_default() {
        if file.file_name().is_some_and(is_temporary) && is_old(&file) {
            let _ = fs::remove_file(file);
        }
    }
}

/// The name that an entry has while it is written: `.PROCESS-NUMBER`.
fn is_temporary(name: &std::ffi::OsStr) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts = name.to_str().and_then(|name| name.strip_prefix('.')?.split_once('-'));
    parts.is_some_and(|(process, count)| number(process) && number(count))
}

fn is_hexadecimal(name: &std::ffi::OsStr, length: usize) -> bool {
    let name = name.as_encoded_bytes();
    name.len() == length && name.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Folder, key};
    use super::*;

    fn age(path: &Path, seconds: u64) {
        let file = fs::File::options().write(true).open(path).expect("an entry");
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).expect("ours");
    }

    #[test]
    fn what_was_not_used_goes_first() {
        let folder = Folder::new("prune");
        let cache = folder.cache();
        let keys: Vec<_> = ["a", "b", "c"].map(|name| key(&[name])).into();
        for (number, key) in keys.iter().enumerate() {
            cache.put(key, &[&[0; 1000]]);
            age(&cache.path(&key.hash()).expect("a folder"), 100 - 10 * number as u64);
        }
        let all = usage(&folder.0).expect("readable");
        assert_eq!(all.entries, 3);
        // The oldest is used again.
        assert!(cache.get(&keys[0]).is_some());
        let removed = prune(&folder.0, all.bytes - 1).expect("writable");
        assert_eq!(removed, Usage { entries: 1, bytes: all.bytes / 3 });
        assert!(cache.get(&keys[0]).is_some() && cache.get(&keys[1]).is_none());
        prune(&folder.0, 0).expect("writable");
        assert_eq!(usage(&folder.0).expect("readable"), Usage::default());
    }

    #[test]
    fn it_does_not_grow_beyond_its_limit() {
        let folder = Folder::new("limit");
        let cache = folder.cache().with_limit(10_000);
        for number in 0..50 {
            cache.put(&key(&[&number.to_string()]), &[&[0; 1000]]);
            assert!(usage(&folder.0).expect("readable").bytes <= 10_000, "after {number}");
        }
        assert!(usage(&folder.0).expect("readable").entries > 5);
    }

    #[test]
    fn foreign_files_stay() {
        let folder = Folder::new("foreign");
        let cache = folder.cache();
        cache.put(&key(&["x"]), &[b"content"]);
        let foreign = ["note.txt", "ab/note.txt", "ab/.hidden", "abc/0", "ab/.1-x"];
        for name in foreign {
            let path = folder.0.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
            fs::write(&path, b"mine").expect("writable");
            age(&path, 1_000_000);
        }
        let abandoned = folder.0.join("ab/.123-4");
        fs::write(&abandoned, b"half").expect("writable");
        prune(&folder.0, 0).expect("writable");
        assert!(abandoned.exists(), "it may still be written");
        age(&abandoned, 10_000);
        prune(&folder.0, 0).expect("writable");
        assert!(!abandoned.exists() && foreign.iter().all(|name| folder.0.join(name).exists()));
    }

    #[test]
    fn a_wrong_total_is_corrected() {
        let folder = Folder::new("total");
        let cache = folder.cache().with_limit(100_000);
        for (number, text) in ["nonsense", "99999999", "-1", "18446744073709551615"].iter().enumerate() {
            cache.put(&key(&["first"]), &[b"content"]);
            fs::write(folder.0.join(TOTAL), text).expect("writable");
            cache.put(&key(&[&number.to_string()]), &[b"content"]);
            let total: u64 =
                fs::read_to_string(folder.0.join(TOTAL)).expect("there").parse().expect("a number");
            assert_eq!(total, usage(&folder.0).expect("readable").bytes);
        }
    }
}
