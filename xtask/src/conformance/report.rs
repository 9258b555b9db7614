//! What the conformance run prints.

use super::case::{CATEGORIES, Run};
use super::context::Context;
use crate::toolkit::ORACLE;
use solder_arch::Release;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

pub enum Verdict {
    Passed,
    /// As the case says it must.
    Deviates,
    Failed {
        differences: Vec<String>,
        kept: Option<PathBuf>,
    },
    /// An older assembler that it needs cannot be had; the reason.
    Skipped(String),
}

#[derive(Clone, Copy, Default)]
pub struct Counts {
    pub passed: usize,
    pub failed: usize,
    pub deviating: usize,
    pub skipped: usize,
}

pub struct Report {
    release: &'static Release,
    /// It is the library of the release that solder is compared with.
    is_library: bool,
    verbose: bool,
    expected: usize,
    categories: BTreeMap<String, Counts>,
    failures: Vec<String>,
    /// Why runs were skipped, and how many for each reason.
    skipped: BTreeMap<String, usize>,
}

/// Without `-v`: failures told in full, and differences told of each.
const FAILURES_SHOWN: usize = 25;
const DIFFERENCES_SHOWN: usize = 5;

impl Report {
    pub fn new(verbose: bool, expected: usize, context: &Context) -> Self {
        Self {
            release: context.release,
            is_library: context.library.is_some(),
            verbose,
            expected,
            categories: BTreeMap::new(),
            failures: Vec::new(),
            skipped: BTreeMap::new(),
        }
    }

    pub fn add(&mut self, run: &Run<'_>, verdict: Verdict, took: Duration) {
        let id = run.id();
        let counts = self.categories.entry(run.case.category.clone()).or_default();
        let word = match &verdict {
            Verdict::Passed => {
                counts.passed += 1;
                "ok"
            }
            Verdict::Deviates => {
                counts.deviating += 1;
                "deviates"
            }
            Verdict::Failed { .. } => {
                counts.failed += 1;
                "FAILED"
            }
            Verdict::Skipped(reason) => {
                counts.skipped += 1;
                *self.skipped.entry(reason.clone()).or_default() += 1;
                "skipped"
            }
        };
        if self.verbose {
            println!("{word:<9} {id} ({} ms)", took.as_millis());
        }
        if let Verdict::Failed { differences, kept } = verdict {
            if self.verbose || self.failures.len() < FAILURES_SHOWN {
                self.tell(run, &differences, kept);
            }
            self.failures.push(id);
        }
    }

    fn tell(&self, run: &Run<'_>, differences: &[String], kept: Option<PathBuf>) {
        let id = run.id();
        println!("FAILED {id}: {}", run.case.about);
        if let Some((_, variant)) = run.variant {
            println!("  variant: {variant}");
        }
        let shown = if self.verbose { differences.len() } else { DIFFERENCES_SHOWN };
        for difference in differences.iter().take(shown) {
            println!("  {}", difference.replace('\n', "\n  "));
        }
        if differences.len() > shown {
            println!("  and {} more differences", differences.len() - shown);
        }
        match kept {
            Some(folder) => println!("  kept: {}", folder.display()),
            None => println!("  again: cargo xtask conformance {}'{id}' --keep", self.oracle()),
        }
        println!();
    }

    /// The option that names what solder is compared with, and a space after it.
    fn oracle(&self) -> String {
        match self.is_library {
            true => format!("--library {} ", self.release.name),
            false if self.release == ORACLE => String::new(),
            false => format!("--toolkit {} ", self.release.name),
        }
    }

    /// What came of the runs of a category.
    pub fn counts(&self, category: &str) -> Option<Counts> {
        self.categories.get(category).copied()
    }

    /// Prints the table and the closing line; the value is the exit code.
    pub fn close(&self) -> u8 {
        if self.failures.len() > FAILURES_SHOWN && !self.verbose {
            println!("also failed:");
            self.failures[FAILURES_SHOWN..].iter().for_each(|id| println!("  {id}"));
            println!();
        }
        println!("{:<10} {:>7} {:>7} {:>10} {:>8}", "category", "passed", "failed", "deviating", "skipped");
        let mut total = Counts::default();
        for category in CATEGORIES {
            let Some(counts) = self.categories.get(*category) else { continue };
            let Counts { passed, failed, deviating, skipped } = counts;
            println!("{category:<10} {passed:>7} {failed:>7} {deviating:>10} {skipped:>8}");
            total.passed += counts.passed;
            total.failed += counts.failed;
            total.deviating += counts.deviating;
            total.skipped += counts.skipped;
        }
        if total.deviating > 0 {
            println!("{} deviate from nvlink as they state", total.deviating);
        }
        for (reason, count) in &self.skipped {
            println!("{count} SKIPPED: {reason}");
        }
        let lost = self.expected - (total.passed + total.failed + total.deviating + total.skipped);
        if lost > 0 {
            println!("{lost} runs did not end");
        }
        println!("{} passed, {} failed", total.passed, total.failed + lost);
        u8::from(total.failed + lost > 0)
    }
}
