//! The user's cache folder: content keys, atomic publication, locks between processes.

use crate::Result;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// `$XDG_CACHE_HOME/solder`, or `~/.cache/solder`.
pub fn root() -> Result<PathBuf> {
    let base = match std::env::var_os("XDG_CACHE_HOME") {
        Some(dir) if Path::new(&dir).is_absolute() => PathBuf::from(dir),
        _ => {
            let home = std::env::var_os("HOME").ok_or("neither XDG_CACHE_HOME nor HOME is set")?;
            PathBuf::from(home).join(".cache")
        }
    };
    let root = base.join("solder");
    fs::create_dir_all(&root).map_err(|e| at(&root, &e))?;
    Ok(root)
}

/// An I/O failure as a sentence that names the path.
pub fn at(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Holds an exclusive lock on `path` until dropped; other processes wait.
pub fn lock(path: &Path) -> Result<File> {
    let file = File::create(path).map_err(|e| at(path, &e))?;
    file.lock().map_err(|e| at(path, &e))?;
    Ok(file)
}

/// A name beside `target` that nobody else uses, for content that is renamed into place later.
pub fn staging(target: &Path) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let serial = COUNTER.fetch_add(1, Ordering::Relaxed);
    let mut name = target.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".partial-{}-{serial}", std::process::id()));
    target.with_file_name(name)
}

/// Removes what killed processes left of their staging for `target`; for holders of its lock.
pub fn remove_staged(target: &Path) {
    let prefix = format!("{}.partial-", target.file_name().unwrap_or_default().to_string_lossy());
    let siblings = target.parent().and_then(|parent| fs::read_dir(parent).ok());
    for entry in siblings.into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&prefix) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Renames a finished staging folder to `target`. Losing the race to another process is success:
/// both made the same content.
pub fn publish(staged: &Path, target: &Path) -> Result<()> {
    match fs::rename(staged, target) {
        Ok(()) => Ok(()),
        Err(_) if target.exists() => fs::remove_dir_all(staged).map_err(|e| at(staged, &e)),
        Err(e) => Err(at(target, &e)),
    }
}

/// The folder `root`, which `fill` makes first if need be: below the folder that it is given, and says where. Other
/// processes wait.
pub fn make(root: &Path, what: &str, fill: impl FnOnce(&Path) -> Result<PathBuf>) -> Result<PathBuf> {
    if root.is_dir() {
        return Ok(root.to_path_buf());
    }
    let parent = root.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(|e| at(parent, &e))?;
    let _lock = lock(&root.with_added_extension("lock"))?;
    if root.is_dir() {
        return Ok(root.to_path_buf());
    }
    eprintln!("installing {what} into {}", root.display());
    remove_staged(root);
    let staged = staging(root);
    let made = fs::create_dir_all(&staged).map_err(|e| at(&staged, &e));
    let made = made.and_then(|()| fill(&staged)).and_then(|tree| publish(&tree, root));
    let _ = fs::remove_dir_all(&staged);
    made.map(|()| root.to_path_buf()).map_err(|e| format!("could not install {what}: {e}"))
}

/// A 128-bit FNV-1a hash over length-prefixed fields. Nothing here defends against an adversary: the
/// keys only have to tell contents apart, and to be the same on every run.
#[derive(Clone)]
pub struct Key(u128);

impl Key {
    pub fn new(purpose: &str) -> Self {
        let mut key = Self(0x6c62272e07bb014262b821756295c58d);
        key.text(purpose);
        key
    }

    pub fn bytes(&mut self, field: &[u8]) -> &mut Self {
        self.absorb(&(field.len() as u64).to_le_bytes());
        self.absorb(field);
        self
    }

    pub fn text(&mut self, field: &str) -> &mut Self {
        self.bytes(field.as_bytes())
    }

    pub fn list(&mut self, fields: &[String]) -> &mut Self {
        self.absorb(&(fields.len() as u64).to_le_bytes());
        for field in fields {
            self.text(field);
        }
        self
    }

    pub fn hex(&self) -> String {
        // FNV leaves the last bytes' influence in few bits; this spreads it, and keeps keys distinct.
        let mut hash = self.0 ^ (self.0 >> 67);
        hash = hash.wrapping_mul(0x9e3779b97f4a7c15f39cc0605cedc835);
        format!("{:032x}", hash ^ (hash >> 59))
    }

    fn absorb(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(0x0000000001000000000000000000013b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_kept_apart() {
        let (mut a, mut b) = (Key::new("t"), Key::new("t"));
        a.text("ab").text("c");
        b.text("a").text("bc");
        assert_ne!(a.hex(), b.hex());
    }

    #[test]
    fn publishing_twice_keeps_the_first() {
        let dir = std::env::temp_dir().join(format!("solder-publish-{}", std::process::id()));
        let target = dir.join("entry");
        for content in ["first", "second"] {
            let staged = staging(&target);
            fs::create_dir_all(&staged).unwrap();
            fs::write(staged.join("file"), content).unwrap();
            publish(&staged, &target).unwrap();
            assert!(!staged.exists());
        }
        assert_eq!(fs::read_to_string(target.join("file")).unwrap(), "first");
        fs::remove_dir_all(dir).unwrap();
    }
}
