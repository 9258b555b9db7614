//! What a single source file may hold: how long it is, how long `link()` is, `unsafe`.

use super::crates::Manifest;
use super::finding::{Check, Finding};
use super::{files, tables};
use crate::Result;
use proc_macro2::{TokenStream, TokenTree};
use std::path::Path;
use syn::visit::{self, Visit};

/// The kinds of files that people read.
const READ: &[&str] = &["rs", "md", "sh", "py", "case", "cu"];

pub fn check(
    root: &Path,
    files: &[String],
    manifests: &[Manifest],
    findings: &mut Vec<Finding>,
) -> Result<()> {
    for file in files {
        if !READ.iter().any(|extension| files::has_extension(file, extension)) {
            continue;
        }
        let text = files::read(root, file)?;
        let lines = text.lines().count();
        if lines > tables::LONGEST_FILE {
            let text = format!("the file has {lines} lines, more than {}: divide it", tables::LONGEST_FILE);
            findings.push(Finding::new(Check::Length, file, tables::LONGEST_FILE + 1, text));
        }
        if files::has_extension(file, "rs") {
            check_unsafe(file, &text, findings)?;
        }
    }
    for krate in tables::LINK_CRATES {
        if manifests.iter().any(|manifest| manifest.krate == *krate) {
            let source = format!("crates/{krate}/src/");
            for file in
                files.iter().filter(|file| file.starts_with(&source) && files::has_extension(file, "rs"))
            {
                check_link(file, &files::read(root, file)?, findings)?;
            }
        }
    }
    Ok(())
}

fn check_unsafe(file: &str, text: &str, findings: &mut Vec<Finding>) -> Result<()> {
    let in_room = |(room, _): &(&str, &str)| {
        file.strip_prefix(room).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if tables::UNSAFE_ROOMS.iter().any(in_room) {
        return Ok(());
    }
    let tokens: TokenStream = text.parse().map_err(|e| format!("{file}: {e}"))?;
    if let Some(line) = first_unsafe(tokens) {
        let text = "unsafe code is outside of its rooms (xtask/src/tidy/tables.rs lists them)".into();
        findings.push(Finding::new(Check::Unsafe, file, line, text));
    }
    Ok(())
}

fn first_unsafe(tokens: TokenStream) -> Option<usize> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(ident) if ident == "unsafe" => Some(ident.span().start().line),
        TokenTree::Group(group) => first_unsafe(group.stream()),
        _ => None,
    })
}

/// The function that lists the phases is called `link`, free or of a type.
fn check_link(file: &str, text: &str, findings: &mut Vec<Finding>) -> Result<()> {
    struct Links<'a>(&'a str, &'a mut Vec<Finding>);
    impl Links<'_> {
        fn measure(&mut self, signature: &syn::Signature, block: &syn::Block) {
            let (first, last) =
                (signature.fn_token.span.start().line, block.brace_token.span.close().end().line);
            let lines = last + 1 - first;
            if signature.ident == "link" && lines > tables::LONGEST_LINK {
                let text = format!(
                    "link() has {lines} lines, more than {}: it is a table of contents",
                    tables::LONGEST_LINK
                );
                self.1.push(Finding::new(Check::Length, self.0, first, text));
            }
        }
    }
    impl<'ast> Visit<'ast> for Links<'_> {
        fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
            self.measure(&item.sig, &item.block);
            visit::visit_item_fn(self, item);
        }
        fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
            self.measure(&item.sig, &item.block);
            visit::visit_impl_item_fn(self, item);
        }
    }
    let parsed = syn::parse_file(text).map_err(|e| format!("{file}:{}: {e}", e.span().start().line))?;
    Links(file, findings).visit_file(&parsed);
    Ok(())
}
