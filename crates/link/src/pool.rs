//! Parallel loops. Results come in the order of the items, so that the output never depends on the number of threads.
//!
//! Threads are started by the first loop that is long enough to be worth it: a link of a few cubins takes less time
//! than their start.

use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::ThreadPool;
use rayon::prelude::*;

use crate::memory;

/// What `--threads` asks for; 0 for all processors. Of the process, like the threads themselves.
static WANTED: AtomicUsize = AtomicUsize::new(0);

/// The threads, if the loops run on several.
static STARTED: OnceLock<Option<ThreadPool>> = OnceLock::new();

/// Says how many threads to use. Counts only before the first long loop.
pub fn set_threads(count: Option<usize>) {
    WANTED.store(count.unwrap_or(0), Ordering::Relaxed);
}

/// So few processors that a limit on the time of a group of processes, as containers have, makes little difference.
const FEW: usize = 4;

/// How many processors the program may use. To find out about limits takes longer than to start a thread.
#[allow(unsafe_code)]
fn processors() -> usize {
    // SAFETY: zeros are a valid set, which lives through the calls and has the size that they are told.
    let count = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let known = libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) == 0;
        if known { libc::CPU_COUNT(&set) } else { 0 }
    };
    match count as usize {
        few @ 1..=FEW => few,
        _ => std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
    }
}

/// Starts the threads, of which the calling one is the first. Whether there is more than that one.
fn started() -> bool {
    let started = STARTED.get_or_init(|| {
        let wanted = match WANTED.load(Ordering::Relaxed) {
            0 => processors(),
            wanted => wanted,
        };
        if wanted == 1 {
            return None;
        }
        // Where no thread can be started, the loops run on this one. The global pool would do too, but it is waited for
        // until its threads are up, which takes longer than to start them.
        let builder = rayon::ThreadPoolBuilder::new().num_threads(wanted).use_current_thread();
        builder.build().ok().filter(|pool| pool.current_num_threads() > 1)
    });
    started.is_some()
}

/// Whether there are threads already.
fn are_started() -> bool {
    matches!(STARTED.get(), Some(Some(_)))
}

/// `work` of every item; on several threads if it is worth their start.
pub fn map<T: Sync, R: Send>(items: &[T], is_worth: bool, work: impl Fn(&T) -> R + Send + Sync) -> Vec<R> {
    if !is_worth || items.len() < 2 || !started() {
        return items.iter().map(work).collect();
    }
    items.par_iter().map(work).collect()
}

/// Does both, at the same time if there are threads already.
pub fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    if are_started() { rayon::join(a, b) } else { (a(), b()) }
}

/// Does `work` on this thread. If it is worth their start, the others take what it hands out and otherwise `help`, as
/// long as there is something left to do.
pub fn with_help<'scope, R>(
    is_worth: bool,
    help: &'scope (impl Fn() -> bool + Sync),
    work: impl FnOnce(&Beside<'_, 'scope>) -> R,
) -> R {
    if !is_worth || !started() {
        return work(&Beside(None));
    }
    rayon::in_place_scope(|scope| {
        for _ in 1..rayon::current_num_threads() {
            scope.spawn(|_| {
                while help() {
                    rayon::yield_now();
                }
            });
        }
        work(&Beside(Some(scope)))
    })
}

/// Takes what is to be done beside something else.
pub struct Beside<'a, 'scope>(Option<&'a rayon::Scope<'scope>>);

impl<'scope> Beside<'_, 'scope> {
    /// Has `work` done by another thread; at once, if there is none.
    pub fn run(&self, work: impl FnOnce() + Send + 'scope) {
        match self.0 {
            Some(scope) => scope.spawn(|_| work()),
            None => work(),
        }
    }
}

/// Does `work` on this thread, and what it hands out on others; all of it is done in the end.
pub fn beside<'scope, R>(work: impl FnOnce(&Beside<'_, 'scope>) -> R) -> R {
    if are_started() {
        rayon::in_place_scope(|scope| work(&Beside(Some(scope))))
    } else {
        work(&Beside(None))
    }
}

/// `work` with every part of something long.
pub fn for_each_part<T: Send>(parts: Vec<T>, work: impl Fn(T) + Send + Sync) {
    if parts.len() < 2 || !started() {
        return parts.into_iter().for_each(work);
    }
    parts.into_par_iter().for_each(work);
}

/// Sections that are worth a thread.
const MANY: usize = 512;
/// And those that one takes at a time.
const AT_A_TIME: usize = 64;

/// `work` of every number below `count`, where each takes little time.
pub fn map_numbers<R: Send>(count: usize, work: impl Fn(usize) -> R + Send + Sync) -> Vec<R> {
    if count < MANY || !started() {
        return (0..count).map(work).collect();
    }
    let mut results = memory::room_for(count);
    (0..count).into_par_iter().with_min_len(AT_A_TIME).map(work).collect_into_vec(&mut results);
    results
}

/// `work` with every item, where each takes little time; in place.
pub fn for_each_of<T: Send>(items: &mut [T], work: impl Fn(&mut T) + Send + Sync) {
    if items.len() < MANY || !started() {
        return items.iter_mut().for_each(work);
    }
    items.par_iter_mut().with_min_len(AT_A_TIME).for_each(work);
}
