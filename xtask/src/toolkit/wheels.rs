//! Toolkits of Python packages. They unpack to one tree that lacks a few links; with those it is a toolkit like an
//! installed one.

use crate::Result;
use crate::cache::at;
use crate::pip::pip_install_for;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Lets pip unpack the packages, perhaps those for another platform, under `staged`; the value is the toolkit's tree among them.
pub fn unpack(staged: &Path, packages: &[&str], platform: Option<&str>) -> Result<PathBuf> {
    let site = staged.join("site");
    pip_install_for(staged, &site, packages, platform)?;
    let tree = site.join("nvidia/cu13");
    let notices = tree.join("share/packages");
    fs::create_dir_all(&notices).map_err(|e| at(&notices, &e))?;
    for entry in fs::read_dir(&site).map_err(|e| at(&site, &e))?.flatten() {
        // The packages' metadata hold their licences; they stay with the files they are about.
        if entry.file_name().to_string_lossy().ends_with(".dist-info") {
            fs::rename(entry.path(), notices.join(entry.file_name())).map_err(|e| at(&notices, &e))?;
        }
    }
    lay_out(&tree)?;
    Ok(tree)
}

/// Adds what an installed toolkit has and the packages lack.
fn lay_out(tree: &Path) -> Result<()> {
    let link = |target: &str, name: PathBuf| match name.symlink_metadata() {
        Ok(_) => Ok(()),
        Err(_) => symlink(target, &name).map_err(|e| at(&name, &e)),
    };
    link("lib", tree.join("lib64"))?;
    let nvvm = tree.join("nvvm/lib64");
    fs::create_dir_all(&nvvm).map_err(|e| at(&nvvm, &e))?;
    link("../../lib/libnvvm.so.4", nvvm.join("libnvvm.so"))?;
    let lib = tree.join("lib");
    for entry in fs::read_dir(&lib).map_err(|e| at(&lib, &e))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some((stem, _)) = name.split_once(".so.") {
            link(&name, lib.join(format!("{stem}.so")))?;
        }
    }
    Ok(())
}
