//! Pages of memory. Their size is the system's to say: 4 KiB on x86-64; 4, 16 or 64 KiB on AArch64, as its kernel was
//! built; 16 KiB on Apple's machines.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The smallest page of any system that this runs on.
const SMALLEST: usize = 4096;

/// The size, once it is known.
static SIZE: AtomicUsize = AtomicUsize::new(0);

/// The size of a page. Allocates nothing, and may be called in a handler of a signal.
pub fn size() -> usize {
    match SIZE.load(Ordering::Relaxed) {
        0 => ask(),
        size => size,
    }
}

#[cold]
fn ask() -> usize {
    // SAFETY: the call takes a number.
    #[allow(unsafe_code)]
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let size = usize::try_from(size).ok().filter(|size| size.is_power_of_two()).unwrap_or(SMALLEST);
    SIZE.store(size, Ordering::Relaxed);
    size
}

/// The address at which the page of an address begins.
pub fn start_of(address: usize, page: usize) -> usize {
    address & !(page - 1)
}

/// The pages that lie wholly in a range.
pub fn within(range: &Range<usize>, page: usize) -> Range<usize> {
    let start = range.start.next_multiple_of(page);
    start..start_of(range.end, page).max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub const SIZES: [usize; 3] = [4 << 10, 16 << 10, 64 << 10];

    #[test]
    fn the_system_has_a_size() {
        assert!(size().is_power_of_two() && size() >= SMALLEST);
        assert_eq!(size(), ask());
    }

    #[test]
    fn pages_of_a_range() {
        for page in SIZES {
            assert_eq!(start_of(3 * page + 1, page), 3 * page);
            assert_eq!(start_of(3 * page, page), 3 * page);
            assert_eq!(within(&(page..3 * page), page), page..3 * page);
            assert_eq!(within(&(page - 1..3 * page + 1), page), page..3 * page);
            assert_eq!(within(&(page + 1..3 * page - 1), page), 2 * page..2 * page);
            assert!(within(&(page + 1..page + 2), page).is_empty());
        }
    }
}
