//! The groups of processes that end with this program.

use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

/// Places in the tables of what is to be ended or removed.
pub(super) const PLACES: usize = 256;

/// The leaders of groups that end with this program.
static CHILDREN: [AtomicI32; PLACES] = [const { AtomicI32::new(0) }; PLACES];

/// Programs that have been started and are not in the table yet.
pub(super) static STARTING: AtomicUsize = AtomicUsize::new(0);

/// Enters a group into the table, if there is room.
pub(super) fn enter(id: u32) -> Option<&'static AtomicI32> {
    let id = i32::try_from(id).ok()?;
    let is_taken =
        |place: &&AtomicI32| place.compare_exchange(0, id, Ordering::SeqCst, Ordering::Relaxed).is_ok();
    CHILDREN.iter().find(is_taken)
}

/// Takes a group out of the table.
pub(super) fn leave(place: Option<&'static AtomicI32>) {
    if let Some(place) = place {
        place.store(0, Ordering::SeqCst);
    }
}

/// Ends all groups, for a handler of signals.
#[allow(unsafe_code)]
pub(super) fn end_all() {
    // Another thread may be starting one; this one does not, since it would not have the signal yet.
    for _ in 0..1000 {
        if STARTING.load(Ordering::SeqCst) == 0 {
            break;
        }
        let moment = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
        // SAFETY: the time lives through the call, which may be made in a handler.
        unsafe {
            libc::nanosleep(&raw const moment, std::ptr::null_mut());
        }
    }
    let children = || CHILDREN.iter().map(|place| place.load(Ordering::SeqCst)).filter(|id| *id > 0);
    // SAFETY: these functions may be called in a handler. The ids are of children that have not been waited for, or
    // were a moment ago.
    unsafe {
        children().for_each(|id| {
            libc::kill(-id, libc::SIGKILL);
        });
        children().for_each(|id| {
            libc::waitpid(id, std::ptr::null_mut(), 0);
        });
    }
}
