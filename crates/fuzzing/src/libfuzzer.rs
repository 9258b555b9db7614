//! The targets as libFuzzer drives them (see `fuzz/` at the root of the repository).

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::corpus::Corpus;
use crate::rng::Rng;
use crate::targets::Target;

fn target(name: &str) -> &'static Target {
    Target::named(name).expect("a target of the table")
}

fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| std::env::temp_dir().join(format!("solder-libfuzzer-{}", std::process::id())))
}

/// The cubins of this crate, as material for mutations.
fn corpus() -> &'static Corpus {
    static CORPUS: OnceLock<Corpus> = OnceLock::new();
    CORPUS.get_or_init(|| Corpus::read(&[Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")]))
}

/// Feeds an input to a target. A promise that was not kept is a panic, which libFuzzer takes for a crash.
pub fn run(name: &str, data: &[u8]) {
    let result = (target(name).run)(data, folder());
    // The files of this input would be strays in the eyes of the next.
    let _ = std::fs::remove_dir_all(folder());
    if let Err(reason) = result {
        panic!("{reason}");
    }
}

/// Changes the first `size` bytes of `data` in the terms of their format; the value is their new number.
pub fn mutate(name: &str, data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut input = data[..size].to_vec();
    (target(name).mutate)(&mut Rng::new(u64::from(seed)), &mut input, corpus());
    let size = input.len().min(max_size).min(data.len());
    data[..size].copy_from_slice(&input[..size]);
    size
}
