//! Where the system puts the memory of the program.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::{children, signals};

/// The program itself, whatever name it was started by.
const ITSELF: &str = "/proc/self/exe";
/// The bit of an address on which the order of NVIDIA's compiler depends.
const ORDER: usize = 1 << 31;
/// Asks for a personality without setting one.
const ASK: libc::c_ulong = 0xffff_ffff;

/// Starts the program anew where the system chooses no addresses at random, unless its heap is well placed already.
///
/// With threads of its own, NVIDIA's compiler puts code in an order that depends on a bit of the addresses of its memory. In nvlink, which is
/// loaded at a fixed address, that bit is always 0 (lto/split-compilation). Where the system does not allow it, the program goes on.
#[allow(unsafe_code)]
pub fn settle(name: &OsStr, words: &[OsString]) {
    // SAFETY: the call changes nothing, and its result is only looked at.
    let heap = unsafe { libc::sbrk(0) }.addr();
    // SAFETY: the call takes a number.
    let personality = unsafe { libc::personality(ASK) };
    // SAFETY: the call takes a number. The loader has no loader: it was asked to load the program, and would not do so again.
    let is_loader = unsafe { libc::getauxval(libc::AT_BASE) } == 0;
    if personality == -1 || is_loader {
        return;
    }
    let set = |personality: libc::c_int| {
        // SAFETY: as above.
        unsafe { libc::personality(personality as libc::c_ulong) }
    };
    if personality & libc::ADDR_NO_RANDOMIZE != 0 {
        // What this program starts need not go without.
        set(personality & !libc::ADDR_NO_RANDOMIZE);
    } else if heap & ORDER != 0 && set(personality | libc::ADDR_NO_RANDOMIZE) != -1 {
        let mut command = Command::new(ITSELF);
        command.arg0(name).args(words);
        let _ = children::replace(&mut command);
        set(personality);
        signals::broken_pipe_is_an_error();
    }
}
