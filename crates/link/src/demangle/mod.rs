//! Names as nvlink prints them in the call graph: C++ names demangled, in a style of their own. Template
//! parameters are not replaced by their arguments (`T1 f<int>(T1)`), and a name that cannot be read to
//! its end is printed as it is.

mod expression;
mod name;
mod types;

use std::rc::Rc;
use types::Type;

/// Deeper names are printed as they are; the recursion of the parser is bounded by it.
const DEEPEST: usize = 200;
/// So are names that substitutions would blow up.
const LONGEST: usize = 1 << 16;

/// The prefix of a static entity: then the length of the module's id, `_`, the id, `_`.
const STATIC_PREFIX: &str = "__nv_static_";

/// The printed form of a symbol's name.
pub fn demangle(name: &str) -> String {
    let start = without_static_prefix(name);
    let start = start.strip_prefix('$').unwrap_or(start);
    parse(start).unwrap_or_else(|| name.to_owned())
}

/// Behind a mangled name the assembler may have put `$` and a number, or `$` and the name of a part of it.
fn parse(name: &str) -> Option<String> {
    let text = name.strip_prefix("_Z")?;
    let mut parser = Parser::new(text.as_bytes());
    let printed = parser.encoding(true)?;
    if printed.len() > LONGEST {
        return None;
    }
    let rest = &text[parser.at..];
    let Some(part) = rest.strip_prefix('$') else { return rest.is_empty().then_some(printed) };
    if part.starts_with(|c: char| c.is_ascii_digit()) {
        return part.bytes().all(|b| b.is_ascii_digit()).then_some(printed);
    }
    Some(format!("[clone {printed}] {}", parse(part).unwrap_or_else(|| part.to_owned())))
}

fn without_static_prefix(name: &str) -> &str {
    let rest = || {
        let text = name.strip_prefix(STATIC_PREFIX)?;
        let (digits, text) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
        let length: usize = digits.parse().ok()?;
        text.strip_prefix('_')?.get(length..)?.strip_prefix('_')
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
    text: String,
    /// The last component alone, which is the name of a constructor.
    last: String,
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
    substitutions: Vec<Substitution>,
    /// The type of a conversion operator is read: template arguments behind a parameter are the operator's.
    in_conversion: bool,
    /// Bytes printed for substitutions so far: they are what can grow without bound.
    copied: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, depth: 0, substitutions: Vec::new(), in_conversion: false, copied: 0 }
    }

    fn at_end(&self) -> bool {
        self.at == self.text.len()
    }

    fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    fn peek_at(&self, offset: usize) -> u8 {
        self.text.get(self.at + offset).copied().unwrap_or(0)
    }

    fn next(&mut self) -> u8 {
        let byte = self.peek();
        self.at += usize::from(!self.at_end());
        byte
    }

    /// Takes the text if it is next.
    fn take(&mut self, text: &str) -> bool {
        let found = self.text[self.at..].starts_with(text.as_bytes());
        if found {
            self.at += text.len();
        }
        found
    }

    fn expect(&mut self, text: &str) -> Option<()> {
        self.take(text).then_some(())
    }

    fn digits(&mut self) -> Option<usize> {
        let start = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        std::str::from_utf8(&self.text[start..self.at]).ok()?.parse().ok()
    }

    /// `_` is the first, `0_` the second, and so on.
    fn ordinal(&mut self) -> Option<usize> {
        if self.take("_") {
            return Some(1);
        }
        let number = self.digits()?;
        self.expect("_")?;
        number.checked_add(2)
    }

    /// The number of a substitution: digits of base 36.
    fn substitution_number(&mut self) -> Option<usize> {
        if self.take("_") {
            return Some(0);
        }
        let mut number = 0usize;
        loop {
            let digit = match self.next() {
                digit @ b'0'..=b'9' => digit - b'0',
                letter @ b'A'..=b'Z' => letter - b'A' + 10,
                b'_' => return number.checked_add(1),
                _ => return None,
            };
            number = number.checked_mul(36)?.checked_add(usize::from(digit))?;
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

    fn remember(&mut self, substitution: Substitution) {
        self.substitutions.push(substitution);
    }

    /// `S…`: something seen before, or one of the well-known names of the standard library. `St` is not
    /// one: a name follows it.
    fn substitution(&mut self) -> Option<Substitution> {
        self.expect("S")?;
        if let Some((text, last)) = well_known(self.peek()) {
            self.at += 1;
            return Some(Substitution::Prefix(Scope { text: text.into(), last: last.into() }));
        }
        let number = self.substitution_number()?;
        let found = self.substitutions.get(number)?.clone();
        self.copied += match &found {
            Substitution::Type(found) => found.print().len(),
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
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
