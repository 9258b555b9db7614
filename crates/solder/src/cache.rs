//! Which cache a link uses: the folder that an option names, the one that the environment names, or the usual one if it is
//! there; and a store on another machine, if the environment names one.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use solder_toolchain::cache::folder::DEFAULT_LIMIT;
use solder_toolchain::{Cache, Store, Supervisor};

/// The folder. An empty value says that there is none.
pub const FOLDER_VARIABLE: &str = "SOLDER_CACHE_DIR";
/// The most bytes in the folder, such as `5G`.
pub const SIZE_VARIABLE: &str = "SOLDER_CACHE_SIZE";
/// The address of a store on another machine.
pub const STORE_VARIABLE: &str = "SOLDER_CACHE_URL";

/// What the options and the environment say about the cache.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Settings {
    pub folder: Option<PathBuf>,
    pub limit: u64,
    pub store: Option<String>,
    /// Values that make no sense, each as a sentence; the link goes on without them.
    pub problems: Vec<String>,
}

impl Settings {
    /// `named` is the folder of `--cache-dir`.
    pub fn new(named: Option<&Path>) -> Self {
        Self::with(named, |name| std::env::var_os(name), Path::is_dir)
    }

    fn with(
        named: Option<&Path>,
        variable: impl Fn(&str) -> Option<OsString>,
        is_folder: impl Fn(&Path) -> bool,
    ) -> Self {
        let mut problems = Vec::new();
        let text = |name: &str| variable(name).filter(|value| !value.is_empty());
        let mut store = text(STORE_VARIABLE).map(|value| value.to_string_lossy().into_owned());
        if let Some(Err(reason)) = store.as_deref().map(Store::new) {
            problems.push(format!("{STORE_VARIABLE} cannot be used: {reason}"));
            store = None;
        }
        let folder = match (named, variable(FOLDER_VARIABLE)) {
            (Some(folder), _) => Some(folder.to_path_buf()),
            (None, Some(folder)) => Some(folder.into()),
            // A store is used together with a folder.
            (None, None) => usual_folder(&variable).filter(|folder| store.is_some() || is_folder(folder)),
        };
        let size = text(SIZE_VARIABLE).map(|value| value.to_string_lossy().into_owned());
        let limit = size.map_or(DEFAULT_LIMIT, |size| {
            bytes(&size).unwrap_or_else(|| {
                problems.push(format!("{SIZE_VARIABLE} is '{size}', which is not a size such as 500M or 5G"));
                DEFAULT_LIMIT
            })
        });
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
        Self { folder, limit, store, problems }
    }

    /// The cache itself.
    pub fn cache<'a>(&self, supervisor: &'a dyn Supervisor) -> Cache<'a> {
        let store = self.store.as_deref().and_then(|url| Store::new(url).ok());
        Cache::new(self.folder.clone(), supervisor).with_limit(self.limit).with_store(store)
    }
}

/// The folder that is used without being named, once it is there.
pub fn usual_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let root = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = root("XDG_CACHE_HOME").or_else(|| Some(root("HOME")?.join(".cache")))?;
    Some(base.join("solder/results"))
}

/// A number of bytes, with or without a letter for a unit: `K` is 1,024, and so on.
pub fn bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let upper = text.to_ascii_uppercase();
    let upper = upper.strip_suffix('B').unwrap_or(&upper);
    let (digits, unit) = match upper.strip_suffix(['K', 'M', 'G', 'T']) {
        Some(digits) => (digits, &upper[digits.len()..]),
        None => (upper, ""),
    };
    let unit = match unit {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => 1 << 40,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(named: Option<&str>, variables: &[(&str, &str)], usual: bool) -> Settings {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        Settings::with(named.map(Path::new), variable, |_| usual)
    }

    #[test]
    fn the_nearest_word_decides() {
        let home = ("HOME", "/home/a");
        let folder = |named, variables: &[_], usual| settings(named, variables, usual).folder;
        assert_eq!(folder(None, &[home], false), None);
        assert_eq!(folder(None, &[home], true), Some("/home/a/.cache/solder/results".into()));
        assert_eq!(folder(None, &[home, ("XDG_CACHE_HOME", "/c")], true), Some("/c/solder/results".into()));
        assert_eq!(folder(None, &[home, (FOLDER_VARIABLE, "/x")], true), Some("/x".into()));
        assert_eq!(folder(None, &[home, (FOLDER_VARIABLE, "")], true), None);
        assert_eq!(folder(Some("/y"), &[home, (FOLDER_VARIABLE, "/x")], true), Some("/y".into()));
        assert_eq!(folder(Some(""), &[home], true), None);
        let store = (STORE_VARIABLE, "http://x");
        assert_eq!(folder(None, &[home, store], false), Some("/home/a/.cache/solder/results".into()));
    }

    #[test]
    fn values_that_make_no_sense() {
        let settings = settings(None, &[(SIZE_VARIABLE, "many"), (STORE_VARIABLE, "ftp://x")], false);
        assert_eq!((settings.limit, settings.store, settings.problems.len()), (DEFAULT_LIMIT, None, 2));
    }

    #[test]
    fn sizes() {
        for (text, size) in [("0", 0), ("17", 17), ("5G", 5 << 30), ("200 MB", 0), ("200mb", 200 << 20)] {
            assert_eq!(bytes(text).unwrap_or(0), size, "{text}");
        }
        assert_eq!(bytes("99999999999T"), None);
        assert_eq!(bytes("-1"), None);
    }
}
