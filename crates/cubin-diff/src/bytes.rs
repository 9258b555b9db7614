//! Bytes that mean nothing more to this program: code, data, and what is not a cubin.

use crate::sink::{Kind, Sink};
use crate::words;

/// As long as an instruction.
const ROW: usize = 16;

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// Rows of two sections. When one is longer everything after the first change may just have moved, so
/// then only the place of the change is shown.
pub fn rows(sink: &mut Sink, kind: Kind, place: &str, a: &[u8], b: &[u8]) {
    if a.len() != b.len() {
        return moved(sink, kind, place, a, b);
    }
    for (i, (x, y)) in a.chunks(ROW).zip(b.chunks(ROW)).enumerate() {
        if x != y {
            let text = format!("{place}+{:#x}: {} vs {}", i * ROW, words::hex(x), words::hex(y));
            sink.push(kind, place, text);
        }
    }
}

fn moved(sink: &mut Sink, kind: Kind, place: &str, a: &[u8], b: &[u8]) {
    let start = common_prefix(a, b);
    let tail = a[start..].iter().rev().zip(b[start..].iter().rev()).take_while(|(x, y)| x == y).count();
    let part = |bytes: &[u8]| {
        let from = start / ROW * ROW;
        let row = &bytes[from..bytes.len().min(from + ROW)];
        if row.is_empty() { "nothing".to_owned() } else { words::hex(row) }
    };
    let text = format!(
        "{place}: {:#x} vs {:#x} bytes, the first {start:#x} and the last {tail:#x} equal; \
         at +{:#x}: {} vs {}",
        a.len(),
        b.len(),
        start / ROW * ROW,
        part(a),
        part(b)
    );
    sink.push(kind, place, text);
}

/// Two files, at least one of them cannot be read as a cubin.
pub fn whole_files(sink: &mut Sink, a: &[u8], b: &[u8]) {
    let start = common_prefix(a, b);
    let differing = a.iter().zip(b).filter(|(x, y)| x != y).count();
    if a.len() != b.len() {
        sink.push(Kind::Bytes, "", format!("{} vs {} bytes long", a.len(), b.len()));
    }
    let byte = |bytes: &[u8]| bytes.get(start).map_or("end of file".to_owned(), |b| format!("{b:02x}"));
    let text = format!(
        "first difference at {start:#x}: {} vs {}; {differing} bytes differ over the common length",
        byte(a),
        byte(b)
    );
    sink.push(Kind::Bytes, "", text);
}
