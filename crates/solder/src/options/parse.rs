//! From words to values: nvlink's grammar, applied to the rows of the table.

use super::option_file;
use super::table::{self, COUNT, Id, Kind, Row};
use crate::diagnostics::{Message, Sink, Stop};
use solder_arch::Release;
use std::os::unix::ffi::OsStrExt;

/// Option files may include each other to this depth.
const MAX_DEPTH: usize = 15;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Flag,
    Bool(bool),
    Scalar(Vec<u8>),
    Number(i32),
    List(Vec<Vec<u8>>),
}

/// What was given on the command line: a value for each option that was, and the remaining words.
#[derive(Clone, Debug)]
pub struct Values {
    /// The release whose options these are.
    pub release: &'static Release,
    given: [Option<Value>; COUNT],
    pub inputs: Vec<Vec<u8>>,
}

impl Values {
    /// Parses the words after the program's name; `sink` has the settings from before any option is known.
    pub fn parse(words: Vec<Vec<u8>>, release: &'static Release, sink: &Sink) -> Result<Self, Stop> {
        let mut values = Self { release, given: [const { None }; COUNT], inputs: Vec::new() };
        values.parse_words(words, 0, sink)?;
        Ok(values)
    }

    pub fn get(&self, id: Id) -> Option<&Value> {
        self.given[id as usize].as_ref()
    }

    pub fn is_given(&self, id: Id) -> bool {
        self.get(id).is_some()
    }

    pub fn is_true(&self, id: Id) -> bool {
        matches!(self.get(id), Some(Value::Flag | Value::Bool(true)))
    }

    pub fn scalar(&self, id: Id) -> Option<&[u8]> {
        match self.get(id) {
            Some(Value::Scalar(text)) => Some(text),
            _ => None,
        }
    }

    pub fn number(&self, id: Id) -> Option<i32> {
        match self.get(id) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }

    pub fn list(&self, id: Id) -> &[Vec<u8>] {
        match self.get(id) {
            Some(Value::List(elements)) => elements,
            _ => &[],
        }
    }

    /// An option file is parsed like a command line of its own: an option at its end finds no value outside.
    fn parse_words(&mut self, words: Vec<Vec<u8>>, depth: usize, sink: &Sink) -> Result<(), Stop> {
        let mut words = words.into_iter().peekable();
        while let Some(word) = words.next() {
            let Some(option) = Named::of(&word, self.release, sink)? else {
                self.inputs.push(word);
                continue;
            };
            let row = option.row;
            let text = match (row.kind, option.value) {
                (Kind::Flag, None) => {
                    self.given[row.id as usize] = Some(Value::Flag);
                    continue;
                }
                (Kind::Flag, Some(_)) => {
                    return Err(sink.fatal(Message::NoArgumentExpected { option: option.name.into() }));
                }
                (_, Some(value)) => value.to_vec(),
                (Kind::OptionalName, None) if words.peek().is_some_and(|next| is_name(next)) => {
                    words.next().unwrap_or_default()
                }
                (Kind::Optional | Kind::OptionalName, None) => row.implied.unwrap_or(".").as_bytes().to_vec(),
                (_, None) => match (row.implied, words.peek().is_none_or(|next| next.starts_with(b"-"))) {
                    (Some(implied), true) => implied.as_bytes().to_vec(),
                    _ => words.next().ok_or_else(|| {
                        sink.fatal(Message::ArgumentExpected { option: option.name.into() })
                    })?,
                },
            };
            let is_named = matches!(row.kind, Kind::Names | Kind::OptionalName);
            let text = if is_named { to_closing_bracket(text, &mut words) } else { text };
            self.give(row, text, depth, sink)?;
        }
        Ok(())
    }

    fn give(&mut self, row: &'static Row, text: Vec<u8>, depth: usize, sink: &Sink) -> Result<(), Stop> {
        match row.kind {
            Kind::Flag => {}
            Kind::Bool => {
                let value = match text.as_slice() {
                    b"true" => true,
                    b"false" => false,
                    _ => return Err(sink.fatal(Message::ExpectedBoolean { value: text.into() })),
                };
                self.set(row, Value::Bool(value), sink);
            }
            Kind::Number => {
                let value = number(&text, sink)?;
                let allowed = row.values(self.release);
                if !allowed.is_empty() && !allowed.contains(&value.to_string().as_str()) {
                    return Err(sink.fatal(Message::ValueNotDefined { value: text.into(), option: row.long }));
                }
                self.set(row, Value::Number(value), sink);
            }
            Kind::Scalar | Kind::Optional | Kind::OptionalName => {
                let allowed = row.values(self.release);
                if !allowed.is_empty() && !allowed.iter().any(|name| name.as_bytes() == text) {
                    return Err(sink.fatal(Message::ValueNotDefined { value: text.into(), option: row.long }));
                }
                self.set(row, Value::Scalar(text), sink);
            }
            Kind::List => {
                let elements = elements(&text, sink)?;
                self.append(row, elements);
            }
            Kind::Names => {
                let names = names(&text, sink)?;
                self.append(row, names);
            }
            Kind::OptionFiles => {
                for file in elements(&text, sink)? {
                    self.append(row, vec![file.clone()]);
                    if depth == MAX_DEPTH {
                        return Err(sink.fatal(Message::TooManyOptionsFiles { file: file.into() }));
                    }
                    let words = option_file::read(&file, sink)?;
                    self.parse_words(words, depth + 1, sink)?;
                }
            }
        }
        Ok(())
    }

    fn set(&mut self, row: &'static Row, value: Value, sink: &Sink) {
        let slot = &mut self.given[row.id as usize];
        if slot.as_ref().is_some_and(|before| *before != value) {
            sink.report(Message::Redefinition { option: row.long });
        }
        *slot = Some(value);
    }

    fn append(&mut self, row: &'static Row, mut more: Vec<Vec<u8>>) {
        match &mut self.given[row.id as usize] {
            Some(Value::List(elements)) => elements.append(&mut more),
            slot => *slot = Some(Value::List(more)),
        }
    }
}

/// An option in a word: the row, the name as written, and the value if it is in the same word.
struct Named<'word> {
    row: &'static Row,
    name: &'word [u8],
    value: Option<&'word [u8]>,
}

impl<'word> Named<'word> {
    /// `None` is an input file: a word without a dash, a dash alone, the empty word.
    fn of(word: &'word [u8], release: &Release, sink: &Sink) -> Result<Option<Self>, Stop> {
        let Some(body) = word.strip_prefix(b"-").filter(|body| !body.is_empty()) else { return Ok(None) };
        let split = word.iter().position(|byte| *byte == b'=');
        let (name, value) = match split {
            Some(at) => (&word[..at], Some(&word[at + 1..])),
            None => (word, None),
        };
        let found = match body.strip_prefix(b"-") {
            Some(_) => table::by_long(name.get(2..).unwrap_or_default(), release),
            None => table::by_short(&name[1..], release),
        };
        if let Some(row) = found {
            return Ok(Some(Self { row, name, value }));
        }
        // Only now: every word that begins with the letter of such an option is that option.
        match table::by_letter(body, release) {
            Some(row) => Ok(Some(Self { row, name: &word[..2], value: Some(&body[1..]) })),
            None => Err(sink.fatal(Message::UnknownOption { word: name[1..].into() })),
        }
    }
}

/// A 32-bit number in C's notation: blanks, a sign, then decimal, `0x…` or `0…` for octal. Empty is zero.
fn number(text: &[u8], sink: &Sink) -> Result<i32, Stop> {
    let fault = || sink.fatal(Message::ExpectedNumber { value: text.into() });
    if text.is_empty() {
        return Ok(0);
    }
    let blanks = text.iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == 0x0b).count();
    let (negative, digits) = match &text[blanks..] {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] | rest => (false, rest),
    };
    let (radix, digits) = match digits {
        [b'0', b'x' | b'X', rest @ ..] => (16, rest),
        [b'0', _, ..] => (8, digits),
        _ => (10, digits),
    };
    if digits.is_empty() {
        return Err(fault());
    }
    let mut value = 0i64;
    for byte in digits {
        let digit = char::from(*byte).to_digit(radix).ok_or_else(fault)?;
        value = value.saturating_mul(i64::from(radix)).saturating_add(i64::from(digit));
    }
    let value = if negative { -value } else { value };
    i32::try_from(value).map_err(|_| sink.fatal(Message::NumberOutOfRange { value: text.into() }))
}

fn elements(text: &[u8], sink: &Sink) -> Result<Vec<Vec<u8>>, Stop> {
    option_file::elements(text)
        .map_err(|stray| sink.fatal(Message::StrayCharacter { character: stray.into() }))
}

/// Splits a list of names at its commas, apart from those between the brackets of parameters and templates. Blanks around a
/// name do not belong to it.
fn names(text: &[u8], sink: &Sink) -> Result<Vec<Vec<u8>>, Stop> {
    let mut protected = Vec::with_capacity(text.len());
    let (mut depth, mut quoted) = (0usize, false);
    for byte in text {
        depth = depth_after(depth, *byte);
        quoted ^= *byte == b'"';
        match byte {
            // A comma that is protected already stays so.
            b',' if depth > 0 && !quoted => protected.extend_from_slice(b"\",\""),
            _ => protected.push(*byte),
        }
    }
    let trimmed = |name: Vec<u8>| name.trim_ascii().to_vec();
    let mut names: Vec<_> = elements(&protected, sink)?.into_iter().map(trimmed).collect();
    names.retain(|name| !name.is_empty());
    Ok(names)
}

fn depth_after(depth: usize, byte: u8) -> usize {
    match byte {
        b'(' | b'<' | b'[' | b'{' => depth + 1,
        b')' | b'>' | b']' | b'}' => depth.saturating_sub(1),
        _ => depth,
    }
}

/// Takes the next words too, if one of them closes the brackets of a name: nvcc splits the words of `-Xnvlink` at commas.
fn to_closing_bracket(
    mut text: Vec<u8>,
    words: &mut std::iter::Peekable<std::vec::IntoIter<Vec<u8>>>,
) -> Vec<u8> {
    let depth = |text: &[u8]| text.iter().fold(0, |depth, byte| depth_after(depth, *byte));
    let mut whole = text.clone();
    let mut rest = words.clone();
    while depth(&whole) > 0 {
        match rest.next() {
            Some(word) if !word.starts_with(b"-") => {
                whole.push(b',');
                whole.extend_from_slice(&word);
            }
            _ => return text,
        }
    }
    *words = rest;
    std::mem::swap(&mut text, &mut whole);
    text
}

/// Whether a word is a name rather than an option or an input.
fn is_name(word: &[u8]) -> bool {
    let is_file = || std::path::Path::new(std::ffi::OsStr::from_bytes(word)).exists();
    !word.starts_with(b"-")
        && !word.is_empty()
        && !word.contains(&b'/')
        && !word.contains(&b'.')
        && !is_file()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostics::{Printer, Settings};

    fn values(words: &[&str]) -> Values {
        let printer = Printer::in_memory(Settings::default());
        let words = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        Values::parse(words, Release::CUDA_13_0, &printer.sink()).expect("a good command line")
    }

    #[test]
    fn names_are_not_split_inside_brackets() {
        for (words, expected) in [
            (&["--why-live", "a,b::f(float, int),c"][..], &["a", "b::f(float, int)", "c"][..]),
            (&["--why-live=f<int, (char)1>", "x.o"], &["f<int, (char)1>"]),
            (&["--why-live=\"f(int, int)\",g"], &["f(int, int)", "g"]),
            // As nvcc hands it on.
            (&["--why-live=f(float", " int)", "x.o"], &["f(float, int)"]),
            (&["--why-live=f(float", "--why-live", "g"], &["f(float", "g"]),
            (&["--why-live", "operator<", "x.o"], &["operator<"]),
        ] {
            let names: Vec<_> = values(words).list(Id::WhyLive).to_vec();
            let expected: Vec<_> = expected.iter().map(|name| name.as_bytes().to_vec()).collect();
            assert_eq!(names, expected, "{words:?}");
        }
    }

    #[test]
    fn a_name_may_follow_a_blank() {
        for (words, name, inputs) in [
            (&["--explain-regs", "ns::k(int", "int)", "a.o"][..], "ns::k(int,int)", 1),
            (&["--explain-regs", "k", "a.o"], "k", 1),
            (&["--explain-regs=k", "a.o"], "k", 1),
            (&["--explain-regs", "a.o"], "", 1),
            (&["--explain-regs", "./a"], "", 1),
            (&["--explain-regs", "-v", "a.o"], "", 1),
            (&["a.o", "--explain-regs"], "", 1),
        ] {
            let values = values(words);
            assert_eq!(values.scalar(Id::ExplainRegs), Some(name.as_bytes()), "{words:?}");
            assert_eq!(values.inputs.len(), inputs, "{words:?}");
        }
    }
}
