//! The threads of the command.

use std::num::NonZeroUsize;

use super::memory;
use solder_link::pool::Pool;

/// So few processors that a limit on the time of a group of processes, as containers have, makes little difference.
#[cfg(target_os = "linux")]
const FEW: usize = 4;

/// How many processors the program may use.
#[cfg(not(target_os = "linux"))]
fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// How many processors the program may use. To find out about limits takes longer than to start a thread.
#[cfg(target_os = "linux")]
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

/// As many as `--threads` asks for, or as there are processors.
pub fn count(wanted: Option<usize>) -> usize {
    wanted.filter(|wanted| *wanted > 0).unwrap_or_else(processors)
}

/// As many threads as `--threads` asks for, or as there are processors. The calling one is the first.
pub fn pool(wanted: Option<usize>) -> Pool {
    Pool::starting(move || {
        let wanted = count(wanted);
        if wanted == 1 {
            return None;
        }
        // Where no thread can be started, all runs on this one.
        rayon::ThreadPoolBuilder::new().num_threads(wanted).use_current_thread().build().ok()
    })
    .with_prefault(memory::prefault_pages)
}
