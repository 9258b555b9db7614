//! Names in documents and comments: files and folders of the repository, headings, and cases.

use super::finding::{Check, Finding};
use super::{files, tables};
use crate::Result;
use std::collections::BTreeSet;
use std::path::Path;

pub fn check(root: &Path, files: &[String], findings: &mut Vec<Finding>) -> Result<()> {
    let names = Names::new(root, files);
    for file in files {
        if files::has_extension(file, "md") {
            names.check_document(file, &files::read(root, file)?, findings);
        } else if files::has_extension(file, "rs") {
            names.check_comments(file, &files::read(root, file)?, findings);
        }
    }
    Ok(())
}

struct Names<'a> {
    root: &'a Path,
    /// The folders of `tests/cases`.
    categories: BTreeSet<&'a str>,
    /// What git ignores: builds and runs make it.
    made: Vec<String>,
}

impl<'a> Names<'a> {
    fn new(root: &'a Path, files: &'a [String]) -> Self {
        let category = |file: &'a String| Some(file.strip_prefix("tests/cases/")?.split_once('/')?.0);
        let ignored = std::fs::read_to_string(root.join(".gitignore")).unwrap_or_default();
        let made = ignored
            .lines()
            .map(|line| line.trim_matches('/').to_owned())
            .filter(|line| !line.is_empty())
            .collect();
        Self { root, categories: files.iter().filter_map(category).collect(), made }
    }

    fn check_document(&self, file: &str, text: &str, findings: &mut Vec<Finding>) {
        let mut in_block = false;
        for (index, line) in text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                in_block = !in_block;
                continue;
            }
            let mut report = |check, text| findings.push(Finding::new(check, file, index + 1, text));
            let words: Vec<&str> = if in_block {
                // An example may write a document.
                line.split_whitespace().filter(|word| word.contains('/')).collect()
            } else {
                code_spans(line).flat_map(str::split_whitespace).collect()
            };
            for word in words {
                if let Some(name) = self.missing_path(file, word) {
                    report(Check::Document, format!("the document names {name}, which does not exist"));
                }
            }
            if !in_block {
                for case in self.missing_cases(line) {
                    report(Check::Case, format!("there is no case {case}"));
                }
                for target in links(line) {
                    if let Some(problem) = self.broken_link(file, text, target) {
                        report(Check::Document, problem);
                    }
                }
            }
        }
    }

    fn check_comments(&self, file: &str, text: &str, findings: &mut Vec<Finding>) {
        for (index, line) in text.lines().enumerate() {
            let line = line.trim_start();
            let start = if line.starts_with("//") { Some(0) } else { line.find(" // ") };
            let Some(comment) = start.map(|start| &line[start..]) else { continue };
            let mut report = |check, text| findings.push(Finding::new(check, file, index + 1, text));
            for word in comment.split(|c: char| c.is_whitespace() || matches!(c, '`' | '(' | ')' | '[' | ']'))
            {
                if let Some(name) = self.missing_path(file, word) {
                    report(Check::Document, format!("the comment names {name}, which does not exist"));
                }
            }
            for case in self.missing_cases(comment) {
                report(Check::Case, format!("there is no case {case}"));
            }
        }
    }

    /// A word that has the form of a path in the repository, and is none. Inside a crate, paths may begin at its folder.
    fn missing_path(&self, file: &str, word: &str) -> Option<String> {
        let word = word
            .trim_start_matches(['"', '\''])
            .trim_end_matches([',', ';', ':', '.', ')', '"', '\'', '?', '/']);
        let word = word.split('#').next().unwrap_or(word);
        // A pattern, or a place in a file.
        if word.contains(['<', '>', '*', '…', '{', '}', '$', '|', '[', '~', '=', '\\']) {
            return None;
        }
        let path = word.split(':').next().unwrap_or(word);
        let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        let krate: String = file.split('/').take(2).collect::<Vec<_>>().join("/");
        let is_path = path
            .split_once('/')
            .is_some_and(|(first, rest)| tables::FOLDERS.contains(&first) && !rest.is_empty());
        let is_document = !path.contains('/') && files::has_extension(path, "md") && path.len() > ".md".len();
        let places: &[&str] = match (is_path, is_document) {
            (true, _) => &["", &krate],
            (_, true) => &["", folder, "docs"],
            _ => return None,
        };
        let exists = places.iter().any(|place| self.root.join(place).join(path).exists())
            || self.made.iter().any(|made| Path::new(path).starts_with(made));
        (!exists).then(|| path.to_owned())
    }

    /// Cases in round or square brackets, or between backticks, that do not exist.
    fn missing_cases(&self, text: &str) -> Vec<String> {
        let bracketed = text.split(['(', '[']).skip(1).flat_map(|rest| {
            let inside = rest.split([')', ']']).next().unwrap_or_default();
            let names = inside.split([',', ';', ' ']).map(str::trim).filter(|name| !name.is_empty());
            let is_list = names.clone().next().is_some_and(|first| self.is_case_name(first));
            names.filter(move |_| is_list)
        });
        let named = code_spans(text).chain(bracketed).filter(|name| self.is_case_name(name));
        let missing = named.filter(|name| {
            let name = name.trim_matches('`');
            let module = |krate: &&str| {
                let source = self.root.join("crates").join(krate).join("src");
                source.join(name).exists() || source.join(format!("{name}.rs")).exists()
            };
            !self.root.join(format!("tests/cases/{name}.case")).is_file()
                && !tables::RULE_CRATES.iter().any(module)
        });
        missing.map(|name| name.trim_matches('`').to_owned()).collect()
    }

    /// `category/name`, and no path of any other kind.
    fn is_case_name(&self, text: &str) -> bool {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        text.trim_matches('`').split_once('/').is_some_and(|(category, name)| {
            self.categories.contains(category) && !name.is_empty() && name.chars().all(is_plain)
        })
    }

    fn broken_link(&self, file: &str, text: &str, target: &str) -> Option<String> {
        if target.contains("://") || target.starts_with("mailto:") {
            return None;
        }
        let (path, heading) = target.split_once('#').unwrap_or((target, ""));
        let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        let path_here = self.root.join(folder).join(path);
        if !path.is_empty() && !path_here.exists() {
            return Some(format!("the document links to {path}, which does not exist"));
        }
        let other = if path.is_empty() { None } else { std::fs::read_to_string(path_here).ok() };
        let is_there = |text: &str| text.lines().any(|line| line.starts_with('#') && anchor(line) == heading);
        let is_missing = !heading.is_empty() && !is_there(other.as_deref().unwrap_or(text));
        is_missing.then(|| format!("the document links to the heading {target}, which does not exist"))
    }
}

/// What is between single backticks.
pub fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    let spans = line.matches('`').count() / 2 * 2;
    line.split('`').take(spans).skip(1).step_by(2)
}

/// The targets of `[text](target)`.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0))
}

/// The name by which a heading is linked to: its letters in lower case, with hyphens for blanks.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    text.chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}
