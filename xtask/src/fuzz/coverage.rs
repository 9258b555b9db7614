//! Which lines of the readers the targets reach.

use super::{number, start};
use crate::cache::at;
use crate::{Result, cache, conformance};
use std::collections::BTreeMap;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A target and the files, or folders, that hold what it is for.
const READERS: [(&str, &[&str]); 14] = [
    ("device-elf", &["cubin/src/file.rs", "cubin/src/mercury.rs"]),
    (
        "nv-info",
        &["cubin/src/info.rs", "cubin/src/callgraph.rs", "cubin/src/note.rs", "fatbin/src/compat.rs"],
    ),
    ("relocations", &["cubin/src/reloc.rs", "cubin/src/bits.rs"]),
    (
        "fatbin",
        &[
            "fatbin/src/container.rs",
            "fatbin/src/member.rs",
            "fatbin/src/compress.rs",
            "fatbin/src/select.rs",
        ],
    ),
    ("archive", &["link/src/load/archive.rs", "solder/src/load/archive.rs", "solder/src/load/peek.rs"]),
    ("host-elf", &["link/src/load/host.rs", "link/src/load/item.rs"]),
    ("option-file", &["solder/src/options/option_file.rs", "solder/src/options/parse.rs"]),
    ("inspect", &["solder/src/commands/inspect/"]),
    ("prune", &["solder/src/commands/prune/"]),
    ("extract", &["solder/src/commands/inspect/extract.rs"]),
    ("demangle", &["link/src/demangle/"]),
    ("nvjitlink", &["nvjitlink/src/"]),
    ("reports", &["link/src/report/", "link/src/checks/", "solder/src/explain/"]),
    (
        "link",
        &[
            "link/src/accept.rs",
            "link/src/parse/",
            "link/src/model/",
            "link/src/resolve/",
            "link/src/call_graph.rs",
            "link/src/gc.rs",
            "link/src/merge/",
            "link/src/resources/",
            "link/src/shared.rs",
            "link/src/textures.rs",
            "link/src/relocate/",
            "link/src/layout/",
            "link/src/contents/",
            "link/src/notes.rs",
            "link/src/write.rs",
            "sass/src/finalize/",
        ],
    ),
];

const RUNS: u64 = 30_000;

pub fn run(args: &[String]) -> Result<u8> {
    let runs = number(args, "--runs")?.unwrap_or(RUNS);
    let tools = llvm_tools()?;
    let folder = cache::root()?.join("fuzz-coverage");
    let fuzzer = build(&folder.join("target"))?;
    for (target, files) in READERS {
        let profiles = folder.join(target);
        let _ = fs::remove_dir_all(&profiles);
        fs::create_dir_all(&profiles).map_err(|e| at(&profiles, &e))?;
        // The one place where this process's environment matters: the fuzzer hands it on.
        let command = ["--target", target, "--runs", &runs.to_string()].map(String::from);
        let code = start_profiled(&fuzzer, &command, &profiles)?;
        let reached = report(&tools, &fuzzer, &profiles)?;
        let of_reader = |(name, _): &(&String, &Lines)| files.iter().any(|file| name.contains(file));
        let sum = reached.iter().filter(of_reader).fold(Lines::default(), |sum, (_, lines)| Lines {
            all: sum.all + lines.all,
            reached: sum.reached + lines.reached,
        });
        println!("{target}: {sum}{}", if code == 0 { "" } else { ", with failures" });
        for (name, lines) in reached.iter().filter(of_reader) {
            println!("    {name}: {lines}");
        }
    }
    Ok(0)
}

fn start_profiled(fuzzer: &Path, args: &[String], profiles: &Path) -> Result<u8> {
    // A program between sets the variable, so that this one need not change its own environment.
    let wrapper = profiles.join("run");
    let line = format!(
        "#!/bin/sh\nLLVM_PROFILE_FILE='{}/%p.profraw' exec '{}' \"$@\"\n",
        profiles.display(),
        fuzzer.display()
    );
    fs::write(&wrapper, line).map_err(|e| at(&wrapper, &e))?;
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&wrapper, executable).map_err(|e| at(&wrapper, &e))?;
    start(wrapper, args)
}

fn build(target: &Path) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--package", "solder-fuzzing", "--bin", "solder-fuzz", "--target-dir"]);
    command.arg(target).env("RUSTFLAGS", "-Cinstrument-coverage").current_dir(conformance::workspace()?);
    let status = command.status().map_err(|e| format!("cargo: {e}"))?;
    if status.success() {
        Ok(target.join("debug/solder-fuzz"))
    } else {
        Err("the fuzzer does not build".into())
    }
}

/// The folder of `llvm-cov` and `llvm-profdata` that fit the compiler.
fn llvm_tools() -> Result<PathBuf> {
    let output = Command::new("rustc").args(["--print", "target-libdir"]).output();
    let output = output.map_err(|e| format!("rustc: {e}"))?;
    let libraries = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let folder = libraries.with_file_name("bin");
    if folder.join("llvm-cov").is_file() {
        return Ok(folder);
    }
    Err("there is no llvm-cov: install it with `rustup component add llvm-tools`".into())
}

#[derive(Clone, Copy, Default)]
struct Lines {
    all: u32,
    reached: u32,
}

impl std::fmt::Display for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let share = f64::from(self.reached) * 100.0 / f64::from(self.all.max(1));
        write!(f, "{} of {} lines, {share:.1} %", self.reached, self.all)
    }
}

/// The lines of each source file.
fn report(tools: &Path, fuzzer: &Path, profiles: &Path) -> Result<BTreeMap<String, Lines>> {
    let merged = profiles.join("merged");
    let raw: Vec<PathBuf> = fs::read_dir(profiles)
        .map_err(|e| at(profiles, &e))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "profraw"))
        .collect();
    let status = Command::new(tools.join("llvm-profdata"))
        .args(["merge", "-sparse", "-o"])
        .arg(&merged)
        .args(raw)
        .status()
        .map_err(|e| format!("llvm-profdata: {e}"))?;
    if !status.success() {
        return Err("the profiles cannot be merged".into());
    }
    let output = Command::new(tools.join("llvm-cov"))
        .args(["export", "-format=lcov", "-instr-profile"])
        .arg(&merged)
        .arg(fuzzer)
        .output()
        .map_err(|e| format!("llvm-cov: {e}"))?;
    let (mut files, mut name, mut at_compile_time) = (BTreeMap::new(), String::new(), Vec::new());
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        match line.split_once(':') {
            Some(("SF", path)) => {
                name = path.rsplit("/crates/").next().unwrap_or(path).to_string();
                at_compile_time = constant_functions(&fs::read_to_string(path).unwrap_or_default());
            }
            Some(("DA", place)) => {
                let Some((line, count)) = place.split_once(',') else { continue };
                let line: usize = line.parse().unwrap_or(0);
                let is_reached = count != "0";
                if is_reached || !at_compile_time.iter().any(|range| range.contains(&line)) {
                    let lines: &mut Lines = files.entry(name.clone()).or_default();
                    lines.all += 1;
                    lines.reached += u32::from(is_reached);
                }
            }
            _ => {}
        }
    }
    Ok(files)
}

/// The lines of functions that may have run when the program was compiled, where nobody counts.
fn constant_functions(source: &str) -> Vec<RangeInclusive<usize>> {
    let mut found = Vec::new();
    let mut lines = source.lines().zip(1..);
    while let Some((line, start)) = lines.next() {
        let code = line.trim_start();
        if code.strip_prefix("pub ").unwrap_or(code).starts_with("const fn ") {
            let end = format!("{}}}", &line[..line.len() - code.len()]);
            let last = lines.find(|(line, _)| *line == end).map_or(start, |(_, number)| number);
            found.push(start..=last);
        }
    }
    found
}
