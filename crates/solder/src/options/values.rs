//! Values of options that are more than words.

use solder_toolchain::FastCompile;

/// The value of `-Ofc`.
pub(super) fn fast_compile(name: &[u8]) -> Option<FastCompile> {
    match name {
        b"0" => Some(FastCompile::Off),
        b"min" => Some(FastCompile::Min),
        b"mid" => Some(FastCompile::Mid),
        b"max" => Some(FastCompile::Max),
        _ => None,
    }
}

/// `major.minor`, each as C reads a decimal number: blanks and a sign may precede it, and it is cut to 32 bits.
pub(super) fn api_version(text: &[u8]) -> Option<(i32, i32)> {
    let dot = text.iter().position(|byte| *byte == b'.')?;
    Some((decimal(&text[..dot])?, decimal(&text[dot + 1..])?))
}

fn decimal(text: &[u8]) -> Option<i32> {
    let text = std::str::from_utf8(text).ok()?;
    let digits = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let unsigned = digits.strip_prefix(['+', '-']).unwrap_or(digits);
    if unsigned.is_empty() || !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let limit = if digits.starts_with('-') { i64::MIN } else { i64::MAX };
    Some(digits.parse::<i64>().unwrap_or(limit) as i32)
}
