//! Splits a line into words as a shell does, without expanding anything.

use crate::Result;

/// Single quotes keep everything, double quotes keep all but `\"` and `\\`, a backslash outside of
/// quotes keeps the next character.
pub fn split(line: &str) -> Result<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => quoted(&mut chars, '\'', word.get_or_insert_default())?,
            '"' => quoted(&mut chars, '"', word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().extend(chars.next()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

fn quoted(chars: &mut std::str::Chars<'_>, quote: char, word: &mut String) -> Result<()> {
    while let Some(c) = chars.next() {
        match c {
            _ if c == quote => return Ok(()),
            '\\' if quote == '"' && chars.as_str().starts_with(['"', '\\']) => word.extend(chars.next()),
            _ => word.push(c),
        }
    }
    Err(format!("a {quote} is not closed"))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn quoting() {
        let line = r#"a  'b c' d"e f"g '' \" "\"\x" '-k="k1,k2"'"#;
        let words = split(line).unwrap();
        assert_eq!(words, ["a", "b c", "de fg", "", "\"", "\"\\x", "-k=\"k1,k2\""]);
        assert!(split("a 'b").is_err());
    }
}
