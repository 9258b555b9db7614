//! Archives: each member pruned, the index of symbols with the new places.

use super::containers::{Counts, Pruned};
use super::pieces::Pieces;

const MAGIC: &[u8] = b"!<arch>\n";
const HEADER: usize = 60;

pub(super) fn matches(data: &[u8]) -> bool {
    data.starts_with(MAGIC)
}

/// One member, with its header.
struct Member<'data> {
    at: usize,
    header: &'data [u8],
    data: &'data [u8],
}

/// `prune` does it with a member.
pub(super) fn rebuild<'data>(
    data: &'data [u8],
    prune: &dyn Fn(&'data [u8]) -> Result<Pruned<'data>, String>,
) -> Result<Pruned<'data>, String> {
    let mut counts = Counts::default();
    let mut pieces = Pieces::default();
    let mut places: Vec<(u64, u64)> = Vec::new();
    let mut index = None;
    pieces.push(&data[..MAGIC.len()]);
    for member in members(data)? {
        places.push((member.at as u64, pieces.size()));
        let name = member.header[..16].trim_ascii_end();
        if name == b"/" || name == b"/SYM64/" {
            index = Some((pieces.size() + HEADER as u64, member.data, name == b"/SYM64/"));
        }
        let pruned = match name {
            b"/" | b"//" | b"/SYM64/" => Pruned::as_it_is(member.data),
            _ => prune(member.data).map_err(|reason| {
                format!("member '{}': {reason}", String::from_utf8_lossy(name).trim_end_matches('/'))
            })?,
        };
        counts.add(pruned.counts);
        let mut header = member.header.to_vec();
        header[48..58].copy_from_slice(format!("{:<10}", pruned.pieces.size()).as_bytes());
        pieces.push(header);
        let odd = pruned.pieces.size() % 2 == 1;
        pieces.append(pruned.pieces);
        if odd {
            pieces.push(&b"\n"[..]);
        }
    }
    if let Some((at, index, is_wide)) = index {
        correct_index(at, index, is_wide, &places, &mut pieces)?;
    }
    Ok(Pruned { pieces, counts })
}

fn members(data: &[u8]) -> Result<Vec<Member<'_>>, String> {
    let mut found = Vec::new();
    let mut at = MAGIC.len();
    while at < data.len() {
        let header = data.get(at..at + HEADER).ok_or("the archive is cut short")?;
        let size =
            std::str::from_utf8(&header[48..58]).ok().and_then(|size| size.trim_end().parse::<usize>().ok());
        let size = size.filter(|_| header[58..] == *b"`\n").ok_or("a header of the archive is damaged")?;
        let start = at + HEADER;
        let end =
            start.checked_add(size).filter(|end| *end <= data.len()).ok_or("the archive is cut short")?;
        if header.starts_with(b"#1/") {
            return Err("the archive has names of a kind that is not known here".into());
        }
        found.push(Member { at, header, data: &data[start..end] });
        at = end + size % 2;
    }
    Ok(found)
}

/// The index has the place of a member for each symbol, the number of symbols first, the highest byte first.
fn correct_index(
    at: u64,
    index: &[u8],
    is_wide: bool,
    places: &[(u64, u64)],
    pieces: &mut Pieces<'_>,
) -> Result<(), String> {
    let damaged = "the index of the archive is damaged";
    let width = if is_wide { 8 } else { 4 };
    let number = |bytes: &[u8]| bytes.iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    let count = number(index.get(..width).ok_or(damaged)?);
    let size = usize::try_from(count).ok().and_then(|count| count.checked_mul(width)).ok_or(damaged)?;
    let table = index.get(width..).and_then(|rest| rest.get(..size)).ok_or(damaged)?;
    let mut new = Vec::with_capacity(size);
    for place in table.chunks(width) {
        let found = places.binary_search_by_key(&number(place), |(old, _)| *old).map_err(|_| damaged)?;
        new.extend_from_slice(&places[found].1.to_be_bytes()[8 - width..]);
    }
    pieces.change(at + width as u64, &new);
    Ok(())
}

/// Thin archives name files, which are not changed by way of the archive.
pub(super) fn is_thin(data: &[u8]) -> bool {
    data.starts_with(b"!<thin>\n")
}
