//! Memory that is about to be touched, prefaulted in one piece, and where that can be by another thread: a page that is
//! touched for the first time costs a microsecond and a half, and half of that is the way into the kernel and back.
//!
//! How pages are prefaulted is the caller's to say ([`crate::pool::Pool::with_prefault`]); by default they are not.

use std::ops::Range;

/// How far ahead of the end of a vector: as much again as it holds, within these bounds.
const LEAST_AHEAD: usize = 256 << 10;
const MOST_AHEAD: usize = 2 << 20;
/// The least that is worth a call.
const AT_LEAST: usize = 64 << 10;
/// The smallest page of any system.
const PAGE: usize = 4096;

/// How much of a vector has been prefaulted.
#[derive(Debug, Default)]
pub(crate) struct Prefaulted {
    up_to: usize,
}

impl Prefaulted {
    /// The pages to prefault next, given how much the vector holds and has room for.
    pub(crate) fn next<T>(&mut self, vector: &Vec<T>) -> Range<usize> {
        let start = vector.as_ptr() as usize;
        let size = size_of_val(vector.as_slice());
        let room = start + vector.capacity() * size_of::<T>();
        let from = self.up_to.max(start + size) & !(PAGE - 1);
        let to = (start + size + size.clamp(LEAST_AHEAD, MOST_AHEAD)).min(room) & !(PAGE - 1);
        if to < from + AT_LEAST {
            return 0..0;
        }
        self.up_to = to;
        from..to
    }
}

/// The whole pages of the room that a vector has, if they are worth a call.
pub(crate) fn pages_of<T>(room: &Vec<T>) -> Range<usize> {
    let start = room.as_ptr() as usize;
    let pages = start.next_multiple_of(PAGE)..(start + room.capacity() * size_of::<T>()) & !(PAGE - 1);
    if pages.len() >= AT_LEAST { pages } else { 0..0 }
}
