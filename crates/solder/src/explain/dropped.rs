//! What a link leaves out without a word: said only where explanations are asked for.

use std::path::Path;

use solder_toolchain::Cache;

use super::context::Explain;
use crate::cache::{STORE_VARIABLE, Settings};
use crate::diagnostics::{Format, Message, Receiver, Severity};
use crate::load::survey::{self, FileState, Missing};

impl Explain<'_, '_> {
    /// Reports files that were passed over, libraries that were not found, and a cache that keeps nothing.
    #[cold]
    pub fn dropped(self, cache: &Cache<'_>) {
        if !self.options.explain && self.options.error_format == Format::Text {
            return;
        }
        let say = |message: Message| self.printer.message(Severity::Info, &message);
        for file in self.survey.files.iter().filter(|file| file.state == FileState::PassedOver) {
            say(Message::InputPassedOver { file: (&file.path).into(), reason: why(&file.path) });
        }
        let (missing, folders) = survey::missing(self.options, std::env::var_os("LIBRARY_PATH").as_deref());
        let names: Vec<String> = missing
            .iter()
            .filter(|(_, missing)| *missing == Missing::NotFound)
            .map(|(library, _)| format!("-l{}", library.to_string_lossy()))
            .collect();
        if !names.is_empty() {
            let places: Vec<String> =
                folders.iter().map(|folder| format!("'{}'", folder.display())).collect();
            let places =
                if places.is_empty() { "no folder, for want of -L".into() } else { places.join(", ") };
            say(Message::LibrariesNotFound { libraries: names.join(", ").into(), places: places.into() });
        }
        for problem in Settings::new(self.options.cache_dir.as_deref()).problems {
            say(Message::CacheSetting { problem: problem.into() });
        }
        if let Err(reason) = cache.check_store() {
            let url = std::env::var_os(STORE_VARIABLE).unwrap_or_default();
            say(Message::CacheNotUsed { folder: Path::new(&url).into(), reason: reason.into() });
        }
        if let Some(folder) = cache.folder()
            && let Err(error) = cache.check()
        {
            let reason = super::command_line::reason(&error);
            say(Message::CacheNotUsed { folder: folder.into(), reason: reason.into() });
        }
    }
}

fn why(path: &Path) -> &'static str {
    let is_source = path.extension().is_some_and(|ending| {
        ["cu", "cpp", "cc", "cxx", "c", "h", "cuh"].iter().any(|source| ending == *source)
    });
    match std::fs::metadata(path) {
        Ok(found) if found.len() == 0 && found.is_file() => "it is empty",
        _ if is_source => "it is a source file, which nvcc compiles and a linker does not",
        _ => "by its name and contents it is not a device input",
    }
}
