//! PTX as fatbinary stores it: without comments, and with less white space.

/// The text without comments, ended by a NUL. A blank or a tab after white space goes too. Strings stay as they are, and the
/// end of a line after a comment.
pub(super) fn stored(text: &[u8]) -> Vec<u8> {
    let mut stored = Vec::with_capacity(text.len() + 1);
    let mut rest = text;
    // The first blank of a file stays.
    let mut before = b'.';
    while let Some((&byte, after)) = rest.split_first() {
        let taken = match rest {
            [b'/', b'/', ..] => line(rest),
            [b'/', b'*', ..] => block(rest),
            // A quote after a backslash does not begin a string.
            [b'"', ..] if before != b'\\' => {
                let size = string(rest);
                stored.extend_from_slice(&rest[..size]);
                size
            }
            [b' ' | b'\t', ..] if is_space(before) => 1,
            _ => {
                stored.push(byte);
                rest = after;
                before = byte;
                continue;
            }
        };
        before = rest[taken - 1];
        rest = &rest[taken..];
    }
    stored.push(0);
    stored
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

fn line(text: &[u8]) -> usize {
    text.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(text.len())
}

/// A comment that is not closed goes to the end. The star that opens one may close it.
fn block(text: &[u8]) -> usize {
    let end = text[1..].windows(2).position(|pair| pair == b"*/");
    end.map_or(text.len(), |end| end + 3)
}

/// A quote after a backslash does not end a string either, whatever is before the backslash.
fn string(text: &[u8]) -> usize {
    let end = text.windows(2).position(|pair| pair[1] == b'"' && pair[0] != b'\\');
    end.map_or(text.len(), |end| end + 2)
}

/// The version that the text begins with, major and minor. As fatbinary reads it: the first one, even in a comment, and one
/// digit after the point, whatever follows.
pub(super) fn version(text: &[u8]) -> Option<(u16, u16)> {
    let text = String::from_utf8_lossy(text);
    let (_, rest) = text.split_once(".version")?;
    let (major, rest) = rest.trim_start().split_once('.')?;
    let minor = rest.chars().next()?.to_digit(10)?;
    Some((major.parse().ok()?, minor as u16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        // As fatbinary 13.0 stores them.
        let cases: [(&[u8], &[u8]); 14] = [
            (b"\"a\\\\\"//b\"c//d\n", b"\"a\\\\\"//b\"c\n\0"),
            (b"\\\"x//y\n", b"\\\"x\n\0"),
            (b"a\\\"b\"c//d\"e\n", b"a\\\"b\"c//d\"e\n\0"),
            (b"  .version 9.0\n", b" .version 9.0\n\0"),
            (b"\n \t two\t\ttabs   spaces \n", b"\ntwo\ttabs spaces \n\0"),
            (b"x /* a */ y /**/z // t\n", b"x  y z \n\0"),
            (b"\"in \\\" // /* */  \" // out\n", b"\"in \\\" // /* */  \" \n\0"),
            (b"/* open // inside */ after\n//\n a", b" after\n\na\0"),
            (b"/* l1\n l2 */\n  b\n'//q'\n", b"\nb\n'\n\0"),
            (b"\"s\n  over // x\n e\" // y\n\x0c\x0b ff\n", b"\"s\n  over // x\n e\" \n\x0c\x0bff\n\0"),
            (b"// a\r\nb //c\rd\r\n e //f\r\rg", b"\r\nb \rd\r\ne \r\rg\0"),
            (b"/*/ a */ b /**/ c /***/ d", b" a */ b  c  d\0"),
            (b"/*/ a\n b /*/ c /*/*/ d", b" a\nb  c */ d\0"),
            (b"a\r\n/* unterminated\n more", b"a\r\n\0"),
        ];
        for (text, expected) in cases {
            assert_eq!(stored(text), expected, "{}", String::from_utf8_lossy(text));
        }
        let versions: [(&[u8], _); 9] = [
            (b"//\n.version 8.4\n", Some((8, 4))),
            (b".version 8.7// c\n", Some((8, 7))),
            (b".version\n08.7/**/\n", Some((8, 7))),
            (b"// .version 1.2\n.version 8.7\n", Some((1, 2))),
            (b".version 8.10\n", Some((8, 1))),
            (b".version /**/ 8.7\n", None),
            (b".version 8.\n", None),
            (b".version x .version 8.7\n", None),
            (b"\x7fELF", None),
        ];
        for (text, expected) in versions {
            assert_eq!(version(text), expected, "{}", String::from_utf8_lossy(text));
        }
    }
}
