//! Cases against a libnvJitLink: only what is made is compared, and whether there is an error.

use super::build;
use super::case::Run;
use super::context::Context;
use super::link::{Entry, Scratch};
use super::report::Verdict;
use crate::cache::at;
use crate::jit::link::{self, Library, Linked};
use crate::jit::script;
use crate::{Result, words};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A library that takes longer than this hangs.
const LIMIT: Duration = Duration::from_mins(1);

/// What makes inputs of a release without its toolkit.
const TOOLS: [&str; 5] = ["ptxas", "plant", "file", "ar", "cc"];

/// Whether a run can be one of the library: one link, with its options, of inputs that can be made.
pub fn is_possible(run: &Run<'_>) -> bool {
    let case = run.case;
    let [line] = &case.links[..] else { return false };
    let is_plain = case.setup.is_empty() && case.env.is_empty() && case.deviation.is_none();
    let makes = |rule: &String| {
        let tool = rule.split_once('=').and_then(|(_, recipe)| recipe.split_whitespace().next());
        tool.is_some_and(|tool| TOOLS.contains(&tool))
    };
    is_plain && case.builds.iter().all(makes) && arguments(run, line).is_some()
}

/// The words of a link that the library can do.
fn arguments(run: &Run<'_>, line: &str) -> Option<Vec<String>> {
    let words = words::split(&run.expand(line)).ok()?;
    // Paths of the machine are of no use there.
    let is_known = script::from_memory(&words)?.split('{').count() == 1;
    is_known.then_some(words)
}

/// Links the inputs of a run with the library and with solder.
pub fn judge(run: &Run<'_>, context: &Context, library: &Library, folder: &Path) -> Result<Verdict> {
    let inputs = build::inputs(run, context)?;
    let line = run.case.links.first().ok_or("the case has no link")?;
    let words = arguments(run, line).ok_or("the library does not have these options")?;
    let theirs = folder.join("library");
    fs::create_dir_all(&theirs).map_err(|e| at(&theirs, &e))?;
    inputs.iter().try_for_each(|input| input.place(&theirs))?;
    let expected = match library.link(&words, &theirs, LIMIT)? {
        Linked::Done(image) => image,
        Linked::NoOracle(reason) => return Ok(Verdict::Skipped(format!("the library: {reason}"))),
    };
    let scratch = Scratch { run, context, inputs: &inputs, folder: folder.to_path_buf() };
    let (solder, _) = scratch.solder(&[run.expand(line)])?;
    let output = words.iter().position(|word| word == "-o").and_then(|at| words.get(at + 1));
    let got = match solder.files.get(output.map_or("a.out", String::as_str)) {
        Some(Entry::File { bytes, .. }) => Some(&bytes[..]),
        _ => None,
    };
    let differences = link::compare(expected.as_deref(), got);
    Ok(if differences.is_empty() { Verdict::Passed } else { Verdict::Failed { differences, kept: None } })
}
