//! Builds the shared libraries, and compares their names with those of NVIDIA's.

use crate::cache::at;
use crate::jit::published::Library;
use crate::machine::Machine;
use crate::{Result, process, workspace};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The versions of the library: the number in its name, and the releases of NVIDIA's whose names it must have.
pub const MAJORS: &[(u32, &[&str])] = &[(12, &["12.0", "12.9"]), (13, &["13.0", "13.5"])];

/// Solder's own name.
const OWN: &str = "solderNvJitLink";

/// Builds both libraries into the target folder, for this machine or for another one, and returns that.
pub fn build(profile: &str, machine: Option<&Machine>) -> Result<PathBuf> {
    // Only here it is a static library: as one of two kinds it would not be optimized as a whole.
    let words = [
        "rustc",
        "--package",
        "solder-nvjitlink",
        "--lib",
        "--crate-type",
        "staticlib",
        "--profile",
        profile,
    ];
    let messages = workspace::cargo(machine, &words)?;
    let is_archive = |name: &&str| name.ends_with("libsolder_nvjitlink.a");
    let archive = messages.split('"').find(is_archive).map(PathBuf::from);
    let archive = archive.ok_or("cargo does not say where the library is")?;
    let folder = archive.with_file_name("nvjitlink");
    fs::create_dir_all(&folder).map_err(|e| at(&folder, &e))?;
    for (major, _) in MAJORS {
        link(machine, &archive, *major, &folder)?;
    }
    Ok(folder)
}

/// Makes the shared library of one version. Each name has a version node, as in NVIDIA's: without one the dynamic linker
/// warns, with another one it refuses.
fn link(machine: Option<&Machine>, archive: &Path, major: u32, folder: &Path) -> Result<()> {
    let soname = file_name(major);
    let tool = |own: &str, other: &str| machine.map_or(own.to_string(), |machine| machine.tool(other));
    let all = exported(&tool("nm", "nm"), archive)?;
    let plain = plain_names(major, &all);
    let mut names = names_of(major, &all);
    names.extend(plain.keys());
    let map = folder.join(format!("{soname}.map"));
    let listed: Vec<String> = names.iter().map(|name| format!("    {name};")).collect();
    let listed = listed.join("\n");
    fs::write(&map, format!("{soname} {{\n  global:\n{listed}\n  local:\n    *;\n}};\n"))
        .map_err(|e| at(&map, &e))?;
    let mut cc = Command::new(tool("cc", "gcc"));
    cc.args(plain.iter().map(|(plain, name)| format!("-Wl,--defsym={plain}={name}")));
    cc.arg("-shared").arg("-o").arg(folder.join(&soname));
    cc.arg(format!("-Wl,-soname,{soname}")).arg(format!("-Wl,--version-script={}", map.display()));
    cc.args(["-Wl,--gc-sections", "-Wl,-z,defs", "-Wl,--whole-archive"]).arg(archive);
    cc.args(["-Wl,--no-whole-archive", "-lgcc_s", "-lpthread", "-ldl", "-lm", "-lc"]);
    let output = process::capture(&mut cc)?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("cc makes no {soname}:\n{}", String::from_utf8_lossy(&output.stderr)))
}

/// The library's file.
pub fn file_name(major: u32) -> String {
    format!("libnvJitLink.so.{major}")
}

/// The names of the interface that an archive defines.
fn exported(nm: &str, archive: &Path) -> Result<BTreeSet<String>> {
    let all = symbols(nm, archive)?;
    Ok(all
        .into_iter()
        .filter(|name| name.contains("nvJitLink") && !name.starts_with("_ZN") || name == OWN)
        .collect())
}

/// Those that the library of a major version has: its own releases', and what all have.
fn names_of(major: u32, all: &BTreeSet<String>) -> Vec<&String> {
    let is_shared = |name: &str| name == OWN || name == "__nvJitLinkAPI";
    all.iter().filter(|name| is_shared(name) || name.contains(&format!("_{major}_"))).collect()
}

/// The plain names of a major version, each an alias of the name of the version's first release.
fn plain_names(major: u32, all: &BTreeSet<String>) -> BTreeMap<String, &String> {
    // That of the version itself has no release.
    let ends = [format!("_{major}_0"), format!("_{major}")];
    let plain = |name: &str| {
        let name = name.strip_prefix("__")?;
        ends.iter().find_map(|end| name.strip_suffix(end)).map(str::to_owned)
    };
    all.iter().filter_map(|name| Some((plain(name)?, name))).collect()
}

/// What `nm` lists, without version nodes.
fn symbols(nm: &str, file: &Path) -> Result<BTreeSet<String>> {
    let output = process::capture(Command::new(nm).arg("--defined-only").arg(file))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let name = |line: &str| match line.split_whitespace().collect::<Vec<_>>()[..] {
        [_, "T" | "W", name] => name.split('@').next().map(str::to_owned),
        _ => None,
    };
    Ok(text.lines().filter_map(name).collect())
}

/// The names of NVIDIA's libraries that ours lack.
pub fn missing_names(folder: &Path) -> Result<Vec<String>> {
    let mut missing = Vec::new();
    for (major, releases) in MAJORS {
        let own = with_versions(&folder.join(file_name(*major)))?;
        for release in *releases {
            let theirs = with_versions(&Library::find(release)?.ensure()?)?;
            missing.extend(theirs.difference(&own).map(|name| format!("{release}: {name}")));
        }
    }
    Ok(missing)
}

/// The names of a shared library with their version nodes.
fn with_versions(file: &Path) -> Result<BTreeSet<String>> {
    let output = process::capture(Command::new("nm").args(["-D", "--defined-only"]).arg(file))?;
    if !output.status.success() {
        return Err(format!("nm cannot read {}", file.display()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| line.split_whitespace().nth(2)).map(str::to_owned).collect())
}
