//! The parser of names: what it has not read yet, and what earlier parts can be referred to by.

use std::rc::Rc;

/// Names and parts of names as they are printed.
pub(super) type Text = Vec<u8>;

/// nvlink recurses without a limit. Deeper names are printed as they are.
pub(super) const DEEPEST: usize = 1_000;
/// nvlink prints gigabytes for some short names. A name that grows beyond this is printed as it is.
pub(super) const LONGEST: usize = 1 << 16;
/// The bytes of all prefixes that are kept for substitutions.
pub(super) const MOST_KEPT: usize = 1 << 24;

/// Parts of a text, one after the other.
macro_rules! cat {
    ($($part:expr),+) => {{
        let mut text = Text::new();
        $(text.extend_from_slice(AsRef::<[u8]>::as_ref(&$part));)+
        text
    }};
}
pub(super) use cat;

/// The digits of a number.
pub(super) fn decimal(number: i64) -> Text {
    number.to_string().into_bytes()
}

/// A type, in parts.
#[derive(Clone, Debug)]
pub enum Type {
    /// A name, and whether it keeps its distance from a declarator: a part of an earlier name that is
    /// referred to does not.
    Name {
        text: Text,
        spaced: bool,
    },
    /// `*`, `&` or `&&`.
    Pointer(&'static str, Rc<Type>),
    Member {
        class: Rc<Type>,
        of: Rc<Type>,
    },
    Array {
        bound: Text,
        of: Rc<Type>,
    },
    Function {
        result: Rc<Type>,
        parameters: Text,
        qualifiers: Text,
    },
    Qualified {
        qualifiers: Qualifiers,
        of: Rc<Type>,
    },
    /// A qualifier of the vendor's.
    Vendor {
        name: Text,
        of: Rc<Type>,
    },
    Vector {
        count: Text,
        of: Rc<Type>,
    },
    Complex(Rc<Type>),
    Pack(Rc<Type>),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Qualifiers {
    pub constant: bool,
    pub volatile: bool,
    pub restrict: bool,
}

impl Qualifiers {
    pub(super) fn words(self) -> impl Iterator<Item = &'static str> {
        let all = [(self.constant, "const"), (self.volatile, "volatile"), (self.restrict, "restrict")];
        all.into_iter().filter_map(|(given, word)| given.then_some(word))
    }

    /// As they come after a list of parameters.
    pub fn trailing(self) -> Text {
        self.words().fold(Text::new(), |text, word| cat![text, " ", word])
    }

    pub(super) fn leading(self) -> Text {
        self.words().fold(Text::new(), |text, word| cat![text, word, " "])
    }
}

/// What an earlier part of the name can be referred to by.
#[derive(Clone, Debug)]
pub(super) enum Substitution {
    Type(Rc<Type>),
    /// The beginning of a qualified name, or the name of a template.
    Prefix(Scope),
}

/// A name that others are qualified with.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    pub(super) text: Text,
    /// The last component alone, which is the name of a constructor.
    pub(super) last: Text,
}

pub(super) struct Parser<'a> {
    /// What has not been read yet.
    pub(super) rest: &'a [u8],
    pub(super) depth: usize,
    pub(super) substitutions: Vec<Substitution>,
    /// The type of a conversion operator is read: template arguments after a parameter are the operator's.
    pub(super) in_conversion: bool,
    /// Bytes kept for substitutions, and bytes printed for them so far: they are what can grow without bound.
    pub(super) kept: usize,
    pub(super) copied: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(rest: &'a [u8]) -> Self {
        Self { rest, depth: 0, substitutions: Vec::new(), in_conversion: false, kept: 0, copied: 0 }
    }

    pub(super) fn at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte; names hold no zeros.
    pub(super) fn peek(&self) -> u8 {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, offset: usize) -> u8 {
        self.rest.get(offset).copied().unwrap_or(0)
    }

    pub(super) fn next(&mut self) -> u8 {
        let byte = self.peek();
        self.skip(1);
        byte
    }

    pub(super) fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    pub(super) fn take_bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    pub(super) fn take_while(&mut self, wanted: impl Fn(u8) -> bool) -> &'a [u8] {
        let count = self.rest.iter().position(|byte| !wanted(*byte)).unwrap_or(self.rest.len());
        self.take_bytes(count).unwrap_or_default()
    }

    /// Takes the text if it is next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text.as_bytes());
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    pub(super) fn expect(&mut self, text: &str) -> Option<()> {
        self.take(text).then_some(())
    }

    /// A number of 64 bits with a sign; nvlink does not check that it fits (core/report-callgraph-odd-names).
    pub(super) fn digits(&mut self) -> Option<i64> {
        let digits = self.take_while(|byte| byte.is_ascii_digit());
        let add = |number: i64, digit: &u8| number.wrapping_mul(10).wrapping_add(i64::from(digit - b'0'));
        (!digits.is_empty()).then(|| digits.iter().fold(0, add))
    }

    /// `_` is the first, `0_` the second, and so on.
    pub(super) fn ordinal(&mut self) -> Option<i64> {
        if self.take("_") {
            return Some(1);
        }
        let number = self.digits().filter(|number| *number >= 0)?;
        self.expect("_")?;
        number.checked_add(2)
    }

    /// The number of a substitution: digits of base 36. One that is too large begins anew at zero.
    pub(super) fn substitution_number(&mut self) -> Option<u32> {
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
    pub(super) fn deeper<T>(&mut self, rule: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth == DEEPEST {
            return None;
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    pub(super) fn remember(&mut self, substitution: Substitution) -> Option<()> {
        if let Substitution::Prefix(scope) = &substitution {
            self.kept += scope.text.len() + scope.last.len();
        }
        self.substitutions.push(substitution);
        (self.kept <= MOST_KEPT).then_some(())
    }

    /// `S…`: something seen before, or one of the well-known names of the standard library. `St` is not
    /// one: a name follows it.
    pub(super) fn substitution(&mut self) -> Option<Substitution> {
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
