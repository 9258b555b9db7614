//! Makes the inputs of a workload once and keeps them in the user's cache folder.

use super::maker::{FLOOR, LINKS, Maker};
use super::workloads::Workload;
use crate::Result;
use crate::cache::{self, Key, at};
use std::fs;
use std::path::{Path, PathBuf};

/// Changes when the inputs do.
const GENERATOR: &str = "1";

/// The inputs of a workload of one size.
#[derive(Clone, Debug)]
pub struct Inputs {
    pub folder: PathBuf,
    /// Arguments of each link, in order; `{out}` is the folder for outputs.
    pub links: Vec<Vec<String>>,
    /// All files that are read.
    pub files: Vec<String>,
}

impl Inputs {
    /// The first link, and the rest.
    pub fn split(&self) -> (Option<Self>, Self) {
        let (first, rest) = self.links.split_at(1);
        let only = |links: &[Vec<String>]| Self { links: links.to_vec(), ..self.clone() };
        (Some(only(first)), only(rest))
    }
}

/// The cached inputs, made first if need be.
pub fn ensure(toolkit: &Path, workload: &Workload, size: usize) -> Result<Inputs> {
    let mut key = Key::new("bench inputs");
    key.text(GENERATOR).text(&toolkit.to_string_lossy()).text(workload.inputs).text(&size.to_string());
    let cache = cache::root()?.join("bench");
    fs::create_dir_all(&cache).map_err(|e| at(&cache, &e))?;
    let folder = cache.join(format!("{}-{size}-{}", workload.inputs, &key.hex()[..8]));
    let _lock = cache::lock(&cache.join("lock"))?;
    if !folder.is_dir() {
        eprintln!("making the inputs of {} {size}", workload.name);
        cache::remove_staged(&folder);
        let staged = cache::staging(&folder);
        fs::create_dir_all(&staged).map_err(|e| at(&staged, &e))?;
        let mut maker = Maker::new(toolkit, &staged);
        let made = (workload.make)(&mut maker, size).and_then(|()| maker.finish());
        if let Err(message) = made {
            let _ = fs::remove_dir_all(&staged);
            return Err(format!("{} {size}: {message}", workload.name));
        }
        cache::publish(&staged, &folder)?;
    }
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).map_err(|e| at(&path, &e))
    };
    let links = read(LINKS)?.lines().map(|line| line.split('\t').map(String::from).collect()).collect();
    let files = read(FLOOR)?.lines().map(String::from).collect();
    Ok(Inputs { folder, links, files })
}
