//! Names as people read them, and names that are nearly the same.

use bstr::{BStr, ByteSlice};
use solder_cubin::raw;
use solder_link::demangle::demangle;
use solder_link::model::ids::EntityId;
use solder_link::model::object::Object;
use solder_link::model::symbols::Symbols;

use crate::near::distance;

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

/// Whether a name is the one that a person wrote: as it is, demangled, without parameters, or without the first parts of
/// its scope.
pub fn matches(name: &BStr, wanted: &str) -> bool {
    rank(name, wanted).is_some()
}

/// How well a name fits what a person wrote: the fewer parts were left out, the better.
fn rank(name: &BStr, wanted: &str) -> Option<u8> {
    if name == wanted {
        return Some(0);
    }
    let (real, wanted) = (shown(name), without_blanks(wanted));
    let qualified = qualified(&real);
    // A template's name is preceded by the type that it returns.
    let start = real.find(qualified).unwrap_or(0);
    let forms = [&real, &real[start..], qualified, without_arguments(qualified)].map(without_blanks);
    let bare = without_all_arguments(qualified);
    if let Some(at) = forms.iter().position(|form| *form == wanted) {
        return Some(1 + at as u8);
    }
    let ends = |form: &String| form.strip_suffix(&wanted).is_some_and(|scope| scope.ends_with("::"));
    (forms[1..].iter().any(ends) || bare == wanted || ends(&bare)).then_some(5)
}

/// Names are compared without blanks, which people and demanglers put differently.
fn without_blanks(name: &str) -> String {
    name.chars().filter(|character| *character != ' ').collect()
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
        found.extend(things(object).filter_map(|(index, name)| Some((rank(name, wanted)?, (file, index)))));
    }
    best(found)
}

/// The names of all symbols.
pub fn all<'a>(objects: &'a [Object<'_>]) -> impl Iterator<Item = &'a BStr> {
    objects.iter().flat_map(|object| things(object).map(|(_, name)| name))
}

/// The symbols that people have names for, with their index.
fn things<'a>(object: &'a Object<'_>) -> impl Iterator<Item = (u32, &'a BStr)> {
    let named = object.symbols().map(|(index, symbol)| (index, object.names[index as usize], symbol.kind()));
    let is_thing =
        |name: &BStr, kind: u8| !name.is_empty() && !matches!(kind, raw::STT_SECTION | raw::STT_NOTYPE);
    named.filter(move |(_, name, kind)| is_thing(name, *kind)).map(|(index, name, _)| (index, name))
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
    let name = without_arguments(qualified(shown));
    let mut start = 0;
    outside_brackets(name, |at, _| {
        if name[at..].starts_with("::") {
            start = at + 2;
        }
        true
    });
    &name[start..]
}

/// The name with its scope and its template arguments, but without the type before it and the parameters after it.
fn qualified(shown: &str) -> &str {
    let (mut start, mut end) = (0, shown.len());
    outside_brackets(shown, |at, character| match character {
        ' ' if !shown[..at].ends_with(OPERATOR) => {
            start = at + 1;
            true
        }
        // `(anonymous namespace)::` is a part of the scope, and `operator()` of the name.
        '(' if !is_scope(&shown[at..]) && !shown[..at].ends_with(OPERATOR) => {
            end = at;
            false
        }
        _ => true,
    });
    &shown[start..end]
}

const OPERATOR: &str = "operator";

/// Whether brackets are followed by more of a name.
fn is_scope(text: &str) -> bool {
    text.find(')').is_some_and(|at| text[at + 1..].starts_with("::"))
}

/// Calls `visit` for every character that is not inside brackets, the brackets included, until it returns false.
fn outside_brackets(text: &str, mut visit: impl FnMut(usize, char) -> bool) {
    let mut depth = 0usize;
    for (at, character) in text.char_indices() {
        let is_sign = matches!(character, '<' | '>') && is_of_operator(&text[..at]);
        if character == '>' && !is_sign || matches!(character, ')' | ']' | '}') {
            depth = depth.saturating_sub(1);
        }
        if depth == 0 && !visit(at, character) {
            return;
        }
        if character == '<' && !is_sign || matches!(character, '(' | '[' | '{') {
            depth += 1;
        }
    }
}

/// Whether what follows belongs to the name of an operator, which has up to three signs.
fn is_of_operator(before: &str) -> bool {
    let signs = before.bytes().rev().take(2).take_while(|byte| b"<>-=".contains(byte)).count();
    (0..=signs).any(|signs| before[..before.len() - signs].ends_with(OPERATOR))
}

/// The name without the template arguments at its end.
fn without_arguments(name: &str) -> &str {
    let mut last = None;
    if name.ends_with('>') && !name.contains(OPERATOR) {
        outside_brackets(name, |at, character| {
            last = if character == '<' { Some(at) } else { last };
            true
        });
    }
    last.map_or(name, |at| &name[..at])
}

/// The name without any template arguments.
fn without_all_arguments(name: &str) -> String {
    let mut bare = String::new();
    if name.contains(OPERATOR) {
        return without_blanks(name);
    }
    outside_brackets(name, |_, character| {
        if !matches!(character, '<' | '>') {
            bare.push(character);
        }
        true
    });
    without_blanks(&bare)
}

/// The names most like what a person wrote, as they are shown: those that differ by some letters, in case, or by more at one end.
pub fn nearest<'a>(names: impl Iterator<Item = &'a BStr>, wanted: &str) -> Vec<String> {
    let wanted = base(wanted).to_lowercase();
    let mut found: Vec<(usize, String)> = Vec::new();
    for name in names {
        let real = shown(name);
        let known = base(&real).to_lowercase();
        let most = (wanted.len() / 3).clamp(1, 4);
        let apart = distance(known.as_bytes(), wanted.as_bytes(), most);
        let within = || (wanted.len() > 2 && known.contains(&wanted)).then_some(most + 1);
        if let Some(cost) = apart.or_else(within)
            && !found.iter().any(|(_, other)| *other == real)
        {
            found.push((cost, real));
        }
    }
    found.sort();
    found.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// A line that says which names are nearest to one that was not found.
pub fn suggestion<'a>(names: impl Iterator<Item = &'a BStr>, wanted: &str) -> String {
    match nearest(names, wanted).as_slice() {
        [] => String::new(),
        near => format!("    did you mean {}?\n", near.join(", or ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases() {
        for (shown, name, expected) in [
            ("f", "f", "f"),
            ("f(int)", "f", "f"),
            ("ns::f(a::b, c<d>)", "ns::f", "f"),
            ("T1 ns::f<int, g(1)>(T1)", "ns::f<int, g(1)>", "f"),
            ("a<b::c>::f(int)", "a<b::c>::f", "f"),
            ("(anonymous namespace)::f(int)", "(anonymous namespace)::f", "f"),
            ("<unnamed>::f(int)", "<unnamed>::f", "f"),
            ("S::operator()(int)", "S::operator()", "operator()"),
            ("S::operator bool()", "S::operator bool", "operator bool"),
            ("ns::operator<<(A, B)", "ns::operator<<", "operator<<"),
            ("g\u{fffd}<\u{fffd}>(\u{fffd})", "g\u{fffd}<\u{fffd}>", "g\u{fffd}"),
        ] {
            assert_eq!((qualified(shown), base(shown)), (name, expected), "{shown}");
        }
    }

    #[test]
    fn what_people_write() {
        let (function, template) = (BStr::new("_ZN5graph5step5Efi"), BStr::new("_ZN1a4NodeIiE4stepIfEEvT_"));
        for wanted in [
            "graph::step5(float, int)",
            "graph::step5(float,int)",
            "graph::step5",
            "step5",
            "step5(float, int)",
        ] {
            assert!(matches(function, wanted), "{wanted}");
        }
        for wanted in ["step", "5", "h::step5", "graph::step5(float)", "::step5(int)"] {
            assert!(!matches(function, wanted), "{wanted}");
        }
        for wanted in ["step", "a::Node<int>::step<float>", "Node<int>::step", "Node::step", "a::Node::step"]
        {
            assert!(matches(template, wanted), "{wanted}: {}", shown(template));
        }
        assert!(rank(function, "graph::step5(float, int)") < rank(function, "graph::step5"));
        assert!(rank(function, "graph::step5") < rank(function, "step5"));
    }

    #[test]
    fn nearest_names() {
        let names = || ["_ZN5graph5step5Efi", "_ZN5graph4stepEfi", "other"].map(BStr::new).into_iter();
        assert_eq!(nearest(names(), "graph::Step5"), ["graph::step5(float, int)", "graph::step(float, int)"]);
        assert!(nearest(names(), "nothing").is_empty());
    }

    #[test]
    fn static_variables() {
        assert_eq!(shown("$___ZZ8exchangefiE6buffer__24"), "exchange(float, int)::buffer");
        assert_eq!(shown("_Z1fi"), "f(int)");
        assert_eq!(shown("$__x"), "$__x");
    }
}
