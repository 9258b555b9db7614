//! `--bless`: what solder does becomes what a deviating case states.

use super::case::{PRINTED, Run};
use super::link::Outcome;
use crate::Result;
use crate::cache::at;
use crate::process::Ending;
use std::fs;

const EXIT: &str = "solder-exit";

/// Writes the exit code and the lines of the last step into the case file. Streams that the case takes from nvlink are
/// left alone. Cases with several runs must state what all of them do, and are not written.
pub fn write(run: &Run<'_>, solder: &Outcome) -> Result<Vec<String>> {
    let Some(stated) = &run.case.deviation else { return Ok(Vec::new()) };
    if run.case.archs.split_whitespace().count() > 1 || run.case.variants.len() > 1 {
        return Ok(vec!["a case with several runs cannot be blessed".into()]);
    }
    let Some(step) = solder.steps.last() else { return Ok(Vec::new()) };
    let Ending::Exit(code) = step.ending else { return Ok(vec![format!("solder: {}", step.ending)]) };
    let from_nvlink = stated.same_as.is_some();
    let mut lines = Vec::new();
    if !from_nvlink || stated.exit.is_some() {
        lines.push(format!("# {EXIT}: {code}\n"));
    }
    for (key, printed, before) in
        [(PRINTED[0], &step.stdout, &stated.stdout), (PRINTED[1], &step.stderr, &stated.stderr)]
    {
        if from_nvlink && before.is_empty() {
            continue;
        }
        let text = String::from_utf8_lossy(printed);
        lines.extend(text.lines().map(|line| format!("# {key}: {line}").trim_end().to_string() + "\n"));
    }
    let path = &run.case.path;
    let text = fs::read_to_string(path).map_err(|e| at(path, &e))?;
    fs::write(path, replaced(&text, &lines)).map_err(|e| at(path, &e))?;
    Ok(Vec::new())
}

/// The lines take the place of the first statement that they replace, or the end of the head.
fn replaced(text: &str, lines: &[String]) -> String {
    let keys = [EXIT, PRINTED[0], PRINTED[1]];
    let states = |line: &str| keys.iter().any(|key| line.starts_with(&format!("# {key}:")));
    let end = text.find("//--- ").unwrap_or(text.len());
    let (head, parts) = text.split_at(end);
    let mut out = String::new();
    let mut pending = Some(lines.concat());
    for line in head.split_inclusive('\n') {
        if states(line) || line.trim().is_empty() {
            out.extend(pending.take());
        }
        if !states(line) {
            out.push_str(line);
        }
    }
    out.extend(pending);
    out + parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_replaced_in_the_head() {
        let text =
            "# about: x\n# solder-exit: 1\n# solder-stderr: old\n# link: y\n\n//--- f\n# solder-exit: 9\n";
        let lines = ["# solder-exit: 0\n".to_string()];
        let expected = "# about: x\n# solder-exit: 0\n# link: y\n\n//--- f\n# solder-exit: 9\n";
        assert_eq!(replaced(text, &lines), expected);
        assert_eq!(replaced("# about: x\n\n//--- f\n", &lines), "# about: x\n# solder-exit: 0\n\n//--- f\n");
    }
}
