//! `docs/releases.md`: how solder compares with the nvlink of every release.

use super::case::{CATEGORIES, Run};
use super::report::Report;
use crate::Result;
use crate::cache::at;
use crate::toolkit::Toolkit;
use solder_arch::{Arch, Release};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The heading of the section that the table is; the text around it is written by people.
const HEADING: &str = "## All cases";

const INTRODUCTION: &str = "\
`cargo xtask conformance --all-toolkits` writes this table. It makes the inputs of every case with the compilers of the toolkit, links them with its
nvlink and with solder as that release, and compares all that can be seen from outside ([testing.md](testing.md#conformance-cases)).
A cell is the number of runs that are equal and, where there are any, of those that are not. The last row has the runs in which solder
deviates as the case states ([deviations.md](deviations.md)).
";

/// What is compared with the releases of CUDA 12, and equal in all runs; what differs in the other categories is listed in
/// docs/reference/cuda-12.md.
const CATEGORIES_12: [&str; 11] =
    ["cli", "ghls", "compat", "errors", "core", "reloc", "gc", "debug", "fatbin", "hostobj", "ptx"];

/// The architectures that are compared with them.
const ARCHS_12: std::ops::RangeInclusive<u16> = 75..=90;

/// Whether a run belongs to what is equal in all runs with a release. From 13.1 on the finalizer schedules code anew in other
/// ways, which docs/reference/releases.md lists under *Not known*.
pub fn is_complete(run: &Run<'_>, release: &Release) -> bool {
    let category = run.case.category.as_str();
    let arch = run.arch.as_deref().and_then(Arch::parse);
    if release.major() < 13 {
        return CATEGORIES_12.contains(&category) && arch.is_none_or(|arch| ARCHS_12.contains(&arch.number));
    }
    let differs = match category {
        "mercury" => true,
        "older" => arch.is_some_and(Arch::is_mercury),
        _ => false,
    };
    !differs
}

/// A column for each release.
#[derive(Default)]
pub struct Table {
    versions: Vec<&'static str>,
    /// For each release what the cells of the categories say, and that of the deviations.
    columns: Vec<Vec<String>>,
}

impl Table {
    pub fn add(&mut self, toolkit: &'static Toolkit, report: &Report) {
        self.versions.push(toolkit.version);
        let mut deviating = 0;
        let mut column: Vec<String> = Vec::new();
        for category in CATEGORIES {
            let counts = report.counts(category).unwrap_or_default();
            deviating += counts.deviating;
            column.push(match counts.failed {
                0 => counts.passed.to_string(),
                failed => format!("{}, **{failed} differ**", counts.passed),
            });
        }
        column.push(deviating.to_string());
        self.columns.push(column);
    }

    /// Puts the table into its section of a document.
    pub fn write(&self, path: &Path) -> Result<()> {
        let document = fs::read_to_string(path).map_err(|e| at(path, &e))?;
        let document = self.within(&document).ok_or_else(|| format!("{}: no '{HEADING}'", path.display()))?;
        fs::write(path, document).map_err(|e| at(path, &e))
    }

    /// A document with this table in the place of an earlier one; `None` if it has no section for it.
    fn within(&self, document: &str) -> Option<String> {
        let (before, section) = document.split_once(&format!("{HEADING}\n"))?;
        let after = section.find("\n## ").map_or("", |at| &section[at..]);
        Some(format!("{before}{HEADING}\n\n{INTRODUCTION}\n{}{after}", self.text()))
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "| | {} |", self.versions.join(" | "));
        let _ = writeln!(text, "| --- |{}", " --- |".repeat(self.versions.len()));
        for (row, name) in CATEGORIES.iter().chain(&["deviations"]).enumerate() {
            let cells: Vec<&str> = self.columns.iter().map(|column| column[row].as_str()).collect();
            let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_replaces_an_earlier_one_and_nothing_else() {
        let column = vec!["1".to_string(); CATEGORIES.len() + 1];
        let table = Table { versions: vec!["13.0.88"], columns: vec![column] };
        let once = table.within("# Releases\n\nText.\n\n## All cases\n\nold\n\n## 13.5\n\nMore.\n").unwrap();
        assert!(once.starts_with("# Releases\n\nText.\n\n## All cases\n\n`cargo xtask"));
        assert!(once.ends_with("| deviations | 1 |\n\n## 13.5\n\nMore.\n"));
        assert_eq!(table.within(&once), Some(once.clone()));
        assert_eq!(table.within("# Releases\n"), None);
    }
}
