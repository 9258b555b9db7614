//! The crates of the workspace and their dependencies, as the manifests say.

use super::finding::{Check, Finding};
use super::{files, tables};
use crate::Result;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

pub struct Manifest {
    /// The name of the crate's folder, by which the tables know it.
    pub krate: String,
    /// The folder, relative to the root.
    pub folder: String,
    package: String,
    /// Names of packages that the crate itself needs (not its tests), with their lines.
    needs: Vec<(String, usize)>,
}

/// Reads the manifests of `crates/*` and `xtask`.
pub fn read(root: &Path) -> Result<Vec<Manifest>> {
    let mut folders: Vec<String> = Vec::new();
    if let Ok(entries) = fs::read_dir(root.join("crates")) {
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        folders.extend(names.map(|name| format!("crates/{name}")));
    }
    folders.push("xtask".into());
    folders.sort();
    folders.retain(|folder| root.join(folder).join("Cargo.toml").is_file());
    let manifest = |folder: String| {
        let text = files::read(root, &format!("{folder}/Cargo.toml"))?;
        let (package, needs) = parse(&text);
        let krate = folder.rsplit('/').next().unwrap_or_default().to_owned();
        Ok(Manifest { krate, folder, package, needs })
    };
    folders.into_iter().map(manifest).collect()
}

/// The package's name and the keys of its tables of dependencies: `name = …`, `name.workspace = true` or a table
/// `[dependencies.name]`. Tests may depend on what they like.
fn parse(text: &str) -> (String, Vec<(String, usize)>) {
    let (mut package, mut needs) = (String::new(), Vec::new());
    let mut table = String::new();
    let is_needs = |table: &str| {
        matches!(table, "dependencies" | "build-dependencies")
            || (table.starts_with("target.") && table.ends_with(".dependencies"))
    };
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            name.trim().clone_into(&mut table);
            if let Some((outer, name)) = table.rsplit_once('.')
                && is_needs(outer)
            {
                needs.push((name.trim_matches('"').to_owned(), index + 1));
            }
        } else if let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) {
            let key = key.trim();
            if is_needs(&table) {
                let name = key.split('.').next().unwrap_or(key);
                needs.push((name.trim_matches('"').to_owned(), index + 1));
            } else if table == "package" && key == "name" {
                value.trim().trim_matches('"').clone_into(&mut package);
            }
        }
    }
    (package, needs)
}

/// Every arrow between crates is one of the table, so that they form no circle; the table itself has none.
pub fn check(manifests: &[Manifest], findings: &mut Vec<Finding>) {
    check_table(tables::LAYERS, findings);
    let by_package: HashMap<&str, &str> =
        manifests.iter().map(|manifest| (manifest.package.as_str(), manifest.krate.as_str())).collect();
    for manifest in manifests {
        let file = format!("{}/Cargo.toml", manifest.folder);
        let krate = &manifest.krate;
        let Some((_, allowed)) = tables::LAYERS.iter().find(|(name, _)| name == krate) else {
            let text = format!(
                "the crate {krate} is not in the table of layers (xtask/src/tidy/tables.rs): say there what it may depend on"
            );
            findings.push(Finding::new(Check::Layer, &file, 1, text));
            continue;
        };
        for (package, line) in &manifest.needs {
            if let Some(needed) = by_package.get(package.as_str())
                && !allowed.contains(needed)
            {
                let text =
                    format!("{krate} depends on {needed}, which is not below it in the table of layers");
                findings.push(Finding::new(Check::Layer, &file, *line, text));
            }
        }
    }
}

/// A crate may depend only on crates that are before it in the table: then no circle is possible.
fn check_table(layers: &[(&str, &[&str])], findings: &mut Vec<Finding>) {
    for (place, (krate, allowed)) in layers.iter().enumerate() {
        for needed in *allowed {
            if !layers[..place].iter().any(|(before, _)| before == needed) {
                let text =
                    format!("the table of layers lets {krate} depend on {needed}, which is not before it");
                findings.push(Finding::new(Check::Layer, "xtask/src/tidy/tables.rs", 1, text));
            }
        }
    }
}
