//! Results of compilations, kept in a folder under a hash of all that went into them: tool, options and bytes.
//!
//! Entries are written under a temporary name and renamed, so that links that run at the same time see whole entries
//! or none. An entry carries a checksum; one that does not fit is treated as absent.

pub mod folder;
mod store;

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use crate::Supervisor;
pub use store::Store;

/// Changes with the form of the entries.
const MAGIC: &[u8; 8] = b"solder\x00\x02";
const CHECKSUM: usize = 32;

/// What an entry is found by.
#[derive(Clone, Debug)]
pub struct Key(Sha256);

impl Key {
    /// The beginning of the key of one kind of entries.
    pub fn new(kind: &str) -> Self {
        let mut key = Self(Sha256::new_with_prefix(MAGIC));
        key.field(env!("CARGO_PKG_VERSION").as_bytes());
        key.field(kind.as_bytes());
        key
    }

    /// Adds a field. Fields cannot run into one another.
    pub fn field(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// Adds several fields as one.
    pub fn list<'a>(&mut self, items: impl ExactSizeIterator<Item = &'a [u8]>) {
        self.field(&(items.len() as u64).to_le_bytes());
        for item in items {
            self.field(item);
        }
    }

    fn hash(&self) -> [u8; 32] {
        self.0.clone().finalize().into()
    }
}

/// A folder of entries, with or without a store on another machine, or nothing.
#[derive(Debug)]
pub struct Cache<'a> {
    folder: Option<PathBuf>,
    /// The most bytes that stay in the folder.
    limit: u64,
    store: Option<Store>,
    supervisor: &'a dyn Supervisor,
    /// The number of the next temporary name.
    next: AtomicUsize,
}

impl<'a> Cache<'a> {
    /// A cache in a folder, which is made when the first entry is kept; without one nothing is kept.
    pub fn new(folder: Option<PathBuf>, supervisor: &'a dyn Supervisor) -> Self {
        Self { folder, limit: folder::DEFAULT_LIMIT, store: None, supervisor, next: AtomicUsize::new(0) }
    }

    /// The same with another limit for the bytes in the folder.
    #[must_use]
    pub fn with_limit(self, limit: u64) -> Self {
        Self { limit, ..self }
    }

    /// The same with a store on another machine, which is asked for what the folder does not have. Without a folder it is not used.
    #[must_use]
    pub fn with_store(self, store: Option<Store>) -> Self {
        Self { store, ..self }
    }

    /// Whether anything is kept.
    pub fn is_on(&self) -> bool {
        self.folder.is_some()
    }

    /// The folder.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The beginning of the key of what a tool makes: a program or library, by its contents, so that the same tool in
    /// another folder or on another machine finds the same entries.
    pub fn key(&self, kind: &str, tool: &Path) -> Key {
        let mut key = Key::new(kind);
        key.field(&self.identity(tool));
        key
    }

    /// The hash of a tool. To read it takes as long as some links, so it is kept for the file as it is now.
    fn identity(&self, tool: &Path) -> Vec<u8> {
        let path = fs::canonicalize(tool).unwrap_or_else(|_| tool.to_path_buf());
        let mut now = Key::new("tool");
        now.field(path.as_os_str().as_bytes());
        if let Ok(file) = fs::metadata(&path) {
            for number in [file.size(), file.ino(), file.mtime() as u64, file.mtime_nsec() as u64] {
                now.field(&number.to_le_bytes());
            }
        }
        if let Some(hash) = self.in_folder(&now).and_then(|mut fields| fields.pop()) {
            return hash;
        }
        let mut hash = Sha256::new();
        let read = fs::File::open(&path).and_then(|mut file| io::copy(&mut file, &mut hash));
        // The system may find a library by a name that is not a file.
        let Ok(_) = read else { return path.as_os_str().as_bytes().to_vec() };
        let hash = hash.finalize().to_vec();
        self.to_folder(&now, &entry(&now.hash(), &[&hash]));
        hash
    }

    /// Whether entries can be kept; an error says why not. A folder that is not there is made, as by the first entry.
    pub fn check(&self) -> io::Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let probe = folder.join(".probe");
        // Large enough to notice a full device.
        self.write(&probe, &vec![0; 1 << 16])?;
        fs::remove_file(probe)
    }

    /// Whether the store can be used, if there is one; an error says why not.
    pub fn check_store(&self) -> Result<(), &str> {
        self.store.as_ref().map_or(Ok(()), |store| store.check(self.supervisor))
    }

    /// The fields of an entry; `None` if it is not there or damaged.
    pub fn get(&self, key: &Key) -> Option<Vec<Vec<u8>>> {
        if let Some(fields) = self.in_folder(key) {
            return Some(fields);
        }
        let hash = key.hash();
        self.folder.as_ref()?;
        let bytes = self.store.as_ref()?.get(&name(&hash), self.supervisor)?;
        let fields = fields(&hash, &bytes)?;
        self.to_folder(key, &bytes);
        Some(fields)
    }

    /// Keeps an entry. That it cannot be kept is not a reason to fail.
    pub fn put(&self, key: &Key, fields: &[&[u8]]) {
        let hash = key.hash();
        let Some(path) = self.path(&hash) else { return };
        self.to_folder(key, &entry(&hash, fields));
        if let Some(store) = &self.store {
            store.put(&name(&hash), &path, self.supervisor);
        }
    }

    /// The fields of an entry of the folder, which is used now.
    fn in_folder(&self, key: &Key) -> Option<Vec<Vec<u8>>> {
        let hash = key.hash();
        let path = self.path(&hash)?;
        // To open a pipe would wait for who writes to it.
        fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
        let mut file = fs::File::open(path).ok()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        let fields = fields(&hash, &bytes)?;
        // Another user's entry, or one in a folder that cannot be written to, keeps its time.
        let _ = file.set_modified(SystemTime::now());
        Some(fields)
    }

    fn to_folder(&self, key: &Key, bytes: &[u8]) {
        let (Some(folder), Some(path)) = (&self.folder, self.path(&key.hash())) else { return };
        if self.write(&path, bytes).is_ok() {
            folder::added(folder, bytes.len() as u64, self.limit);
        }
    }

    fn path(&self, hash: &[u8; 32]) -> Option<PathBuf> {
        let name = name(hash);
        Some(self.folder.as_ref()?.join(&name[..2]).join(&name[2..]))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        loop {
            let name = format!(".{}-{}", std::process::id(), self.next.fetch_add(1, Ordering::Relaxed));
            let temporary = folder.join(name);
            let _guard = self.supervisor.temporary_file(&temporary);
            let mut file = match OpenOptions::new().write(true).create_new(true).open(&temporary) {
                Ok(file) => file,
                // Of another cache in this process, or left over.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            };
            let result = file.write_all(bytes).and_then(|()| fs::rename(&temporary, path));
            if result.is_err() {
                let _ = fs::remove_file(&temporary);
            }
            return result;
        }
    }
}

/// An entry's bytes.
fn entry(hash: &[u8; 32], fields: &[&[u8]]) -> Vec<u8> {
    let mut content = Vec::new();
    for field in fields {
        content.extend((field.len() as u64).to_le_bytes());
        content.extend_from_slice(field);
    }
    let checksum = checksum_of(hash, &content);
    [&MAGIC[..], &checksum, &content].concat()
}

/// The fields in an entry's bytes, if these are whole and of this entry.
fn fields(hash: &[u8; 32], bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (checksum, mut rest) = rest.split_at_checked(CHECKSUM)?;
    if checksum != checksum_of(hash, rest) {
        return None;
    }
    let mut fields = Vec::new();
    while !rest.is_empty() {
        let (size, tail) = rest.split_first_chunk::<8>()?;
        let (field, tail) = tail.split_at_checked(usize::try_from(u64::from_le_bytes(*size)).ok()?)?;
        fields.push(field.to_vec());
        rest = tail;
    }
    Some(fields)
}

fn name(hash: &[u8; 32]) -> String {
    hash.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(hexadecimal).collect()
}

fn hexadecimal(digit: u8) -> char {
    char::from_digit(u32::from(digit), 16).unwrap_or_default()
}

fn checksum_of(hash: &[u8; 32], content: &[u8]) -> [u8; CHECKSUM] {
    Sha256::new().chain_update(hash).chain_update(content).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unsupervised;

    pub(super) struct Folder(pub(super) PathBuf);

    impl Folder {
        pub(super) fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("solder-cache-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            Self(path)
        }

        pub(super) fn cache(&self) -> Cache<'static> {
            Cache::new(Some(self.0.clone()), &Unsupervised)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    pub(super) fn key(fields: &[&str]) -> Key {
        let mut key = Key::new("test");
        for field in fields {
            key.field(field.as_bytes());
        }
        key
    }

    #[test]
    fn kept_under_all_of_the_key() {
        let folder = Folder::new("kept");
        let cache = folder.cache();
        assert_eq!(cache.get(&key(&["a", "bc"])), None);
        cache.put(&key(&["a", "bc"]), &[b"one", b"", b"three"]);
        assert_eq!(cache.get(&key(&["a", "bc"])), Some(vec![b"one".to_vec(), vec![], b"three".to_vec()]));
        for other in [&["ab", "c"][..], &["abc"], &["a", "bc", ""], &["a", "bd"]] {
            assert_eq!(cache.get(&key(other)), None);
        }
    }

    #[test]
    fn damaged_entries_are_not_there() {
        let folder = Folder::new("damaged");
        let cache = folder.cache();
        let key = key(&["x"]);
        cache.put(&key, &[b"content"]);
        let path = cache.path(&key.hash()).expect("a folder");
        let entry = fs::read(&path).expect("the entry");
        for end in 0..entry.len() {
            fs::write(&path, &entry[..end]).expect("writable");
            assert_eq!(cache.get(&key), None, "cut at {end}");
        }
        for at in 0..entry.len() {
            let mut changed = entry.clone();
            changed[at] ^= 1;
            fs::write(&path, &changed).expect("writable");
            assert_eq!(cache.get(&key), None, "changed at {at}");
        }
        cache.put(&key, &[b"content"]);
        assert_eq!(cache.get(&key), Some(vec![b"content".to_vec()]));
    }

    #[test]
    fn pipes_are_not_waited_for() {
        let folder = Folder::new("pipes");
        let cache = folder.cache();
        let key = key(&["x"]);
        let path = cache.path(&key.hash()).expect("a folder");
        fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
        let made = std::process::Command::new("mkfifo").arg(&path).arg(folder.0.join("total")).status();
        assert!(made.is_ok_and(|status| status.success()));
        assert_eq!(cache.get(&key), None);
        cache.put(&key, &[b"content"]);
        assert_eq!(cache.get(&key), Some(vec![b"content".to_vec()]));
    }

    #[test]
    fn an_entry_under_another_name_is_not_taken() {
        let folder = Folder::new("moved");
        let cache = folder.cache();
        let (a, b) = (key(&["a"]), key(&["b"]));
        cache.put(&a, &[b"of a"]);
        cache.put(&b, &[b"of b"]);
        let path = |key: &Key| cache.path(&key.hash()).expect("a folder");
        fs::copy(path(&a), path(&b)).expect("writable");
        assert_eq!(cache.get(&b), None);
    }

    #[test]
    fn a_temporary_name_that_is_taken_is_passed_over() {
        let folder = Folder::new("taken");
        let key = key(&["x"]);
        let path = folder.cache().path(&key.hash()).expect("a folder");
        let taken = path.with_file_name(format!(".{}-0", std::process::id()));
        fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
        fs::write(&taken, b"of another").expect("writable");
        folder.cache().put(&key, &[b"content"]);
        assert_eq!(folder.cache().get(&key), Some(vec![b"content".to_vec()]));
        assert_eq!(fs::read(&taken).expect("still there"), b"of another");
    }

    #[test]
    fn a_tool_is_known_by_its_contents() {
        let folder = Folder::new("tool");
        let cache = folder.cache();
        fs::create_dir_all(folder.0.join("a")).expect("writable");
        fs::create_dir_all(folder.0.join("b")).expect("writable");
        let [here, there] = ["a/ptxas", "b/ptxas"].map(|name| folder.0.join(name));
        fs::write(&here, b"one").expect("writable");
        fs::write(&there, b"one").expect("writable");
        let hash = |tool: &Path| cache.key("x", tool).hash();
        assert_eq!(hash(&here), hash(&there));
        assert_eq!(hash(&here), hash(&there), "from the cache");
        fs::write(&there, b"another").expect("writable");
        assert_ne!(hash(&here), hash(&there));
        assert_ne!(hash(Path::new("libone.so")), hash(Path::new("libtwo.so")));
    }

    #[test]
    fn without_a_folder_nothing_is_kept() {
        let cache = Cache::new(None, &Unsupervised);
        cache.put(&key(&["x"]), &[b"content"]);
        assert!(!cache.is_on() && cache.get(&key(&["x"])).is_none());
    }
}
