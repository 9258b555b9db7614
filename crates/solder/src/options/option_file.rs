//! Option files: words of the command line kept in a file.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;

use crate::diagnostics::{Message, Sink, Stop};

/// Reads the words of a file. A directory is taken for an empty file, as in nvlink.
pub fn read(name: &[u8], sink: &Sink) -> Result<Vec<Vec<u8>>, Stop> {
    let text = match File::open(OsStr::from_bytes(name)).and_then(read_text) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::IsADirectory => Vec::new(),
        Err(_) => return Err(sink.fatal(Message::OptionsFileNotOpened { file: name.into() })),
    };
    split(&text).map_err(|stray| sink.fatal(Message::StrayCharacter { character: stray.into() }))
}

/// Reads up to the first NUL, which ends the text; a device full of them would otherwise have no end.
fn read_text(mut file: File) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut block = [0; 4096];
    loop {
        let read = match file.read(&mut block) {
            Ok(0) => return Ok(text),
            Ok(length) => &block[..length],
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        match read.iter().position(|byte| *byte == 0) {
            Some(end) => {
                text.extend_from_slice(&read[..end]);
                return Ok(text);
            }
            None => text.extend_from_slice(read),
        }
    }
}

/// Splits text into words; `Err` is the character left open at the end.
///
/// Blanks separate. Double quotes group, also within a word. A backslash takes the next character as it is,
/// within quotes too, but an escaped quote disappears.
pub fn split(text: &[u8]) -> Result<Vec<Vec<u8>>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quoted = false;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' if !quoted => words.extend(word.take()),
            b'"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            b'\\' => match bytes.next() {
                None if quoted => return Err("\""),
                None => return Err(""),
                Some(b'"') => {
                    word.get_or_insert_default();
                }
                Some(next) => word.get_or_insert_default().push(next),
            },
            _ => word.get_or_insert_default().push(byte),
        }
    }
    if quoted {
        return Err("\"");
    }
    words.extend(word);
    Ok(words)
}

/// Splits a list at its commas; double quotes protect a comma and disappear, empty elements too. The error is the quote that
/// has no second one.
pub(crate) fn elements(text: &[u8]) -> Result<Vec<Vec<u8>>, &'static str> {
    let mut elements = vec![Vec::new()];
    let mut quoted = false;
    for byte in text {
        match byte {
            b'"' => quoted = !quoted,
            b',' if !quoted => elements.push(Vec::new()),
            _ => elements.last_mut().expect("never empty").push(*byte),
        }
    }
    if quoted {
        return Err("\"");
    }
    elements.retain(|element| !element.is_empty());
    Ok(elements)
}

#[cfg(test)]
mod tests {
    use super::split;

    fn words(text: &str) -> Vec<String> {
        let words = split(text.as_bytes()).expect("well formed");
        words.into_iter().map(|word| String::from_utf8(word).expect("ASCII")).collect()
    }

    #[test]
    fn blanks_quotes_and_backslashes() {
        assert_eq!(words(" a\tb\r\nc\n"), ["a", "b", "c"]);
        assert_eq!(words("a\"b c\"d \"\""), ["ab cd", ""]);
        assert_eq!(words(r#"y\"9 a\ b c\\d \n"#), ["y9", "a b", r"c\d", "n"]);
        assert_eq!(words("a\\\nb"), ["a\nb"]);
        assert_eq!(words("'a b' # c"), ["'a", "b'", "#", "c"]);
    }

    #[test]
    fn open_ends() {
        assert_eq!(split(b"a \"b"), Err("\""));
        assert_eq!(split(b"a \\"), Err(""));
        assert_eq!(split(b"\"a\\\""), Err("\""));
    }
}
