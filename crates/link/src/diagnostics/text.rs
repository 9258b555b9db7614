//! The values that messages carry.

use bstr::{BStr, BString};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::demangle::demangle;

/// A name in a message: bytes, since file and symbol names need not be UTF-8.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Text(Vec<u8>);

impl Text {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes, as a name.
    pub fn as_bstr(&self) -> &BStr {
        BStr::new(&self.0)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_bstr(), f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_bstr(), f)
    }
}

impl From<Vec<u8>> for Text {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

impl From<BString> for Text {
    fn from(text: BString) -> Self {
        Self(text.into())
    }
}

impl From<OsString> for Text {
    fn from(text: OsString) -> Self {
        Self(text.into_vec())
    }
}

impl From<PathBuf> for Text {
    fn from(path: PathBuf) -> Self {
        path.into_os_string().into()
    }
}

impl From<&[u8]> for Text {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

macro_rules! from_borrowed {
    ($($ty:ty => $bytes:expr),* $(,)?) => { $(
        impl From<&$ty> for Text {
            fn from(value: &$ty) -> Self {
                let bytes: fn(&$ty) -> &[u8] = $bytes;
                Self(bytes(value).to_vec())
            }
        }
    )* };
}

from_borrowed! {
    str => |s| s.as_bytes(),
    BStr => |s| s,
    BString => |s| s.as_slice(),
    String => |s| s.as_bytes(),
    Vec<u8> => |s| s.as_slice(),
    OsStr => |s| s.as_bytes(),
    OsString => |s| s.as_bytes(),
    Path => |s| s.as_os_str().as_bytes(),
    PathBuf => |s| s.as_os_str().as_bytes(),
}

/// A number printed as `0x…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hex(pub u64);

/// A name that the text has demangled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demangled(pub Text);

/// The sizes of constant banks, by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Banks(pub Vec<(u8, u64)>);

/// The number of barriers, which some releases leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Barriers(pub Option<u32>);

/// The number of textures, surfaces and samplers, of each kind that there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handles(pub Vec<(&'static str, u64)>);

/// A value for programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A name, or another text.
    Text(Vec<u8>),
    /// A number.
    Number(i64),
    /// Rows of named values.
    Rows(Vec<Vec<(&'static str, Value)>>),
    /// It is not known.
    Nothing,
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Number(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

/// Something that can be in a message.
pub trait Field {
    /// Writes it as it is in the text.
    fn write(&self, out: &mut Vec<u8>);

    /// What a program reads.
    fn value(&self) -> Value {
        let mut out = Vec::new();
        self.write(&mut out);
        Value::Text(out)
    }
}

impl Field for Demangled {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend(demangle(self.0.as_bytes()));
    }

    /// The name as it is in the symbol table, as with all other messages.
    fn value(&self) -> Value {
        self.0.value()
    }
}

impl Field for Banks {
    fn write(&self, out: &mut Vec<u8>) {
        for (bank, size) in &self.0 {
            out.extend_from_slice(format!(", {size} bytes cmem[{bank}]").as_bytes());
        }
    }

    fn value(&self) -> Value {
        let row =
            |(bank, size): &(u8, u64)| vec![("bank", u64::from(*bank).into()), ("bytes", (*size).into())];
        Value::Rows(self.0.iter().map(row).collect())
    }
}

impl Field for Barriers {
    fn write(&self, out: &mut Vec<u8>) {
        if let Some(barriers) = self.0 {
            out.extend_from_slice(format!(" used {barriers} barriers,").as_bytes());
        }
    }

    fn value(&self) -> Value {
        self.0.map_or(Value::Nothing, |barriers| u64::from(barriers).into())
    }
}

impl Field for Handles {
    fn write(&self, out: &mut Vec<u8>) {
        for (what, count) in &self.0 {
            out.extend_from_slice(format!(", {count} {what}").as_bytes());
        }
    }

    fn value(&self) -> Value {
        let row = |(what, count): &(&'static str, u64)| {
            vec![("kind", Value::Text(what.as_bytes().to_vec())), ("count", (*count).into())]
        };
        Value::Rows(self.0.iter().map(row).collect())
    }
}

impl Field for Text {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }
}

impl Field for &'static str {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }
}

impl Field for Hex {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("{:#x}", self.0).as_bytes());
    }

    fn value(&self) -> Value {
        self.0.into()
    }
}

impl Field for u32 {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.to_string().as_bytes());
    }

    fn value(&self) -> Value {
        Value::Number((*self).into())
    }
}

impl Field for i32 {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.to_string().as_bytes());
    }

    fn value(&self) -> Value {
        Value::Number((*self).into())
    }
}

impl Field for u64 {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.to_string().as_bytes());
    }

    fn value(&self) -> Value {
        (*self).into()
    }
}
