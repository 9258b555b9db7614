//! The program. The C library calls `main`: Rust's own start reads the map of the process's memory and makes a stack for
//! a handler of overflows, which takes a tenth of the time of a small link. What of it matters to a linker is done here.
#![no_main]

use std::ffi::{CStr, OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use libc::{c_char, c_int};
use solder::os::{ending, heap, memory, signals};

#[global_allocator]
static HEAP: heap::Heap = heap::Heap;

// The name is the C library's, and there is no other `main`.
#[allow(unsafe_code)]
#[unsafe(no_mangle)]
extern "C" fn main(count: c_int, words: *const *const c_char) -> c_int {
    prefault_stack();
    heap::prefault_system();
    open_streams();
    let code = solder::driver::run(arguments(count, words));
    // What cannot be written is lost at the end of any program.
    let _ = std::io::stdout().flush();
    // SAFETY: the program ends, and nothing but its exit code is left to hand over.
    #[allow(unsafe_code)]
    unsafe {
        ending::leave_memory_behind();
    }
    c_int::from(code)
}

/// Has the system give the pages of the stack that every link uses. One by one, when they
/// are touched, they take a tenth of the time of a small link.
fn prefault_stack() {
    /// Less than the system maps when a program starts.
    const USED: usize = 48 << 10;
    let local = 0u8;
    let here = (&raw const local).addr();
    memory::prefault_pages(here - USED..here);
}

/// Makes sure that what is opened later is not a standard stream, and that a reader who has gone is an error of the write.
#[allow(unsafe_code)]
fn open_streams() {
    let streams = [libc::STDIN_FILENO, libc::STDOUT_FILENO, libc::STDERR_FILENO];
    let mut asked = streams.map(|fd| libc::pollfd { fd, events: 0, revents: 0 });
    // SAFETY: the list lives through the call, and the others take numbers and a constant string. A new file gets the lowest number,
    // which is that of the stream.
    unsafe {
        if libc::poll(asked.as_mut_ptr(), asked.len() as libc::nfds_t, 0) == 0 {
            return signals::broken_pipe_is_an_error();
        }
        for stream in streams {
            if libc::fcntl(stream, libc::F_GETFD) == -1 {
                libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
            }
        }
    }
    signals::broken_pipe_is_an_error();
}

#[allow(unsafe_code)]
fn arguments(count: c_int, words: *const *const c_char) -> Vec<OsString> {
    let word = |at: c_int| {
        // SAFETY: the C library hands over that many strings, which live as long as the program.
        let word = unsafe { CStr::from_ptr(*words.add(at as usize)) };
        OsStr::from_bytes(word.to_bytes()).to_owned()
    };
    (0..count).map(word).collect()
}
