//! `docs/releases.md`: how solder compares with the nvlink of every release.

use super::case::{CATEGORIES, Run};
use super::report::Report;
use crate::Result;
use crate::cache::at;
use crate::toolkit::{TOOLKITS, Toolkit};
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

/// The last row.
const DEVIATIONS: &str = "deviations";

/// What is compared with the releases of CUDA 12, and equal in all runs; what differs in the other categories is listed in
/// docs/reference/cuda-12.md.
const CATEGORIES_12: [&str; 11] =
    ["cli", "ghls", "compat", "errors", "core", "reloc", "gc", "debug", "fatbin", "hostobj", "ptx"];

/// The architectures that are compared with them.
const ARCHS_12: std::ops::RangeInclusive<u16> = 75..=90;

/// Whether a run belongs to what is equal in all runs with a release. From 13.1 on the finalizer schedules code of earlier assemblers anew in
/// ways of its own; docs/reference/releases.md lists under *Not known* what differs.
pub fn is_complete(run: &Run<'_>, release: &Release) -> bool {
    let category = run.case.category.as_str();
    let arch = run.arch.as_deref().and_then(Arch::parse);
    if release.major() < 13 {
        return CATEGORIES_12.contains(&category) && arch.is_none_or(|arch| ARCHS_12.contains(&arch.number));
    }
    !(category == "older" && arch.is_some_and(Arch::is_mercury))
}

/// A column for each release: its version, and what the cells of the categories say, and that of the deviations.
#[derive(Default)]
pub struct Table(Vec<(String, Vec<String>)>);

impl Table {
    /// Adds the column of a release, or replaces it.
    pub fn add(&mut self, toolkit: &'static Toolkit, report: &Report) {
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
        self.put(toolkit.version.to_string(), column);
    }

    fn put(&mut self, version: String, column: Vec<String>) {
        self.0.retain(|(of, _)| *of != version);
        self.0.push((version, column));
        let place = |version: &str| TOOLKITS.iter().position(|toolkit| toolkit.version == version);
        self.0.sort_by_key(|(version, _)| place(version));
    }

    /// Puts the table into its section of a document. Columns of other releases that are there already stay.
    pub fn write(&self, path: &Path) -> Result<()> {
        let document = fs::read_to_string(path).map_err(|e| at(path, &e))?;
        let mut all = Self::read(&document);
        self.0.iter().for_each(|(version, column)| all.put(version.clone(), column.clone()));
        let document = all.within(&document).ok_or_else(|| format!("{}: no '{HEADING}'", path.display()))?;
        fs::write(path, document).map_err(|e| at(path, &e))
    }

    /// The table that is in a document.
    fn read(document: &str) -> Self {
        let section = document.split_once(HEADING).map_or("", |(_, section)| section);
        let section = section.split("\n## ").next().unwrap_or_default();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
        let rows: Vec<Vec<&str>> = rows.map(|row| row.split('|').map(str::trim).collect()).collect();
        let Some(versions) = rows.first().map(|row| &row[1..]) else { return Self::default() };
        let cell = |name: &str, at: usize| {
            let row = rows.iter().find(|row| row[0] == name);
            row.and_then(|row| row.get(at)).unwrap_or(&"").to_string()
        };
        let names = || CATEGORIES.iter().copied().chain([DEVIATIONS]);
        let column = |at: usize| names().map(|name| cell(name, at)).collect();
        Self((1..).zip(versions).map(|(at, version)| (version.to_string(), column(at))).collect())
    }

    /// A document with this table in the place of an earlier one; `None` if it has no section for it.
    fn within(&self, document: &str) -> Option<String> {
        let (before, section) = document.split_once(&format!("{HEADING}\n"))?;
        let after = section.find("\n## ").map_or("", |at| &section[at..]);
        Some(format!("{before}{HEADING}\n\n{INTRODUCTION}\n{}{after}", self.text()))
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let versions: Vec<&str> = self.0.iter().map(|(version, _)| version.as_str()).collect();
        let _ = writeln!(text, "| | {} |", versions.join(" | "));
        let _ = writeln!(text, "| --- |{}", " --- |".repeat(versions.len()));
        for (row, name) in CATEGORIES.iter().chain(&[DEVIATIONS]).enumerate() {
            let cells: Vec<&str> = self.0.iter().map(|(_, column)| column[row].as_str()).collect();
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
        let column = |cell: &str| vec![cell.to_string(); CATEGORIES.len() + 1];
        let mut table = Table(vec![("13.0.88".into(), column("1"))]);
        let once = table.within("# Releases\n\nText.\n\n## All cases\n\nold\n\n## 13.5\n\nMore.\n").unwrap();
        assert!(once.starts_with("# Releases\n\nText.\n\n## All cases\n\n`cargo xtask"));
        assert!(once.ends_with("| deviations | 1 |\n\n## 13.5\n\nMore.\n"));
        assert_eq!(table.within(&once), Some(once.clone()));
        assert_eq!(table.within("# Releases\n"), None);
        table.put("13.4.92".into(), column("4, **5 differ**"));
        table.put("13.1.115".into(), column("3"));
        assert_eq!(Table::read(&table.within(&once).unwrap()).0, table.0);
        let versions: Vec<_> = table.0.iter().map(|(version, _)| version.as_str()).collect();
        assert_eq!(versions, ["13.0.88", "13.1.115", "13.4.92"]);
    }
}
