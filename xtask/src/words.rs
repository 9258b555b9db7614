//! Splits a line into words as a shell does, without expanding anything.

use crate::Result;

/// As a POSIX shell, so a word that begins with `#` would begin a comment.
pub fn split(line: &str) -> Result<Vec<String>> {
    shlex::split(line).ok_or_else(|| "a quote is not closed".into())
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
