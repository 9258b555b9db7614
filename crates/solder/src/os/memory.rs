//! Memory that the system is to give before it is touched.

#[cfg(target_os = "linux")]
use super::pages;
use std::ops::Range;

/// Has the system give the pages of a range. One that does not know the request gives them when they are touched.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
pub fn prefault_pages(range: Range<usize>) {
    // The linker knows the smallest page only. Rounded down at both ends, one range goes on where the last one ended.
    let page = pages::size();
    let (start, end) = (pages::start_of(range.start, page), pages::start_of(range.end, page));
    if start < end {
        // SAFETY: wherever the range lies, no byte changes by this.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_POPULATE_WRITE) };
    }
}

/// Elsewhere they come one by one.
#[cfg(not(target_os = "linux"))]
pub fn prefault_pages(_: Range<usize>) {}
