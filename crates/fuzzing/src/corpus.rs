//! The inputs to begin with: files that compilers have made, told apart by their contents.

use std::fs;
use std::path::{Path, PathBuf};

use hashbrown::{HashMap, HashSet};
use solder_cubin::raw::{self, Symbol};
use solder_cubin::{Cubin, elf_header};
use solder_fatbin::Container;

use crate::rng::Rng;

/// What an input is, and so how it is mutated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Cubin,
    Fatbin,
    Archive,
    HostObject,
    OptionFile,
}

impl Kind {
    pub fn of(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(b"!<arch>\n") || bytes.starts_with(b"!<thin>\n") {
            return Some(Self::Archive);
        }
        if Container::matches(bytes) {
            return Some(Self::Fatbin);
        }
        let header = elf_header(bytes)?;
        let device = header.machine.get() == raw::EM_CUDA;
        Some(if device { Self::Cubin } else { Self::HostObject })
    }
}

/// Larger inputs cost time and show nothing that smaller ones do not.
const LARGEST: u64 = 64 << 10;

/// A device ELF with what links it to others.
#[derive(Debug)]
pub struct Device {
    pub bytes: Vec<u8>,
    pub sm: u16,
    /// Others that define what this one leaves undefined, as indices into [`Corpus::devices`].
    partners: Vec<usize>,
    /// The global names that it defines, and that no other may define beside it.
    defined: HashSet<String>,
}

impl Device {
    /// The same code under other bytes.
    #[must_use]
    pub fn with_bytes(&self, bytes: Vec<u8>) -> Self {
        Self { bytes, sm: self.sm, partners: Vec::new(), defined: HashSet::new() }
    }
}

/// The bytes of all inputs together: a worker has little memory.
const MOST: usize = 128 << 20;

#[derive(Debug, Default)]
pub struct Corpus {
    pub devices: Vec<Device>,
    pub fatbins: Vec<Vec<u8>>,
    pub archives: Vec<Vec<u8>>,
    pub hosts: Vec<Vec<u8>>,
}

impl Corpus {
    /// Reads the files in and below the folders that are inputs of a known kind, the same content once, until there is enough.
    pub fn read(folders: &[PathBuf]) -> Self {
        let mut corpus = Self::default();
        let mut seen = HashSet::new();
        let mut left = MOST;
        for folder in folders {
            let mut files = Vec::new();
            collect(folder, &mut files);
            files.sort();
            for file in files {
                let Ok(bytes) = fs::read(&file) else { continue };
                let Some(kind) = Kind::of(&bytes).filter(|_| bytes.len() <= left) else { continue };
                if seen.insert(bytes.clone()) {
                    left -= bytes.len();
                    corpus.add(kind, bytes);
                }
            }
        }
        corpus.find_partners();
        corpus
    }

    fn add(&mut self, kind: Kind, bytes: Vec<u8>) {
        match kind {
            Kind::Cubin => {
                let object = Cubin::parse(&bytes).ok().filter(|c| c.header.e_type.get() == raw::ET_REL);
                if let Some(sm) = object.map(|cubin| cubin.sm()) {
                    let defined = globals(&bytes, |s| s.is_defined() && s.bind() == raw::STB_GLOBAL);
                    let defined = defined.into_iter().collect();
                    self.devices.push(Device { bytes, sm, partners: Vec::new(), defined });
                }
            }
            Kind::Fatbin => self.fatbins.push(bytes),
            Kind::Archive => self.archives.push(bytes),
            Kind::HostObject => self.hosts.push(bytes),
            Kind::OptionFile => {}
        }
    }

    fn find_partners(&mut self) {
        let mut definitions: HashMap<(u16, String), Vec<usize>> = HashMap::new();
        for (index, device) in self.devices.iter().enumerate() {
            for name in globals(&device.bytes, Symbol::is_defined) {
                definitions.entry((device.sm, name)).or_default().push(index);
            }
        }
        for device in &mut self.devices {
            let wanted = globals(&device.bytes, |s| !s.is_defined());
            let found = wanted.into_iter().filter_map(|name| definitions.get(&(device.sm, name)));
            device.partners = found.flatten().copied().collect();
        }
    }

    pub fn of(&self, kind: Kind) -> &[Vec<u8>] {
        match kind {
            Kind::Fatbin => &self.fatbins,
            Kind::Archive => &self.archives,
            Kind::HostObject => &self.hosts,
            Kind::Cubin | Kind::OptionFile => &[],
        }
    }

    /// Device code that can be linked together, most often the caller and the callee: indices of two or three.
    pub fn linked_together(&self, rng: &mut Rng) -> Vec<usize> {
        let first = rng.below(self.devices.len());
        let mut chosen = vec![first];
        let wanted = 2 + usize::from(rng.percent(30));
        for _ in 0..8 {
            if chosen.len() >= wanted {
                break;
            }
            let from = chosen[rng.below(chosen.len())];
            let partner = match rng.pick(&self.devices[from].partners) {
                Some(&partner) if rng.percent(90) => partner,
                _ => rng.below(self.devices.len()),
            };
            let candidate = &self.devices[partner];
            let clashes = |&other: &usize| !self.devices[other].defined.is_disjoint(&candidate.defined);
            let fits =
                candidate.sm == self.devices[first].sm && (rng.percent(5) || !chosen.iter().any(clashes));
            if fits && !chosen.contains(&partner) {
                chosen.push(partner);
            }
        }
        chosen
    }
}

/// The names of some of the global symbols.
fn globals(bytes: &[u8], which: impl Fn(&Symbol) -> bool) -> Vec<String> {
    let Ok(cubin) = Cubin::parse(bytes) else { return Vec::new() };
    let symbols = cubin.symbols.iter().enumerate();
    let wanted = symbols.filter(|(_, s)| s.bind() != raw::STB_LOCAL && which(s));
    let names = wanted.filter_map(|(index, _)| cubin.symbol_name(index as u32).ok());
    names.filter(|name| !name.is_empty()).map(ToString::to_string).collect()
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    let Ok(metadata) = fs::metadata(path) else { return };
    if metadata.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            collect(&entry.path(), files);
        }
    } else if metadata.is_file() && metadata.len() <= LARGEST {
        files.push(path.to_path_buf());
    }
}
