//! Libraries that the programs include or are linked with, beside those of the toolkit.

use crate::{Result, pip};
use std::path::PathBuf;

struct Package {
    /// What programs call it.
    name: &'static str,
    /// The Python package that holds it; none for what the toolkit has.
    pip: Option<&'static str>,
    /// Its folders for nvcc.
    include: &'static [&'static str],
    /// Another package that it includes.
    needs: Option<&'static str>,
    /// Its archive of device code, for the linkers.
    archive: Option<&'static str>,
}

const NVSHMEM_HEADERS: &[&str] = &["nvidia/nvshmem/include"];
const NVSHMEM_ARCHIVE: Option<&str> = Some("nvidia/nvshmem/lib/libnvshmem_device.a");

const PACKAGES: &[Package] = &[
    // nvcc finds these itself.
    Package { name: "cccl", pip: None, include: &[], needs: None, archive: None },
    Package {
        name: "cutlass",
        pip: Some("nvidia-cutlass==4.2.0.0"),
        include: &["cutlass_library/source/include", "cutlass_library/source/tools/util/include"],
        needs: None,
        archive: None,
    },
    Package {
        name: "curand",
        pip: Some("nvidia-curand==10.4.0.35"),
        include: &["nvidia/cu13/include"],
        needs: None,
        archive: None,
    },
    Package {
        name: "mathdx",
        pip: Some("nvidia-mathdx==25.6.0"),
        include: &["nvidia/mathdx/include", "nvidia/mathdx/external/cutlass/include"],
        needs: Some("curand"),
        archive: None,
    },
    // Its machine code is that of ptxas 12.9.
    Package {
        name: "nvshmem-cu12",
        pip: Some("nvidia-nvshmem-cu12==3.8.0"),
        include: NVSHMEM_HEADERS,
        needs: None,
        archive: NVSHMEM_ARCHIVE,
    },
    // And of ptxas 13.0.100.
    Package {
        name: "nvshmem-cu13",
        pip: Some("nvidia-nvshmem-cu13==3.8.0"),
        include: NVSHMEM_HEADERS,
        needs: None,
        archive: NVSHMEM_ARCHIVE,
    },
];

fn find(name: &str) -> Result<&'static Package> {
    let found = PACKAGES.iter().find(|package| package.name == name);
    found.ok_or_else(|| format!("there is no package '{name}'"))
}

/// nvcc's options for a package, and what the cache must know about it. Installs it first if need be.
pub fn ensure(name: &str) -> Result<Vec<String>> {
    let package = find(name)?;
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

/// The archive of a package. Installs it first if need be.
pub fn archive(name: &str) -> Result<PathBuf> {
    match find(name)? {
        Package { pip: Some(pip), archive: Some(archive), .. } => Ok(pip::ensure(pip)?.join(archive)),
        _ => Err(format!("the package '{name}' has no archive")),
    }
}
