//! Memory that is about to be touched, asked for in one piece, and where that can be by another thread: a page that is
//! touched for the first time costs a microsecond and a half, half of which is the way into the kernel and back.

use std::ops::Range;

/// How far ahead of the end of a vector: as much again as it holds, within these bounds.
const LEAST_AHEAD: usize = 256 << 10;
const MOST_AHEAD: usize = 2 << 20;
/// The least that is worth asking for.
const AT_LEAST: usize = 64 << 10;
const PAGE: usize = 4096;

/// What has been asked for of a vector.
#[derive(Debug, Default)]
pub struct Asked {
    up_to: usize,
}

impl Asked {
    /// What is to be asked for next, given how much the vector holds and has room for.
    pub fn next<T>(&mut self, vector: &Vec<T>) -> Range<usize> {
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

/// Room for this many values, all of which are about to be written.
pub fn room_for<T>(count: usize) -> Vec<T> {
    let room = Vec::with_capacity(count);
    let start = room.as_ptr() as usize;
    let pages = start.next_multiple_of(PAGE)..(start + count * size_of::<T>()) & !(PAGE - 1);
    if pages.len() >= AT_LEAST {
        ask_for(pages);
    }
    room
}

/// Asks for the pages of a range. A system that does not know the request gives them one by one, when they are touched.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
pub fn ask_for(pages: Range<usize>) {
    if !pages.is_empty() {
        // SAFETY: wherever the range lies, no byte changes by this.
        unsafe { libc::madvise(pages.start as *mut libc::c_void, pages.len(), libc::MADV_POPULATE_WRITE) };
    }
}

/// Elsewhere they come one by one.
#[cfg(not(target_os = "linux"))]
pub fn ask_for(_: Range<usize>) {}
