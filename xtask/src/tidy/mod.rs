//! `cargo xtask tidy`: what the compiler does not check of the house's rules. docs/testing.md states them.

mod circles;
mod crates;
mod documents;
mod files;
mod finding;
mod modules;
mod reference;
mod sources;
mod tables;
#[cfg(test)]
mod tests;

use crate::Result;
use finding::{Check, Finding};
use std::path::Path;

const USAGE: &str = "\
usage: cargo xtask tidy [FOLDER]

Reads the sources, the manifests and the documents of the repository (or of FOLDER) and prints every place that breaks
a rule of docs/testing.md: circles of modules and crates, imports that point up, `unsafe` outside of its rooms, files and
a link() that are too long, documents and comments that name files, modules or cases that do not exist.";

pub fn run(args: &[String]) -> Result<u8> {
    let root = match args {
        [] => crate::workspace::workspace()?,
        [word] if matches!(word.as_str(), "-h" | "--help") => {
            println!("{USAGE}");
            return Ok(0);
        }
        [folder] => folder.into(),
        _ => return Err(USAGE.into()),
    };
    let findings = excuse(check(&root)?, tables::NOT_YET);
    for finding in &findings {
        eprintln!("{finding}");
    }
    match findings.len() {
        0 => println!("tidy: nothing found"),
        1 => eprintln!("tidy: 1 finding"),
        more => eprintln!("tidy: {more} findings"),
    }
    Ok(u8::from(!findings.is_empty()))
}

/// All findings in a repository, those that are excused too.
fn check(root: &Path) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let files = files::list(root)?;
    let manifests = crates::read(root)?;
    crates::check(&manifests, &mut findings);
    for manifest in &manifests {
        circles::check(root, manifest, &mut findings)?;
    }
    sources::check(root, &files, &manifests, &mut findings)?;
    documents::check(root, &files, &mut findings)?;
    reference::check(root, &files, &mut findings)?;
    findings.sort();
    findings.dedup();
    Ok(findings)
}

/// Leaves out what is not mended yet, and adds the excuses that nothing needs.
fn excuse(mut findings: Vec<Finding>, not_yet: &[(&str, Check)]) -> Vec<Finding> {
    let mut unneeded = Vec::new();
    for &(krate, check) in not_yet {
        let before = findings.len();
        findings.retain(|finding| !(finding.krate == krate && finding.check == check));
        if findings.len() == before {
            let text = format!(
                "NOT_YET excuses {krate} for {check}, and nothing is found there any more: remove the entry"
            );
            unneeded.push(Finding::new(check, "xtask/src/tidy/tables.rs", 1, text));
        }
    }
    findings.append(&mut unneeded);
    findings
}
