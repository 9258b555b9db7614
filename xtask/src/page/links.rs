//! The links whose reports are looked at.

use crate::bench::template::{Template, name};
use crate::cache::{self, Key, at};
use crate::process::{self, Ending};
use crate::{Result, toolkit};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const ARCH: &str = "-arch=sm_90";

/// A program of three files, one of them in an archive, that has a little of everything.
const DEMO: [(&str, &str); 4] = [
    ("simulate.cu", include_str!("demo/simulate.cu")),
    ("render.cu", include_str!("demo/render.cu")),
    ("physics.cu", include_str!("demo/physics.cu")),
    ("parts.h", include_str!("demo/parts.h")),
];

/// A module of a large program.
const MODULE: (&str, &str) = ("module.cu", include_str!("demo/module.cu"));

const LIMIT: Duration = Duration::from_mins(2);

/// What the programs are compiled to, made once and kept in the user's cache folder.
pub struct Compiled {
    root: PathBuf,
    toolkit: PathBuf,
}

impl Compiled {
    pub fn ensure() -> Result<Self> {
        let toolkit = toolkit::ensure()?;
        let sources: Vec<&(&str, &str)> = DEMO.iter().chain([&MODULE]).collect();
        let mut key = Key::new("programs of reports, with LTO");
        key.text(&toolkit.to_string_lossy());
        for (name, text) in &sources {
            key.text(name).text(text);
        }
        let root = cache::root()?.join(format!("page-{}", &key.hex()[..8]));
        let _lock = cache::lock(&root.with_extension("lock"))?;
        if root.is_dir() {
            return Ok(Self { root, toolkit });
        }
        cache::remove_staged(&root);
        let staged = cache::staging(&root);
        fs::create_dir_all(&staged).map_err(|e| at(&staged, &e))?;
        for (name, text) in &sources {
            let path = staged.join(name);
            fs::write(&path, text).map_err(|e| at(&path, &e))?;
        }
        let nvcc = toolkit.join("bin/nvcc");
        for (source, _) in sources {
            let Some(stem) = source.strip_suffix(".cu") else { continue };
            let (mode, ending) = if *source == MODULE.0 { ("-cubin", "cubin") } else { ("-c", "o") };
            let output = format!("{stem}.{ending}");
            run(Command::new(&nvcc)
                .args([ARCH, "-rdc=true", mode, "-o", &output, source])
                .current_dir(&staged))?;
            if mode == "-c" {
                let output = format!("{stem}.lto.o");
                let mut command = Command::new(&nvcc);
                command.args([ARCH, "-rdc=true", "-dlto", mode, "-o", &output, source]);
                run(command.current_dir(&staged))?;
            }
        }
        run(Command::new("ar").args(["rc", "libphysics.a", "physics.o"]).current_dir(&staged))?;
        cache::publish(&staged, &root)?;
        Ok(Self { root, toolkit })
    }

    /// Links the program of three files; the report.
    pub fn demo(&self, solder: &Path, folder: &Path) -> Result<PathBuf> {
        let inputs = ["simulate.o", "render.o", "libphysics.a"].map(|file| self.root.join(file));
        self.link(solder, folder, &["-o", "app.cubin"], &inputs)
    }

    /// Has the same program compiled as a whole; the report.
    pub fn whole(&self, solder: &Path, folder: &Path) -> Result<PathBuf> {
        let inputs = ["simulate.lto.o", "render.lto.o", "physics.lto.o"].map(|file| self.root.join(file));
        let nvvm = format!("--nvvmpath={}", self.toolkit.join("nvvm").display());
        self.link(solder, folder, &["-dlto", &nvvm, "-o", "whole.cubin"], &inputs)
    }

    /// Links a program of so many modules; the report.
    pub fn modules(&self, solder: &Path, folder: &Path, count: usize) -> Result<PathBuf> {
        let path = self.root.join("module.cubin");
        let template = Template::new(fs::read(&path).map_err(|e| at(&path, &e))?)?;
        let objects = folder.join("objects");
        fs::create_dir_all(&objects).map_err(|e| at(&objects, &e))?;
        let mut inputs = Vec::with_capacity(count);
        for module in 0..count {
            let path = objects.join(format!("{}.cubin", name(module)));
            fs::write(&path, template.fill(module, (module * 7 + 1) % count)).map_err(|e| at(&path, &e))?;
            inputs.push(path);
        }
        let report = self.link(solder, folder, &["-o", "large.cubin"], &inputs)?;
        fs::remove_dir_all(&objects).map_err(|e| at(&objects, &e))?;
        Ok(report)
    }

    fn link(&self, solder: &Path, folder: &Path, options: &[&str], inputs: &[PathBuf]) -> Result<PathBuf> {
        let report = folder.join("report.html");
        let words: Vec<String> = inputs.iter().map(|input| input.display().to_string()).collect();
        let list = folder.join("inputs.txt");
        fs::write(&list, words.join("\n")).map_err(|e| at(&list, &e))?;
        let mut command = Command::new(solder);
        command.args([ARCH, "--options-file", "inputs.txt"]).args(options).arg("--report").arg(&report);
        run(command.env("CUDA_HOME", &self.toolkit).current_dir(folder))?;
        Ok(report)
    }
}

/// The page of `solder size` about a file of a folder.
pub fn sizes(solder: &Path, folder: &Path, file: &str) -> Result<PathBuf> {
    let page = folder.join("sizes.html");
    run(Command::new(solder).args(["size", file, "--page"]).arg(&page).current_dir(folder))?;
    Ok(page)
}

fn run(command: &mut Command) -> Result<()> {
    let (ending, _, stderr) = process::watch(command, LIMIT)?;
    if ending == Ending::Exit(0) {
        return Ok(());
    }
    let name = command.get_program().to_string_lossy();
    Err(format!("{name}: {ending}\n{}", String::from_utf8_lossy(&stderr)))
}
