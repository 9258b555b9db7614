//! JSON, written.

use bstr::{BStr, ByteSlice};
use std::fmt;

use serde_core::{Serialize, Serializer};
use serde_json::value::RawValue;

/// A value.
#[derive(Clone, Debug)]
pub enum Json {
    Null,
    Bool(bool),
    Number(u64),
    Signed(i64),
    Text(String),
    /// A value that was written before.
    Written(Box<RawValue>),
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

/// Names are bytes; what is not UTF-8 in them is replaced.
impl From<&BStr> for Json {
    fn from(value: &BStr) -> Self {
        Self::Text(value.to_str_lossy().into_owned())
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

/// Each field and element on a line of its own.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string_pretty(self).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(value) => serializer.serialize_u64(*value),
            Self::Signed(value) => serializer.serialize_i64(*value),
            Self::Text(value) => serializer.serialize_str(value),
            Self::Written(value) => value.serialize(serializer),
            Self::List(values) => serializer.collect_seq(values),
            Self::Object(fields) => serializer.collect_map(fields.iter().map(|(name, value)| (name, value))),
        }
    }
}

impl Json {
    /// A value that was written before.
    pub fn written(text: String) -> Self {
        RawValue::from_string(text).map_or(Self::Null, Self::Written)
    }

    /// The value without blanks.
    pub fn compact(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The value on one line of its own.
    pub fn line(&self) -> String {
        self.compact() + "\n"
    }
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
