//! Header libraries that the programs include, beside those of the toolkit.

use crate::{Result, pip};

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
    if let Some(name) = package.pip {
        let root = pip::ensure(name)?;
        options.extend(package.include.iter().map(|folder| format!("-I{}", root.join(folder).display())));
    }
    Ok(options)
}
