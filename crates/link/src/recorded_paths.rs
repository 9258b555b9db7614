//! `--remap-path-prefix` and `--reproducible`: the paths in the note that records the tools and their command lines.

use bstr::{BStr, ByteSlice};
use solder_cubin::note::{self, ToolInfo};

/// What to do with recorded paths; nothing by default.
#[derive(Clone, Debug, Default)]
pub struct PathRules<'a> {
    /// Prefixes and what takes their place.
    rules: Vec<(&'a [u8], &'a [u8])>,
    /// Only the last part of a path stays.
    cut: bool,
}

/// What may come before a path in a command line.
fn separates(byte: u8) -> bool {
    b" ,=:;\"'".contains(&byte)
}

impl<'a> PathRules<'a> {
    /// From texts `OLD=NEW`; with `cut`, folders are removed.
    pub fn new(rules: &'a [Vec<u8>], cut: bool) -> Self {
        let rule = |rule: &'a Vec<u8>| rule.split_once_str("=").filter(|(old, _)| !old.is_empty());
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
                    let (object, command_line) = (BStr::new(&object), BStr::new(&command_line));
                    ToolInfo { object, command_line, ..info }.descriptor()
                }
                _ => note.desc.to_vec(),
            };
            note::write_note(&mut out, note.kind, &desc);
        }
        out
    }

    /// A command line with its paths changed.
    fn changed(&self, line: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(line.len());
        for word in line.split_inclusive(|byte| separates(*byte)) {
            let is_separated = word.last().is_some_and(|last| separates(*last));
            let (path, separator) = word.split_at(word.len() - usize::from(is_separated));
            out.extend(self.path(path));
            out.extend_from_slice(separator);
        }
        out
    }

    fn path(&self, path: &[u8]) -> Vec<u8> {
        let fits = |(old, new): &(&[u8], &[u8])| {
            let rest = path.strip_prefix(*old)?;
            let whole = rest.is_empty() || rest.starts_with(b"/") || old.ends_with(b"/");
            whole.then(|| [new, rest].concat())
        };
        let mapped = self.rules.iter().rev().find_map(fits);
        let path = mapped.as_deref().unwrap_or(path);
        if !self.cut || !path.contains(&b'/') {
            return path.to_vec();
        }
        let end = path.rfind_not_byteset("/").map_or(0, |last| last + 1);
        path[..end].rsplit(|byte| *byte == b'/').next().unwrap_or_default().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_replaced_at_whole_parts() {
        let paths = PathRules { rules: vec![(b"/home/me", b"/src"), (b"/home/me/x/", b"X/")], cut: false };
        for (line, expected) in [
            ("-L /home/me/lib,/home/me -o out ", "-L /src/lib,/src -o out "),
            ("-L /home/me2/lib", "-L /home/me2/lib"),
            ("-I=/home/me/x/y a/home/me", "-I=X/y a/home/me"),
            ("", ""),
        ] {
            assert_eq!(BStr::new(&paths.changed(line.as_bytes())), expected);
        }
    }

    #[test]
    fn folders_are_cut() {
        let paths = PathRules { rules: Vec::new(), cut: true };
        let line = b"-L /a/b/lib,/c/,/\xe9/\xe8 -arch sm_90 a/k.o";
        assert_eq!(paths.changed(line), b"-L lib,c,\xe8 -arch sm_90 k.o");
    }

    #[test]
    fn only_tool_notes_are_touched() {
        let paths = PathRules { rules: Vec::new(), cut: true };
        let [object, tool, version, build, command_line] =
            ["/x/o", "t", "v", "/b", "-L /a/b "].map(BStr::new);
        let info = ToolInfo { object, tool, version, build, command_line };
        let mut section = Vec::new();
        note::write_note(&mut section, note::TYPE_TKINFO, &info.descriptor());
        note::write_note(&mut section, note::TYPE_CUINFO, b"/a/b/c/d");
        let changed = paths.applied(section);
        let notes: Vec<_> = note::notes(&changed).collect();
        let expected = ToolInfo { object: BStr::new("o"), command_line: BStr::new("-L b "), ..info };
        assert_eq!(ToolInfo::parse(notes[0].desc), Some(expected));
        assert_eq!(notes[1].desc, b"/a/b/c/d");
    }
}
