//! The values that messages carry.

use bstr::{BStr, BString};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

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

/// Something that can be in a message.
pub trait Field {
    /// Writes it as it is in the text.
    fn write(&self, out: &mut Vec<u8>);
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
}

impl Field for u32 {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.to_string().as_bytes());
    }
}

impl Field for i32 {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.to_string().as_bytes());
    }
}

impl Field for u64 {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.to_string().as_bytes());
    }
}
