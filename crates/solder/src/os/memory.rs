//! Memory: how much there is, and pages that the system is to give before they are touched.

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

/// Has the C library keep large blocks that are freed, for the next link of this process, and ask for more of them at a time. By
/// itself it gives most of them back, and every page would have to be asked for again.
#[cfg(target_env = "gnu")]
#[allow(unsafe_code)]
pub fn keep_freed() {
    const LARGEST: libc::c_int = 32 << 20;
    const AT_A_TIME: libc::c_int = 1 << 20;
    // SAFETY: the calls take numbers, and change nothing but when memory is given back.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGEST);
        libc::mallopt(libc::M_TRIM_THRESHOLD, libc::c_int::MAX);
        libc::mallopt(libc::M_TOP_PAD, AT_A_TIME);
    }
}

/// Other C libraries have no such choice.
#[cfg(not(target_env = "gnu"))]
pub fn keep_freed() {}

/// Half of the memory that the system can give without taking it from others; `None` if it does not say.
pub fn half() -> Option<u64> {
    half_of(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

fn half_of(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    Some(kilobytes * 1024 / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_what_is_free() {
        assert_eq!(half_of("MemTotal:  8 kB\nMemAvailable:    6 kB\n"), Some(3072));
        assert_eq!(half_of("MemTotal: 8 kB\n"), None);
        assert_eq!(half_of("MemAvailable: much\n"), None);
    }
}
