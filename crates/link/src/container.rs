//! What a link takes out of a fat binary, and nvlink's words for one that cannot be read.

use std::borrow::Cow;

use crate::diagnostics::{Message, Text};
use crate::form::Form;
use solder_fatbin::{Compression, Container, Error, Kind, Member, Request, select};

/// The member for the target; `None` if no member suits it. The error is what to report, in order.
pub fn choose<'data>(
    name: &Text,
    bytes: &'data [u8],
    request: Request,
) -> Result<Option<Member<'data>>, Vec<Message>> {
    let container = Container::parse(bytes).map_err(|error| messages(name, error))?;
    let selection = select(&container, request).map_err(|error| messages(name, error))?;
    Ok(selection.member)
}

/// What a member holds, unpacked into what `room` has for so many bytes, if it has any.
pub fn unpack<'data>(
    name: &Text,
    member: &Member<'data>,
    room: impl FnOnce(usize) -> Option<&'data mut [u8]>,
) -> Result<Cow<'data, [u8]>, Vec<Message>> {
    let content = member.content_in(room).map_err(|error| {
        let mut messages = messages(name, error);
        // A damaged frame is reported by the decompression and by what called for it.
        if error == Error::Uncompress && member.compression() == Ok(Compression::Zstd) {
            messages.insert(0, Message::UncompressFailed);
        }
        messages
    })?;
    // nvlink's words for machine code that is not a device ELF.
    if matches!(member.kind(), Kind::Elf | Kind::Other(_)) && !Form::of(&content).is_device_elf() {
        return Err(vec![Message::WordSizeMismatch { file: name.clone() }]);
    }
    Ok(content)
}

/// What to report about a fat binary that cannot be read, in order.
pub fn messages(name: &Text, error: Error) -> Vec<Message> {
    match error {
        Error::Version(_) => not_recognized(),
        Error::Uncompress | Error::UnpackedSize | Error::UnknownCompression | Error::TooLarge => {
            vec![Message::UncompressFailed, Message::FatbinaryError]
        }
        error => {
            let (place, reason) = ("the fat binary".into(), error.to_string().into());
            vec![Message::DamagedInput { file: name.clone(), place, reason }]
        }
    }
}

/// nvlink's words for content it cannot place; the odd key and empty name are literal.
pub fn not_recognized() -> Vec<Message> {
    vec![Message::BinaryFormat { key: "0".into(), ident: "".into() }, Message::FatbinaryError]
}
