//! Reads of a fat binary no more than its headers and the member that the link takes.
//!
//! A link of many fat binaries has use for an eighth of their bytes. To map them and touch their headers takes twice the
//! time of reading these, and the pages that the system maps around each touch add up.

use std::cell::RefCell;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use solder_fatbin::{CONTAINER_HEADER_SIZE, Container, Extent, Request, container_header, select};

use super::arena::Arena;

/// Files up to this length are read whole: that takes no longer than reading their headers.
const SHORT: usize = 32 << 10;
/// Of longer ones, the length of a read that mostly holds a header with its strings.
const HEADER: usize = 512;
/// The longest file for which there is room.
const LONGEST: u64 = 64 << 20;

/// A container of nothing but the member that a link takes, or its group. `None` if the file is none, is damaged or has no such member:
/// then all of it has to be looked at.
pub(super) fn member<'data>(path: &Path, request: Request, arena: &'data Arena) -> Option<&'data [u8]> {
    thread_local! {
        // As long as the file. What has not been read is left from other files, and not looked at.
        static ROOM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    let file = File::open(path).ok()?;
    let metadata = file.metadata().ok()?;
    let length = Some(metadata.len()).filter(|length| metadata.is_file() && *length <= LONGEST)? as usize;
    ROOM.with_borrow_mut(|room| {
        if room.len() < length {
            // Memory that is never touched is never there.
            *room = vec![0; length.next_power_of_two()];
        }
        let mut known = Known { file: &file, data: &mut room[..length], read: 0..0 };
        let places = known.read_headers()?;
        let container = Container::parse(known.data).ok()?;
        let chosen = select(&container, request).ok()?.member?;
        let entry = chosen.entry().as_ptr() as usize - known.data.as_ptr() as usize;
        let place = places.into_iter().find(|place| place.start == entry)?;
        let mut alone = Vec::with_capacity(CONTAINER_HEADER_SIZE + place.len());
        alone.extend_from_slice(&container_header(place.len() as u64));
        if known.has(&place) {
            alone.extend_from_slice(&known.data[place]);
        } else {
            alone.resize(CONTAINER_HEADER_SIZE + place.len(), 0);
            file.read_exact_at(&mut alone[CONTAINER_HEADER_SIZE..], place.start as u64).ok()?;
        }
        Some(arena.own(alone))
    })
}

/// A file of which parts have been read, each to its place.
struct Known<'a> {
    file: &'a File,
    data: &'a mut [u8],
    /// What was read last.
    read: Range<usize>,
}

impl Known<'_> {
    /// Reads the headers. Where the members, or groups of them, are.
    fn read_headers(&mut self) -> Option<Vec<Range<usize>>> {
        let length = self.data.len();
        self.need(0..if length <= SHORT { length } else { HEADER })?;
        let Extent { header, content } = Extent::of_container(self.data)?;
        let end = usize::try_from(header.checked_add(content)?).ok()?;
        let mut places = Vec::new();
        let mut start = header as usize;
        while start < end {
            self.need(start..(start + HEADER).min(length))?;
            let Extent { header, content } = Extent::of_member(self.data.get(start..)?)?;
            let payload = start.checked_add(usize::try_from(header).ok()?)?;
            self.need(start..payload)?;
            let next = payload.checked_add(usize::try_from(content).ok()?)?;
            places.push(start..next);
            start = next;
        }
        (end <= length).then_some(places)
    }

    fn has(&self, part: &Range<usize>) -> bool {
        self.read.start <= part.start && part.end <= self.read.end
    }

    /// Reads a part of the file, unless it was read last.
    fn need(&mut self, part: Range<usize>) -> Option<()> {
        if !self.has(&part) {
            self.file.read_exact_at(self.data.get_mut(part.clone())?, part.start as u64).ok()?;
            self.read = part;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use solder_arch::{Arch, Release, Suffix, Target};
    use solder_fatbin::{Builder, Flags, Kind, NewMember, Packing};

    fn sample(size: usize) -> Vec<u8> {
        let mut builder = Builder::new();
        for number in [80, 90, 75] {
            let content = vec![number as u8; size];
            let member = NewMember::new(Kind::Elf, Arch::new(number, Suffix::None), &content);
            builder.push(&NewMember { identifier: Some(b"source.cu"), ..member });
        }
        builder.finish()
    }

    fn request(number: u16) -> Request {
        Request { target: Target::sm(Arch::plain(number)), release: Release::CUDA_13_0, lto: false }
    }

    /// What is chosen from the whole.
    fn of_whole(data: &[u8], request: Request) -> Option<&[u8]> {
        let chosen = select(&Container::parse(data).ok()?, request).ok()?.member?;
        Some(chosen.payload())
    }

    /// Checks that the file gives what its whole gives, or nothing.
    fn check(data: &[u8], path: &Path, arena: &Arena) -> bool {
        std::fs::write(path, data).expect("the folder for temporary files takes files");
        let numbers = [75, 90, 86, 100].map(request);
        numbers.into_iter().all(|request| match member(path, request, arena) {
            None => true,
            Some(alone) => of_whole(alone, request).is_some_and(|own| of_whole(data, request) == Some(own)),
        })
    }

    /// Of a group all is read, and nothing of others.
    #[test]
    fn members_of_groups() {
        let path = std::env::temp_dir().join(format!("solder-chosen-group-{}.fatbin", std::process::id()));
        let content =
            |number: u16| (0..30_000_u32).map(|at| (at * at / 7 % 251) as u8 ^ number as u8).collect();
        let contents: Vec<(u16, Vec<u8>)> = [75, 80, 90].map(|number| (number, content(number))).to_vec();
        let new = |(number, content)| NewMember::new(Kind::Elf, Arch::plain(number), content);
        let members: Vec<_> = contents.iter().map(|(number, content)| new((*number, content))).collect();
        let mut builder = Builder::new().member(&members[0]);
        builder.push_group(&members[1..], Packing::Lz4, Flags(0)).expect("a group");
        let data = builder.finish();
        std::fs::write(&path, &data).expect("the folder for temporary files takes files");
        let arena = Arena::default();
        arena.expect_many();
        for (number, content) in &contents {
            let request = Request { release: Release::NEWEST, ..request(*number) };
            let alone = member(&path, request, &arena).expect("it is there");
            let container = Container::parse(alone).expect("whole");
            let chosen = select(&container, request).expect("whole").member.expect("it is there");
            assert!(alone.len() < data.len() && chosen.content().expect("whole")[..] == content[..]);
        }
        let _ = std::fs::remove_file(&path);
    }

    #[test]
    fn as_from_the_whole_file() {
        let path = std::env::temp_dir().join(format!("solder-chosen-{}.fatbin", std::process::id()));
        let arena = Arena::default();
        arena.expect_many();
        for size in [24, 12_000] {
            let data = sample(size);
            assert!(check(&data, &path, &arena));
            assert!(member(&path, request(90), &arena).is_some_and(|alone| alone.len() < data.len() / 2));
            assert!(member(&path, request(100), &arena).is_none());
            // The headers of the container and of its members, the fixed parts.
            for at in (0..data.len()).filter(|at| *at < 16 || (at - 16) % (data.len() / 3) < 64) {
                assert!(check(&data[..at], &path, &arena), "{size}: cut at {at}");
                for value in [0x00, 0xff] {
                    let mut data = data.clone();
                    data[at] = value;
                    assert!(check(&data, &path, &arena), "{size}: byte {at} is {value}");
                }
            }
        }
        let _ = std::fs::remove_file(&path);
    }
}
