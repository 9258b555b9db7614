//! `--remap-path-prefix` and `--reproducible`: the paths in the note that records the tools and their command lines.

use solder_cubin::note::{self, ToolInfo};

/// What to do with recorded paths; nothing by default.
#[derive(Clone, Debug, Default)]
pub struct PathRules<'a> {
    /// Prefixes and what takes their place.
    rules: Vec<(&'a str, &'a str)>,
    /// Only the last part of a path stays.
    cut: bool,
}

/// What may come before a path in a command line.
fn separates(c: char) -> bool {
    matches!(c, ' ' | ',' | '=' | ':' | ';' | '"' | '\'')
}

impl<'a> PathRules<'a> {
    /// From texts `OLD=NEW`; with `cut`, folders are removed.
    pub fn new(rules: &'a [Vec<u8>], cut: bool) -> Self {
        let rule =
            |rule: &'a Vec<u8>| str::from_utf8(rule).ok()?.split_once('=').filter(|(old, _)| !old.is_empty());
        Self { rules: rules.iter().filter_map(rule).collect(), cut }
    }

    /// The note section with its paths changed.
    pub fn applied(&self, section: Vec<u8>) -> Vec<u8> {
        if self.rules.is_empty() && !self.cut {
            return section;
        }
        let mut out = Vec::with_capacity(section.len());
        for note in note::notes(&section) {
            let desc = match ToolInfo::parse(note.desc) {
                Some(info) if note.kind == note::TYPE_TKINFO => {
                    let (object, command_line) = (self.changed(info.object), self.changed(info.command_line));
                    ToolInfo { object: &object, command_line: &command_line, ..info }.descriptor()
                }
                _ => note.desc.to_vec(),
            };
            note::write_note(&mut out, note.kind, &desc);
        }
        out
    }

    /// A command line with its paths changed.
    fn changed(&self, line: &str) -> String {
        let mut out = String::with_capacity(line.len());
        for word in line.split_inclusive(separates) {
            let (path, separator) = match word.char_indices().next_back() {
                Some((at, last)) if separates(last) => word.split_at(at),
                _ => (word, ""),
            };
            out += &self.path(path);
            out += separator;
        }
        out
    }

    fn path(&self, path: &str) -> String {
        let fits = |(old, new): &(&str, &str)| {
            let rest = path.strip_prefix(*old)?;
            let whole = rest.is_empty() || rest.starts_with('/') || old.ends_with('/');
            whole.then(|| format!("{new}{rest}"))
        };
        let mapped = self.rules.iter().rev().find_map(fits);
        let path = mapped.as_deref().unwrap_or(path);
        let is_path = self.cut && path.contains('/');
        if is_path { path.trim_end_matches('/').rsplit('/').next().unwrap_or("").into() } else { path.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_replaced_at_whole_parts() {
        let paths = PathRules { rules: vec![("/home/me", "/src"), ("/home/me/x/", "X/")], cut: false };
        for (line, expected) in [
            ("-L /home/me/lib,/home/me -o out ", "-L /src/lib,/src -o out "),
            ("-L /home/me2/lib", "-L /home/me2/lib"),
            ("-I=/home/me/x/y a/home/me", "-I=X/y a/home/me"),
            ("", ""),
        ] {
            assert_eq!(paths.changed(line), expected);
        }
    }

    #[test]
    fn folders_are_cut() {
        let paths = PathRules { rules: Vec::new(), cut: true };
        assert_eq!(paths.changed("-L /a/b/lib,/c/ -arch sm_90 a/k.o"), "-L lib,c -arch sm_90 k.o");
    }

    #[test]
    fn only_tool_notes_are_touched() {
        let paths = PathRules { rules: Vec::new(), cut: true };
        let info =
            ToolInfo { object: "/x/o", tool: "t", version: "v", build: "/b", command_line: "-L /a/b " };
        let mut section = Vec::new();
        note::write_note(&mut section, note::TYPE_TKINFO, &info.descriptor());
        note::write_note(&mut section, note::TYPE_CUINFO, b"/a/b/c/d");
        let changed = paths.applied(section);
        let notes: Vec<_> = note::notes(&changed).collect();
        let expected = ToolInfo { object: "o", command_line: "-L b ", ..info };
        assert_eq!(ToolInfo::parse(notes[0].desc), Some(expected));
        assert_eq!(notes[1].desc, b"/a/b/c/d");
    }
}
