//! `docs/reference`: every rule names a case that shows it and the module that implements it.
//!
//! A rule is a numbered item, `1. …`; the rules of a page are numbered from 1 on. In its text it has `Case:` or
//! `Cases:` and `Module:` or `Modules:`, each followed by names between backticks, up to a full stop.

use super::documents::code_spans;
use super::finding::{Check, Finding};
use super::{files, tables};
use crate::Result;
use std::path::Path;

const FOLDER: &str = "docs/reference/";

pub fn check(root: &Path, files: &[String], findings: &mut Vec<Finding>) -> Result<()> {
    for file in files.iter().filter(|file| file.starts_with(FOLDER) && files::has_extension(file, "md")) {
        let text = files::read(root, file)?;
        for (place, rule) in rules(&text).into_iter().enumerate() {
            for text in problems(root, files, place + 1, &rule) {
                findings.push(Finding::new(Check::Rule, file, rule.line, text));
            }
        }
    }
    Ok(())
}

struct Rule {
    number: usize,
    line: usize,
    text: String,
}

fn rules(text: &str) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    let mut is_open = false;
    for (index, line) in text.lines().enumerate() {
        let item = line.split_once(". ").and_then(|(number, rest)| Some((number.parse().ok()?, rest)));
        if let Some((number, rest)) = item {
            rules.push(Rule { number, line: index + 1, text: rest.into() });
            is_open = true;
        } else if is_open && (line.starts_with(' ') || line.trim().is_empty()) {
            if let Some(rule) = rules.last_mut() {
                rule.text.extend([" ", line.trim()]);
            }
        } else {
            is_open = false;
        }
    }
    rules
}

fn problems(root: &Path, files: &[String], expected: usize, rule: &Rule) -> Vec<String> {
    let number = rule.number;
    let mut problems = Vec::new();
    if number != expected {
        problems.push(format!("rule {number} comes where rule {expected} is expected"));
    }
    let cases = names(&rule.text, &["Case:", "Cases:"]);
    if cases.is_empty() {
        problems.push(format!("rule {number} names no case (`Case: …`)"));
    }
    for case in cases {
        if !root.join(format!("tests/cases/{case}.case")).is_file() {
            problems.push(format!("rule {number} names the case {case}, which does not exist"));
        }
    }
    let modules = names(&rule.text, &["Module:", "Modules:"]);
    if modules.is_empty() {
        problems.push(format!("rule {number} names no module (`Module: …`)"));
    }
    for module in modules {
        if !is_module(root, module) {
            // Perhaps it has moved.
            let name = format!("/{}", module.rsplit('/').next().unwrap_or(module));
            let other = files.iter().find(|file| file.ends_with(&name) && name != "/mod.rs");
            let hint = other.map(|file| format!(" (there is {file})")).unwrap_or_default();
            problems.push(format!("rule {number} names the module {module}, which does not exist{hint}"));
        }
    }
    problems
}

/// The names between backticks after one of the words, up to a full stop outside of them.
fn names<'a>(text: &'a str, words: &[&str]) -> Vec<&'a str> {
    let rest =
        words.iter().find_map(|word| text.find(&format!(" {word}")).map(|at| &text[at + 1 + word.len()..]));
    let Some(rest) = rest else { return Vec::new() };
    let mut in_name = false;
    let end = rest.find(|c| {
        in_name ^= c == '`';
        c == '.' && !in_name
    });
    code_spans(&rest[..end.unwrap_or(rest.len())]).collect()
}

/// A path in the repository, or one below the sources of a crate of the linker. `a.rs` may have become `a/mod.rs`.
fn is_module(root: &Path, name: &str) -> bool {
    let folders = tables::RULE_CRATES.iter().map(|krate| format!("crates/{krate}/src/"));
    folders.chain([String::new()]).any(|folder| {
        let path = root.join(folder + name);
        path.exists()
            || (files::has_extension(name, "rs") && path.with_extension("").join("mod.rs").is_file())
    })
}
