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

/// Has the system's allocator keep what is given back to it, and take more at a time. It would give back the end of its
/// heap, and every block that has a mapping of its own, only to ask for as much again; all processors are told of each.
#[cfg(target_env = "gnu")]
#[allow(unsafe_code)]
pub fn keep_memory() {
    const AT_A_TIME: libc::c_int = 1 << 20;
    const LARGE: libc::c_int = 2 << 20;
    let settings = [
        (libc::M_TRIM_THRESHOLD, libc::c_int::MAX),
        (libc::M_TOP_PAD, AT_A_TIME),
        (libc::M_MMAP_THRESHOLD, LARGE),
    ];
    for (setting, value) in settings {
        // SAFETY: it changes how much memory is kept, and none of it.
        unsafe { libc::mallopt(setting, value) };
    }
}

#[cfg(not(target_env = "gnu"))]
pub fn keep_memory() {}

/// Asks for the pages of a range. A system that does not know the request gives them one by one, when they are touched.
#[allow(unsafe_code)]
pub fn ask_for(pages: Range<usize>) {
    if !pages.is_empty() {
        // SAFETY: wherever the range lies, no byte changes by this.
        unsafe { libc::madvise(pages.start as *mut libc::c_void, pages.len(), libc::MADV_POPULATE_WRITE) };
    }
}

/// What the processor fetches together, and as much of a table as it is told to fetch; the rest it notices by itself.
const LINE: usize = 64;
const MOST_FETCHED: usize = 4096;

/// Has values brought into the processor's caches that are about to be read: the tables of thousands of files do not
/// fit in there, and the next one's are elsewhere.
#[allow(unsafe_code)]
pub fn fetch<T>(values: &[T]) {
    #[cfg(target_arch = "x86_64")]
    for at in (0..size_of_val(values).min(MOST_FETCHED)).step_by(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let line = values.as_ptr().cast::<i8>().wrapping_add(at);
        // SAFETY: it is no more than a hint, for any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}
