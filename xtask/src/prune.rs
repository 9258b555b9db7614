//! `cargo xtask prune`: `solder prune` compared with nvprune, file by file; and libraries that were pruned.

use crate::cache::at;
use crate::toolkit::Toolkit;
use crate::{Result, libraries, process, workspace};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const USAGE: &str = "\
usage: cargo xtask prune [--all]

Makes objects and archives with the assembler of CUDA 12.4, prunes them with nvprune 12.4 and with `solder prune`, and
compares the files byte by byte. Then prunes libnvjpeg, libcurand and libnccl: each must be smaller by what was
removed, within 1 %, pass readelf and strip, and load. --all adds libcublas, libcublasLt and libcusparse.";

/// Newer toolkits have no nvprune that can be had as a package.
const ORACLE: &str = "12.4";

const KERNEL: &str =
    ".version 8.0\n.target {arch}\n.address_size 64\n.visible .entry k(.param .u64 p)\n{ ret; }\n";

/// Lists of members: machine code for these, then PTX for these.
const MEMBERS: [(&str, &[&str], &[&str]); 4] = [
    ("some", &["70", "80", "90"], &["80"]),
    ("twice", &["80", "80", "90"], &["70", "80"]),
    ("accelerated", &["90", "90a"], &["90", "90a"]),
    ("text", &[], &["70"]),
];

/// What is asked to stay.
const KEPT: [&[&str]; 6] =
    [&["sm_80"], &["compute_80"], &["sm_90a"], &["sm_86"], &["sm_80", "sm_90"], &["sm_90", "compute_90"]];

/// What objects are made of: a name, and sections with lists of members in them.
const OBJECTS: [(&str, &[(&str, &str)]); 7] = [
    ("linked", &[(".nv_fatbin", "some")]),
    ("relocatable", &[("__nv_relfatbin", "some")]),
    ("packed", &[("__nv_relfatbin", "some.packed")]),
    ("accelerated", &[(".nv_fatbin", "accelerated")]),
    ("text", &[(".nv_fatbin", "text")]),
    ("several", &[(".nv_fatbin", "some"), (".nv_fatbin", "twice"), (".nv_fatbin", "text.packed")]),
    ("none", &[]),
];

/// Members of archives.
const ARCHIVES: [(&str, &[&str]); 2] = [
    ("libone.a", &["linked.o"]),
    ("libmany.a", &["none.o", "linked.o", "a-name-of-a-member-that-is-long.o", "several.o", "packed.o"]),
];

pub fn run(args: &[String]) -> Result<u8> {
    let Some(all) = libraries::wants_all(args, USAGE)? else { return Ok(0) };
    let solder = workspace::solder()?;
    let folder = std::env::temp_dir().join(format!("solder-prune-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|e| at(&folder, &e))?;
    let outcome =
        compare(&solder, &folder).and_then(|same| Ok(same & prune_libraries(&solder, &folder, all)?));
    let _ = fs::remove_dir_all(&folder);
    Ok(u8::from(!outcome?))
}

fn compare(solder: &Path, folder: &Path) -> Result<bool> {
    let toolkit = match Toolkit::find(ORACLE)?.ensure() {
        Ok(root) => root.join("bin"),
        Err(why) => {
            eprintln!("SKIPPED: prune was not compared with nvprune: {why}");
            return Ok(true);
        }
    };
    let maker = Maker { toolkit: &toolkit, folder };
    let files = maker.files()?;
    let (mut count, mut different) = (0, Vec::new());
    for file in &files {
        for kept in KEPT {
            count += 1;
            if !is_same(solder, &toolkit.join("nvprune"), folder, file, kept)? {
                different.push(format!("{file} {}", kept.join(",")));
            }
        }
    }
    println!("prune: {count} files compared with nvprune {ORACLE}, {} differ", different.len());
    for case in &different {
        println!("    {case}");
    }
    Ok(different.is_empty())
}

fn is_same(solder: &Path, nvprune: &Path, folder: &Path, file: &str, kept: &[&str]) -> Result<bool> {
    let [ours, theirs] = ["ours", "theirs"].map(|name| folder.join(name));
    for old in [&ours, &theirs] {
        let _ = fs::remove_file(old);
    }
    let code = format!("arch=compute_50,code=[{}]", kept.join(","));
    succeed(Command::new(nvprune).args(["-gencode", &code, file, "-o"]).arg(&theirs).current_dir(folder))?;
    let keep = kept.join(",");
    succeed(
        Command::new(solder).args(["prune", "--keep", &keep, file, "-o"]).arg(&ours).current_dir(folder),
    )?;
    let read = |path: &Path| fs::read(path).map_err(|e| at(path, &e));
    Ok(read(&ours)? == read(&theirs)?)
}

fn succeed(command: &mut Command) -> Result<Vec<u8>> {
    let output = process::capture(command)?;
    let name = command.get_program().to_string_lossy();
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(output.stdout) } else { Err(format!("{name} fails: {said}")) }
}

struct Maker<'a> {
    toolkit: &'a Path,
    folder: &'a Path,
}

impl Maker<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        fs::write(self.path(name), text).map_err(|e| at(&self.path(name), &e))
    }

    fn run(&self, tool: &str, words: &[String]) -> Result<()> {
        let own = self.toolkit.join(tool);
        let program = if own.is_file() { own } else { PathBuf::from(tool) };
        succeed(Command::new(program).args(words).current_dir(self.folder)).map(drop)
    }

    /// Objects and archives.
    fn files(&self) -> Result<Vec<String>> {
        for (name, machine_code, texts) in MEMBERS {
            self.container(name, machine_code, texts, false)?;
            self.container(&format!("{name}.packed"), machine_code, texts, true)?;
        }
        let mut files = Vec::new();
        for (name, sections) in OBJECTS {
            files.push(self.object(name, sections)?);
        }
        let long = self.path("a-name-of-a-member-that-is-long.o");
        fs::copy(self.path("relocatable.o"), &long).map_err(|e| at(&long, &e))?;
        for (name, members) in ARCHIVES {
            let words = ["rc", name].into_iter().chain(members.iter().copied());
            self.run("ar", &words.map(String::from).collect::<Vec<_>>())?;
            files.push(name.into());
        }
        Ok(files)
    }

    fn container(&self, name: &str, machine_code: &[&str], texts: &[&str], packs: bool) -> Result<()> {
        let mut words = vec!["-64".to_string(), format!("--create={name}.fatbin")];
        words.extend(packs.then(|| "--compress-all".to_string()));
        for (number, kind) in machine_code.iter().map(|n| (n, "elf")).chain(texts.iter().map(|n| (n, "ptx")))
        {
            let text = format!("{number}.ptx");
            self.write(&text, &KERNEL.replace("{arch}", &format!("sm_{number}")))?;
            let file = if kind == "elf" { format!("{number}.cubin") } else { text.clone() };
            if kind == "elf" {
                self.run("ptxas", &[format!("-arch=sm_{number}"), text, "-o".into(), file.clone()])?;
            }
            words.push(format!("--image3=kind={kind},sm={number},file={file}"));
        }
        self.run("fatbinary", &words)
    }

    /// One file for each section, put together by the host's linker.
    fn object(&self, name: &str, sections: &[(&str, &str)]) -> Result<String> {
        let mut parts = Vec::new();
        for (index, (section, members)) in sections.iter().enumerate() {
            let part = format!("{name}.{index}");
            let text = format!(
                ".section {section}, \"a\"\n.align 8\nfatbinData: .incbin \"{members}.fatbin\"\n\
                 .size fatbinData, .-fatbinData\n.section .aligned, \"aw\"\n.align 64\n.long 1\n\
                 .section .nvFatBinSegment, \"aw\"\n.align 8\n.long 0x466243b1, 1\n.quad fatbinData, 0\n\
                 .text\n.globl f{index}\nf{index}: .long {index}\n"
            );
            self.write(&format!("{part}.s"), &text)?;
            parts.push(part);
        }
        if parts.is_empty() {
            self.write(&format!("{name}.0.s"), ".text\n.globl g\ng: .long 1\n")?;
            parts.push(format!("{name}.0"));
        }
        for part in &parts {
            self.run("cc", &["-c".into(), format!("{part}.s"), "-o".into(), format!("{part}.o")])?;
        }
        let object = format!("{name}.o");
        let parts = parts.iter().map(|part| format!("{part}.o"));
        self.run(
            "ld",
            &["-r".into(), "-o".into(), object.clone()].into_iter().chain(parts).collect::<Vec<_>>(),
        )?;
        Ok(object)
    }
}

fn prune_libraries(solder: &Path, folder: &Path, all: bool) -> Result<bool> {
    let mut is_sound = true;
    for library in libraries::files(all) {
        match library {
            Ok(file) => is_sound &= prune_library(solder, folder, &file)?,
            Err(why) => {
                eprintln!("SKIPPED: no library was pruned: {why}");
                break;
            }
        }
    }
    Ok(is_sound)
}

/// Keeps the code for one architecture.
fn prune_library(solder: &Path, folder: &Path, file: &Path) -> Result<bool> {
    let name = file.file_name().unwrap_or_default();
    let pruned = folder.join(name);
    let begin = std::time::Instant::now();
    succeed(Command::new(solder).args(["prune", "--keep=sm_90"]).arg(file).arg("-o").arg(&pruned))?;
    let taken = begin.elapsed();
    let size = |path: &Path| fs::metadata(path).map(|found| found.len()).map_err(|e| at(path, &e));
    let removed = packed(solder, file)? - packed(solder, &pruned)?;
    let smaller = size(file)? - size(&pruned)?;
    let is_near = smaller.abs_diff(removed) < removed / 100 + (64 << 10);
    let stripped = folder.join("stripped.so");
    succeed(Command::new("readelf").args(["-a", "-W"]).arg(&pruned))?;
    succeed(Command::new("strip").arg("-o").arg(&stripped).arg(&pruned))?;
    for library in [&pruned, &stripped] {
        // Libraries of the same package may be needed; those that others have are not asked for.
        let loads = "import ctypes, sys; ctypes.CDLL(sys.argv[1], mode=1)";
        let beside = file.parent().unwrap_or(Path::new(""));
        succeed(Command::new("python3").args(["-c", loads]).arg(library).env("LD_LIBRARY_PATH", beside))?;
    }
    println!(
        "{}: {} KiB without {} KiB of code is {} KiB smaller, {:.2} s",
        name.to_string_lossy(),
        size(file)? >> 10,
        removed >> 10,
        smaller >> 10,
        taken.as_secs_f64()
    );
    fs::remove_file(&pruned).and_then(|()| fs::remove_file(&stripped)).map_err(|e| at(&pruned, &e))?;
    Ok(is_near)
}

/// Bytes of members, as they are stored.
fn packed(solder: &Path, file: &Path) -> Result<u64> {
    let json = succeed(Command::new(solder).args(["inspect", "--list", "--json"]).arg(file))?;
    let found: Value = serde_json::from_slice(&json).map_err(|e| format!("solder inspect: {e}"))?;
    Ok(sum_of_packed(&found))
}

/// The sum over all members, wherever they are in the report; summaries have members of no kind.
fn sum_of_packed(value: &Value) -> u64 {
    match value {
        Value::Object(fields) if fields.contains_key("compression") => fields["packed"].as_u64().unwrap_or(0),
        Value::Object(fields) => fields.values().map(sum_of_packed).sum(),
        Value::Array(values) => values.iter().map(sum_of_packed).sum(),
        _ => 0,
    }
}
