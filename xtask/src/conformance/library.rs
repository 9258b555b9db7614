//! Cases against a libnvJitLink: only what is made is compared, and whether there is an error.

use super::build;
use super::case::Run;
use super::context::Context;
use super::link::{Entry, Scratch};
use crate::cache::at;
use crate::jit::link::{self, Library, Linked};
use crate::jit::{published, script};
use crate::toolkit::Toolkit;
use crate::{Result, words};
use solder_arch::Release;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A library that takes longer than this hangs.
const LIMIT: Duration = Duration::from_mins(1);

/// What makes inputs of a release without its toolkit.
const TOOLS: [&str; 5] = ["ptxas", "plant", "file", "ar", "cc"];

/// How the names of assemblers of older toolkits begin.
const OLDER_ASSEMBLERS: &str = "ptxas-";

/// What makes inputs with a toolkit, too.
const TOOLS_OF_TOOLKIT: [&str; 3] = ["nvcc", "fatbinary", "nvlink"];

/// Makes extensible whole programs. nvlink links those of its own toolkit only, where the library takes older ones too.
const EXTENSIBLE: &str = " -ewp";

/// Whether a run can be one of the library: some link of it, and its inputs can be made.
pub fn is_possible(run: &Run<'_>, library: &published::Library, release: &Release) -> bool {
    let case = run.case;
    let is_plain = case.setup.is_empty() && case.env.is_empty() && case.deviation.is_none();
    let toolkit = library.toolkit().and_then(Toolkit::release);
    let is_own_toolkit = toolkit.is_ok_and(|toolkit| toolkit == release);
    let makes = |rule: &String| {
        let tool = rule.split_once('=').and_then(|(_, recipe)| recipe.split_whitespace().next());
        let has_toolkit = library.assembler().is_none();
        if rule.contains(EXTENSIBLE) && !is_own_toolkit {
            return false;
        }
        let is_there = |tool: &str| TOOLS.contains(&tool) || tool.starts_with(OLDER_ASSEMBLERS);
        tool.is_some_and(|tool| is_there(tool) || has_toolkit && TOOLS_OF_TOOLKIT.contains(&tool))
    };
    let links = |line: &String| arguments(&run.expand(line), release).is_some();
    is_plain && case.builds.iter().all(makes) && case.links.iter().any(links)
}

/// The words of a link that the library can do.
fn arguments(line: &str, release: &Release) -> Option<Vec<String>> {
    let words = words::split(line).ok()?;
    let is_relocatable = words.iter().any(|word| word == "-r");
    // Paths of the machine are of no use there. Without relocatable links the library refuses what nvlink ignores.
    let is_known = !script::from_memory(&words)?.contains('{');
    (is_known && (!is_relocatable || release.links_relocatable())).then_some(words)
}

/// What differs, or why the library gives no answer.
type Answer = std::result::Result<Vec<String>, String>;

/// Does the links of a run that the library can do with both, each on its own.
pub fn differences(run: &Run<'_>, context: &Context, library: &Library, folder: &Path) -> Result<Answer> {
    let inputs = build::inputs(run, context)?;
    let is_input = |word: &String| word.starts_with('-') || inputs.iter().any(|input| input.name == *word);
    let (mut differences, mut unanswered) = (Vec::new(), None);
    for (number, line) in run.case.links.iter().enumerate() {
        let line = run.expand(line);
        let Some(words) = arguments(&line, context.release) else { continue };
        let output = words.iter().position(|word| word == "-o").map(|at| at + 1);
        let mut others = words.iter().enumerate().filter(|(at, _)| Some(*at) != output);
        // What an earlier link made is not there.
        if !others.all(|(_, word)| is_input(word)) {
            continue;
        }
        let folder = folder.join(number.to_string());
        let scratch = Scratch { run, context, inputs: &inputs, folder };
        let output = output.and_then(|at| words.get(at)).map_or("a.out", String::as_str);
        match compare(&scratch, library, (&line, &words), output)? {
            Ok(found) => differences.extend(found.into_iter().map(|d| format!("step {}: {d}", number + 1))),
            Err(reason) => unanswered = Some(format!("the library: {reason}")),
        }
    }
    Ok(match unanswered {
        Some(reason) if differences.is_empty() => Err(reason),
        _ => Ok(differences),
    })
}

/// Does one link with both.
fn compare(
    scratch: &Scratch<'_>,
    library: &Library,
    (line, words): (&str, &[String]),
    output: &str,
) -> Result<Answer> {
    let theirs = scratch.folder.join("library");
    fs::create_dir_all(&theirs).map_err(|e| at(&theirs, &e))?;
    scratch.inputs.iter().try_for_each(|input| input.place(&theirs))?;
    let expected = match library.link(words, &theirs, LIMIT)? {
        Linked::Done(image) => image,
        Linked::NoOracle(reason) => return Ok(Err(reason)),
    };
    let (solder, _) = scratch.solder(&[line.to_string()])?;
    let got = match solder.files.get(output) {
        Some(Entry::File { bytes, .. }) => Some(&bytes[..]),
        _ => None,
    };
    Ok(Ok(link::compare(expected.as_deref(), got)))
}
