//! Looks at an archive without touching its mapping.
//!
//! The first touch of a page in a mapped file has the system map sixteen, and an archive of host code is little else than
//! such touches: a few bytes of every member. Reading them takes a fifth of the time: once the headers of each member,
//! which say where the next one is, and, on all threads, the end of each, where the names and headers of its sections
//! lie. What does not lie there, or may be of use to the link, is left to the mapping.

use std::cell::RefCell;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use object::ReadRef;
use solder_cubin::elf_header;

use super::arena::Arena;
use solder_link::load::archive::{Begins, HEAD};
use solder_link::load::host::HostObject;

/// Bytes that are read at a time of the headers: that of the archive and that of the ELF after it.
const WINDOW: u64 = 128;
/// The longest read that is answered with a copy.
const SHORT: u64 = 64;

/// Bytes that are read of the end of a member: the table of its sections, and their names before it. Names take
/// twelve bytes in C and forty in C++.
const NAME: u64 = 40;
const OTHERS: u64 = 256;
const LONGEST_END: u64 = 64 << 10;

/// The headers of an archive.
pub(super) struct Headers<'data, 'file> {
    file: &'file File,
    data: &'data [u8],
    arena: &'data Arena,
    /// Bytes of the file, and where they begin.
    window: RefCell<(u64, Vec<u8>)>,
}

impl<'data, 'file> Headers<'data, 'file> {
    /// `data` is the mapping of the file.
    pub(super) fn new(file: &'file File, data: &'data [u8], arena: &'data Arena) -> Self {
        Self { file, data, arena, window: RefCell::default() }
    }

    /// Lets `take` have some bytes, which are read if need be.
    fn with<T>(&self, start: u64, size: u64, take: impl Fn(&[u8]) -> T) -> Option<T> {
        self.in_window(start, size, &take).or_else(|| {
            self.move_window(start)?;
            self.in_window(start, size, &take)
        })
    }

    fn in_window<T>(&self, start: u64, size: u64, take: impl Fn(&[u8]) -> T) -> Option<T> {
        let (window_start, bytes) = &*self.window.borrow();
        let at = usize::try_from(start.checked_sub(*window_start)?).ok()?;
        bytes.get(at..at.checked_add(size as usize)?).map(take)
    }

    fn move_window(&self, start: u64) -> Option<()> {
        let (window_start, bytes) = &mut *self.window.borrow_mut();
        let size = WINDOW.min((self.data.len() as u64).checked_sub(start)?);
        bytes.resize(size as usize, 0);
        *window_start = start;
        let read = self.file.read_exact_at(bytes, start);
        if read.is_err() {
            bytes.clear();
        }
        read.ok()
    }
}

impl<'a> ReadRef<'a> for &'a Headers<'_, '_> {
    fn len(self) -> Result<u64, ()> {
        Ok(self.data.len() as u64)
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        if size <= SHORT
            && let Some(bytes) = self.with(offset, size, |bytes| self.arena.own(bytes.to_vec()))
        {
            return Ok(bytes);
        }
        self.data.read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        self.data.read_bytes_at_until(range, delimiter)
    }
}

impl Begins for &Headers<'_, '_> {
    fn head(&self, start: u64, size: u64) -> Option<[u8; HEAD]> {
        let head = |bytes: &[u8]| bytes.first_chunk().copied();
        self.with(start, size.min(HEAD as u64), head).unwrap_or_else(|| self.data.head(start, size))
    }
}

/// How much of the end of a member is likely to tell what is in it.
fn end_of(head: &[u8; HEAD], size: u64) -> u64 {
    let likely = elf_header(head).map(|header| {
        let table = size.saturating_sub(header.shoff.get());
        table.saturating_add(u64::from(header.shnum.get()) * NAME + OTHERS)
    });
    likely.unwrap_or(OTHERS).min(LONGEST_END).min(size)
}

/// Whether a member is a host object in which nothing concerns the device, as far as its beginning and its end tell.
pub(super) fn is_host_code(file: &File, head: &[u8; HEAD], start: u64, size: u64) -> bool {
    thread_local! {
        static TAIL: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    TAIL.with_borrow_mut(|tail| {
        tail.resize(end_of(head, size) as usize, 0);
        let tail_start = size - tail.len() as u64;
        let read = file.read_exact_at(tail, start + tail_start);
        let ends = Ends { head, tail, tail_start, size };
        read.is_ok() && HostObject::parse(ends).is_ok_and(|host| host.is_empty())
    })
}

/// The beginning and the end of a member; what lies between them cannot be read.
#[derive(Clone, Copy)]
struct Ends<'a> {
    head: &'a [u8],
    tail: &'a [u8],
    tail_start: u64,
    size: u64,
}

impl<'a> ReadRef<'a> for Ends<'a> {
    fn len(self) -> Result<u64, ()> {
        Ok(self.size)
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        match offset.checked_sub(self.tail_start) {
            Some(offset) => self.tail.read_bytes_at(offset, size),
            None => self.head.read_bytes_at(offset, size),
        }
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        let start = range.start.checked_sub(self.tail_start).ok_or(())?;
        let end = range.end.checked_sub(self.tail_start).ok_or(())?;
        self.tail.read_bytes_at_until(start..end, delimiter)
    }
}
