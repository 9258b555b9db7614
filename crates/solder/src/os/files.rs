//! Files that have no name yet, or change places with others.

#[cfg(target_os = "linux")]
use std::ffi::CString;
use std::fs::{self, File};
use std::io;
#[cfg(target_os = "linux")]
use std::os::fd::{AsRawFd, FromRawFd};
#[cfg(target_os = "linux")]
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A file that is nowhere but in memory.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
pub fn in_memory() -> io::Result<File> {
    // SAFETY: the name is a string of this program; a descriptor that is returned is nobody else's.
    unsafe {
        match libc::memfd_create(c"output".as_ptr(), libc::MFD_CLOEXEC) {
            -1 => Err(io::Error::last_os_error()),
            descriptor => Ok(File::from_raw_fd(descriptor)),
        }
    }
}

/// A file without a name, where the system has none in memory.
#[cfg(not(target_os = "linux"))]
pub fn in_memory() -> io::Result<File> {
    let path = std::env::temp_dir().join(format!("solder-output-{}", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    fs::remove_file(path)?;
    Ok(file)
}

/// A new file in a folder, without a name.
#[cfg(target_os = "linux")]
pub fn nameless(folder: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    File::options().read(true).write(true).custom_flags(libc::O_TMPFILE).open(folder)
}

/// Elsewhere every file has one.
#[cfg(not(target_os = "linux"))]
pub fn nameless(_: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Puts a file in the place of another, in one step. A rename onto a file that is there makes some file systems write the
/// new one to the disk first, so the two change places, where the system can do that, and the old one goes.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
pub fn replace(new: &Path, target: &Path) -> io::Result<()> {
    let (from, to) =
        (CString::new(new.as_os_str().as_bytes())?, CString::new(target.as_os_str().as_bytes())?);
    let (here, exchange) = (libc::AT_FDCWD, libc::RENAME_EXCHANGE);
    // By its number: not every C library has a function for it.
    // SAFETY: both names are strings that live through the call.
    let done =
        unsafe { libc::syscall(libc::SYS_renameat2, here, from.as_ptr(), here, to.as_ptr(), exchange) };
    if done == 0 { fs::remove_file(new) } else { fs::rename(new, target) }
}

/// Elsewhere by a plain rename.
#[cfg(not(target_os = "linux"))]
pub fn replace(new: &Path, target: &Path) -> io::Result<()> {
    fs::rename(new, target)
}

/// Gives an open file without a name one.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
pub fn link(file: &File, path: &Path) -> io::Result<()> {
    let from = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let to = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: both names are strings that live through the call.
    let done = unsafe {
        libc::linkat(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), libc::AT_SYMLINK_FOLLOW)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Elsewhere there is no such file.
#[cfg(not(target_os = "linux"))]
pub fn link(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
