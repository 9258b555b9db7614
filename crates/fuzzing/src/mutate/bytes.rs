//! Changes that know nothing of a format, and the values that break things.

use crate::rng::Rng;

const NOTABLE: [u64; 20] = [
    0,
    1,
    2,
    3,
    7,
    8,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x10000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 40,
    i64::MAX as u64,
    u64::MAX,
];

/// A new value for a field: a notable one, one near the old, one that the size of the file suggests, or any.
pub fn value(rng: &mut Rng, old: u64, file: usize) -> u64 {
    match rng.below(8) {
        0 | 1 => NOTABLE[rng.below(NOTABLE.len())],
        2 => old.wrapping_add(rng.below(17) as u64).wrapping_sub(8),
        3 => old ^ 1 << rng.below(64),
        4 => (file as u64).wrapping_add(rng.below(9) as u64).wrapping_sub(4),
        5 => rng.below(64) as u64,
        6 => u64::MAX.wrapping_sub(rng.below(file + 1) as u64),
        _ => rng.word() >> rng.below(64),
    }
}

/// The little-endian number of `width` bytes at an offset.
pub fn get(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(width)?)?;
    Some(field.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

pub fn put(bytes: &mut [u8], at: usize, width: usize, value: u64) {
    if let Some(field) = at.checked_add(width).and_then(|end| bytes.get_mut(at..end)) {
        field.copy_from_slice(&value.to_le_bytes()[..width]);
    }
}

/// Gives the field at an offset a new value.
pub fn change(rng: &mut Rng, bytes: &mut [u8], at: usize, width: usize) {
    let Some(old) = get(bytes, at, width) else { return };
    let new = value(rng, old, bytes.len());
    put(bytes, at, width, new);
}

/// Changes some of a field's table: `fields` are offset and width, entries begin at `start` and are `size` apart.
pub fn change_entry(
    rng: &mut Rng,
    bytes: &mut [u8],
    (start, size, count): (usize, usize, usize),
    fields: &[(usize, usize)],
) {
    if count == 0 {
        return;
    }
    let Some(&(offset, width)) = rng.pick(fields) else { return };
    let at = |index: usize| start.saturating_add(index.saturating_mul(size)).saturating_add(offset);
    let target = at(rng.below(count));
    // What another entry has is plausible and goes far.
    if rng.percent(40)
        && let Some(other) = get(bytes, at(rng.below(count)), width)
    {
        put(bytes, target, width, other);
    } else {
        change(rng, bytes, target, width);
    }
}

/// Any change at all, wherever it falls.
pub fn anywhere(rng: &mut Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    let len = bytes.len();
    if len == 0 {
        bytes.extend_from_slice(other);
        return;
    }
    match rng.below(10) {
        0..=2 => {
            for _ in 0..=rng.below(4) {
                bytes[rng.below(len)] ^= 1 << rng.below(8);
            }
        }
        3 | 4 => {
            let width = 1 << rng.below(4);
            change(rng, bytes, rng.clone().below(len) / width * width, width);
        }
        5 => bytes.truncate(rng.below(len)),
        6 => {
            let range = rng.range(len);
            let byte = rng.word() as u8;
            bytes[range].fill(byte);
        }
        7 => {
            bytes.drain(rng.range(len));
        }
        8 => {
            let piece = bytes[rng.range(len)].to_vec();
            let at = rng.below(len + 1);
            bytes.splice(at..at, piece);
        }
        _ => {
            let piece = other[rng.range(other.len())].to_vec();
            let at = rng.below(len + 1);
            let end = if rng.percent(50) { (at + piece.len()).min(len) } else { at };
            bytes.splice(at..end, piece);
        }
    }
}
