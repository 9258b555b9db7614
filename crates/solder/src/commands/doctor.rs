//! `solder doctor`: what solder finds on this machine, what is wrong with it, and what helps.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::reader::{Known, Reader, Word, flag, value};
use super::words::print;
use crate::cache::Settings;
use crate::json::Json;
use crate::options;
use crate::toolchain::{self, Signals};
use solder_arch::Release;
use solder_toolchain::{Environment, SHADOW_MARKER, Toolchain, Toolkit, VARIABLES, is_library, nvvm_library};

const USAGE: &str = "\
usage: solder doctor [--json] [--toolkit ROOT] [--cache-dir DIR] [SHADOW...]

Looks at the CUDA toolkits of this machine, the compilers that a link may need, folders made by 'solder shadow' (those
that are given, and those that the environment leads to) and the cache, and names a remedy for what is wrong.
The exit code is 1 if there is a problem.
";

const OPTIONS: [Known; 3] = [flag("--json"), value("--toolkit"), value("--cache-dir")];

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Fine,
    Warning,
    Problem,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Warning => "warning",
            Self::Problem => "problem",
        }
    }
}

#[derive(Debug)]
struct Finding {
    level: Level,
    topic: &'static str,
    text: String,
    remedy: Option<String>,
}

#[derive(Debug, Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn fine(&mut self, topic: &'static str, text: impl Into<String>) {
        self.0.push(Finding { level: Level::Fine, topic, text: text.into(), remedy: None });
    }

    fn add(&mut self, level: Level, topic: &'static str, text: impl Into<String>, remedy: impl Into<String>) {
        self.0.push(Finding { level, topic, text: text.into(), remedy: Some(remedy.into()) });
    }

    fn problems(&self) -> usize {
        self.0.iter().filter(|finding| finding.level == Level::Problem).count()
    }
}

/// What was asked for.
#[derive(Debug, Default)]
struct Asked {
    json: bool,
    toolkit: Option<PathBuf>,
    cache: Option<PathBuf>,
    shadows: Vec<PathBuf>,
}

pub fn run(words: &[OsString]) -> Result<(), String> {
    let mut asked = Asked::default();
    let mut words = Reader::new(words, &OPTIONS, USAGE);
    while let Some(word) = words.next()? {
        match word {
            Word::File(shadow) => asked.shadows.push(shadow.into()),
            Word::Option("--json", _) => asked.json = true,
            Word::Option("--toolkit", Some(root)) => asked.toolkit = Some(root.into()),
            Word::Option("--cache-dir", Some(folder)) => asked.cache = Some(folder.into()),
            Word::Option(..) => {
                print(USAGE);
                return Ok(());
            }
        }
    }
    let findings = examine(&asked);
    print(&if asked.json { json(&findings) } else { text(&findings) });
    match findings.problems() {
        0 => Ok(()),
        1 => Err("there is a problem".into()),
        count => Err(format!("there are {count} problems")),
    }
}

fn examine(asked: &Asked) -> Findings {
    let environment = toolchain::environment();
    let mut findings = Findings::default();
    let more = options_variable(&mut findings);
    let toolkits = toolkits(asked.toolkit.as_deref(), &environment);
    let used = examine_toolkits(&toolkits, &mut findings);
    let release =
        used.and_then(|found| Release::of_version(&found.toolkit.version)).unwrap_or(Release::CUDA_13_0);
    let mut shadows = asked.shadows.clone();
    for root in
        toolkits.iter().map(|found| &found.toolkit.root).filter(|root| root.join(SHADOW_MARKER).exists())
    {
        if !shadows
            .iter()
            .any(|shadow| shadow == root || shadow.canonicalize().is_ok_and(|shadow| shadow == *root))
        {
            shadows.push(root.clone());
        }
    }
    for shadow in &shadows {
        examine_shadow(shadow, &mut findings);
    }
    let settings = Settings::new(asked.cache.clone().or(more).as_deref());
    for problem in &settings.problems {
        findings.add(
            Level::Problem,
            "cache",
            problem.clone(),
            "set the variable to another value, or unset it",
        );
    }
    let toolchain = Toolchain { environment, release, cache: settings.cache(&Signals), supervisor: &Signals };
    examine_compilers(&toolchain, used.map(|found| found.toolkit.root.as_path()), &mut findings);
    if let Some(folder) = settings.folder {
        match toolchain.cache.check() {
            Ok(()) => findings.fine("cache", format!("'{}' can be written to", folder.display())),
            Err(error) => findings.add(
                Level::Problem,
                "cache",
                format!("'{}' cannot be written to: {error}; nothing is kept there", folder.display()),
                "name another folder with --cache-dir, or give yourself the right to write to this one",
            ),
        }
    }
    findings
}

/// Looks at `SOLDER_OPTIONS` and `SOLDER_AS`; the folder of a cache that the options name.
fn options_variable(findings: &mut Findings) -> Option<PathBuf> {
    if let Some(version) = std::env::var_os("SOLDER_AS").filter(|version| !version.is_empty()) {
        let version = version.to_string_lossy();
        match Release::of_version(&version) {
            Some(release) => {
                findings.fine("release", format!("SOLDER_AS: links are done as CUDA {}", release.name));
            }
            None => findings.add(
                Level::Problem,
                "release",
                format!("SOLDER_AS is '{version}', and solder does not link as that"),
                format!("set it to one of {}", Release::list()),
            ),
        }
    }
    let text = std::env::var_os("SOLDER_OPTIONS").filter(|text| !text.is_empty())?;
    findings.fine("options", format!("SOLDER_OPTIONS adds {} to every link", text.to_string_lossy()));
    let words = options::split_words(text.as_encoded_bytes())?;
    let mut words = words.iter().map(|word| String::from_utf8_lossy(word).into_owned());
    words.find_map(|word| word.strip_prefix("--cache-dir=").map(PathBuf::from))
}

/// A toolkit, and how the way led to it.
#[derive(Debug)]
struct Found {
    toolkit: Toolkit,
    by: String,
    /// What makes it useless, with the remedy.
    fault: Option<(String, String)>,
}

/// All toolkits that the command line, the environment, the path and the usual places lead to, the one that is used first.
fn toolkits(asked: Option<&Path>, environment: &Environment) -> Vec<Found> {
    let mut candidates: Vec<(PathBuf, String)> = Vec::new();
    candidates.extend(asked.map(|root| (root.to_owned(), "--toolkit".to_string())));
    for (name, root) in VARIABLES.iter().zip(&environment.toolkits) {
        candidates.extend(root.iter().map(|root| (root.clone(), (*name).to_string())));
    }
    let nvcc = environment.path.iter().map(|folder| folder.join("nvcc")).filter(|nvcc| nvcc.is_file());
    for nvcc in nvcc.flat_map(|nvcc| [Some(nvcc.clone()), nvcc.canonicalize().ok()].into_iter().flatten()) {
        let root =
            nvcc.parent().and_then(Path::parent).filter(|root| root.join("bin/nvcc.profile").is_file());
        candidates.extend(root.map(|root| (root.to_owned(), "nvcc on PATH".to_string())));
    }
    for folder in ["/usr/local", "/opt"] {
        let mut roots: Vec<PathBuf> = std::fs::read_dir(folder)
            .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
            .unwrap_or_default();
        roots.retain(|root| root.join("bin/nvcc").is_file());
        roots.sort();
        candidates.extend(roots.into_iter().map(|root| (root, folder.to_string())));
    }
    let mut found: Vec<Found> = Vec::new();
    for (root, by) in candidates {
        let root = root.canonicalize().unwrap_or(root);
        match found.iter_mut().find(|known| known.toolkit.root == root) {
            Some(known) if known.by.contains(&by) => {}
            Some(known) => known.by = format!("{}, {by}", known.by),
            None => found.push(looked_at(root, by, environment)),
        }
    }
    found
}

fn looked_at(root: PathBuf, by: String, environment: &Environment) -> Found {
    let known = Release::list();
    match Toolkit::find(Some(&root), environment, &Signals) {
        Err(error) => {
            let remedy = format!("install CUDA completely, or let {by} lead to another folder");
            let toolkit = Toolkit { root, version: String::new() };
            Found { toolkit, by, fault: Some((error.to_string(), remedy)) }
        }
        Ok(toolkit) => {
            let fault = Release::of_version(&toolkit.version).is_none().then(|| {
                let remedy =
                    "install one of these; to try it all the same: solder shadow DIR --as-nvlink VERSION";
                (format!("solder stands in for the nvlink of CUDA {known}"), remedy.to_string())
            });
            Found { toolkit, by, fault }
        }
    }
}

/// The toolkit that is used: the first without a fault.
fn examine_toolkits<'a>(toolkits: &'a [Found], findings: &mut Findings) -> Option<&'a Found> {
    let used = toolkits.iter().find(|found| found.fault.is_none());
    let own = std::env::current_exe().and_then(|program| program.canonicalize()).ok();
    for found in toolkits {
        let Found { toolkit, by, fault } = found;
        let root = toolkit.root.display();
        let is_used = used.is_some_and(|used| used.toolkit.root == toolkit.root);
        let nvlink = toolkit.root.join("bin/nvlink").canonicalize().ok();
        let linker = if own.is_some() && nvlink == own { "; its nvlink is solder" } else { "" };
        let chosen = if is_used { "; it is the one that is used" } else { "" };
        match fault {
            None => findings
                .fine("toolkit", format!("CUDA {} in '{root}' ({by}){linker}{chosen}", toolkit.version)),
            Some((text, remedy)) if toolkit.version.is_empty() => {
                findings.add(Level::Problem, "toolkit", format!("{text} ({by})"), remedy.clone());
            }
            Some((text, remedy)) => findings.add(
                Level::Problem,
                "toolkit",
                format!("'{root}' ({by}) is CUDA {}; {text}", toolkit.version),
                remedy.clone(),
            ),
        }
    }
    let mut versions: Vec<String> = Vec::new();
    for found in toolkits.iter().filter(|found| found.fault.is_none()) {
        let number = found.toolkit.version.clone();
        if !versions.contains(&number) {
            versions.push(number);
        }
    }
    match (toolkits.is_empty(), versions.len()) {
        (true, _) => findings.add(
            Level::Problem,
            "toolkit",
            "no CUDA toolkit was found: cubins can be linked, but nothing built with nvcc, and no PTX",
            "install one of CUDA 13.0 to 13.5, and let CUDA_HOME name its folder or PATH its bin",
        ),
        (false, 2..) => findings.add(
            Level::Warning,
            "toolkit",
            format!("there are toolkits of several versions: {}", versions.join(", ")),
            "let SOLDER_TOOLKIT name the one that you build with",
        ),
        _ => {}
    }
    used
}

/// A folder that `solder shadow` made, or should have.
fn examine_shadow(folder: &Path, findings: &mut Findings) {
    let shown = folder.display();
    let again = format!("run 'solder shadow {shown}' again, or 'solder shadow {shown} --remove'");
    let Ok(marker) = std::fs::read_to_string(folder.join(SHADOW_MARKER)) else {
        let remedy = format!("make it with 'solder shadow {shown}'");
        findings.add(Level::Problem, "shadow", format!("'{shown}' was not made by solder shadow"), remedy);
        return;
    };
    let mut lines = marker.lines();
    let (root, version) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let nvlink = folder.join("bin/nvlink");
    let mut problem = |text: String| findings.add(Level::Problem, "shadow", text, again.clone());
    if !Path::new(root).join("bin/nvcc").exists() {
        problem(format!("'{shown}' shadows the toolkit in '{root}', which is not there any more"));
    } else if !nvlink.exists() {
        let target = std::fs::read_link(&nvlink).unwrap_or_default();
        problem(format!(
            "'{shown}': bin/nvlink leads to '{}', which is not there any more; nvcc then says 'nvlink: not found'",
            target.display()
        ));
    } else if nvlink.canonicalize().ok() != std::env::current_exe().and_then(|path| path.canonicalize()).ok()
    {
        let target = nvlink.canonicalize().unwrap_or_default();
        findings.add(
            Level::Warning,
            "shadow",
            format!("'{shown}': bin/nvlink is '{}', another program than this one", target.display()),
            again,
        );
    } else {
        findings.fine(
            "shadow",
            format!("'{shown}': nvcc in its bin links with this solder, as CUDA {version} does"),
        );
    }
}

fn examine_compilers(toolchain: &Toolchain<'_>, root: Option<&Path>, findings: &mut Findings) {
    let in_toolkit = root.map(|root| root.join("bin/ptxas")).filter(|ptxas| ptxas.is_file());
    match (toolchain.assembler().program(), in_toolkit) {
        (Ok(program), _) => findings.fine("ptxas", format!("'{}' assembles PTX", program.display())),
        (Err(_), Some(program)) => findings.fine(
            "ptxas",
            format!("'{}' assembles PTX for builds with this toolkit's nvcc", program.display()),
        ),
        (Err(places), None) => {
            let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
            findings.add(
                Level::Warning,
                "ptxas",
                format!(
                    "not found, so that PTX in inputs cannot be assembled; looked for {}",
                    places.join(", ")
                ),
                "install the CUDA compiler, and let SOLDER_TOOLKIT, CUDA_HOME or CUDA_PATH name its folder",
            );
        }
    }
    let Some(root) = root else { return };
    let nvvm = root.join("nvvm");
    let library = nvvm_library(&nvvm);
    if is_library(&library) {
        findings.fine("libnvvm", format!("'{}' compiles LTO IR", library.display()));
    } else {
        findings.add(
            Level::Warning,
            "libnvvm",
            format!(
                "'{}' is not there or cannot be loaded, so that links with -dlto fail",
                library.display()
            ),
            "install the package libnvvm (cuda-nvvm) of the same CUDA version",
        );
    }
    match toolchain.nvjitlink_places(&nvvm).iter().find(|place| place.is_file()) {
        Some(place) => findings.fine("nvJitLink", format!("'{}' unpacks compressed LTO IR", place.display())),
        None => findings.add(
            Level::Warning,
            "nvJitLink",
            "not found in the toolkit; only links with -dlto of compressed IR need it",
            "install the package libnvjitlink, name the file with SOLDER_NVJITLINK, or compile with --compress-mode=none",
        ),
    }
}

fn about() -> (String, String) {
    let program =
        std::env::current_exe().map_or_else(|_| "?".into(), |program| program.display().to_string());
    (options::own_version(), program)
}

/// What somebody needs to look into a fault.
const REPORT: &str = "\
For a bug report, attach the output of 'solder doctor --json', the command line of the link ('nvcc --dryrun' shows it),
what it printed with --explain, and its inputs ('nvcc --keep' leaves them).
";

fn text(findings: &Findings) -> String {
    let (version, program) = about();
    let mut text =
        format!("solder {version}, '{program}'\nstands in for nvlink of CUDA {}\n\n", Release::list());
    for Finding { level, topic, text: what, remedy } in &findings.0 {
        let _ = writeln!(text, "{:<8} {topic:<10} {what}", level.name());
        if let Some(remedy) = remedy {
            let _ = writeln!(text, "{:<19} remedy: {remedy}", "");
        }
    }
    text + "\n" + REPORT
}

fn json(findings: &Findings) -> String {
    let (version, program) = about();
    let finding = |finding: &Finding| {
        Json::Object(vec![
            ("level", finding.level.name().into()),
            ("topic", finding.topic.into()),
            ("text", (&finding.text).into()),
            ("remedy", finding.remedy.as_ref().into()),
        ])
    };
    let object = Json::Object(vec![
        ("version", Json::Text(version)),
        ("program", Json::Text(program)),
        ("releases", Release::ALL.iter().map(|release| release.name).collect()),
        ("findings", Json::List(findings.0.iter().map(finding).collect())),
        ("problems", (findings.problems() as u64).into()),
    ]);
    format!("{object}\n")
}
