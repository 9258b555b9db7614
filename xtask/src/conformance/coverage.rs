//! Which of the checked facts have a case: `tests/coverage.txt` lists the facts, the cases name them in
//! `# covers:` lines.

use super::case::Case;
use crate::Result;
use crate::cache::at;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Prints the facts without a case; the value is the exit code.
pub fn report(list: &Path, cases: &[Case]) -> Result<u8> {
    let text = fs::read_to_string(list).map_err(|e| at(list, &e))?;
    let facts = parse(&text)?;
    let known: BTreeSet<&str> = facts.iter().map(|(id, _)| *id).collect();
    let covered: BTreeSet<&str> =
        cases.iter().flat_map(|case| case.covers.iter().map(String::as_str)).collect();
    for case in cases {
        for id in case.covers.iter().filter(|id| !known.contains(id.as_str())) {
            eprintln!("{}: covers '{id}', which {} does not list", case.path.display(), list.display());
        }
    }
    let missing: Vec<_> = facts.iter().filter(|(id, _)| !covered.contains(id)).collect();
    for (id, text) in &missing {
        println!("{id}  {text}");
    }
    println!("{} facts, {} without a case", facts.len(), missing.len());
    Ok(u8::from(!missing.is_empty() || covered.iter().any(|id| !known.contains(id))))
}

/// One fact per line: an id, blanks, a text. Lines that begin with `#` are remarks.
fn parse(text: &str) -> Result<Vec<(&str, &str)>> {
    let mut facts = Vec::new();
    let mut seen = BTreeSet::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (id, text) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        if !seen.insert(id) {
            return Err(format!("tests/coverage.txt lists '{id}' twice"));
        }
        facts.push((id, text.trim_start()));
    }
    Ok(facts)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn lines() {
        let facts = parse("# remark\n\ncli:1:x  the text\ndiag:y\n").unwrap();
        assert_eq!(facts, [("cli:1:x", "the text"), ("diag:y", "")]);
        assert!(parse("a b\na c\n").is_err());
    }
}
