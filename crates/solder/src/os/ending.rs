//! The end of the program after a large link.
//!
//! A thousand mappings and as many pages as a large link touches take the system a tenth of the link's time to give
//! back, and whoever waits for the program would wait for that too. So a process is left behind that shares this memory
//! and has nothing else: it ends as soon as the program has, and the memory with it.

use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(target_os = "linux")]
use libc::{c_int, c_uint, c_void};

/// Whether there is much to give back.
static MUCH: AtomicBool = AtomicBool::new(false);

/// Much memory is left to the end of the program.
pub fn leaves_much() {
    MUCH.store(true, Ordering::Relaxed);
}

/// Enough for three system calls, in units of what a stack is aligned to.
#[cfg(target_os = "linux")]
const STACK: usize = 1 << 10;

/// Leaves a large link's memory to another process. The last thing that the program does, after all output: its files are
/// closed, so that nobody waits for the other process. Where the system refuses, the program ends as any other.
///
/// # Safety
/// All files of the process are closed, whoever uses them. Nothing may follow but the end of the process.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
pub unsafe fn leave_memory_behind() {
    if !MUCH.load(Ordering::Relaxed) {
        return;
    }
    let stack = vec![0u128; STACK].leak().as_mut_ptr_range();
    let ends: &mut [c_int; 2] = Box::leak(Box::default());
    // SAFETY: zeros are a valid set, which lives through the call. No file is used after it has been closed, as the
    // program ends. What the other process uses, its stack and the two numbers, is never freed.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
        if libc::syscall(libc::SYS_close_range, 0, c_uint::MAX, 0) == 0 && libc::pipe(ends.as_mut_ptr()) == 0
        {
            libc::clone(outlive, stack.end.cast(), libc::CLONE_VM, ends.as_mut_ptr().cast());
        }
    }
}

/// Waits until the program has let go of its memory, which it does before it lets go of its end of the pipe.
/// What belongs to a thread, as `errno` does, is the program's: nothing may be called that could change it.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
extern "C" fn outlive(ends: *mut c_void) -> c_int {
    // SAFETY: the two numbers are never freed, and nobody else uses them any more; the byte lives through the call.
    unsafe {
        let [read, write] = *ends.cast::<[c_int; 2]>();
        let mut byte = 0u8;
        libc::syscall(libc::SYS_close, write);
        libc::syscall(libc::SYS_read, read, &raw mut byte, 1);
        libc::syscall(libc::SYS_exit_group, 0);
    }
    0
}

/// Elsewhere the program gives its memory back itself.
///
/// # Safety
/// As on Linux.
#[cfg(not(target_os = "linux"))]
#[allow(unsafe_code)]
pub unsafe fn leave_memory_behind() {}
