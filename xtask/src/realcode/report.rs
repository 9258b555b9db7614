//! What the links came to: a summary for the terminal, and every difference for a file.

use super::compare::{Comparison, Difference, Outcome};
use std::collections::BTreeMap;
use std::fmt::Write;

/// One object and its two links.
pub struct Run {
    pub program: String,
    /// As `sm_100`, or `sm_100 for sm_103`.
    pub arch: String,
    pub set: &'static str,
    pub outcome: Result<Comparison, String>,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    links: usize,
    exact: usize,
    different: usize,
    refused: usize,
    other: usize,
    kernels: Pair,
    functions: Pair,
}

#[derive(Clone, Copy, Default)]
struct Pair {
    equal: usize,
    different: usize,
}

impl Counts {
    fn add(&mut self, comparison: &Comparison) {
        self.links += 1;
        *match comparison.outcome {
            Outcome::Exact => &mut self.exact,
            Outcome::Differs => &mut self.different,
            Outcome::Refused(_) => &mut self.refused,
            Outcome::Other(_) => &mut self.other,
        } += 1;
        for function in &comparison.functions {
            let pair = if function.is_kernel { &mut self.kernels } else { &mut self.functions };
            *if function.difference.is_none() { &mut pair.equal } else { &mut pair.different } += 1;
        }
    }

    fn row(&self, name: &str) -> String {
        let Self { links, exact, different, refused, other, kernels, functions } = self;
        let pairs = [kernels, functions].map(|p| format!("{:>8} {:>7}", p.equal, p.different));
        format!(
            "{name:<24} {links:>6} {exact:>6} {different:>7} {refused:>8} {other:>6}  {}",
            pairs.join("  ")
        )
    }
}

/// Links that are not exact, also those that could not be made.
pub fn failures(runs: &[Run]) -> usize {
    let exact =
        |run: &&Run| run.outcome.as_ref().is_ok_and(|comparison| comparison.outcome == Outcome::Exact);
    runs.len() - runs.iter().filter(exact).count()
}

/// The tables of the terminal.
pub fn summary(runs: &[Run]) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:<24} {:>6} {:>6} {:>7} {:>8} {:>6}  {:>8} {:>7}  {:>8} {:>7}\n\
         {:<24} {:>6} {:>6} {:>7} {:>8} {:>6}  {:>8} {:>7}  {:>8} {:>7}",
        "",
        "",
        "",
        "",
        "",
        "",
        "kernels",
        "",
        "others",
        "",
        "",
        "links",
        "exact",
        "differ",
        "refused",
        "other",
        "equal",
        "differ",
        "equal",
        "differ"
    );
    let mut rows: BTreeMap<(&str, &str), Counts> = BTreeMap::new();
    let mut total = Counts::default();
    for (run, comparison) in compared(runs) {
        rows.entry((&run.arch, run.set)).or_default().add(comparison);
        total.add(comparison);
    }
    for ((arch, set), counts) in &rows {
        let _ = writeln!(out, "{}", counts.row(&format!("{arch} {set}")));
    }
    let _ = writeln!(out, "{}", total.row("all"));
    let reasons = differing(runs).map(|(_, _, _, difference)| difference.reason());
    table(&mut out, "functions by their first difference", reasons.map(|reason| (reason, 1)));
    let sections = compared(runs).flat_map(|(_, comparison)| &comparison.sections);
    let sections = sections.map(|(kind, count)| (kind.clone(), *count));
    table(&mut out, "sections that differ", sections);
    let messages = compared(runs).filter_map(|(_, comparison)| message(&comparison.outcome));
    table(&mut out, "links refused, or ended otherwise", messages.map(|message| (without_names(message), 1)));
    let mut unmade: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (run, error) in runs.iter().filter_map(|run| Some((run, run.outcome.as_ref().err()?))) {
        *unmade.entry((&run.program, error)).or_default() += 1;
    }
    for ((program, error), count) in unmade {
        let _ = writeln!(out, "\n{count} objects of {program} could not be made: {error}");
    }
    out
}

fn compared(runs: &[Run]) -> impl Iterator<Item = (&Run, &Comparison)> {
    runs.iter().filter_map(|run| Some((run, run.outcome.as_ref().ok()?)))
}

fn differing(runs: &[Run]) -> impl Iterator<Item = (&Run, &str, bool, &Difference)> {
    compared(runs).flat_map(|(run, comparison)| {
        comparison.functions.iter().filter_map(move |function| {
            Some((run, function.name.as_str(), function.is_kernel, function.difference.as_ref()?))
        })
    })
}

fn message(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Refused(message) | Outcome::Other(message) => Some(message),
        Outcome::Exact | Outcome::Differs => None,
    }
}

/// A message with stars for functions, so that those about several count as one. Their names are mangled.
fn without_names(message: &str) -> String {
    let star = |word: &str| match word.find("_Z").or_else(|| word.find("__nv_")) {
        Some(_) if word.contains(".text.") => {
            format!("{}.text.*", word.split(".text.").next().unwrap_or_default())
        }
        Some(_) => "*".into(),
        None => word.to_string(),
    };
    message.split(' ').map(star).collect::<Vec<_>>().join(" ")
}

/// How often each thing occurs, the most frequent first; nothing where there is none.
fn table(out: &mut String, title: &str, items: impl Iterator<Item = (String, usize)>) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (item, count) in items {
        *counts.entry(item).or_default() += count;
    }
    let mut rows: Vec<_> = counts.into_iter().collect();
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    if !rows.is_empty() {
        let _ = writeln!(out, "\n{title}");
    }
    for (item, count) in rows {
        let _ = writeln!(out, "{count:>7}  {item}");
    }
}

/// The summary and a row for every function, section kind and message that differs.
pub fn markdown(runs: &[Run]) -> String {
    let mut out = format!("# Real code\n\n```\n{}```\n\n## Functions\n\n", summary(runs));
    out += "| program | arch | options | function | first difference | at | nvlink | solder | unequal |\n";
    out += "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for (run, name, is_kernel, difference) in differing(runs) {
        let kind = if is_kernel { "" } else { " (device function)" };
        let _ = write!(
            out,
            "| {} | {} | {} | `{name}`{kind} | {} |",
            run.program,
            run.arch,
            run.set,
            difference.reason()
        );
        let _ = match difference {
            Difference::Code(place) => {
                let show = |[low, high]: [u64; 2]| format!("`{low:016x} {high:016x}`");
                let (theirs, ours) = (show(place.nvlink), show(place.solder));
                let at = format!("{:#x} (opcode {:#x})", place.offset, place.opcode);
                writeln!(out, " {at} | {theirs} | {ours} | {} of {} |", place.differing, place.instructions)
            }
            Difference::Length { nvlink, solder } => {
                writeln!(out, "  | {nvlink} bytes | {solder} bytes |  |")
            }
            Difference::Missing(_) => writeln!(out, "  |  |  |  |"),
        };
    }
    out += "\n## Links\n\n| program | arch | options | what differs |\n| --- | --- | --- | --- |\n";
    for (run, comparison) in compared(runs).filter(|(_, comparison)| comparison.outcome != Outcome::Exact) {
        let sections = comparison.sections.iter().map(|(kind, count)| format!("{kind} ({count})"));
        let what = message(&comparison.outcome)
            .map_or_else(|| sections.collect::<Vec<_>>().join(", "), str::to_string);
        let _ = writeln!(out, "| {} | {} | {} | {what} |", run.program, run.arch, run.set);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_without_names() {
        let message = "file 'a.o' is damaged: .nv.capmerc.text._Z1fv: an instruction of unknown form";
        assert_eq!(
            without_names(message),
            "file 'a.o' is damaged: .nv.capmerc.text.* an instruction of unknown form"
        );
        assert_eq!(without_names("function '_Z1fv' has"), "function * has");
    }
}
