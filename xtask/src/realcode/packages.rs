//! Header libraries that the programs include, beside those of the toolkit.

use crate::cache;
use crate::{Result, toolkit};
use std::fs;
use std::path::Path;

struct Package {
    /// What programs call it.
    name: &'static str,
    /// The Python package that holds it; none for what the toolkit has.
    pip: Option<&'static str>,
    /// Its folders for nvcc.
    include: &'static [&'static str],
    /// Another package that it includes.
    needs: Option<&'static str>,
}

const PACKAGES: &[Package] = &[
    // nvcc finds these itself.
    Package { name: "cccl", pip: None, include: &[], needs: None },
    Package {
        name: "cutlass",
        pip: Some("nvidia-cutlass==4.2.0.0"),
        include: &["cutlass_library/source/include", "cutlass_library/source/tools/util/include"],
        needs: None,
    },
    Package {
        name: "curand",
        pip: Some("nvidia-curand==10.4.0.35"),
        include: &["nvidia/cu13/include"],
        needs: None,
    },
    Package {
        name: "mathdx",
        pip: Some("nvidia-mathdx==25.6.0"),
        include: &["nvidia/mathdx/include", "nvidia/mathdx/external/cutlass/include"],
        needs: Some("curand"),
    },
];

/// nvcc's options for a package, and what the cache must know about it. Installs it first if need be.
pub fn ensure(name: &str) -> Result<Vec<String>> {
    let package = PACKAGES
        .iter()
        .find(|package| package.name == name)
        .ok_or_else(|| format!("there is no package '{name}'"))?;
    let mut options = match package.needs {
        Some(other) => ensure(other)?,
        None => Vec::new(),
    };
    if let Some(pip) = package.pip {
        let root = cache::root()?.join("packages").join(pip.replace("==", "-"));
        install(&root, pip)?;
        options.extend(package.include.iter().map(|folder| format!("-I{}", root.join(folder).display())));
    }
    Ok(options)
}

fn install(root: &Path, pip: &str) -> Result<()> {
    if root.is_dir() {
        return Ok(());
    }
    let parent = root.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(|e| cache::at(parent, &e))?;
    let _lock = cache::lock(&root.with_added_extension("lock"))?;
    if root.is_dir() {
        return Ok(());
    }
    eprintln!("installing {pip} into {}", root.display());
    cache::remove_staged(root);
    let staged = cache::staging(root);
    let site = staged.join("site");
    let installed = toolkit::pip_install(&staged, &site, &[pip])
        .and_then(|()| cache::publish(&site, root))
        .map_err(|e| format!("could not install {pip}: {e}"));
    let _ = fs::remove_dir_all(&staged);
    installed
}
