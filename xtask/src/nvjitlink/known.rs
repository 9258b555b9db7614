//! Differences from NVIDIA's library that are known, wanted or not mended yet. A run that differs in any other way fails.

use super::compare::Verdict;
use crate::Result;
use crate::cache::at;
use crate::workspace::workspace;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

/// A line with this at its head names a run; what differs follows.
const RUN: &str = "== ";

/// Cases in which NVIDIA's library takes an input in one run and refuses it in the next. Each run of them may differ in any
/// way that is listed for the case.
const UNSTEADY: &[&str] = &["compat/finalization:"];

const HEAD: &str = "\
# How solder's libnvJitLink differs from NVIDIA's of this release, run by run. docs/nvjitlink.md says why, and
# which are not mended yet.
# Written by `cargo xtask nvjitlink --bless`.
";

/// The text of each run that differs.
#[derive(Default)]
pub struct Known(BTreeMap<String, String>);

impl Known {
    /// What the repository lists for a release.
    pub fn read(release: &str) -> Result<Self> {
        let path = path(release)?;
        if !path.is_file() {
            return Ok(Self::default());
        }
        let text = fs::read_to_string(&path).map_err(|e| at(&path, &e))?;
        let head = format!("\n{RUN}");
        let runs = text.split(&head).skip(1).filter_map(|run| run.split_once('\n'));
        Ok(Self(runs.map(|(id, text)| (id.to_owned(), text.trim_end().to_owned())).collect()))
    }

    /// Whether a run is known to differ in just this way.
    pub fn is(&self, id: &str, differences: &[String]) -> bool {
        let shown = shown(differences);
        let is_of = |known: &str| match UNSTEADY.iter().find(|case| id.starts_with(**case)) {
            Some(case) => known.starts_with(case),
            None => known == id,
        };
        self.0.iter().any(|(known, text)| is_of(known) && *text == shown)
    }
}

fn path(release: &str) -> Result<PathBuf> {
    Ok(workspace()?.join("tests/nvjitlink").join(format!("{release}.txt")))
}

/// The lines as the file has them.
fn shown(differences: &[String]) -> String {
    let text = differences.join("\n");
    text.lines().map(str::trim).collect::<Vec<_>>().join("\n").trim_end().to_owned()
}

/// Lists the runs that differ. What the file says of other runs stays.
pub fn write(release: &str, verdicts: &[(String, Verdict)]) -> Result<()> {
    let Known(mut runs) = Known::read(release).unwrap_or_default();
    for (id, verdict) in verdicts {
        match verdict {
            Verdict::Differs(differences) => runs.insert(id.clone(), shown(differences)),
            _ => runs.remove(id),
        };
    }
    let mut text = HEAD.to_owned();
    for (id, differences) in runs {
        let _ = write!(text, "\n{RUN}{id}\n{differences}\n");
    }
    let path = path(release)?;
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    folder.and_then(|()| fs::write(&path, text)).map_err(|e| at(&path, &e))
}
