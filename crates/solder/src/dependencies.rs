//! `--dependency-file`: the files that a link read, as a rule of a makefile, so that make and Ninja link again when one
//! of them changes. nvlink has no such option.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use hashbrown::HashSet;

use crate::diagnostics::{Message, Sink, Stop};
use crate::load::FilesRead;
use crate::options::{Id, Options};
use crate::output;

/// Where loading notes the files that it opens, if somebody is going to ask.
pub fn noted(options: &Options) -> Option<Arc<FilesRead>> {
    options.dependency_file.is_some().then(Arc::default)
}

/// Writes the rule of a link that has succeeded.
pub fn write(options: &Options, read: Option<&FilesRead>, sink: &Sink) -> Result<(), Stop> {
    let (Some(file), Some(read)) = (&options.dependency_file, read) else { return Ok(()) };
    // A link for a virtual target that registers nothing either writes no file that could be out of date.
    let outputs = [&options.dependency_target, &options.output, &options.register_link_binaries];
    let Some(target) = outputs.into_iter().flatten().next() else { return Ok(()) };
    let target = target.as_os_str().as_bytes();
    let prerequisites = prerequisites(options, read);
    let names: Vec<&[u8]> = prerequisites.iter().map(Vec::as_slice).filter(|name| *name != target).collect();
    let Some(text) = rule(target, &names) else {
        let reason = "a makefile cannot name a file whose name has a line break".into();
        return Err(sink.fatal(Message::OutputNotWritten { file: file.into(), reason }));
    };
    if file.as_os_str() == "-" {
        options.console.out(&text);
        return Ok(());
    }
    output::write_output(file, &text, sink)
}

/// Every file that was read, once, in an order that does not depend on threads. Pipes and devices have no time at which
/// they changed, and are left out.
fn prerequisites(options: &Options, read: &FilesRead) -> Vec<Vec<u8>> {
    let option_files = options.values().list(Id::OptionsFile).iter().cloned();
    let given = [&options.nv_host].into_iter().flatten().chain(&options.inputs);
    let given = given.map(|path| path.as_os_str().as_bytes().to_vec());
    // Libraries, also those for another host, and what thin archives name.
    let mut found: Vec<Vec<u8>> =
        read.take().into_iter().map(|path| path.into_os_string().into_encoded_bytes()).collect();
    found.sort();
    let mut seen = HashSet::new();
    let all = option_files.chain(given).chain(found).filter(|name| is_file(name));
    all.filter(|name| seen.insert(name.clone())).collect()
}

fn is_file(name: &[u8]) -> bool {
    Path::new(std::ffi::OsStr::from_bytes(name)).is_file()
}

/// The rule of one link.
fn rule(target: &[u8], prerequisites: &[&[u8]]) -> Option<Vec<u8>> {
    let names: Vec<Vec<u8>> = prerequisites.iter().map(|name| escape(name)).collect::<Option<_>>()?;
    Some(written(&escape(target)?, &names.iter().map(Vec::as_slice).collect::<Vec<_>>()))
}

/// The rule, and an empty one for each prerequisite, so that one which has been removed is not an error. All names are escaped.
fn written(targets: &[u8], prerequisites: &[&[u8]]) -> Vec<u8> {
    let mut text = targets.to_vec();
    text.push(b':');
    for name in prerequisites {
        text.extend_from_slice(b" \\\n  ");
        text.extend_from_slice(name);
    }
    text.push(b'\n');
    for name in prerequisites {
        text.push(b'\n');
        text.extend_from_slice(name);
        text.extend_from_slice(b":\n");
    }
    text
}

/// One rule for what several links write and read, made of the rules of each.
pub fn joined(rules: &[Vec<u8>]) -> Vec<u8> {
    const END: &[u8] = b" \\";
    let (mut targets, mut prerequisites) = (Vec::<&[u8]>::new(), Vec::<&[u8]>::new());
    for rule in rules {
        let mut lines = rule.split(|byte| *byte == b'\n');
        let own = |line: &'_ [u8]| -> usize { line.strip_suffix(END).map_or(line.len(), <[u8]>::len) };
        let target = lines.next().unwrap_or_default();
        let target = &target[..own(target)];
        let target = target.strip_suffix(b":").unwrap_or(target);
        if !targets.contains(&target) {
            targets.push(target);
        }
        for line in lines.take_while(|line| line.starts_with(b"  ")) {
            let name = &line[2..own(line)];
            if !prerequisites.contains(&name) {
                prerequisites.push(name);
            }
        }
    }
    written(&targets.join(&b' '), &prerequisites)
}

/// A name as make and Ninja read it. A backslash is itself unless a character that it would protect follows; then it is
/// doubled.
fn escape(name: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(name.len());
    let mut backslashes = 0;
    for byte in name {
        match byte {
            b'\n' | b'\r' => return None,
            b' ' | b'\t' | b'#' | b':' => {
                text.extend(std::iter::repeat_n(b'\\', backslashes + 1));
            }
            b'$' => text.push(b'$'),
            _ => {}
        }
        backslashes = if *byte == b'\\' { backslashes + 1 } else { 0 };
        text.push(*byte);
    }
    // The blank or colon after the name.
    text.extend(std::iter::repeat_n(b'\\', backslashes));
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(name: &str) -> String {
        String::from_utf8(escape(name.as_bytes()).expect("no line break")).expect("UTF-8")
    }

    #[test]
    fn names_are_escaped() {
        assert_eq!(escaped("dir/a.o"), "dir/a.o");
        assert_eq!(escaped("my dir/a#1.o"), r"my\ dir/a\#1.o");
        assert_eq!(escaped("$HOME/a:b.o"), r"$$HOME/a\:b.o");
        assert_eq!(escaped(r"a\b.o"), r"a\b.o");
        assert_eq!(escaped(r"a\ b.o"), r"a\\\ b.o");
        assert_eq!(escape(b"a\nb.o"), None);
    }

    #[test]
    fn rules_are_joined() {
        let first = rule(b"out.sm_80", &[b"a.o", b"lib b.a"]).expect("good names");
        let second = rule(b"out.sm_90", &[b"a.o", b"c.a"]).expect("good names");
        let both =
            b"out.sm_80 out.sm_90: \\\n  a.o \\\n  lib\\ b.a \\\n  c.a\n\na.o:\n\nlib\\ b.a:\n\nc.a:\n";
        assert_eq!(joined(&[first.clone(), second]), both);
        assert_eq!(joined(&[first.clone(), first.clone()]), first);
    }

    #[test]
    fn every_prerequisite_has_an_empty_rule() {
        let text = rule(b"out.cubin", &[b"a.o", b"lib b.a"]).expect("good names");
        assert_eq!(text, b"out.cubin: \\\n  a.o \\\n  lib\\ b.a\n\na.o:\n\nlib\\ b.a:\n");
    }
}
