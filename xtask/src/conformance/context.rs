//! What all runs share.

use super::emulate::Emulator;
use crate::assembler::{self, Assemblers};
use crate::jit::link::Library;
use crate::jit::published;
use crate::toolkit::Toolkit;
use crate::workspace::solder;
use crate::{Result, cache, process};
use solder_arch::Release;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

/// Tools, folders and options.
pub struct Context {
    pub toolkit: PathBuf,
    /// The newest version of PTX that the toolkit's assembler reads.
    pub ptx: (u32, u32),
    /// The release that both linkers are.
    pub release: &'static Release,
    pub solder: PathBuf,
    pub cache: PathBuf,
    pub scratch: PathBuf,
    /// The toolkit's tools first, then the host's.
    pub path: OsString,
    /// The versions of the tools that the cached results come from.
    pub fingerprint: String,
    pub in_progress: InProgress,
    pub assemblers: Assemblers,
    /// In the place of the toolkit's nvlink.
    pub library: Option<Library>,
    /// In the place of the toolkit's ptxas.
    pub assembler: Option<&'static assembler::Release>,
    /// Runs both linkers, if they are another machine's.
    pub emulator: Option<Emulator>,
    pub fresh: bool,
    pub keep: bool,
    pub bless: bool,
    /// Variables for solder.
    pub env: Vec<(String, String)>,
}

impl Context {
    pub fn new(of: &Toolkit, fresh: bool, keep: bool, bless: bool) -> Result<Self> {
        Self::with(of, solder()?, fresh, keep, bless)
    }

    /// For linkers of another machine.
    pub fn emulated(of: &Toolkit, machine: &str, fresh: bool, keep: bool) -> Result<Self> {
        let emulator = Emulator::new(machine, of)?;
        let context = Self::with(of, emulator.solder.clone(), fresh, keep, false)?;
        Ok(Self { emulator: Some(emulator), ..context })
    }

    /// For the libnvJitLink of a release in the place of an nvlink. All but assembled inputs are the toolkit's.
    pub fn for_library(of: &published::Library, keep: bool) -> Result<Self> {
        let mut context = Self::with(of.toolkit()?, solder()?, false, keep, false)?;
        context.release = of.release()?;
        context.library = Some(Library::new(of)?);
        context.assembler = of.assembler();
        if let Some(assembler) = context.assembler {
            context.ptx = assembler.ptx;
            context.fingerprint.push_str("assembler ");
            context.fingerprint.push_str(of.name);
        }
        Ok(context)
    }

    /// For those who make the inputs of cases and link them in another way.
    pub fn for_inputs(of: &Toolkit) -> Result<Self> {
        Self::with(of, PathBuf::new(), false, false, false)
    }

    fn with(of: &Toolkit, solder: PathBuf, fresh: bool, keep: bool, bless: bool) -> Result<Self> {
        let toolkit = of.ensure()?;
        let mut path = toolkit.join("bin").into_os_string();
        if let Some(host) = std::env::var_os("PATH") {
            path.push(":");
            path.push(host);
        }
        let mut fingerprint = String::new();
        for (tool, option) in
            [(toolkit.join("bin/nvlink"), "-V"), ("gcc".into(), "--version"), ("ld".into(), "-V")]
        {
            let output = process::capture(Command::new(tool).arg(option))?;
            fingerprint += &String::from_utf8_lossy(&output.stdout);
        }
        let scratch = cache::root()?.join("scratch");
        fs::create_dir_all(&scratch).map_err(|e| cache::at(&scratch, &e))?;
        let cache = cache::root()?.join("conformance");
        fs::create_dir_all(&cache).map_err(|e| cache::at(&cache, &e))?;
        let in_progress = InProgress::default();
        let assemblers = Assemblers::default();
        Ok(Self {
            toolkit,
            ptx: of.ptx,
            release: of.release()?,
            solder,
            cache,
            scratch,
            path,
            fingerprint,
            in_progress,
            assemblers,
            library: None,
            assembler: None,
            emulator: None,
            fresh,
            keep,
            bless,
            env: Vec::new(),
        })
    }
}

/// Keeps two threads from making the same input at once. Between processes the loser's work is dropped.
#[derive(Default)]
pub struct InProgress(Mutex<HashMap<String, Arc<Mutex<()>>>>);

impl InProgress {
    pub fn of(&self, key: &str) -> Arc<Mutex<()>> {
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(map.entry(key.to_string()).or_default())
    }
}
