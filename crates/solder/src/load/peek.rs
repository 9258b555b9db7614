//! Looks at an archive without touching its mapping.
//!
//! The first touch of a page in a mapped file has the system map sixteen, and an archive of host code is little else than
//! such touches: a few bytes of every member. Reading them takes a fifth of the time. At the end of a member lie the names
//! and headers of its sections and, behind them, the headers of the next one: one read of a few kilobytes is enough for
//! both. What does not lie there, or may be of use to the link, is left to the mapping.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use object::ReadRef;

use super::arena::Arena;
use super::host::HostObject;

/// Bytes that are read of the end of a member and of what follows it: two headers.
const END: u64 = 4 << 10;
const NEXT: u64 = 256;

/// The ELF header, and the longest read that is answered with a copy.
const HEAD: u64 = 64;
const SHORT: u64 = 64;

/// After so many members that had to be looked at in full, all others are too.
const PATIENCE: u32 = 16;

pub(super) struct Peek<'data> {
    file: File,
    data: &'data [u8],
    arena: &'data Arena,
    /// Bytes of the file, and where they begin.
    window: RefCell<(u64, Vec<u8>)>,
    patience: Cell<u32>,
}

impl<'data> Peek<'data> {
    /// `data` is the mapping of the file.
    pub(super) fn new(file: File, data: &'data [u8], arena: &'data Arena) -> Self {
        Self { file, data, arena, window: RefCell::default(), patience: Cell::new(PATIENCE) }
    }

    /// Whether a member is a host object in which nothing concerns the device.
    pub(super) fn is_host_code(&self, start: u64, size: u64) -> bool {
        if self.patience.get() == 0 {
            return false;
        }
        let found = self.look(start, size) == Some(true);
        if !found {
            self.patience.set(self.patience.get() - 1);
        }
        found
    }

    fn look(&self, start: u64, size: u64) -> Option<bool> {
        let end = start.checked_add(size)?;
        let mut head = [0; HEAD as usize];
        self.in_window(start, HEAD, |bytes| head.copy_from_slice(bytes))?;
        let tail_start = end.saturating_sub(END).max(start);
        self.move_window(tail_start, end.saturating_add(NEXT))?;
        let (_, bytes) = &*self.window.borrow();
        let tail = bytes.get(..(end - tail_start) as usize)?;
        let ends = Ends { head: &head, tail, tail_start: tail_start - start, size };
        HostObject::parse(ends).ok().map(|host| host.is_empty())
    }

    fn in_window<T>(&self, start: u64, size: u64, take: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let (window_start, bytes) = &*self.window.borrow();
        let at = usize::try_from(start.checked_sub(*window_start)?).ok()?;
        bytes.get(at..at.checked_add(size as usize)?).map(take)
    }

    /// Reads the bytes from `start` to `end`, or to the end of the file.
    fn move_window(&self, start: u64, end: u64) -> Option<()> {
        let (window_start, bytes) = &mut *self.window.borrow_mut();
        let size = end.min(self.data.len() as u64).checked_sub(start)?;
        bytes.resize(size as usize, 0);
        *window_start = start;
        let read = self.file.read_exact_at(bytes, start);
        if read.is_err() {
            bytes.clear();
        }
        read.ok()
    }
}

impl<'a> ReadRef<'a> for &'a Peek<'_> {
    fn len(self) -> Result<u64, ()> {
        Ok(self.data.len() as u64)
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        if size <= SHORT && self.patience.get() > 0 {
            let copy = |bytes: &[u8]| self.arena.copy(bytes);
            let found = self.in_window(offset, size, copy).or_else(|| {
                self.move_window(offset, offset.checked_add(NEXT)?)?;
                self.in_window(offset, size, copy)
            });
            if let Some(bytes) = found {
                return Ok(bytes);
            }
        }
        self.data.read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        self.data.read_bytes_at_until(range, delimiter)
    }
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
