//! Memory that a large vector is about to grow into, asked for by another thread: a page that is first touched costs
//! the thread that touches it a microsecond and a half.

use std::ops::Range;

/// How far ahead of the end of a vector, and the least that is worth asking for.
const AHEAD: usize = 512 << 10;
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
        let (end, room) =
            (start + size_of_val(vector.as_slice()), start + vector.capacity() * size_of::<T>());
        let from = self.up_to.max(end) & !(PAGE - 1);
        let to = (end + AHEAD).min(room) & !(PAGE - 1);
        if to < from + AT_LEAST {
            return 0..0;
        }
        self.up_to = to;
        from..to
    }
}

/// Asks for the pages of a range. A system that does not know the request gives them one by one, when they are touched.
#[allow(unsafe_code)]
pub fn ask_for(pages: Range<usize>) {
    if !pages.is_empty() {
        // SAFETY: wherever the range lies, no byte changes by this.
        unsafe { libc::madvise(pages.start as *mut libc::c_void, pages.len(), libc::MADV_POPULATE_WRITE) };
    }
}
