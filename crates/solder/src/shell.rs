//! Commands for the shell, run as C's `system` runs them.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;

use crate::os::children::{self, Group};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Success,
    Failure,
    /// The shell itself was ended by this signal.
    Signal(i32),
}

/// Runs a command line and waits for it. It shares the standard streams with the linker.
pub fn run(command: &OsStr) -> io::Result<Outcome> {
    // The shell puts its name before its complaints: `sh`, not the path it was found at.
    let mut shell = Command::new("/bin/sh");
    shell.arg0("sh").arg("-c").arg(command);
    let status = children::start(&mut shell, Group::Shared)?.wait()?;
    Ok(match status.signal() {
        Some(signal) => Outcome::Signal(signal),
        None if status.success() => Outcome::Success,
        None => Outcome::Failure,
    })
}

/// Puts a word into a command, quoted only if the shell would otherwise take it apart. No word at all stays that, as
/// with nvlink.
pub fn quote(name: &[u8]) -> Vec<u8> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"%+,-./:=@_".contains(byte) || !byte.is_ascii();
    if name.iter().all(plain) {
        return name.to_vec();
    }
    let mut quoted = vec![b'\''];
    for byte in name {
        match byte {
            b'\'' => quoted.extend_from_slice(b"'\\''"),
            _ => quoted.push(*byte),
        }
    }
    quoted.push(b'\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes() {
        assert_eq!(run(OsStr::new("true")).expect("a shell"), Outcome::Success);
        assert_eq!(run(OsStr::new("exit 3")).expect("a shell"), Outcome::Failure);
        assert_eq!(run(OsStr::new("kill -9 $$")).expect("a shell"), Outcome::Signal(9));
    }

    #[test]
    fn only_odd_names_are_quoted() {
        assert_eq!(quote(b"a/b-c.ld"), b"a/b-c.ld");
        assert_eq!(quote(b"a b"), b"'a b'");
        assert_eq!(quote(b"it's"), b"'it'\\''s'");
    }
}
