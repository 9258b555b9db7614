//! Archives.

use super::{bytes, host};
use crate::corpus::Corpus;
use crate::rng::Rng;

const MAGIC: &[u8] = b"!<arch>\n";
const HEADER: usize = 60;
/// In a member's header: where its name, its size and its end mark are.
const NAME: usize = 0;
const SIZE: usize = 48;
const SIZE_WIDTH: usize = 10;

/// An archive in the form of GNU: a name that does not fit is in a table of its own.
pub(super) fn build(members: &[Vec<u8>]) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    let long = b"a_member_with_a_rather_long_name.o/\n";
    push(&mut file, "//", long);
    for (index, member) in members.iter().enumerate() {
        let name = if index == 1 { "/0".to_string() } else { format!("m{index}.o/") };
        push(&mut file, &name, member);
    }
    file
}

fn push(file: &mut Vec<u8>, name: &str, data: &[u8]) {
    let header = format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, data.len());
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(data);
    if data.len() % 2 == 1 {
        file.push(b'\n');
    }
}

fn members(file: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut at = MAGIC.len();
    while let Some(header) = file.get(at..at + HEADER) {
        let size = std::str::from_utf8(&header[SIZE..SIZE + SIZE_WIDTH]).unwrap_or("");
        let size: usize = size.trim().parse().unwrap_or(usize::MAX / 2);
        found.push((at, size.min(file.len() - at - HEADER)));
        at = (at + HEADER).saturating_add(size.next_multiple_of(2));
    }
    found
}

pub(super) fn mutate(rng: &mut Rng, file: &mut Vec<u8>, corpus: &Corpus) {
    let members = members(file);
    let Some(&(member, size)) = rng.pick(&members) else { return bytes::anywhere(rng, file, MAGIC) };
    match rng.below(8) {
        0 => bytes::change(rng, file, rng.clone().below(8), 1),
        1 => bytes::change(rng, file, member + rng.clone().below(HEADER), 1),
        2 => {
            let text = match rng.below(5) {
                0 => "9999999999".to_string(),
                1 => format!("{:<10}", size + 1),
                2 => format!("{:<10}", rng.below(size + 1)),
                3 => "-1        ".to_string(),
                _ => format!("{:<10}", rng.below(1 << 20)),
            };
            file[member + SIZE..member + SIZE + SIZE_WIDTH].copy_from_slice(&text.as_bytes()[..SIZE_WIDTH]);
        }
        3 => {
            let names = [
                "/999999999       ",
                "/0               ",
                "#1/20            ",
                "//               ",
                "/               ",
            ];
            let name = &names[rng.below(names.len())].as_bytes()[..16];
            file[member + NAME..member + NAME + 16].copy_from_slice(name);
        }
        4 => file[..8].copy_from_slice(b"!<thin>\n"),
        5 | 6 => {
            // A damaged member of the same size.
            let start = member + HEADER;
            let mut data = file[start..start + size].to_vec();
            host::mutate(rng, &mut data, corpus);
            data.resize(size, 0);
            file[start..start + size].copy_from_slice(&data);
        }
        _ => {
            let piece = file[member..(member + HEADER + size).min(file.len())].to_vec();
            let (at, _) = members[rng.below(members.len())];
            file.splice(at..at, piece);
        }
    }
}
