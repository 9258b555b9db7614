//! Memory that the system is to give before it is touched.

use std::ops::Range;

/// Has the system give the pages of a range. One that does not know the request gives them when they are touched.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
pub fn prefault_pages(pages: Range<usize>) {
    // SAFETY: wherever the range lies, no byte changes by this.
    unsafe { libc::madvise(pages.start as *mut libc::c_void, pages.len(), libc::MADV_POPULATE_WRITE) };
}

/// Elsewhere they come one by one.
#[cfg(not(target_os = "linux"))]
pub fn prefault_pages(_: Range<usize>) {}
