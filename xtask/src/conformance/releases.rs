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

const HEAD: &str = "\
# Releases

solder takes the place of the nvlink of each of these toolkits. The table is written by `cargo xtask conformance
--all-toolkits`, which makes the inputs of every case with the compilers of the toolkit, links them with its nvlink and with
solder as that release, and compares all that can be seen from outside ([testing.md](testing.md#conformance-cases)). A cell is
the number of runs that are equal, and, where there are any, of those that are not. Runs in which solder
deviates as the case states ([deviations.md](deviations.md)) are listed in the last row.

What differs between releases is in `crates/arch/src/release.rs`. How to add one: [adding-a-release.md](adding-a-release.md).

";

/// What is compared with the releases of CUDA 12, and equal in all runs; what differs in the other categories is listed in
/// docs/reference/cuda-12.md.
const CATEGORIES_12: [&str; 10] =
    ["cli", "compat", "errors", "core", "reloc", "gc", "debug", "fatbin", "hostobj", "ptx"];

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
        // No nvJitLink of the same build as its libnvvm is published.
        "lto" => release == Release::CUDA_13_3,
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

    pub fn write(&self, path: &Path) -> Result<()> {
        fs::write(path, self.text()).map_err(|e| at(path, &e))
    }

    fn text(&self) -> String {
        let mut text = HEAD.to_string();
        let _ = writeln!(text, "| | {} |", self.versions.join(" | "));
        let _ = writeln!(text, "| --- |{}", " --- |".repeat(self.versions.len()));
        for (row, name) in CATEGORIES.iter().chain(&["deviations"]).enumerate() {
            let cells: Vec<&str> = self.columns.iter().map(|column| column[row].as_str()).collect();
            let _ = writeln!(text, "| {name} | {} |", cells.join(" | "));
        }
        text
    }
}
