//! The programs of `examples/jit` in C and in Rust, built and run as their heads say. That in Python belongs to `python`.

use super::{compare, library};
use crate::cache::{self, at};
use crate::toolkit::{ORACLE, Toolkit};
use crate::workspace::workspace;
use crate::{Result, process};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs them, and compares their images with those of NVIDIA's library and of nvlink. Returns how many differ.
pub fn run(folder: &Path) -> Result<usize> {
    let scratch = cache::root()?.join("scratch").join(format!("nvjitlink-examples-{}", std::process::id()));
    fs::create_dir_all(&scratch).map_err(|e| at(&scratch, &e))?;
    let examples = Examples { root: workspace()?, toolkit: Toolkit::find(ORACLE.name)?.ensure()?, scratch };
    let mut failed = 0;
    for (name, differences) in [("link.c", examples.c(folder)), ("link.rs", examples.rust())] {
        let differences = differences.unwrap_or_else(|message| vec![message]);
        failed += usize::from(!differences.is_empty());
        let text = if differences.is_empty() { "equal".into() } else { differences.join("\n    ") };
        println!("examples/jit/{name}: {text}");
    }
    let _ = fs::remove_dir_all(&examples.scratch);
    Ok(failed)
}

struct Examples {
    root: PathBuf,
    toolkit: PathBuf,
    scratch: PathBuf,
}

impl Examples {
    /// The inputs of the link.
    fn inputs(&self) -> [PathBuf; 2] {
        ["blur.cubin", "weights.cubin"].map(|file| self.root.join("examples/quickstart").join(file))
    }

    /// Runs a program that must succeed and print nothing, and reads the image that it wrote.
    fn image(&self, program: &mut Command) -> Result<Vec<u8>> {
        let output = self.scratch.join("out.cubin");
        let _ = fs::remove_file(&output);
        let ran = process::capture(program.current_dir(&self.root))?;
        let printed = [ran.stdout, ran.stderr].concat();
        if !ran.status.success() || !printed.is_empty() {
            return Err(format!("{}: {}", ran.status, String::from_utf8_lossy(&printed)));
        }
        fs::read(&output).map_err(|e| at(&output, &e))
    }

    /// The program in C, linked with solder's library and with NVIDIA's.
    fn c(&self, folder: &Path) -> Result<Vec<String>> {
        let link = |folder: &Path| {
            let program = self.scratch.join("link");
            let mut cc = Command::new("cc");
            cc.args(["-Wall", "-Werror", "-I"]).arg(self.root.join("crates/nvjitlink/include"));
            cc.arg(self.root.join("examples/jit/link.c")).arg(folder.join(library::file_name(13)));
            cc.arg(format!("-Wl,-rpath,{}", folder.display())).arg("-o").arg(&program);
            let built = process::capture(&mut cc)?;
            if !built.status.success() {
                return Err(String::from_utf8_lossy(&built.stderr).into_owned());
            }
            let output = self.scratch.join("out.cubin");
            self.image(Command::new(&program).arg("sm_90").arg(&output).args(self.inputs()))
        };
        Ok(compare::images(&link(&self.toolkit.join("lib64"))?, &link(folder)?))
    }

    /// The program in Rust, and nvlink: it uses no library of nvJitLink's interface.
    fn rust(&self) -> Result<Vec<String>> {
        let output = self.scratch.join("out.cubin");
        let mut nvlink = Command::new(self.toolkit.join("bin/nvlink"));
        let theirs = self.image(nvlink.arg("-arch=sm_90").args(self.inputs()).arg("-o").arg(&output))?;
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut example = Command::new(cargo);
        example.args(["run", "--quiet", "-p", "solder-link", "--example", "jit", "--", "sm_90"]);
        let own = self.image(example.arg(&output).args(self.inputs()))?;
        Ok(compare::images(&theirs, &own))
    }
}
