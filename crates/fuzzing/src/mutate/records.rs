//! The records inside sections: attributes and notes.

use super::bytes;
use crate::rng::Rng;

/// The format of attributes whose size is counted.
const COUNTED: u8 = 4;

/// Changes the format, the id, the size or a word of one attribute of `.nv.info` or `.nv.compat`.
pub(super) fn change_attribute(rng: &mut Rng, data: &mut [u8]) {
    let mut starts = Vec::new();
    let mut at = 0;
    while let Some(head) = data.get(at..at + 4) {
        starts.push(at);
        let size = usize::from(u16::from_le_bytes([head[2], head[3]]));
        at += 4 + if head[0] == COUNTED { size } else { 0 };
    }
    let Some(&record) = rng.pick(&starts) else { return };
    let size = usize::from(u16::from_le_bytes([data[record + 2], data[record + 3]]));
    match rng.below(8) {
        0 => bytes::change(rng, data, record, 1),
        1 | 2 => data[record + 1] = rng.below(0x70) as u8,
        3 => bytes::change(rng, data, record + 2, 2),
        _ if data[record] == COUNTED => {
            let word = record + 4 + rng.below(size / 4) * 4;
            bytes::change(rng, data, word, if rng.clone().percent(80) { 4 } else { 1 });
        }
        _ => bytes::change(rng, data, record + 2, 1),
    }
}

/// Changes a word of the first note's head or descriptor, where the sizes and offsets are.
pub(super) fn change_note(rng: &mut Rng, data: &mut [u8]) {
    let words = (data.len() / 4).min(14);
    let word = rng.below(words) * 4;
    bytes::change(rng, data, word, 4);
}
