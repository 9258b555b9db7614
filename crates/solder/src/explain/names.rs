//! Names as people read them, and names that are nearly the same.

use bstr::{BStr, ByteSlice};
use solder_cubin::raw;
use solder_link::demangle::demangle;
use solder_link::model::ids::EntityId;
use solder_link::model::object::Object;
use solder_link::model::symbols::Symbols;

/// A name as people wrote it. The assembler puts `$__` and a number around the names of static variables in functions.
pub fn shown(name: impl AsRef<[u8]>) -> String {
    let name = name.as_ref();
    let inner = || {
        let (inner, number) = name.strip_prefix(b"$__")?.rsplit_once_str("__")?;
        number.iter().all(u8::is_ascii_digit).then_some(inner)
    };
    demangle(inner().unwrap_or(name)).to_str_lossy().into_owned()
}

/// Whether a name is shown as something else than its own text.
pub fn is_mangled(name: &BStr, shown: &str) -> bool {
    name.to_str_lossy() != shown
}

/// Whether a name is the one that a person wrote: as it is, demangled, or without scope and parameters.
pub fn matches(name: &BStr, wanted: &str) -> bool {
    rank(name, wanted).is_some()
}

fn rank(name: &BStr, wanted: &str) -> Option<u8> {
    if name == wanted {
        return Some(0);
    }
    let real = shown(name);
    if real == wanted { Some(1) } else { (base(&real) == wanted).then_some(2) }
}

/// Those of the best rank.
fn best<T>(found: Vec<(u8, T)>) -> Vec<T> {
    let best = found.iter().map(|(rank, _)| *rank).min();
    found.into_iter().filter(|(rank, _)| Some(*rank) == best).map(|(_, found)| found).collect()
}

/// The entities that a person's name stands for.
pub fn entities(symbols: &Symbols<'_>, wanted: &str) -> Vec<EntityId> {
    let all = symbols.entities.iter().enumerate();
    best(all.filter_map(|(i, entity)| Some((rank(entity.name, wanted)?, EntityId::at(i)))).collect())
}

/// The symbols that a person's name stands for, by file and index.
pub fn symbols(objects: &[Object<'_>], wanted: &str) -> Vec<(usize, u32)> {
    let mut found = Vec::new();
    for (file, object) in objects.iter().enumerate() {
        for (index, symbol) in object.symbols().filter(|(_, symbol)| symbol.kind() != raw::STT_SECTION) {
            let name = object.names[index as usize];
            if !name.is_empty() && symbol.kind() != raw::STT_NOTYPE {
                found.extend(rank(name, wanted).map(|rank| (rank, (file, index))));
            }
        }
    }
    best(found)
}

/// Suggestions made for one name.
const MOST: usize = 3;

/// A definition that a name might have meant.
#[derive(Debug)]
pub struct Candidate<'a> {
    pub name: &'a BStr,
    shown: String,
    pub file: usize,
    pub local: bool,
}

/// Everything that the inputs define.
#[derive(Debug)]
pub struct Index<'a> {
    candidates: Vec<Candidate<'a>>,
}

/// How a candidate relates to what was asked for, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    /// The very name, but not visible to other objects.
    Static,
    /// The same but for the parameters or the scope.
    Overload,
    /// One of them is `extern "C"`.
    Linkage,
    Spelling(usize),
}

impl<'a> Index<'a> {
    pub fn new(objects: &'a [Object<'_>]) -> Self {
        let mut candidates = Vec::new();
        for (file, object) in objects.iter().enumerate() {
            for (index, symbol) in object.symbols() {
                let thing = matches!(symbol.kind(), raw::STT_FUNC | raw::STT_OBJECT);
                let name = object.names[index as usize];
                if thing && symbol.is_defined() && !name.is_empty() {
                    let local = symbol.bind() == raw::STB_LOCAL;
                    candidates.push(Candidate { name, shown: shown(name), file, local });
                }
            }
        }
        Self { candidates }
    }

    /// The definitions most like `name`, best first.
    pub fn near(&self, name: &BStr) -> Vec<(Likeness, &Candidate<'a>)> {
        let real = shown(name);
        let wanted = Parts::of(&real, name);
        let like = |candidate: &Candidate<'_>| {
            Parts::of(&candidate.shown, candidate.name).likeness(&wanted, candidate.local)
        };
        let mut found: Vec<_> = self.candidates.iter().filter_map(|c| Some((like(c)?, c))).collect();
        found.sort_by_key(|(likeness, candidate)| (*likeness, candidate.file));
        // A wrong spelling does not help beside a right one.
        if let Some((Likeness::Static | Likeness::Overload | Likeness::Linkage, _)) = found.first() {
            found.retain(|(likeness, _)| !matches!(likeness, Likeness::Spelling(_)));
        }
        found.dedup_by_key(|(_, candidate)| candidate.shown.clone());
        found.truncate(MOST);
        found
    }
}

/// `return ns::base<args>(parameters)`.
#[derive(Debug)]
struct Parts<'a> {
    shown: &'a str,
    base: &'a str,
    mangled: bool,
}

impl<'a> Parts<'a> {
    fn of(shown: &'a str, name: &BStr) -> Self {
        Self { shown, base: base(shown), mangled: is_mangled(name, shown) }
    }

    /// `self` is defined, `wanted` is not; both are not the same global name.
    fn likeness(&self, wanted: &Self, local: bool) -> Option<Likeness> {
        if self.shown == wanted.shown {
            return if local {
                Some(Likeness::Static)
            } else {
                (self.mangled != wanted.mangled).then_some(Likeness::Linkage)
            };
        }
        if self.base == wanted.base {
            let both = self.mangled && wanted.mangled;
            return Some(if both { Likeness::Overload } else { Likeness::Linkage });
        }
        let most = wanted.base.len() / 4;
        let distance = distance(self.base.as_bytes(), wanted.base.as_bytes(), most.min(3))?;
        Some(Likeness::Spelling(distance))
    }
}

/// The last identifier before the parameters.
fn base(shown: &str) -> &str {
    let mut depth = 0usize;
    let mut end = shown.len();
    let mut start = 0;
    for (at, byte) in shown.bytes().enumerate() {
        match byte {
            b'<' => {
                if depth == 0 {
                    end = end.min(at);
                }
                depth += 1;
            }
            b'>' => depth = depth.saturating_sub(1),
            b'(' if depth == 0 => {
                return shown.get(start..end.min(at)).unwrap_or(shown);
            }
            b':' | b' ' if depth == 0 => {
                start = at + 1;
                end = shown.len();
            }
            _ => {}
        }
    }
    shown.get(start..end).unwrap_or(shown)
}

/// The number of insertions, removals and replacements, if it is at most `most`.
fn distance(a: &[u8], b: &[u8], most: usize) -> Option<usize> {
    if most == 0 || a.len().abs_diff(b.len()) > most {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
        if row.iter().all(|cost| *cost > most) {
            return None;
        }
    }
    Some(row[b.len()]).filter(|cost| *cost <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases() {
        for (shown, expected) in [
            ("f", "f"),
            ("f(int)", "f"),
            ("ns::f(a::b, c<d>)", "f"),
            ("T1 ns::f<int, g(1)>(T1)", "f"),
            ("a<b::c>::f(int)", "f"),
        ] {
            assert_eq!(base(shown), expected, "{shown}");
        }
    }

    #[test]
    fn static_variables() {
        assert_eq!(shown("$___ZZ8exchangefiE6buffer__24"), "exchange(float, int)::buffer");
        assert_eq!(shown("_Z1fi"), "f(int)");
        assert_eq!(shown("$__x"), "$__x");
    }

    #[test]
    fn distances() {
        assert_eq!(distance(b"scale", b"scales", 1), Some(1));
        assert_eq!(distance(b"sclae", b"scale", 2), Some(2));
        assert_eq!(distance(b"abc", b"xyz", 2), None);
        assert_eq!(distance(b"abc", b"abcdef", 2), None);
    }
}
