//! Names as nvlink prints them in the call graph: C++ names demangled, in a style of their own. Template
//! parameters are not replaced by their arguments (`T1 f<int>(T1)`), and a name that cannot be read to
//! its end is printed as it is.
//!
//! A name is any bytes, and a damaged file may have made it up. The parser holds only what it has not read yet, so there
//! is no position that could be wrong; its depth, what it remembers and what it prints are bounded.

mod expression;
mod name;
mod types;

use std::rc::Rc;
use types::Type;

/// Names and parts of names as they are printed.
type Text = Vec<u8>;

/// nvlink prints names from this length on as they are (core/report-callgraph-odd-names).
const TOO_LONG: usize = 15_000;
/// nvlink recurses without a limit. Deeper names are printed as they are.
const DEEPEST: usize = 1_000;
/// nvlink prints gigabytes for some short names. A name that grows beyond this is printed as it is.
const LONGEST: usize = 1 << 16;
/// The bytes of all prefixes that are kept for substitutions.
const MOST_KEPT: usize = 1 << 24;

/// The prefix of a static entity: then the length of the module's id, `_`, the id, `_`.
const STATIC_PREFIX: &[u8] = b"__nv_static_";

/// Parts of a text, one after the other.
macro_rules! cat {
    ($($part:expr),+) => {{
        let mut text = Text::new();
        $(text.extend_from_slice(AsRef::<[u8]>::as_ref(&$part));)+
        text
    }};
}
use cat;

fn decimal(number: i64) -> Text {
    number.to_string().into_bytes()
}

/// The printed form of a symbol's name.
pub fn demangle(name: &[u8]) -> Vec<u8> {
    let start = without_static_prefix(name);
    let start = start.strip_prefix(b"$").unwrap_or(start);
    parse(start).filter(|_| name.len() < TOO_LONG).unwrap_or_else(|| name.to_vec())
}

/// A mangled name, and the names of its clones: after a mangled name the assembler may have put `$` and a number, or
/// `$` and the name of a part of it.
fn parse(name: &[u8]) -> Option<Text> {
    let mut clones = Text::new();
    let mut rest = name;
    while let Some((printed, part)) = parse_one(rest) {
        let Some(part) = part else { return Some(cat![clones, printed]) };
        clones = cat![clones, "[clone ", printed, "] "];
        rest = part;
    }
    // The last part may be any name that is not mangled.
    (!clones.is_empty() && !rest.starts_with(b"_Z")).then(|| cat![clones, rest])
}

/// One mangled name, and what follows it after a `$`.
fn parse_one(name: &[u8]) -> Option<(Text, Option<&[u8]>)> {
    let mut parser = Parser::new(name.strip_prefix(b"_Z")?);
    let printed = parser.encoding(true).filter(|printed| printed.len() <= LONGEST)?;
    let Some(part) = parser.rest.strip_prefix(b"$") else {
        return parser.rest.is_empty().then_some((printed, None));
    };
    match part.first() {
        Some(b'0'..=b'9') => part.iter().all(u8::is_ascii_digit).then_some((printed, None)),
        _ => Some((printed, Some(part))),
    }
}

fn without_static_prefix(name: &[u8]) -> &[u8] {
    let rest = || {
        let mut parser = Parser::new(name.strip_prefix(STATIC_PREFIX)?);
        let digits = parser.take_while(|byte| byte.is_ascii_digit());
        let length: usize = std::str::from_utf8(digits).ok()?.parse().ok()?;
        parser.expect("_")?;
        parser.take_bytes(length)?;
        parser.expect("_")?;
        Some(parser.rest)
    };
    rest().unwrap_or(name)
}

/// What an earlier part of the name can be referred to by.
#[derive(Clone, Debug)]
enum Substitution {
    Type(Rc<Type>),
    /// The beginning of a qualified name, or the name of a template.
    Prefix(Scope),
}

/// A name that others are qualified with.
#[derive(Clone, Debug, Default)]
struct Scope {
    text: Text,
    /// The last component alone, which is the name of a constructor.
    last: Text,
}

struct Parser<'a> {
    /// What has not been read yet.
    rest: &'a [u8],
    depth: usize,
    substitutions: Vec<Substitution>,
    /// The type of a conversion operator is read: template arguments after a parameter are the operator's.
    in_conversion: bool,
    /// Bytes kept for substitutions, and bytes printed for them so far: they are what can grow without bound.
    kept: usize,
    copied: usize,
}

impl<'a> Parser<'a> {
    fn new(rest: &'a [u8]) -> Self {
        Self { rest, depth: 0, substitutions: Vec::new(), in_conversion: false, kept: 0, copied: 0 }
    }

    fn at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte; names hold no zeros.
    fn peek(&self) -> u8 {
        self.peek_at(0)
    }

    fn peek_at(&self, offset: usize) -> u8 {
        self.rest.get(offset).copied().unwrap_or(0)
    }

    fn next(&mut self) -> u8 {
        let byte = self.peek();
        self.skip(1);
        byte
    }

    fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    fn take_bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn take_while(&mut self, wanted: impl Fn(u8) -> bool) -> &'a [u8] {
        let count = self.rest.iter().position(|byte| !wanted(*byte)).unwrap_or(self.rest.len());
        self.take_bytes(count).unwrap_or_default()
    }

    /// Takes the text if it is next.
    fn take(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text.as_bytes());
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, text: &str) -> Option<()> {
        self.take(text).then_some(())
    }

    /// A number of 64 bits with a sign; nvlink does not check that it fits (core/report-callgraph-odd-names).
    fn digits(&mut self) -> Option<i64> {
        let digits = self.take_while(|byte| byte.is_ascii_digit());
        let add = |number: i64, digit: &u8| number.wrapping_mul(10).wrapping_add(i64::from(digit - b'0'));
        (!digits.is_empty()).then(|| digits.iter().fold(0, add))
    }

    /// `_` is the first, `0_` the second, and so on.
    fn ordinal(&mut self) -> Option<i64> {
        if self.take("_") {
            return Some(1);
        }
        let number = self.digits().filter(|number| *number >= 0)?;
        self.expect("_")?;
        number.checked_add(2)
    }

    /// The number of a substitution: digits of base 36. One that is too large begins anew at zero.
    fn substitution_number(&mut self) -> Option<u32> {
        if self.take("_") {
            return Some(0);
        }
        let mut number = 0u32;
        loop {
            let digit = match self.next() {
                digit @ b'0'..=b'9' => digit - b'0',
                letter @ b'A'..=b'Z' => letter - b'A' + 10,
                b'_' => return Some(number.wrapping_add(1)),
                _ => return None,
            };
            number = number.wrapping_mul(36).wrapping_add(u32::from(digit));
        }
    }

    /// Runs a rule one level deeper.
    fn deeper<T>(&mut self, rule: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth == DEEPEST {
            return None;
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    fn remember(&mut self, substitution: Substitution) -> Option<()> {
        if let Substitution::Prefix(scope) = &substitution {
            self.kept += scope.text.len() + scope.last.len();
        }
        self.substitutions.push(substitution);
        (self.kept <= MOST_KEPT).then_some(())
    }

    /// `S…`: something seen before, or one of the well-known names of the standard library. `St` is not
    /// one: a name follows it.
    fn substitution(&mut self) -> Option<Substitution> {
        self.expect("S")?;
        if let Some((text, last)) = well_known(self.peek()) {
            self.skip(1);
            return Some(Substitution::Prefix(Scope { text: text.into(), last: last.into() }));
        }
        let number = self.substitution_number()?;
        let found = self.substitutions.get(number as usize)?.clone();
        self.copied += match &found {
            Substitution::Type(found) => found.print()?.len(),
            Substitution::Prefix(scope) => scope.text.len(),
        };
        (self.copied <= LONGEST).then_some(found)
    }
}

fn well_known(letter: u8) -> Option<(&'static str, &'static str)> {
    Some(match letter {
        b'a' => ("std::allocator", "allocator"),
        b'b' => ("std::basic_string", "basic_string"),
        b's' => ("std::basic_string<char, std::char_traits<char>, std::allocator<char>>", "basic_string"),
        b'i' => ("std::basic_istream<char, std::char_traits<char>>", "basic_istream"),
        b'o' => ("std::basic_ostream<char, std::char_traits<char>>", "basic_ostream"),
        b'd' => ("std::basic_iostream<char, std::char_traits<char>>", "basic_iostream"),
        // nvlink prints nothing for the other letters.
        letter if letter.is_ascii_lowercase() => ("", ""),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
