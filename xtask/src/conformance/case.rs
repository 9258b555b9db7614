//! Case files: `tests/cases/<category>/<name>.case`, described in docs/testing.md.

use crate::Result;
use crate::assembler::{self, Release};
use crate::cache::at;
use solder_arch::{Arch, Release as Linker};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub const CATEGORIES: &[&str] = &[
    "cli", "ghls", "compat", "errors", "core", "reloc", "gc", "debug", "mercury", "fatbin", "hostobj", "ptx",
    "lto", "explain", "older",
];

/// The keys whose values are lines of solder's.
pub const PRINTED: &[&str] = &["solder-stdout", "solder-stderr"];

/// What a case file says.
#[derive(Debug, Default)]
pub struct Case {
    pub category: String,
    pub name: String,
    pub path: PathBuf,
    pub about: String,
    /// As written: numbers and names of sets.
    pub archs: String,
    /// The releases that the case is about.
    pub releases: Releases,
    pub variants: Vec<String>,
    pub builds: Vec<String>,
    pub setup: Vec<String>,
    pub env: Vec<String>,
    pub links: Vec<String>,
    pub compare: Vec<Comparison>,
    pub covers: Vec<String>,
    pub timeout: Option<Duration>,
    /// Why nvlink does not always do the same: its outcome is one of several.
    pub varies: Option<String>,
    pub stdout: Option<String>,
    pub deviation: Option<Deviation>,
    pub parts: Vec<(String, String)>,
    /// Why the file cannot be run: it is then one failure.
    pub mistake: Option<String>,
}

/// `release:`: from one release to another, both included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Releases {
    from: Option<u32>,
    to: Option<u32>,
}

impl Releases {
    /// `13.2+` from 13.2 on, `13.0-13.2` up to 13.2, `13.4` only that.
    fn parse(text: &str) -> Result<Self> {
        let number = |name: &str| {
            Linker::toolkit_of(name).ok_or_else(|| format!("'{name}' is not a release, as 13.2 is"))
        };
        let (from, to) = if let Some(from) = text.strip_suffix('+') {
            (number(from)?, None)
        } else if let Some((from, to)) = text.split_once('-') {
            (number(from)?, Some(number(to)?))
        } else {
            (number(text)?, Some(number(text)?))
        };
        Ok(Self { from: Some(from), to })
    }

    fn contain(self, release: &Linker) -> bool {
        self.from.is_none_or(|from| from <= release.toolkit) && self.to.is_none_or(|to| release.toolkit <= to)
    }

    /// Whether the case names releases at all.
    pub fn are_named(self) -> bool {
        self.from.is_some()
    }
}

/// `deviates:` and what it says about solder.
#[derive(Clone, Debug, Default)]
pub struct Deviation {
    pub reason: String,
    pub exit: Option<i32>,
    pub stdout: Vec<String>,
    pub stderr: Vec<String>,
    pub same_as: Option<String>,
}

/// `compare: HOW [FILE…]`; no file means all of them.
#[derive(Debug)]
pub struct Comparison {
    pub how: How,
    pub files: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// ELF files through cubin-diff, without the linker's own tkinfo entry; others byte by byte.
    Cubin,
    Bytes,
    /// Text in which every number is taken for equal, for files that hold times.
    Numbers,
    /// Only that the file is there.
    Exists,
}

/// One case for one architecture and one variant: the unit that passes or fails.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    pub case: &'a Case,
    pub arch: Option<String>,
    pub variant: Option<(usize, &'a str)>,
}

/// Every case file under `root`, in the order of categories and names.
pub fn load_all(root: &Path) -> Result<Vec<Case>> {
    for entry in fs::read_dir(root).map_err(|e| at(root, &e))?.flatten() {
        if !CATEGORIES.iter().any(|category| entry.file_name() == *category) {
            return Err(format!("{}: not a category of cases", entry.path().display()));
        }
    }
    let mut cases = Vec::new();
    for category in CATEGORIES {
        let folder = root.join(category);
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "case"));
        paths.sort();
        for path in paths {
            let parsed = fs::read_to_string(&path).map_err(|e| e.to_string()).and_then(|text| parse(&text));
            let mut case =
                parsed.unwrap_or_else(|mistake| Case { mistake: Some(mistake), ..Case::default() });
            case.category = (*category).to_string();
            case.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            case.path = path;
            cases.push(case);
        }
    }
    Ok(cases)
}

/// The PTX of cases is written for this and later numbers. Cases for older ones name them.
const FIRST_OF_SETS: u16 = 75;

/// Expands `core`, `mercury`, `all` and single numbers to what a release links for. Numbers that only other releases have
/// are left out.
pub fn arch_list(text: &str, release: &Linker) -> Result<Vec<String>> {
    let mut archs: Vec<String> = Vec::new();
    for word in text.split([' ', ',', '\t']).filter(|word| !word.is_empty()) {
        let number = word.strip_prefix("sm_").unwrap_or(word);
        let is_meant = |arch: &&Arch| match word {
            "core" => arch.number >= FIRST_OF_SETS && !arch.is_mercury(),
            "mercury" => arch.is_mercury(),
            "all" => arch.number >= FIRST_OF_SETS,
            _ => arch.to_string() == number,
        };
        if !Linker::ALL.iter().any(|release| release.archs().iter().any(|arch| is_meant(&arch))) {
            return Err(format!("unknown architecture '{word}'"));
        }
        for name in release.archs().iter().filter(is_meant).map(Arch::to_string) {
            if !archs.contains(&name) {
                archs.push(name);
            }
        }
    }
    Ok(archs)
}

pub fn parse(text: &str) -> Result<Case> {
    let mut case = Case::default();
    let mut lines = text.split_inclusive('\n').enumerate().peekable();
    while let Some((number, line)) = lines.next_if(|(_, line)| !line.starts_with("//--- ")) {
        let line = line.trim_end();
        let Some(comment) = line.strip_prefix('#') else {
            if line.is_empty() {
                continue;
            }
            return Err(format!("line {}: expected '# key: value' or '//--- filename'", number + 1));
        };
        if let Some((key, value)) = directive(comment) {
            apply(&mut case, key, value).map_err(|e| format!("line {}: {e}", number + 1))?;
        }
    }
    for (_, line) in lines {
        match line.strip_prefix("//--- ") {
            Some(name) => case.parts.push((file_name(name.trim_end())?, String::new())),
            None => case.parts.last_mut().expect("the head ends at the first part").1.push_str(line),
        }
    }
    check(&case)?;
    Ok(case)
}

/// `key: value` where the key is one lower-case word; anything else after a `#` is a remark.
fn directive(comment: &str) -> Option<(&str, &str)> {
    let (key, value) = comment.trim_start().split_once(':')?;
    let is_key = !key.is_empty() && key.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    // Lines that solder prints may begin with blanks.
    let value = if PRINTED.contains(&key) { value.strip_prefix(' ').unwrap_or(value) } else { value.trim() };
    is_key.then_some((key, value))
}

fn apply(case: &mut Case, key: &str, value: &str) -> Result<()> {
    let text = value.to_string();
    match key {
        "about" => case.about = text,
        "archs" => {
            arch_list(value, Linker::NEWEST)?;
            case.archs = text;
        }
        "release" => case.releases = Releases::parse(value)?,
        "variant" => case.variants.push(text),
        "build" => case.builds.push(text),
        "setup" => case.setup.push(text),
        "env" if value.contains('=') => case.env.push(text),
        "env" => return Err("expected NAME=VALUE".into()),
        "link" => case.links.push(text),
        "covers" => case.covers.extend(value.split_whitespace().map(str::to_string)),
        "timeout" => {
            let seconds = value.parse().map_err(|_| format!("'{value}' is not a number of seconds"))?;
            case.timeout = Some(Duration::from_secs(seconds));
        }
        "varies" => case.varies = Some(text),
        "stdout" => case.stdout = Some(file_name(value)?),
        "compare" => case.compare.push(comparison(value)?),
        "deviates" => case.deviation.get_or_insert_default().reason = text,
        "solder-exit" => {
            let code = value.parse().map_err(|_| format!("'{value}' is not an exit code"))?;
            case.deviation.get_or_insert_default().exit = Some(code);
        }
        "solder-stdout" => case.deviation.get_or_insert_default().stdout.push(text),
        "solder-stderr" => case.deviation.get_or_insert_default().stderr.push(text),
        "solder-same-as" => case.deviation.get_or_insert_default().same_as = Some(text),
        _ => return Err(format!("unknown key '{key}'")),
    }
    Ok(())
}

fn comparison(value: &str) -> Result<Comparison> {
    let mut words = value.split_whitespace().map(str::to_string);
    let how = match words.next().as_deref() {
        Some("cubin") => How::Cubin,
        Some("bytes") => How::Bytes,
        Some("numbers") => How::Numbers,
        Some("exists") => How::Exists,
        _ => return Err("expected cubin, bytes, numbers or exists".into()),
    };
    Ok(Comparison { how, files: words.collect() })
}

/// A relative name that stays inside the scratch folder.
pub fn file_name(name: &str) -> Result<String> {
    let inside = !name.is_empty() && !name.starts_with('/') && name.split('/').all(|part| part != "..");
    if inside {
        Ok(name.to_string())
    } else {
        Err(format!("'{name}' is not a name inside the scratch folder"))
    }
}

fn check(case: &Case) -> Result<()> {
    if case.about.is_empty() {
        return Err("'# about:' is missing".into());
    }
    if case.links.is_empty() {
        return Err("'# link:' is missing".into());
    }
    let all_text = [&case.builds, &case.setup, &case.links].into_iter().flatten();
    if case.variants.is_empty() && all_text.clone().any(|text| text.contains("{v}")) {
        return Err("{v} is used, but there is no '# variant:'".into());
    }
    let of_arch = ["{arch}", "{n}", "{virt}"];
    if case.archs.is_empty() && all_text.clone().any(|text| of_arch.iter().any(|name| text.contains(name))) {
        return Err("{arch}, {n} or {virt} is used, but there is no '# archs:'".into());
    }
    match &case.deviation {
        Some(d) if d.reason.is_empty() => Err("'# solder-…:' needs '# deviates:' with the reason".into()),
        Some(d) if d.exit.is_none() && d.stderr.is_empty() && d.stdout.is_empty() && d.same_as.is_none() => {
            Err("'# deviates:' does not say what solder must do instead".into())
        }
        _ => Ok(()),
    }
}

impl Case {
    /// The runs of this case against a release: architectures times variants. `only` narrows the architectures.
    pub fn runs(&self, release: &Linker, only: Option<&[String]>) -> Vec<Run<'_>> {
        if !self.releases.contain(release) {
            return Vec::new();
        }
        let listed = arch_list(&self.archs, release).unwrap_or_default();
        let mut archs: Vec<Option<String>> = listed.into_iter().map(Some).collect();
        if self.archs.is_empty() {
            archs.push(None);
        }
        archs.retain(|arch| match (arch, only) {
            (Some(arch), Some(only)) => only.contains(arch),
            _ => true,
        });
        let mut variants: Vec<Option<(usize, &str)>> =
            self.variants.iter().enumerate().map(|(i, text)| Some((i + 1, text.as_str()))).collect();
        if variants.is_empty() {
            variants.push(None);
        }
        let pairs =
            archs.iter().flat_map(|arch| variants.iter().map(move |variant| (arch.clone(), *variant)));
        let runs = pairs.map(|(arch, variant)| Run { case: self, arch, variant });
        runs.filter(|run| run.is_possible(release)).collect()
    }
}

impl Deviation {
    pub fn expanded(&self, run: &Run<'_>) -> Self {
        let all = |lines: &[String]| lines.iter().map(|line| run.expand(line)).collect();
        Self {
            reason: self.reason.clone(),
            exit: self.exit,
            stdout: all(&self.stdout),
            stderr: all(&self.stderr),
            same_as: self.same_as.as_ref().map(|args| run.expand(args)),
        }
    }
}

/// The architectures that a build rule asks the toolkit's own compilers for.
fn named_archs(rule: &str) -> impl Iterator<Item = Arch> + '_ {
    let recipe = rule.split_once('=').map_or("", |(_, recipe)| recipe.trim_start());
    let compiles = ["ptxas ", "nvcc "].iter().any(|tool| recipe.starts_with(tool));
    let words = recipe.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(move |_| compiles);
    words.filter_map(|word| Arch::parse(word.strip_prefix("sm_").or_else(|| word.strip_prefix("compute_"))?))
}

impl Run<'_> {
    /// `core/weak-order:90a[2]`: what filters match and reports print.
    pub fn id(&self) -> String {
        let mut id = format!("{}/{}", self.case.category, self.case.name);
        if let Some(arch) = &self.arch {
            id.extend([":", arch]);
        }
        if let Some((index, _)) = self.variant {
            id.extend(["[", &index.to_string(), "]"]);
        }
        id
    }

    /// The older assemblers that its inputs are made with.
    pub fn releases(&self) -> Vec<&'static Release> {
        let rules = self.case.builds.iter().map(|rule| self.expand(rule));
        rules
            .filter_map(|rule| Release::of_tool(rule.split_once('=')?.1.split_whitespace().next()?))
            .collect()
    }

    /// Assemblers do not know every architecture; what they cannot assemble is not run.
    fn is_possible(&self, release: &Linker) -> bool {
        let rules = self.case.builds.iter().map(|rule| self.expand(rule));
        let known = |rule: String| named_archs(&rule).all(|arch| release.knows(arch));
        if !rules.into_iter().all(known) {
            return false;
        }
        let Some(arch) = &self.arch else { return true };
        self.releases().iter().all(|release| release.knows(arch))
    }

    /// Replaces `{arch}`, `{n}`, `{virt}` and `{v}`; the variant may itself use the others.
    pub fn expand(&self, text: &str) -> String {
        let text = match self.variant {
            Some((_, variant)) => text.replace("{v}", variant),
            None => text.to_string(),
        };
        match &self.arch {
            Some(n) => self.expand_arch(&text).replace("{n}", n),
            None => text,
        }
    }

    /// PTX with a version that has the architecture: cases say 9.0, and sm_107 is new in 9.4.
    pub fn readable(&self, text: &str) -> String {
        match self.arch.as_deref() {
            Some("107" | "107a" | "107f") => assembler::raise(text, (9, 4)),
            _ => text.to_string(),
        }
    }

    /// In sources only these two are replaced: `{n}` and `{v}` are plausible C.
    pub fn expand_arch(&self, text: &str) -> String {
        match &self.arch {
            Some(n) => text.replace("{arch}", &format!("sm_{n}")).replace("{virt}", &format!("compute_{n}")),
            None => text.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# about: two objects
# A remark: with a colon.
# archs: 80 90a
# variant: -v
# variant: -arch={arch}
# build: a.cubin = ptxas a.ptx
# link: -arch={arch} {v} a.cubin -o out

//--- a.ptx
.target {arch}
# not a directive: here
//--- sub/b.txt
b
";

    #[test]
    fn head_and_parts() {
        let case = parse(TEXT).unwrap();
        assert_eq!(case.about, "two objects");
        assert_eq!(case.parts[0], ("a.ptx".into(), ".target {arch}\n# not a directive: here\n".into()));
        assert_eq!(case.parts[1], ("sub/b.txt".into(), "b\n".into()));
    }

    #[test]
    fn runs_are_archs_times_variants() {
        let case = parse(TEXT).unwrap();
        let runs = case.runs(Linker::CUDA_13_0, None);
        assert_eq!(runs.len(), 4);
        assert_eq!(runs[3].expand(&case.links[0]), "-arch=sm_90a -arch=sm_90a a.cubin -o out");
        assert!(runs[3].id().ends_with(":90a[2]"));
        assert_eq!(case.runs(Linker::CUDA_13_0, Some(&["80".to_string()])).len(), 2);
    }

    #[test]
    fn mistakes_are_named() {
        let mistake = |text: &str| parse(text).unwrap_err();
        assert!(mistake("# link: x\n").contains("about"));
        assert!(mistake("# about: x\n").contains("link"));
        assert!(mistake("# about: x\n# lnik: y\n").contains("unknown key 'lnik'"));
        assert!(mistake("# about: x\n# link: {v}\n").contains("variant"));
        assert!(mistake("# about: x\n# link: {arch}\n").contains("archs"));
        assert!(mistake("# about: x\n# link: y\n# deviates: z\n").contains("instead"));
        assert!(mistake("# about: x\n# link: y\n//--- ../z\n").contains("inside"));
        assert!(mistake("stray\n").contains("line 1"));
    }

    #[test]
    fn arch_sets() {
        let count = |text: &str, release| arch_list(text, release).unwrap().len();
        assert_eq!(count("all", Linker::CUDA_13_0), 23);
        assert_eq!(count("all", Linker::CUDA_13_4), 26);
        assert_eq!(count("core sm_90a 100f", Linker::CUDA_13_0), 9);
        assert_eq!(count("core", Linker::CUDA_12_0), 7);
        assert_eq!(count("107 90", Linker::CUDA_13_0), 1);
        assert!(arch_list("91", Linker::NEWEST).is_err());
    }

    #[test]
    fn releases_of_a_case() {
        let holds = |text: &str| {
            let releases = Releases::parse(text).unwrap();
            Linker::ALL
                .iter()
                .filter(|release| releases.contain(release))
                .map(|release| release.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(holds("13.3+"), ["13.3", "13.4", "13.5"]);
        assert_eq!(holds("13.0-13.1"), ["13.0", "13.1"]);
        assert_eq!(holds("13.2"), ["13.2"]);
        assert!(Releases::parse("new").is_err());
    }
}
