//! JSON, written.

use std::fmt::{self, Write};

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(u64),
    Signed(i64),
    Text(String),
    /// A value that was written before.
    Written(String),
    List(Vec<Json>),
    /// Fields in the order in which they are written.
    Object(Vec<(&'static str, Json)>),
}

impl From<u64> for Json {
    fn from(value: u64) -> Self {
        Self::Number(value)
    }
}

impl From<u32> for Json {
    fn from(value: u32) -> Self {
        Self::Number(value.into())
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<&str> for Json {
    fn from(value: &str) -> Self {
        Self::Text(value.into())
    }
}

impl From<&String> for Json {
    fn from(value: &String) -> Self {
        Self::Text(value.clone())
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<T: Into<Json>> FromIterator<T> for Json {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

impl Json {
    /// The value on one line of its own.
    pub fn line(&self) -> String {
        let mut line = String::new();
        let _ = self.write_compact(&mut line);
        line.push('\n');
        line
    }

    /// The value without blanks.
    pub fn write_compact(&self, f: &mut impl Write) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(value) => write!(f, "{value}"),
            Self::Signed(value) => write!(f, "{value}"),
            Self::Text(value) => write_text(f, value),
            Self::Written(text) => f.write_str(text),
            Self::List(values) => {
                f.write_char('[')?;
                for (index, value) in values.iter().enumerate() {
                    f.write_str(if index > 0 { "," } else { "" })?;
                    value.write_compact(f)?;
                }
                f.write_char(']')
            }
            Self::Object(fields) => {
                f.write_char('{')?;
                for (index, (name, value)) in fields.iter().enumerate() {
                    write!(f, "{}\"{name}\":", if index > 0 { "," } else { "" })?;
                    value.write_compact(f)?;
                }
                f.write_char('}')
            }
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        match self {
            Self::List(values) => lines(f, depth, ('[', ']'), values, |f, value| value.write(f, depth + 1)),
            Self::Object(fields) => lines(f, depth, ('{', '}'), fields, |f, (name, value)| {
                write!(f, "\"{name}\": ")?;
                value.write(f, depth + 1)
            }),
            plain => plain.write_compact(f),
        }
    }
}

/// Elements between brackets, each on a line of its own.
fn lines<T>(
    f: &mut fmt::Formatter<'_>,
    depth: usize,
    (open, close): (char, char),
    elements: &[T],
    mut write: impl FnMut(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    f.write_char(open)?;
    for (index, element) in elements.iter().enumerate() {
        write!(f, "{}\n{:width$}", if index > 0 { "," } else { "" }, "", width = 2 * depth + 2)?;
        write(f, element)?;
    }
    if !elements.is_empty() {
        write!(f, "\n{:width$}", "", width = 2 * depth)?;
    }
    f.write_char(close)
}

fn write_text(f: &mut impl Write, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\t' => f.write_str("\\t")?,
            c if c < ' ' => write!(f, "\\u{:04x}", c as u32)?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written() {
        let value = Json::Object(vec![
            ("name", "a \"b\"\\\n\u{1}ü".into()),
            ("none", Json::Null),
            ("empty", Json::List(Vec::new())),
            ("list", [1u64, 2].into_iter().collect()),
        ]);
        let expected = "{\n  \"name\": \"a \\\"b\\\"\\\\\\n\\u0001ü\",\n  \"none\": null,\n  \"empty\": [],\n  \
                        \"list\": [\n    1,\n    2\n  ]\n}";
        assert_eq!(value.to_string(), expected);
    }
}
