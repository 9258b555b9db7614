//! Inputs that several links share: each file is opened once, and told apart once for all links that would find the same in it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use solder_arch::Release;

use super::arena::Arena;
use super::open::{self, Opened};
use crate::options::Options;
use solder_link::load::PARALLEL_FROM;
use solder_link::pool::Pool;

/// What decides what is found in files.
#[derive(Clone, PartialEq, Eq)]
struct Key {
    files: Vec<PathBuf>,
    release: &'static Release,
    lto: bool,
}

/// The files of a link, in their order. The first link that asks opens them, and others wait.
type Files<'files> = Arc<OnceLock<Vec<Opened<'files>>>>;

/// Inputs of several links.
pub struct Shared<'files> {
    arena: &'files Arena,
    opened: Mutex<Vec<(Key, Files<'files>)>>,
}

impl<'files> Shared<'files> {
    /// `arena` owns the files.
    pub fn new(arena: &'files Arena) -> Self {
        Self { arena, opened: Mutex::default() }
    }

    /// What the files turn out to be. Of each file all is kept, since the links need different parts of it. `arena` is that
    /// of the link that asks.
    pub(super) fn open(
        &self,
        files: &[&Path],
        options: &Options,
        arena: &Arena,
        pool: &Pool,
    ) -> Vec<Opened<'files>> {
        let key = Key {
            files: files.iter().map(|file| file.to_path_buf()).collect(),
            release: options.release,
            lto: options.lto,
        };
        let entry = {
            let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, files)) = opened.iter().find(|(known, _)| *known == key) {
                Arc::clone(files)
            } else {
                let files = Files::default();
                opened.push((key, Arc::clone(&files)));
                files
            }
        };
        let open = |path: &&Path| open::open(path, options, self.arena, pool);
        let opened = entry.get_or_init(|| pool.map(files, files.len() >= PARALLEL_FROM, open)).clone();
        arena.note_all(self.arena);
        opened
    }
}
