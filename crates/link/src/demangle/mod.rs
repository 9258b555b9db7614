//! Names as nvlink prints them in the call graph: C++ names demangled, in a style of their own. Template
//! parameters are not replaced by their arguments (`T1 f<int>(T1)`), and a name that cannot be read to
//! its end is printed as it is.
//!
//! A name is any bytes, and a damaged file may have made it up. The parser holds only what it has not read yet, so there
//! is no position that could be wrong; its depth, what it remembers and what it prints are bounded.

mod expression;
mod name;
mod parser;
mod types;

use parser::{LONGEST, Parser, Text, cat};

/// nvlink prints names from this length on as they are (core/report-callgraph-odd-names).
const TOO_LONG: usize = 15_000;
/// The prefix of a static entity: then the length of the module's id, `_`, the id, `_`.
const STATIC_PREFIX: &[u8] = b"__nv_static_";

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

#[cfg(test)]
mod tests;
