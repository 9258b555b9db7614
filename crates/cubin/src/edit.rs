//! Changing a file that another tool has written.

use zerocopy::{FromBytes, IntoBytes};

use crate::raw::{FileHeader, PF_W, ProgramHeader, SHF_WRITE, SectionHeader, takes_no_file_space};

/// Alignment of the tables of headers.
const TABLE_ALIGN: u64 = 8;

/// A piece of the file and where it goes.
struct Piece {
    from: u64,
    size: u64,
    align: u64,
    to: u64,
}

/// The file with other contents for one section. What follows it in the file moves, each part to the next place that
/// its alignment allows. `None` if the file's tables cannot be read.
pub fn with_section(file: &[u8], index: usize, contents: &[u8]) -> Option<Vec<u8>> {
    let (header, _) = FileHeader::read_from_prefix(file).ok()?;
    let mut header: FileHeader = header;
    let mut sections = table::<SectionHeader>(file, header.shoff.get(), header.shnum.get())?;
    let mut segments = table::<ProgramHeader>(file, header.phoff.get(), header.phnum.get())?;
    let changed_at = sections.get(index)?.offset.get();
    let mut pieces: Vec<Piece> = Vec::with_capacity(sections.len() + 2);
    for section in sections.iter().skip(1) {
        let size = if takes_no_file_space(section.sh_type.get()) { 0 } else { section.size.get() };
        pieces.push(Piece { from: section.offset.get(), size, align: section.align.get().max(1), to: 0 });
    }
    for (offset, bytes) in [
        (header.shoff.get(), size_of_val(&sections[..]) as u64),
        (header.phoff.get(), size_of_val(&segments[..]) as u64),
    ] {
        pieces.push(Piece { from: offset, size: bytes, align: TABLE_ALIGN, to: 0 });
    }
    // A section without bytes has an aligned place too, and what follows begins there.
    let has_place =
        |piece: &Piece| piece.size > 0 || (piece.from > 0 && piece.from.is_multiple_of(piece.align));
    let mut order: Vec<usize> = (0..pieces.len()).filter(|&piece| has_place(&pieces[piece])).collect();
    order.sort_by_key(|&piece| (pieces[piece].from, pieces[piece].size > 0));
    let mut image = file.get(..changed_at as usize)?.to_vec();
    let mut before: Option<usize> = None;
    for piece in order {
        let Piece { from, size, align, .. } = pieces[piece];
        // A capsule has the bytes of initial values in common with the section that they are for.
        let twin =
            before.filter(|&other| size > 0 && pieces[other].from == from && pieces[other].size == size);
        if let Some(twin) = twin {
            pieces[piece].to = pieces[twin].to;
            continue;
        }
        before = Some(piece);
        if from < changed_at {
            pieces[piece].to = from;
            continue;
        }
        let data = if piece + 1 == index {
            contents
        } else if size == 0 {
            &[]
        } else {
            file.get(usize::try_from(from).ok()?..usize::try_from(from.checked_add(size)?).ok()?)?
        };
        if align > file.len() as u64 {
            return None;
        }
        image.resize(image.len().next_multiple_of(align as usize), 0);
        pieces[piece].to = image.len() as u64;
        image.extend_from_slice(data);
    }
    // Where something lies that has no bytes of its own: after, or in, the piece that was there.
    let moved = |offset: u64| {
        let exact = pieces.iter().find(|piece| piece.size > 0 && piece.from == offset);
        let before =
            || pieces.iter().filter(|piece| piece.size > 0 && piece.from <= offset).max_by_key(|p| p.from);
        exact
            .map(|piece| piece.to)
            .or_else(|| before().and_then(|piece| piece.to.checked_add(offset - piece.from)))
    };
    for (section, piece) in sections.iter_mut().skip(1).zip(&pieces) {
        let to = if has_place(piece) { piece.to } else { moved(piece.from).unwrap_or(piece.from) };
        section.offset.set(to);
    }
    sections[index].size.set(contents.len() as u64);
    // Where sections without bytes go that are at a place and in a segment. One that merely begins where the code ended may
    // have padding before it now, which is not the code's.
    let own_empty = |place: u64, segment: &ProgramHeader| {
        let is_writable = segment.flags.get() & PF_W != 0;
        let placed = sections.iter().skip(1).zip(&pieces);
        let own = placed.filter(move |(section, piece)| {
            let is_of_segment = (section.flags.get() & SHF_WRITE != 0) == is_writable;
            piece.size == 0 && piece.from == place && has_place(piece) && is_of_segment
        });
        own.map(|(_, piece)| piece.to)
    };
    let last_before =
        |end: u64| pieces.iter().filter(|piece| piece.size > 0 && piece.from < end).max_by_key(|p| p.from);
    // What is within a segment may lie closer together, or farther apart, than it did.
    let moved_end = |end: u64| last_before(end).and_then(|last| last.to.checked_add(end - last.from));
    for segment in segments.iter_mut().filter(|segment| segment.filesz.get() > 0) {
        let (from, size) = (segment.offset.get(), segment.filesz.get());
        let end = from.checked_add(size)?;
        let to = own_empty(from, segment).min().or_else(|| moved(from))?;
        let new_size = own_empty(end, segment).max().or_else(|| moved_end(end))?.checked_sub(to)?;
        segment.offset.set(to);
        segment.filesz.set(new_size);
        segment.memsz.set(segment.memsz.get().checked_sub(size)?.checked_add(new_size)?);
    }
    // One without bytes is where its sections are, which have none either.
    for segment in segments.iter_mut().filter(|segment| segment.filesz.get() == 0 && segment.offset.get() > 0)
    {
        let from = segment.offset.get();
        let section =
            sections.iter().skip(1).zip(&pieces).find(|(_, piece)| piece.size == 0 && piece.from == from);
        let to = section.map(|(section, _)| section.offset.get()).or_else(|| moved_end(from));
        segment.offset.set(to.unwrap_or(from));
    }
    let [.., section_table, segment_table] = &pieces[..] else { return None };
    header.shoff.set(section_table.to);
    header.phoff.set(if segments.is_empty() { header.phoff.get() } else { segment_table.to });
    put(&mut image, 0, header.as_bytes())?;
    put(&mut image, section_table.to, sections.as_bytes())?;
    if !segments.is_empty() {
        put(&mut image, segment_table.to, segments.as_bytes())?;
    }
    Some(image)
}

fn table<T: FromBytes>(file: &[u8], offset: u64, count: u16) -> Option<Vec<T>> {
    let mut rest = file.get(usize::try_from(offset).ok()?..)?;
    let mut entries = Vec::with_capacity(usize::from(count));
    for _ in 0..count {
        let (entry, tail) = T::read_from_prefix(rest).ok()?;
        entries.push(entry);
        rest = tail;
    }
    Some(entries)
}

fn put(image: &mut [u8], offset: u64, bytes: &[u8]) -> Option<()> {
    let start = usize::try_from(offset).ok()?;
    image.get_mut(start..start.checked_add(bytes.len())?)?.copy_from_slice(bytes);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::{HEADER_SIZE, SHT_NOBITS};

    /// Two sections after the header, then the tables.
    fn sample() -> Vec<u8> {
        let data_at = HEADER_SIZE + 24;
        let mut sections = [SectionHeader::default(); 3];
        sections[1].offset.set(HEADER_SIZE);
        sections[1].size.set(24);
        sections[1].align.set(4);
        sections[2].offset.set(data_at);
        sections[2].size.set(8);
        sections[2].align.set(8);
        let mut segment = ProgramHeader::default();
        segment.offset.set(data_at);
        segment.filesz.set(8);
        segment.memsz.set(8);
        let mut header = FileHeader::default();
        header.shoff.set(data_at + 8);
        header.shnum.set(3);
        header.phoff.set(data_at + 8 + 3 * 64);
        header.phnum.set(1);
        let parts = [header.as_bytes(), &[1; 24], &[2; 8], sections.as_bytes(), segment.as_bytes()];
        parts.concat()
    }

    #[test]
    fn what_follows_moves() {
        let shorter = with_section(&sample(), 1, &[3; 5]).expect("readable");
        assert_eq!(shorter.len(), sample().len() - 16);
        let (header, _) = FileHeader::read_from_prefix(&shorter).expect("a header");
        assert_eq!((header.shoff.get(), header.phoff.get()), (80, 80 + 3 * 64));
        assert_eq!(shorter[64..80], [3, 3, 3, 3, 3, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2]);
        let segments = table::<ProgramHeader>(&shorter, header.phoff.get(), 1).expect("a table");
        assert_eq!(segments[0].offset.get(), 72);
        let same = with_section(&sample(), 1, &[1; 24]).expect("readable");
        assert_eq!(same, sample());
    }

    /// A note, 48 bytes of code or of data, and memory without bytes that begins where they end. A segment has what is
    /// writable if they are.
    fn with_memory(is_data: bool) -> Vec<u8> {
        let (code_at, memory_at) = (HEADER_SIZE + 16, HEADER_SIZE + 64);
        let mut sections = [SectionHeader::default(); 4];
        for (section, (offset, size, align)) in
            sections[1..].iter_mut().zip([(HEADER_SIZE, 16, 4), (code_at, 48, 8), (memory_at, 512, 64)])
        {
            section.offset.set(offset);
            section.size.set(size);
            section.align.set(align);
        }
        sections[2].flags.set(if is_data { SHF_WRITE } else { 0 });
        sections[3].flags.set(SHF_WRITE);
        sections[3].sh_type.set(SHT_NOBITS);
        let mut segment = ProgramHeader::default();
        segment.offset.set(code_at);
        segment.filesz.set(48);
        segment.memsz.set(if is_data { 48 + 512 } else { 48 });
        segment.flags.set(if is_data { PF_W } else { 0 });
        let mut header = FileHeader::default();
        header.shoff.set(memory_at);
        header.shnum.set(4);
        header.phoff.set(memory_at + 4 * 64);
        header.phnum.set(1);
        [header.as_bytes(), &[1; 16], &[2; 48], sections.as_bytes(), segment.as_bytes()].concat()
    }

    #[test]
    fn padding_before_memory_is_of_its_own_segment() {
        let segment = |is_data| {
            let longer = with_section(&with_memory(is_data), 1, &[3; 24]).expect("readable");
            let (header, _) = FileHeader::read_from_prefix(&longer).expect("a header");
            let segment = table::<ProgramHeader>(&longer, header.phoff.get(), 1).expect("a table")[0];
            (segment.offset.get(), segment.filesz.get(), segment.memsz.get())
        };
        assert_eq!(segment(false), (88, 48, 48));
        // The memory begins at 192 now.
        assert_eq!(segment(true), (88, 192 - 88, 192 - 88 + 512));
    }

    #[test]
    fn damaged_files_are_refused() {
        let sample = sample();
        for end in 0..sample.len() {
            assert_eq!(with_section(&sample[..end], 1, &[3; 5]), None, "cut at {end}");
        }
    }
}
