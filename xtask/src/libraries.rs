//! `cargo xtask libraries`: what `solder inspect` says of the kernels of NVIDIA's libraries, compared with
//! `cuobjdump -res-usage`, kernel by kernel; and the files that `solder extract` takes out of them, byte by byte.

use crate::bench::measure::Program;
use crate::cache::at;
use crate::process::Ending;
use crate::{Result, pip, process, workspace};
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const USAGE: &str = "\
usage: cargo xtask libraries [--all]

Compares registers, stack and shared memory of every kernel in libnvjpeg, libcurand and libnccl, as `solder
inspect` reports them, with `cuobjdump -res-usage`, and the files of `solder extract` with those of `cuobjdump -xelf all`
and `-xptx all`, names and bytes; and what both print of symbols, resource usage and names of members. --all adds libcublas, libcublasLt and libcusparse, which takes a
minute and 2 GB of memory. The libraries are Python packages, installed into the user's cache folder.";

/// The other tool.
const CUOBJDUMP: &str = "nvidia-cuda-cuobjdump==13.4.92";

/// A library, and the package that holds it.
struct Library {
    package: &'static str,
    file: &'static str,
    is_large: bool,
}

const LIBRARIES: &[Library] = &[
    Library { package: "nvidia-nvjpeg==13.0.4.44", file: "nvidia/cu13/lib/libnvjpeg.so.13", is_large: false },
    Library { package: "nvidia-curand==10.4.0.35", file: "nvidia/cu13/lib/libcurand.so.10", is_large: false },
    // Its kernels are linked from many files and call functions of others.
    Library { package: "nvidia-nccl-cu13==2.32.3", file: "nvidia/nccl/lib/libnccl.so.2", is_large: false },
    Library { package: "nvidia-cublas==13.0.2.14", file: "nvidia/cu13/lib/libcublas.so.13", is_large: true },
    // Some of its code was not made by ptxas.
    Library {
        package: "nvidia-cublas==13.0.2.14",
        file: "nvidia/cu13/lib/libcublasLt.so.13",
        is_large: true,
    },
    Library {
        package: "nvidia-cusparse==12.6.3.3",
        file: "nvidia/cu13/lib/libcusparse.so.12",
        is_large: true,
    },
];

pub fn run(args: &[String]) -> Result<u8> {
    let Some(all) = wants_all(args, USAGE)? else { return Ok(0) };
    let solder = workspace::solder()?;
    let skipped = |why: String| {
        eprintln!("SKIPPED: inspect was not compared with cuobjdump: {why}");
        Ok(0)
    };
    let cuobjdump = match pip::ensure(CUOBJDUMP) {
        Ok(root) => root.join("nvidia/cu13/bin/cuobjdump"),
        Err(why) => return skipped(why),
    };
    let mut is_equal = true;
    for library in LIBRARIES.iter().filter(|library| all || !library.is_large) {
        let file = match pip::ensure(library.package) {
            Ok(root) => root.join(library.file),
            Err(why) => return skipped(why),
        };
        is_equal &= compare(&solder, &cuobjdump, &file)?;
        is_equal &= summary_is_quick(&solder, &file)?;
        is_equal &= prints_the_same(&solder, &cuobjdump, &file)?;
        is_equal &= extracts_the_same(&solder, &cuobjdump, &file)?;
    }
    Ok(u8::from(!is_equal))
}

/// Whether the large libraries are asked for too; `None` if the help is.
pub(crate) fn wants_all(args: &[String], usage: &str) -> Result<Option<bool>> {
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Ok(Some(false)),
        ["--all"] => Ok(Some(true)),
        ["-h" | "--help"] => {
            println!("{usage}");
            Ok(None)
        }
        _ => Err(usage.into()),
    }
}

/// The libraries, installed first if need be.
pub(crate) fn files(all: bool) -> impl Iterator<Item = Result<PathBuf>> {
    let wanted = LIBRARIES.iter().filter(move |library| all || !library.is_large);
    wanted.map(|library| Ok(pip::ensure(library.package)?.join(library.file)))
}

/// cuobjdump, and the largest library that is not left to `--all`.
pub(crate) fn largest() -> Result<(PathBuf, PathBuf)> {
    let mut found = files(false).collect::<Result<Vec<_>>>()?;
    found.sort_by_key(|file| fs::metadata(file).map_or(0, |found| found.len()));
    Ok((pip::ensure(CUOBJDUMP)?.join("nvidia/cu13/bin/cuobjdump"), found.pop().ok_or("no library")?))
}

/// What both print of a library, line by line: names of members, symbols, resource usage.
fn prints_the_same(solder: &Path, cuobjdump: &Path, file: &Path) -> Result<bool> {
    let mut is_same = true;
    for (theirs, ours) in [
        ("-lelf", "--list=elf"),
        ("-lptx", "--list=ptx"),
        ("-symbols", "--symbols"),
        ("-res-usage", "--res-usage"),
    ] {
        let theirs = process::capture(Command::new(cuobjdump).arg(theirs).arg(file))?.stdout;
        let text = process::capture(Command::new(solder).args(["inspect", ours]).arg(file))?.stdout;
        let (theirs, text) = (String::from_utf8_lossy(&theirs), String::from_utf8_lossy(&text));
        // The registers of device functions are in the headers of their code, where cuobjdump does not look from sm_90 on.
        let differs = |(a, b): &(&str, &str)| {
            a != b
                && !a
                    .strip_prefix("  REG:0 ")
                    .is_some_and(|a| b.split_once(' ').is_some_and(|_| b.ends_with(a)))
        };
        let count = theirs.lines().count();
        let different: Vec<_> = theirs.lines().zip(text.lines()).filter(differs).collect();
        let is_long = count == text.lines().count();
        println!(
            "    {ours}: {count} lines, {} differ{}",
            different.len(),
            if is_long { "" } else { ", or are missing" }
        );
        for (theirs, ours) in different.iter().take(3) {
            println!("        cuobjdump: {theirs}\n        solder:    {ours}");
        }
        is_same &= different.is_empty() && is_long;
    }
    Ok(is_same)
}

/// The summary of a library reads only headers, however large it is.
fn summary_is_quick(solder: &Path, file: &Path) -> Result<bool> {
    const MOST_TIME: Duration = Duration::from_secs(1);
    const MOST_KIB: u64 = 150 << 10;
    let arguments = ["inspect".into(), file.display().to_string()];
    let nowhere = Path::new("/dev/null").to_path_buf();
    let folder = std::env::temp_dir();
    let program = Program {
        path: solder,
        arguments: &arguments,
        folder: &folder,
        stdout: nowhere.clone(),
        stderr: nowhere,
    };
    let sample = program.measure(Path::new("/"))?;
    println!("    summary: {:.2} s, {} MiB", sample.wall.as_secs_f64(), sample.peak >> 10);
    Ok(sample.ending == Ending::Exit(0) && sample.wall < MOST_TIME && sample.peak < MOST_KIB)
}

/// Both tools take the same files out of a library.
fn extracts_the_same(solder: &Path, cuobjdump: &Path, file: &Path) -> Result<bool> {
    let scratch = std::env::temp_dir().join(format!("solder-extract-{}", std::process::id()));
    let [ours, theirs] = ["ours", "theirs"].map(|name| scratch.join(name));
    for folder in [&ours, &theirs] {
        fs::create_dir_all(folder).map_err(|e| at(folder, &e))?;
    }
    let begin = Instant::now();
    for option in ["-xelf", "-xptx"] {
        // That there is no PTX is an error to it, and to nobody else.
        process::capture(Command::new(cuobjdump).args([option, "all"]).arg(file).current_dir(&theirs))?;
    }
    let their_time = begin.elapsed();
    let begin = Instant::now();
    output(Command::new(solder).args(["extract", "--kind", "elf,ptx"]).arg(file).current_dir(&ours))?;
    let our_time = begin.elapsed();
    let (our_files, their_files) = (names(&ours)?, names(&theirs)?);
    let differs = |name: &&String| fs::read(ours.join(name)).ok() != fs::read(theirs.join(name)).ok();
    let mut different: Vec<&String> = our_files.union(&their_files).filter(differs).collect();
    println!(
        "    extract: {} files, {} differ, {:.1} times faster",
        their_files.len(),
        different.len(),
        their_time.as_secs_f64() / our_time.as_secs_f64()
    );
    different.truncate(5);
    for name in &different {
        println!("        {name}");
    }
    fs::remove_dir_all(&scratch).map_err(|e| at(&scratch, &e))?;
    Ok(different.is_empty() && !their_files.is_empty())
}

fn names(folder: &Path) -> Result<BTreeSet<String>> {
    let files = fs::read_dir(folder).map_err(|e| at(folder, &e))?;
    Ok(files.flatten().map(|file| file.file_name().to_string_lossy().into_owned()).collect())
}

/// A kernel: its name, what it is for, registers, stack and shared memory.
type Kernel = (String, String, u64, u64, u64);

/// Kernels, and how often each is in a library.
type Kernels = HashMap<Kernel, usize>;

fn compare(solder: &Path, cuobjdump: &Path, file: &Path) -> Result<bool> {
    let begin = Instant::now();
    let ours = inspected(solder, file)?;
    let taken = begin.elapsed();
    let theirs = dumped(cuobjdump, file)?;
    let count: usize = theirs.values().sum();
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let only = |these: &Kernels, those: &Kernels| -> Vec<Kernel> {
        let is_more =
            |(kernel, count): &(&Kernel, &usize)| those.get(*kernel).copied().unwrap_or(0) < **count;
        these.iter().filter(is_more).map(|(kernel, _)| kernel.clone()).collect()
    };
    let (more, less) = (only(&ours, &theirs), only(&theirs, &ours));
    println!("{name}: {count} kernels, {} differ ({:.1} s)", more.len().max(less.len()), taken.as_secs_f64());
    for (title, kernels) in [("only inspect", &more), ("only cuobjdump", &less)] {
        for (kernel, arch, registers, stack, shared) in kernels.iter().take(5) {
            println!("    {title}: {arch} {kernel}: registers {registers}, stack {stack}, shared {shared}");
        }
    }
    if count == 0 {
        return Err(format!("cuobjdump reports no kernel in {name}"));
    }
    Ok(more.is_empty() && less.is_empty())
}

fn output(command: &mut Command) -> Result<Vec<u8>> {
    let output = process::capture(command)?;
    let name = command.get_program().to_string_lossy();
    if output.status.success() { Ok(output.stdout) } else { Err(format!("{name} fails: {}", output.status)) }
}

/// As `solder inspect` has them.
fn inspected(solder: &Path, file: &Path) -> Result<Kernels> {
    let json = output(Command::new(solder).args(["inspect", "--json", "--sort=name"]).arg(file))?;
    let rows: Value = serde_json::from_slice(&json).map_err(|e| format!("solder inspect: {e}"))?;
    let mut found = Kernels::new();
    for row in rows.as_array().ok_or("solder inspect gives no list")? {
        // What a library has in `__nv_relfatbin`, to be linked later, cuobjdump does not list.
        if row["form"] == "relocatable" {
            continue;
        }
        let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let number = |name: &str| row[name].as_u64().unwrap_or(0);
        let kernel = (text("name"), text("arch"), number("registers"), number("stack"), number("shared"));
        *found.entry(kernel).or_default() += 1;
    }
    Ok(found)
}

/// As `cuobjdump -res-usage` has them. The line after the name of a kernel names its constant bank; that of a device function
/// does not.
fn dumped(cuobjdump: &Path, file: &Path) -> Result<Kernels> {
    let text = output(Command::new(cuobjdump).arg("-res-usage").arg(file))?;
    let text = String::from_utf8_lossy(&text);
    let (mut found, mut arch, mut name) = (Kernels::new(), String::new(), String::new());
    for line in text.lines() {
        if let Some(named) = line.strip_prefix("arch = ") {
            arch = named.trim().into();
        } else if let Some(named) = line.strip_prefix(" Function ").and_then(|rest| rest.strip_suffix(':')) {
            name = named.into();
        } else if line.starts_with("  REG:") && line.contains("CONSTANT[0]:") {
            let value = |key: &str| {
                let word = line.split_whitespace().find_map(|word| word.strip_prefix(key));
                word.and_then(|word| word.parse().ok()).ok_or(format!("cuobjdump: no {key} in '{line}'"))
            };
            let kernel = (name.clone(), arch.clone(), value("REG:")?, value("STACK:")?, value("SHARED:")?);
            *found.entry(kernel).or_default() += 1;
        }
    }
    Ok(found)
}
