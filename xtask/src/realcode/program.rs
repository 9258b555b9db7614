//! The programs of `tests/realcode`, and the ways to compile them.

use crate::cache::at;
use crate::{Result, words};
use std::fs;
use std::path::{Path, PathBuf};

/// A source file and what the comments at its head say.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Program {
    pub name: String,
    pub path: PathBuf,
    /// Names of `packages::PACKAGES` whose headers it includes.
    pub packages: Vec<String>,
    /// Names of those whose archives it is linked with, one after the other. Such a program takes part only if it is
    /// asked for by a filter, because the packages are large.
    pub archives: Vec<String>,
    /// The virtual architecture it needs, where any will not do. Its code then runs on that one only.
    pub arch: Option<String>,
    /// More options for nvcc.
    pub options: Vec<String>,
    /// Option sets of its own, instead of those asked for.
    pub sets: Option<Vec<String>>,
}

/// How a program is compiled: one set gives one object.
#[derive(Debug, PartialEq, Eq)]
pub struct Set {
    pub name: &'static str,
    pub nvcc: &'static [&'static str],
    pub ptxas: &'static [&'static str],
    /// Whether it is taken when none is named.
    pub usual: bool,
}

pub const SETS: &[Set] = &[
    Set { name: "o3", nvcc: &[], ptxas: &["-O3"], usual: true },
    Set { name: "o1", nvcc: &[], ptxas: &["-O1"], usual: true },
    Set { name: "o2-r32", nvcc: &[], ptxas: &["-O2", "--maxrregcount=32"], usual: true },
    Set { name: "o3-r64", nvcc: &[], ptxas: &["-O3", "--maxrregcount=64"], usual: true },
    Set { name: "o0", nvcc: &[], ptxas: &["-O0"], usual: false },
    Set { name: "o2", nvcc: &[], ptxas: &["-O2"], usual: false },
    Set { name: "r128", nvcc: &[], ptxas: &["-O3", "--maxrregcount=128"], usual: false },
    Set { name: "uncached", nvcc: &[], ptxas: &["-O3", "--def-load-cache=cg"], usual: false },
    Set {
        name: "no-expensive",
        nvcc: &[],
        ptxas: &["-O3", "--allow-expensive-optimizations=false"],
        usual: false,
    },
    Set { name: "lineinfo", nvcc: &["-lineinfo"], ptxas: &["-O3", "-lineinfo"], usual: false },
    Set { name: "no-fmad", nvcc: &["-fmad=false"], ptxas: &["-O3"], usual: false },
    Set { name: "fast", nvcc: &["-use_fast_math"], ptxas: &["-O3"], usual: false },
    Set { name: "debug", nvcc: &["-G"], ptxas: &["-g", "-O0"], usual: false },
];

/// The sets of a comma-separated list; `usual` and `all` stand for several.
pub fn sets(list: &str) -> Result<Vec<&'static Set>> {
    let mut found: Vec<&'static Set> = Vec::new();
    for word in list.split(',').filter(|word| !word.is_empty()) {
        let fits = |set: &&Set| word == "all" || (word == "usual" && set.usual) || word == set.name;
        let fitting: Vec<_> = SETS.iter().filter(fits).collect();
        if fitting.is_empty() {
            let names: Vec<_> = SETS.iter().map(|set| set.name).collect();
            return Err(format!(
                "realcode: no option set '{word}'; there are usual, all, {}",
                names.join(", ")
            ));
        }
        found.extend(fitting);
    }
    Ok(found)
}

impl Program {
    /// All sources in a folder that is not ours, and in those below it. What they include by a relative name is beside
    /// them; the other folders are given. Their first comments say nothing to us.
    pub fn load_foreign(folder: &Path, includes: &[PathBuf], filters: &[String]) -> Result<Vec<Self>> {
        let folder = fs::canonicalize(folder).map_err(|e| at(folder, &e))?;
        let mut sources = Vec::new();
        collect_sources(&folder, &mut sources)?;
        sources.sort();
        let mut programs = Vec::new();
        for path in sources {
            let name = path.strip_prefix(&folder).unwrap_or(&path).with_extension("");
            let name = name.to_string_lossy().replace(['/', ' '], "-");
            if !filters.is_empty() && !filters.iter().any(|filter| name.contains(filter)) {
                continue;
            }
            let beside = path.parent().unwrap_or(&folder);
            let includes = includes.iter().map(PathBuf::as_path).chain([beside]);
            let options = includes.map(|folder| format!("-I{}", folder.display())).collect();
            programs.push(Self { name, path, options, ..Self::default() });
        }
        Ok(programs)
    }

    /// The programs whose names contain one of the filters, or all.
    pub fn load_all(folder: &Path, filters: &[String]) -> Result<Vec<Self>> {
        let mut programs = Vec::new();
        for entry in fs::read_dir(folder).map_err(|e| at(folder, &e))?.flatten() {
            let path = entry.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let wanted = filters.is_empty() || filters.iter().any(|filter| name.contains(filter));
            if path.extension().is_some_and(|extension| extension == "cu") && wanted {
                let text = fs::read_to_string(&path).map_err(|e| at(&path, &e))?;
                let program = Self::parse(&text).map_err(|e| format!("{}: {e}", path.display()))?;
                if program.archives.is_empty() || !filters.is_empty() {
                    programs.push(Self { name, path, ..program });
                }
            }
        }
        programs.sort_by(|a, b| a.name.cmp(&b.name));
        if programs.is_empty() {
            return Err(format!("no program matches {}", filters.join(" ")));
        }
        Ok(programs)
    }

    fn parse(text: &str) -> Result<Self> {
        let mut program = Self::default();
        let head = text.lines().map_while(|line| line.strip_prefix("// "));
        for (key, value) in head.filter_map(|line| line.split_once(": ")) {
            match key {
                "about" => {}
                "packages" => program.packages = words::split(value)?,
                "archives" => program.archives = words::split(value)?,
                "arch" => program.arch = Some(value.trim().to_string()),
                "options" => program.options = words::split(value)?,
                "sets" => program.sets = Some(words::split(value)?),
                other => return Err(format!("unknown key '{other}'")),
            }
        }
        Ok(program)
    }

    /// Whether its objects can be made for this architecture.
    pub fn fits(&self, arch: &str) -> bool {
        let own = self.arch.as_deref().and_then(|arch| arch.strip_prefix("compute_"));
        own.is_none_or(|own| arch.strip_prefix("sm_") == Some(own))
    }

    /// One link for each archive, or one without.
    pub fn links(&self) -> impl Iterator<Item = Option<&str>> {
        let alone = self.archives.is_empty().then_some(None);
        self.archives.iter().map(|name| Some(name.as_str())).chain(alone)
    }

    pub fn takes(&self, set: &Set) -> bool {
        self.sets.as_ref().is_none_or(|sets| sets.iter().any(|name| name == set.name))
    }

    /// The virtual architecture to compile for. From 100 on, one serves all.
    pub fn virtual_arch(&self, arch: &str) -> String {
        let number = arch.trim_start_matches("sm_").trim_end_matches(['a', 'f']);
        let common = number.parse().is_ok_and(|number: u32| number >= 100);
        let general = || if common { "compute_100".into() } else { format!("compute_{number}") };
        self.arch.clone().unwrap_or_else(general)
    }
}

fn collect_sources(folder: &Path, sources: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(|e| at(folder, &e))?.flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect_sources(&path, sources)?,
            Ok(kind) if kind.is_file() && path.extension().is_some_and(|extension| extension == "cu") => {
                sources.push(path);
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        let text = "// about: x\n// packages: cccl cutlass\n// arch: compute_100a\n#include <a>\n// b: c\n";
        let program = Program::parse(text).unwrap();
        assert_eq!(program.packages, ["cccl", "cutlass"]);
        assert!(program.fits("sm_100a") && !program.fits("sm_100"));
        assert_eq!(program.virtual_arch("sm_100a"), "compute_100a");
        assert!(Program::parse("// abuot: x\n").is_err());
        assert_eq!(Program::default().virtual_arch("sm_121"), "compute_100");
        assert_eq!(Program::default().virtual_arch("sm_90a"), "compute_90");
    }

    #[test]
    fn option_sets() {
        assert_eq!(sets("o1,o0").unwrap().len(), 2);
        assert_eq!(sets("all").unwrap().len(), SETS.len());
        assert!(sets("o9").is_err());
    }
}
